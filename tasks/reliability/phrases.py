"""How values of a booking are said: days, times and numbers of people, each with the value it stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from random import Random
from typing import TypeAlias

import msgspec

from tasks.reliability.dates import HOLIDAYS, MONTHS, WEEKDAYS, Day
from tasks.reliability.times import HOUR, NOON, write_time
from tasks.reliability.words import booking_words

#: Slots of a booking, in the order a sentence says them.
SLOTS = ("date", "time", "people")

#: From one to twelve; on a clock the twelve comes first.
_WORDS = "one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = dict(enumerate(_WORDS.split(), 1))
_CLOCK = {number % 12: word for number, word in _NUMBERS.items()}
_LONGEST_AHEAD = 300


class Phrase(msgspec.Struct, frozen=True):
    """A value and how it is said.

    Attributes:
        value: as in a target: `03/15`, `7:30pm`, 4. `said`: with its preposition, `on March 15`. `bare`: without.
        form: which way of saying it is; a stratum.
    """

    value: str | int
    said: str
    bare: str
    form: str


Sayer: TypeAlias = Callable[[date, Random], Phrase]


def a_date(today: date, rng: Random) -> Phrase:
    """A day of the coming months: in full, as a holiday, or seen from today; never in a way people read differently."""
    form = rng.choices(("explicit", "holiday", "relative"), (6, 2, 2))[0]
    if form == "relative":
        ahead, said = rng.choice(_seen_from(today))
        return Phrase(_value(today + timedelta(ahead)), said, said, form)
    if form == "holiday":
        name = rng.choice([name for name in HOLIDAYS if name not in ("Christmas", "Fourth of July")])
        return Phrase(str(Day(*HOLIDAYS[name])), f"on {name}", name, form)
    day = today + timedelta(rng.randint(2, _LONGEST_AHEAD))
    bare = rng.choice(_spelled(day))
    return Phrase(_value(day), f"on {bare}", bare, form)


def a_time(today: date, rng: Random) -> Phrase:
    """A time from breakfast to a late supper, on the quarter hour, always with its half of the day."""
    form = rng.choices(("digits", "words", "named"), (6, 3, 1))[0]
    if form == "named":
        name, minutes = rng.choice((("noon", NOON), ("midnight", 0)))
        return Phrase(write_time(minutes), f"at {name}", name, form)
    minutes = rng.randrange(8, 23) * HOUR + rng.choice((0, 0, 30, 30, 15, 45))
    bare = rng.choice(_digits(minutes)) if form == "digits" else _in_words(minutes)
    return Phrase(write_time(minutes), f"at {bare}", bare, form)


def a_party(today: date, rng: Random) -> Phrase:
    """Two to twelve people, as a number or as the company they are."""
    if rng.random() < 0.3:
        bare, count = rng.choice(list(booking_words().companies.items()))
        return Phrase(count, f"for {bare}", bare, "company")
    count = rng.randint(2, 12)
    word = _NUMBERS[count]
    bare = rng.choice((f"{word} people", f"{count} people", f"a party of {word}", f"{count} guests", f"{word} of us"))
    return Phrase(count, f"for {bare}", bare, "number")


SAYERS: Mapping[str, Sayer] = {"date": a_date, "time": a_time, "people": a_party}


def _value(day: date) -> str:
    return str(Day(day.month, day.day))


def _seen_from(today: date) -> list[tuple[int, str]]:
    """Days ahead and how they are said; `this Friday` only within the week, where nobody can mean another."""
    later = [(ahead, f"this {WEEKDAYS[today.weekday() + ahead]}") for ahead in range(2, 7 - today.weekday())]
    days = [(ahead, f"in {_NUMBERS[ahead]} days") for ahead in range(3, 11)]
    return [(1, "tomorrow"), (2, "the day after tomorrow"), (7, "a week from today"), *later, *days]


def _spelled(day: date) -> tuple[str, ...]:
    month, nth = MONTHS[day.month - 1], f"{day.day}{_ending(day.day)}"
    return (
        f"{month} {day.day}",
        f"{month} {nth}",
        f"the {nth} of {month}",
        f"{day.day} {month}",
        f"{day.month}/{day.day}",
    )


def _ending(day: int) -> str:
    return "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def _digits(minutes: int) -> tuple[str, ...]:
    hour, minute = divmod(minutes, HOUR)
    shown, half = write_time(minutes)[:-2], "p.m." if minutes >= NOON else "a.m."
    forms = (write_time(minutes), f"{shown} {half[0]}m", f"{shown} {half}")
    return (*forms, f"{hour}:{minute:02d}") if hour > 12 else forms


def _in_words(minutes: int) -> str:
    hour, minute = divmod(minutes, HOUR)
    named = _CLOCK[(hour + (minute == 45)) % 12]
    part = "in the morning" if hour < 12 else "in the afternoon" if hour < 17 else "in the evening"
    if hour == 11 and minute == 45:
        return "quarter to noon"
    return {0: named, 15: f"quarter past {named}", 30: f"half past {named}", 45: f"quarter to {named}"}[
        minute
    ] + f" {part}"
