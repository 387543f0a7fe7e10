"""Families about money: spending, earning, saving, raising it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tasks.families.cast import GROCERIES, PEOPLE, SHOWS, SNACKS, STATIONERY, TREATS
from tasks.families.family import Fact, Family, Values

_PRICES = ("1.20", "1.50", "1.75", "2.25", "2.40", "2.50", "3.50", "3.75", "4.50", "4.80", *range(2, 9))


def _shopping(f: Values) -> Iterator[Fraction]:
    price = f["price"] * (1 - f["discount"] / 100)
    if price:
        yield price
    yield f["purse"] - f["snack"] - f["count"] * price - f["count2"] * f["price2"] + f["repaid"]


SHOPPING = Family(
    name="shopping",
    cast={"A": PEOPLE, "B": PEOPLE, "snack": SNACKS, "item": STATIONERY, "food": GROCERIES},
    questions={
        2: ("How much money does {A} have left after shopping?", "How many dollars does {A} bring home from shopping?")
    },
    facts=(
        Fact(
            "purse",
            range(60, 200, 10),
            ("{A} went shopping with ${n}.", "{A} took ${n} along to go shopping."),
            easy=(6, 7, 8, 9),
        ),
        Fact("snack", range(4, 20), ("{A} spent ${n} on {snack}.", "{A} bought {snack} for ${n}."), easy=(2, 3, 4, 5)),
        Fact("count", range(3, 12), ("{A} bought {n} {item}.",)),
        Fact(
            "price",
            _PRICES,
            ("The price tag on each of the {item} said ${n}.", "On the price tag of the {item} it said ${n} apiece."),
        ),
        Fact("discount", (10, 20, 25, 50), ("{A} got a discount of {n}% on the {item}.",)),
        Fact("count2", range(2, 8), ("{A} bought {n} {food}.",)),
        Fact("price2", _PRICES, ("Each of the {food} cost ${n}.", "{A} paid ${n} for each of the {food}.")),
        Fact("repaid", range(5, 40), ("In the shop, {B} paid back ${n} that {A} had lent {B.him}.",)),
    ),
    tiers={1: (2,), 2: (4,), 3: (5,), 4: (7, 8)},
    steps=_shopping,
    money=True,
)


def _wages(f: Values) -> Iterator[Fraction]:
    share = f["lawns"] * f["percent"] / 100
    yield f["lawns"] + f["tip"] + f["hours"] * f["rate"] + f["dogs"] * f["per_dog"] - f["fuel"] - share


WAGES = Family(
    name="wages",
    cast={"A": PEOPLE, "B": PEOPLE, "C": PEOPLE},
    questions={
        2: ("How much money did {A} make this week altogether?", "How many dollars did {A} make this week in total?"),
        7: ("How much money did {A} make this week after all costs?",),
    },
    facts=(
        Fact("lawns", range(40, 160, 10), ("{A} earned ${n} this week by mowing lawns.",)),
        Fact("tip", range(3, 25), ("{B} gave {A} a tip of ${n} this week.",)),
        Fact("hours", range(3, 15), ("{A} worked as a babysitter for {n} hours this week.",)),
        Fact("rate", ("9.50", "10.50", "12.50", *range(8, 18)), ("{A} gets ${n} for each hour of babysitting.",)),
        Fact("dogs", range(3, 12), ("{A} walked {n} dogs this week.",)),
        Fact("per_dog", ("4.50", "6.25", "7.50", *range(4, 12)), ("{A} gets ${n} for every dog walked.",)),
        Fact("fuel", range(5, 35), ("{A} paid ${n} for fuel this week.",)),
        Fact(
            "percent", (5, 10, 15, 20, 25), ("{A} passes on {n}% of the lawn mowing money to {C}, who owns the mower.",)
        ),
    ),
    tiers={1: (2,), 2: (4,), 3: (6,), 4: (7, 8)},
    steps=_wages,
    money=True,
)


def _savings(f: Values) -> Iterator[Fraction]:
    saved = f["start"] + f["gift"] + f["weeks"] * f["weekly"]
    yield saved - f["purchase"]
    yield saved - f["purchase"] + f["times"] * f["gift"] + f["start"] * f["percent"] / 100 - f["lent"]


SAVINGS = Family(
    name="savings",
    cast={"A": PEOPLE, "B": PEOPLE, "treat": TREATS},
    questions={2: ("How much money is in {A}'s savings jar now?", "How many dollars does {A}'s savings jar hold now?")},
    facts=(
        Fact("start", range(20, 120, 5), ("In January, there were ${n} in {A}'s savings jar.",)),
        Fact("gift", range(6, 40), ("This year, {A}'s grandmother put ${n} more into the savings jar.",)),
        Fact("weeks", range(5, 30), ("This year, {A} has put pocket money into the savings jar for {n} weeks.",)),
        Fact(
            "weekly",
            ("1.50", "2.50", "3.50", *range(2, 10)),
            ("The pocket money that {A} puts into the savings jar is ${n} a week.",),
        ),
        Fact("purchase", range(8, 60), ("{A} took ${n} out of the savings jar this year to buy {treat}.",)),
        Fact(
            "times", (2, 3), ("{A}'s uncle put {times} as much into the savings jar this year as {A}'s grandmother.",)
        ),
        Fact(
            "percent",
            (10, 20, 25, 50),
            ("This year, {A}'s father added {n}% of what was in the savings jar in January.",),
        ),
        Fact("lent", range(4, 30), ("This year, {A} lent {B} ${n} from the savings jar.",)),
    ),
    tiers={1: (2,), 2: (4,), 3: (5, 6), 4: (7, 8)},
    steps=_savings,
    money=True,
)


def _show(f: Values) -> Iterator[Fraction]:
    if f["less"]:
        yield f["adult_price"] - f["less"]
    yield (
        f["drinks"]
        + f["cakes"]
        + f["adults"] * f["adult_price"]
        + f["children"] * (f["adult_price"] - f["less"])
        - f["hall"]
        + f["times"] * f["cakes"]
    )


SHOW = Family(
    name="show",
    cast={"show": SHOWS},
    questions={
        2: ("How much money did the {show} bring in altogether?",),
        7: ("How much money did the {show} bring in after paying for the hall?",),
    },
    facts=(
        Fact("drinks", range(20, 120), ("The drinks sold at the {show} brought in ${n}.",)),
        Fact("cakes", range(15, 80), ("The cakes sold at the {show} brought in ${n}.",)),
        Fact("adults", range(20, 80), ("{n} adults bought a ticket for the {show}.",)),
        Fact("adult_price", ("6.50", "7.50", *range(6, 16)), ("An adult ticket for the {show} costs ${n}.",)),
        Fact("children", range(15, 90), ("{n} children bought a ticket for the {show}.",)),
        Fact(
            "less",
            ("1.50", "2.50", *range(2, 6)),
            ("A child's ticket for the {show} costs ${n} less than an adult ticket.",),
        ),
        Fact("hall", range(100, 300, 10), ("Renting the hall for the {show} costs ${n}.",)),
        Fact("times", (2, 3, 4), ("A sponsor gave the {show} {times} as much money as the cakes brought in.",)),
    ),
    tiers={1: (2,), 2: (4,), 3: (6,), 4: (7, 8)},
    steps=_show,
    money=True,
)
