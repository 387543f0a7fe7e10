"""The split of variance: recovered from simulation, recomputed by another route, and silent about what it cannot tell."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from analysis import variance


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("shape", [(1, 1), (0.3, 0.6), (6, 2), (0.05, 0.05)])
def test_beta_binomial_is_the_maximum_of_its_likelihood(shape):
    runs = rng(1).integers(3, 12, 200)
    successes = rng(2).binomial(runs, rng(3).beta(*shape, 200))
    found = variance.beta_binomial(successes, runs)

    def loss(logs):
        return -stats.betabinom.logpmf(successes, runs, *np.exp(logs)).sum()

    best = optimize.minimize(
        loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-8, "maxiter": 4000}
    )
    alpha, beta = np.exp(best.x)
    assert found.mean == pytest.approx(alpha / (alpha + beta), abs=2e-3)
    assert found.icc == pytest.approx(1 / (alpha + beta + 1), abs=2e-3)
    assert found.between**2 + found.runs**2 == pytest.approx(found.mean * (1 - found.mean))


def test_the_split_does_not_saturate_where_unreliability_does():
    """Instances that succeed in 2 to 8 of 10 runs have U90_10 = 1; how much of it is runs still differs."""
    mild, strong = (variance.beta_binomial(k, [10] * 6) for k in ([5, 5, 4, 6, 5, 5], [2, 8, 2, 8, 2, 8]))
    assert mild.icc < 0.01 < 0.2 < strong.icc
    assert strong.runs < mild.runs


def test_certain_instances_have_no_spread_between_runs():
    found = variance.beta_binomial([10, 0, 10, 0], [10] * 4)
    assert (found.between, found.runs) == pytest.approx((0.5, 0), abs=1e-2)


def test_random_effects_against_the_textbook():
    """Balanced: between = (MSB - MSW) / n by the analysis of variance (scipy's F = MSB / MSW)."""
    matrix = rng(5).normal(rng(4).normal(0.5, 0.1, 30)[:, None], 0.05, (30, 8))
    found = variance.random_effects(matrix.ravel(), np.repeat(np.arange(30), 8))
    within = matrix.var(axis=1, ddof=1).mean()
    f = stats.f_oneway(*matrix).statistic
    assert found.runs == pytest.approx(within**0.5)
    assert found.between == pytest.approx(((f - 1) * within / 8) ** 0.5)
    assert found.icc == pytest.approx(found.between**2 / (found.between**2 + within))


def test_unequal_runs_are_no_obstacle():
    runs = rng(6).integers(2, 15, 400)
    instance = np.repeat(np.arange(400), runs)
    values = rng(7).normal(0.5, 0.2, 400)[instance] + rng(8).normal(0, 0.1, len(instance))
    found = variance.random_effects(values, instance)
    assert (found.between, found.runs) == pytest.approx((0.2, 0.1), rel=0.1)


def test_a_negative_estimate_is_zero():
    found = variance.random_effects(np.array([0.0, 1.0, 1.0, 0.0]), np.array([0, 0, 1, 1]))
    assert (found.between, found.icc) == (0, 0)


@pytest.mark.parametrize(
    ("successes", "runs", "note"),
    [([0, 0], [5, 5], "constant"), ([3], [5], "one instance"), ([1, 0], [1, 1], "one run")],
)
def test_what_cannot_be_split_says_why(successes, runs, note):
    found = variance.beta_binomial(successes, runs)
    assert (found.note, found.between, found.runs) == (note, None, None)


def test_groups_are_split_by_their_own_kind_of_score():
    rows = [("math", f"i{i}", float(r < i)) for i in range(4) for r in range(4)]
    rows += [("summary", f"i{i}", 0.2 * i + 0.01 * r) for i in range(4) for r in range(4)]
    frame = pd.DataFrame(rows, columns=["task", "instance", "score"]).assign(mode="full", assistant="m")
    table = variance.split(frame).set_index("task")
    assert table["method"].tolist() == ["beta-binomial", "random effects"]
    assert table.loc["summary", "between"] == pytest.approx(0.2 * np.std([0, 1, 2, 3], ddof=1), rel=0.01)
    assert variance.split(frame[frame["instance"] == "i0"])["note"].tolist() == ["constant", "one instance"]
    assert variance.split(frame.iloc[:0]).empty
