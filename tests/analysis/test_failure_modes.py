"""Failure modes on conversations short enough to count by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import analysis
from analysis import failure_modes as modes
from analysis import texts, user_faults
from analysis.errors import AnalysisError


@pytest.fixture
def turns_of(make_store, make_record, make_turn):
    """Turns of conversations given as lists of answers: None is no attempt, "42" is right, anything else is wrong."""

    def frame(*conversations, **more) -> pd.DataFrame:
        return analysis.turns(make_store(records(*conversations, **more)), inherited=True)

    def records(*conversations, mode="sharded", shards=4, first=0, **more):
        made = []
        for at, answers in enumerate(conversations, first):
            said = [make_turn(k, a, None if a is None else float(a == "42")) for k, a in enumerate(answers, 1)]
            made.append(
                make_record(f"i{at}", 0, float(answers[-1] == "42"), mode=mode, turns=said, shards=shards, **more)
            )
        return made

    frame.records = records
    return frame


def only(table: pd.DataFrame, **where) -> pd.Series:
    for name, value in where.items():
        table = table[table[name] == value]
    assert len(table) == 1, table
    return table.iloc[0]


# -- premature attempts ----------------------------------------------------------------------------------------------------


def test_first_attempts_are_placed_on_both_clocks(turns_of):
    frame = turns_of(
        ["7", None, None, "7"],  # first attempt in turn 1 of 4: second fifth of the turns, and of the shards
        [None, None, "7", "42"],  # turn 3 of 4: fourth fifth
        [None, "42"],  # solved at its first attempt: last fifth of its turns, but half of the shards were known
        [None, None, None, None],  # never
    )
    table = modes.premature_attempts(frame)
    turns, shards = (table[table["clock"] == clock].set_index("fifth") for clock in ("turns", "shards"))
    assert turns["conversations"].to_dict() == {0: 1, 2: 1, 4: 1, 5: 1}
    assert turns["score"].to_dict() == {0: 0.0, 2: 0.0, 4: 1.0, 5: 1.0}
    assert shards["conversations"].to_dict() == {0: 1, 2: 1, 3: 1, 4: 1}
    assert shards["score"].to_dict() == {0: 0.0, 2: 0.0, 3: 1.0, 4: 1.0}


def test_fifths_have_their_upper_ends(turns_of):
    """With five turns and five shards turn k is in fifth k: no rounding may move it."""
    frame = turns_of(*[[None] * (k - 1) + ["7"] * (6 - k) for k in range(1, 6)], shards=5)
    table = modes.premature_attempts(frame)
    for clock in ("turns", "shards"):
        assert table[table["clock"] == clock]["fifth"].tolist() == [1, 2, 3, 4, 5]


# -- answers ---------------------------------------------------------------------------------------------------------------


def test_answers_grow_from_attempt_to_attempt(turns_of):
    frame = turns_of(["1", "123", "12345"], ["1", "42"])
    table = modes.answer_bloat(frame).set_index("attempt")
    assert table["chars"].tolist() == [1, 2.5, 5]
    assert table["attempts"].tolist() == [2, 2, 1]
    assert table["right_chars"].isna().tolist() == [True, False, True]
    assert table.loc[2, "right_chars"] == 2


def test_modes_with_one_turn_are_a_yardstick_of_length_and_nothing_else(turns_of, make_store):
    records = [*turns_of.records(["1", "42"]), *turns_of.records(["123"], mode="full")]
    frame = analysis.turns(make_store(records))
    assert set(modes.answer_bloat(frame)["mode"]) == {"sharded", "full"}
    assert set(modes.class_rates(frame)["mode"]) == {"sharded"}


def test_what_a_shard_does_to_the_answer(turns_of):
    frame = turns_of(["7", " 7. ", "8", "42"], ["7", None, "7"], ["42", "7"])
    table = modes.answer_changes(frame).set_index("revealed")
    assert table["pairs"].tolist() == [2, 2, 1]
    assert table.loc[2, ["kept_wrong", "right_to_wrong"]].tolist() == [0.5, 0.5]
    assert table.loc[3, ["kept_wrong", "wrong_to_wrong"]].tolist() == [0.5, 0.5]
    assert table.loc[4, "wrong_to_right"] == 1
    assert np.allclose(
        table[["kept_wrong", "wrong_to_wrong", "wrong_to_right", "right_to_wrong", "kept_right"]].sum(axis=1), 1
    )


def test_attempts_without_a_shard_between_them_are_no_pair(make_store, make_record, make_turn):
    said = [make_turn(1, "7", 0.0), make_turn(2, "8", 0.0, reveals=()), make_turn(3, "9", 0.0)]
    frame = analysis.turns(make_store([make_record(score=0.0, turns=said)]))
    assert modes.answer_changes(frame)["pairs"].tolist() == [1]


def test_recovery_after_a_wrong_first_attempt(turns_of):
    frame = turns_of(["7", "42"], ["7", "8", "9", "10"], ["42"], [None, None, None, "7"], [None, None])
    row = only(modes.recovery(frame))
    assert row["conversations"] == 4
    assert row[["wrong_first", "recovered", "early", "recovered_early"]].tolist() == pytest.approx(
        [3 / 4, 1 / 3, 2 / 3, 1 / 2]
    )


def test_recovery_of_nothing_is_missing(turns_of):
    row = only(modes.recovery(turns_of(["42"], [None, "42"])))
    assert row["wrong_first"] == 0
    assert np.isnan(row["recovered"])


def test_reliance_is_the_share_of_a_wrong_answer_that_stays(turns_of):
    row = only(modes.reliance(turns_of(["select a from t", "select b from t", "select b from t"], ["42", "7"])))
    assert row["pairs"] == 2
    assert row["identical"] == 0.5
    assert row["kept"] == pytest.approx((3 / 4 + 1) / 2)


def test_assumptions_made_before_all_was_said(make_store, make_record, make_turn):
    silent = [make_turn(1, "7", 0.0, reply="It is 7."), make_turn(2, "42", 1.0, reply="Assuming two boxes, 42.")]
    full = [make_turn(1), make_turn(2), make_turn(3), make_turn(4, "42", 1.0, reply="I assume nothing: 42")]
    run = make_store([make_record("a", turns=silent), make_record("b", turns=full)])
    row = only(modes.assumptions(analysis.turns(run), texts.texts(run)))
    assert row["attempts"] == 3
    assert row[["early", "missing", "right", "stated"]].tolist() == pytest.approx([2 / 3, 2.5, 0.5, 0.5])
    assert "stated" not in modes.assumptions(analysis.turns(run))


# -- replies ---------------------------------------------------------------------------------------------------------------


def test_shares_of_classes_by_turn(make_store, make_record, make_turn):
    one = [make_turn(1, label="hedge"), make_turn(2, "42", 1.0)]
    other = [make_turn(1), make_turn(2, label="hedge"), make_turn(3, label="refuse")]
    table = modes.class_rates(
        analysis.turns(make_store([make_record("a", turns=one), make_record("b", 0, 0.0, turns=other)]))
    )
    assert table["replies"].tolist() == [2, 2, 1]
    assert table["hedge"].tolist() == [0.5, 0.5, 0]
    assert table["answer_attempt"].tolist() == [0, 0.5, 0]
    assert np.allclose(table.loc[:, "answer_attempt":].sum(axis=1), 1)


def test_quintiles_rank_the_runs_of_an_instance(make_store, make_record, make_turn):
    """Run r of 10 says 10·(r+1) characters a turn; the short half is right. Another, longer instance changes nothing."""
    records = [
        make_record(name, r, float(r < 5), turns=[make_turn(k, reply="x" * (long * (r + 1))) for k in (1, 2)])
        for name, long in (("a", 10), ("b", 1000))
        for r in range(10)
    ]
    records += [make_record("few", r, 1.0, turns=[make_turn(1), make_turn(2)]) for r in range(4)]
    table = modes.verbosity(analysis.turns(make_store(records)))
    assert table["conversations"].tolist() == [4] * 5
    assert table["score"].tolist() == [1, 1, 0.5, 0, 0]
    assert table["chars"].tolist() == [505 * k for k in (1.5, 3.5, 5.5, 7.5, 9.5)]


def test_quintiles_need_five_runs(turns_of):
    with pytest.raises(AnalysisError, match="at least five runs"):
        modes.verbosity(turns_of([None, "42"]))


# -- documents -------------------------------------------------------------------------------------------------------------


def test_citations_by_the_turn_that_showed_the_document(make_store, make_record, make_turn):
    said = [
        make_turn(1, utterance="Document 1:\nfoo\n\nDocument 2:\nbar [9]", reply="- A point [1][2]"),
        make_turn(2, utterance="Document 3:\nbaz", reply="- A [1]\n- B [3]\n- C [4]\n- D [1992]"),
        make_turn(3, utterance="Document 4:\nqux", reply="nothing"),
    ]
    record = make_record("a", turns=said, task="summary")
    data = type(record.instance)(
        id="a", task="summary", shards=record.instance.shards, instruction="", data={"documents": [1, 2, 3, 4]}
    )
    run = make_store([type(record)(**{f: getattr(record, f) for f in record.__struct_fields__} | {"instance": data})])
    cited = texts.citations(run)
    assert cited[["turn", "document"]].to_numpy().tolist() == [[1, 1], [1, 2], [2, 1], [2, 3], [2, 4]]
    table = modes.middle_turns(cited)
    assert table[["turn", "introduced", "citations"]].to_numpy().tolist() == [[1, 1, 2], [2, 1, 1], [2, 2, 1]]
    assert table["share"].tolist() == pytest.approx([1, 1 / 3, 1 / 3])


def test_conversations_without_documents_cite_nothing(make_store, make_record, make_turn):
    cited = texts.citations(make_store([make_record(turns=[make_turn(1, reply="[1]"), make_turn(2)])]))
    assert cited.empty
    assert modes.middle_turns(cited).empty


# -- the user --------------------------------------------------------------------------------------------------------------


def test_what_the_user_did_wrong(make_store, make_record, make_turn):
    said = [
        make_turn(1),
        make_turn(2, violations=("leak: 3 boxes", "repeat"), said_by="llm"),
        make_turn(3, violations=("leak: 4",), said_by="fallback"),
        make_turn(9, reveals=(), said_by="llm"),
    ]
    run = make_store(
        [
            make_record("a", 0, 0.0, turns=said, user="llm:m", ended="turn_cap"),
            make_record("b", turns=[make_turn(1), make_turn(2, "42", 1.0)], user="llm:m"),
            make_record("c", mode="full", user="verbatim"),
        ]
    )
    turns = analysis.turns(run)
    row = only(user_faults.user_faults(turns))
    assert (row["mode"], row["user"], row["turns"], row["conversations"]) == ("sharded", "llm:m", 6, 2)
    assert row[["objected", "fallback", "nothing_new", "capped", "untold"]].tolist() == pytest.approx(
        [2 / 6, 1 / 6, 1 / 6, 1 / 2, 1 / 2]
    )
    broken = user_faults.violations(turns, texts.texts(run))
    assert broken[["rule", "times"]].to_numpy().tolist() == [["leak", 2], ["repeat", 1]]
    assert broken["per_100_turns"].tolist() == pytest.approx([100 * 2 / 6, 100 / 6])


def test_texts_number_turns_as_frames_do(make_store, make_record, make_turn):
    run = make_store([make_record("r", key="r", mode="recap", inherited=3, turns=[make_turn(4, reply="Hi.")])])
    said = texts.texts(run)
    assert said[["key", "turn", "reply"]].to_numpy().tolist() == [["r", 4, "Hi."]]


# -- all of them -----------------------------------------------------------------------------------------------------------

ALL = [
    modes.premature_attempts, modes.answer_bloat, modes.class_rates, modes.answer_changes, modes.recovery, modes.reliance,
    modes.assumptions, user_faults.user_faults,
]  # fmt: skip


@pytest.mark.parametrize("mode", ALL)
def test_nothing_in_nothing_out(mode, make_store, make_record):
    for records in ([], [make_record(mode="full", score=None, turns=(), ended="budget")]):
        table = mode(analysis.turns(make_store(records, f"run{len(records)}")))
        assert table.empty
        assert len(table.columns) > 3


@pytest.mark.parametrize("mode", ALL[:-1])  # what the user did wrong does not depend on a score
def test_unscored_conversations_change_nothing(mode, turns_of, make_store):
    scored = turns_of.records(["7", "42"], [None, "7"])
    owed = turns_of.records(["7", "8"], first=7)
    owed = [
        type(r)(**{f: getattr(r, f) for f in r.__struct_fields__} | {"score": None, "ended": "judge"}) for r in owed
    ]
    plain, more = (
        mode(analysis.turns(make_store(records, name))) for records, name in ((scored, "a"), (scored + owed, "b"))
    )
    pd.testing.assert_frame_equal(plain, more)
