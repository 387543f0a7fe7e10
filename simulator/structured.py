"""Reading what a model was asked to write in a fixed form: one JSON object, or one verdict out of a few.

A reply is read or refused, never repaired: a cut string closed by us, or a quote guessed by us, is a plausible wrong value
that nobody will ever notice, while a refusal costs one more call that says what was wrong.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

from simulator.models.thinking import split_thinking

Reason: TypeAlias = Literal[
    "empty",
    "filtered",
    "unclosed_thinking",
    "truncated",
    "no_json",
    "invalid_json",
    "several",
    "no_verdict",
    "no_value",
    "not_quoted",
]

#: What is said to the model, so that the next prompt differs from the one that failed.
ADVICE: dict[Reason, str] = {
    "empty": "The reply was empty.",
    "filtered": "The reply was withheld by a filter.",
    "unclosed_thinking": "The reply ended inside the reasoning, before any answer.",
    "truncated": "The reply was cut off before it was complete; keep it shorter.",
    "no_json": "The reply holds no JSON object.",
    "invalid_json": "The reply is not valid JSON; escape quotation marks and backslashes inside strings.",
    "several": "The reply holds several different answers; give exactly one.",
    "no_verdict": "The reply does not name exactly one of the allowed values.",
    "no_value": "The JSON object lacks a required field, or the field has the wrong type.",
    "not_quoted": "The answer is not a part of the text it was to be copied from.",
}


class Malformed(Exception):
    """A reply that is not in the form it was asked for. Its text can be said to the model.

    Args:
        reason: a short stable name, what records count.
        detail: a sentence in place of the standard advice.
    """

    def __init__(self, reason: Reason, detail: str = "") -> None:
        self.reason: Reason = reason
        super().__init__(detail or ADVICE[reason])


# -- one JSON object ----------------------------------------------------------------------------------------------


def read_object(text: str, finish: str = "stop") -> dict[str, Any]:
    """The one JSON object in a reply, whatever stands around it: prose, fences, quotation marks, a think block.

    Python's spelling of an object is read too (`{'ok': True}`); NaN and infinities become None.

    Args:
        text: the reply. `finish`: how it ended, as in `tasks.nouns.Reply`.

    Raises:
        Malformed: the object is cut off, absent, not JSON, or there are several different ones.
    """
    whole = _decoded(text)
    if isinstance(whole, str):
        return read_object(whole, finish)
    if isinstance(whole, dict):
        return whole
    answer = without_thinking(text, finish)
    distinct: list[dict[str, Any]] = []
    for value in _objects(answer, finish):
        if value and value not in distinct:
            distinct.append(value)
        if len(distinct) > 1:
            raise Malformed("several")
    if not distinct:
        raise Malformed("truncated" if finish == "length" else "no_json")
    return distinct[0]


def without_thinking(text: str, finish: str = "stop") -> str:
    """The text after a think block. Raises `Malformed` when nothing is left of it."""
    if finish == "content_filter":
        raise Malformed("filtered")
    thought = split_thinking(text)
    if finish == "unclosed_thinking" or not thought.closed:
        raise Malformed("unclosed_thinking")
    if not thought.text.strip():
        raise Malformed("truncated" if finish == "length" else "empty")
    return thought.text


#: What opens an object, unlike the brace of a note in prose: a quoted key, nothing at all, or the end of the text.
_OPENING = re.compile(r"""\{(?=\s*(?:["'}]|\Z))""")
_STRING = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*\'""", re.DOTALL)
_PART = re.compile(_STRING.pattern + r"""|[{}"']""", re.DOTALL)


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if any(fields[name] != value for name, value in pairs):
        raise Malformed("several", "The JSON object gives one field two different values.")
    return fields


# Not strict: a raw line break inside a string can mean only one thing.
_JSON = json.JSONDecoder(strict=False, object_pairs_hook=_fields, parse_constant=lambda name: None)


def _objects(text: str, finish: str) -> Iterator[dict[str, Any]]:
    """The objects at the top level of a text. One that is broken hides what is inside it, so the search ends there."""
    start = 0
    while opening := _OPENING.search(text, start):
        value, start = _object_at(text, opening.start(), finish)
        yield value


def _object_at(text: str, start: int, finish: str) -> tuple[dict[str, Any], int]:
    """The object whose brace stands at `start`, and where it ends."""
    try:
        value, end = _JSON.raw_decode(text, start)
        return _clean(value), end
    except (ValueError, RecursionError):
        pass  # not JSON, but perhaps Python
    ended = _closing(text, start)
    if ended is None:
        complete = finish != "length" and text.rstrip("`~ \n\t").endswith("}")
        raise Malformed("invalid_json" if complete else "truncated")
    return _python_object(text[start:ended]), ended


def _closing(text: str, start: int) -> int | None:
    """Where the brace at `start` is closed, braces in strings left out; None if it is not."""
    depth = 0
    for part in _PART.finditer(text, start):
        if part[0] in "\"'":  # a string that never ends
            return None
        depth += {"{": 1, "}": -1}.get(part[0], 0)
        if depth == 0:
            return part.end()
    return None


def _python_object(text: str) -> dict[str, Any]:
    """A dict in Python's spelling. Strings side by side (which Python joins, losing quotes) and unknown escapes are refused."""
    strings = _STRING.findall(text)
    joined = re.search(r"''\s*''", _STRING.sub("''", text))
    unknown = re.search(r"\\[^\\'\"abfnrtvxuUN0-7\n]", "".join(strings).replace("\\\\", ""))
    if joined or unknown:
        raise Malformed("invalid_json")
    try:
        value = _clean(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise Malformed("invalid_json") from None
    if not isinstance(value, dict):
        raise Malformed("invalid_json")
    return value


def _decoded(text: str) -> Any:
    """A text that is JSON as a whole; None if it is not."""
    try:
        return _clean(_JSON.decode(text))
    except (ValueError, RecursionError):
        return None


def _clean(value: Any) -> Any:
    """The same value in JSON types that every reader accepts. Raises `ValueError` on bytes, sets, half characters, …"""
    if isinstance(value, dict):
        return {_clean_key(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        value.encode()  # a lone surrogate cannot be stored; UnicodeEncodeError is a ValueError
        return value
    if value is None or isinstance(value, int):
        return value
    raise ValueError(f"no JSON type: {type(value).__name__}")


def _clean_key(key: object) -> str:
    if not isinstance(key, str):
        raise ValueError("keys of a JSON object are strings")
    key.encode()
    return key


def field(value: Mapping[str, Any], name: str) -> Any:
    """A required field of an object. Raises `Malformed` if it is not there."""
    if name not in value:
        raise Malformed("no_value", f'The JSON object lacks the field "{name}".')
    return value[name]


# -- fences -------------------------------------------------------------------------------------------------------

_FENCED = re.compile(r"\A\s*(?P<fence>`{3,}|~{3,})[^\n`]*\n(?P<body>.*?)\n?[ \t]*(?P=fence)[`~]*\s*\Z", re.DOTALL)


def unfenced(text: str) -> str:
    """The content of a text that is one fenced block, without the fence and its language tag; else the text."""
    found = _FENCED.match(text)
    if not found or re.search(rf"^[ \t]*{found['fence']}[`~]*[ \t]*$", found["body"], re.MULTILINE):
        return text
    return found["body"]


# -- one verdict --------------------------------------------------------------------------------------------------

Verdict = TypeVar("Verdict", bound=str)

_CUE = r"(?:verdict|answer|label|class|classification|category|response[ _]type|decision|result|judg(?:e)?ment)"
_DECORATION = r"[\s*_`\"'“”>#(\[-]*"


def read_verdict(text: str, spellings: Mapping[Verdict, Sequence[str]]) -> Verdict:
    """The one verdict a text commits to: all it says, a line of its own, its first word, or after a cue like `Verdict:`.

    A verdict that is only mentioned ("looks like a hedge at first", "not a hedge") counts for nothing.

    Args:
        text: prose or a single value. `spellings`: the ways each verdict may be written; case and hyphens
            do not matter.

    Raises:
        Malformed: no verdict, or several different ones with equal right.
    """
    words = _by_spelling(spellings)
    one_of = "|".join(re.escape(spelling) for spelling in sorted(words, key=len, reverse=True))
    said = re.sub(r"[-_ \t]+", " ", unfenced(text)).lower()
    alone = rf"^{_DECORATION}(?P<v>{one_of})[\s*_`\"'“”.!)\]]*$"
    after_cue = rf"\b{_CUE}[*`\"']*\s*(?::|=|\bis\b)(?:\s*:)?{_DECORATION}(?P<v>{one_of})(?!\w|\s*[|/])"
    leading = rf"\A{_DECORATION}(?P<v>{one_of})[*`\"']*[,.:;—–!]"
    for form in (after_cue, alone, leading):
        verdicts = [words[found["v"]] for found in re.finditer(form, said, re.MULTILINE)]
        if len(set(verdicts)) > 1:
            raise Malformed("several")
        if verdicts:
            return verdicts[-1]
    raise Malformed("no_verdict")


def _by_spelling(spellings: Mapping[Verdict, Sequence[str]]) -> dict[str, Verdict]:
    words: dict[str, Verdict] = {}
    for verdict, forms in spellings.items():
        for form in [str(verdict), *forms]:
            words[re.sub(r"[-_ ]+", " ", form).lower()] = verdict
    return words
