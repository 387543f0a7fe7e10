"""The judge: which of the seven classes a reply belongs to, and, if it is an attempt, which part of it is the answer.

Sources: the classes and the two-call form are those of "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025,
App. D, Table 8). A judge that cannot be read, or that quotes what the reply does not say, is asked again with the reason and
then fails as a judge (`Failure`); it never turns into an empty answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from simulator.errors import Failure
from simulator.record import Judgement
from simulator.spans import find_span
from simulator.structured import Malformed, field, read_object, read_verdict, unfenced, without_thinking
from tasks.nouns import TURN_CLASSES, Ask, Instance, Message, Options, Reply, TurnClass
from tasks.prompts import prompt
from tasks.task import Task

Read = TypeVar("Read")

#: How often a judge is asked about one reply before it fails.
TRIES = 3
#: Characters of a quoted answer; one that fills them is cut, most likely a copy of the whole reply.
LONGEST_ANSWER = 240


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
    prompts: ClassVar[tuple[str, ...]] = ("judge", "judge-classify", "judge-classes", "judge-reply", "judge-again")

    async def judge(self, reply: str, task: Task, instance: Instance, ask: Ask) -> Judgement:
        if known := await _by_task_facts(reply, task, instance):
            return known
        hearing = _Hearing(reply, task, instance, ask)
        if task.extraction == "rules":
            return await _extracted_by_rules(self.name, hearing)
        label, answer = await hearing.label_and_answer()
        return Judgement(by=self.name, label=label, answer=answer)


class PaperJudge:
    """The paper's form: one call classifies, and for an attempt a second one extracts, unless the task's rules do."""

    name: ClassVar[str] = "llm-paper"
    needs_model: ClassVar[bool] = True
    calls: ClassVar[int] = 2
    prompts: ClassVar[tuple[str, ...]] = (
        "judge-classify",
        "judge-extract",
        "judge-classes",
        "judge-reply",
        "judge-again",
    )

    async def judge(self, reply: str, task: Task, instance: Instance, ask: Ask) -> Judgement:
        if known := await _by_task_facts(reply, task, instance):
            return known
        hearing = _Hearing(reply, task, instance, ask)
        if task.extraction == "rules":
            return await _extracted_by_rules(self.name, hearing)
        label = await hearing.label()
        return Judgement(
            by=self.name, label=label, answer=await hearing.answer() if label == "answer_attempt" else None
        )


JUDGES: dict[str, Judge] = {"rules": RulesJudge(), "llm": LlmJudge(), "llm-paper": PaperJudge()}


async def _by_task_facts(reply: str, task: Task, instance: Instance) -> Judgement | None:
    """What is known without looking: nothing was said, or every reply of this task is an attempt. None if neither."""
    if not reply.strip():
        return Judgement(by="rules", label="missing")
    if task.answers_every_turn:
        return Judgement(by="task", label="answer_attempt", answer=await task.extract(reply, instance))
    return None


async def _extracted_by_rules(name: str, hearing: _Hearing) -> Judgement:
    label = await hearing.label()
    answer = await hearing.task.extract(hearing.reply, hearing.instance) if label == "answer_attempt" else None
    return Judgement(by=name, label=label, answer=answer)


# -- what is asked ------------------------------------------------------------------------------------------------


class _Hearing(NamedTuple):
    """One reply before a model that judges."""

    reply: str
    task: Task
    instance: Instance
    ask: Ask

    async def label_and_answer(self) -> tuple[TurnClass, str | None]:
        return await self._asked("judge", _BOTH, self._read_both)

    async def label(self) -> TurnClass:
        return await self._asked("judge-classify", _LABEL, self._read_label)

    async def answer(self) -> str:
        return await self._asked("judge-extract", _ANSWER, self._read_answer)

    async def _read_both(self, said: Reply) -> tuple[TurnClass, str | None]:
        label = read_label(said)
        return label, await self._read_answer(said) if label == "answer_attempt" else None

    async def _read_label(self, said: Reply) -> TurnClass:
        return read_label(said)

    async def _read_answer(self, said: Reply) -> str:
        answer = read_answer(said, self.reply)
        if await self.task.extract(answer, self.instance) is None:
            raise Malformed(
                "no_value", f'"{answer[:200]}" is no answer; what an answer looks like: {self.task.answer_form}.'
            )
        return answer

    async def _asked(self, template: str, fields: dict[str, Any], read: Callable[[Reply], Awaitable[Read]]) -> Read:
        """What `read` makes of what the model says; if nothing, the model is asked again, with the reason."""
        system, shown = Message("system", _system(template)), self._shown()
        asked, problems = shown, list[Malformed]()
        for _ in range(TRIES):
            said = await self.ask([system, Message("user", asked)], Options(temperature=0.0, schema=_schema(fields)))
            try:
                return await read(said)
            except Malformed as malformed:
                problems.append(malformed)
            # The refused reply itself is not shown: a weak model would copy it.
            again = prompt("simulator", "judge-again").fill(problems="\n".join(f"- {problem}" for problem in problems))
            asked = f"{shown}\n\n{again}"
        raise Failure("judge", "malformed", f"{problems[-1].reason}: {problems[-1]}")

    def _shown(self) -> str:
        request, form = self.instance.shards[0].text, self.task.answer_form
        return prompt("simulator", "judge-reply").fill(request=request, answer_form=form, reply=self.reply)


def _system(template: str) -> str:
    chosen = prompt("simulator", template)
    slots = {"classes": prompt("simulator", "judge-classes").fill()}
    return chosen.fill(**{slot: slots[slot] for slot in chosen.slots})


_LABEL: dict[str, Any] = {"response_type": {"enum": list(TURN_CLASSES)}}
_ANSWER: dict[str, Any] = {"answer": {"type": "string", "maxLength": LONGEST_ANSWER}}
_BOTH = _LABEL | _ANSWER


def _schema(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


# -- what is read -------------------------------------------------------------------------------------------------

#: Other ways to write a class, beside case, spaces and hyphens.
SPELLINGS: dict[TurnClass, tuple[str, ...]] = dict.fromkeys(TURN_CLASSES, ()) | {
    "answer_attempt": ("attempt",),
    "refuse": ("refusal",),
}


def read_label(said: Reply) -> TurnClass:
    """The class in a judge's reply: a JSON field, or a verdict in prose. Raises `Malformed` unless it is exactly one."""
    try:
        value = field(read_object(said.text, said.finish), "response_type")
    except Malformed as malformed:
        if malformed.reason != "no_json":
            raise
        value = without_thinking(said.text, said.finish)
    return read_verdict(str(value), SPELLINGS)


def read_answer(said: Reply, reply: str) -> str:
    """The part of `reply` that a judge's JSON field quotes, in the reply's own words. Raises `Malformed` if it is not there."""
    value = field(read_object(said.text, said.finish), "answer")
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
        raise Malformed("no_value", 'An answer_attempt has an answer: the field "answer" must quote it from the reply.')
    if len(str(value)) >= LONGEST_ANSWER:
        shorten = "copy only the answer itself, or its first and last words with [...] between them."
        raise Malformed("truncated", f"The answer is too long: {shorten}")
    span = find_span(reply, unfenced(str(value)))
    if span is None:
        raise Malformed(
            "not_quoted",
            f'"{str(value)[:200]}" does not stand in the reply. Copy the answer as it is written there; '
            "a reply that states no final answer is no answer_attempt.",
        )
    return span
