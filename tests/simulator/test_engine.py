"""The engine and its store: what is owed is done, what was paid is kept, whoever fails is named, order does not matter."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from simulator.cli import _known
from simulator.errors import CallFailed, StoreError
from simulator.models.fake import FakeModel
from simulator.store import Store
from simulator.writer import Writer, file_system

MODES = ("full", "concat", "sharded", "recap", "snowball")


def test_the_same_command_again_does_nothing(simulate):
    first = simulate.run(modes=MODES)
    calls = simulate.model.calls
    again = simulate.run(modes=MODES)
    assert first.complete
    assert first.finished == first.planned == 2 * 2 * 5
    assert (again.settled, again.finished, simulate.model.calls) == (first.planned, 0, 0)
    assert calls > 0


def test_more_runs_instances_and_modes_extend_a_run(simulate, make_apples):
    simulate.run(modes=("sharded",), runs=2)
    more = simulate.run(
        modes=("sharded", "full"), runs=3, instances=[make_apples(1), make_apples(2, 6), make_apples(3)]
    )
    assert (more.settled, more.finished) == (4, 14)


def test_another_protocol_is_refused_with_the_difference_named(simulate):
    simulate.run(modes=("full",))
    with pytest.raises(StoreError, match=r"temperature: \[\] before, \[0.5\] now"):
        simulate.run(modes=("full",), temperature=(0.5,))
    added = simulate.run(modes=("full",), temperature=(0.5,), means={"extend": True})
    assert added.finished == 4
    assert len(simulate.records()) == 8


def test_a_changed_prompt_or_intervention_is_another_experiment(simulate, monkeypatch):
    """Numbers made with two wordings must not end in one row."""
    from tasks.prompts import Prompt, prompt

    simulate.run(modes=("full", "recap"))
    old = prompt("tasks", "math/system")
    with monkeypatch.context() as changed:
        new = Prompt(old.name, old.text + " Be quick.")
        changed.setattr(
            "simulator.conversation.prompt",
            lambda package, name: new if name == "math/system" else prompt(package, name),
        )
        with pytest.raises(StoreError, match="prompt tasks/math/system has changed"):
            simulate.run(modes=("full", "recap"))
    monkeypatch.setattr("simulator.interventions.Recap.identity", lambda: "recap@other")
    with pytest.raises(StoreError, match="intervention recap has changed"):
        simulate.run(modes=("full", "recap"))


def test_a_disk_that_is_full_is_one_clear_message(simulate, monkeypatch):
    """Nothing is paid that cannot be kept, and the error is the store's, not a group of tasks'."""

    def full(connection, batch):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("simulator.writer._commit", full)
    with pytest.raises((StoreError, ExceptionGroup)) as raised:
        simulate.run(modes=("full",), runs=50)
    assert isinstance(_known(raised.value), StoreError)
    assert "disk is full" in str(_known(raised.value))


def test_order_and_concurrency_do_not_matter(simulate, without_time):
    one = simulate(modes=MODES, run_as="one", means={"max_concurrency": 1}, seed=3)
    many = simulate(modes=MODES[::-1], run_as="many", means={"max_concurrency": 50}, seed=3)
    assert [without_time(r) for r in one] == [without_time(r) for r in many]


def test_repeats_are_different_samples(simulate):
    """Equal requests of different repeats are each put to the model: no reply is used twice."""
    records = simulate(lambda m, o: "Which?", modes=("full",), runs=5)
    assert simulate.model.calls == 10 == len({record.key for record in records})


@pytest.mark.parametrize(
    ("error", "party", "cause"),
    [
        (CallFailed("server", "boom", retry=False), "infrastructure", "server"),
        (CallFailed("bad_request", "no"), "infrastructure", "bad_request"),
        (CallFailed("context_exceeded", "too long"), "assistant", "context_exceeded"),
        (RuntimeError("a bug"), "infrastructure", "unexpected RuntimeError"),
    ],
)
def test_failures_are_recorded_by_party_and_owed(simulate, error, party, cause):
    outcome = simulate.run(lambda m, o: error, modes=("sharded",))
    records = simulate.records()
    assert {(r.ended, r.cause) for r in records} == {(party, cause)}
    assert outcome.causes == {(party, cause): 4}
    if party == "assistant":  # final: it counts, with a score of 0
        assert outcome.complete
        assert {r.score for r in records} == {0.0}
        return
    assert {r.score for r in records} == {None}
    assert outcome.owed == 4
    healed = simulate.run(modes=("sharded",))
    assert healed.complete
    assert {r.ended for r in simulate.records()} == {"solved"}


def test_a_conversation_that_fails_three_times_is_parked(simulate):
    for tries in range(1, 5):
        outcome = simulate.run(lambda m, o: CallFailed("server"), modes=("full",), runs=1)
        assert outcome.parked == (2 if tries > 3 else 0)
    assert simulate.model.calls == 0
    assert not outcome.complete


def test_what_a_failed_conversation_paid_is_not_paid_again(simulate, make_apples):
    asked = {"modes": ("sharded",), "runs": 1, "instances": [make_apples(1, 5)]}

    def breaks_at_fourth(messages, options):
        return CallFailed("server") if sum(m.role == "user" for m in messages) == 4 else "Which basket?"

    simulate.run(breaks_at_fourth, **asked)
    assert simulate.model.calls == 4
    simulate.run(lambda m, o: "Which basket?", **asked)
    assert simulate.model.calls == 2  # the fourth and the fifth turn
    (record,) = simulate.records()
    assert [call.replayed for call in record.calls] == [True, True, True, False, False]
    with contextlib.closing(sqlite3.connect(simulate.folder / "run" / "store.sqlite")) as rows:
        assert rows.execute("SELECT count(*) FROM journal").fetchone() == (0,)
        assert rows.execute("SELECT count(*), count(DISTINCT key) FROM conversations").fetchone() == (2, 1)


def test_a_wrong_key_stops_the_run_at_once(simulate, make_apples):
    outcome = simulate.run(
        lambda m, o: CallFailed("auth", "no such key", stop_run=True),
        modes=("full",),
        instances=[make_apples(k) for k in range(1, 60)],
        means={"max_concurrency": 4},
    )
    assert "no such key" in outcome.stopped
    assert simulate.model.calls <= 8


def test_retries_keep_cause_and_count(simulate, make_apples, monkeypatch):
    monkeypatch.setattr("simulator.calls.FIRST_WAIT", 0.001)
    failures = iter([CallFailed("rate_limit", retry=True, after=0.01), CallFailed("server", retry=True)])
    (record,) = simulate(lambda m, o: next(failures, "Which?"), modes=("full",), runs=1, instances=[make_apples(1)])
    assert [retry.cause for retry in record.calls[0].retries] == ["rate_limit", "server"]
    assert record.calls[0].retries[0].waited >= 0.01


def test_records_hold_what_was_paid_and_what_was_asked(simulate):
    record = next(r for r in simulate(modes=("snowball",), runs=1))
    assert {call.role for call in record.calls} == {"assistant"}
    assert len(record.calls) == len(record.turns)
    assert record.sampling["assistant"] == {"temperature": 1.0, "max_tokens": 1000}
    assert set(record.provenance["prompts"]) >= {"tasks/math/system", "simulator/snowball"}
    assert record.provenance["versions"]["langgraph"]


def test_what_the_assistant_saw_is_kept_where_it_differs(simulate, make_apples, tmp_path, monkeypatch):
    (tmp_path / "forgetful.py").write_text(
        "from simulator.interventions import Intervention\n"
        "class Forget(Intervention):\n"
        "    async def context(self, messages, talk):\n"
        "        return [m for m in messages if m.role != 'assistant']\n"
        "    async def after_judgement(self, judgement, talk):\n"
        "        if not talk.unrevealed and not talk.memory.get('asked'):\n"
        "            talk.memory['asked'] = True\n"
        "            return 'That is all I know. Please answer.'\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (record,) = simulate(
        lambda m, o: "Which basket?",
        modes=("sharded",),
        runs=1,
        instances=[make_apples(1)],
        interventions=("forgetful:Forget",),
    )
    assert record.interventions == ("forgetful:Forget",)
    first, second, *_, last = record.turns
    assert first.context is None  # nothing to forget yet
    assert [m.role for m in second.context] == ["system", "user", "user"]
    assert (last.utterance, last.said_by, last.reveals) == ("That is all I know. Please answer.", "intervention", ())
    assert len(record.turns) == 5


def test_an_arm_beside_the_plain_one_shares_nothing(simulate):
    records = simulate(modes=("sharded",), interventions=("none", "snowball"), runs=1)
    assert sorted(r.interventions for r in records) == [(), (), ("snowball",), ("snowball",)]


def test_a_second_writer_is_refused(tmp_path):
    with Writer(tmp_path), pytest.raises(StoreError, match=f"process {os.getpid()}"):
        Writer(tmp_path)


def test_a_store_of_another_schema_is_refused(tmp_path):
    with Writer(tmp_path):
        pass
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        connection.execute("UPDATE meta SET value = '999'")
    connection.close()
    for opened in (Store, Writer):
        with pytest.raises(StoreError, match="schema 999"):
            opened(tmp_path)
    (tmp_path / "store.sqlite").write_bytes(b"no database at all, but long enough to be read as a header" * 20)
    with pytest.raises(StoreError):
        Store(tmp_path)


SLOW_SOLVER = """
import asyncio
import contextlib
from langchain_core.runnables import RunnableLambda

async def answer(messages):
    await asyncio.sleep(0.002)
    text = " ".join(str(m.content) for m in messages)
    return f"The answer is {len(text) % 7}." if len(text) % 3 else "Which basket?"

solver = RunnableLambda(answer)
"""


@pytest.mark.slow
def test_a_run_killed_ten_times_equals_an_undisturbed_one(simulate, tmp_path, make_apples, without_time):
    """SIGKILL whenever the store has grown a little; then the stored records are those of a run that was left alone."""
    (tmp_path / "slow_solver.py").write_text(SLOW_SOLVER)
    instances = [make_apples(k, 6) for k in range(1, 21)]
    command = [
        sys.executable, "-m", "simulator", "run", "--dataset", "data.jsonl", "--modes", ",".join(MODES), "--runs", "10",
        "--assistant", "python:slow_solver:solver", "--max-concurrency", "8", "--quiet", "--out",
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{Path(__file__).parents[2]}"}
    (tmp_path / "data.jsonl").write_bytes(b"".join(_line(instance) for instance in instances))
    rng = random.Random(0)
    for _ in range(10):
        before = _stored(tmp_path / "killed")
        process = subprocess.Popen([*command, "killed"], cwd=tmp_path, env=environment)
        while process.poll() is None and _stored(tmp_path / "killed") < before + rng.randint(1, 60):
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert 0 < _stored(tmp_path / "killed") < 1000
    for name in ("killed", "undisturbed"):
        subprocess.run([*command, name], cwd=tmp_path, env=environment, check=True)
    killed, undisturbed = ([without_time(r) for r in simulate.records(name)] for name in ("killed", "undisturbed"))
    assert len(undisturbed) == 1000
    assert killed == undisturbed


def _line(instance):
    import msgspec

    return msgspec.json.encode(instance) + b"\n"


def _stored(run: Path) -> int:
    file = run / "store.sqlite"
    if not file.exists():
        return 0
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    try:
        return int(connection.execute("SELECT count(*) FROM conversations").fetchone()[0])
    except sqlite3.OperationalError:  # the tables are just being made
        return 0
    finally:
        connection.close()


def test_a_judge_that_cannot_be_read_fails_as_a_judge_and_is_asked_anew(simulate, make_apples):
    asked = {"modes": ("sharded",), "runs": 1, "instances": [make_apples(1)], "judge": "llm", "judge_model": "judge"}
    bad = FakeModel(lambda m, o: "no idea", name="judge")
    outcome = simulate.run(means={"models": {"judge": bad}}, **asked)
    (record,) = simulate.records()
    assert (record.ended, record.score) == ("judge", None)
    assert outcome.owed == 1
    good = FakeModel(lambda m, o: '{"response_type": "discussion", "answer": null}', name="judge")
    assert simulate.run(means={"models": {"judge": good}}, **asked).complete
    assert good.calls == 4


def test_a_network_file_system_is_refused_with_the_reason(tmp_path, monkeypatch):
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/vda / ext4 rw 0 0\nserver:/home {tmp_path}/far nfs4 rw 0 0\n")
    (tmp_path / "far" / "run").mkdir(parents=True)
    assert file_system(tmp_path / "far" / "run", mounts) == "nfs4"
    assert file_system(tmp_path, mounts) == "ext4"
    monkeypatch.setattr("simulator.writer.file_system", lambda folder: "nfs4")
    with pytest.raises(StoreError, match="network file system"):
        Writer(tmp_path / "far" / "run")
