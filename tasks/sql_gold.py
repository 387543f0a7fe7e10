"""What a gold query accepts: its rows as a bag, in order only as far as it orders its outermost result.

Execution accuracy as in Spider's test suite (Zhong et al. 2020, "Semantic Evaluation for Text-to-SQL with Distilled Test
Suites"), with the rules stated instead of guessed from the text of the query:

- Rows count as often as they occur. Columns may stand in another order, one order for all rows.
- Where the gold query orders its result, rows with equal sort keys may come in any order.
- Where a LIMIT cuts through such rows, any choice among them is right, and the gold is marked `undetermined`.
- Numbers are equal up to a relative 1e-9 if one of them is a float, so 1 = 1.0 and 0.1 + 0.2 = 0.3; whole numbers exactly.
  Text, numbers, blobs and NULL are four kinds that never equal each other; text is compared exactly.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from tasks.nouns import ScorerFailure
from tasks.sql import Limits, QueryFailed, Row, Table, run

if TYPE_CHECKING:
    from sqlglot import expressions as exp

#: A row, after the number of the block of rows it may change places with.
Placed: TypeAlias = tuple[Any, ...]


class Expected(msgspec.Struct, frozen=True):
    """The results a gold query allows.

    Attributes:
        columns: how many. `blocks`: of each row's place, the block it belongs to; one block if the order is free.
        pool: rows to choose from, each after its block; more of them than places where a LIMIT cut through equal rows.
        undetermined: the query itself leaves open what it returns, here or in a subquery.
    """

    columns: int
    blocks: tuple[int, ...]
    pool: tuple[Placed, ...]
    undetermined: bool = False


# -- comparing --------------------------------------------------------------------------------------------------------


def difference(expected: Expected, table: Table, *, columns_in_order: bool = False) -> str | None:
    """Why a table is not what the gold query allows; None if it is."""
    if len(table.columns) != expected.columns:
        return f"{len(table.columns)} columns instead of {expected.columns}"
    if table.truncated or len(table.rows) != len(expected.blocks):
        more = "more than " if table.truncated else ""
        return f"{more}{len(table.rows)} rows instead of {len(expected.blocks)}"
    placed = [(block, *row) for block, row in zip(expected.blocks, table.rows, strict=True)]
    names = _number_names([*expected.pool, *placed])
    pool, rows = _renamed(expected.pool, names), _renamed(placed, names)
    if _within(rows, pool) or (not columns_in_order and _within_permuted(rows, pool, expected.columns)):
        return None
    ordered = len(set(expected.blocks)) > 1
    unordered = ordered and difference(_without_order(expected), table, columns_in_order=columns_in_order) is None
    return "rows in another order" if unordered else "other rows"


def _within(rows: Sequence[Placed], pool: Sequence[Placed]) -> bool:
    return Counter(rows) <= Counter(pool)


def _within_permuted(rows: Sequence[Placed], pool: Sequence[Placed], columns: int) -> bool:
    """Whether one rearrangement of columns brings the rows into the pool. Columns are placed one by one, each checked."""
    # Place 0 of a row is its block, columns are counted from 1.
    fits = [
        [there for there in range(1, columns + 1) if _within(_picked(rows, (0, there)), _picked(pool, (0, here)))]
        for here in range(1, columns + 1)
    ]

    def extend(chosen: tuple[int, ...]) -> bool:
        if not _within(_picked(rows, chosen), _picked(pool, tuple(range(len(chosen))))):
            return False
        if len(chosen) > columns:
            return True
        return any(extend((*chosen, there)) for there in fits[len(chosen) - 1] if there not in chosen)

    return extend((0,))


def _picked(rows: Sequence[Placed], places: tuple[int, ...]) -> list[Placed]:
    return [tuple(row[place] for place in places) for row in rows]


def _without_order(expected: Expected) -> Expected:
    pool = tuple((0, *row[1:]) for row in expected.pool)
    return Expected(expected.columns, (0,) * len(expected.blocks), pool)


def _number_names(rows: Sequence[Placed]) -> dict[int | float, int | float]:
    """One name for all numbers that count as equal; empty where no float occurs, since whole numbers name themselves."""
    cells = [cell for row in rows for cell in row[1:] if isinstance(cell, int | float)]
    if not any(isinstance(cell, float) for cell in cells):
        return {}
    numbers = sorted(set(cells))
    names: dict[int | float, int | float] = {numbers[0]: numbers[0]}
    for before, number in pairwise(numbers):
        names[number] = names[before] if _equal(before, number) else number
    return names


def _equal(a: int | float, b: int | float) -> bool:
    either_float = isinstance(a, float) or isinstance(b, float)
    return a == b or (either_float and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12))


def _renamed(rows: Sequence[Placed], names: Mapping[int | float, int | float]) -> Sequence[Placed]:
    if not names:
        return rows
    return [(row[0], *(names.get(cell, cell) for cell in row[1:])) for row in rows]


# -- what a gold query allows -------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def expected(database: Path, gold: str, limits: Limits, version: tuple[int, int]) -> Expected:
    """What a gold query allows on one database. Kept for the last 256 pairs.

    Args:
        version: size and change time of the file, so that another file of the same name is read anew.

    Raises:
        ScorerFailure: the database is empty; the query cannot be read, fails, or returns more rows than `limits` allow.
    """
    if not _gold_table(database, "SELECT 1 FROM sqlite_master LIMIT 1", limits).rows:
        raise ScorerFailure(f"{database} is empty")
    table = _gold_table(database, gold, limits)
    tree = _parsed(gold)
    found = _by_keys(database, tree, table, limits) if tree.args.get("order") or tree.args.get("limit") else None
    result = found or _as_returned(table, ordered=tree.args.get("order") is not None)
    again = _gold_table(database, gold, limits, reverse=True)
    if difference(result, again) is not None:
        return msgspec.structs.replace(result, undetermined=True)
    return result


def _gold_table(database: Path, gold: str, limits: Limits, *, reverse: bool = False) -> Table:
    try:
        table = run(database, gold, limits, reverse=reverse)
    except QueryFailed as failure:
        raise ScorerFailure(f"the gold query fails on {database}: {failure}") from failure
    if table.truncated:
        raise ScorerFailure(f"the gold query returns more than {limits.rows} rows on {database}")
    return table


def _parsed(gold: str) -> exp.Query:
    import sqlglot
    from sqlglot import expressions as exp

    try:
        tree = sqlglot.parse_one(gold, dialect="sqlite")
    except sqlglot.errors.SqlglotError as error:
        raise ScorerFailure(f"the gold query cannot be parsed: {error}") from error
    if not isinstance(tree, exp.Query):
        raise ScorerFailure(f"the gold query is no SELECT but {type(tree).__name__}")
    return tree


def _as_returned(table: Table, *, ordered: bool) -> Expected:
    places = tuple(range(len(table.rows))) if ordered else (0,) * len(table.rows)
    return Expected(len(table.columns), places, _placed(places, table.rows))


def _placed(blocks: Sequence[int], rows: Sequence[Row]) -> tuple[Placed, ...]:
    return tuple((block, *row) for block, row in zip(blocks, rows, strict=True))


def _by_keys(database: Path, tree: exp.Query, table: Table, limits: Limits) -> Expected | None:
    """The gold query without its LIMIT and with its sort keys as further columns: rows with equal keys are one block.

    None where the keys cannot be told, or where this rewritten query does not give back what the gold query gave.
    """
    skipped, keyed = _skipped(tree), _keyed(tree, table.columns)
    if skipped is None or keyed is None:
        return None
    statement, keys = keyed
    try:
        whole = run(database, statement, limits)
    except QueryFailed:
        return None
    blocks = _blocks(whole.rows, keys)
    taken = blocks[skipped : skipped + len(table.rows)]
    rows, wanted = [row[: len(table.columns)] for row in whole.rows], set(taken)
    pool = tuple(row for row in _placed(blocks, rows) if row[0] in wanted)
    if whole.truncated or len(taken) != len(table.rows) or not _within(_placed(taken, table.rows), pool):
        return None
    return Expected(len(table.columns), tuple(taken), pool, undetermined=_is_choice(taken, pool))


def _blocks(rows: Sequence[Row], keys: Sequence[int]) -> list[int]:
    """The number of each row's block: rows that follow each other with equal keys."""
    runs = groupby(rows, key=lambda row: [row[key] for key in keys])
    return [number for number, (_, same) in enumerate(runs) for _ in same]


def _is_choice(taken: Sequence[int], pool: Sequence[Placed]) -> bool:
    """Whether a block with fewer places than rows holds different rows."""
    places, rows, distinct = Counter(taken), Counter(row[0] for row in pool), Counter(row[0] for row in set(pool))
    return any(rows[block] > places[block] and distinct[block] > 1 for block in places)


def _skipped(tree: exp.Query) -> int | None:
    """How many rows OFFSET skips; None if that is not written as a number."""
    offset = tree.args.get("offset")
    if offset is None:
        return 0
    return int(offset.expression.name) if offset.expression.is_int else None


def _keyed(tree: exp.Query, columns: Sequence[str]) -> tuple[str, list[int]] | None:
    """The query without LIMIT, with those sort keys as further columns that are none yet; and the places of all keys.

    None where a key can be neither found among the columns nor added (DISTINCT, UNION).
    """
    from sqlglot import expressions as exp

    extendable = isinstance(tree, exp.Select) and not tree.args.get("distinct")
    added: list[exp.Expression] = []
    keys: list[int] = []
    for term in tree.args["order"].expressions if tree.args.get("order") else ():
        place = _column_of(term.this, tree, columns)
        if place is None and not extendable:
            return None
        if place is None:
            place = len(columns) + len(added)
            added.append(term.this.copy())
        keys.append(place)
    bare = tree.copy()
    bare.set("limit", None)
    bare.set("offset", None)
    bare.set("expressions", [*bare.expressions, *added])
    return bare.sql(dialect="sqlite"), keys


def _column_of(key: exp.Expression, tree: exp.Query, columns: Sequence[str]) -> int | None:
    """The place of the column a sort key names, by number, by name, or by being the same expression; else None."""
    from sqlglot import expressions as exp

    if key.is_int:
        return int(key.name) - 1
    names = [name.lower() for name in columns]
    if isinstance(key, exp.Column) and not key.table and key.name.lower() in names:
        return names.index(key.name.lower())
    shown = [column.unalias() for column in tree.selects]
    return shown.index(key) if key in shown and len(shown) == len(columns) else None
