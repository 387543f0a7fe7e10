"""Intervals: on cases anyone can do in the head, against a plain re-computation, and for their coverage."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis import intervals
from analysis.errors import AnalysisError

MEASURES = ("mean", "aptitude", "unreliability")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0]), min_size=2, max_size=30), st.integers(0, 99))
def test_limits_lie_in_the_range_of_the_values_around_the_mean(values, seed):
    found = intervals.mean_interval(values, rng(seed), resamples=300)
    if found.note:
        assert found.note == "constant"
        assert len(set(values)) == 1
    else:
        assert min(values) - 1e-12 <= found.low <= found.high <= max(values) + 1e-12
    assert found.value == pytest.approx(np.mean(values))


def test_values_at_the_bound_give_finite_limits():
    """Case ST-10: BCa on [0, 0, 0, 0, 1]."""
    found = intervals.mean_interval([0, 0, 0, 0, 1], rng())
    assert 0 <= found.low <= 0.2 < found.high <= 1


def test_what_has_no_limits_says_why():
    assert intervals.mean_interval([0.5], rng()) == intervals.Interval(0.5, None, None, note="one instance")
    assert intervals.mean_interval([1.0] * 9, rng()) == intervals.Interval(1.0, None, None, note="constant")


@pytest.mark.parametrize("values", [[], [0.5, float("nan")], [0.1, float("inf")]])
def test_what_is_no_number_is_refused(values):
    with pytest.raises(AnalysisError, match="an interval needs numbers"):
        intervals.mean_interval(values, rng())


def test_the_same_seed_gives_the_same_limits():
    values = rng(5).random(40)
    one, same, other = (intervals.mean_interval(values, rng(seed)) for seed in (1, 1, 2))
    assert one == same != other


def test_resamples_are_means_of_resampled_rows():
    values = rng(1).random((12, 3))
    found = intervals.resampled_means(values, rng(2), 50)
    picks = rng(2).integers(0, 12, (50, 12))
    assert np.allclose(found, [[np.mean([values[i, m] for i in pick]) for m in range(3)] for pick in picks])


def test_few_at_once_changes_nothing(monkeypatch):
    values = rng(1).random((12, 3))
    whole = intervals.resampled_means(values, rng(2), 50)
    monkeypatch.setattr(intervals, "_AT_ONCE", 100)
    assert np.array_equal(intervals.resampled_means(values, rng(2), 50), whole)


def test_limits_agree_with_scipys_bca_at_the_widened_level():
    values = rng(3).beta(0.5, 2, 200)
    found = intervals.mean_interval(values, rng(4), resamples=20_000)
    level = 2 * stats.norm.cdf(np.sqrt(200 / 199) * stats.t.ppf(0.975, 199)) - 1
    scipys = stats.bootstrap((values,), np.mean, confidence_level=level, n_resamples=20_000, random_state=rng(6))
    assert (found.low, found.high) == pytest.approx(tuple(scipys.confidence_interval), abs=0.004)


def test_runs_of_one_instance_are_not_independent():
    """Case ST-15: 3 questions of 10 equal runs are 3 observations. (Resampling runs within a question as well would bias
    percentiles, so runs stay together; the unit is the question.)"""
    pooled = intervals.mean_interval(np.repeat([0.0, 0.5, 1.0], 10), rng())
    clustered = intervals.mean_interval([0.0, 0.5, 1.0], rng())
    assert clustered.high - clustered.low > 2 * (pooled.high - pooled.low)


def per_instance(groups: dict[tuple[str, str], np.ndarray]) -> pd.DataFrame:
    return pd.concat(
        pd.DataFrame({"task": task, "mode": mode, "mean": v, "aptitude": v, "unreliability": 0.0})
        for (task, mode), v in groups.items()
    )


def test_groups_keep_their_own():
    table = intervals.group_intervals(
        per_instance({("a", "x"): rng(1).random(30), ("b", "x"): rng(2).random(30) + 5}), ["task", "mode"], rng()
    )
    assert list(table["task"]) == ["a", "b"]
    assert table["mean_low"][0] < table["mean"][0] < table["mean_high"][0] < 1 < 5 < table["mean_low"][1]
    assert set(table["unreliability_note"]) == {"constant"}
    assert table["unreliability_low"].isna().all()


def test_tasks_weigh_the_same_however_many_instances_they_have():
    frame = per_instance({("a", "x"): rng(1).random(400), ("b", "x"): rng(2).random(20) + 1})
    found = intervals.task_intervals(frame, ["task", "mode"], rng())
    assert found["mean"].item() == pytest.approx((rng(1).random(400).mean() + rng(2).random(20).mean() + 1) / 2)
    assert found["tasks"].item() == 2
    alone = intervals.mean_interval(rng(2).random(20), rng())
    width = found["mean_high"].item() - found["mean_low"].item()
    assert 0.4 * (alone.high - alone.low) < width < 0.7 * (alone.high - alone.low)


# -- coverage --------------------------------------------------------------------------------------------------------------


def expected(p: np.ndarray, n: int) -> np.ndarray:
    """Exact expectation of mean, A90 and U90_10 of n binary runs with chance p: over all numbers of successes."""
    runs = [np.r_[np.zeros(n - k), np.ones(k)] for k in range(n + 1)]
    values = np.array([(r.mean(), np.percentile(r, 90), np.percentile(r, 90) - np.percentile(r, 10)) for r in runs])
    return stats.binom.pmf(np.arange(n + 1), n, p[:, None]) @ values


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(1, 1), (0.5, 0.5), (2, 4)])
@pytest.mark.parametrize("instances", [50, 120])
def test_95_percent_limits_cover_93_to_97_percent(shape, instances):
    n, simulations, chance = 10, 1500, rng(11)
    truth = expected(stats.beta(*shape).ppf((np.arange(4000) + 0.5) / 4000), n).mean(axis=0)
    values = np.array([expected_of_runs(k, n) for k in range(n + 1)])
    hits = np.zeros((simulations, len(MEASURES)))
    for s in range(simulations):
        sample = values[chance.binomial(n, chance.beta(*shape, instances))]
        resampled = intervals.resampled_means(sample, chance, 800)
        for m, target in enumerate(truth):
            found = intervals.limits(sample[:, m].mean(), resampled[:, m], sample[:, m] - sample[:, m].mean())
            hits[s, m] = found.low <= target <= found.high
    # 1,500 simulations leave a standard error of 0.6 % in each figure.
    assert hits.mean(axis=0).round(2).tolist() == pytest.approx([0.95] * 3, abs=0.0201), hits.mean(axis=0)


def expected_of_runs(k: int, n: int) -> tuple[float, float, float]:
    runs = np.r_[np.zeros(n - k), np.ones(k)]
    high, low = np.percentile(runs, [90, 10])
    return runs.mean(), high, high - low
