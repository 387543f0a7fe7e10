"""Where the score comes from, on conversations counted by hand."""

from __future__ import annotations

import pytest

from analysis import breakdowns, frames
from analysis.contrasts import planned
from analysis.errors import AnalysisError


@pytest.fixture
def run(make_store, make_record, make_turn):
    """Two modes; what is not the last scored turn, not scored or of another task must not count."""
    right = make_turn(1, "x", 1.0, details={"parts": {"date": 1.0, "time": 1.0}})
    both = make_turn(2, "x", 0.0, details={"parts": {"date": 0.0, "time": 0.5}, "errors": ["date:wrong", "time:late"]})
    date = make_turn(2, "x", 0.0, details={"parts": {"date": 0.0, "time": 1.0}, "errors": ["date:wrong"]})
    return make_store(
        [
            make_record("a", mode="multi", turns=[right, both, make_turn(3)], score=0.0, strata={"tools": 10}),
            make_record("a", 1, mode="multi", turns=[both, right], strata={"tools": 10}),
            make_record("b", mode="multi", turns=[date], score=0.0, strata={"tools": 9, "kind": "x"}),
            make_record("c", mode="multi", turns=[], score=0.0, ended="assistant", strata={"tools": 9}),
            make_record("d", mode="multi", turns=[], score=None, ended="budget"),
            make_record("a", mode="single", turns=[right], strata={"tools": 10}),
            make_record("e", mode="single", task="code", strata={"tools": 1}),
        ]
    )


def test_mistakes_are_those_of_the_last_scored_turn(run):
    table = breakdowns.mistakes(frames.conversations(run), frames.turns(run))
    assert set(table["task"]) == {"math"}
    found = table.set_index(["mode", "mistake"])[["conversations", "scored", "share"]]
    assert found.loc[("multi", "date:wrong")].tolist() == [2, 4, 0.5]
    assert found.loc[("multi", "time:late")].tolist() == [1, 4, 0.25]
    assert found.loc[("single", "date:wrong")].tolist() == [0, 1, 0.0]


def test_parts_are_averaged_over_instances_and_nothing_said_is_nothing_right(run):
    table = breakdowns.parts(frames.conversations(run), frames.turns(run))
    found = table.set_index(["mode", "part"])[["instances", "mean"]]
    # Instances a (runs 0 and 1), b (0) and c (no turn at all: 0).
    assert found.loc[("multi", "date")].tolist() == [3, pytest.approx((0.5 + 0 + 0) / 3)]
    assert found.loc[("multi", "time")].tolist() == [3, pytest.approx((0.75 + 1 + 0) / 3)]
    assert found.loc[("single", "date")].tolist() == [1, 1.0]
    assert len(found) == 4


def test_strata_come_in_order_of_their_values(run):
    table = breakdowns.strata(frames.conversations(run, strata=True))
    assert table[["task", "mode", "stratum", "value", "instances", "mean"]].to_numpy().tolist() == [
        ["math", "multi", "tools", "9", 2, 0.0],
        ["math", "multi", "tools", "10", 1, 0.5],
        ["math", "single", "tools", "10", 1, 1.0],
    ]


def test_a_stratum_asked_for_may_have_any_number_of_values(run):
    frame = frames.conversations(run, strata=True)
    assert breakdowns.strata(frame, ["kind"])["value"].tolist() == ["x"]
    assert set(breakdowns.strata(frame, ["tools"])["task"]) == {"math", "code"}
    with pytest.raises(AnalysisError, match="grouped by this"):
        breakdowns.strata(frame, ["colour"])


def test_a_run_without_any_of_it_has_empty_tables(make_store, make_record):
    for records in ([], [make_record()]):
        folder = make_store(records, f"run{len(records)}")
        frame, turns = frames.conversations(folder, strata=True), frames.turns(folder)
        assert breakdowns.mistakes(frame, turns).empty
        assert breakdowns.parts(frame, turns).empty
        assert breakdowns.strata(frame).empty


@pytest.mark.parametrize(
    ("task", "modes", "against", "expected"),
    [
        ("math", ["concat", "full", "sharded"], None, {"concat": "full", "sharded": "full"}),
        ("math", ["concat", "sharded"], None, {"sharded": "concat"}),
        ("unknown", ["concat", "sharded"], None, {"sharded": "concat"}),
        ("reliability-tools", ["multi", "single"], None, {"multi": "single"}),
        ("reliability-tools", ["multi_native", "single_native", "multi", "single", "full"], None,
         {"multi_native": "single_native", "single_native": "single", "multi": "single", "single": "full"}),
        ("reliability-tools", ["multi_native", "single_native"], None, {"multi_native": "single_native"}),
        ("reliability-tools", ["multi", "single"], "multi", {"single": "multi"}),
        ("travel-ticket", ["dialogue_concise", "isolated"], None, {"dialogue_concise": "isolated"}),
        ("travel-ticket", ["isolated", "dialogue", "dialogue_concise", "sharded"], None,
         {"dialogue": "isolated", "dialogue_concise": "dialogue", "sharded": "isolated"}),
        ("math", ["full"], None, {}),
        ("math", ["full"], "sharded", {}),
        ("math", [], None, {}),
    ],
)  # fmt: skip
def test_which_mode_is_compared_with_which(task, modes, against, expected):
    assert planned(task, modes, against) == expected
