"""`shardtalk shard` over real HTTP: the right shardings are accepted, each wrong one is caught by the check that should."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sharding.items import PENDING, SHARDED, provenance, read_items
from simulator.store import Store
from tasks.datasets import write_instances

MODELS = ("--model", "openai:sharder", "--assistant", "openai:solver")


@pytest.fixture
def shard(exit_code, server, sharder, problems, tmp_path, monkeypatch):
    """Shards the problems and returns the items by id."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    write_instances(problems, tmp_path / "problems.jsonl")

    def run(*more, code=0):
        given = ("shard", tmp_path / "problems.jsonl", *MODELS, "--base-url", server.url, "--out", tmp_path / "out")
        assert exit_code(*given, *more) == code
        return {item.id: item for item in read_items(tmp_path / "out")}

    return run


def test_what_is_right_is_accepted_with_all_that_is_known_of_it(exit_code, shard, server, problems, tmp_path, capsys):
    items = shard()
    assert list(items) == [problem.id for problem in problems]
    for problem in problems:
        item, made = items[problem.id], provenance(items[problem.id])
        assert (made.status, made.objections, made.repaired) == ("accepted", (), ())
        assert [shard.text for shard in item.shards] == [shard.text for shard in problem.shards]
        assert (item.instruction, item.target) == (problem.instruction, problem.target)
        assert sorted(item.variants) == [str(n) for n in range(2, len(problem.shards))]
        assert made.verification == {
            "outcome": "accepted",
            "planned": 30,
            "made": 17,
            "runs": {"full": 1, "concat": 8, "shuffle_concat": 8},
            "means": {"full": 1.0, "concat": 1.0, "shuffle_concat": 1.0},
        }
        assert (made.model, made.assistant) == ("openai:sharder", "openai:solver")
        assert made.source["file"].endswith("problems.jsonl")
        assert {name for name in made.prompts if name.startswith("sharding/")} >= {"sharding/pieces", "sharding/shards"}
        assert made.cost["calls"] == 3
    assert server.models == {"sharder": 3 * len(problems), "solver": 17 * len(problems)}
    assert f"{len(problems)} accepted, 0 review, 0 refused" in capsys.readouterr().out
    assert (tmp_path / "out" / PENDING).read_text() == ""
    assert exit_code("shard", "lint", tmp_path / "out" / SHARDED) == 0


def loses_a_number(step, said, tries):
    if step == "shards":
        told = said["shards"][1]
        told["text"] = re.sub(r"\d+", "some", told["text"])
    return said


def invents_a_fact(step, said, tries):
    if step == "shards":
        said["shards"][1]["text"] += " There were 4711 of them before."
    return said


def overlaps(step, said, tries):
    if step == "pieces":
        said["pieces"][1] = said["pieces"][0] + ". " + said["pieces"][1]
    return said


def copies_wrongly(step, said, tries):
    if step == "pieces":
        said["pieces"][0] = "In the beginning, " + said["pieces"][0]
    return said


def leaves_a_piece_out(step, said, tries):
    if step == "pieces":
        del said["pieces"][0]
        said["request"] -= 1
    return said


def says_no_json(step, said, tries):
    return "Certainly! Here is what you wanted:" if step == "pieces" else said


def breaks_off(step, said, tries):
    return json.dumps(said)[:-20] if step == "shards" else said


def words_a_piece_twice(step, said, tries):
    if step == "shards":
        said["shards"][2]["piece"] = said["shards"][1]["piece"]
    return said


def tells_in_the_question(step, said, tries):
    if step == "shards":
        said["shards"][0]["text"] = "What comes out, if it was 12 at first?"
    return said


def points_back(step, said, tries):
    if step == "shards":
        said["shards"][1]["text"] = "Also, " + said["shards"][1]["text"]
    return said


def misses_something(step, said, tries):
    return {"complete": False, "missing": "who it is about"} if step == "coverage" else said


def twists_the_words(step, said, tries):
    """No rule sees it, since every number, unit and name is there: only the simulation does."""
    if step == "shards":
        everything = " ".join(told["text"] for told in said["shards"])
        told = max(said["shards"][1:], key=lambda told: len(told["text"]))
        once = [word for word in told["text"].strip(".").split() if everything.count(word) == 1 and word.isalpha()]
        word = max((word for word in once if word.islower()), key=len)
        told["text"] = told["text"].replace(word, "hummed")
    return said


@pytest.mark.parametrize(
    ("habit", "status", "caught"),
    [
        (loses_a_number, "refused", "lost_number"),
        (invents_a_fact, "refused", "added_number"),
        (overlaps, "refused", "overlap"),
        (copies_wrongly, "refused", "not_copied"),
        (leaves_a_piece_out, "refused", "uncovered"),
        (says_no_json, "refused", "unreadable"),
        (breaks_off, "refused", "unreadable"),
        (words_a_piece_twice, "refused", "wrong_pieces"),
        (tells_in_the_question, "refused", "intent_number"),
        (points_back, "review", "link"),
        (misses_something, "review", "incomplete"),
    ],
)
def test_what_is_wrong_is_caught_by_its_check_and_repair_is_bounded(
    shard, sharder, problems, server, habit, status, caught
):
    wrong, well = problems[0], problems[1]
    sharder.habits[wrong.id] = habit
    items = shard("--limit", 2)
    made = provenance(items[wrong.id])
    assert made.status == status
    assert caught in {objection.check for objection in made.objections}
    # it was told what was wrong and asked again, twice
    assert [objection.check for objection in made.repaired].count(caught) == 2
    again = [r.body for r in server.requests if "cannot be used yet" in r.body["messages"][-1]["content"]]
    assert len(again) == 2
    assert "This cannot be used yet" in again[0]["messages"][-1]["content"]
    assert provenance(items[well.id]).status == "accepted"
    # what certain checks refuse is not simulated
    assert (made.verification is None) == (status == "refused")


def test_what_the_checks_cannot_see_the_simulation_refuses(shard, sharder, problems):
    sharder.habits[problems[0].id] = twists_the_words
    items = shard("--limit", 2)
    made = provenance(items[problems[0].id])
    assert made.status == "refused"
    assert made.objections == ()
    assert made.verification["outcome"] == "refused"
    assert made.verification["means"]["full"] == 1.0
    assert made.verification["means"]["concat"] == 0.0
    assert made.verification["made"] < 20


@pytest.mark.parametrize("habit", [loses_a_number, overlaps, says_no_json, points_back])
def test_a_repaired_sharding_is_accepted_and_says_what_was_repaired(shard, sharder, problems, habit):
    sharder.habits[problems[0].id] = lambda step, said, tries: said if tries else habit(step, said, tries)
    made = provenance(shard("--limit", 1)[problems[0].id])
    assert made.status == "accepted"
    assert made.objections == ()
    assert made.repaired


def test_an_instruction_that_full_never_solves_goes_to_review(shard, sharder, problems):
    sharder.solve = lambda asked: "The answer is -1."
    made = provenance(shard("--limit", 1)[problems[0].id])
    assert made.status == "review"
    assert made.verification["outcome"] == "unsolved"
    assert made.verification["made"] == 10


def test_an_instruction_too_long_for_the_model_is_refused_and_one_that_failed_is_owed(
    shard, server, loopback, problems, capsys
):
    def plan(number, body):
        text = str(body["messages"])
        if problems[0].instruction[:40] in text:
            return loopback.FAULTS["context_exceeded"]()
        return loopback.FAULTS["bad_request"]() if problems[1].instruction[:40] in text else None

    server.plan = plan
    items = shard("--limit", 3, code=1)
    assert provenance(items[problems[0].id]).objections[0].check == "context_exceeded"
    assert problems[1].id not in items
    assert provenance(items[problems[2].id]).status == "accepted"
    assert "owed: 1" in capsys.readouterr().err
    server.plan = ()
    assert provenance(shard("--limit", 3)[problems[1].id]).status == "accepted"


def test_the_same_command_again_pays_nothing(shard, server, tmp_path):
    before, paid = shard(), server.count
    files = {name: (tmp_path / "out" / name).read_bytes() for name in (SHARDED, PENDING)}
    assert shard() == before
    assert server.count == paid
    assert {name: (tmp_path / "out" / name).read_bytes() for name in files} == files


def test_a_budget_stops_it_and_a_higher_one_goes_on(shard, server, problems, capsys):
    some = shard("--budget-tokens", 8_000, "--max-concurrency", 2, code=1)
    assert "8,000 tokens used up" in capsys.readouterr().err
    assert len(some) < len(problems)
    assert len(shard()) == len(problems)
    assert server.models == {"sharder": 3 * len(problems), "solver": 17 * len(problems)}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_stopped_half_way_it_goes_on_without_paying_twice(shard, server, problems, tmp_path, number, code):
    server.latency = 0.02
    given = [
        "shard",
        tmp_path / "problems.jsonl",
        *MODELS,
        "--base-url",
        server.url,
        "--out",
        tmp_path / "out",
        "--quiet",
    ]
    command = [sys.executable, "-m", "simulator", *map(str, given), "--max-concurrency", "3"]
    process = subprocess.Popen(command, env=dict(os.environ), cwd=Path(__file__).parents[2])
    necessary = 20 * len(problems)
    while server.count < necessary // 2:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    assert process.wait(60) == code
    server.latency = 0.0
    items = shard()
    assert {provenance(item).status for item in items.values()} == {"accepted"}
    # only what was under way, or not yet on disk, when it died is paid again
    assert necessary <= server.count <= necessary + (20 if number == signal.SIGKILL else 0)


def test_simulations_are_conversations_of_the_store(exit_code, shard, problems, tmp_path, capsys):
    shard("--limit", 1)
    with Store(tmp_path / "out") as store:
        records = list(store.records())
    assert {record.mode for record in records} == {"full", "concat", "shuffle_concat"}
    assert len(records) == 17
    assert exit_code("status", tmp_path / "out") == 0


def test_accepted_items_run_as_gradual_conversations(exit_code, shard, server, problems, tmp_path):
    shard("--limit", 2)
    given = ("run", "--dataset", tmp_path / "out" / SHARDED, "--assistant", "openai:solver", "--base-url", server.url)
    assert (
        exit_code(*given, "--modes", "gradual:2,gradual:3,sharded", "--runs", 1, "--out", tmp_path / "run", "--quiet")
        == 0
    )
    with Store(tmp_path / "run") as store:
        records = list(store.records())
    assert not any(record.instance.provenance for record in records)  # a thousand records need it no thousand times
    turns = {(record.mode, record.instance.id): len(record.turns) for record in records}
    for problem in problems[:2]:
        assert turns["gradual:2", problem.id] == 2
        assert turns["gradual:3", problem.id] == 3
        assert turns["sharded", problem.id] == len(problem.shards)


def test_instructions_without_shards_are_read_and_repeated_ones_left_out(
    exit_code, server, sharder, problems, tmp_path, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    rows = [
        {"id": f"mine-{number}", "task": "math", "instruction": problem.instruction, "target": problem.target}
        for number, problem in enumerate([problems[0], problems[0], problems[1]])
    ]
    published = {"task_id": "theirs", "question": problems[2].instruction, "answer": f"#### {problems[2].target}"}
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(map(json.dumps, [*rows, published])))
    given = ("shard", "run", file, "--task", "math", *MODELS, "--base-url", server.url, "--out", tmp_path / "out")
    assert exit_code(*given) == 0
    assert [item.id for item in read_items(tmp_path / "out")] == ["mine-0", "mine-2", "theirs"]


def test_a_task_that_is_no_text_is_refused_by_name(exit_code, tmp_path, capsys):
    assert exit_code("shard", "translation", "--model", "none", "--out", tmp_path / "out") == 2
    assert "translation" in capsys.readouterr().err
