"""Whole runs over real HTTP, all parties behind one server of ours: as it should be, and misbehaving in every way."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from simulator.engine import run
from simulator.experiment import Experiment, plan
from simulator.means import Means
from simulator.models.access import Access
from simulator.store import Store

ROOT = Path(__file__).parents[2]
REAL = ROOT.parent / "shared" / "data" / "sharded_gsm8k_698.json"
MODES = ("full", "concat", "sharded", "recap", "snowball")
PARTIES = {
    "dataset": "apples.jsonl",
    "assistant": ("openai:assistant",),
    "user": "llm",
    "user_model": "openai:user",
    "judge": "llm",
    "judge_model": "openai:judge",
    "modes": MODES,
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch, make_apples):
    """A folder of its own, with a dataset of fifty problems."""
    monkeypatch.chdir(tmp_path)
    rows = (msgspec.json.encode(make_apples(k, 3 + k % 5)) for k in range(1, 51))
    (tmp_path / "apples.jsonl").write_bytes(b"\n".join(rows))


@pytest.fixture
def parties(server):
    """The server, with a handler that plays all parties."""
    module = ModuleType("parties")
    SourceFileLoader("parties", str(ROOT / "tests" / "server" / "parties.py")).exec_module(module)
    server.handler = module.speak
    return server


def simulate(server, folder, experiment, **means):
    access = Access(base_url=server.url, timeout=20.0)
    outcome = asyncio.run(run(plan(experiment), folder, Means(access={"assistant": access}, **means)))
    with Store(folder) as store:
        return outcome, sorted(store.records(), key=lambda record: record.key)


def test_five_modes_with_every_party_behind_a_server(parties, tmp_path):
    experiment = Experiment(**PARTIES, limit=4, runs=2)
    outcome, records = simulate(parties, tmp_path / "run", experiment)
    assert outcome.complete
    assert not outcome.causes
    said_by = {turn.said_by for record in records for turn in record.turns}
    assert "llm" in said_by
    assert {judgement.by for record in records for turn in record.turns if (judgement := turn.judgement)} == {"llm"}
    assert all(call.usage.input > 0 and not call.usage.estimated for record in records for call in record.calls)


FAULTS = [
    "rate_limited",
    "server_error",
    "unavailable",
    "reset",
    "half_body",
    "invalid_json",
    "wrong_type",
    "slow_drip",
    "late",
]


@pytest.mark.slow
def test_a_tenth_of_all_calls_failing_changes_no_score_and_pays_nothing_twice(
    parties, loopback, tmp_path, monkeypatch, without_time
):
    """Every way to fail that a retry can mend; what was scored, and how many calls were paid, stays the same."""
    monkeypatch.setattr("simulator.calls.FIRST_WAIT", 0.02)
    experiment = Experiment(**PARTIES, limit=8, runs=5)
    _, undisturbed = simulate(parties, tmp_path / "undisturbed", experiment)
    necessary = sum(len(record.calls) for record in undisturbed)
    parties.plan = loopback.random_faults({name: 0.1 / len(FAULTS) for name in FAULTS})
    outcome, disturbed = simulate(parties, tmp_path / "disturbed", experiment)
    assert outcome.complete
    assert [_said(r) for r in disturbed] == [_said(r) for r in undisturbed]
    assert sum(len(record.calls) for record in disturbed) == necessary
    causes = {retry.cause for record in disturbed for call in record.calls for retry in call.retries}
    assert causes >= {"rate_limit", "server", "connection", "malformed"}


def _said(record):
    return record.key, record.ended, record.score, [turn.messages for turn in record.turns]


@pytest.mark.parametrize(
    ("fault", "ended", "score"),
    [
        ("empty", "exhausted", 0.0),  # an empty reply is a turn without an attempt
        ("null", "exhausted", 0.0),
        ("refusal", "exhausted", 0.0),
        ("filtered_reply", "assistant", 0.0),  # the provider refused: the assistant's failure, final
        ("filtered_prompt", "assistant", 0.0),
        ("context_exceeded", "assistant", 0.0),
        ("bad_request", "infrastructure", None),
    ],
)
def test_what_is_no_answer_is_recorded_as_what_it_is(server, loopback, tmp_path, monkeypatch, fault, ended, score):
    monkeypatch.setattr("simulator.calls.FIRST_WAIT", 0.01)
    server.plan = lambda number, body: loopback.FAULTS[fault]()
    experiment = Experiment(assistant=("openai:assistant",), dataset="apples.jsonl", modes=("full",), limit=1, runs=1)
    _, (record,) = simulate(server, tmp_path / "run", experiment)
    assert (record.ended, record.score) == (ended, score)


@pytest.mark.parametrize("fault", ["bad_key", "quota", "missing_model"])
def test_what_no_call_can_get_past_stops_the_run(server, loopback, tmp_path, fault):
    server.plan = lambda number, body: loopback.FAULTS[fault]()
    experiment = Experiment(assistant=("openai:assistant",), dataset="apples.jsonl", modes=("full",), limit=50, runs=2)
    outcome, _ = simulate(server, tmp_path / "run", experiment, max_concurrency=4)
    assert outcome.stopped
    assert outcome.owed == 100
    assert len(server.requests) <= 8


def test_a_budget_is_kept_and_the_rest_stays_owed(parties, tmp_path):
    experiment = Experiment(**PARTIES, limit=10, runs=4)
    outcome, records = simulate(parties, tmp_path / "run", experiment, budget_tokens=30_000, max_concurrency=4)
    assert "30,000 tokens" in outcome.stopped
    spent = sum(call.usage.input + call.usage.output for record in records for call in record.calls)
    assert 0 < spent <= 30_000
    again, _ = simulate(parties, tmp_path / "run", experiment)
    assert again.complete


@pytest.mark.slow
def test_a_run_killed_twenty_times_pays_next_to_nothing_twice(parties, tmp_path, without_time):
    """SIGKILL again and again over 2,000 conversations: the store equals an undisturbed one, and only replies that were
    under way or had just arrived at a kill were paid twice."""
    places, kills, latency = 16, 20, 0.02
    experiment = Experiment(dataset="apples.jsonl", assistant=("openai:assistant",), modes=("full", "sharded"), runs=20)
    _, undisturbed = simulate(parties, tmp_path / "undisturbed", experiment)
    necessary = sum(len(record.calls) for record in undisturbed)
    assert len(undisturbed) == 2000
    before = parties.count
    asked = ["--dataset", "apples.jsonl", "--assistant", "openai:assistant", "--modes", "full,sharded", "--runs", "20"]
    command = [sys.executable, "-m", "simulator", "run", *asked, "--base-url", parties.url, "--quiet"]
    command += ["--max-concurrency", str(places), "--out", "killed"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parties.latency = latency
    for kill in range(kills):
        process = subprocess.Popen(command, env=environment)
        target = parties.count + 40 + 7 * kill
        while process.poll() is None and parties.count < target:
            time.sleep(0.005)
        process.kill()
        process.wait()
    parties.latency = 0.0
    subprocess.run(command, env=environment, check=True)
    with Store(tmp_path / "killed") as store:
        killed = sorted(store.records(), key=lambda record: record.key)
    assert [without_time(r) for r in killed] == [without_time(r) for r in undisturbed]
    twice = parties.count - before - necessary
    # in flight, and what may arrive within the 100 ms until the journal is on disk
    assert 0 <= twice <= kills * places * (1 + 0.1 / latency) < 0.5 * necessary


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "ray"])
def test_workers_elsewhere_store_the_same_records(parties, tmp_path, without_time, engine):
    if engine == "ray":
        pytest.importorskip("ray")
    experiment = Experiment(**PARTIES, limit=5, runs=2)
    _, alone = simulate(parties, tmp_path / "alone", experiment)
    outcome, together = simulate(parties, tmp_path / "together", experiment, engine=engine, workers=2)
    assert outcome.complete
    assert [without_time(r) for r in together] == [without_time(r) for r in alone]


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "called"), [("local", "multiprocessing.spawn"), ("ray", "ray::_Actor")])
def test_a_worker_that_is_killed_is_replaced_and_nothing_is_lost(parties, tmp_path, without_time, engine, called):
    if engine == "ray":
        pytest.importorskip("ray")
    experiment = Experiment(**PARTIES, limit=12, runs=3)
    _, undisturbed = simulate(parties, tmp_path / "undisturbed", experiment)
    parties.latency, enough = 0.02, parties.count + 300
    killed: list[int] = []

    def kill_one() -> None:
        while parties.count < enough:
            time.sleep(0.02)
        killed.append(max(_processes(called)))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    outcome, records = simulate(parties, tmp_path / "killed", experiment, engine=engine, workers=2)
    killer.join()
    assert killed
    assert outcome.complete
    assert [without_time(r) for r in records] == [without_time(r) for r in undisturbed]


def _processes(called: str) -> list[int]:
    """Processes below this one, or of the cluster it started, whose command line holds these words."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if called in entry.read_bytes().replace(b"\0", b" ").decode(errors="replace"):
                found.append(int(entry.parent.name))
    return found


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="the real instructions are not here")
def test_all_real_instructions_in_five_modes_without_a_failure(parties, tmp_path):
    experiment = Experiment(**{**PARTIES, "dataset": str(REAL)}, runs=1)
    outcome, records = simulate(parties, tmp_path / "run", experiment)
    assert outcome.complete
    assert not outcome.causes
    assert len(records) == 5 * 698
    for record in records:
        if record.mode == "sharded" and record.ended == "exhausted":
            revealed = [id for turn in record.turns for id in turn.reveals]
            assert sorted(revealed) == [shard.id for shard in record.instance.shards]
