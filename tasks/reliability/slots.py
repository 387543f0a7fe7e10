"""Slots of a booking: read from a reply, made comparable by their kind, and compared.

A slot is in one of three states that are never taken for each other: it has a value, it may be anything (`any`), or it was
not given (null). Two slots are the same if their states are and, where there is a value, the value is one the text can mean.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from functools import cache
from itertools import zip_longest
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from tasks.reliability.dates import find_dates
from tasks.reliability.objects import find_objects
from tasks.reliability.people import find_people
from tasks.reliability.times import find_times, read_length, write_time

Value: TypeAlias = str | int
#: Readings of one expression: the values it can mean (`half past seven` can be two).
Meant: TypeAlias = frozenset[Value]


class Context(NamedTuple):
    """What reading depends on beside the text: the day it was said on, and whether `3/4` is in April."""

    today: date | None = None
    day_first: bool = False


NO_CONTEXT = Context()

# -- kinds ----------------------------------------------------------------------------------------------------------------


def _dates(text: str, context: Context, field: bool) -> list[Meant]:
    return [frozenset({str(day)}) for day in find_dates(text, context.today, day_first=context.day_first)]


def _times(text: str, context: Context, field: bool) -> list[Meant]:
    return [frozenset(map(write_time, time)) for time in find_times(text, bare=field)]


def _people(text: str, context: Context, field: bool) -> list[Meant]:
    return [frozenset({count}) for count in find_people(text, bare=field)]


def _minutes(text: str, context: Context, field: bool) -> list[Meant]:
    length = read_length(text) if field else None
    return [] if length is None else [frozenset({length})]


def _text(text: str, context: Context, field: bool) -> list[Meant]:
    return [frozenset({" ".join(text.casefold().split())})] if field else []


class Kind(NamedTuple):
    """A kind of value: what a text names of it, and other names of a slot that is called like the kind.

    `find` takes the text, the context, and whether the text is the content of a field (then `4` is a number of people).
    """

    find: Callable[[str, Context, bool], list[Meant]]
    names: frozenset[str] = frozenset()


_PEOPLE = "numberofpeople numpeople numberofguests guests party partysize persons pax size"

KINDS: Mapping[str, Kind] = {
    "date": Kind(_dates, frozenset({"day", "bookingdate", "reservationdate", "dateofbooking", "when"})),
    "time": Kind(_times, frozenset({"hour", "bookingtime", "reservationtime", "timeofday"})),
    "people": Kind(_people, frozenset(_PEOPLE.split())),
    "duration": Kind(_minutes),
    "text": Kind(_text),
}

# -- reading --------------------------------------------------------------------------------------------------------------

_WORDS_FOR_ANY = "any|anytime|any time|any date|anything|dontcare|dont care|no preference|flexible|whatever"
_WORDS_FOR_ABSENT = (
    "|null|none|nil|unknown|na|not given|not specified|not provided|not mentioned|not stated|unspecified|missing|tbd"
)
_ANY, _ABSENT = frozenset(_WORDS_FOR_ANY.split("|")), frozenset(_WORDS_FOR_ABSENT.split("|"))


class Slot(msgspec.Struct, frozen=True):
    """What was said of one slot. `meant`: the values it can mean, where its state is `value`."""

    state: Literal["value", "any", "absent", "unreadable"] = "absent"
    meant: Meant = frozenset()

    def same(self, target: Slot) -> bool:
        """Whether this is what the target says: in the same state, with a value the target has."""
        readable = self.state != "unreadable"
        return readable and self.state == target.state and (self.state != "value" or bool(self.meant & target.meant))

    @property
    def shown(self) -> Value | None:
        """In JSON types, for a person to read."""
        if self.state == "value":
            return next(iter(self.meant)) if len(self.meant) == 1 else " or ".join(sorted(map(str, self.meant)))
        return None if self.state == "absent" else self.state


def read_field(value: Any, kind: str, context: Context = NO_CONTEXT) -> Slot:
    """The content of one field, in JSON types. Different values in it are unreadable, not the first of them."""
    if value is None:
        return Slot()
    if isinstance(value, bool):
        return Slot("unreadable")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    words = " ".join(re.sub(r"[^\w\s]", "", text).casefold().split())
    if words in _ANY or words in _ABSENT:
        return Slot("any" if words in _ANY else "absent")
    return _one(KINDS[kind].find(text, context, True))


def read_fields(values: Mapping[str, Any], kinds: Mapping[str, str], context: Context = NO_CONTEXT) -> dict[str, Slot]:
    """Every slot of `kinds` (name -> kind); one that `values` does not have is absent."""
    return {name: read_field(values.get(name), kind, context) for name, kind in kinds.items()}


def read_slots(reply: str, kinds: Mapping[str, str], context: Context = NO_CONTEXT) -> dict[str, Slot]:
    """Every slot as a reply gives it: in JSON, else in lines such as `Date: March 15`, else in prose.

    A slot that is given twice has to be given alike.
    """
    fields = list(_fields_of(find_objects(reply), kinds)) or list(_lines(reply, kinds))
    if not fields:
        return {name: _one(KINDS[kind].find(reply, context, False)) for name, kind in kinds.items()}
    given = {name: [read_field(value, kinds[name], context) for at, value in fields if at == name] for name in kinds}
    return {name: _agreed(slots) for name, slots in given.items()}


def _one(found: list[Meant]) -> Slot:
    distinct = set(found)
    if not distinct:
        return Slot()
    return Slot("value", found[0]) if len(distinct) == 1 else Slot("unreadable")


def _agreed(slots: list[Slot]) -> Slot:
    distinct = set(slots)
    return Slot("unreadable") if len(distinct) > 1 else next(iter(distinct), Slot())


def _lines(reply: str, kinds: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Fields such as `**Date**: March 15`, one or several a line; each ends where its line does, or the next field begins."""
    starts = list(_field_names(tuple(kinds.items())).finditer(reply))
    for start, following in zip_longest(starts, starts[1:]):
        line = reply[start.end() : following.start() if following else None].lstrip(" \t*_\"'`").split("\n", 1)[0]
        name = _slot_named(start["name"], kinds)
        assert name is not None
        yield name, line.strip(" \t*_\"'`,;|{}")


@cache
def _field_names(kinds: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    names = {letters for name, kind in kinds for letters in _names(name, kind)}
    spelled = "|".join(r"[\W_]?".join(map(re.escape, name)) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?P<name>{spelled})[*_\"'`| \t]{{0,9}}?[:=|](?!=)", re.IGNORECASE)


def _fields_of(values: Iterable[Any], kinds: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """The fields that are slots, at any depth."""
    for value in values:
        if isinstance(value, list):
            yield from _fields_of(value, kinds)
        for key, inner in value.items() if isinstance(value, dict) else ():
            if name := _slot_named(key, kinds):
                yield name, inner
            else:
                yield from _fields_of([inner], kinds)


def _slot_named(key: str, kinds: Mapping[str, str]) -> str | None:
    letters = _letters(key)
    return next((name for name, kind in kinds.items() if letters in _names(name, kind)), None)


def _names(name: str, kind: str) -> frozenset[str]:
    """What the field of a slot may be called; only a slot that is called like its kind has other names."""
    return KINDS[kind].names | {kind} if name == kind else frozenset({_letters(name)})


def _letters(key: str) -> str:
    return re.sub(r"[\W_]", "", key).casefold()
