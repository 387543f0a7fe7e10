"""The math task: what it says, and how it reads and scores an answer."""

from __future__ import annotations

import re

import pytest

from tasks.families import FAMILIES, TIERS
from tasks.math import MathTask
from tasks.nouns import Instance, Shard
from tasks.prompts import prompt
from tasks.registry import get_task

MATH = MathTask()
SHIPPED = MATH.load()
PENS = Instance(
    id="pens",
    task="math",
    shards=(Shard(1, "How many pens has Ann?"), Shard(2, "Ann had 3 pens."), Shard(3, "Ann {{buys}} 4 pens.")),
    instruction="Ann had 3 pens. She buys 4. How many pens has Ann?",
    target="7",
)


def test_the_system_text_tells_nothing_about_turns_or_missing_information() -> None:
    text = MATH.system(PENS).lower()
    for told in (
        "turn",
        "conversation",
        "clarif",
        "ask",
        "incomplete",
        "missing",
        "later",
        "underspecified",
        "question",
    ):
        assert told not in text


def test_the_system_text_is_the_same_for_all() -> None:
    assert {MATH.system(instance) for instance in SHIPPED} == {MATH.system(PENS)}


def test_full_says_the_whole_question_and_concat_every_shard_in_order() -> None:
    assert PENS.instruction in MATH.full(PENS)
    concat = MATH.concat(PENS, PENS.shards[::-1])
    assert re.findall("^- (.*)$", concat, re.MULTILINE) == [shard.text for shard in PENS.shards[::-1]]
    assert PENS.instruction not in concat


def test_the_templates_that_make_its_identity_exist() -> None:
    assert all(prompt("tasks", name).digest for name in MATH.prompts)


async def scored(reply: str, target: str = "7") -> float | None:
    instance = Instance(id="x", task="math", shards=PENS.shards, instruction="?", target=target)
    answer = await MATH.extract(reply, instance)
    return None if answer is None else (await MATH.score(answer, instance)).value


@pytest.mark.parametrize(
    ("reply", "target", "value"),
    [
        ("3 + 4 = 7, so Ann has 7 pens.", "7", 1.0),
        ("So it is $7.00", "7", 1.0),
        ("\\boxed{\\frac{14}{2}}", "7", 1.0),
        ("#### 1,200", "1200.00", 1.0),
        ("It is 12.5", "12.50", 1.0),
        ("The answer is 8.", "7", 0.0),
        ("The answer is 0.67.", "2/3", 1.0),
        ("How many pens did she buy?", "7", None),
        ("", "7", None),
    ],
)
async def test_replies_are_scored(reply: str, target: str, value: float | None) -> None:
    assert await scored(reply, target) == value


async def test_an_answer_that_a_judge_cut_out_as_a_sentence_is_read() -> None:
    score = await MATH.score("Ann has 7 pens after 3 days", PENS)
    assert (score.value, score.correct, score.status) == (1.0, True, "scored")
    assert score.details == {"answer": "7", "target": "7"}


@pytest.mark.parametrize(("answer", "status"), [("", "no_answer"), ("  ", "no_answer"), ("many pens", "unreadable")])
async def test_an_answer_without_a_number_scores_nothing_and_says_why(answer: str, status: str) -> None:
    score = await MATH.score(answer, PENS)
    assert (score.value, score.correct, score.status) == (0.0, False, status)


async def test_shipped_targets_score_one_and_wrong_answers_nothing() -> None:
    for instance in SHIPPED:
        right = await MATH.extract(MATH.right_answer(instance), instance)
        wrong = await MATH.extract(MATH.wrong_answer(instance), instance)
        assert right is not None
        assert wrong is not None
        assert (await MATH.score(right, instance)).value == 1.0
        assert (await MATH.score(wrong, instance)).value == 0.0


def test_the_shipped_set_holds_every_family_in_every_tier() -> None:
    cells = {(instance.strata["family"], instance.strata["tier"]) for instance in SHIPPED}
    assert cells == {(family, tier) for family in FAMILIES for tier in TIERS}
    assert len(SHIPPED) >= 120
    assert {len(instance.shards) for instance in SHIPPED} == set(range(3, 10))


async def test_attempts_are_told_from_questions_without_a_model() -> None:
    assert await MATH.classify("3 + 4 = 7. Ann has 7 pens.", PENS) == "answer_attempt"
    assert await MATH.classify("How many pens did Ann have before?", PENS) == "clarification"
    assert await MATH.classify("", PENS) == "missing"


def test_the_task_is_registered() -> None:
    assert isinstance(get_task("math"), MathTask)
