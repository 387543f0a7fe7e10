"""The wordings that instances are put together from: `data/reliability/*.toml`, read and checked once."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


class Chatter(msgspec.Struct, frozen=True):
    """Pairs of what a user says beside the matter in hand and a fitting answer."""

    chat: list[tuple[str, str]]


class Subject(msgspec.Struct, frozen=True):
    """What can be asked about a topic: aspects, each with two sentences that answer."""

    aspects: list[tuple[str, str, str]]


class InstructionWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Wordings of the instruction task; see the file."""

    rules: list[str]
    changes: list[str]
    agreed: list[str]
    others: list[str]
    others_answers: list[str]
    questions: list[str]
    again: list[str]
    begin: list[str]
    drift: list[str]
    leads: list[str]
    covers: list[str]
    asks: dict[str, list[str]]
    wishes: dict[str, list[str]]
    intents: dict[str, str]


class Tool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool that can be chosen: its function, and the wordings of requests for it; see the file."""

    function: str
    does: str
    parameters: dict[str, str]
    subjects: list[str]
    details: list[str]
    asks: list[str]
    follow_ups: list[str]
    intent: list[str]
    about: list[str]
    more: list[str]
    thing: list[str]
    aside: list[str]

    @property
    def schema(self) -> dict[str, Any]:
        """As a request for a chat completion takes it."""
        properties = {name: {"type": "string", "description": does} for name, does in self.parameters.items()}
        required = list(properties)[:1]
        parameters = {"type": "object", "properties": properties, "required": required}
        function = {"name": self.function, "description": self.does, "parameters": parameters}
        return {"type": "function", "function": function}


class ToolWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tools by label, and how a request is given up: in the turn after (`turns`), or within one message (`at_once`)."""

    turns: list[str]
    at_once: list[str]
    tools: dict[str, Tool]


class BookingWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Wordings of the entity task; see the file. `said`: slots joined by `_`, in the order date, time, people."""

    restaurants: list[str]
    names: list[str]
    relations: list[str]
    openers: list[str]
    closings: list[str]
    wishes: list[str]
    said: dict[str, list[str]]
    changed: dict[str, list[str]]
    others: dict[str, list[str]]
    companies: dict[str, int]


@cache
def small_talk() -> Chatter:
    """Of all three tasks."""
    return _read("talk", Chatter)


@cache
def topics() -> dict[str, Subject]:
    """What instruction conversations are about."""
    return _read("topics", dict[str, Subject])


@cache
def instruction_words() -> InstructionWords:
    """Of the instruction task."""
    return _read("instructions", InstructionWords)


@cache
def tool_words() -> ToolWords:
    """Of the tool task."""
    return _read("requests", ToolWords)


@cache
def booking_words() -> BookingWords:
    """Of the entity task."""
    return _read("bookings", BookingWords)


def _read(name: str, form: type[T]) -> T:
    text = (resources.files("tasks") / "data" / "reliability" / f"{name}.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), form)


def capital(text: str) -> str:
    """With a capital letter at the start."""
    return text[:1].upper() + text[1:]
