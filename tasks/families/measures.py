"""Families about amounts that are measured: miles, pages, litres, cups, minutes."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tasks.families.cast import PEOPLE
from tasks.families.family import Fact, Family, Values


def _journey(f: Values) -> Iterator[Fraction]:
    yield (
        f["train"]
        + f["bus"]
        + f["hours"] * f["speed"]
        + f["times"] * f["bus"]
        + f["ferry_hours"] * f["ferry_speed"]
        + f["walk"]
    )


JOURNEY = Family(
    name="journey",
    cast={"A": PEOPLE},
    questions={2: ("How many miles did {A} travel in total?", "How many miles did {A} travel altogether?")},
    facts=(
        Fact("train", range(30, 200), ("{A} travelled {n} miles by train.",)),
        Fact("bus", range(8, 60), ("{A} travelled {n} miles by bus.", "{A} went {n} miles by bus.")),
        Fact("hours", range(3, 8), ("{A} drove a rental car for {n} hours.",)),
        Fact("speed", range(30, 75, 5), ("The rental car went {n} miles an hour all the time.",)),
        Fact("times", (2, 3), ("{A} cycled {times} as many miles as {A.he} went by bus.",)),
        Fact("ferry_hours", range(2, 9), ("{A} spent {n} hours on a ferry.",)),
        Fact("ferry_speed", range(9, 28), ("The ferry sailed {n} miles an hour all the time.",)),
        Fact("walk", range(3, 18), ("{A} walked {n} miles.",)),
    ),
    tiers={1: (2,), 2: (4,), 3: (5,), 4: (7, 8)},
    steps=_journey,
)


def _reading(f: Values) -> Iterator[Fraction]:
    on_holiday = f["book"] * f["percent"] / 100
    if on_holiday:
        yield on_holiday
    yield (
        f["book"]
        - f["sunday"]
        - f["evenings"] * f["per_evening"]
        - f["times"] * f["sunday"]
        - f["appendix"]
        - f["aloud"]
        - on_holiday
    )


READING = Family(
    name="reading",
    cast={"A": PEOPLE, "B": PEOPLE},
    questions={2: ("How many pages of the book does {A} still have to read?",)},
    facts=(
        Fact("book", range(300, 700, 20), ("{A} is reading a book of {n} pages.",), easy=(6, 7, 8, 9)),
        Fact("sunday", range(12, 50), ("{A} read {n} pages of the book on Sunday.",), easy=(2, 3, 4, 5)),
        Fact("evenings", range(3, 10), ("{A} read the book in bed on {n} evenings.",)),
        Fact("per_evening", range(6, 20), ("On each evening in bed, {A} read {n} pages of the book.",)),
        Fact("times", (2, 3), ("On a train ride, {A} read {times} as many pages of the book as on Sunday.",)),
        Fact("appendix", range(8, 40), ("The book has an appendix of {n} pages that {A} will not read.",)),
        Fact("aloud", range(5, 25), ("{B} read {n} pages of the book aloud to {A}.",)),
        Fact("percent", (5, 10, 15, 20, 25), ("On holiday, {A} read {n}% of the pages of the book.",)),
    ),
    tiers={1: (2,), 2: (4,), 3: (5, 6), 4: (7, 8)},
    steps=_reading,
)


def _tank(f: Values) -> Iterator[Fraction]:
    filled = f["start"] + f["rain"] + f["minutes"] * f["rate"] + f["buckets"] * f["per_bucket"]
    yield f["start"] + f["rain"] - f["leak_hours"] * f["leak"]
    yield filled - f["leak_hours"] * f["leak"]


TANK = Family(
    name="tank",
    cast={"A": PEOPLE},
    questions={2: ("How many litres of water are in {A}'s tank in the evening?",)},
    facts=(
        Fact("start", range(150, 500, 10), ("In the morning, there were {n} litres of water in {A}'s tank.",)),
        Fact("rain", range(30, 120), ("At noon, the rain added {n} litres of water to {A}'s tank.",)),
        Fact("minutes", range(5, 30), ("A pump ran water into {A}'s tank for {n} minutes.",)),
        Fact(
            "rate",
            range(6, 20),
            ("The pump delivers {n} litres a minute.", "Every minute, the pump delivers {n} litres."),
        ),
        Fact("leak_hours", range(2, 10), ("{A}'s tank leaked for {n} hours before the leak was closed.",)),
        Fact("leak", range(3, 15), ("Through the leak, {A}'s tank lost {n} litres an hour.",)),
        Fact("buckets", range(3, 12), ("{A} poured {n} full buckets of water into the tank.",)),
        Fact("per_bucket", range(8, 16), ("A full bucket holds {n} litres.",)),
    ),
    tiers={1: (2,), 2: (4,), 3: (6,), 4: (8,)},
    steps=_tank,
)


def _kitchen(f: Values) -> Iterator[Fraction]:
    needed = f["pancakes"] + f["bread"] + f["cakes"] * f["per_cake"] + f["pizzas"] * f["per_pizza"]
    yield needed - f["pantry"] - f["gift"]


KITCHEN = Family(
    name="kitchen",
    cast={"A": PEOPLE, "B": PEOPLE},
    questions={
        2: ("How many cups of flour does {A} need altogether for the party?",),
        5: ("How many cups of flour does {A} still have to buy for the party?",),
    },
    facts=(
        Fact("pancakes", range(5, 20), ("The pancakes for {A}'s party take {n} cups of flour.",)),
        Fact("bread", range(6, 25), ("The bread for {A}'s party takes {n} cups of flour.",)),
        Fact(
            "cakes", range(3, 12), ("{A} is baking {n} cakes for the party.", "For the party, {A} is baking {n} cakes.")
        ),
        Fact("per_cake", range(2, 8), ("Every cake takes {n} cups of flour.",)),
        Fact("pantry", range(4, 20), ("{A} already has {n} cups of flour in the pantry.",)),
        Fact("gift", range(3, 15), ("{B} is giving {A} {n} cups of flour.",)),
        Fact("pizzas", range(4, 15), ("{A} is making {n} pizzas for the party.",)),
        Fact("per_pizza", range(2, 7), ("Every pizza takes {n} cups of flour.",)),
    ),
    tiers={1: (2,), 2: (4,), 3: (5, 6), 4: (8,)},
    steps=_kitchen,
)


def _training(f: Values) -> Iterator[Fraction]:
    cool_down = f["warm_up"] * f["part"]
    if cool_down:
        yield cool_down
    yield (
        f["warm_up"]
        + f["stretching"]
        + f["laps"] * f["per_lap"]
        + f["times"] * f["stretching"]
        + f["sets"] * f["per_set"]
        + cool_down
    )


TRAINING = Family(
    name="training",
    cast={"A": PEOPLE},
    questions={2: ("How many minutes did {A} train altogether?", "How many minutes did {A}'s training take in total?")},
    facts=(
        Fact("warm_up", range(8, 40, 2), ("{A} warmed up for {n} minutes.",)),
        Fact("stretching", range(5, 25), ("{A} stretched for {n} minutes.",)),
        Fact("laps", range(6, 20), ("{A} ran {n} laps.",)),
        Fact("per_lap", range(2, 7), ("Each lap took {A} {n} minutes to run.",)),
        Fact("times", (2, 3), ("{A} swam {times} as long as {A.he} stretched.",)),
        Fact("sets", range(3, 9), ("{A} lifted weights in {n} sets.",)),
        Fact("per_set", range(4, 12), ("Every set of weight lifting took {n} minutes.",)),
        Fact("part", ("1/2", "1/3", "1/4"), ("{A} cooled down for {part} of the time of the warm-up.",)),
    ),
    tiers={1: (2,), 2: (4,), 3: (5,), 4: (7, 8)},
    steps=_training,
)
