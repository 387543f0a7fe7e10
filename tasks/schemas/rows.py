"""Rows for the embedded databases: a small language for columns, and the generator that speaks it.

A column of a table is described by one word and its argument, e.g. `{ whole = [1968, 2021] }`; the words are the keys of
`MAKERS`. `missing = 0.1` beside it leaves that share NULL. The first column of every table counts from 1.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]
Tables: TypeAlias = dict[str, list[Row]]


def make_rows(tables: Mapping[str, Mapping[str, Any]], seed: int) -> Tables:
    """Rows for all tables, in the order they are described; the same for the same seed in any process."""
    made: Tables = {}
    for name, columns in tables.items():
        rng = random.Random(f"{seed}/{name}")
        made[name] = []
        for number in range(1, columns["count"] + 1):
            row: Row = {f"{name}_id": number}
            for column, how in columns.items():
                if column != "count":
                    row[column] = _value(rng, how, row, column, made, name)
            made[name].append(row)
    return made


def _value(rng: random.Random, how: Mapping[str, Any], row: Row, column: str, made: Tables, table: str) -> Any:
    (word,) = MAKERS.keys() & how.keys()
    value = MAKERS[word](rng, how, row, made)
    while word == "join" and any(other[column] == value for other in made[table]):
        value = MAKERS[word](rng, how, row, made)
    return None if rng.random() < how.get("missing", 0) else value


# -- the words --------------------------------------------------------------------------------------------------------


def _pick(rng: random.Random, how: Mapping[str, Any], row: Row, made: Tables) -> Any:
    """One of the values; repeat a value to make it more frequent."""
    return rng.choice(how["pick"])


def _join(rng: random.Random, how: Mapping[str, Any], row: Row, made: Tables) -> str:
    """One word of each list; no two rows get the same."""
    return " ".join(rng.choice(words) for words in how["join"])


def _whole(rng: random.Random, how: Mapping[str, Any], row: Row, made: Tables) -> int:
    """A whole number from first to last, in steps."""
    first, last = how["whole"]
    return rng.randrange(first, last + 1, how.get("step", 1))


def _number(rng: random.Random, how: Mapping[str, Any], row: Row, made: Tables) -> float:
    """A number from first to last, in steps that binary fractions hold exactly."""
    first, last = how["number"]
    return float(first + how["step"] * rng.randrange(int((last - first) / how["step"]) + 1))


def _date(rng: random.Random, how: Mapping[str, Any], row: Row, made: Tables) -> str:
    first, last = (datetime.date.fromisoformat(day) for day in how["date"])
    return (first + datetime.timedelta(rng.randrange((last - first).days + 1))).isoformat()


def _days_after(rng: random.Random, how: Mapping[str, Any], row: Row, made: Tables) -> str:
    """A day so many days (from first to last) after the one in another column of the row."""
    first, last = how["days"]
    before = datetime.date.fromisoformat(row[how["days_after"]])
    return (before + datetime.timedelta(rng.randrange(first, last + 1))).isoformat()


def _row_of(rng: random.Random, how: Mapping[str, Any], row: Row, made: Tables) -> int:
    """The number of a row of an earlier table."""
    return rng.randrange(len(made[how["row_of"]])) + 1


def _email(rng: random.Random, how: Mapping[str, Any], row: Row, made: Tables) -> str:
    """An address made of the name in another column."""
    return str(row[how["email"]]).lower().replace(" ", ".") + "@example.org"


Maker: TypeAlias = Callable[[random.Random, Mapping[str, Any], Row, Tables], Any]

MAKERS: dict[str, Maker] = {
    "pick": _pick,
    "join": _join,
    "whole": _whole,
    "number": _number,
    "date": _date,
    "days_after": _days_after,
    "row_of": _row_of,
    "email": _email,
}
