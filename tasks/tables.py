"""Tables of our own with sentences about them: invented leagues, elections, films, bridges and more.

After the recipe of ToTTo (Parikh et al. 2020), where a sentence describes the highlighted cells of a table in its context.
The families are in `data/tables.json`: columns, values to draw from, and for each level of difficulty a story, that is
which rows and cells it is about and several ways to say them. A seed decides the rest.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Any, TypeAlias

import msgspec

from tasks.nouns import Instance, Shard

#: One row of a table: its cells as text, by column.
Cells: TypeAlias = dict[str, str]

_EXAMPLES = 3
#: Columns that reach so far have commas; the others may hold years.
_WITH_COMMAS = 10_000


class _Column(msgspec.Struct):
    """Where the values come from: a pool of words, whole numbers `between` two, `times` × column `of` + up to `plus`, or
    the rank of the row."""

    pool: list[str] = []
    between: tuple[int, int] | None = None
    unit: str = ""
    of: str = ""
    times: int = 1
    plus: int = 0
    rank: bool = False


class _Story(msgspec.Struct):
    """What is said: about which `rows` (`any`, `first`, `first,last`, …) and `cells`; `gap`: a column to subtract in."""

    rows: str
    cells: list[str]
    gap: str | None
    sentences: list[str]


class _Family(msgspec.Struct):
    """A kind of table. `order`: the column rows are sorted by, from the greatest (`-` in front: from the smallest)."""

    family: str
    page: str
    section: str
    note: str
    slots: dict[str, list[str]]
    rows: int
    columns: dict[str, _Column]
    order: str
    stories: dict[str, _Story]


class _Told(msgspec.Struct):
    """A story about one table: the rows it is about (counted from 1) and what may be said of them."""

    about: list[tuple[int, Cells]]
    sentences: list[str]


def described_tables(n: int, seed: int) -> Iterator[Instance]:
    """`n` instances, family after family and level after level; the same for the same seed in any process."""
    kinds = [(family, level) for family in _families() for level in family.stories]
    for i in range(n):
        rng = random.Random(f"data2text/{seed}/{i}")
        yield _described(f"data2text-{seed}-{i}", *kinds[i % len(kinds)], rng)


@cache
def _families() -> list[_Family]:
    text = (resources.files("tasks") / "data" / "tables.json").read_text(encoding="utf-8")
    return msgspec.convert(json.loads(text), list[_Family])


def _described(name: str, family: _Family, level: str, rng: random.Random) -> Instance:
    story = family.stories[level]
    values = _drawn(family, rng)
    table = _table(family, rng)
    told = _told(family, story, table, values, rng)
    texts = [
        f"Describe this table in one sentence.\n\n{_markdown(table)}",
        f"The sentence is about these cells and no others: {_named(told, story.cells)}",
        *_context(family, level, values),
        "Descriptions of other tables of this kind, for the style:\n" + _examples(family, story, rng),
    ]
    return Instance(
        id=name,
        task="data2text",
        shards=tuple(Shard(i, text) for i, text in enumerate(texts, 1)),
        instruction="\n\n".join(texts),
        target=told.sentences,
        facts=dict(values),
        strata={"difficulty": level, "family": family.family},
    )


def _context(family: _Family, level: str, values: Cells) -> list[str]:
    """Where the table stands; the harder the level, the more pieces."""
    page = f"The table is on the page “{family.page.format_map(values)}”"
    section = f"in the section “{family.section.format_map(values)}”."
    if level == "easy":
        return [f"{page}, {section}"]
    return [f"{page}.", f"It is {section}"] + [f"A note under the table: {family.note}"] * (level == "hard")


def _examples(family: _Family, story: _Story, rng: random.Random) -> str:
    """The same kind of story about other tables, each said in another way."""
    told = [_told(family, story, _table(family, rng), _drawn(family, rng), rng) for _ in range(_EXAMPLES)]
    return "\n".join(f"- {t.sentences[i % len(t.sentences)]}" for i, t in enumerate(told))


# -- a table ----------------------------------------------------------------------------------------------------------


def _drawn(family: _Family, rng: random.Random) -> Cells:
    return {slot: rng.choice(choices) for slot, choices in family.slots.items()}


def _table(family: _Family, rng: random.Random) -> list[Cells]:
    """The rows, in the family's order."""
    drawn: dict[str, Sequence[Any]] = {}
    for name, column in family.columns.items():
        drawn[name] = _values(column, drawn, family.rows, rng)
    rows = [dict(zip(drawn, values, strict=True)) for values in zip(*drawn.values(), strict=True)]
    by = family.order.removeprefix("-")
    rows.sort(key=lambda row: row[by], reverse=by == family.order)
    ranked = [name for name, column in family.columns.items() if column.rank]
    rows = [row | dict.fromkeys(ranked, place) for place, row in enumerate(rows, 1)]
    return [{name: _cell(row[name], column) + column.unit for name, column in family.columns.items()} for row in rows]


def _values(column: _Column, drawn: dict[str, Sequence[Any]], n: int, rng: random.Random) -> Sequence[Any]:
    """`n` values, no two alike where the column has enough of them."""
    if column.rank:
        return [0] * n
    if column.of:
        return [value * column.times + rng.randint(0, column.plus) for value in drawn[column.of]]
    choices: Sequence[Any] = range(column.between[0], column.between[1] + 1) if column.between else column.pool
    return rng.sample(choices, n) if len(choices) >= n else rng.choices(choices, k=n)


def _cell(value: Any, column: _Column) -> str:
    return f"{value:,}" if column.between and column.between[1] >= _WITH_COMMAS else str(value)


def _markdown(table: Sequence[Cells]) -> str:
    lines = [list(table[0]), ["---"] * len(table[0]), *([*row.values()] for row in table)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# -- a story about it -------------------------------------------------------------------------------------------------


def _told(family: _Family, story: _Story, table: Sequence[Cells], values: Cells, rng: random.Random) -> _Told:
    last = len(table) - 1
    places = {"first": 0, "second": 1, "last": last, "any": rng.randint(0, last)}
    about = [(places[row] + 1, table[places[row]]) for row in story.rows.split(",")]
    fields: dict[str, Any] = {**values, **{letter: cells for letter, (_, cells) in zip("ab", about, strict=False)}}
    if story.gap:
        greater, smaller = sorted((_number(cells[story.gap]) for _, cells in about), reverse=True)
        fields["gap"] = _cell(greater - smaller, family.columns[story.gap])
    return _Told(about, [sentence.format_map(fields) for sentence in story.sentences])


def _number(cell: str) -> int:
    return int(cell.split()[0].replace(",", ""))


def _named(told: _Told, cells: Sequence[str]) -> str:
    return (
        "; ".join(f"row {row}: " + ", ".join(f"{name} {values[name]}" for name in cells) for row, values in told.about)
        + "."
    )
