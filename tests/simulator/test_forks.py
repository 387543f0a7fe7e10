"""Forks: an intervention that acts from turn K on shares the turns before with the plain conversation, which pays for them."""

from __future__ import annotations

import itertools
import sys
import textwrap
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.errors import CallFailed, ExperimentError
from simulator.record import Record
from simulator.store import Store

#: A folder of its own for each example of a property.
NUMBER = itertools.count()


def arms(records: list[Record]) -> dict[str, Record]:
    return {"+".join(record.interventions): record for record in records}


def lost(messages, options):
    """Never right, and different in every place."""
    return f"The answer is 0. I read {sum(len(message.content) for message in messages)} characters."


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Interventions of a user, in a module of the working directory."""
    (tmp_path / "forked.py").write_text(
        textwrap.dedent("""
        from simulator.interventions import Intervention

        class Idle(Intervention):
            name = "idle"

        class Loud(Intervention):
            name = "loud"
            def prepare(self, instance): raise AssertionError("the conversation has begun")
            def system(self, text, talk): raise AssertionError("the conversation has begun")
            def say(self, text, talk): return text.upper()

        class Last(Intervention):
            name = "last"
            async def at_end(self, talk): return "Please answer now."
        """)
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield
    sys.modules.pop("forked", None)


def test_a_fork_shares_the_turns_before_and_pays_only_for_its_own(simulate, make_apples):
    records = simulate(
        lost, modes=("sharded",), runs=1, instances=[make_apples(1, 6)], interventions=("none", "snowball@3")
    )
    assert set(arms(records)) == {"", "snowball@3"}
    plain, fork = arms(records)[""], arms(records)["snowball@3"]
    assert (fork.forked, fork.shared, fork.parent, fork.inherited) == (plain.key, 2, None, 0)
    assert fork.turns[:2] == plain.turns[:2]
    assert [turn.utterance for turn in fork.turns] == [turn.utterance for turn in plain.turns]
    for k, (turn, other) in enumerate(zip(fork.turns, plain.turns, strict=True)):
        assert (turn.messages == other.messages) == (k < 2)
        assert all(said.utterance in turn.messages[0].content for said in fork.turns[:k]) or k < 2
    assert (fork.system, fork.ended, fork.attempts) == (plain.system, "exhausted", 6)
    assert (len(plain.calls), len(fork.calls), simulate.model.calls) == (6, 4, 10)


def test_stored_conversations_can_be_forked_later_and_at_several_turns(simulate, make_apples):
    asked = {"modes": ("sharded",), "runs": 2, "instances": [make_apples(1, 5)]}
    before = simulate(lost, **asked)
    after = simulate(lost, interventions=("none", "snowball@2", "snowball@4"), **asked)
    assert simulate.model.calls == 2 * (4 + 2)
    assert [record for record in after if not record.interventions] == before
    assert {(r.forked, r.shared) for r in after if r.forked} == {(b.key, n) for b in before for n in (1, 3)}
    assert simulate(lost, interventions=("snowball@4",), **asked) == after
    assert simulate.model.calls == 0


def test_a_conversation_that_ended_before_is_what_its_fork_is(simulate, make_apples):
    instance = make_apples(1, 6)

    def early(messages, options):
        return f"The answer is {instance.target}."

    records = simulate(early, modes=("sharded",), runs=1, instances=[instance], interventions=("snowball@3",))
    plain, fork = arms(records)[""], arms(records)["snowball@3"]
    assert fork.turns == plain.turns
    assert (fork.ended, fork.score, fork.calls) == ("solved", 1.0, ())


def test_a_fork_may_still_speak_at_the_end(simulate, make_apples, mine):
    records = simulate(
        lost, modes=("sharded",), runs=1, instances=[make_apples(1, 3)], interventions=("forked:Last@9",)
    )
    plain, fork = arms(records)[""], arms(records)["last@9"]
    assert fork.turns[:-1] == plain.turns
    assert fork.turns[-1].utterance == "Please answer now."


def test_what_begins_a_conversation_is_not_asked_of_one_that_comes_later(simulate, make_apples, mine):
    records = simulate(
        lost, modes=("sharded",), runs=1, instances=[make_apples(1, 4)], interventions=("forked:Loud@3",)
    )
    said = [turn.messages[0].content for turn in arms(records)["loud@3"].turns]
    assert [text.isupper() for text in said] == [False, False, True, True]


@pytest.mark.parametrize(("fails_at", "turns", "calls"), [(2, 1, 0), (3, 4, 2)])
def test_a_failure_within_the_shared_turns_is_shared_and_a_later_one_is_not(
    simulate, make_apples, mine, fails_at, turns, calls
):
    failed = set()

    def filtered(messages, options):
        turn = sum(message.role == "user" for message in messages)
        if turn == fails_at and not failed:
            failed.add(turn)
            raise CallFailed("content_filter", "no")
        return lost(messages, options)

    asked = {"modes": ("sharded",), "runs": 1, "instances": [make_apples(1, 4)]}
    records = simulate(filtered, interventions=("forked:Idle@3",), **asked)
    plain, fork = arms(records)[""], arms(records)["idle@3"]
    assert (plain.ended, plain.cause, len(plain.turns)) == ("assistant", "content_filter", fails_at - 1)
    assert fork.ended == ("assistant" if fails_at == 2 else "exhausted")
    assert (len(fork.turns), len(fork.calls), fork.score) == (turns, calls, 0.0)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turn=st.integers(2, 7), shards=st.integers(2, 6), right_at=st.integers(1, 8))
def test_a_fork_under_an_idle_intervention_is_the_same_conversation(
    simulate, make_apples, mine, turn, shards, right_at
):
    instance = make_apples(1, shards)

    def handler(messages, options):
        said = sum(message.role == "user" for message in messages)
        return f"The answer is {instance.target if said == right_at else said}."

    records = simulate(
        handler,
        run_as=f"run-{next(NUMBER)}",
        modes=("sharded", "snowball"),
        runs=1,
        instances=[instance],
        interventions=("none", f"forked:Idle@{turn}"),
    )
    for mode in ("sharded", "snowball"):
        plain = next(r for r in records if r.mode == mode and not r.forked)
        fork = next(r for r in records if r.mode == mode and r.forked)
        assert (fork.turns, fork.ended, fork.system) == (plain.turns, plain.ended, plain.system)
        for name in ("score", "correct", "first_correct", "last_attempt", "last_turn", "attempts"):
            assert getattr(fork, name) == getattr(plain, name)
        assert len(fork.calls) == len(plain.turns) - fork.shared == max(0, len(plain.turns) - turn + 1)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"interventions": ("snowball@1",)}, "snowball@2, snowball@3"),
        ({"interventions": ("snowball@",)}, "snowball@2, snowball@3"),
        ({"interventions": ("snowball@3",), "modes": ("full", "sharded")}, "snowball@3 in mode full"),
        ({"interventions": ("snowball@3",), "modes": ("recap",)}, "snowball@3 in mode recap"),
        ({"interventions": ("snowball@3+forked:Idle",)}, "snowball@3+idle"),
    ],
)
def test_what_cannot_share_turns_is_refused_before_anything_is_paid(simulate, mine, asked, said):
    with pytest.raises(ExperimentError, match=said.replace("+", r"\+")):
        simulate(lost, **{"modes": ("sharded",), **asked})


FLAGS = ["--assistant", "synthetic:seed=1", "--modes", "sharded", "--limit", "4", "--runs", "2"]


def test_workers_fork_as_one_process_does_and_show_and_plan_tell(
    exit_code, tmp_path, monkeypatch, capsys, without_time
):
    monkeypatch.chdir(tmp_path)
    flags = [*FLAGS, "--intervention", "none", "--intervention", "snowball@2"]
    assert exit_code("run", *flags, "--out", "alone") == 0
    assert exit_code("run", *flags, "--out", "crew", "--workers", "2") == 0
    stored = []
    for name in ("alone", "crew"):
        with Store(tmp_path / name) as store:
            stored.append(sorted((without_time(record) for record in store.records()), key=lambda r: r["key"]))
    assert stored[0] == stored[1]
    fork = next(SimpleNamespace(**record) for record in stored[0] if record.get("forked"))
    capsys.readouterr()
    assert exit_code("show", "alone", fork.key) == 0
    shown = capsys.readouterr().out
    assert shown.count("of the conversation this one comes from") == 1
    assert exit_code("plan", *flags) == 0
    assert "sharded+snowball@2" in capsys.readouterr().out


def test_rescored_forks_keep_their_scores(exit_code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = [*FLAGS, "--intervention", "snowball@2"]
    assert exit_code("run", *flags, "--out", "run") == 0
    with Store(tmp_path / "run") as store:
        before = {r.key: (r.score, r.last_turn, r.attempts) for r in store.records()}
    assert exit_code("rescore", "run") == 0
    with Store(tmp_path / "run") as store:
        assert {r.key: (r.score, r.last_turn, r.attempts) for r in store.records()} == before
        assert len(before) == 16
