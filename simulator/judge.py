"""The judge: which of the seven classes a reply belongs to, and, if it is an attempt, which part of it is the answer.

Sources: the classes and the two-call form are those of "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025,
App. D, Table 8). A judge that cannot be read fails as a judge (`Failure`); it never turns into an empty answer.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from simulator.record import Judgement
from tasks.nouns import Ask, Instance
from tasks.task import Task


class Judge(Protocol):
    """A way to classify and extract.

    Attributes:
        name: as in `--judge`. `needs_model`: it may call `ask`. `prompts`: templates it uses, part of a run's identity.
    """

    name: ClassVar[str]
    needs_model: ClassVar[bool]
    prompts: ClassVar[tuple[str, ...]]

    async def judge(self, reply: str, task: Task, instance: Instance, ask: Ask) -> Judgement:
        """Label and answer of one reply, not scored. Raises `Failure("judge", …)`."""
        ...


async def by_task_facts(reply: str, task: Task, instance: Instance) -> Judgement | None:
    """What is known without looking: nothing was said, or every reply of this task is an attempt. None if neither."""
    if not reply.strip():
        return Judgement(by="rules", label="missing")
    if task.answers_every_turn:
        return Judgement(by="task", label="answer_attempt", answer=await task.extract(reply, instance))
    return None


class RulesJudge:
    """The task's own rules, no model."""

    name: ClassVar[str] = "rules"
    needs_model: ClassVar[bool] = False
    prompts: ClassVar[tuple[str, ...]] = ()

    async def judge(self, reply: str, task: Task, instance: Instance, ask: Ask) -> Judgement:
        if known := await by_task_facts(reply, task, instance):
            return known
        label = await task.classify(reply, instance)
        answer = await task.extract(reply, instance) if label == "answer_attempt" else None
        return Judgement(by=self.name, label=label, answer=answer)


JUDGES: dict[str, Judge] = {"rules": RulesJudge()}
