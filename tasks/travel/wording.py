"""What an instance says, in the words of its problem's template (`prompts/travel/<problem>.md`).

A template has the sections `rules`, `question`, `facts`, `shards` (a list, the intent first) and one or more `dialogue N`
(lines `user: …`, `assistant: …`, `call: function {arguments}`; the last one is the user's question).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias, cast

import msgspec

from tasks.nouns import Shard
from tasks.prompts import prompt

Speaker: TypeAlias = Literal["user", "assistant", "call"]

_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_LINE = re.compile(r"(user|assistant|call): (.+)")


class Line(msgspec.Struct, frozen=True):
    """A line of a dialogue: what was said, or the function called (its name, a space, its arguments as JSON)."""

    speaker: Speaker
    text: str


class Wording(msgspec.Struct, frozen=True):
    """A template filled with the words of one instance.

    Attributes:
        rules: what holds for everybody who asks this, e.g. that a return ticket costs twice as much.
        question: all the user wants and says, but not what the town knows. `facts`: what the town knows about it, in prose.
        shards: all three in pieces. `dialogue`: the conversation in which the question comes up.
    """

    rules: str
    question: str
    facts: str
    shards: tuple[Shard, ...]
    dialogue: tuple[Line, ...]


def wording(problem: str, slots: Mapping[str, str], variant: int) -> Wording:
    """The words of an instance; `variant`, from 1, says which of the template's dialogues it is in."""
    parts = _sections(prompt("tasks", f"travel/{problem}").fill(**slots))
    shards = (line.removeprefix("- ") for line in parts["shards"].splitlines())
    return Wording(
        rules=parts["rules"],
        question=parts["question"],
        facts=parts["facts"],
        shards=tuple(Shard(id, text) for id, text in enumerate(shards, 1)),
        dialogue=tuple(_line(line) for line in parts[f"dialogue {variant}"].splitlines()),
    )


def variants(problem: str) -> int:
    """How many dialogues a template has."""
    return len(re.findall("^## dialogue", prompt("tasks", f"travel/{problem}").text, re.MULTILINE))


def sections(name: str) -> dict[str, str]:
    """The sections of a template without slots."""
    return _sections(prompt("tasks", f"travel/{name}").fill())


def listed(items: list[str]) -> str:
    """`A`, `A and B`, `A, B and C`."""
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last


def bullets(items: list[str]) -> str:
    """One item a line."""
    return "\n".join(f"- {item}" for item in items)


def _sections(text: str) -> dict[str, str]:
    _, *parts = _HEADING.split(text)
    return {name: body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}


def _line(text: str) -> Line:
    said = _LINE.fullmatch(text)
    if said is None:
        raise ValueError(f"not a line of a dialogue: {text!r}")
    return Line(cast(Speaker, said[1]), said[2])
