"""When a result counts as the expected one."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.code_tests import CallTest, Equality, FeedTest
from tasks.sandbox import Other, Outcome

SAME = [
    (1, 1), (1, 1.0), (1.0, 1), (0.3, 0.1 + 0.2), (1e-12, 0.0), (True, 1), (0, False), ([1, [2]], (1, (2,))), ({}, {}),
    ({"1": 2}, {1: 2}), ({"true": 1}, {True: 1}), (10**30, 10**30), (1e300, 1e300 * (1 + 1e-9)), ("a", "a"), (None, None),
]  # fmt: skip
DIFFERENT = [
    (1, 2), (1, "1"), ("1", 1), (10**30, 10**30 + 1), (0.3, 0.3001), ([1, 2], [2, 1]), ([1], [1, 1]), ([], {}), ({}, []),
    ({"a": 1}, {"a": 2}), ({"a": 1}, {"a": 1, "b": 1}), ({"1": 2}, {1: 2, "1": 2}), (None, 0), (None, False),
    (0, None), ("", None), ("a", ["a"]),
    ([1, 2], frozenset({1, 2})), ([1], Other("generator")), (1.0, float("nan")), (1.0, float("inf")), (1.5, 10**400),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "got"), SAME)
def test_what_counts_as_the_same(expected: Any, got: Any) -> None:
    assert Equality().same(expected, got)


@pytest.mark.parametrize(("expected", "got"), DIFFERENT)
def test_what_counts_as_different(expected: Any, got: Any) -> None:
    assert not Equality().same(expected, got)


def test_equality_can_be_declared_stricter() -> None:
    assert not Equality(tuples_are_lists=False).same([1], (1,))
    assert not Equality(truth_is_number=False).same(True, 1)
    assert Equality(truth_is_number=False).same(True, True)
    assert not Equality(keys_are_texts=False).same({"1": 2}, {1: 2})
    assert not Equality(relative=0, absolute=0).same(0.3, 0.1 + 0.2)


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        ("8", "8\n", True), ("1 2\n3\n", "1 2  \n3\n\n", True), ("1.50", "1.5", True), ("0.3", "0.30000000000000004", True),
        ("1 2", "1  2", True), ("YES", "Yes", False), ("1\n2", "1 2", False), ("15", "15.0", False), ("1.5", "nan", False),
        ("", "\n", True), ("x 1.0", "x 1", True), ("1", "1\n1", False), ("1.5", "one", False),
    ],
)  # fmt: skip
def test_printed_text_is_compared_line_by_line(expected: str, got: str, same: bool) -> None:
    assert Equality().same_text(expected, got) is same


def test_an_outcome_of_the_other_kind_never_passes() -> None:
    assert not Equality().passes(Outcome("printed", "5"), CallTest((2, 3), "5"))
    assert not Equality().passes(Outcome("value", "5"), FeedTest("2 3", "5"))
    assert not Equality().passes(Outcome("raised"), CallTest((), None))
