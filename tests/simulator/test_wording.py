"""What a short text says: numbers by value, units by name, names, quoted strings, denial."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.wording import (
    denies,
    firm_values,
    may_negate,
    names,
    numbers,
    plain,
    quoted,
    subject,
    units,
    units_of_numbers,
    values,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("18 dollars", {"18"}),
        ("$1,200.50 a month", {"1200.5"}),
        ("twenty-five", {"25"}),
        ("two hundred and five", {"205"}),
        ("a quarter of it", {"1/4"}),
        ("25%", {"1/4", "25"}),
        ("25 percent", {"1/4", "25"}),
        ("2½ cups", {"5/2"}),
        ("2 1/2 cups", {"5/2"}),
        ("two dozen eggs", {"24"}),
        ("half a dozen", {"6"}),
        ("2 dozen", {"24"}),
        ("twice a week", {"2"}),
        ("1.5 million", {"1500000"}),
        ("-5 degrees", {"-5"}),
        ("negative 5 degrees", {"-5"}),
        ("5x - 4", {"5", "4", "-4"}),
        ("on 2022-03-10", {"2022", "3", "10"}),
        ("a 10-year-old tree", {"10"}),
        ("the 3rd", {"3"}),
        ("two thirds", {"2/3"}),
        ("version v2 of mp3", set()),
        ("one of them, once, in May", set()),
        ("9" * 50, set()),
    ],
)
def test_numbers_are_compared_by_value(text: str, expected: set[str]) -> None:
    assert firm_values(text) == {Fraction(value) for value in expected}


@pytest.mark.parametrize(
    ("text", "value"),
    [("one hump", 1), ("a hump", 1), ("the third day", 3), ("in March", 3), ("no cats", 0), ("both", 2)],
)
def test_soft_words_fulfil_a_demand_and_make_none(text: str, value: int) -> None:
    assert Fraction(value) in values(text)
    assert not firm_values(text)


@settings(deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["{:,}", "{}", "${}", "{} apples", "about {}."]))
def test_whole_numbers_are_found_as_written(number: int, form: str) -> None:
    assert firm_values(form.format(number)) == {Fraction(number)}


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=80))
def test_any_text_can_be_looked_at(text: str) -> None:
    assert all(number.end <= len(plain(text)) for number in numbers(text))
    for look in (units, units_of_numbers, names, quoted):
        assert isinstance(look(text), set | frozenset)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("18 mph for 5 hours", {"mile", "hour"}),
        ("$10", {"dollar"}),
        ("a 5-hour trip", {"hour"}),
        ("3 cats and a mile", set()),
        ("at 6 a.m.", {"am"}),
        ("5km", {"kilometer"}),
        ("20 °C", {"degree", "celsius"}),
    ],
)
def test_units_of_quantities(text: str, expected: set[str]) -> None:
    assert units_of_numbers(text) == expected


def test_a_unit_has_one_name() -> None:
    assert units("ten bucks, eighteen miles an hour") == {"dollar", "mile", "hour"} == units("$10, 18 mph")


@pytest.mark.parametrize(
    ("text", "evidence", "expected"),
    [
        ("he saw Anna and Mr. Smith", "", {"anna", "mr", "smith"}),
        ("Anna left.", "", set()),
        ("Anna left.", "I met Anna.", {"anna"}),
        ("Each box is red.", "it is Red", set()),
        ("call list_of_ints or readFile with A4 paper", "", {"list_of_ints", "readfile", "a4"}),
        ("I paid $5 for 3kg on the 2nd", "", set()),
        ("chez Françoise", "", {"françoise"}),
    ],
)
def test_names(text: str, evidence: str, expected: set[str]) -> None:
    assert names(text, evidence) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dad gave Olaf 10 toy cars.", "dad"),
        ("Leigh's shells are blue.", "leigh"),
        ("Find a nature reserve.", None),
        ("the dog barks", None),
        ("Twelve of them left.", None),
        ("It's late.", None),
        ("Don't forget it.", None),
    ],
)
def test_subject(text: str, expected: str | None) -> None:
    assert subject(text) == expected


def test_quoted_strings() -> None:
    assert quoted("say “Hi there,” or 'x^3' or `a b`, don't say can't") == {"Hi there", "x^3", "a b"}


@pytest.mark.parametrize(
    "text", ["he does not pay", "it's never open", "without sugar", "she can’t come", "nobody came"]
)
def test_denial(text: str) -> None:
    assert denies(text)


@pytest.mark.parametrize(
    "text", ["no more than 5", "don't forget the milk", "I don't know", "not only red", "another knot"]
)
def test_what_only_looks_like_denial(text: str) -> None:
    assert not denies(text)


def test_other_words_deny_too() -> None:
    assert may_negate("leave out nothing but exclude the cat")
    assert not may_negate("take the cat")
