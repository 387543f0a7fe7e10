"""The judge: which of the seven classes a reply belongs to, and, if it is an attempt, which part of it is the answer.

Sources: the classes and the two-call form are those of "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025,
App. D, Table 8). A judge that cannot be read, or that quotes what the reply does not say, is asked again with the reason and
then fails as a judge (`Failure`); it never turns into an empty answer.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from simulator.hearing import Hearing
from simulator.record import Judgement
from tasks.nouns import Ask, Instance, TurnClass
from tasks.task import Task

#: Templates of every judge that calls a model.
SHARED = ("judge-classes", "judge-reply", "judge-again", "judge-choose", "judge-statements")


class Judge(Protocol):
    """A way to classify and extract.

    Attributes:
        name: as in `--judge`. `needs_model`: it may call `ask`, so many times (`calls`) a reply unless it has to ask again.
        prompts: templates it uses, part of a run's identity.
    """

    name: ClassVar[str]
    needs_model: ClassVar[bool]
    calls: ClassVar[int]
    prompts: ClassVar[tuple[str, ...]]

    async def judge(self, reply: str, task: Task, instance: Instance, ask: Ask) -> Judgement:
        """Label and answer of one reply, not scored. Raises `Failure("judge", …)`."""
        ...


class RulesJudge:
    """The task's own rules, no model."""

    name: ClassVar[str] = "rules"
    needs_model: ClassVar[bool] = False
    calls: ClassVar[int] = 0
    prompts: ClassVar[tuple[str, ...]] = ()

    async def judge(self, reply: str, task: Task, instance: Instance, ask: Ask) -> Judgement:
        if known := await _by_task_facts(reply, task, instance):
            return known
        label = await task.classify(reply, instance)
        answer = await task.extract(reply, instance) if label == "answer_attempt" else None
        return Judgement(by=self.name, label=label, answer=answer)


class LlmJudge:
    """One structured call that classifies and extracts; it only classifies where the task's rules extract."""

    name: ClassVar[str] = "llm"
    needs_model: ClassVar[bool] = True
    calls: ClassVar[int] = 1
    prompts: ClassVar[tuple[str, ...]] = ("judge", "judge-classify", *SHARED)

    async def judge(self, reply: str, task: Task, instance: Instance, ask: Ask) -> Judgement:
        if known := await _by_task_facts(reply, task, instance):
            return known
        hearing = Hearing(reply, task, instance, ask)
        by_rules = task.extraction == "rules"
        label, answer = await (_extracted_by_rules(hearing) if by_rules else self.hear(hearing))
        return Judgement(by=self.name, label=label, answer=answer)

    async def hear(self, hearing: Hearing) -> tuple[TurnClass, str | None]:
        """Class and answer, both from the model."""
        return await hearing.label_and_answer()


class PaperJudge(LlmJudge):
    """The paper's form: one call classifies, and for an attempt a second one extracts, unless the task's rules do."""

    name: ClassVar[str] = "llm-paper"
    calls: ClassVar[int] = 2
    prompts: ClassVar[tuple[str, ...]] = ("judge-classify", "judge-extract", *SHARED)

    async def hear(self, hearing: Hearing) -> tuple[TurnClass, str | None]:
        """See `LlmJudge.hear`."""
        label = await hearing.label()
        return label, await hearing.answer() if label == "answer_attempt" else None


JUDGES: dict[str, Judge] = {"rules": RulesJudge(), "llm": LlmJudge(), "llm-paper": PaperJudge()}


async def _by_task_facts(reply: str, task: Task, instance: Instance) -> Judgement | None:
    """What is known without looking: nothing was said, or every reply of this task is an attempt. None if neither."""
    if not reply.strip():
        return Judgement(by="rules", label="missing")
    if task.answers_every_turn:
        return Judgement(by="task", label="answer_attempt", answer=await task.extract(reply, instance))
    return None


async def _extracted_by_rules(hearing: Hearing) -> tuple[TurnClass, str | None]:
    label = await hearing.label()
    return label, await hearing.task.extract(hearing.reply, hearing.instance) if label == "answer_attempt" else None
