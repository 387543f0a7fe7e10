"""Who cuts and words: a model, asked for JSON of a fixed form. (Rules that need no model: `rules`.)

An author proposes; whether a proposal can be used is decided by the checks, never here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import msgspec

from sharding.checks import CHECKS
from sharding.nouns import Objection, Pieces, Sharding
from sharding.pieces import ADVICE, FEWEST, MOST, cut
from simulator.calls import Caller
from simulator.structured import Malformed, read_object
from tasks.nouns import Message, Options
from tasks.prompts import Prompt, prompt
from tasks.task import Task

#: The role under which a model author is called.
ROLE = "sharder"
TEMPLATES = (
    *("pieces", "pieces-example", "pieces-example-answer", "shards", "shards-given", "shards-example-answer"),
    *("coverage", "coverage-given", "again"),
)


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """`said`: the author's words. `problem`: why there is nothing to be read in them, else empty."""

    said: str = ""
    problem: str = ""


class Cut(Proposal, frozen=True):
    """Excerpts, and the number of the one that is the request, from 1."""

    pieces: list[str] = []
    request: int = 0


class Worded(msgspec.Struct, frozen=True):
    """The text of a piece, which is named by its number from 1."""

    piece: int
    text: str


class Wording(Proposal, frozen=True):
    """The shards, the intent first."""

    shards: list[Worded] = []


class Coverage(Proposal, frozen=True):
    """Whether the shards say all of the instruction; if not, what they lose or change."""

    complete: bool = False
    missing: str = ""


class Refused(NamedTuple):
    """A proposal that could not be used: the author's words, and why not."""

    said: str
    objections: Sequence[Objection]


class Author(Protocol):
    """Somebody who shards. `repairs`: how often a step may be done again; `prompts`: digests of the templates, by name."""

    repairs: ClassVar[int]
    prompts: Mapping[str, str]

    async def cut(self, instruction: str, refused: Refused | None) -> Cut: ...

    async def word(self, pieces: Pieces, refused: Refused | None) -> Wording: ...

    async def compare(self, sharding: Sharding) -> Coverage: ...


P = TypeVar("P", Cut, Wording, Coverage)


class ModelAuthor:
    """A model, behind the one seam all models are called through."""

    repairs: ClassVar[int] = 2

    def __init__(self, task: Task, line: Caller) -> None:
        self._line, self._hints = line, prompt("tasks", task.sharding_hints)
        used = (self._hints, *map(_template, TEMPLATES))
        self.prompts: Mapping[str, str] = {template.name: template.digest for template in used}

    async def cut(self, instruction: str, refused: Refused | None) -> Cut:
        system = _template("pieces").fill(hints=self._hints.fill(), fewest=str(FEWEST), most=str(MOST))
        example = _turn(_template("pieces-example").fill(), _template("pieces-example-answer").fill())
        return await self._ask(Cut, "pieces", [Message("system", system), *example], instruction, refused)

    async def word(self, pieces: Pieces, refused: Refused | None) -> Wording:
        system = Message("system", _template("shards").fill(hints=self._hints.fill()))
        example = _turn(_listed(example_pieces()), _template("shards-example-answer").fill())
        return await self._ask(Wording, "shards", [system, *example], _listed(pieces), refused)

    async def compare(self, sharding: Sharding) -> Coverage:
        told = "\n".join(f"- {shard.text}" for shard in sharding.shards)
        given = _template("coverage-given").fill(instruction=sharding.instruction, shards=told)
        return await self._ask(Coverage, "coverage", [Message("system", _template("coverage").fill())], given, None)

    async def _ask(self, form: type[P], site: str, constant: list[Message], given: str, refused: Refused | None) -> P:
        messages = [*constant, Message("user", given)]
        if refused:
            problems = _template("again").fill(problems="\n".join(f"- {advice(o)}" for o in refused.objections))
            messages += [Message("assistant", refused.said or "(nothing)"), Message("user", problems)]
        reply = await self._line.ask(ROLE, site, messages, Options(temperature=0.0, schema=SCHEMAS[form]))
        try:
            told = read_object(reply.text, reply.finish) | {"said": reply.text, "problem": ""}
            return msgspec.convert(told, form, strict=False)
        except (Malformed, msgspec.ValidationError) as problem:
            return form(said=reply.text, problem=str(problem))


def example_pieces() -> Pieces:
    """The pieces of the example that a model is shown."""
    answer = msgspec.json.decode(_template("pieces-example-answer").fill(), type=Cut)
    return cut(_template("pieces-example").fill(), answer.pieces, answer.request - 1)[0]


def advice(objection: Objection) -> str:
    """An objection as a sentence to the model."""
    known = CHECKS[objection.check].advice if objection.check in CHECKS else ADVICE.get(objection.check, "{detail}")
    return (f"Message {objection.shard}: " if objection.shard else "") + known.format(detail=objection.detail)


def _turn(asked: str, answered: str) -> list[Message]:
    """An example as a turn of its own, which weak models need."""
    return [Message("user", asked), Message("assistant", answered)]


def _listed(pieces: Pieces) -> str:
    numbered = "\n".join(f"{number}: {text}" for number, text in enumerate(pieces.texts, 1))
    return _template("shards-given").fill(
        instruction=pieces.instruction, request=str(pieces.request + 1), pieces=numbered
    )


def _template(name: str) -> Prompt:
    return prompt("sharding", name)


def _object(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


#: Texts have a longest length, since small models loop.
_TEXT, _NUMBER = {"type": "string", "maxLength": 600}, {"type": "integer"}
SCHEMAS: dict[type[Proposal], dict[str, Any]] = {
    Cut: _object(pieces={"type": "array", "items": _TEXT}, request=_NUMBER),
    Wording: _object(shards={"type": "array", "items": _object(piece=_NUMBER, text=_TEXT)}),
    Coverage: _object(complete={"type": "boolean"}, missing=_TEXT),
}
