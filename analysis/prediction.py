"""Prediction-powered inference: a judge scores everything, people label a little, and the labels correct the judge's errors.

Source: Angelopoulos et al. 2023 for the mean, with λ = 1, in the form used for travel reasoning (arXiv 2603.20133, section on
PPI): θ = mean(judged, all) + mean(true - judged, labelled), variance = var(judged) / N + var(true - judged) / n, both with
population variances. The labelled are part of all and are treated as independent of them.

Runs of an instance are alike, so `corrected` gives these formulas one value an instance: its mean over runs, and its mean
correction over labelled runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pandas as pd
from scipy import stats

from analysis.errors import AnalysisError
from analysis.intervals import LEVEL
from analysis.measures import Floats, grouping, per_instance, scored

#: With fewer labels than this in a group, limits rest on too little and are called so.
FEW_LABELS = 20


class Corrected(msgspec.Struct, frozen=True):
    """A mean corrected by labels.

    Attributes:
        value: not clipped, like `sigma`, its standard error; `low` and `high` are, to [0, 1].
        correction: mean of true minus judged over the labelled.
        size, labelled: how many values each mean rests on.
    """

    value: float
    sigma: float
    low: float
    high: float
    correction: float
    size: int
    labelled: int


class ZTest(msgspec.Struct, frozen=True):
    """An unpaired comparison of two estimates. Weaker than a paired one on the same instances (`comparisons.paired`)."""

    z: float
    p: float


def ppi_mean(
    judged: Sequence[float] | Floats,
    labelled_judged: Sequence[float] | Floats,
    labelled_true: Sequence[float] | Floats,
    level: float = LEVEL,
) -> Corrected:
    """The mean of what is true, from judged values of all and true values of some.

    Args:
        judged: N judged values, the labelled ones among them. `labelled_judged`, `labelled_true`: n values each, same order.

    Raises `AnalysisError` when lengths differ, there are fewer than two labels, or a value is not a number.
    """
    f, f_labelled, y = (np.asarray(values, dtype=np.float64) for values in (judged, labelled_judged, labelled_true))
    if len(f_labelled) != len(y) or len(y) < 2 or len(f) < len(y):
        got = f"{len(f)} judged, {len(f_labelled)} and {len(y)} labelled"
        raise AnalysisError(
            "labels do not fit what was judged", got=got, allowed="at least 2 labels, one for each of some judged"
        )
    if not (np.isfinite(f).all() and np.isfinite(f_labelled).all() and np.isfinite(y).all()):
        raise AnalysisError("a judged or true value is not a number")
    difference = y - f_labelled
    value = float(f.mean() + difference.mean())
    sigma = float(np.sqrt(f.var() / len(f) + difference.var() / len(y)))
    half = sigma * float(stats.norm.ppf(0.5 + level / 2))
    low, high = (float(np.clip(end, 0, 1)) for end in (value - half, value + half))
    return Corrected(value, sigma, low, high, float(difference.mean()), len(f), len(y))


def pooled(parts: Sequence[Corrected], level: float = LEVEL) -> Corrected:
    """Several groups as one: means clipped to [0, 1] and weighted by size, errors independent."""
    if not parts:
        raise AnalysisError("there is nothing to pool")
    sizes = np.array([part.size for part in parts], dtype=np.float64)
    weights = sizes / sizes.sum()
    value = float(weights @ np.clip([part.value for part in parts], 0, 1))
    sigma = float(np.sqrt(weights**2 @ np.square([part.sigma for part in parts])))
    half = sigma * float(stats.norm.ppf(0.5 + level / 2))
    correction = float(weights @ [part.correction for part in parts])
    limits = (max(0.0, value - half), min(1.0, value + half))
    return Corrected(value, sigma, *limits, correction, int(sizes.sum()), sum(part.labelled for part in parts))


def z_test(a: tuple[float, float], b: tuple[float, float]) -> ZTest:
    """Two-sided test that two independent estimates, each (value, standard error), are equal."""
    spread = float(np.hypot(a[1], b[1]))
    if spread == 0:
        return ZTest(0.0, 1.0) if a[0] == b[0] else ZTest(float("inf"), 0.0)
    z = abs(a[0] - b[0]) / spread
    return ZTest(z, float(2 * stats.norm.sf(z)))


def corrected(frame: pd.DataFrame, labels: pd.DataFrame, by: Sequence[str] | None = None) -> pd.DataFrame:
    """P̄ of each group corrected by labels: the fields of `Corrected`, `judged` (P̄ as the judge has it) and a `note`.

    Args:
        frame: conversations. `labels`: `key` and `human_score` (0 to 1), from `labelling.labels`.

    A group with fewer than two labelled instances keeps its row without a correction. Raises `AnalysisError` when a label
    belongs to no scored conversation here.
    """
    by = grouping(frame) if by is None else list(by)
    known = scored(frame).merge(labels[["key", "human_score"]], on="key", how="left")
    if strangers := sorted(set(labels["key"]) - set(known["key"])):
        raise AnalysisError(
            "a label belongs to no scored conversation of this run",
            got=", ".join(strangers[:3]),
            fix="give this run's sheet",
        )
    marked = known[known["human_score"].notna()]
    rows = []
    for names, group in per_instance(known, by).groupby(by, sort=False, dropna=False, observed=True):
        own = group[[*by, "instance"]].merge(marked, on=[*by, "instance"]).groupby("instance", sort=False)
        pairs = own[["score", "human_score"]].mean().to_numpy(dtype=np.float64)
        rows.append(dict(zip(by, names, strict=True)) | _corrected(group["mean"].to_numpy(dtype=np.float64), pairs))
    return pd.DataFrame(rows, columns=[*by, "judged", *Corrected.__struct_fields__, "note"])


def _corrected(judged: Floats, pairs: Floats) -> dict[str, float | int | str]:
    row: dict[str, float | int | str] = {"judged": float(judged.mean())}
    if len(pairs) < 2:
        missing = dict.fromkeys(("value", "sigma", "low", "high", "correction"), np.nan)
        return row | missing | {"size": len(judged), "labelled": len(pairs), "note": "too few labels"}
    found = ppi_mean(judged, pairs[:, 0], pairs[:, 1])
    return row | msgspec.structs.asdict(found) | {"note": "few labels" if len(pairs) < FEW_LABELS else ""}
