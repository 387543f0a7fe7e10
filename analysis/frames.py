"""From a store to frames: `conversations` has one row a conversation, `turns` one row a turn.

The columns, their types and their meanings are those of `simulator.columns`; this module adds what is needed to group turns
(`CONTEXT`) and, on demand, an instance's strata. A conversation that was tried several times counts once, as its latest try.
Cells travel in chunks from SQLite into Arrow columns: 200,000 conversations need seconds, and no more memory than they fill.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]

from simulator.columns import CONVERSATION_COLUMNS, TURN_COLUMNS, Column
from simulator.errors import StoreError
from simulator.store import Store

Source: TypeAlias = Store | Path | str
Positions: TypeAlias = npt.NDArray[np.intp]

#: Columns of the conversation that every turn carries, so that turns can be grouped and related to how it ended.
CONTEXT = (
    "key", "task", "instance", "mode", "policy", "interventions", "assistant", "user", "temperature",
    "repeat", "shards", "ended",
)  # fmt: skip
#: Names that would clash with a turn's own: what the conversation calls them, and what they are called beside a turn.
RENAMED = {"score": "outcome", "correct": "outcome_correct", "turns": "conversation_turns"}

_CHUNK = 20_000
#: SQLite knows no booleans: they come as 0 and 1.
_ARROW = {"text": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.int8()}
_BY_NAME = {column.name: column for column in CONVERSATION_COLUMNS}
_OF_TURNS = tuple(column.name for column in TURN_COLUMNS)


def conversations(source: Source, *, strata: bool = False) -> pd.DataFrame:
    """One row a conversation, `CONVERSATION_COLUMNS` as columns, in the order they were stored.

    Args:
        source: a run's folder, its store file, or an open `Store`.
        strata: adds one column `stratum_NAME` for each grouping value the instances declare.

    Raises `StoreError` when there is no run, or one of another schema.
    """
    with opened(source) as store:
        names = [column.name for column in CONVERSATION_COLUMNS]
        frame = _read(store, f"SELECT {_of('latest', names)} FROM latest ORDER BY id", CONVERSATION_COLUMNS)
    return _with_strata(frame) if strata else frame


def turns(source: Source, *, inherited: bool = False, columns: Sequence[str] = _OF_TURNS) -> pd.DataFrame:
    """One row a turn: `CONTEXT` and `RENAMED` columns of its conversation, then `TURN_COLUMNS`; in order.

    Texts of the conversation are categories, since they are the same in each of its turns.

    Args:
        source: as in `conversations`.
        inherited: a conversation that continues another one (RECAP) begins with its parent's turns, and its counts of shards
            and attempts go on from there. Without it such a conversation has its own turns only.
        columns: names of `TURN_COLUMNS`, when not all are wanted: reading them is what takes the time. `inherited` needs
            `attempt` and `revealed` among them.

    Raises `StoreError` as `conversations` does, and when a parent is asked for that is not in the store.
    """
    with opened(source) as store:
        head = _read(
            store,
            f"SELECT id, {_of('latest', _HEAD)} FROM latest ORDER BY id",
            (_ID, *map(_BY_NAME.__getitem__, _HEAD)),
        )
        wanted = [column for column in TURN_COLUMNS if column.name in columns]
        body = _read(
            store,
            f"SELECT conversation, {_of('turns', [column.name for column in wanted])} FROM turns ORDER BY rowid",
            (_ID, *wanted),
        )
    position = pd.Index(head.pop("id")).get_indexer(pd.Index(body.pop("id")))
    body, position = _ordered(body, position)
    if inherited and head["parent"].notna().any():
        body, position = _with_prefixes(body, position, _parents(head), head["shards"].to_numpy(dtype=np.int64))
    beside = _repeated(head.drop(columns="parent").rename(columns=RENAMED)).take(position)
    return pd.concat([beside.reset_index(drop=True), body], axis=1)


# -- reading ---------------------------------------------------------------------------------------------------------------


@contextmanager
def opened(source: Source) -> Iterator[Store]:
    """An open store stays open; a path is opened for the time of reading."""
    if isinstance(source, Store):
        yield source
    else:
        with Store(source) as store:
            yield store


def _of(table: str, names: Sequence[str]) -> str:
    """Qualified, since SQLite reads a quoted name that is no column as a text."""
    return ", ".join(f'{table}."{name}"' for name in names)


def _read(store: Store, query: str, columns: Sequence[Column]) -> pd.DataFrame:
    """The rows of a query, whose cells are `columns` in this order, with the declared dtypes."""
    kinds = [_ARROW[column.kind] for column in columns]
    schema = pa.schema([(column.name, kind) for column, kind in zip(columns, kinds, strict=True)])
    cursor = store.connection.execute(query)
    batches = []
    while rows := cursor.fetchmany(_CHUNK):
        cells = (pa.array(values, kind) for values, kind in zip(zip(*rows, strict=True), kinds, strict=True))
        batches.append(pa.record_batch(list(cells), schema=schema))
    return _typed(pa.Table.from_batches(batches, schema), columns)


def _typed(table: pa.Table, columns: Sequence[Column]) -> pd.DataFrame:
    """The table as a frame; a column is given free as soon as it is converted."""
    kinds = {"int": pd.Int64Dtype(), "bool": pd.BooleanDtype(), "text": pd.StringDtype(na_value=float("nan"))}
    mapped = {pa.int64(): kinds["int"], pa.bool_(): kinds["bool"], pa.string(): kinds["text"]}
    for at, column in enumerate(columns):
        if column.kind == "bool":
            table = table.set_column(at, column.name, table.column(at).cast(pa.bool_()))
    frame: pd.DataFrame = table.to_pandas(types_mapper=mapped.get, split_blocks=True, self_destruct=True)
    return frame


_ID = Column("id", "int", lambda row: row, "row id in the store")
_HEAD = (*CONTEXT, *RENAMED, "parent")


def _repeated(head: pd.DataFrame) -> pd.DataFrame:
    """Texts as categories: repeating them for every turn copies numbers only."""
    return head.astype({name: "category" for name in head if isinstance(head[name].dtype, pd.StringDtype)})


def _ordered(body: pd.DataFrame, position: Positions) -> tuple[pd.DataFrame, Positions]:
    """Turns by conversation, those of superseded tries left out. Copies only where something has to move."""
    if (position >= 0).all() and (np.diff(position) >= 0).all():
        return body, position
    order = np.argsort(position, kind="stable")
    order = order[position[order] >= 0]
    return body.take(order).reset_index(drop=True), position[order]


# -- conversations that continue another one --------------------------------------------------------------------------------


def _parents(head: pd.DataFrame) -> Positions:
    """Row of each conversation's parent, -1 for none."""
    continued = head["parent"].notna().to_numpy()
    parent = np.full(len(head), -1)
    parent[continued] = pd.Index(head["key"]).get_indexer(pd.Index(head["parent"][continued]))
    lost = continued & (parent < 0)
    if lost.any():
        raise StoreError(
            "a conversation continues one that is not in this store",
            got=f"{lost.sum()} such, first {head['key'][lost].iloc[0]}",
            fix="run the mode it continues in the same store, or ask for turns without `inherited`",
        )
    return parent


def _with_prefixes(
    body: pd.DataFrame, position: Positions, parent: Positions, shards: Positions
) -> tuple[pd.DataFrame, Positions]:
    """Puts every ancestor's turns before a conversation's own; attempts and revealed shards count through."""
    owner, ancestor = _lines(parent)
    starts = np.searchsorted(position, np.arange(len(parent) + 1))
    lengths = (starts[1:] - starts[:-1])[ancestor]
    begins = np.cumsum(lengths) - lengths
    rows = np.arange(lengths.sum()) + np.repeat(starts[ancestor] - begins, lengths)
    longer, belongs = body.take(rows).reset_index(drop=True), np.repeat(owner, lengths)
    for name in ("attempt", "revealed"):
        counts = body[name].groupby(position).max().reindex(ancestor).fillna(0)
        before = counts.groupby(owner).cumsum() - counts
        longer[name] += np.repeat(before.to_numpy(dtype=np.int64), lengths)
    longer["revealed"] = longer["revealed"].clip(upper=pd.Series(shards[belongs]))
    return longer, belongs


def _lines(parent: Positions) -> tuple[Positions, Positions]:
    """Pairs (conversation, ancestor) from the oldest ancestor to the conversation itself, by conversation."""
    owner = ancestor = np.arange(len(parent))
    generations = [(owner, ancestor)]
    while (continued := parent[ancestor] >= 0).any():
        owner, ancestor = owner[continued], parent[ancestor[continued]]
        generations.insert(0, (owner, ancestor))
    owners, ancestors = (np.concatenate(side) for side in zip(*generations, strict=True))
    order = np.argsort(owners, kind="stable")
    return owners[order], ancestors[order]


# -- grouping values of the instances ---------------------------------------------------------------------------------------


def _with_strata(frame: pd.DataFrame) -> pd.DataFrame:
    """One column a grouping value; an instance that does not declare it has none."""
    codes, texts = pd.factorize(frame["strata"])
    decoded = pd.DataFrame([msgspec.json.decode(text) for text in texts], index=range(len(texts)))
    columns = decoded.take(codes).reset_index(drop=True).add_prefix("stratum_")
    return pd.concat([frame, columns.convert_dtypes(dtype_backend="numpy_nullable")], axis=1)
