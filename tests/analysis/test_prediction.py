"""Prediction-powered inference and the sheet its labels come from."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import analysis
from analysis import labelling, prediction
from analysis.commands import label
from analysis.errors import AnalysisError
from simulator.store import Store
from tasks.errors import ShardtalkError


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# -- the published worked values -------------------------------------------------------------------------------------------


def worked() -> prediction.Corrected:
    """N = 100 with 80 ones; n = 30: 24 judged 1, one of them wrongly, and 6 judged 0, two of them wrongly."""
    judged = [1] * 80 + [0] * 20
    return prediction.ppi_mean(judged, [1] * 24 + [0] * 6, [1] * 23 + [0] + [1] * 2 + [0] * 4)


def test_the_worked_mean():
    found = worked()
    assert found.value == pytest.approx(0.8333333, abs=5e-8)
    assert found.sigma == pytest.approx(0.0699735, abs=5e-8)
    assert (found.low, found.high) == pytest.approx((0.6961877, 0.9704790), abs=5e-8)


def test_the_worked_z_test():
    found = prediction.z_test((0.95, 0.03), (0.80, 0.05))
    assert found.z == pytest.approx(2.572479, abs=5e-7)
    assert found.p == pytest.approx(0.0100973, abs=5e-8)


def test_groups_pool_by_size_with_clipped_means():
    high = prediction.Corrected(1.2, 0.1, 0.9, 1.0, 0.0, 300, 30)
    low = prediction.Corrected(0.4, 0.2, 0.0, 0.8, 0.0, 100, 30)
    found = prediction.pooled([high, low])
    assert found.value == pytest.approx(0.75 * 1 + 0.25 * 0.4)
    assert found.sigma == pytest.approx((0.75**2 * 0.1**2 + 0.25**2 * 0.2**2) ** 0.5)
    assert (found.size, found.labelled) == (400, 60)


def test_a_judge_without_errors_is_not_corrected():
    judged = rng().integers(0, 2, 200).astype(float)
    found = prediction.ppi_mean(judged, judged[:40], judged[:40])
    assert found.value == pytest.approx(judged.mean())
    assert found.sigma == pytest.approx(judged.std() / 200**0.5)


def test_estimates_without_error_are_equal_or_not():
    assert prediction.z_test((0.5, 0.0), (0.5, 0.0)).p == 1
    assert prediction.z_test((0.5, 0.0), (0.6, 0.0)).p == 0


@pytest.mark.parametrize(
    ("judged", "marked", "true"),
    [([1, 0], [1], [1]), ([1, 0], [1, 0], [1]), ([1], [1, 0], [1, 0]), ([1, float("nan")], [1, 0], [1, 0])],
)
def test_what_does_not_fit_is_refused(judged, marked, true):
    with pytest.raises(AnalysisError):
        prediction.ppi_mean(judged, marked, true)
    with pytest.raises(AnalysisError, match="nothing to pool"):
        prediction.pooled([])


@pytest.mark.slow
def test_limits_cover_the_truth_though_the_judge_errs():
    chance, hits = rng(2), []
    for _ in range(3000):
        truth = (chance.random(400) < 0.6).astype(float)
        judged = np.where(chance.random(400) < 0.15, 1 - truth, truth)
        found = prediction.ppi_mean(judged, judged[:80], truth[:80])
        hits.append(found.low <= 0.6 <= found.high)
    assert 0.93 < np.mean(hits) < 0.975


# -- over a run ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def run(make_store, make_record):
    """30 instances of two modes, three runs each; every third instance is judged wrong."""
    records = [
        make_record(f"i{i:02}", r, float(i % 3 > 0), mode=mode)
        for mode in ("full", "sharded")
        for i in range(30)
        for r in range(3)
    ]
    return make_store(records)


def labelled(frame: pd.DataFrame, scores) -> pd.DataFrame:
    return pd.DataFrame({"key": frame["key"], "human_score": scores})


def test_a_group_is_corrected_by_its_instances(run):
    frame = analysis.conversations(run)
    first = frame[(frame["mode"] == "full") & (frame["repeat"] == 0)].head(20)
    table = prediction.corrected(frame, labelled(first, [1.0] * 20)).set_index("mode")
    # 7 of the first 20 instances were judged 0 and are right; the judge's mean over all is 20 / 30.
    assert table.loc["full", "value"] == pytest.approx(20 / 30 + 7 / 20)
    assert table.loc["full", ["size", "labelled", "note"]].tolist() == [30, 20, ""]
    assert table.loc["sharded", "note"] == "too few labels"
    assert table.loc["sharded", "judged"] == pytest.approx(20 / 30)


def test_labels_of_several_runs_of_an_instance_are_one(run):
    frame = analysis.conversations(run)
    full = frame[(frame["mode"] == "full") & frame["instance"].isin(["i00", "i01"])]
    row = prediction.corrected(frame, labelled(full, full["score"])).set_index("mode").loc["full"]
    assert (row["labelled"], row["correction"], row["note"]) == (2, 0, "few labels")


def test_a_label_of_another_run_is_refused(run):
    with pytest.raises(AnalysisError, match="no scored conversation"):
        prediction.corrected(analysis.conversations(run), pd.DataFrame({"key": ["x"], "human_score": [1.0]}))


# -- the sheet -------------------------------------------------------------------------------------------------------------


def sheet(run, path, *more):
    CliRunner().invoke(label, [str(run), "--out", str(path), *more], catch_exceptions=False)
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_the_sheet_has_so_many_of_every_group_and_of_different_instances(run, tmp_path):
    rows = sheet(run, tmp_path / "a.csv", "--n", "10")
    assert list(rows[0]) == list(labelling.COLUMNS)
    for mode in ("full", "sharded"):
        instances = [row["instance"] for row in rows if row["mode"] == mode]
        assert len(instances) == len(set(instances)) == 10
    assert rows == sheet(run, tmp_path / "b.csv", "--n", "10")
    assert rows != sheet(run, tmp_path / "c.csv", "--n", "10", "--seed", "1")


def test_the_sheet_does_not_tell_the_verdict(make_store, make_record, make_turn, tmp_path):
    turns = [make_turn(1, "5", 0.0), make_turn(2, "42", 1.0, reply="It is 42.")]
    (row,) = sheet(make_store([make_record("a", turns=turns)]), tmp_path / "a.csv")
    assert (row["instruction"], row["target"], row["reply"], row["answer"]) == ("all of a", "42", "It is 42.", "42")
    assert row["human_score"] == row["comment"] == ""


def test_more_than_there_is_gives_all(run, tmp_path):
    assert len(sheet(run, tmp_path / "a.csv", "--n", "1000")) == 180


def test_model_text_is_no_formula(make_store, make_record, make_turn, tmp_path):
    turns = [make_turn(1, "-5", 0.0, reply="=HYPERLINK(1)")]
    (row,) = sheet(make_store([make_record("a", turns=turns)]), tmp_path / "a.csv")
    assert (row["reply"], row["answer"]) == ("'=HYPERLINK(1)", "'-5")


def test_a_sheet_is_not_overwritten(run, tmp_path):
    sheet(run, tmp_path / "a.csv")
    with pytest.raises(ShardtalkError, match="is already there"):
        sheet(run, tmp_path / "a.csv")


def test_a_filled_sheet_is_read_back(run, tmp_path):
    rows = sheet(run, tmp_path / "a.csv", "--n", "2")
    for row, text in zip(rows, ["yes", "0", " 0.5 ", ""], strict=True):
        row["human_score"] = text
    fill(tmp_path / "filled.csv", rows)
    found = labelling.labels(tmp_path / "filled.csv")
    assert found["human_score"].tolist() == [1.0, 0.0, 0.5]
    assert found["key"].tolist() == [row["key"] for row in rows[:3]]
    with Store(run) as store:
        assert store.record(found["key"][0]).key == rows[0]["key"]


def fill(path, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize("text", ["1.5", "maybe", "-1", "nan"])
def test_what_is_no_score_is_named_by_its_row(tmp_path, text):
    fill(tmp_path / "a.csv", [{"key": "k", "human_score": "1"}, {"key": "l", "human_score": text}])
    with pytest.raises(AnalysisError, match="row 3: this is no score"):
        labelling.labels(tmp_path / "a.csv")


def test_awkward_sheets_are_refused(tmp_path):
    fill(tmp_path / "a.csv", [{"key": "k", "human_score": ""}])
    with pytest.raises(AnalysisError, match="nothing is filled in"):
        labelling.labels(tmp_path / "a.csv")
    fill(tmp_path / "b.csv", [{"key": "k", "score": "1"}])
    with pytest.raises(AnalysisError, match="no labelling sheet"):
        labelling.labels(tmp_path / "b.csv")
    fill(tmp_path / "c.csv", [{"key": "k", "human_score": "1"}] * 2)
    with pytest.raises(AnalysisError, match="labelled twice"):
        labelling.labels(tmp_path / "c.csv")
