"""Generated word problems: right by a second calculation, one fact a shard, in any order the same problem."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import pytest

from tasks.datasets import instance_lines
from tasks.families import FAMILIES, TIERS, generate
from tasks.families.cast import PEOPLE
from tasks.nouns import Instance
from tasks.number_words import read_words

PROBLEMS = list(generate(len(FAMILIES) * len(TIERS) * 12, seed=11))


def by_family(name: str) -> list[Instance]:
    return [problem for problem in PROBLEMS if problem.strata["family"] == name]


# -- a second calculation: sums of products, from the numbers read in the text ----------------------------------------

#: One term a line: what is counted. An absent fact makes its term 0; a leading minus takes the term away.
TERMS = {
    "harvest": "monday, tuesday, times monday, -given, baskets per_basket, -bruised, -percent% baskets per_basket",
    "shopping": "purse, -snack, -count price, +discount% count price, -count2 price2, repaid",
    "journey": "train, bus, hours speed, times bus, ferry_hours ferry_speed, walk",
    "bakery": "early, late, -sold, trays per_tray, -boxes per_box, -part early",
    "wages": "lawns, tip, hours rate, dogs per_dog, -fuel, -percent% lawns",
    "reading": "book, -sunday, -evenings per_evening, -times sunday, -appendix, -aloud, -percent% book",
    "trip": "girls, boys, parents, times parents, teams per_team, -ill, -percent% girls",
    "bus": "start, on, -off, times on, -part on, families per_family, -late",
    "savings": "start, gift, weeks weekly, -purchase, times gift, percent% start, -lent",
    "tank": "start, rain, minutes rate, -leak_hours leak, buckets per_bucket",
    "garden": "roses, tulips, rows per_row, times roses, -eaten, packets per_packet",
    "show": "drinks, cakes, adults adult_price, children adult_price, -children less, -hall, times cakes",
    "kitchen": "pancakes, bread, cakes per_cake, pizzas per_pizza, -pantry, -gift",
    "training": "warm_up, stretching, laps per_lap, times stretching, sets per_set, part warm_up",
}


def sharing(f: dict[str, Fraction]) -> Fraction:
    """By handing them out one by one."""
    if "children" not in f:
        return f["a"] + f["b"]
    heap = f["a"] - f.get("broken", 0) - f.get("kept", 0) + f["b"] * (1 + f.get("times", 0))
    heap += sum((f["per_box"] for _ in range(int(f.get("boxes", 0)))), Fraction(0))
    each = Fraction(0)
    while heap > 0:
        heap, each = heap - f["children"], each + 1
    assert heap == 0
    return each


def ages(f: dict[str, Fraction]) -> Fraction:
    """By searching for the family whose ages fit."""
    wanted = [name for name in f if name != "years"]
    [last] = [age for age in map(Fraction, range(200)) if undo_ages(age, wanted, f) == f["first"]]
    return last + f.get("years", 0)


def undo_ages(age: Fraction, names: list[str], f: dict[str, Fraction]) -> Fraction:
    for name in reversed(names[1:]):
        if name in ("older", "older_still"):
            age -= f[name]
        elif name in ("younger", "youngest"):
            age += f[name]
        else:
            age /= f[name]
    return age


def terms(name: str) -> Callable[[dict[str, Fraction]], Fraction]:
    def total(f: dict[str, Fraction]) -> Fraction:
        result = Fraction(0)
        for term in TERMS[name].split(", "):
            product = Fraction(-1 if term.startswith("-") else 1)
            for factor in term.strip("+-").split():
                product *= f.get(factor.strip("%"), Fraction(0)) / (100 if factor.endswith("%") else 1)
            result += product
        return result

    return total


SECOND_WAY = {"sharing": sharing, "ages": ages} | {name: terms(name) for name in TERMS}

IN_WORDS = {"twice": 2, "three times": 3, "four times": 4, "five times": 5}
PARTS = {"half": Fraction(1, 2), "a third": Fraction(1, 3), "a quarter": Fraction(1, 4), "a fifth": Fraction(1, 5)}


def numbers_in(text: str) -> list[Fraction]:
    """Every number a text says, in digits or in words."""
    found = [Fraction(digits) for digits in re.findall(r"[0-9]+(?:\.[0-9]+)?", text)]
    found += [Fraction(value) for words, value in (IN_WORDS | PARTS).items() if re.search(rf"\b{words}\b", text)]
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_targets_are_what_a_second_calculation_of_the_text_says(family: str) -> None:
    for problem in by_family(family):
        read = [numbers_in(shard.text) for shard in problem.shards[1:]]
        facts = {name: number for name, [number] in zip(problem.facts, read, strict=True)}
        assert Fraction(problem.target) == SECOND_WAY[family](facts), problem.instruction


# -- shards -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_each_fact_is_in_one_shard_and_the_intent_has_none(family: str) -> None:
    for problem in by_family(family):
        intent, *told = problem.shards
        assert intent.text.endswith("?")
        assert numbers_in(intent.text) == []
        assert [numbers_in(shard.text) for shard in told] == [[Fraction(value)] for value in problem.facts.values()]
        assert len({Fraction(value) for value in problem.facts.values()}) == len(told)
        assert sorted(numbers_in(problem.instruction)) == sorted(Fraction(value) for value in problem.facts.values())


DANGLING = re.compile(
    r"\b(?:He|She|They|It|His|Her|Their|This|These|Those|then|also|too|another|later|afterwards|again)\b"
)


def test_every_shard_stands_alone() -> None:
    for problem in PROBLEMS:
        for shard in problem.shards:
            text = shard.text.replace("This year, ", "").replace("This week, ", "")
            assert not DANGLING.search(text), shard.text
            for pronoun in re.finditer(r"\b(?:he|she|him|her|his)\b", text):
                assert any(person.name in text[: pronoun.start()] for person in PEOPLE), text
            assert "{" not in text
            assert text[0].isupper() or text[0].isdigit()
            assert re.search(r"\s\s|\s[.?]", text) is None


def test_no_count_needs_a_singular() -> None:
    assert all(Fraction(value) != 1 for problem in PROBLEMS for value in problem.facts.values())


def test_facts_make_one_problem_in_any_order() -> None:
    # No shard refers to another by position, so a set of shards is the problem; its facts are found again from the set.
    for problem in PROBLEMS:
        shuffled = random.Random(problem.id).sample(problem.shards[1:], len(problem.facts))
        assert Counter(n for shard in shuffled for n in numbers_in(shard.text)) == Counter(
            Fraction(value) for value in problem.facts.values()
        )
        assert not any(re.search(r"\b(?:first|second|last|next|previous|above|former)\b", s.text) for s in shuffled)


def test_names_that_share_a_problem_differ() -> None:
    for problem in by_family("ages"):
        people = set(re.findall(r"\b[A-Z][a-z]+\b", " ".join(shard.text for shard in problem.shards[1:])))
        assert len(people - {"The"}) == len([name for name in problem.facts if name != "years"])


# -- tiers, sizes, ids ------------------------------------------------------------------------------------------------


def test_tiers_grow_from_three_shards_to_nine() -> None:
    sizes = {tier: {len(p.shards) for p in PROBLEMS if p.strata["tier"] == tier} for tier in TIERS}
    assert sizes == {1: {3}, 2: {4, 5}, 3: {6, 7}, 4: {8, 9}}
    assert all(p.strata["shards"] == len(p.shards) for p in PROBLEMS)


def test_tier_one_is_one_step_of_small_numbers() -> None:
    for problem in (p for p in PROBLEMS if p.strata["tier"] == 1):
        a, b = (Fraction(value) for value in problem.facts.values())
        assert Fraction(problem.target) in (a + b, a - b)
        assert max(a, b) <= 10


def test_answers_are_positive_and_whole_or_money() -> None:
    for problem in PROBLEMS:
        assert Fraction(problem.target) > 0
        cents = FAMILIES[str(problem.strata["family"])].money
        assert re.fullmatch(r"[0-9]+(\.[0-9]{2})?" if cents else r"[0-9]+", problem.target)


def test_families_and_tiers_are_balanced() -> None:
    cells = Counter((p.strata["family"], p.strata["tier"]) for p in PROBLEMS)
    assert set(cells) == {(family, tier) for family in FAMILIES for tier in TIERS}
    assert set(cells.values()) == {12}
    assert len(FAMILIES) >= 12


def test_problems_differ_and_a_longer_series_begins_with_a_shorter_one() -> None:
    assert len({p.instruction for p in PROBLEMS}) == len({p.id for p in PROBLEMS}) == len(PROBLEMS)
    assert list(instance_lines(generate(50, 11))) == list(instance_lines(PROBLEMS[:50]))
    assert {p.instruction for p in generate(50, 12)}.isdisjoint(p.instruction for p in PROBLEMS if p.strata["tier"] > 1)


def test_stories_read_on_with_pronouns() -> None:
    told = [p.instruction for p in PROBLEMS if p.strata["family"] == "garden"]
    assert all(re.match(r"(\w+) planted \d+ roses in the garden\. (?:She|He) planted", text) for text in told)
    assert all(problem.instruction.endswith(problem.shards[0].text) for problem in PROBLEMS)


def test_no_number_word_hides_in_a_template() -> None:
    for problem in PROBLEMS:
        for shard in problem.shards:
            text = re.sub("|".join(IN_WORDS), "", shard.text)
            hidden = [word for word in re.findall(r"[a-z]+", text) if word not in ("a", "and") and read_words(word)]
            assert set(hidden) <= {"half", "third", "quarter", "fifth"}, shard.text


def test_long_series_end_and_hardly_repeat() -> None:
    problems = list(generate(6400, seed=1))
    assert len({problem.id for problem in problems}) == 6400
    assert len({problem.instruction for problem in problems if problem.strata["tier"] > 1}) == 4800
    assert len({problem.instruction for problem in problems[:1000]}) == 1000
