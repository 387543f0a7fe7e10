"""Where the score comes from: the mistakes a task names, the parts of an answer, the kinds of instances.

Each function takes `frames.conversations`, the first two also `frames.turns`. They are about scored conversations, and
about a conversation's last scored turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from analysis.errors import AnalysisError
from analysis.measures import grouping, per_instance, scored

#: A grouping value that takes other numbers of values than these within a task is broken down by only when asked for.
FEWEST_VALUES, MOST_VALUES = 2, 8

#: What is read of a turn.
OF_TURNS = ("score", "errors", "parts")

_STRATUM = "stratum_"


def mistakes(frame: pd.DataFrame, turns: pd.DataFrame, by: Sequence[str] | None = None) -> pd.DataFrame:
    """How often each mistake is made that the task names: another booking's value, the tool asked for before, …

    Columns beside `by`: `mistake`, `conversations` (in whose last scored turn it is), `scored` (all of the group), `share` (of
    these). A conversation can have several mistakes, so shares need not add up; one without a readable answer has none. Every
    group has a row for every mistake found in its task (`by` has `task` in it).
    """
    by = grouping(frame) if by is None else list(by)
    kept = scored(frame)
    named = _in_last_scored_turn(kept, turns, "errors").str.split(", ")
    made = kept.assign(mistake=named).explode("mistake").dropna(subset="mistake")
    groups = kept.groupby(by, sort=False, dropna=False, observed=True).size().rename("scored").reset_index()
    whole = groups.merge(made[["task", "mistake"]].drop_duplicates(), on="task")
    counts = made.groupby([*by, "mistake"], sort=False, dropna=False, observed=True)["key"].nunique()
    table = whole.merge(counts.rename("conversations").reset_index(), on=[*by, "mistake"], how="left")
    table["conversations"] = table["conversations"].fillna(0).astype("int64")
    table["share"] = table["conversations"] / table["scored"]
    return table[[*by, "mistake", "conversations", "scored", "share"]]


def parts(frame: pd.DataFrame, turns: pd.DataFrame, by: Sequence[str] | None = None) -> pd.DataFrame:
    """The score of each part of the answer (a slot, a field) in the last scored turn: averaged as P̄ is, over instances.

    Columns beside `by`: `part`, `instances`, `mean`. A conversation of score 0 without any scored parts has 0 in every part
    that its task has.
    """
    by = grouping(frame) if by is None else list(by)
    kept = scored(frame)
    texts = _in_last_scored_turn(kept, turns, "parts")
    known = {task: _names(texts[rows]) for task, rows in kept.groupby("task", sort=False, observed=True).groups.items()}
    rows: list[dict[str, float]] = [
        _decoded(text) if isinstance(text, str) else dict.fromkeys(known[task] if score == 0 else (), 0.0)
        for text, task, score in zip(texts, kept["task"], kept["score"], strict=True)
    ]
    each = kept.take(np.repeat(np.arange(len(rows)), [len(row) for row in rows])).assign(
        part=[name for row in rows for name in row], value=[value for row in rows for value in row.values()]
    )
    return _means(each.astype({"value": "float64"}), [*by, "part"])


def strata(frame: pd.DataFrame, names: Sequence[str] | None = None, by: Sequence[str] | None = None) -> pd.DataFrame:
    """P̄ by the kind of instance: by each grouping value that the instances declare.

    Args:
        frame: `frames.conversations(run, strata=True)`.
        names: of the grouping values; by default those that take 2 to 8 values within a task.

    Columns beside `by`: `stratum`, `value` (text, in order of the values), `instances`, `mean`. Instances that do not declare
    a grouping value are not in its rows. Raises `AnalysisError` for a name that no instance declares.
    """
    by = grouping(frame) if by is None else list(by)
    there = [str(name).removeprefix(_STRATUM) for name in frame if str(name).startswith(_STRATUM)]
    if unknown := [name for name in names or () if name not in there]:
        raise AnalysisError(
            "no instance of this run is grouped by this", got=", ".join(unknown), allowed=", ".join(there) or "nothing"
        )
    kept = scored(frame)
    tables = [_by_value(kept, name, by, every=names is not None) for name in (there if names is None else names)]
    if not tables:
        return pd.DataFrame()
    first = {task: at for at, task in enumerate(dict.fromkeys(kept["task"]))}
    whole = pd.concat(tables, ignore_index=True)
    return whole.sort_values("task", key=lambda tasks: tasks.map(first), kind="stable", ignore_index=True)


# -- pieces ----------------------------------------------------------------------------------------------------------------


def _in_last_scored_turn(frame: pd.DataFrame, turns: pd.DataFrame, column: str) -> pd.Series:
    """What the last scored turn of each conversation has in a text column; index of `frame`, missing where there is none."""
    last = turns[turns["score"].notna()].drop_duplicates("key", keep="last")
    by_key = dict(zip(last["key"], last[column], strict=True))
    return pd.Series([by_key.get(key) for key in frame["key"]], frame.index, dtype="str")


def _decoded(text: str) -> dict[str, float]:
    return msgspec.json.decode(text, type=dict[str, float])


def _names(texts: pd.Series) -> list[str]:
    """Of all parts, in order of first appearance."""
    return list(dict.fromkeys(name for text in texts.dropna().unique() for name in _decoded(text)))


def _means(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    grouped = per_instance(frame, by, "value").groupby(by, sort=False, dropna=False, observed=True)["mean"]
    return grouped.agg(instances="size", mean="mean").reset_index()


def _by_value(frame: pd.DataFrame, name: str, by: list[str], *, every: bool) -> pd.DataFrame:
    """Breakdown by one grouping value, in the tasks in which it takes few values, or `every` one."""
    column = _STRATUM + name
    values = frame.groupby("task", observed=True)[column].transform("nunique")
    few = values.between(1 if every else FEWEST_VALUES, np.inf if every else MOST_VALUES)
    kept = frame[few & frame[column].notna()]
    order: list[Any] = sorted(kept[column].unique(), key=lambda value: (isinstance(value, str), value))
    rank = kept[column].map({value: at for at, value in enumerate(order)}).astype("int64")
    told = kept.assign(stratum=name, rank=rank, label=kept[column].astype("str"), value=kept["score"])
    table = _means(told, [*by, "stratum", "rank", "label"]).sort_values("rank", kind="stable", ignore_index=True)
    return table.rename(columns={"label": "value"}).drop(columns="rank")
