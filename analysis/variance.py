"""Where the variance of scores comes from: instances that differ, or runs of one instance that differ.

A90 and U90_10 saturate on binary scores (N = 10: U90_10 = 1 for 2 to 8 successes), so a change of unreliability within that
range cannot be seen in them. The split here does not saturate and does not depend on N:

    var(score) = between instances + between runs

Binary scores: the beta-binomial model. An instance's chance of success is drawn from a beta distribution with mean μ and
intraclass correlation ρ, its successes are binomial; both by maximum likelihood. Between = μ(1-μ)ρ, runs = μ(1-μ)(1-ρ).
Graded scores: the one-way random-effects analysis of variance, with its method-of-moments estimate (Searle et al. 1992, for
unequal numbers of runs); a negative estimate between instances is reported as 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pandas as pd
from scipy import optimize, special

from analysis.measures import Floats, Integers, group_codes, grouping, scored

#: Bounds of the logits of μ and ρ: beyond them a share is 0 or 1 to any reader.
_EDGE = 14.0


class Split(msgspec.Struct, frozen=True):
    """Standard deviations in units of the score (0 to 1), and what they rest on.

    Attributes:
        between: of the instances' expected scores. `runs`: of one instance's scores. None where they cannot be told apart.
        icc: intraclass correlation, the share of the variance that lies between instances.
        method: `beta-binomial` or `random effects`. `note`: why something is missing.
    """

    mean: float
    between: float | None
    runs: float | None
    icc: float | None
    method: str
    note: str = ""


def beta_binomial(successes: Sequence[int] | Integers, runs: Sequence[int] | Integers) -> Split:
    """The split of binary scores from each instance's successes of so many runs."""
    cells, weights = np.unique(np.column_stack([successes, runs]), axis=0, return_counts=True)
    wins, trials = cells[:, 0].astype(np.float64), cells[:, 1].astype(np.float64)
    mean = float(weights @ wins / (weights @ trials))
    if note := _unsplittable(int(weights.sum()), int(trials.max()), mean in (0.0, 1.0)):
        return Split(mean, None, None, None, "beta-binomial", note)

    def loss(logits: Floats) -> float:
        return -float(weights @ _log_likelihood(wins, trials, *special.expit(logits)))

    start = special.logit(np.array([mean, np.clip(_moment_icc(wins, trials, weights), 0.01, 0.99)]))
    mu, rho = special.expit(optimize.minimize(loss, start, method="L-BFGS-B", bounds=[(-_EDGE, _EDGE)] * 2).x)
    variance = mu * (1 - mu)
    return Split(
        float(mu), float(np.sqrt(variance * rho)), float(np.sqrt(variance * (1 - rho))), float(rho), "beta-binomial"
    )


def random_effects(values: Floats, instance: Integers) -> Split:
    """The split of graded scores. `instance`: the number of the instance each value belongs to, from 0."""
    runs = np.bincount(instance)
    means = np.bincount(instance, values) / runs
    mean, n, k = float(values.mean()), len(values), len(runs)
    if note := _unsplittable(k, int(runs.max()), bool(np.ptp(values) == 0)):
        return Split(mean, None, None, None, "random effects", note)
    within = float(np.sum((values - means[instance]) ** 2)) / (n - k)
    among = float(np.sum(runs * (means - mean) ** 2)) / (k - 1)
    size = (n - float(np.sum(runs**2)) / n) / (k - 1)
    between = max(0.0, (among - within) / size)
    return Split(mean, between**0.5, within**0.5, between / (between + within), "random effects")


def split(frame: pd.DataFrame, by: Sequence[str] | None = None) -> pd.DataFrame:
    """One row a group: `between`, `runs`, `icc`, `method`, `note` (see `Split`), from scored conversations.

    A group whose scores are all 0 or 1 is split by the beta-binomial model, any other by random effects.
    """
    by = grouping(frame) if by is None else list(by)
    rows = []
    for labels, group in scored(frame).groupby(by, sort=False, dropna=False, observed=True):
        found = _split(group["score"].to_numpy(dtype=np.float64), group_codes(group, ["instance"]))
        rows.append(dict(zip(by, labels, strict=True)) | {name: getattr(found, name) for name in _COLUMNS})
    return pd.DataFrame(rows, columns=[*by, *_COLUMNS]).astype(dict.fromkeys(_COLUMNS[:3], "float64"))


# -- parts -----------------------------------------------------------------------------------------------------------------

_COLUMNS = ("between", "runs", "icc", "method", "note")


def _split(values: Floats, instance: Integers) -> Split:
    if np.isin(values, (0.0, 1.0)).all():
        return beta_binomial(np.bincount(instance, values).astype(np.int64), np.bincount(instance))
    return random_effects(values, instance)


def _moment_icc(wins: Floats, trials: Floats, weights: Integers) -> float:
    """The intraclass correlation by the analysis of variance: near the maximum of the likelihood, which has only one."""
    instance = np.repeat(np.arange(int(weights.sum())), np.repeat(trials, weights).astype(np.int64))
    pairs = zip(np.repeat(wins, weights).astype(int), np.repeat(trials, weights).astype(int), strict=True)
    values = np.concatenate([np.r_[np.ones(won), np.zeros(of - won)] for won, of in pairs])
    return random_effects(values, instance).icc or 0.0


def _log_likelihood(wins: Floats, trials: Floats, mu: float, rho: float) -> Floats:
    alpha, beta = mu * (1 - rho) / rho, (1 - mu) * (1 - rho) / rho
    likelihood: Floats = special.betaln(wins + alpha, trials - wins + beta) - special.betaln(alpha, beta)
    return likelihood


def _unsplittable(instances: int, most_runs: int, constant: bool) -> str:
    if constant:
        return "constant"
    if instances < 2:
        return "one instance"
    return "one run" if most_runs < 2 else ""
