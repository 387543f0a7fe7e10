"""The repeat finder: a text that only says again what was said."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.repeats import content, coverage, premises, repeats, similarity

SAID = (
    "how much water remains in the small pool now?",
    "the big pool had twice as much water as the small pool 4 minutes ago.",
    "Both pools lose water at a rate of 4 gallons per minute due to leaks.",
)


@pytest.mark.parametrize(
    "text",
    [
        "4 minutes ago, the big pool had double the amount of water that the small pool had.",
        "Oh, and by the way, both pools are losing water at a rate of four gallons per minute due to leaks.",
        "both pools lose 4 gallons a minute because of leaks, so that's 16 gallons by now",
    ],
)
def test_the_same_in_other_words(text: str) -> None:
    assert repeats(text, SAID)


@pytest.mark.parametrize(
    "text",
    [
        "Just to clarify, the scenario involves Jerry and his two pools.",
        "the leak was fixed an hour ago",
        "the big pool holds 40 gallons",
    ],
)
def test_something_new(text: str) -> None:
    assert not repeats(text, SAID)


def test_the_opening_request_is_not_repeated_by_naming_its_things() -> None:
    assert not repeats("how much water remains in the small pool now?", SAID[:1])
    assert not repeats("there is water in the small pool", SAID[:1])


def test_a_new_number_is_news() -> None:
    said = ("how much did John spend?", "John also spent $3 on light bulbs.")
    assert repeats("he spent $3 on light bulbs", said)
    assert not repeats("he spent $5 on light bulbs", said)


def test_a_conclusion_is_left_out_of_the_comparison() -> None:
    assert premises("the tree is 8 years old, so that's 800 fruits") == "the tree is 8 years old"
    assert premises("so, 4") == "so, 4"


@settings(deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_similarity_is_symmetric_and_bounded(one: str, other: str) -> None:
    a, b = content(one), content(other)
    assert similarity(a, b) == similarity(b, a)
    assert 0.0 <= similarity(a, b) <= 1.0
    assert similarity(a, a) == (1.0 if a else 0.0)
    assert similarity(a, b) <= coverage(a, b) <= 1.0


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["apple", "pear", "7", "train", "blue", "sold", "bought", "12"]),
        min_size=2,
        max_size=6,
        unique=True,
    )
)
def test_word_for_word_is_a_repeat(words: list[str]) -> None:
    text = " ".join(words)
    assert repeats(text, ("what is it?", text))
