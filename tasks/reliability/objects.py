"""JSON objects inside what a model wrote, in JSON's spelling or in Python's; nothing is evaluated."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterator
from typing import Any

from tasks.literals import NotLiteral, literal

#: Objects are looked for in so many characters at the end of a text, and at so many opening brackets.
LONGEST, TRIES = 20_000, 50

_JSON = json.JSONDecoder(strict=False)


def find_objects(text: str) -> list[dict[str, Any]]:
    """The objects of a text, in order; what is inside another object is not listed by itself."""
    return list(_objects(text[-LONGEST:]))


def _objects(text: str) -> Iterator[dict[str, Any]]:
    start = 0
    for _ in range(TRIES):
        start = text.find("{", start)
        if start < 0:
            return
        value, end = _read(text, start)
        if isinstance(value, dict):
            yield value
        start = end


def _read(text: str, start: int) -> tuple[Any, int]:
    """The value that begins at `start` and where it ends; None if it is none."""
    try:
        return _JSON.raw_decode(text, start)
    except (ValueError, RecursionError):
        end = text.find("}", start) + 1
        return (_python(text[start:end]), end) if end else (None, start + 1)


def _python(source: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd backslash is no fault here
            return literal(ast.parse(source, mode="eval").body)
    except (NotLiteral, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
