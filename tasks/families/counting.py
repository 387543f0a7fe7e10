"""Families about things that are counted: what is there, what comes, what goes."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tasks.families.cast import BAKED, FRUIT, PEOPLE, STOPS, TOYS
from tasks.families.family import Fact, Family, Values


def _harvest(f: Values) -> Iterator[Fraction]:
    picked = f["monday"] + f["tuesday"] + f["times"] * f["monday"]
    yield picked - f["given"]
    friday = f["baskets"] * f["per_basket"]
    pressed = friday * f["percent"] / 100
    if pressed:
        yield pressed
    yield picked - f["given"] + friday - f["bruised"] - pressed


HARVEST = Family(
    name="harvest",
    cast={"A": PEOPLE, "B": PEOPLE, "fruit": FRUIT},
    questions={
        2: ("How many {fruit} did {A} pick altogether?", "How many {fruit} did {A} pick in total?"),
        3: ("How many of this week's {fruit} does {A} have on Sunday evening?",),
    },
    facts=(
        Fact("monday", range(12, 60), ("{A} picked {n} {fruit} on Monday.", "On Monday, {A} picked {n} {fruit}.")),
        Fact("tuesday", range(12, 60), ("{A} picked {n} {fruit} on Tuesday.", "On Tuesday, {A} picked {n} {fruit}.")),
        Fact("times", (2, 3, 4), ("On Wednesday, {A} picked {times} as many {fruit} as on Monday.",)),
        Fact(
            "given",
            range(5, 30),
            ("{A} gave {n} of the {fruit} to {B} on Thursday.", "On Thursday, {A} gave {B} {n} {fruit}."),
        ),
        Fact("baskets", range(3, 12), ("{A} picked {n} full baskets of {fruit} on Friday.",)),
        Fact("per_basket", range(10, 50, 5), ("Every basket picked on Friday holds {n} {fruit}.",)),
        Fact("bruised", range(3, 20), ("On Saturday, {A} threw away {n} bruised {fruit}.",)),
        Fact(
            "percent",
            (10, 20, 25, 40, 50),
            ("On Sunday morning, {A} made jam from {n}% of the {fruit} picked on Friday.",),
        ),
    ),
    tiers={1: (2,), 2: (3, 4), 3: (6,), 4: (7, 8)},
    steps=_harvest,
)


def _bakery(f: Values) -> Iterator[Fraction]:
    baked = f["early"] + f["late"]
    yield baked - f["sold"]
    donated = f["early"] * f["part"]
    if donated:
        yield donated
        yield baked - f["sold"] - donated
    yield baked + f["trays"] * f["per_tray"] - f["sold"] - f["boxes"] * f["per_box"] - donated


BAKERY = Family(
    name="bakery",
    cast={"A": PEOPLE, "baked": BAKED},
    questions={
        2: ("How many {baked} did {A} bake altogether?", "How many {baked} did {A} bake in total?"),
        3: ("How many {baked} does {A} have left at the end of the day?",),
    },
    facts=(
        Fact(
            "early",
            range(60, 180, 6),
            ("{A} baked {n} {baked} in the morning.", "In the morning, {A} baked {n} {baked}."),
        ),
        Fact(
            "late",
            range(20, 80),
            ("{A} baked {n} {baked} in the afternoon.", "In the afternoon, {A} baked {n} {baked}."),
        ),
        Fact("sold", range(15, 60), ("{A} sold {n} {baked} before lunch.",)),
        Fact("trays", range(4, 10), ("At noon, {A} took {n} full trays of {baked} out of the oven.",)),
        Fact("per_tray", range(12, 40, 4), ("A full tray holds {n} {baked}.", "Every full tray holds {n} {baked}.")),
        Fact("boxes", range(3, 12), ("{A} sold {n} full boxes of {baked} in the evening.",)),
        Fact("per_box", range(6, 20), ("A full box holds {n} {baked}.", "There are {n} {baked} in every full box.")),
        Fact("part", ("1/2", "1/3", "1/4"), ("{A} gave {part} of the {baked} baked in the morning to a school.",)),
    ),
    tiers={1: (2,), 2: (3,), 3: (5,), 4: (7, 8)},
    steps=_bakery,
)


def _bus(f: Values) -> Iterator[Fraction]:
    people = f["start"] + f["on"]
    yield people
    people -= f["off"]
    yield people
    people += f["times"] * f["on"]
    left = f["part"] * f["on"]
    if left:
        yield left
    yield people - left + f["families"] * f["per_family"] - f["late"]


BUS = Family(
    name="bus",
    cast={"end": STOPS} | dict.fromkeys(("P", "Q", "R", "S", "T", "U"), STOPS),
    questions={
        2: (
            "How many people are on the bus when it reaches {end}?",
            "With how many people does the bus arrive at {end}?",
        )
    },
    facts=(
        Fact("start", range(12, 40), ("The bus left the depot with {n} people on board.",)),
        Fact("on", range(6, 30), ("At {P}, {n} more people got on the bus.",)),
        Fact("off", range(5, 25), ("At {Q}, {n} people got off the bus.", "{n} people got off the bus at {Q}.")),
        Fact("times", (2, 3), ("At {R}, {times} as many people got on the bus as at {P}.",)),
        Fact("part", ("1/2", "1/3", "1/4"), ("At {S}, {part} of the people who had boarded at {P} got off the bus.",)),
        Fact("families", range(4, 9), ("At {T}, {n} families got on the bus.",)),
        Fact("per_family", range(3, 8), ("Every family that got on the bus at {T} has {n} members.",)),
        Fact("late", range(4, 20), ("At {U}, {n} people got off the bus.", "{n} people got off the bus at {U}.")),
    ),
    tiers={1: (2,), 2: (3, 4), 3: (5,), 4: (7, 8)},
    steps=_bus,
)


def _garden(f: Values) -> Iterator[Fraction]:
    yield f["tulips"] - f["eaten"]
    yield (
        f["roses"]
        + f["tulips"]
        + f["rows"] * f["per_row"]
        + f["times"] * f["roses"]
        - f["eaten"]
        + f["packets"] * f["per_packet"]
    )


GARDEN = Family(
    name="garden",
    cast={"A": PEOPLE, "B": PEOPLE},
    questions={
        2: (
            "How many flowers are in {A}'s garden altogether?",
            "How many flowers does {A} have in the garden altogether?",
        )
    },
    facts=(
        Fact("roses", range(8, 40), ("{A} planted {n} roses in the garden.",)),
        Fact(
            "tulips",
            range(20, 60),
            ("{A} planted {n} tulips in the garden.",),
        ),
        Fact("rows", range(4, 12), ("{A} planted {n} rows of lilies in the garden.",)),
        Fact("per_row", range(6, 20), ("There are {n} lilies in every row.", "Each row of lilies has {n} plants.")),
        Fact("times", (2, 3, 4), ("{A} planted {times} as many daisies as roses.",)),
        Fact("eaten", range(3, 18), ("Rabbits ate {n} of {A}'s tulips.",)),
        Fact("packets", range(3, 9), ("{B} gave {A} {n} packets of poppy seeds for the garden.",)),
        Fact("per_packet", range(10, 40, 5), ("Each packet of poppy seeds grew into {n} poppies.",)),
    ),
    tiers={1: (2,), 2: (4,), 3: (5, 6), 4: (8,)},
    steps=_garden,
)


def _sharing(f: Values) -> Iterator[Fraction]:
    together = f["a"] + f["b"] + f["boxes"] * f["per_box"] + f["times"] * f["b"]
    yield f["a"] - f["broken"]
    yield (together - f["broken"] - f["kept"]) / (f["children"] or 1)


SHARING = Family(
    name="sharing",
    cast={"A": PEOPLE, "B": PEOPLE, "C": PEOPLE, "D": PEOPLE, "toys": TOYS},
    questions={
        2: ("How many {toys} do {A} and {B} have altogether?",),
        3: ("How many {toys} does each child get?",),
    },
    facts=(
        Fact("a", range(20, 90), ("{A} has {n} {toys}.",)),
        Fact("b", range(12, 60), ("{B} has {n} {toys}.",)),
        Fact("children", range(3, 10), ("All the {toys} are shared equally among {n} children.",)),
        Fact("boxes", range(3, 12), ("{C} brings {n} boxes of {toys} to share.",)),
        Fact("per_box", range(10, 40, 5), ("Each box that {C} brings contains {n} {toys}.",)),
        Fact("broken", range(2, 15), ("Before the sharing, {n} of {A}'s {toys} are lost.",)),
        Fact("times", (2, 3), ("{D} brings {times} as many {toys} as {B}.",)),
        Fact("kept", range(4, 20), ("Before the sharing, {n} {toys} are set aside for the teacher.",)),
    ),
    tiers={1: (2,), 2: (3,), 3: (5, 6), 4: (7, 8)},
    steps=_sharing,
)
