"""Which one of a few labels a reply chooses; never the first of several.

What is looked at, in this order: function calls and JSON fields, labels set apart (`[News]`, `**News**`, a line of its own),
all labels of the reply. The first of these that holds a label decides, and has to hold one alone. A label that is only
mentioned to be turned down (`not News`) is none. No library does this; those for function calls read schemas, not prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from tasks.calls import Unreadable, read_calls
from tasks.reliability.objects import find_objects

#: Labels are looked for in so many characters at the end of a text.
LONGEST = 20_000


class Choice(msgspec.Struct, frozen=True):
    """What was chosen. `how`: one label was (`label` says which), different ones were, or none was."""

    how: Literal["chosen", "ambiguous", "none"]
    label: str | None = None


def read_choice(reply: str, labels: Sequence[str]) -> Choice:
    """The label a reply chooses, as `labels` spells it; case does not matter in the reply."""
    text = reply[-LONGEST:]
    known = {label.casefold(): label for label in labels}
    for found in (_in_calls(text, known), _in_objects(text, known), _set_apart(text, known), _mentioned(text, known)):
        if found:
            return Choice("chosen", *found) if len(found) == 1 else Choice("ambiguous")
    return Choice("none")


def _in_calls(text: str, known: dict[str, str]) -> set[str]:
    """The functions called. A call that cannot be read in full is not a choice of one."""
    try:
        calls = read_calls(text, [*known, *known.values()])
    except Unreadable:
        return set()
    return _of((call.name for call in calls), known)


def _in_objects(text: str, known: dict[str, str]) -> set[str]:
    """Labels that are the value of a field, at any depth."""
    return _of(_strings(find_objects(text)), known)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(inner)


_BRACKETED = re.compile(r"\[([^\[\]\n]{1,40})\]|\*\*([^*\n]{1,40})\*\*|`([^`\n]{1,40})`|<([^<>/\n]{1,40})>")


def _set_apart(text: str, known: dict[str, str]) -> set[str]:
    """Labels in brackets or bold, and those that are all a line says."""
    bracketed = (next(filter(None, found.groups())) for found in _BRACKETED.finditer(text))
    return _of([*bracketed, *text.splitlines()], known)


_TURNED_DOWN = re.compile(
    r"\b(?:not|neither|nor|never|without|rather than|instead of|\w+n['’]t)\b(?:(?!\b(?:but|so)\b)[^.,;:\n])*",
    re.IGNORECASE,
)


def _mentioned(text: str, known: dict[str, str]) -> set[str]:
    """Labels that stand anywhere as words of their own."""
    kept = _TURNED_DOWN.sub(" ", text)
    pattern = r"(?<!\w)(?:" + "|".join(map(re.escape, known)) + r")(?!\w)"
    return {known[found[0].casefold()] for found in re.finditer(pattern, kept, re.IGNORECASE)}


def _of(texts: Iterable[str], known: dict[str, str]) -> set[str]:
    """The labels that are all of one of these texts, punctuation and a name before it (`Tool: News`) aside."""
    bare = (re.sub(r"^[\w ]{1,20}[:=]|[^\w\s]|_", " ", text).strip().casefold() for text in texts)
    return {known[text] for text in bare if text in known}
