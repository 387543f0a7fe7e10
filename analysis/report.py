"""`report`: everything one says about a run, as values; `render` and `figures` make it visible.

A row is a task × mode × assistant (and whatever else differs within one, see `measures.grouping`). Every row says how many
instances and runs it rests on, what was not scored, and what it cost; what is too small for inference, synthetic or unpriced is
called so in `notes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis import breakdowns, contrasts, frames, intervals, measures, prediction, variance
from analysis.notes import notes, paid, shared_pairs
from simulator.record import OWED_AGAIN
from simulator.store import Store


@dataclass(frozen=True)
class Report:
    """What was measured in a run.

    Attributes:
        run: the run's folder. `by`: the columns that name a row of `table`.
        table: one row a group: `measures.summary` with the limits of `intervals.group_intervals`, and the split of variance
            (`sd_instances`, `sd_runs`, `icc`, `split_note`, see `variance`); scores 0 to 1.
        overall: means over tasks, where there are several; else empty.
        differences: every arm minus the one it is compared with, on the same instances (`contrasts.differences`).
        mcnemar: McNemar's tests of the same pairs of arms, for tasks whose scores are right or wrong (`contrasts.mcnemar`).
        mistakes, parts, strata: see `breakdowns`.
        corrected: P̄ corrected by labels (`prediction.corrected`), where there are some; else empty.
        unscored: why conversations have no score, or failed by the assistant: `party`, `cause`, `mode`, `conversations`.
        notes: what a reader has to know, one paragraph each.

    Tables that the run has nothing for are empty.
    """

    run: str
    by: list[str]
    table: pd.DataFrame
    overall: pd.DataFrame
    differences: pd.DataFrame
    mcnemar: pd.DataFrame
    mistakes: pd.DataFrame
    parts: pd.DataFrame
    strata: pd.DataFrame
    corrected: pd.DataFrame
    unscored: pd.DataFrame
    notes: list[str]


def report(
    source: frames.Source,
    *,
    seed: int = 0,
    resamples: int = intervals.RESAMPLES,
    against: str | None = None,
    labels: pd.DataFrame | None = None,
    strata: Sequence[str] | None = None,
) -> Report:
    """Measures of every group of a run, with 95 % intervals.

    Args:
        source: a run's folder, or an open store.
        seed: of the bootstrap. `resamples`: how many.
        against: the mode that all others are compared with; by default see `contrasts.planned`.
        labels: `labelling.labels` of this run.
        strata: grouping values to break down by; by default those with few values (`breakdowns.strata`).

    Raises `StoreError` as `frames.conversations` does, and `AnalysisError` for a mode, label or grouping value that is not in
    the run.
    """
    with frames.opened(source) as store:
        frame = ordered(frames.conversations(store, strata=True), store)
        turns = frames.turns(store, columns=breakdowns.OF_TURNS)
        by = measures.grouping(frame)
        rng = np.random.default_rng(seed)
        instances = measures.per_instance(frame, by)
        table = _table(frame, instances, by, rng, resamples)
        tests = contrasts.mcnemar(frame, against=against)
        several = frame["task"].nunique() > 1
        return Report(
            run=str(store.run),
            by=by,
            table=table,
            overall=_overall(instances, by, rng, resamples) if several else pd.DataFrame(),
            differences=contrasts.differences(frame, rng, against=against, resamples=resamples),
            mcnemar=tests,
            mistakes=breakdowns.mistakes(frame, turns, by),
            parts=breakdowns.parts(frame, turns, by),
            strata=breakdowns.strata(frame, strata, by),
            corrected=pd.DataFrame() if labels is None else prediction.corrected(frame, labels, by),
            unscored=_unscored(frame),
            notes=[*notes(table, frame, paid(store), seed, resamples), *shared_pairs(tests)],
        )


def _table(
    frame: pd.DataFrame, instances: pd.DataFrame, by: list[str], rng: np.random.Generator, resamples: int
) -> pd.DataFrame:
    limits = intervals.group_intervals(instances, by, rng, resamples=resamples)
    split = variance.split(frame, by).rename(
        columns={"between": "sd_instances", "runs": "sd_runs", "note": "split_note"}
    )
    table = measures.summary(frame, by).drop(columns=["mean", "aptitude", "unreliability"])
    return table.merge(limits, on=by, how="left").merge(split.drop(columns="method"), on=by, how="left")


def _overall(instances: pd.DataFrame, by: list[str], rng: np.random.Generator, resamples: int) -> pd.DataFrame:
    table = intervals.task_intervals(instances, by, rng, resamples=resamples)
    if instances["runs"].max() == 1:  # one run has no spread
        table[["unreliability", "unreliability_low", "unreliability_high"]] = np.nan
    return table


def ordered(conversations: pd.DataFrame, store: Store) -> pd.DataFrame:
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
