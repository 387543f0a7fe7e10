"""Interventions beside modes: each is compared with the plain arm of its mode, and no number is a mean over both."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

import analysis
from analysis import arms, comparisons, contrasts
from analysis.report import report

#: Share of right answers, by mode and interventions as records hold them.
SHARES = {
    ("full", ""): 0.9,
    ("full", "remind"): 0.5,
    ("recap", "recap"): 0.7,
    ("recap", "recap+remind"): 0.6,
    ("sharded", ""): 0.4,
    ("sharded", "remind"): 0.8,
    ("sharded", "remind@3"): 0.6,
}


@pytest.fixture
def run(make_record, make_store):
    rng = np.random.default_rng(7)
    return make_store(
        make_record(
            f"i{i}",
            repeat,
            float(rng.random() < share),
            mode=mode,
            interventions=tuple(interventions.split("+")) if interventions else (),
        )
        for (mode, interventions), share in SHARES.items()
        for i in range(25)
        for repeat in range(5)
    )


def means(frame, mode, interventions):
    kept = frame[(frame["mode"] == mode) & (frame["interventions"] == interventions)]
    return kept.groupby("instance")["score"].mean()


def test_arms_have_names(run):
    frame = analysis.conversations(run)
    assert list(dict.fromkeys(arms.names(frame))) == [
        "full",
        "full + remind",
        "recap",
        "recap + remind",
        "sharded",
        "sharded + remind",
        "sharded + remind@3",
    ]
    warm = frame.assign(temperature=np.where(frame["repeat"] < 2, 0.5, None))
    assert set(arms.names(warm[warm["mode"] == "recap"], ["interventions", "temperature"])) == {
        "recap",
        "recap 0.5",
        "recap + remind",
        "recap + remind 0.5",
    }


def test_like_is_compared_with_like_and_every_intervention_with_the_plain_arm(run):
    frame = analysis.conversations(run)
    table = contrasts.differences(frame, np.random.default_rng(0), resamples=5000).set_index(["a", "b"])
    expected = {
        ("recap", "full"): (("recap", "recap"), ("full", "")),
        ("recap + remind", "full + remind"): (("recap", "recap+remind"), ("full", "remind")),
        ("sharded", "full"): (("sharded", ""), ("full", "")),
        ("sharded + remind", "full + remind"): (("sharded", "remind"), ("full", "remind")),
        ("full + remind", "full"): (("full", "remind"), ("full", "")),
        ("recap + remind", "recap"): (("recap", "recap+remind"), ("recap", "recap")),
        ("sharded + remind", "sharded"): (("sharded", "remind"), ("sharded", "")),
        ("sharded + remind@3", "sharded"): (("sharded", "remind@3"), ("sharded", "")),
    }
    assert list(table.index) == list(expected)
    for pair, (a, b) in expected.items():
        found = table.loc[pair]
        shared = means(frame, *a) - means(frame, *b)
        assert found["difference"] == pytest.approx(shared.mean())
        assert found["instances"] == 25
        flipped = stats.permutation_test((shared,), np.mean, permutation_type="samples", n_resamples=9999, rng=1)
        assert found["p"] == pytest.approx(flipped.pvalue, abs=0.03)
    ranked = np.sort(table["p"].to_numpy())
    assert table["p_holm"].min() == pytest.approx(min(1.0, ranked[0] * len(ranked)))


def test_mcnemar_pairs_runs_of_the_same_arms(run):
    frame = analysis.conversations(run)
    table = contrasts.mcnemar(frame).set_index(["a", "b"])
    wide = frame.assign(arm=arms.names(frame)).pivot(index=["instance", "repeat"], columns="arm", values="score")
    for (a, b), row in table.iterrows():
        assert (row["a_only"], row["b_only"]) == (((wide[a] > wide[b]).sum()), ((wide[a] < wide[b]).sum()))
        assert row["pairs"] == 125


def test_modes_compared_by_hand_are_compared_under_the_same_interventions(run):
    frame = analysis.conversations(run)
    table = comparisons.paired(frame, "mode", "sharded", "full", np.random.default_rng(0), resamples=100)
    table = table.set_index("interventions")
    assert set(table.index[table["instances"] > 0]) == {"", "remind"}
    for added in ("", "remind"):
        shared = means(frame, "sharded", added) - means(frame, "full", added)
        assert table.loc[added, "difference"] == pytest.approx(shared.mean())


def test_without_interventions_arms_are_modes(make_record, make_store):
    run = make_store(
        make_record(f"i{i}", mode=mode, score=float(i % 2)) for mode in ("full", "sharded") for i in range(6)
    )
    made = report(run, resamples=100)
    assert made.differences[["a", "b"]].to_numpy().tolist() == [["sharded", "full"]]


def test_the_report_tells_arms_apart_in_every_table(exit_code, run, capsys):
    assert exit_code("report", run, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert ["sharded + remind@3", "sharded"] in [[row["a"], row["b"]] for row in told["differences"]]
    assert exit_code("report", run, "--html") == 0
    page = (run / "report.html").read_text()
    for title in ("Kinds of replies by turn", "Premature attempts"):
        section = page.split(title, 1)[1].split("</table>", 1)[0]
        assert "sharded + remind@3" in section, title
