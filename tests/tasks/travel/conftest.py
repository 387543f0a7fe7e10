"""A second pair of eyes for the travel problems, independent of `tasks/travel`: `read` takes the facts of a problem out of the
messages a model sees, `solve` computes the answer from them in another way than the product does.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from tasks.nouns import Message

Facts = dict[str, Any]


class Unknown(LookupError):
    """Something the messages do not say."""


# -- what a model sees ------------------------------------------------------------------------------------------------


class Seen:
    """Messages taken apart: prose, and the JSON objects in it and in the results of functions."""

    def __init__(self, messages: Sequence[Message]) -> None:
        lines = [line for message in messages for line in message.content.splitlines()]
        self.prose = "\n".join(line for line in lines if not line.startswith("{"))
        self.objects = [json.loads(line) for line in lines if line.startswith("{")]

    def one(self, *patterns: str) -> tuple[str, ...]:
        """The groups of the first pattern that is found, where it is found last."""
        for pattern in patterns:
            if found := list(re.finditer(pattern, self.prose)):
                return found[-1].groups()
        raise Unknown(patterns[0])

    def all(self, pattern: str) -> list[tuple[str, ...]]:
        return [found.groups() for found in re.finditer(pattern, self.prose)]

    def rows(self, kind: str) -> list[dict[str, Any]]:
        return [row for each in self.objects for row in each.get(kind, ())]

    def named(self, kind: str) -> dict[str, Any]:
        """The row whose name is said."""
        said = [row for row in self.rows(kind) if row["name"] in self.prose]
        if len({row["name"] for row in said}) != 1:
            raise Unknown(kind)
        return said[0]


NAME = r"[A-Z]\w+(?: [A-Z0-9]\w*)*"
NAMES = rf"{NAME}(?:, {NAME})*(?: and {NAME})?"
TIME = r"(\d\d:\d\d)"


def names(text: str) -> list[str]:
    return re.split(", | and ", text)


def positions(seen: Seen) -> dict[str, complex]:
    told = {name: complex(int(x), int(y)) for name, x, y in seen.all(rf"({NAME}) is at x = (\d+), y = (\d+)")}
    rows = (row for kind in ("hotels", "restaurants", "attractions") for row in seen.rows(kind))
    return told | {row["name"]: complex(row["location"]["x"], row["location"]["y"]) for row in rows}


# -- the problems, read and solved ----------------------------------------------------------------------------------------


def read_ticket(seen: Seen) -> Facts:
    people = {
        name: (way == "return", grade == "first", int(discount or 0))
        for group, way, grade, discount in seen.all(
            rf"({NAMES}) (?:needs|each need) a (return|one-way) ticket"
            r" in (first|standard) class (?:with a discount of (\d+)%|at full)"
        )
        for name in names(group)
    }
    if rows := seen.rows("trains"):
        standard, first = (rows[0][f"{grade}_class"].split()[0] for grade in ("standard", "first"))
    else:
        standard, first = seen.one(r"costs ([\d.]+) pounds in standard class and ([\d.]+) pounds in first class")
    return {"standard": float(standard), "first": float(first), "people": people}


def solve_ticket(facts: Facts) -> str:
    total = 0.0
    for returns, first, discount in facts["people"].values():
        one_way = facts["first"] if first else facts["standard"]
        total += (one_way + one_way if returns else one_way) * (1 - discount / 100)
    return f"{total:.4f}"


def read_hotel(seen: Seen) -> Facts:
    nights = int(seen.one(r"(\d+) nights")[0])
    rooms = {tuple(names(group)): kind for group, kind in seen.all(rf"({NAMES}) (?:has|share) a (\w+) room\.")}
    stays = {name: [0, nights] for room in rooms for name in room}
    for name, verb, way, _ in seen.all(r"(\w+) (arrives|leaves) one day (before|after) the check-(in|out) date"):
        if name in stays:
            start, end = (0, nights) if verb == "leaves" else (-1 if way == "before" else 1, nights)
            stays[name] = [start, end if verb == "arrives" else nights + (-1 if way == "before" else 1)]
    if seen.rows("hotels"):
        prices = {kind: price.split()[0] for kind, price in seen.named("hotels")["room_per_night"].items()}
    else:
        prices = dict(seen.all(r"a (\w+) room costs ([\d.]+) pounds"))
    if not prices:
        raise Unknown("prices")
    return {"prices": {kind: float(price) for kind, price in prices.items()}, "rooms": rooms, "stays": stays}


def solve_hotel(facts: Facts) -> str:
    total = 0.0
    for room, kind in facts["rooms"].items():
        there = {day for name in room for day in range(*facts["stays"][name])}
        total += facts["prices"][kind] * len(range(min(there), max(there) + 1))
    return f"{total:.2f}"


def read_departure(seen: Seen) -> Facts:
    trains = [(row["leaves"], row["arrives"]) for row in seen.rows("trains")]
    trains = trains or seen.all(rf"{TIME} \(arrives {TIME}\)")
    earliest = seen.one(rf"(?:cannot leave|not) before {TIME}", rf"{TIME} is the earliest")[0]
    if not trains:
        raise Unknown("trains")
    if not re.search("before (?:the )?sun", seen.prose):
        raise Unknown("what is asked")
    return {"trains": trains, "earliest": earliest, "sunset": seen.one(rf"sun sets at {TIME}")[0]}


def solve_departure(facts: Facts) -> str:
    for leaves, arrives in sorted(facts["trains"], reverse=True):
        if leaves >= facts["earliest"] and arrives <= facts["sunset"]:
            return leaves
    raise Unknown("no train")


def read_frequency(seen: Seen) -> Facts:
    start, end = seen.one(rf"between {TIME} and {TIME}")
    departures = [row["leaves"] for row in seen.rows("trains")]
    if not departures:
        departures = re.findall(TIME, seen.one(r"Trains leave .* at (.*)\.")[0])
    return {"start": start, "end": end, "departures": departures}


def solve_frequency(facts: Facts) -> float:
    counted = [minutes(time) for time in facts["departures"] if facts["start"] <= time <= facts["end"]]
    return round(statistics.mean(b - a for a, b in pairwise(counted)), 1)


def read_opening(seen: Seen) -> Facts:
    until = rf"(?:{TIME}(?: (the next morning))?|(midnight))"
    span = rf"for (?:(the whole time from)|at least an hour between) {TIME} (?:to|and) {until}"
    whole, start, end, late, midnight = seen.one(span)
    days = "(Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)"
    (day,) = seen.one(rf"are open on {days}", rf"On {days}\.")
    hours: dict[str, list[str] | None] = dict.fromkeys(name for (name,) in seen.all(rf"({NAME}) is closed on {day}"))
    hours |= {
        name: [opens, closes] for name, opens, closes in seen.all(rf"({NAME}) is open from {TIME} to {TIME} on {day}")
    }
    for row in seen.rows("restaurants"):
        hours[row["name"]] = (
            row["opening_hours"][day.lower()].split("-") if day.lower() in row["opening_hours"] else None
        )
    if not hours:
        raise Unknown("hours")
    asked = [minutes(start), minutes("00:00" if midnight else end) + (24 * 60 if late or midnight else 0)]
    open_hours = {name: times and [minutes(time) for time in times] for name, times in hours.items()}
    return {"throughout": bool(whole), "asked": asked, "hours": open_hours}


def solve_opening(facts: Facts) -> list[str]:
    """By counting minutes; hours of the day before and after are on the line too, as if every day were the same."""
    asked = set(range(*facts["asked"]))
    need = len(asked) if facts["throughout"] else 60
    open_then = []
    for name, hours in facts["hours"].items():
        line = {minute + shift for minute in range(*hours) for shift in (-1440, 0, 1440)} if hours else set()
        if len(asked & line) >= need:
            open_then.append(name)
    return open_then


def read_direction(seen: Seen) -> Facts:
    (direction,) = seen.one(r"further (north|south|east|west)")
    try:
        there, here = seen.one(rf"Is ({NAME}) further \w+ than ({NAME})\?")
    except Unknown:
        (here,) = seen.one(rf"The restaurant is ({NAME})", rf"come from ({NAME}):")
        (there,) = seen.one(rf"want to see is ({NAME})", rf"is ({NAME}) further")
    at = positions(seen)
    if here not in at or there not in at:
        raise Unknown("positions")
    return {"direction": direction, "offset": at[there] - at[here]}


def solve_direction(facts: Facts) -> str:
    toward = {"north": 1j, "south": -1j, "east": 1, "west": -1}[facts["direction"]]
    return "yes" if (facts["offset"] * toward.conjugate()).real > 0 else "no"


def read_distance(seen: Seen) -> Facts:
    at = positions(seen)
    if seen.rows("hotels"):
        ends = [seen.named(kind)["name"] for kind in ("hotels", "restaurants")]
    else:
        try:
            ends = list(seen.one(rf"staying at ({NAME}) and have dinner at ({NAME})"))
        except Unknown:
            ends = [seen.one(rf"Our hotel is ({NAME})")[0], seen.one(rf"The restaurant is ({NAME})")[0]]
    if not all(end in at for end in ends):
        raise Unknown("positions")
    if not re.search(r"How far|the distance from", seen.prose):
        raise Unknown("what is asked")
    return {"offset": at[ends[0]] - at[ends[1]]}


def solve_distance(facts: Facts) -> float:
    return round(abs(facts["offset"]), 1)


def read_path(seen: Seen) -> Facts:
    at = positions(seen)
    if seen.rows("hotels"):
        start, stops = seen.named("hotels")["name"], [row["name"] for row in seen.rows("attractions")]
    else:
        (start,) = seen.one(rf"[Ww]e start at ({NAME})")
        stops = names(seen.one(rf"walk to ({NAMES}), each", rf"want to see are ({NAMES})")[0])
    if not stops or not all(name in at for name in (start, *stops)):
        raise Unknown("positions")
    if not re.search(r"order", seen.prose):
        raise Unknown("what is asked")
    return {"start": at[start], "stops": {name: at[name] for name in stops}}


def solve_path(facts: Facts) -> list[str]:
    """By the shortest rest of a walk from each place (Held and Karp)."""
    at = facts["stops"]

    @cache
    def rest(here: complex, left: frozenset[str]) -> tuple[float, tuple[str, ...]]:
        if not left:
            return 0.0, ()
        return min(
            (abs(at[name] - here) + length, (name, *order))
            for name in left
            for length, order in [rest(at[name], left - {name})]
        )

    return list(rest(facts["start"], frozenset(at))[1])


def minutes(time: str) -> int:
    hours, rest = time.split(":")
    return int(hours) * 60 + int(rest)


READ: dict[str, Callable[[Seen], Facts]] = {
    "travel-ticket": read_ticket,
    "travel-hotel": read_hotel,
    "travel-departure": read_departure,
    "travel-frequency": read_frequency,
    "travel-opening": read_opening,
    "travel-direction": read_direction,
    "travel-distance": read_distance,
    "travel-path": read_path,
}
SOLVE: dict[str, Callable[[Facts], Any]] = {
    "travel-ticket": solve_ticket,
    "travel-hotel": solve_hotel,
    "travel-departure": solve_departure,
    "travel-frequency": solve_frequency,
    "travel-opening": solve_opening,
    "travel-direction": solve_direction,
    "travel-distance": solve_distance,
    "travel-path": solve_path,
}
SAY: dict[str, str] = {
    "travel-ticket": "All tickets together cost £{}.",
    "travel-hotel": "The whole stay costs £{}.",
    "travel-departure": "Take the train at {}.",
    "travel-frequency": "There are {} minutes between them on average.",
    "travel-direction": "{}.",
    "travel-distance": "It is {} m from one to the other.",
    "travel-opening": "These are open then: {}.",
    "travel-path": "Walk in this order: {}.",
}


def answer(task: str, messages: Sequence[Message]) -> str:
    """What a reader of the facts replies to these messages; a question while something is unknown."""
    try:
        found = SOLVE[task](READ[task](Seen(messages)))
    except Unknown:
        return "Could you tell me more about what you need?"
    if isinstance(found, list):
        return SAY[task].format(", ".join(found)) if found else "None of these is open then."
    return SAY[task].format(found)


@pytest.fixture(scope="session")
def second() -> SimpleNamespace:
    """`answer(task, messages)`, `solve[task](facts)`, `read[task](Seen(messages))`, `minutes(time)`."""
    return SimpleNamespace(answer=answer, solve=SOLVE, read=READ, Seen=Seen, minutes=minutes)


@pytest.fixture(scope="session")
def without_last() -> Callable[[Sequence[Message]], list[Message]]:
    """The messages without what the user said last."""

    def drop(messages: Sequence[Message]) -> list[Message]:
        last = max(place for place, message in enumerate(messages) if message.role == "user")
        return [*messages[:last], *messages[last + 1 :]]

    return drop
