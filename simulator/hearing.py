"""One reply before a model that judges: what the model is asked, and what is made of what it says.

A label is one of seven words. An answer has to be quoted from the reply: first freely, and if the model cannot keep to that,
by the number of the statement that holds it, which leaves nothing to invent.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

from simulator.errors import Failure
from simulator.spans import find_span
from simulator.structured import Malformed, field, read_object, read_verdict, unfenced, without_thinking
from tasks.nouns import TURN_CLASSES, Ask, Instance, Message, Options, Reply, TurnClass
from tasks.prompts import prompt
from tasks.task import Task

Read = TypeVar("Read")

#: How often one question is put before the judge fails.
TRIES = 3
#: Characters of a quoted answer; one that fills them is cut, most likely a copy of the whole reply.
LONGEST_ANSWER = 240
#: Statements to choose from, counted from the end of the reply.
STATEMENTS = 9


class Unquotable(Malformed):
    """The answer a model gives is no part of the reply, or none of the task's form."""


class Hearing(NamedTuple):
    """A reply, what it replies to, and the model that is asked about it."""

    reply: str
    task: Task
    instance: Instance
    ask: Ask

    async def label_and_answer(self) -> tuple[TurnClass, str | None]:
        """Both in one call. Raises `Failure("judge", …)`."""
        try:
            return await self._asked("judge", self._shown(), _BOTH, self._read_both)
        except Unquotable as unquotable:
            answer = await self._statement(unquotable)
            return ("answer_attempt", answer) if answer else ("discussion", None)

    async def label(self) -> TurnClass:
        """The class alone. Raises `Failure("judge", …)`."""
        return await self._asked("judge-classify", self._shown(), _LABEL, self._read_label)

    async def answer(self) -> str:
        """The answer of an attempt. Raises `Failure("judge", …)`."""
        try:
            return await self._asked("judge-extract", self._shown(), _ANSWER, self._read_answer)
        except Unquotable as unquotable:
            if answer := await self._statement(unquotable):
                return answer
            raise _failure(unquotable) from None

    # -- one question -------------------------------------------------------------------------------------------------

    async def _asked(
        self, template: str, shown: str, fields: dict[str, Any], read: Callable[[Reply], Awaitable[Read]]
    ) -> Read:
        """What `read` makes of what the model says; if nothing, the model is asked again, with all that was wrong."""
        asked, problems = shown, list[Malformed]()
        for _ in range(TRIES):
            messages = [Message("system", _system(template)), Message("user", asked)]
            said = await self.ask(messages, Options(temperature=0.0, schema=_schema(fields)))
            try:
                return await read(said)
            except Malformed as malformed:
                if isinstance(malformed, Unquotable) and any(isinstance(problem, Unquotable) for problem in problems):
                    raise  # twice is enough: the statements are left
                problems.append(malformed)
            # The refused reply itself is not shown: a weak model would copy it.
            again = prompt("simulator", "judge-again").fill(problems="\n".join(f"- {problem}" for problem in problems))
            asked = f"{shown}\n\n{again}"
        raise _failure(problems[-1])

    async def _statement(self, problem: Unquotable) -> str | None:
        """The statement of the reply that gives the answer, chosen by number; None if the model says that none does."""
        pieces = [piece.strip() for piece in re.split(r"\n+|(?<=[.!?])\s+", self.reply)]
        holding = [piece for piece in pieces if piece and await self.task.extract(piece, self.instance) is not None]
        statements = holding[-STATEMENTS:]
        if not statements:
            raise _failure(problem)

        async def read(said: Reply) -> str | None:
            number = field(read_object(said.text, said.finish), "number")
            if isinstance(number, bool) or not str(number).isdigit() or int(number) > len(statements):
                raise Malformed("no_value", f"The number is one of 0 to {len(statements)}.")
            return statements[int(number) - 1] if int(number) else None

        numbers = {"number": {"enum": list(range(len(statements) + 1))}}
        return await self._asked("judge-choose", self._listed(statements), numbers, read)

    # -- what is shown ------------------------------------------------------------------------------------------------

    def _shown(self) -> str:
        request, form = self.instance.shards[0].text, self.task.answer_form
        return prompt("simulator", "judge-reply").fill(request=request, answer_form=form, reply=self.reply)

    def _listed(self, statements: list[str]) -> str:
        listed = "\n".join(f"{number}: {statement}" for number, statement in enumerate(statements, 1))
        request, form = self.instance.shards[0].text, self.task.answer_form
        return prompt("simulator", "judge-statements").fill(request=request, answer_form=form, statements=listed)

    # -- what is read -------------------------------------------------------------------------------------------------

    async def _read_both(self, said: Reply) -> tuple[TurnClass, str | None]:
        label = read_label(said)
        return label, await self._read_answer(said) if label == "answer_attempt" else None

    async def _read_label(self, said: Reply) -> TurnClass:
        return read_label(said)

    async def _read_answer(self, said: Reply) -> str:
        answer = read_answer(said, self.reply)
        if await self.task.extract(answer, self.instance) is None:
            raise Unquotable(
                "no_value", f'"{answer[:200]}" is no answer; what an answer looks like: {self.task.answer_form}.'
            )
        return answer


def _failure(problem: Malformed) -> Failure:
    return Failure("judge", "malformed", f"{problem.reason}: {problem}")


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
    """The part of `reply` that a judge's JSON field quotes, in the reply's own words. Raises `Unquotable` if it is none."""
    value = field(read_object(said.text, said.finish), "answer")
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
        raise Unquotable(
            "no_value", 'An answer_attempt has an answer: the field "answer" must quote it from the reply.'
        )
    if len(str(value)) >= LONGEST_ANSWER:
        shorten = "copy only the answer itself, or its first and last words with [...] between them."
        raise Unquotable("truncated", f"The answer is too long: {shorten}")
    span = find_span(reply, unfenced(str(value)))
    if span is None:
        raise Unquotable(
            "not_quoted",
            f'"{str(value)[:200]}" does not stand in the reply. Copy the answer as it is written there; '
            "a reply that states no final answer is no answer_attempt.",
        )
    return span
