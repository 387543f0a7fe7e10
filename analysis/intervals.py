"""Confidence intervals by resampling instances: arrays in, a small named result out, the generator passed in.

The unit is the instance and its runs stay together, since runs of one instance are alike: pooling 10 runs of 30 instances as
300 would understate the error, and resampling runs within an instance would bias percentiles such as A90. A group's measure
is a mean over instances, so its resamples are means of resampled per-instance values; what is estimated is the *expected
measure at this number of runs*, not its limit for many runs.

The limits are BCa (Efron 1987: corrected for bias and skewness) at a level widened by the t distribution (Hesterberg 2015,
"What teachers should know about the bootstrap", section 4.3), since plain percentile limits are too narrow for few instances.
The correction for bias counts ties by half and is kept finite, so measures at their bounds give limits and no NaN. Values that
do not differ at all, or one instance, give none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from scipy import special

from analysis.errors import AnalysisError
from analysis.measures import Floats

RESAMPLES = 2000
LEVEL = 0.95
#: Elements gathered at once; keeps the memory of a bootstrap below 100 MB whatever the numbers.
_AT_ONCE = 4_000_000


class Interval(msgspec.Struct, frozen=True):
    """An estimate with limits. `low` and `high` are None where there can be none, and `note` says why."""

    value: float
    low: float | None
    high: float | None
    level: float = LEVEL
    note: str = ""


def resampled_means(values: Floats, rng: np.random.Generator, resamples: int = RESAMPLES) -> Floats:
    """Means of `values` (instances × measures, or instances) over resampled instances: resamples × measures, or resamples."""
    means = np.empty((resamples, *values.shape[1:]))
    step = max(1, _AT_ONCE // max(1, values.size))
    for start in range(0, resamples, step):
        stop = min(start + step, resamples)
        means[start:stop] = values[rng.integers(0, len(values), (stop - start, len(values)))].mean(axis=1)
    return means


def mean_interval(
    values: Sequence[float] | Floats, rng: np.random.Generator, *, resamples: int = RESAMPLES, level: float = LEVEL
) -> Interval:
    """The mean of one value an instance (or one difference a pair), with its limits.

    Raises `AnalysisError` when there is no value, or one that is not a number.
    """
    array = np.asarray(values, dtype=np.float64)
    if not len(array) or not np.isfinite(array).all():
        raise AnalysisError(
            "an interval needs numbers", got=f"{len(array)} values, {np.sum(~np.isfinite(array))} not finite"
        )
    return limits(float(array.mean()), resampled_means(array, rng, resamples), array - array.mean(), level)


def limits(value: float, resampled: Floats, influence: Floats, level: float = LEVEL, strata: int = 1) -> Interval:
    """Limits of an estimate from its resamples.

    Args:
        resampled: the estimate in each resample.
        influence: how much each instance moves the estimate, up to a factor (for a mean: its deviation).
        strata: in how many groups the instances were resampled apart from each other.
    """
    if len(influence) <= strata:
        return Interval(value, None, None, level, "one instance")
    if np.ptp(influence) <= 1e-12:
        return Interval(value, None, None, level, "constant")
    below = _ndtri_finite(float(np.mean(resampled < value) + np.mean(resampled <= value)) / 2, len(resampled))
    cubes, squares = np.sum(influence**3), np.sum(influence**2)
    acceleration = cubes / (6 * squares**1.5)
    shifted = below + _widened(level, len(influence), strata) * np.array([-1.0, 1.0])
    share = special.ndtr(below + shifted / np.maximum(1 - acceleration * shifted, 0.1))
    low, high = np.quantile(resampled, share)
    return Interval(value, float(low), float(high), level)


def group_intervals(
    instances: pd.DataFrame,
    by: Sequence[str],
    rng: np.random.Generator,
    *,
    measures: Sequence[str] = ("mean", "aptitude", "unreliability"),
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> pd.DataFrame:
    """For each group of `measures.per_instance`: `by`, and for each measure `NAME`, `NAME_low`, `NAME_high`, `NAME_note`."""
    rows = []
    for labels, group in instances.groupby(list(by), sort=False, dropna=False, observed=True):
        values = group[list(measures)].to_numpy(dtype=np.float64)
        found = _columns(values, rng, resamples, level)
        rows.append(dict(zip(by, labels, strict=True)) | _flat(measures, found))
    return _frame(rows, [*by], measures)


def task_intervals(
    instances: pd.DataFrame,
    by: Sequence[str],
    rng: np.random.Generator,
    *,
    measures: Sequence[str] = ("mean", "aptitude", "unreliability"),
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> pd.DataFrame:
    """Means over tasks of each group, tasks resampled apart from each other; `by` without the task, `tasks`, and as above."""
    arm = [name for name in by if name != "task"]
    rows = []
    for labels, group in instances.groupby(arm, sort=False, dropna=False, observed=True):
        tasks = [part[list(measures)].to_numpy(dtype=np.float64) for _, part in group.groupby("task", sort=False)]
        means = np.mean([task.mean(axis=0) for task in tasks], axis=0)
        resampled = np.mean([resampled_means(task, rng, resamples) for task in tasks], axis=0)
        influence = np.concatenate([(task - task.mean(axis=0)) / len(task) for task in tasks])
        found = [limits(means[m], resampled[:, m], influence[:, m], level, len(tasks)) for m in range(len(measures))]
        rows.append(dict(zip(arm, labels, strict=True)) | {"tasks": len(tasks)} | _flat(measures, found))
    return _frame(rows, [*arm, "tasks"], measures)


# -- parts -----------------------------------------------------------------------------------------------------------------

_PARTS = ("", "_low", "_high", "_note")


def _columns(values: Floats, rng: np.random.Generator, resamples: int, level: float) -> list[Interval]:
    means, resampled = values.mean(axis=0), resampled_means(values, rng, resamples)
    deviations = values - means
    return [limits(float(means[m]), resampled[:, m], deviations[:, m], level) for m in range(values.shape[1])]


def _flat(measures: Sequence[str], found: Sequence[Interval]) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for name, interval in zip(measures, found, strict=True):
        cells |= {
            name: interval.value,
            f"{name}_low": interval.low,
            f"{name}_high": interval.high,
            f"{name}_note": interval.note,
        }
    return cells


def _frame(rows: list[dict[str, Any]], labels: list[str], measures: Sequence[str]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=[*labels, *(f"{name}{part}" for name in measures for part in _PARTS)])
    return frame.astype({f"{name}{part}": "float64" for name in measures for part in _PARTS[:3]})


def _widened(level: float, n: int, strata: int) -> float:
    """The normal quantile of `level`, widened to what the t distribution asks for (Hesterberg's expanded percentile)."""
    freedom = n - strata
    return float(np.sqrt(n / freedom) * special.stdtrit(freedom, 0.5 + level / 2))


def _ndtri_finite(share: float, resamples: int) -> float:
    edge = 0.5 / resamples
    return float(special.ndtri(np.clip(share, edge, 1 - edge)))
