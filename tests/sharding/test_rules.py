"""The sharder that needs no model: what it does is right, what it cannot do safely it refuses."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sharding.items import SHARDED, read_items, read_sharded
from sharding.pipeline import Desk, shard
from sharding.rules import RulesAuthor
from simulator.engine import run
from simulator.experiment import Experiment, plan
from simulator.means import Means
from simulator.models.fake import FakeModel
from simulator.store import Store
from simulator.wording import numbers
from tasks.registry import get_task

REAL = Path(__file__).parents[2].parent / "shared" / "data" / "sharded_gsm8k_698.json"


async def sharded(instruction):
    draft = await shard(instruction, Desk(RulesAuthor()))
    return draft, [one.text for one in draft.sharding.shards] if draft.sharding else []


@pytest.mark.parametrize(
    ("instruction", "shards"),
    [
        (
            "Marie has 4 notebooks with 20 stamps each. She also has a binder. If she keeps 1/4 of them, how many go?",
            ["How many go?", "Marie has 4 notebooks with 20 stamps each.", "Marie has a binder.", "Marie keeps 1/4 of them."],
        ),
        (
            "A shop sells figs for $2 each; a plum costs $1. Ann buys 5 figs, but she has only 3 bags. What will Ann pay?",
            [
                "What will Ann pay?",
                "A shop sells figs for $2 each; a plum costs $1.",
                "Ann buys 5 figs.",
                "Ann has only 3 bags.",
            ],
        ),
        (
            "How many turtles are there if Kris has 12? Trey has 5 times as many as Kris. Both live in Rome.",
            ["How many turtles are there?", "Kris has 12.", "Trey has 5 times as many as Kris.", "Both live in Rome."],
        ),
        (
            "Mr. Langsley takes a bus at 6:00 a.m. every day. His ride takes 40 minutes. When is he there?",
            [
                "When is Langsley there?",
                "Mr. Langsley takes a bus at 6:00 a.m. every day.",
                "Langsley's ride takes 40 minutes.",
            ],
        ),
        (
            "Please find a train connection to Madrid, from Turin, on 23 August 2026.",
            [
                "Please find a train connection.",
                "The train connection is to Madrid.",
                "The train connection is from Turin.",
                "The train connection is on 23 August 2026.",
            ],
        ),
    ],
)  # fmt: skip
async def test_what_is_safe_is_done(instruction, shards):
    draft, told = await sharded(instruction)
    assert told == shards
    assert draft.status == "accepted", draft.objections


@pytest.mark.parametrize(
    ("instruction", "check"),
    [
        ("Ann has 8 figs. She gives 2 away. Half of the remaining ones rot. How many are left?", "unreadable"),
        ("Ann has 8 figs. Bob has 3. Carl has that many plums. How many fruits?", "unreadable"),
        ("Ann has 8 figs. Bob has 3 figs. Carl has 2 figs.", "unreadable"),  # nothing is asked
        ("How many figs are there? How many plums? Ann has 8 figs. Bob has 3 plums.", "unreadable"),
        ("Ann saves $5 a day. She buys bread for $2. How much does she have after 3 weeks?", "request_number"),
        ("Ann has 8 figs. How many are there?", "pieces"),
        ("Please find a train to Rome; and a train to Oslo. Each train leaves at 8. Each train is fast.", "unreadable"),
    ],
)
async def test_what_is_not_is_refused(instruction, check):
    draft, _ = await sharded(instruction)
    assert draft.status == "refused"
    assert check in {objection.check for objection in draft.objections}


@pytest.mark.parametrize(
    "instruction",
    [
        "Nina meets Jill. She trades 2 cards worth $8 each. She gets 1 card worth $21. What profit does she make?",
        "Stan hires a magician for $60. He works 3 hours. He does it on 2 days. How much money does he get?",
        "Ann has a brother. He has 8 figs. Ann has 3 figs. How many figs does he have to eat?",
    ],
)
async def test_who_is_meant_is_never_guessed(instruction):
    """With two people about, no pronoun is replaced; what then stands on its own is left to somebody who looks."""
    draft, told = await sharded(instruction)
    original = instruction.replace("How many", "how many")
    assert all(text[1:].rstrip(".?") in original for text in told)
    assert draft.status == "review"


async def test_all_embedded_word_problems_are_sharded_and_keep_their_numbers():
    for problem in get_task("math").load()[::8]:
        draft, told = await sharded(problem.instruction)
        assert draft.status == "accepted", problem.instruction
        assert len(told) >= len(problem.shards) - 2


def knows_the_facts(problems):
    """A solver that answers a known question, once it was told all its numbers."""

    def solve(messages, options):
        told = "\n".join(message.content for message in messages if message.role == "user")
        values = {number.value for number in numbers(told)}
        for problem in problems:
            asked = {number.value for number in numbers(problem.instruction) if number.firm}
            if asked <= values and problem.shards[0].text in told:
                return f"The answer is {problem.target}."
        return "I would need to know more."

    return solve


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="the real instructions are not here")
def test_a_hundred_real_questions(exit_code, tmp_path):
    """The accepted ones pass lint, and a solver that knows the facts answers them in any order, at once and in turn."""
    out = tmp_path / "out"
    assert exit_code("shard", REAL, "--model", "none", "--limit", 100, "--out", out, "--quiet") == 0
    assert len(read_items(out)) == 100
    accepted = read_sharded(out / SHARDED)
    assert len(accepted) >= 40
    assert exit_code("shard", "lint", out / SHARDED) == 0
    model = FakeModel(knows_the_facts(accepted), name="solver")
    asked = Experiment(
        assistant=("solver",), dataset=str(out / SHARDED), modes=("concat", "shuffle_concat", "sharded"), runs=1
    )
    assert asyncio.run(run(plan(asked), tmp_path / "run", Means(models={"solver": model}))).complete
    with Store(tmp_path / "run") as store:
        assert {(record.ended, record.score) for record in store.records()} == {("solved", 1.0)}
