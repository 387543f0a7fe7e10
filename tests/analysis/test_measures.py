"""Measures against numpy, against what the paper prints, and against cases anyone can do in the head."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import measures
from analysis.errors import AnalysisError

PUBLISHED = json.loads((Path(__file__).parents[1] / "data" / "published_tables.json").read_text())


def scores(matrix, mode="sharded", task="math", assistant="m", **more) -> pd.DataFrame:
    """Conversations from a list of runs for each instance; None is a conversation that is owed."""
    rows = [
        {
            "task": task, "mode": mode, "assistant": assistant, "instance": f"i{i}", "repeat": r, "score": score,
            "correct": None if score is None else score == 1, "ended": "infrastructure" if score is None else "exhausted",
            "first_correct": score if score == 1 else None, "last_attempt": score, "last_turn": score,
            "turns": 3, "attempts": 1, "cost": 0.5, "unpriced": 0, **more,
        }
        for i, runs in enumerate(matrix) for r, score in enumerate(runs)
    ]  # fmt: skip
    return pd.DataFrame(rows).astype({"score": "float64", "correct": "boolean", "first_correct": "float64"})


def summed(matrix) -> pd.Series:
    return 100 * measures.summary(scores(matrix))[["mean", "aptitude", "unreliability"]].iloc[0]


# -- worked examples -------------------------------------------------------------------------------------------------------

ONE, NONE = [1] * 10, [0] * 10


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        ([ONE] * 9 + [NONE], (90, 90, 0)),
        ([ONE] * 6 + [NONE] * 4, (60, 60, 0)),
        ([[1] * 6 + [0] * 4] * 3 + [[1] * 7 + [0] * 3] * 6 + [NONE], (60, 90, 90)),
        # Situation 3 is printed as 60 / 80 / 60, which contradicts the definition: five of ten instances are mixed.
        ([ONE] * 3 + [[1] * 6 + [0] * 4] * 5 + [NONE] * 2, (60, 80, 50)),
        ([ONE] * 2 + [[1] * 6 + [0] * 4] * 2 + [[1] * 7 + [0] * 3] * 4 + [NONE] * 2, (60, 80, 60)),
    ],
)
def test_the_papers_worked_situations(matrix, expected):
    assert tuple(summed(matrix)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("k", "aptitude", "unreliability"), [(0, 0, 0), (1, 10, 10), (2, 100, 100), (8, 100, 100), (9, 100, 10)]
)
def test_ten_binary_runs_saturate(k, aptitude, unreliability):
    _, found_aptitude, found_unreliability = summed([[1] * k + [0] * (10 - k)])
    assert (found_aptitude, found_unreliability) == pytest.approx((aptitude, unreliability))


def test_percentiles_are_linear():
    """Cases ST-06 and ST-08; the runs of ST-08 are fewer than 10, which the report flags."""
    tens = measures.per_instance(scores([[k / 100 for k in range(10, 101, 10)]]))
    assert (100 * tens[["p10", "aptitude", "unreliability"]]).iloc[0].tolist() == pytest.approx([19, 91, 72])
    assert measures.per_instance(scores([[0.2, 0.4, 0.6]]))["aptitude"].item() == pytest.approx(0.56)


@pytest.mark.parametrize(("values", "expected"), [([1.0], 1.0), ([1.0, 2.0], 1.95)])
def test_percentiles_stay_in_the_range_of_few_values(values, expected):
    """Case ST-05."""
    first, runs = np.array([0]), np.array([len(values)])
    assert measures._percentile(np.array(values), first, runs, 95).item() == pytest.approx(expected)


def test_a_mean_is_a_mean():
    """Case ST-16."""
    assert summed([[0, 0, 0, 1, 1]])["mean"] == pytest.approx(40)


# -- by another route ------------------------------------------------------------------------------------------------------

RUNS = st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=12), min_size=1, max_size=6)


@settings(deadline=None, max_examples=40)
@given(RUNS)
def test_measures_are_numpys(matrix):
    found = measures.per_instance(scores(matrix))
    assert list(found["runs"]) == [len(runs) for runs in matrix]
    assert np.allclose(found["mean"], [np.mean(runs) for runs in matrix])
    for name, q in (("aptitude", 90), ("p10", 10)):
        assert np.allclose(found[name], [np.percentile(runs, q) for runs in matrix])
    assert found[["mean", "aptitude", "p10", "unreliability"]].stack().between(0, 1).all()


@settings(deadline=None, max_examples=40)
@given(RUNS, st.randoms(use_true_random=False))
def test_the_order_of_conversations_does_not_matter(matrix, shuffle):
    frame = scores(matrix)
    order = list(frame.index)
    shuffle.shuffle(order)
    columns = ["instance", "runs", "mean", "aptitude", "p10"]
    one, other = (
        measures.per_instance(f)[columns].sort_values("instance", ignore_index=True) for f in (frame, frame.loc[order])
    )
    pd.testing.assert_frame_equal(one, other)


@pytest.mark.parametrize(("n", "c", "k"), [(n, c, k) for n in (1, 4, 6) for c in range(n + 1) for k in range(1, n + 1)])
def test_pass_k_counts_subsets(n, c, k):
    frame = scores([[1] * c + [0] * (n - c)])
    subsets = list(itertools.combinations([1] * c + [0] * (n - c), k))
    assert measures.pass_hat_k(frame, k)[f"pass_hat_{k}"].item() == pytest.approx(np.mean([min(s) for s in subsets]))
    assert measures.pass_at_k(frame, k)[f"pass_at_{k}"].item() == pytest.approx(np.mean([max(s) for s in subsets]))


def test_pass_at_k_of_the_cases():
    """Case ST-11: undefined for k > n, never 1."""
    assert measures.pass_at_k(scores([[1, 1, 0, 0, 0]]), 1)["pass_at_1"].item() == pytest.approx(0.4)
    assert measures.pass_at_k(scores([[1] * 3 + [0] * 7]), 5)["pass_at_5"].item() == pytest.approx(0.9166666666666666)
    with pytest.raises(AnalysisError, match="not defined for k = 5"):
        measures.pass_at_k(scores([[0, 0]]), 5)
    with pytest.raises(AnalysisError, match="k = 0"):
        measures.pass_hat_k(scores([[0, 0]]), 0)


# -- what is not scored ----------------------------------------------------------------------------------------------------


def test_both_denominators():
    """Case ST-12: 80 right, 10 wrong, 10 that failed through no fault of the assistant."""
    row = measures.summary(scores([[1] * 8 + [0, None]] * 10)).iloc[0]
    assert row["over_all"] == pytest.approx(0.8)
    assert [row["mean"], row["accuracy"]] == pytest.approx([0.8889] * 2, abs=5e-5)
    assert (row["conversations"], row["scored"], row["not_scored"]) == (100, 90, 10)


def test_no_attempt_counts_zero():
    """Case ST-13: a conversation without an attempt has no attempt score, and its ways of scoring count 0."""
    frame = scores([[1, 0, 0, 0]]).assign(last_attempt=[1.0, None, 0.0, None], last_turn=[1.0, None, 0.0, None])
    row = measures.summary(frame).iloc[0]
    assert row["last_attempt"] == row["last_turn"] == row["any_correct"] == row["mean"] == 0.25


def test_a_failure_of_the_assistant_is_scored_zero():
    frame = scores([[1, 0]])
    frame.loc[1, ["ended", "correct"]] = ["assistant", False]
    row = measures.summary(frame).iloc[0]
    assert (row["failed"], row["not_scored"], row["mean"]) == (1, 0, 0.5)


def test_a_group_without_any_score_keeps_its_row():
    table = measures.summary(pd.concat([scores([[1, 1]]), scores([[None, None]], mode="recap")]))
    assert list(table["mode"]) == ["sharded", "recap"]
    assert list(table["instances"]) == [1, 0]
    assert pd.isna(table["mean"][1])
    assert table["over_all"][1] == 0


def test_a_cost_that_is_not_known_is_none():
    frame = scores([[1, 1]])
    frame.loc[0, ["cost", "unpriced"]] = [None, 2]
    row = measures.summary(frame).iloc[0]
    assert pd.isna(row["cost"])
    assert row["unpriced"] == 2
    assert measures.summary(scores([[1, 1]]))["cost"].item() == 1.0


# -- groups ----------------------------------------------------------------------------------------------------------------


def test_what_differs_within_a_group_splits_it():
    cold, hot = scores([[1, 1]], temperature=0.0), scores([[0, 0]], temperature=1.0)
    both = pd.concat([cold, hot])
    assert measures.grouping(cold) == ["task", "mode", "assistant"]
    assert measures.grouping(both) == ["task", "mode", "assistant", "temperature"]
    assert list(measures.summary(both)["mean"]) == [1.0, 0.0]


def test_what_differs_between_modes_only_does_not_split():
    both = pd.concat([scores([[1]], mode="full", user="verbatim"), scores([[1]], mode="sharded", user="llm")])
    assert measures.grouping(both) == ["task", "mode", "assistant"]


def test_a_missing_grouping_value_is_a_group():
    both = pd.concat([scores([[1, 1]], temperature=np.nan), scores([[0, 0]], temperature=1.0)])
    table = measures.summary(both)
    assert list(table["mean"]) == [1.0, 0.0]
    assert list(table["instances"]) == [1, 1]


def test_mixed_protocols_are_never_averaged():
    both = pd.concat([scores([[1]], protocol="1"), scores([[0]], protocol="2")])
    assert measures.summary(both).set_index("protocol")["mean"].to_dict() == {"1": 1.0, "2": 0.0}


def test_pieces_an_instruction_came_in():
    frame = pd.concat(
        [
            scores([[1, 0]], mode="concat", turns=1, shards=8),
            scores([[1, 0]], mode="gradual:4", shards=8),
            scores([[1, 0]], shards=8),
        ],
        ignore_index=True,
    )
    assert measures.pieces(frame).tolist() == [1, 1, 4, 4, 8, 8]
    curve = measures.summary(frame.assign(pieces=measures.pieces(frame)), ["assistant", "pieces"])
    assert curve["pieces"].tolist() == [1, 4, 8]


def test_common_runs():
    frame = pd.concat([scores([[1, 0, 1], [1, None, 0]]), scores([[0, 0]], mode="full")])
    cut = measures.common_runs(frame)
    assert set(measures.per_instance(cut)["runs"]) == {2}
    assert cut[cut["instance"].eq("i0") & cut["mode"].eq("sharded")]["repeat"].tolist() == [0, 1]
    assert set(measures.per_instance(measures.common_runs(frame, n=1))["runs"]) == {1}
    with pytest.raises(AnalysisError, match="fewer runs"):
        measures.common_runs(frame, n=3)


def test_nothing_at_all():
    table = measures.summary(scores([[1]]).iloc[:0])
    assert table.empty
    assert "mean" in table


# -- published numbers ------------------------------------------------------------------------------------------------------


def published(modes=("full", "concat", "sharded")) -> pd.DataFrame:
    tasks = PUBLISHED["table_1"]["tasks"]
    rows = [
        {"task": task, "mode": mode, "assistant": model, "mean": cells[mode][at] / 100}
        for model, cells in PUBLISHED["table_1"]["models"].items()
        for mode in modes
        for at, task in enumerate(tasks)
        if cells[mode][at] is not None
    ]
    return pd.DataFrame(rows)


def test_table_1_overall_columns_are_means_of_ratios():
    found = measures.relative(published()).set_index(["assistant", "mode"])["ratio"]
    printed = {
        (model, mode): cells[f"{mode}_over_full"]
        for model, cells in PUBLISHED["table_1"]["models"].items()
        for mode in ("concat", "sharded")
    }
    assert len(printed) == 30
    for key, value in printed.items():
        assert found[key] == pytest.approx(value, abs=0.15), key
    tasks = measures.relative(published()).set_index(["assistant", "mode"])["tasks"]
    assert tasks["OLMo2", "sharded"] == 5
    assert tasks["4o", "sharded"] == 6


def test_table_2_follows_from_table_1():
    four = published()[lambda t: t["task"].isin(["code", "database", "actions", "math"])]
    found = measures.over_tasks(four, ["mean"]).set_index(["assistant", "mode"])["mean"]
    for model, name in (("4o-mini", "gpt-4o-mini"), ("4o", "gpt-4o")):
        printed = PUBLISHED["table_2"][name][:3]
        assert [100 * found[model, mode] for mode in ("full", "concat", "sharded")] == pytest.approx(printed, abs=0.051)


def test_figure_6b_means():
    """Aptitude 76.2 → 64.5, unreliability 23.5 → 49.9: means over models, here in the place of tasks."""
    rows = [
        {"task": model, "mode": mode, "assistant": "all", **{k: v / 100 for k, v in cell.items()}}
        for mode in ("full", "sharded")
        for model, cell in zip(PUBLISHED["figure_6b"]["models"], PUBLISHED["figure_6b"][mode], strict=True)
    ]
    found = (
        100
        * measures.over_tasks(pd.DataFrame(rows), ["aptitude", "unreliability"]).set_index("mode")[
            ["aptitude", "unreliability"]
        ]
    )
    assert found.loc["full"].tolist() == pytest.approx([76.2, 23.5], abs=0.05)
    assert found.loc["sharded"].tolist() == pytest.approx([64.5, 49.9], abs=0.05)


def test_relative_says_what_it_lacks():
    with pytest.raises(AnalysisError, match="nothing to relate to"):
        measures.relative(published(("concat", "sharded")))
    with pytest.raises(AnalysisError, match="several rows"):
        measures.relative(pd.concat([published(), published()]))
    zero = pd.DataFrame({"task": "math", "mode": ["full", "sharded"], "assistant": "m", "mean": [0.0, 0.0]})
    assert measures.relative(zero).empty
