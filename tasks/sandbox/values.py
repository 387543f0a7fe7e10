"""Reads what a candidate claims: lines of bytes, hostile, into `Outcome`s made of plain Python values.

The other half is `_plain` in `tasks/sandbox/inside/candidate.py`, which writes scalars as themselves and all else as a list
that starts with a mark. Nothing here calls anything a candidate defined, so no object of it can say that it equals the right
answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from tasks.sandbox.program import Outcome

_FAILURES = ("raised", "memory", "timed_out", "not_run")
_MOST_DETAIL = 600


class Other(msgspec.Struct, frozen=True):
    """A value of a type that no test expects; equal to nothing a test expects."""

    type: str


class _Unreadable(Exception):
    """Not written by `_plain`: the program wrote to the descriptor itself."""


def read(line: bytes) -> Outcome:
    """The outcome a line claims; an unreadable one is a failure of the program."""
    try:
        return _outcome(json.loads(line))
    except (ValueError, TypeError, LookupError, RecursionError, _Unreadable):
        return Outcome("raised", detail="the program wrote an unreadable result")


def _outcome(claim: Any) -> Outcome:
    match claim:
        case ["value", value]:
            return Outcome("value", _value(value))
        case ["printed", str(text)]:
            return Outcome("printed", text)
        case [kind, *texts] if kind in _FAILURES:
            return Outcome(kind, detail="".join(_printable(text) for text in texts))
    raise _Unreadable


def _printable(text: Any) -> str:
    if not isinstance(text, str):
        raise _Unreadable
    return text[:_MOST_DETAIL].encode(errors="replace").decode()  # lone surrogates cannot be stored


def _value(claim: Any) -> Any:
    if isinstance(claim, dict):
        raise _Unreadable
    if not isinstance(claim, list):
        return claim
    mark, *parts = claim
    return _MARKS[mark](parts)


def _values(parts: list[Any]) -> list[Any]:
    return [_value(part) for part in parts]


_MARKS: dict[str, Callable[[list[Any]], Any]] = {
    "list": _values,
    "tuple": lambda parts: tuple(_values(parts)),
    "set": lambda parts: frozenset(_values(parts)),
    "dict": lambda parts: {_value(key): _value(value) for key, value in parts},
    "int": lambda parts: int(str(parts[0]), 16),
    "float": lambda parts: float(str(parts[0])),
    "other": lambda parts: Other(_printable(parts[0])),
}
