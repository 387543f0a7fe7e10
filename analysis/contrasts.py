"""Which arm is compared with which, and all of these comparisons of a run at once, corrected together.

An arm is a mode, and the interventions that were added to it. Modes are compared under the same interventions, and every
intervention with the plain arm of its mode, so nothing is averaged over interventions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
import pandas as pd

from analysis import arms, comparisons, intervals, measures
from analysis.errors import AnalysisError, NothingShared
from tasks.registry import TASKS
from tasks.task import Task

#: The paper's yardstick: everything at once.
BASELINE = "full"


def planned(task: str, modes: Sequence[str], against: str | None = None) -> dict[str, str]:
    """Mode -> the mode it is compared with, of the modes that a task has in a run.

    `against` if given; else what the task means a mode to be compared with (`Task.compare_to`), where that is there; else
    `BASELINE` or, where that is not there, the first mode that is itself meant to be compared with nothing.
    """
    meant = {} if against else TASKS.get(task, Task).compare_to
    pairs = {mode: meant[mode] for mode in modes if meant.get(mode) in modes}
    alone = (mode for compared in (meant, pairs, ()) for mode in modes if mode not in compared)
    rest = against or (BASELINE if BASELINE in modes else next(alone, ""))
    chosen = {mode: pairs.get(mode, rest) for mode in modes}
    return {mode: other for mode, other in chosen.items() if mode != other and other in modes}


def differences(
    frame: pd.DataFrame,
    rng: np.random.Generator,
    *,
    against: str | None = None,
    resamples: int = intervals.RESAMPLES,
) -> pd.DataFrame:
    """Every mode minus the one it is compared with (`planned`), and every intervention minus the plain arm of its mode:
    `comparisons.paired`, p-values corrected over all rows. `a` and `b` name the arms.

    Raises `AnalysisError` when no scored conversation is in the mode `against`.
    """
    _check(frame, against)
    parts = []
    for told, a, b, by in _pairs(frame, against):
        with suppress(NothingShared):
            parts.append(comparisons.paired(told, "arm", a, b, rng, by=by, resamples=resamples))
    return _corrected(parts, "p", "p_holm")


def mcnemar(frame: pd.DataFrame, *, against: str | None = None) -> pd.DataFrame:
    """McNemar's tests of the same pairs of arms, in tasks whose scores are right or wrong: `comparisons.mcnemar_runs`.

    `a` and `b` name the arms; `p_holm` is `p_clustered`, whose unit is the instance, corrected over all rows.
    Raises `AnalysisError` as `differences` does.
    """
    _check(frame, against)
    parts = []
    for told, a, b, by in _pairs(frame, against):
        if TASKS.get(told["task"].iloc[0], Task).binary:
            with suppress(NothingShared):
                parts.append(comparisons.mcnemar_runs(told, "arm", a, b, by=by).assign(a=a, b=b))
    return _corrected(parts, "p_clustered", "p_holm")


# -- pieces ----------------------------------------------------------------------------------------------------------------


def _check(frame: pd.DataFrame, against: str | None) -> None:
    modes = list(dict.fromkeys(measures.scored(frame)["mode"]))
    if against is not None and against not in modes:
        raise AnalysisError("there is no such mode to compare with", got=against, allowed=", ".join(modes))


def _pairs(frame: pd.DataFrame, against: str | None) -> Iterator[tuple[pd.DataFrame, str, str, list[str]]]:
    """The conversations of a task, two arms to compare, and what has to be equal in both."""
    frame = measures.scored(frame)
    frame = frame.assign(added=arms.added(frame), arm=arms.names(frame))
    for task, told in frame.groupby("task", sort=False, observed=True):
        kinds = told[["mode", "added", "arm"]].drop_duplicates()
        there = {(mode, added): arm for mode, added, arm in kinds.itertuples(index=False, name=None)}
        others = planned(str(task), list(dict.fromkeys(told["mode"])), against)
        equal = [name for name in measures.grouping(told) if name not in ("mode", "interventions")]
        of_modes = [name for name in equal if name not in comparisons.OF_MODE]
        for (mode, added), arm in there.items():
            if other := there.get((others.get(mode, ""), added)):
                yield told, arm, other, of_modes
        for (mode, added), arm in there.items():
            if added and (plain := there.get((mode, ""))):
                yield told, arm, plain, equal


def _corrected(parts: list[pd.DataFrame], p: str, into: str) -> pd.DataFrame:
    """One table, its p-values corrected together; empty without parts."""
    if not parts:
        return pd.DataFrame()
    table = pd.concat(parts, ignore_index=True)
    known = table[p].notna()
    table.loc[known, into] = comparisons.holm(table.loc[known, p].to_numpy(dtype=np.float64))
    return table
