"""Judging and scoring stored conversations again: no call of the assistant, the old judgement kept, costs counted once."""

from __future__ import annotations

import asyncio
import sqlite3

import pytest

from simulator.again import Again, again
from simulator.judge import JUDGES
from simulator.means import Means
from simulator.models.fake import FakeModel


@pytest.fixture
def harsh():
    """A judge that sees no attempt anywhere."""
    return FakeModel(lambda m, o: '{"response_type": "discussion", "answer": ""}', name="harsh")


def rejudge(simulate, model, judge="llm"):
    what = Again(JUDGES[judge], model.name)
    return asyncio.run(again(simulate.folder / "run", what, Means(models={model.name: model})))


def test_new_judgements_stand_beside_the_old_ones(simulate, harsh):
    before = simulate(modes=("full", "sharded", "recap"), runs=1)
    assert {r.score for r in before} == {1.0}
    stored, failures = rejudge(simulate, harsh)
    assert (stored, failures) == (6, [])
    after = {r.key: r for r in simulate.records()}
    for old in before:
        new = after[old.key]
        assert new.judge == "llm harsh"
        assert [turn.messages for turn in new.turns] == [turn.messages for turn in old.turns]
        assert {turn.judgement.label for turn in new.turns} == {"discussion"}
        # single-turn modes are extracted and scored whatever the class
        assert new.score == (1.0 if old.mode == "full" else 0.0)
        assert {call.role for call in new.calls if not call.replayed} == {"judge"}
    rows = sqlite3.connect(simulate.folder / "run" / "store.sqlite")
    assert rows.execute("SELECT judge, count(*) FROM conversations GROUP BY judge").fetchall() == [
        ("llm harsh", 6),
        ("rules", 6),
    ]
    assert rows.execute("SELECT count(*) FROM journal").fetchone() == (0,)
    rows.close()


def test_the_same_judge_again_does_nothing_and_the_run_still_resumes(simulate, harsh):
    simulate.run(modes=("sharded",), runs=1)
    rejudge(simulate, harsh)
    calls = harsh.calls
    assert rejudge(simulate, harsh) == (0, [])
    assert harsh.calls == calls
    assert simulate.run(modes=("sharded",), runs=1).settled == 2


def test_a_judge_that_fails_leaves_the_record_as_it_was(simulate):
    simulate.run(modes=("sharded",), runs=1)
    stored, failures = rejudge(simulate, FakeModel(lambda m, o: "no idea", name="bad"))
    assert stored == 0
    assert {failure.party for failure in failures} == {"judge"}
    assert {r.judge for r in simulate.records()} == {"rules"}


def test_rescore_keeps_labels_and_answers(simulate):
    before = simulate(modes=("sharded", "full"), runs=1)
    stored, failures = asyncio.run(again(simulate.folder / "run", Again(), Means()))
    assert (stored, failures) == (4, [])
    after = simulate.records()
    assert [r.turns for r in after] == [r.turns for r in before]
    assert [r.provenance["judged_before_by"] for r in after] == ["rules"] * 4
