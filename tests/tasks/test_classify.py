"""Classes of replies by rules."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.classify import CLARIFICATION_WORDS, classify_reply
from tasks.math import MathTask
from tasks.nouns import TURN_CLASSES, Instance, Shard
from tasks.numbers import find_answer

SUM = Instance(id="1", task="math", shards=(Shard(1, "how much is it?"),), instruction="…", target="18")


def prose(reply: str) -> str:
    """As the math task does."""
    number = find_answer(reply)
    return classify_reply(reply, has_answer=number is not None, stated=number)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param("I'm sorry to hear that. The total is 18.", "answer_attempt", id="CL-06-apology"),
        pytest.param("Sorry, I won't write this for you.", "refuse", id="CL-06-refusal"),
        pytest.param("5", "answer_attempt", id="bare"),
        pytest.param("12 apples", "answer_attempt", id="bare-with-unit"),
        pytest.param("3 * 6 = 18\n\nTherefore, she pays **$18** in all.", "answer_attempt", id="conclusion"),
        pytest.param("She earns $6 an hour.\n#### 18", "answer_attempt", id="marked"),
        pytest.param("What is the price of one apple?", "clarification", id="one-question"),
        pytest.param("How many are there? And what does one cost?", "interrogation", id="two-questions"),
        pytest.param(
            "To solve this I need to know:\n\n* **The price:** of one apple\n* **The number:** of apples\n",
            "interrogation",
            id="a-list",
        ),
        pytest.param("If it is 3, then it makes 9. If it is 4, then it makes 16.", "hedge", id="cases"),
        pytest.param("I don't have enough information to solve this.", "refuse", id="lacking"),
        pytest.param("Trains are a fine way to travel through the mountains.", "discussion", id="discussion"),
        pytest.param("The total so far is $14. What else did he buy?", "clarification", id="on-the-way"),
        pytest.param("", "missing", id="empty"),
        pytest.param(" …\n", "missing", id="blank"),
    ],
)
def test_a_reply_has_its_class(reply: str, expected: str) -> None:
    assert prose(reply) == expected


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param('He told me "I cannot sell it", so the price is 12.', id="CL-06-quoted"),
        pytest.param("Without the dates I can't be exact, but it is about 40 euros.", id="CL-06-partly"),
    ],
)
def test_not_every_cannot_is_a_refusal(reply: str) -> None:
    assert prose(reply) != "refuse"


def test_a_whole_answer_of_its_own_form_is_an_attempt() -> None:
    assert classify_reply("[f(a=1)]", has_answer=True) == "answer_attempt"
    assert classify_reply("def f():\n    return 1", has_answer=True) == "answer_attempt"


@pytest.mark.parametrize("call", ["f(a=)", "f(a=, b=1)", "f(a=?)", "f(a=<a>)", "f(a='[DATE]')"])
def test_a_call_with_gaps_is_no_attempt(call: str) -> None:
    assert classify_reply(f"[{call}]", has_answer=True) == "hedge"


def test_but_not_if_it_is_put_off() -> None:
    assert classify_reply("f(a=1). Which a do you mean?", has_answer=True) == "clarification"
    assert classify_reply("If a, f(1). In case of b, f(2).", has_answer=True) == "hedge"


def test_a_long_reply_with_one_question_is_no_clarification() -> None:
    question = "What is the price?"
    assert classify_reply(question, has_answer=False) == "clarification"
    assert classify_reply("word " * CLARIFICATION_WORDS + question, has_answer=False) == "discussion"


async def test_the_math_task_classifies_by_its_numbers() -> None:
    assert await MathTask().classify("The answer is 18.", SUM) == "answer_attempt"
    assert await MathTask().classify("Which apples?", SUM) == "clarification"


@settings(deadline=None)
@given(st.text(alphabet='ab 12?.\n*-=:`"if', max_size=120), st.booleans())
def test_any_text_has_a_class(reply: str, has_answer: bool) -> None:
    assert prose(reply) in TURN_CLASSES
    assert classify_reply(reply, has_answer=has_answer) in TURN_CLASSES


@settings(deadline=None)
@given(st.text(max_size=60))
def test_without_an_answer_there_is_no_attempt(reply: str) -> None:
    assert classify_reply(reply, has_answer=False) != "answer_attempt"
