"""Families about people: how old they are, how many of them go."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tasks.families.cast import PEOPLE, TRIPS
from tasks.families.family import Fact, Family, Values

_UNCHANGED = Fraction(1)


def _ages(f: Values) -> Iterator[Fraction]:
    yield f["first"] + f["older"]
    of_d = (f["first"] + f["older"]) * f.get("times", _UNCHANGED) - f["younger"]
    yield of_d
    of_e = of_d * f.get("part", _UNCHANGED)
    yield of_e
    of_g = of_e + f["older_still"] - f["youngest"]
    yield of_g
    yield of_g + f["years"]


AGES = Family(
    name="ages",
    cast=dict.fromkeys("ABCDEFG", PEOPLE),
    questions={
        2: ("How old is {B}?",),
        3: ("How old is {C}?",),
        4: ("How old is {D}?",),
        6: ("How old is {F}?",),
        8: ("How old will {G} be when the family photo is taken?",),
    },
    facts=(
        Fact("first", range(5, 15), ("{A} is {n} years old.",)),
        Fact("older", range(3, 15), ("{B} is {n} years older than {A}.", "{A} is {n} years younger than {B}.")),
        Fact("times", (2, 3), ("{C} is {times} as old as {B}.",)),
        Fact("younger", range(3, 20), ("{D} is {n} years younger than {C}.", "{C} is {n} years older than {D}.")),
        Fact("part", ("1/2", "1/3", "1/4"), ("{E}'s age is {part} of {D}'s age.",)),
        Fact("older_still", range(5, 30), ("{F} is {n} years older than {E}.",)),
        Fact("youngest", range(2, 12), ("{G} is {n} years younger than {F}.",)),
        Fact("years", range(3, 20), ("The family photo will be taken {n} years from now.",)),
    ),
    tiers={1: (2,), 2: (3, 4), 3: (6,), 4: (8,)},
    steps=_ages,
)


def _trip(f: Values) -> Iterator[Fraction]:
    yield f["boys"] - f["ill"]
    cancelled = f["girls"] * f["percent"] / 100
    if cancelled:
        yield cancelled
    adults = f["parents"] * (1 + f["times"])
    yield f["girls"] + f["boys"] + adults + f["teams"] * f["per_team"] - f["ill"] - cancelled


TRIP = Family(
    name="trip",
    cast={"trip": TRIPS},
    questions={2: ("How many people are going on the {trip} altogether?",)},
    facts=(
        Fact("girls", range(20, 80, 4), ("{n} girls signed up for the {trip}.",)),
        Fact("boys", range(18, 80), ("{n} boys signed up for the {trip}.",)),
        Fact("parents", range(3, 15), ("{n} parents are coming along on the {trip}.",)),
        Fact("times", (2, 3), ("There are {times} as many helpers as parents on the {trip}.",)),
        Fact("teams", range(3, 9), ("The chess club is sending {n} teams on the {trip}.",)),
        Fact("per_team", range(4, 9), ("Every team of the chess club has {n} members.",)),
        Fact("ill", range(2, 15), ("{n} boys who signed up for the {trip} are ill and have to stay at home.",)),
        Fact("percent", (5, 10, 20, 25, 50), ("{n}% of the girls who signed up for the {trip} cancelled.",)),
    ),
    tiers={1: (2,), 2: (3, 4), 3: (6,), 4: (7, 8)},
    steps=_trip,
)
