"""The modes as the paper defines them, seen in stored records: who says what, when it ends, and which score counts."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.errors import UnknownName

ALL = ("full", "concat", "shuffle_concat", "sharded", "recap", "snowball")


def by_mode(records, instance="apples-1", repeat=0):
    return {r.mode: r for r in records if r.instance.id == instance and r.repeat == repeat}


def test_every_mode_says_what_it_should(simulate):
    records = by_mode(simulate(modes=ALL))
    assert set(records) == set(ALL)
    instance = records["full"].instance
    texts = [shard.text for shard in instance.shards]
    assert instance.instruction in records["full"].turns[0].utterance
    positions = [records["concat"].turns[0].utterance.index(text) for text in texts]
    assert positions == sorted(positions)
    assert [turn.utterance for turn in records["sharded"].turns] == texts
    assert all(record.ended == "solved" and record.score == 1.0 for record in records.values())


def test_shuffle_concat_keeps_the_intent_first_and_differs_between_repeats(simulate, make_apples):
    records = simulate(modes=("shuffle_concat",), runs=12, instances=[make_apples(1, 7)])
    texts = [shard.text for shard in records[0].instance.shards]
    orders = {tuple(sorted(texts, key=record.turns[0].utterance.index)) for record in records}
    assert len(orders) > 6
    assert {order[0] for order in orders} == {texts[0]}
    assert all(sorted(order) == sorted(texts) for order in orders)


def test_recap_is_the_sharded_conversation_and_one_turn(simulate):
    records = by_mode(simulate(modes=("recap", "sharded"), runs=1))
    sharded, recap = records["sharded"], records["recap"]
    assert recap.parent == sharded.key
    assert recap.inherited == len(sharded.turns)
    assert len(recap.turns) == 1
    assert all(turn.utterance in recap.turns[0].utterance for turn in sharded.turns)
    # the prefix is paid once: one more call a conversation, not another conversation
    assert len(recap.calls) == 1
    asked = {messages[-1].content: messages for messages, _ in simulate.model.asked}
    assert len(asked[recap.turns[0].utterance]) == 1 + 2 * len(sharded.turns) + 1  # the model saw all of the prefix


def test_recap_alone_runs_the_conversation_it_continues(simulate):
    assert set(by_mode(simulate(modes=("recap",), runs=1))) == {"sharded", "recap"}


def test_recap_restates_unrevealed_shards_and_counts_its_own_reply_alone(simulate, make_apples):
    target = make_apples(1).target

    def early(messages, options):
        return "I will not say." if "sum up" in messages[-1].content else f"The answer is {target}."

    records = by_mode(simulate(early, modes=("recap",), runs=1, instances=[make_apples(1)]))
    assert records["sharded"].ended == "solved"
    assert len(records["sharded"].turns) == 1
    recap = records["recap"]
    assert all(shard.text in recap.turns[0].utterance for shard in recap.instance.shards)
    assert (recap.score, recap.correct, recap.attempts) == (0.0, False, 0)


def test_snowball_restates_all_that_was_said_before(simulate, make_apples):
    (record,) = simulate(modes=("snowball",), runs=1, instances=[make_apples(1, 6)])
    sent = [next(m.content for m in turn.messages if m.role == "user") for turn in record.turns]
    said = [turn.utterance for turn in record.turns]
    for k, text in enumerate(sent):
        assert all(earlier in text for earlier in said[: k + 1])
    assert sent[0] == said[0]
    # what is restated are the user's utterances, each once
    assert sent[3].count(said[1]) == 1


def test_a_correct_attempt_ends_a_sharded_conversation(simulate, make_apples):
    instance = make_apples(1, 5)
    at_second = {1: "Which ones?", 2: f"The answer is {instance.target}."}

    def handler(messages, options):
        return at_second[sum(m.role == "user" for m in messages)]

    (record,) = simulate(handler, modes=("sharded",), runs=1, instances=[instance])
    assert (record.ended, len(record.turns), record.score, record.attempts) == ("solved", 2, 1.0, 1)
    assert record.first_correct == record.last_attempt == record.last_turn == 1.0


def test_a_wrong_attempt_does_not(simulate, make_apples):
    (record,) = simulate(
        lambda m, o: "The answer is 1." if len(m) < 4 else "Which one?",
        modes=("sharded",),
        runs=1,
        instances=[make_apples(1)],
    )
    assert (record.ended, record.score, record.attempts) == ("exhausted", 0.0, 1)
    assert (record.first_correct, record.last_attempt, record.last_turn) == (None, 0.0, 0.0)


def test_no_attempt_at_all_counts_zero(simulate):
    for record in simulate(lambda m, o: "", modes=("sharded",), runs=1):
        assert record.score == 0.0
        assert record.attempts == 0
        assert {turn.judgement.label for turn in record.turns} == {"missing"}


def test_single_turn_modes_are_scored_whatever_the_class(simulate, make_apples):
    def hedging(messages, options):
        return f"If all of them count, it could be {make_apples(1).target}; otherwise I would need to know more?"

    asked = {"modes": ("full",), "runs": 1, "instances": [make_apples(1)]}
    (plain,) = simulate(hedging, **asked)
    (strict,) = simulate(hedging, run_as="strict", classify_single_turn=True, **asked)
    assert plain.turns[0].judgement.label != "answer_attempt"
    assert plain.turns[0].judgement.score is not None
    assert strict.turns[0].judgement.score is None
    assert strict.score == 0.0


def test_gradual_runs_on_the_variant(simulate, make_apples):
    from msgspec.structs import replace

    from tasks.nouns import Shard

    instance = make_apples(1, 4)
    texts = [shard.text for shard in instance.shards]
    merged = replace(instance, variants={"2": (Shard(1, texts[0]), Shard(2, " ".join(texts[1:])))})
    (record,) = simulate(modes=("gradual:2",), runs=1, instances=[merged])
    assert [turn.utterance for turn in record.turns] == [texts[0], " ".join(texts[1:])]
    assert (record.mode, record.policy) == ("gradual:2", "gradual:2")


def test_an_unknown_mode_names_its_neighbours(simulate):
    with pytest.raises(UnknownName, match="did you mean snowball"):
        simulate(modes=("snowbal",))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shards=st.integers(2, 9), seed=st.integers(0, 10_000), solved_at=st.integers(1, 12))
def test_shards_are_revealed_once(simulate, make_apples, shards, seed, solved_at):
    """Whatever the assistant does: at most once each, and exactly once where the conversation ends `exhausted`."""
    instance = make_apples(3, shards)

    def handler(messages, options):
        turn = sum(m.role == "user" for m in messages)
        chatter = ["The answer is 0.", "Which basket?", "", "I can not do that.", "Let me think about baskets."]
        if turn == solved_at:
            return f"The answer is {instance.target}."
        return random.Random(f"{seed}/{turn}").choice(chatter)

    shutil.rmtree(simulate.folder / "run", ignore_errors=True)
    records = {
        r.mode: r for r in simulate(handler, modes=("sharded", "snowball", "recap"), runs=1, instances=[instance])
    }
    for mode in ("sharded", "snowball"):
        revealed = [id for turn in records[mode].turns for id in turn.reveals]
        assert len(revealed) == len(set(revealed))
        assert records[mode].ended in ("solved", "exhausted")
        if records[mode].ended == "exhausted":
            assert set(revealed) == {shard.id for shard in instance.shards}
        else:
            assert len(records[mode].turns) == solved_at
    assert len(records["recap"].turns) == 1
    assert records["recap"].inherited == len(records["sharded"].turns)


def test_golden_transcripts(simulate, make_apples):
    """One whole conversation a mode, as text. `SHARDTALK_GOLDEN=write pytest` writes them anew; read the difference."""
    import os

    folder = Path(__file__).parents[1] / "golden"
    records = by_mode(simulate(modes=ALL, runs=1, seed=7, instances=[make_apples(1, 5)]))
    for mode, record in records.items():
        text = "\n\n".join(f"[{message.role}]\n{message.content}" for message in record.transcript())
        text += f"\n\n[end] {record.ended}, score {record.score}, attempts {record.attempts}\n"
        if os.environ.get("SHARDTALK_GOLDEN") == "write":
            (folder / f"{mode}.txt").write_text(text)
        assert (folder / f"{mode}.txt").read_text() == text
