"""Power: against the normal approximation where it is exact enough, at its own level, and from a pilot."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis import planning
from analysis.errors import AnalysisError


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def one(assumed, **more):
    return planning.power(assumed, rng(), **{"instances": [200], "runs": [1], "simulations": 4000} | more)[
        "power"
    ].item()


def test_without_a_difference_one_study_in_twenty_rejects():
    assert one(planning.Assumptions(0.6, 0.3, 0.0, 0.0)) == pytest.approx(0.05, abs=0.012)


def test_power_is_the_normal_approximations():
    """Equal instances, single runs: the variance of a difference is p(1-p) + q(1-q)."""
    p, q = 0.6, 0.48
    expected = stats.norm.sf(1.96 - (p - q) / ((p * (1 - p) + q * (1 - q)) / 200) ** 0.5)
    assert one(planning.Assumptions(p, 0.0, q - p, 0.0)) == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize(
    "assumed", [planning.Assumptions(0.7, 0.4, -0.2, 1.0), planning.Assumptions(0.3, 0.0, 0.1, 0.7)]
)
def test_the_second_arm_has_the_mean_that_was_assumed(assumed):
    chance = planning._chances(assumed, rng(1), (400_000,))
    own = assumed.effect_spread * rng(2).standard_normal(400_000)
    moved = 1 / (1 + np.exp(-(np.log(chance / (1 - chance)) + planning._shift(assumed) + own)))
    assert chance.mean() == pytest.approx(assumed.mean, abs=0.003)
    assert moved.mean() - chance.mean() == pytest.approx(assumed.difference, abs=0.003)


def test_more_of_anything_finds_more():
    table = planning.power(planning.Assumptions(0.6, 0.3, -0.1), rng(), instances=[20, 60, 180], runs=[1, 5])
    wide = table.pivot(index="instances", columns="runs", values="power")
    assert (wide.diff().dropna() > 0).all(axis=None)
    assert (wide[5] > wide[1]).all()
    assert table["conversations"].tolist() == [40, 200, 120, 600, 360, 1800]


def test_needed_names_the_fewest():
    table = pd.DataFrame(
        {
            "instances": [20, 50, 20, 50],
            "runs": [1, 1, 5, 5],
            "conversations": [40, 100, 200, 500],
            "power": [0.5, 0.9, 0.85, 1],
        }
    )
    assert planning.needed(table)[["instances", "runs"]].to_numpy().tolist() == [[50, 1], [20, 5]]
    assert planning.needed(table, 0.95)["instances"].tolist() == [50]
    assert planning.needed(table.assign(power=0.1)).empty


@pytest.mark.parametrize("measure", ["aptitude", "unreliability"])
def test_other_measures_have_power_too(measure):
    strong = planning.power(
        planning.Assumptions(0.97, 0.1, -0.5), rng(), instances=[100], runs=[10], measure=measure, simulations=200
    )
    assert strong["power"].item() > 0.5
    with pytest.raises(AnalysisError, match="no such measure"):
        planning.power(planning.Assumptions(0.5, 0.3, 0.1), rng(), instances=[9], runs=[2], measure="p50")


def pilot(p, q) -> pd.DataFrame:
    chance_of = rng(3)
    rows = [
        {"task": "math", "assistant": "m", "mode": mode, "instance": f"i{i}", "repeat": r, "score": float(hit)}
        for mode, chance in (("full", p), ("sharded", q))
        for i, runs in enumerate(chance_of.random((len(p), 10)) < chance[:, None])
        for r, hit in enumerate(runs)
    ]
    return pd.DataFrame(rows)


def test_a_pilot_gives_back_what_it_was_made_from():
    chance = rng(4).beta(2, 2, 600)
    logits = np.log(chance / (1 - chance)) - 0.8 + 0.6 * rng(5).standard_normal(600)
    found = planning.measured(pilot(chance, 1 / (1 + np.exp(-logits))), "mode", "full", "sharded")
    assert (found.mean, found.icc) == pytest.approx((0.5, 0.2), abs=0.04)
    assert found.difference == pytest.approx(-0.15, abs=0.03)
    assert found.effect_spread == pytest.approx(0.6, abs=0.25)


def test_pilots_that_say_nothing_are_refused():
    sure, even = np.ones(5), np.full(5, 0.5)
    with pytest.raises(AnalysisError, match="whose scores differ"):
        planning.measured(pilot(sure, even), "mode", "full", "sharded")
    with pytest.raises(AnalysisError, match="binary scores only"):
        planning.measured(pilot(even, even).assign(score=0.3), "mode", "full", "sharded")
    with pytest.raises(AnalysisError, match="no two arms"):
        planning.measured(pilot(even, even), "mode", "full", "recap")


@pytest.mark.parametrize(
    "assumed", [(0, 0.1, 0.1), (0.5, 1.0, 0.1), (0.5, 0.1, 0.6), (0.5, float("nan"), 0.1), (0.5, 0.1, 0.1, -1)]
)
def test_impossible_assumptions_are_refused(assumed):
    with pytest.raises(AnalysisError, match="no study can be simulated"):
        planning.Assumptions(*assumed)
