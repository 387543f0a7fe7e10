"""Comparisons: published tables, exact enumeration, and arms that do not differ."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis import comparisons, intervals
from analysis.errors import AnalysisError

PUBLISHED = json.loads((Path(__file__).parents[1] / "data" / "published_tables.json").read_text())[
    "reliability_mcnemar_n900"
]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def arms(**matrices) -> pd.DataFrame:
    """Conversations of modes from a list of runs for each instance."""
    rows = [
        {"task": "math", "assistant": "m", "mode": mode, "instance": f"i{i}", "repeat": r, "score": s, "correct": s == 1}
        for mode, matrix in matrices.items() for i, runs in enumerate(matrix) for r, s in enumerate(runs)
    ]  # fmt: skip
    return pd.DataFrame(rows).astype({"score": "float64", "correct": "boolean"})


# -- McNemar ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLISHED)
def test_mcnemar_gives_the_published_tables_to_six_digits(name):
    table = PUBLISHED[name]
    found = comparisons.mcnemar(table["both"], table["single_only"], table["multi_only"], 900)
    assert found.neither == table["neither"]
    assert found.statistic == pytest.approx(table["chi2_cc"], rel=5e-7)
    assert found.p_corrected == pytest.approx(table["p_cc"], rel=5e-7)
    assert found.p_exact == pytest.approx(table["p_exact"], rel=5e-7)


def test_mcnemar_of_the_cases():
    """Cases ST-01 and ST-03."""
    none = comparisons.mcnemar(5, 0, 0, 9)
    assert (none.p_exact, none.p_corrected, none.statistic) == (1.0, 1.0, 0.0)
    assert comparisons.mcnemar(0, 9, 1, 10).p_exact == pytest.approx(0.021484375)


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_sum(b, c):
    found = comparisons.mcnemar(3, b, c, 3 + b + c)
    tail = sum(Fraction(comb(b + c, i), 2 ** (b + c)) for i in range(min(b, c) + 1))
    assert found.p_exact == pytest.approx(float(min(Fraction(1), 2 * tail)))
    assert found.p_exact == comparisons.mcnemar(3, c, b, 3 + b + c).p_exact
    assert 0 <= found.p_corrected <= 1


def test_mcnemar_pairs_the_same_run_of_the_same_instance():
    frame = arms(full=[[1, 1], [1, 0], [1]], sharded=[[0, 1], [0, 0], [1, 1]])
    row = comparisons.mcnemar_runs(frame, "mode", "full", "sharded").iloc[0]
    assert row[["both", "a_only", "b_only", "neither", "pairs"]].tolist() == [2, 2, 0, 1, 5]
    assert "too small" in row["note"]
    single = comparisons.mcnemar_runs(frame[frame["repeat"] == 0], "mode", "full", "sharded").iloc[0]
    assert single["note"] == ""


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=30))
def test_mcnemar_by_cluster_is_mcnemar_where_each_cluster_is_one_pair(differences):
    right, wrong = differences.count(1.0), differences.count(-1.0)
    expected = stats.chi2.sf((right - wrong) ** 2 / (right + wrong), 1) if right + wrong else 1.0
    assert comparisons.clustered_mcnemar(np.array(differences)) == pytest.approx(expected)


def test_the_same_said_again_within_a_cluster_is_no_evidence():
    once = comparisons.mcnemar_runs(arms(full=[[1]] * 6, sharded=[[0]] * 5 + [[1]]), "mode", "full", "sharded").iloc[0]
    again = arms(full=[[1] * 4] * 6, sharded=[[0] * 4] * 5 + [[1] * 4])
    row = comparisons.mcnemar_runs(again, "mode", "full", "sharded").iloc[0]
    assert row["p_exact"] < once["p_exact"]
    assert row["p_clustered"] == once["p_clustered"] == pytest.approx(stats.chi2.sf(5, 1))


def test_a_table_of_counts_is_not_negative():
    with pytest.raises(AnalysisError, match="negative"):
        comparisons.mcnemar(5, 3, 3, 9)


# -- Holm ------------------------------------------------------------------------------------------------------------------


def test_holm_by_hand():
    assert comparisons.holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert comparisons.holm([0.9, 0.5]).tolist() == [1.0, 1.0]
    assert comparisons.holm([]).tolist() == []
    with pytest.raises(AnalysisError, match="between 0 and 1"):
        comparisons.holm([0.1, float("nan")])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_what_its_definition_rejects(p):
    level, order = 0.05, sorted(range(len(p)), key=p.__getitem__)
    rejected: set[int] = set()
    for step, at in enumerate(order):
        if p[at] * (len(p) - step) > level:
            break
        rejected.add(at)
    assert {at for at, adjusted in enumerate(comparisons.holm(p)) if adjusted <= level} == rejected


# -- paired differences ----------------------------------------------------------------------------------------------------


def test_the_difference_is_over_instances_in_both_arms():
    frame = arms(full=[[1, 1], [1, 0], [0, 0], [1, 1]], sharded=[[0, 1], [0, 0], [0, 0]])
    row = comparisons.paired(frame, "mode", "full", "sharded", rng()).iloc[0]
    assert row[["a_value", "b_value", "difference"]].tolist() == pytest.approx([0.5, 1 / 6, 1 / 3])
    assert row[["instances", "unpaired"]].tolist() == [3, 1]
    assert row["low"] <= row["difference"] <= row["high"]
    assert row["p"] == row["p_holm"]


def test_p_is_that_of_all_sign_flips():
    differences = np.array([0.5, 0.3, -0.1, 0.4, 0.2, 0.6])
    frame = arms(a=[[0.5 + d / 2] for d in differences], b=[[0.5 - d / 2] for d in differences])
    flips = [np.mean(np.array(signs) * differences) for signs in itertools.product([1, -1], repeat=6)]
    expected = np.mean(np.abs(flips) >= differences.mean() - 1e-12)
    assert comparisons.paired(frame, "mode", "a", "b", rng())["p"].item() == pytest.approx(expected)


def test_nonlinear_measures_compare_the_same_runs():
    """With 2 runs in one arm and 10 in the other, U90_10 would differ by the numbers of runs alone."""
    frame = arms(full=[[1, 0] * 5] * 4, sharded=[[1, 0]] * 4)
    row = comparisons.paired(frame, "mode", "full", "sharded", rng(), measure="unreliability").iloc[0]
    assert row["difference"] == 0
    assert row["a_value"] == row["b_value"] == pytest.approx(0.8)


def test_one_row_for_each_combination_corrected_together():
    one = arms(full=[[1]] * 6, sharded=[[0]] * 6)
    frame = pd.concat([one, one.assign(assistant="n"), arms(full=[[1]] * 6).assign(assistant="lonely")])
    table = comparisons.paired(frame, "mode", "full", "sharded", rng()).set_index("assistant")
    assert table.loc[["m", "n"], "p"].tolist() == pytest.approx([1 / 32] * 2)
    assert table.loc[["m", "n"], "p_holm"].tolist() == pytest.approx([1 / 16] * 2)
    assert table.loc["lonely", "note"] == "no instance in both arms"
    assert table.loc["lonely", "unpaired"] == 6


def test_assistants_and_temperatures_are_arms_too():
    frame = pd.concat([arms(full=[[1]] * 6).assign(temperature=0.0), arms(full=[[0]] * 6).assign(temperature=1.0)])
    assert comparisons.paired(frame, "temperature", 0.0, 1.0, rng())["difference"].item() == 1
    frame = pd.concat(
        [
            arms(full=[[1]] * 6).assign(temperature=np.nan),
            arms(
                full=[[0]] * 6,
            ).assign(temperature=np.nan, assistant="n"),
        ]
    )
    assert comparisons.paired(frame, "assistant", "m", "n", rng())["difference"].item() == 1


def test_arms_that_are_equal_have_no_difference():
    frame = arms(full=[[1, 0], [0, 1]], sharded=[[1, 0], [1, 0]])
    row = comparisons.paired(frame, "mode", "full", "sharded", rng()).iloc[0]
    assert (row["difference"], row["p"], row["note"]) == (0, 1, "constant")


def test_what_cannot_be_compared_is_refused():
    frame = arms(full=[[1]], sharded=[[None]])
    with pytest.raises(AnalysisError, match="no scored conversation has recap"):
        comparisons.paired(frame, "mode", "full", "recap", rng())
    with pytest.raises(AnalysisError, match="no scored conversation has sharded"):
        comparisons.paired(frame, "mode", "full", "sharded", rng())
    with pytest.raises(AnalysisError, match="no two arms"):
        comparisons.paired(frame, "mode", "full", "full", rng())
    apart = pd.concat([arms(full=[[1]]), arms(sharded=[[1]]).assign(instance="other")])
    with pytest.raises(AnalysisError, match="no instance in common"):
        comparisons.paired(apart, "mode", "full", "sharded", rng())
    with pytest.raises(AnalysisError, match="no run of an instance in common"):
        comparisons.mcnemar_runs(apart, "mode", "full", "sharded")


def test_one_instance_has_a_difference_without_limits():
    row = comparisons.paired(arms(full=[[1]], sharded=[[0]]), "mode", "full", "sharded", rng()).iloc[0]
    assert (row["difference"], row["note"], row["p"]) == (1, "one instance", 1)


@pytest.mark.slow
def test_arms_that_do_not_differ_are_called_different_in_one_case_of_twenty():
    chance, hits = rng(3), []
    for _ in range(400):
        p = chance.beta(1, 1, 30)[:, None]
        frame = arms(a=(chance.random((30, 4)) < p).astype(float), b=(chance.random((30, 4)) < p).astype(float))
        hits.append(comparisons.paired(frame, "mode", "a", "b", chance, resamples=400)["p"].item() < 0.05)
    assert 0.02 < np.mean(hits) < 0.085


# -- noise floor -----------------------------------------------------------------------------------------------------------


def test_the_floor_is_what_two_equal_arms_differ_by():
    chance = rng(1)
    draw = lambda n: (chance.random((40, n)) < 0.5).astype(float)  # noqa: E731
    row = comparisons.noise_floor(arms(full=draw(10)), rng()).iloc[0]
    fresh = [abs(draw(5).mean() - draw(5).mean()) for _ in range(1000)]
    assert row["runs"] == 5
    assert row["floor"] == pytest.approx(np.quantile(fresh, 0.95), rel=0.15)


def test_equal_runs_have_no_noise_and_one_run_has_no_halves():
    assert comparisons.noise_floor(arms(full=[[1] * 4, [0] * 4]), rng(), splits=20)["floor"].item() == 0
    row = comparisons.noise_floor(arms(full=[[1], [0]]), rng()).iloc[0]
    assert row["note"] == "one run has no halves"
    assert np.isnan(row["floor"])


@pytest.mark.parametrize("measure", ["mean", "aptitude", "p10", "unreliability"])
def test_the_floor_knows_every_measure(measure):
    row = comparisons.noise_floor(arms(full=[[1, 0, 1, 0], [0, 1, 0.5, 0]]), rng(), measure=measure, splits=50).iloc[0]
    assert 0 < row["floor"] <= 1


def test_limits_of_a_difference_are_those_of_its_instances():
    values = rng(4).random((2, 25))
    frame = arms(full=[[v] for v in values[0]], sharded=[[v] for v in values[1]])
    row = comparisons.paired(frame, "mode", "full", "sharded", rng(8)).iloc[0]
    order = sorted(range(25), key=lambda i: f"i{i}")
    plain = intervals.mean_interval((values[0] - values[1])[order], rng(8))
    assert row[["low", "high"]].tolist() == pytest.approx([plain.low, plain.high])
