"""How many instances and runs a difference needs: simulated from variances that were measured, or assumed.

Two paired arms on the same instances. In the first an instance's chance of success is beta distributed (`mean`, `icc`, as in
`variance`); in the second its logit is moved, by as much as gives `difference` on average, and by a normal amount of its own
(`effect_spread`), since no intervention helps every instance equally. Runs are binomial. The test is the paired t test over
instances at 5 %, two-sided; power is the share of simulated studies in which it rejects.

More instances always help; more runs help until the spread between instances is what remains.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np
import pandas as pd
from scipy import optimize, special, stats

from analysis import variance
from analysis.comparisons import two_arms
from analysis.errors import AnalysisError
from analysis.measures import LOWER, UPPER, Floats, per_instance

INSTANCES = (20, 30, 50, 75, 100, 150, 200, 300, 500)
RUNS = (1, 3, 5, 10, 20)


class Assumptions(msgspec.Struct, frozen=True):
    """What a simulated study assumes of binary scores.

    Attributes:
        mean: P̄ of the first arm, 0 to 1. `icc`: share of its variance that lies between instances.
        difference: second arm minus first, in P̄.
        effect_spread: standard deviation of the effect between instances, on the logit scale.
    """

    mean: float
    icc: float
    difference: float
    effect_spread: float = 0.5

    def __post_init__(self) -> None:
        inside = 0 < self.mean < 1 and 0 < self.mean + self.difference < 1 and 0 <= self.icc < 1
        if not (inside and np.isfinite(self.effect_spread) and self.effect_spread >= 0):
            raise AnalysisError(
                "no study can be simulated from this",
                got=str(msgspec.structs.asdict(self)),
                allowed="both means strictly between 0 and 1, 0 ≤ icc < 1, effect_spread ≥ 0",
            )


def measured(frame: pd.DataFrame, column: str, a: str | float, b: str | float) -> Assumptions:
    """Assumptions from a pilot: arm `a` is the first, `b` the second; binary scores of one task and assistant.

    The spread of the effect is what remains of the variance of differences when the noise of the runs is taken off; with a
    single run of an instance nothing can be taken off, and all of it counts.

    Raises `AnalysisError` when an arm is missing, a score is not binary, or no score differs.
    """
    arms = two_arms(frame, column, a, b)
    values = per_instance(arms, [column])
    first = values[values[column] == a]
    found = variance.beta_binomial(first["successes"].to_numpy(np.int64), first["runs"].to_numpy(np.int64))
    if not arms["score"].isin((0.0, 1.0)).all():
        raise AnalysisError(
            "planning by simulation knows binary scores only", fix="choose a task whose answers are right or wrong"
        )
    wide = values.pivot(index="instance", columns=column, values=["mean", "runs"]).dropna()
    if len(wide) < 2 or found.note == "constant":
        raise AnalysisError(
            "a pilot needs at least two shared instances whose scores differ", got=f"{len(wide)} shared"
        )
    differences = (wide["mean"][b] - wide["mean"][a]).to_numpy(np.float64)
    noise = sum(_run_noise(wide["mean"][arm], wide["runs"][arm]) for arm in (a, b))
    spread = max(0.0, float(differences.var(ddof=1)) - noise) ** 0.5
    icc = min(found.icc or 0.0, 0.999)
    slope = (
        found.mean * (1 - found.mean) * (1 - icc)
    )  # mean of p(1 - p): what a small move of the logit does to a chance
    return Assumptions(found.mean, icc, float(differences.mean()), spread / slope)


def power(
    assumed: Assumptions,
    rng: np.random.Generator,
    *,
    instances: Iterable[int] = INSTANCES,
    runs: Iterable[int] = RUNS,
    measure: str = "mean",
    simulations: int = 1000,
) -> pd.DataFrame:
    """`instances`, `runs`, `conversations` (of both arms) and `power` for each combination, to ± 0.03 at 1,000 simulations.

    `measure`: `mean`, `aptitude` or `unreliability`. The difference assumed is that of the mean; the others follow from it.
    """
    shift = _shift(assumed)
    values = {n: _values(n, measure) for n in runs}
    rows = []
    for i in instances:
        chance = _chances(assumed, rng, (simulations, i))
        moved = special.expit(
            special.logit(chance) + shift + assumed.effect_spread * rng.standard_normal((simulations, i))
        )
        for n, of in values.items():
            rejected = _rejects(of[rng.binomial(n, moved)] - of[rng.binomial(n, chance)])
            rows.append({"instances": i, "runs": n, "conversations": 2 * i * n, "power": float(rejected.mean())})
    return pd.DataFrame(rows, columns=["instances", "runs", "conversations", "power"])


def needed(table: pd.DataFrame, at_least: float = 0.8) -> pd.DataFrame:
    """From `power`: for each number of runs the fewest instances that reach `at_least`, cheapest first; empty if none does."""
    enough = table[table["power"] >= at_least]
    fewest = enough.sort_values("instances").groupby("runs", as_index=False).first()
    return fewest.sort_values("conversations", ignore_index=True)[list(table.columns)]


# -- parts -----------------------------------------------------------------------------------------------------------------


def _chances(assumed: Assumptions, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    if assumed.icc == 0:
        return np.full(shape, assumed.mean)
    size = (1 - assumed.icc) / assumed.icc
    return np.clip(rng.beta(assumed.mean * size, (1 - assumed.mean) * size, shape), 1e-12, 1 - 1e-12)


def _shift(assumed: Assumptions) -> float:
    """How far logits move for the second arm's mean to be what is assumed; solved on quantiles, without chance."""
    grid = (np.arange(2000) + 0.5) / 2000
    size = (1 - assumed.icc) / max(assumed.icc, 1e-9)
    chance = (
        special.betaincinv(assumed.mean * size, (1 - assumed.mean) * size, grid)
        if assumed.icc
        else np.array([assumed.mean])
    )
    logits = special.logit(np.clip(chance, 1e-12, 1 - 1e-12))[:, None]
    own = assumed.effect_spread * special.ndtri((np.arange(60) + 0.5) / 60)
    target = assumed.mean + assumed.difference
    return float(optimize.brentq(lambda by: special.expit(logits + by + own).mean() - target, -60, 60))


def _values(n: int, measure: str) -> Floats:
    """The measure of an instance with 0, 1, …, n successes in n runs."""
    runs = np.tril(np.ones((n + 1, n)), -1)
    if measure == "mean":
        return np.arange(n + 1) / n
    high: Floats = np.percentile(runs, UPPER, axis=1)
    low: Floats = np.percentile(runs, LOWER, axis=1)
    if measure not in ("aptitude", "unreliability"):
        raise AnalysisError("there is no such measure", got=measure, allowed="mean, aptitude, unreliability")
    return high if measure == "aptitude" else high - low


def _rejects(differences: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Studies whose paired t test rejects at 5 %; differences that do not vary reject when they are not 0."""
    n = differences.shape[1]
    mean, error = differences.mean(axis=1), differences.std(axis=1, ddof=1) / np.sqrt(n)
    return np.asarray(np.abs(mean) > stats.t.ppf(0.975, n - 1) * error)


def _run_noise(mean: pd.Series, runs: pd.Series) -> float:
    """Mean sampling variance of instances' means; 0 where a single run says nothing about it."""
    p, n = mean.to_numpy(np.float64), runs.to_numpy(np.float64)
    several = n > 1
    return float((p[several] * (1 - p[several]) / (n[several] - 1)).mean()) if several.any() else 0.0
