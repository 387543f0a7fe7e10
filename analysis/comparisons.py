"""Is the difference real? Two arms on the same instances, paired; how often arms that do not differ would look as different.

`paired` is the main result: its unit is the instance, so runs of one instance are never counted as independent. `mcnemar` pairs
single runs, as published comparisons do; with several runs of an instance its p-values are too small, so `mcnemar_runs` says so
and has one by instance beside them (`clustered_mcnemar`). Several comparisons in one table are corrected together (`holm`).
Nonlinear measures (A90, U90_10) depend on the number of runs, so both arms are cut to the same runs of each instance first.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from analysis import arms, intervals
from analysis.errors import AnalysisError, NothingShared
from analysis.measures import Floats, common_runs, group_codes, grouping, per_instance, scored

#: Measures of an instance that are not means of its runs.
_NONLINEAR = ("aptitude", "p10", "unreliability")
_PAIRED = (
    "a",
    "b",
    "measure",
    "a_value",
    "b_value",
    "difference",
    "low",
    "high",
    "p",
    "p_holm",
    "instances",
    "unpaired",
    "note",
)


class McNemar(msgspec.Struct, frozen=True):
    """Two yes/no outcomes of the same things: the table of both, and whether the two that disagree are balanced.

    Attributes:
        a_only, b_only: pairs in which only one arm was right.
        p_exact: two-sided binomial. `statistic`, `p_corrected`: chi-squared with continuity correction, one degree of freedom.
    """

    both: int
    a_only: int
    b_only: int
    neither: int
    p_exact: float
    statistic: float
    p_corrected: float


def paired(
    frame: pd.DataFrame,
    column: str,
    a: str | float,
    b: str | float,
    rng: np.random.Generator,
    *,
    measure: str = "mean",
    by: Sequence[str] | None = None,
    resamples: int = intervals.RESAMPLES,
) -> pd.DataFrame:
    """Arm `a` minus arm `b` on the instances that both have.

    Args:
        frame: conversations; where the same problem has another id in each arm, `frame.assign(instance=frame["pair"])`.
        column: what tells the arms apart (`mode`, `assistant`, `interventions`, `temperature`, …).
        measure: `mean`, `aptitude`, `p10` or `unreliability` of an instance.
        by: what has to be equal in both arms; one row for each combination. By default task, assistant, mode and whatever else
            differs within them, without `column`. Where modes are compared, what a mode brings along need not be equal, and
            `interventions` are those that were added to it.

    Returns one row a combination: the arms' means over shared instances, their `difference` with 95 % limits (bootstrap over
    instances), `p` (sign-flip permutation test over instances, two-sided), `p_holm` over the rows, `instances` paired and
    `unpaired` (scored in one arm only; left out), and a `note` where something is missing.

    Raises `AnalysisError` when an arm is not there at all, or no instance is in both.
    """
    frame, by = _comparable(frame, column, by)
    both = two_arms(frame, column, a, b)
    if measure in _NONLINEAR:
        both = _same_runs(both, [*by, "instance"], column)
    values = per_instance(both, [*by, column])
    wide = values.pivot(index=[*by, "instance"], columns=column, values=measure)[[a, b]]
    rows = []
    for labels, group in wide.groupby(level=list(by), sort=False, dropna=False) if by else [((), wide)]:
        rows.append(dict(zip(by, labels, strict=True)) | _difference(group.to_numpy(dtype=np.float64), rng, resamples))
    table = pd.DataFrame(rows).assign(a=a, b=b, measure=measure)
    if not table["instances"].any():
        raise NothingShared(
            "the two arms have no instance in common", got=f"{a} and {b}", fix="run both on the same instances"
        )
    known = table["p"].notna()
    table.loc[known, "p_holm"] = holm(table.loc[known, "p"].to_numpy(dtype=np.float64))
    return table[[*by, *_PAIRED]]


def mcnemar_runs(
    frame: pd.DataFrame, column: str, a: str | float, b: str | float, *, by: Sequence[str] | None = None
) -> pd.DataFrame:
    """McNemar's test of `correct` over pairs with the same instance and repeat; one row a combination of `by`.

    Columns: those of `McNemar`, `p_clustered` (`clustered_mcnemar`, by instance), `pairs`, `instances`, and a `note` where
    pairs share an instance and are not independent.
    Raises `AnalysisError` as `paired` does.
    """
    frame, by = _comparable(frame, column, by)
    both = two_arms(frame, column, a, b).assign(
        correct=lambda t: t["correct"].astype("boolean").fillna(False).astype("float64")
    )
    wide = both.pivot_table(index=[*by, "instance", "repeat"], columns=column, values="correct", observed=True)[
        [a, b]
    ].dropna()
    if wide.empty:
        raise NothingShared("the two arms have no run of an instance in common", got=f"{a} and {b}")
    rows = []
    for labels, group in wide.groupby(level=list(by), sort=False, dropna=False) if by else [((), wide)]:
        right, other = (group[arm].to_numpy() == 1 for arm in (a, b))
        found = mcnemar(
            int((right & other).sum()), int((right & ~other).sum()), int((~right & other).sum()), len(group)
        )
        instances = group.index.get_level_values("instance").nunique()
        note = "pairs share instances: exact and corrected p are too small" if instances < len(group) else ""
        each = (group[a] - group[b]).groupby(level="instance", observed=True).mean()
        clustered = clustered_mcnemar(each.to_numpy(dtype=np.float64))
        counts = {"p_clustered": clustered, "pairs": len(group), "instances": instances, "note": note}
        rows.append(dict(zip(by, labels, strict=True)) | msgspec.structs.asdict(found) | counts)
    return pd.DataFrame(rows)


def mcnemar(both: int, a_only: int, b_only: int, pairs: int) -> McNemar:
    """McNemar's test from its table. Without any disagreement nothing speaks against equality: p = 1, statistic 0."""
    neither, differing = pairs - both - a_only - b_only, a_only + b_only
    if min(both, a_only, b_only, neither) < 0:
        raise AnalysisError("a table of counts cannot be negative", got=f"{(both, a_only, b_only, neither)}")
    if not differing:
        return McNemar(both, a_only, b_only, neither, 1.0, 0.0, 1.0)
    exact = float(stats.binomtest(a_only, differing).pvalue)
    statistic = max(0, abs(a_only - b_only) - 1) ** 2 / differing
    return McNemar(both, a_only, b_only, neither, exact, statistic, float(stats.chi2.sf(statistic, 1)))


def clustered_mcnemar(differences: Floats) -> float:
    """p of McNemar's test for pairs in clusters: (Σ dₖ)² / Σ dₖ² against chi-squared with one degree of freedom.

    Source: Durkalski et al. 2003 (Statistics in Medicine 22). dₖ is the mean, over cluster k's pairs, of right (1) or wrong (0)
    in one arm minus that in the other. With one pair a cluster it is McNemar's test without continuity correction; pairs that
    say the same again within their cluster change nothing. p = 1 without any difference.
    """
    squares = float(np.square(differences).sum())
    return float(stats.chi2.sf(float(differences.sum()) ** 2 / squares, 1)) if squares else 1.0


def holm(p: Sequence[float] | Floats) -> Floats:
    """Holm's step-down adjusted p-values, in the order given: reject where they are below the level for all together."""
    values = np.asarray(p, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise AnalysisError("a p-value lies between 0 and 1", got=str(values.tolist()))
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def noise_floor(
    frame: pd.DataFrame,
    rng: np.random.Generator,
    *,
    measure: str = "mean",
    by: Sequence[str] | None = None,
    splits: int = 1000,
    level: float = intervals.LEVEL,
) -> pd.DataFrame:
    """An A/A comparison: how much two arms differ that are the same.

    The runs of every instance are split at random into two halves, `splits` times. Per group: `runs` in each half, `sd` of the
    difference between halves and `floor`, below which the share `level` of these differences lie: a smaller difference between
    two arms with so many runs needs no explanation. Groups are cut to the same runs of each instance first; one with a single
    run has no halves, and its `note` says so.
    """
    by = grouping(frame) if by is None else list(by)
    rows = []
    for labels, group in scored(frame).groupby(by, sort=False, dropna=False, observed=True):
        cut = common_runs(group, by).sort_values(["instance", "repeat"])
        matrix = cut["score"].to_numpy(dtype=np.float64).reshape(cut["instance"].nunique(), -1)
        rows.append(dict(zip(by, labels, strict=True)) | _halves(matrix, measure, rng, splits, level))
    return pd.DataFrame(rows, columns=[*by, "runs", "sd", "floor", "note"])


def two_arms(frame: pd.DataFrame, column: str, a: str | float, b: str | float) -> pd.DataFrame:
    """The scored conversations of two arms. Raises `AnalysisError` when one is not there, or they are the same."""
    kept = scored(frame)
    there = list(dict.fromkeys(kept[column].dropna()))
    missing = [str(arm) for arm in (a, b) if arm not in there]
    if missing or a == b:
        raise AnalysisError(
            f"there are no two arms to compare in {column!r}",
            got=f"{a} and {b}" + (f"; no scored conversation has {' or '.join(missing)}" if missing else ""),
            allowed="two of " + ", ".join(map(str, there)),
        )
    return kept[kept[column].isin([a, b])]


# -- parts -----------------------------------------------------------------------------------------------------------------

#: What a mode brings along, beside interventions: it differs between modes and is no reason not to compare them.
OF_MODE = ("user", "user_temperature", "judge")


def _comparable(frame: pd.DataFrame, column: str, by: Sequence[str] | None) -> tuple[pd.DataFrame, list[str]]:
    """The conversations and what has to be equal in both arms; of interventions, modes are to share those added to them."""
    if column == "mode" and "interventions" in frame:
        frame = frame.assign(interventions=arms.added(frame))
    brought = OF_MODE if column == "mode" else ()
    chosen = [name for name in grouping(frame) if name not in brought] if by is None else by
    return frame, [name for name in chosen if name != column]


def _same_runs(both: pd.DataFrame, instance: list[str], column: str) -> pd.DataFrame:
    """Both arms cut to the smaller number of runs of each instance, first repeats first."""
    codes, shared = group_codes(both, [*instance, column]), group_codes(both, instance)
    runs = np.bincount(codes)
    fewest = pd.Series(runs[codes]).groupby(shared).transform("min").to_numpy()
    rank = both["repeat"].groupby(codes).rank(method="first").to_numpy()
    return both[rank <= fewest]


def _difference(values: Floats, rng: np.random.Generator, resamples: int) -> dict[str, float | int | str]:
    """One row of `paired` from instances × 2 values, of which one may be missing."""
    has = np.isfinite(values)
    shared = values[has.all(axis=1)]
    row: dict[str, float | int | str] = {"instances": len(shared), "unpaired": int((has.sum(axis=1) == 1).sum())}
    empty = dict.fromkeys(("a_value", "b_value", "difference", "low", "high", "p", "p_holm"), np.nan)
    if not len(shared):
        return row | empty | {"note": "no instance in both arms"}
    differences = shared[:, 0] - shared[:, 1]
    found = intervals.mean_interval(differences, rng, resamples=resamples)
    limits = {name: np.nan if end is None else end for name, end in (("low", found.low), ("high", found.high))}
    means = {"a_value": shared[:, 0].mean(), "b_value": shared[:, 1].mean(), "difference": found.value}
    return row | empty | means | limits | {"p": _sign_flip(differences, rng, resamples), "note": found.note}


def _sign_flip(differences: Floats, rng: np.random.Generator, resamples: int) -> float:
    """Two-sided p of the mean difference: under equality each instance's difference could as well have the other sign."""
    if not differences.any():
        return 1.0
    if len(differences) == 1:
        return 1.0
    test = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", vectorized=True, n_resamples=resamples, rng=rng, batch=500
    )
    return float(test.pvalue)


def _halves(
    matrix: Floats, measure: str, rng: np.random.Generator, splits: int, level: float
) -> dict[str, float | int | str | None]:
    half = matrix.shape[1] // 2
    if not half:
        return {"runs": 0, "sd": np.nan, "floor": np.nan, "note": "one run has no halves"}
    differences = np.empty(splits)
    for at in range(splits):
        order = rng.permuted(np.broadcast_to(np.arange(matrix.shape[1]), matrix.shape), axis=1)
        mixed = np.take_along_axis(matrix, order, axis=1)
        differences[at] = _MEASURE[measure](mixed[:, :half]) - _MEASURE[measure](mixed[:, half : 2 * half])
    floor = float(np.quantile(np.abs(differences), level))
    return {"runs": half, "sd": float(differences.std(ddof=1)), "floor": floor, "note": ""}


def _percentile(runs: npt.NDArray[np.float64], q: float) -> float:
    return float(np.percentile(runs, q, axis=1).mean())


_MEASURE = {
    "mean": lambda runs: float(runs.mean()),
    "aptitude": lambda runs: _percentile(runs, 90),
    "p10": lambda runs: _percentile(runs, 10),
    "unreliability": lambda runs: _percentile(runs, 90) - _percentile(runs, 10),
}
