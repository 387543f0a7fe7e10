"""Frames say what the records say, with the declared columns and types."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import analysis
from analysis import frames
from simulator.columns import CONVERSATION_COLUMNS, TURN_COLUMNS
from simulator.errors import StoreError
from simulator.store import Store

DTYPES = {"text": "str", "int": "Int64", "float": "float64", "bool": "boolean"}


def test_conversations_have_the_declared_columns_and_types(make_store, make_record):
    frame = analysis.conversations(make_store([make_record()]))
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == {
        c.name: DTYPES[c.kind] for c in CONVERSATION_COLUMNS
    }


def test_every_cell_is_what_the_column_says_of_the_record(make_store, make_record):
    records = [make_record("a"), make_record("b", score=None, turns=(), ended="infrastructure", cause="rate_limit")]
    frame = analysis.conversations(make_store(records))
    for row, record in zip(frame.to_dict("records"), records, strict=True):
        for column in CONVERSATION_COLUMNS:
            expected = column.value(record)
            assert pd.isna(row[column.name]) if expected is None else row[column.name] == expected, column.name


def test_the_latest_try_of_a_conversation_counts(make_store, make_record):
    failed = make_record("a", score=None, key="k", ended="infrastructure")
    run = make_store([failed, make_record("b"), make_record("a", score=0.0, key="k")])
    frame = analysis.conversations(run)
    assert list(frame["instance"]) == ["b", "a"]
    assert frame.loc[1, "score"] == 0.0
    assert list(analysis.turns(run)["key"]) == [frame.loc[0, "key"], "k"]


def test_turns_carry_what_they_are_grouped_by(make_store, make_record, make_turn):
    turns = [make_turn(1), make_turn(2, "5", 0.0), make_turn(3, "42", 1.0)]
    frame = analysis.turns(make_store([make_record("a", turns=turns), make_record("b", repeat=1)]))
    assert list(frame.columns) == [*frames.CONTEXT, *frames.RENAMED.values(), *(c.name for c in TURN_COLUMNS)]
    assert list(frame["instance"]) == ["a", "a", "a", "b"]
    assert list(frame["turn"]) == [1, 2, 3, 1]
    assert list(frame["label"]) == ["clarification", "answer_attempt", "answer_attempt", "answer_attempt"]
    assert list(frame["attempt"].fillna(0)) == [0, 1, 2, 1]
    assert list(frame["outcome"]) == [1.0] * 4
    assert list(frame["conversation_turns"]) == [3, 3, 3, 1]
    assert {c.name: DTYPES[c.kind] for c in TURN_COLUMNS}.items() <= {
        k: str(v) for k, v in frame.dtypes.items()
    }.items()


def test_a_continued_conversation_offers_its_parents_turns_first(make_store, make_record, make_turn):
    sharded = make_record("a", key="s", score=0.0, turns=[make_turn(1, "5", 0.0), make_turn(2), make_turn(3, "6", 0.0)])
    recap = make_record("a", key="r", mode="recap", parent="s", inherited=3, turns=[make_turn(4, "42", 1.0)])
    again = make_record(
        "a", key="q", mode="twice", parent="r", inherited=4, turns=[make_turn(4, "42", 1.0, reveals=())]
    )
    run = make_store([recap, sharded, again])  # the order in which they were stored does not matter
    own = analysis.turns(run)
    assert list(own["key"]) == ["r", "s", "s", "s", "q"]
    whole = analysis.turns(run, inherited=True)
    assert list(whole["key"]) == ["r"] * 4 + ["s"] * 3 + ["q"] * 5
    assert list(whole["mode"]) == ["recap"] * 4 + ["sharded"] * 3 + ["twice"] * 5
    assert list(whole["turn"]) == [1, 2, 3, 4, 1, 2, 3, 1, 2, 3, 4, 5]
    assert list(whole["attempt"].fillna(0)) == [1, 0, 2, 3, 1, 0, 2, 1, 0, 2, 3, 4]
    assert list(whole["revealed"]) == [1, 2, 3, 4, 1, 2, 3, 1, 2, 3, 4, 4]
    assert list(whole["outcome"]) == [1.0] * 4 + [0.0] * 3 + [1.0] * 5


def test_a_lost_parent_is_named(make_store, make_record):
    run = make_store([make_record("a", key="r", mode="recap", parent="gone", inherited=3)])
    assert len(analysis.turns(run)) == 1
    with pytest.raises(StoreError, match="not in this store"):
        analysis.turns(run, inherited=True)


def test_strata_become_columns_on_demand(make_store, make_record):
    run = make_store([make_record("a", strata={"tier": 2, "family": "x"}), make_record("b", strata={"tier": 3})])
    assert "stratum_tier" not in analysis.conversations(run)
    frame = analysis.conversations(run, strata=True)
    assert list(frame["stratum_tier"]) == [2, 3]
    assert frame["stratum_family"].isna().tolist() == [False, True]


def test_an_empty_store_gives_empty_frames_of_the_same_shape(make_store, make_record):
    empty, full = make_store([], "empty"), make_store([make_record()], "full")
    for read in (analysis.conversations, analysis.turns, lambda run: analysis.turns(run, inherited=True)):
        assert read(empty).dtypes.astype(str).to_dict() == read(full).dtypes.astype(str).to_dict()
        assert read(empty).empty
    assert analysis.conversations(empty, strata=True).empty


def test_an_open_store_is_read_and_stays_open(make_store, make_record):
    with Store(make_store([make_record()])) as store:
        assert len(analysis.conversations(store)) == len(analysis.turns(store)) == 1
        assert len(list(store.records())) == 1


def test_chunks_join_without_a_seam(make_store, make_record, monkeypatch):
    run = make_store([make_record(f"i{k}", score=float(k % 2)) for k in range(7)])
    whole = analysis.conversations(run)
    monkeypatch.setattr(frames, "_CHUNK", 2)
    pd.testing.assert_frame_equal(analysis.conversations(run), whole)
    assert np.array_equal(whole["score"], [0, 1, 0, 1, 0, 1, 0])


def test_there_is_no_run(tmp_path):
    with pytest.raises(StoreError, match="no run here"):
        analysis.conversations(tmp_path)
