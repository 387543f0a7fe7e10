"""Bullets and citations in all the forms models write them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.citations import Bullet, bullets, citation_f1, citations, trimmed

DOCUMENTS = range(1, 21)


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("point [1, 2]", {1, 2}),
        ("point [1][2]", {1, 2}),
        ("point [1-3]", {1, 2, 3}),
        ("point [1; 2]", {1, 2}),
        ("in [2023] sales", set()),
    ],
)
def test_forms_of_the_case(text: str, cited: set[int]) -> None:
    """CT-01, arguable: only existing documents count, so a year and a number beyond the last document are none."""
    assert citations(text, DOCUMENTS) == cited


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("[Document 2]", {2}),
        ("[Documents 1 and 3]", {1, 3}),
        ("[Document 1, Document 4]", {1, 4}),
        ("(Document 2)", {2}),
        ("(docs. 2, 5–7)", {2, 5, 6, 7}),
        ("[Doc2]", {2}),
        ("[1 2]", {1, 2}),
        ("[1–3, 5]", {1, 2, 3, 5}),
        ("[1 to 3]", {1, 2, 3}),
        ("【4】", {4}),
        ("[^2]", {2}),
        ("[#2]", {2}),
        ("[[1], [2]]", {1, 2}),
        ("[3](https://example.org)", {3}),
        ("[21]", set()),
        ("[1-2023]", {1}),
        ("[2019-2023]", set()),
        ("[sic]", set()),
        ("[1.5]", set()),
        ("[-1]", set()),
        ("[3-]", set()),
        ("[12%]", set()),
        ("[2 of 5]", set()),
        ("(2)", set()),
        ("[" + "9" * 180 + "]", set()),
        ("[]", set()),
    ],
)
def test_other_forms(text: str, cited: set[int]) -> None:
    assert citations(text, DOCUMENTS) == cited


def test_numbers_of_documents_need_not_be_dense() -> None:
    assert citations("[3-40][7]", {3, 12, 40}) == {3, 12, 40}


def test_blank_lines_are_no_bullets() -> None:
    """CT-05, arguable: a bullet is a point; a blank line holds none."""
    assert bullets("- one [1]\n\n- two [2]", DOCUMENTS) == [
        Bullet("one", frozenset({1})),
        Bullet("two", frozenset({2})),
    ]


@pytest.mark.parametrize(
    ("summary", "texts"),
    [
        ("one\n\ntwo", ["one", "two"]),
        ("Here is the summary:\n\n- one\n- two\n\nLet me know if you need more!", ["one", "two"]),
        ("1. one\n   and more\n2) two", ["one and more", "two"]),
        ("## Costs\n* one\n## Route\n* two", ["one", "two"]),
        ("• one\n•two", ["one", "two"]),
        ("**Costs**: one\n**Route**: two", ["**Costs**: one", "**Route**: two"]),
        ("- Costs\n  - one\n  - two", ["Costs", "one", "two"]),
        ("- one in [2023] sales [4].", ["one in [2023] sales."]),
        ("-\n- \n* one", ["one"]),
        ("- one [1]\n- [2]\n***", ["one"]),
        ("", []),
        (" \n\t\n", []),
    ],
)
def test_what_is_a_bullet(summary: str, texts: list[str]) -> None:
    assert [b.text for b in bullets(summary, DOCUMENTS)] == texts


def test_f1() -> None:
    assert citation_f1({1, 2, 3}, {2, 3, 4, 5}) == pytest.approx((2 / 3, 1 / 2, 4 / 7))
    assert citation_f1({1}, {1}) == (1.0, 1.0, 1.0)
    assert citation_f1((), {1}) == citation_f1({2}, {1}) == citation_f1({2}, ()) == (0.0, 0.0, 0.0)


def test_trimming_keeps_citations() -> None:
    """Trap 79, decided: every point loses the same share of its words, none of its citations."""
    points = [Bullet("word " * 80, frozenset({1})), Bullet("word " * 20, frozenset({2}))]
    short, share = trimmed(points, 50)
    assert share == 0.5
    assert [(len(b.text.split()), b.cited) for b in short] == [(40, {1}), (10, {2})]
    assert trimmed(points, 100) == (points, 1.0)


@given(st.text(alphabet=st.sampled_from("ab1 2-,;[]()【】\n*•.docDOCument\t٣²"), max_size=300))
@settings(deadline=None)
def test_any_text_can_be_read(text: str) -> None:
    for bullet in bullets(text, DOCUMENTS):
        assert bullet.cited <= set(DOCUMENTS)
        assert "\n" not in bullet.text
    short, share = trimmed(bullets(text, DOCUMENTS), 5)
    assert 0 < share <= 1
    assert sum(len(b.text.split()) for b in short) <= 5
