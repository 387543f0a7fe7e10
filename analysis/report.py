"""`report`: everything one says about a run, as values; `render` and `figures` make it visible.

A row is a task × mode × assistant (and whatever else differs within one, see `measures.grouping`). Every row says how many
instances and runs it rests on, what was not scored, and what it cost; what is too small for inference, synthetic or unpriced is
called so in `notes`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from analysis import frames, intervals, measures
from simulator.record import OWED_AGAIN
from simulator.store import Store

#: Assistants of this maker are formulas with known aptitude, for tests and planning; never shown without saying so.
SYNTHETIC = "synthetic:"


@dataclass(frozen=True)
class Report:
    """What was measured in a run.

    Attributes:
        run: the run's folder. `by`: the columns that name a row of `table`.
        table: one row a group: `measures.summary` with the limits of `intervals.group_intervals`; scores 0 to 1.
        overall: means over tasks, where there are several; else empty.
        unscored: why conversations have no score, or failed by the assistant: `party`, `cause`, `mode`, `conversations`.
        notes: what a reader has to know, one sentence each.
    """

    run: str
    by: list[str]
    table: pd.DataFrame
    overall: pd.DataFrame
    unscored: pd.DataFrame
    notes: list[str] = field(default_factory=list)


def report(source: frames.Source, *, seed: int = 0, resamples: int = intervals.RESAMPLES) -> Report:
    """Measures of every group of a run, with 95 % intervals.

    Args:
        source: a run's folder, or an open store.
        seed: of the bootstrap. `resamples`: how many.

    Raises `StoreError` as `frames.conversations` does.
    """
    with frames.opened(source) as store:
        conversations = _ordered(frames.conversations(store), store)
        by = measures.grouping(conversations)
        rng = np.random.default_rng(seed)
        instances = measures.per_instance(conversations, by)
        table = measures.summary(conversations, by)
        limits = intervals.group_intervals(instances, by, rng, resamples=resamples)
        table = table.drop(columns=["mean", "aptitude", "unreliability"]).merge(limits, on=by, how="left")
        several = conversations["task"].nunique() > 1
        overall = intervals.task_intervals(instances, by, rng, resamples=resamples) if several else pd.DataFrame()
        notes = list(_notes(table, conversations, seed, resamples))
        return Report(str(store.run), by, table, overall, _unscored(conversations), notes)


def _ordered(conversations: pd.DataFrame, store: Store) -> pd.DataFrame:
    """By task, assistant and mode as the experiments name them, then instance and run: when one ended says nothing."""
    named: dict[str, list[str]] = {}
    for experiment in store.experiments():
        for key, column in (("tasks", "task"), ("modes", "mode"), ("assistant", "assistant")):
            named.setdefault(column, []).extend(_texts(experiment.get(key)))
    for column in ("task", "mode", "assistant"):
        values = sorted(conversations[column].unique())
        order = list(dict.fromkeys([*named.get(column, []), *values]))
        conversations[f"_{column}"] = pd.Categorical(conversations[column], categories=order).codes
    first = ["_task", "_assistant", "_mode"]
    return conversations.sort_values([*first, "instance", "repeat"], kind="stable", ignore_index=True).drop(
        columns=first
    )


def _texts(value: Any) -> Iterable[str]:
    return (item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _unscored(conversations: pd.DataFrame) -> pd.DataFrame:
    failed = conversations[conversations["ended"].isin((*OWED_AGAIN, "assistant"))]
    counted = failed.groupby(["ended", "cause", "mode"], sort=False).size().rename("conversations").reset_index()
    return counted.rename(columns={"ended": "party"})


# -- notes -----------------------------------------------------------------------------------------------------------------


def _notes(table: pd.DataFrame, conversations: pd.DataFrame, seed: int, resamples: int) -> Iterable[str]:
    if table.empty:
        yield "There are no conversations in this run."
        return
    yield (
        "P̄ is the mean score, A90 the 90th percentile of an instance's scores over its N runs (numpy's linear rule), U90_10 = "
        "A90 minus the 10th percentile; all averaged over instances. "
        f"In brackets: 95 % limits of the measure expected at this N, BCa bootstrap over instances ({resamples} resamples, "
        f"seed {seed})."
    )
    yield from _too_small(table)
    yield from _other_n(table)
    yield from _constant(table)
    yield from _synthetic(table)
    yield from _not_scored(conversations)
    yield from _protocols(conversations)
    yield from _cost(conversations)


def _too_small(table: pd.DataFrame) -> Iterable[str]:
    instances, runs = int(table["instances"].min()), int(table["runs_min"].min())
    reasons = []
    if instances < measures.FEW_INSTANCES:
        reasons.append(f"{_plural(instances, 'instance')} where at least {measures.FEW_INSTANCES} are needed")
    if runs < measures.FEW_RUNS:
        reasons.append(f"N = {runs} where at least {measures.FEW_RUNS} are needed")
    if reasons:
        yield f"TOO SMALL FOR INFERENCE: some row has {' and '.join(reasons)}. Do not draw conclusions from its numbers."


def _other_n(table: pd.DataFrame) -> Iterable[str]:
    if table["runs_min"].min() != table["runs_max"].max():
        yield (
            "N is not the same everywhere. A90 and U90_10 depend on N: do not compare rows with another N "
            "(analysis.measures.common_runs cuts to a common one)."
        )


def _constant(table: pd.DataFrame) -> Iterable[str]:
    if any("constant" in set(table[name]) for name in table if str(name).endswith("_note")):
        yield "Limits are missing where every instance has the same value: there is no spread to estimate them from."


def _synthetic(table: pd.DataFrame) -> Iterable[str]:
    if made := sorted({name for name in table["assistant"] if str(name).startswith(SYNTHETIC)}):
        yield f"SYNTHETIC: {', '.join(made)} is a formula with known parameters, no language model."


def _not_scored(conversations: pd.DataFrame) -> Iterable[str]:
    missing = int(conversations["score"].isna().sum())
    if missing:
        whole = len(conversations)
        over_all, over_scored = conversations["score"].fillna(0).mean(), conversations["score"].mean()
        both = f"mean score {100 * over_all:.1f} over all, "
        both += f"{100 * over_scored:.1f} over scored" if missing < whole else "none over scored"
        yield f"{missing} of {whole} conversations are not scored (no fault of the assistant): {both}. P̄ is over scored ones."
    failed = int((conversations["ended"] == "assistant").sum())
    if failed:
        yield f"{_plural(failed, 'conversation')} failed by the assistant's own doing and count as 0."


def _protocols(conversations: pd.DataFrame) -> Iterable[str]:
    protocols = sorted(conversations["protocol"].dropna().unique())
    if len(protocols) > 1:
        yield f"MIXED PROTOCOLS {', '.join(protocols)}: rows of another protocol are not comparable."


def _cost(conversations: pd.DataFrame) -> Iterable[str]:
    unpriced = conversations["cost"].isna()
    total = f"${conversations['cost'].sum():.4f}"
    if unpriced.all():
        yield "Cost: unpriced (the price of these models is not known)."
    elif unpriced.any():
        yield f"Cost: {total} for {int((~unpriced).sum())} conversations; {int(unpriced.sum())} others are unpriced."
    else:
        yield f"Cost: {total} for {len(conversations)} conversations."


def _plural(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
