"""A judge's answer has to stand in the reply; what counts is the reply's own text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.spans import find_span


@pytest.mark.parametrize(
    ("reply", "quotation", "expected"),
    [
        ("So the result is 37.", "37", "37"),
        ("It costs **$1,000** in all.", "1000", "$1,000"),
        ("It costs 1000 in all.", "1,000", "1000"),
        ("He has **eighteen  apples**.", "Eighteen apples", "eighteen  apples"),
        ("5 and then 25", "5", "5"),
        ("only 2.5 here", "5", None),
        ("only 25 here", "5", None),
        ("1. Add up.\n2. So it is x + y.", "2.", None),
        ("**Step 3:** It is 3 in all.", "3", "3"),
        ("1. Add up.\n2. So it is 2.", "2", "2"),
        ("rows 3 4", "34", None),
        ("it is −5 degrees", "-5", "−5"),
        ("half is 1/2 of it", "0.5", "1/2"),
        ("nothing", "", None),
        ("nothing", "42", None),
        ("The total is 3. No, the total is 7.", "the total is 7", "the total is 7"),
        ("‘quoted’ text", "'quoted' text", "‘quoted’ text"),
    ],
)
def test_a_quotation_is_found_or_not(reply: str, quotation: str, expected: str | None) -> None:
    assert find_span(reply, quotation) == expected


def test_xm_26_a_start_that_is_not_there_is_no_answer() -> None:
    assert find_span("Use this: SELECT name FROM pets LIMIT 3", "SELECT a [...] LIMIT 3") is None


@pytest.mark.parametrize(
    ("reply", "quotation", "expected"),
    [
        ("Run SELECT a FROM t LIMIT 3 or SELECT b FROM t LIMIT 3", "SELECT b [...] LIMIT 3", "SELECT b FROM t LIMIT 3"),
        ("LIMIT 3 comes before SELECT a", "SELECT a [...] LIMIT 3", None),
        ("a b c", "a [...] b [...] c", None),
        ("one two three four", "one [...] nowhere", None),
        ("one two three four", "one […] three", "one two three"),
    ],
)
def test_first_and_last_words(reply: str, quotation: str, expected: str | None) -> None:
    assert find_span(reply, quotation) == expected


@settings(deadline=None)
@given(st.text(alphabet="ab 12.,*$−\n", min_size=1, max_size=40), st.text(alphabet="ab 12.,*$-", max_size=12))
def test_what_is_found_is_part_of_the_reply(reply: str, quotation: str) -> None:
    span = find_span(reply, quotation)
    assert span is None or (span and span in reply)
