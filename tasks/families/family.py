"""What a family of word problems is, and how one problem is made from it.

A family is data: its facts in the order they are told, each with its numbers and its wordings, the question, how many facts
a tier takes, and the calculation. A problem takes the first so many facts, draws numbers until every step of the calculation
is sensible, and says each fact in a sentence of its own. Since every sentence stands alone (names instead of pronouns,
days or places instead of `then`), the shards may be said in any order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

from tasks.nouns import Instance, Shard

#: As in a shard: a whole number, or a decimal or a fraction as text.
Number = int | str

TIMES = {2: "twice", 3: "three times", 4: "four times", 5: "five times"}
PARTS = {"1/2": "half", "1/3": "a third", "1/4": "a quarter", "1/5": "a fifth"}

_DRAWS = 5000


class Values(dict[str, Fraction]):
    """The numbers of a problem by fact; a fact the problem does not have counts 0."""

    def __missing__(self, name: str) -> Fraction:
        return Fraction(0)


@dataclass(frozen=True)
class Fact:
    """One number of a problem and the sentences that tell it.

    Attributes:
        numbers: what may be drawn; `easy` instead of them in tier 1 (a small model adds 2 and 3, but not 3 and 10).
        texts: whole sentences, alike in content, the plainest first (tier 1 takes it). `{n}` is the number; `{times}` (twice)
            and `{part}` (half) say it in words.
    """

    name: str
    numbers: Sequence[Number]
    texts: tuple[str, ...]
    easy: Sequence[Number] = (2, 3, 4, 5)


@dataclass(frozen=True)
class Family:
    """A kind of word problem.

    Attributes:
        cast: slot -> what may fill it; in one problem everybody and everything is different.
        questions: number of facts -> wordings of the question that hold from that number on.
        tiers: tier -> how many facts a problem may have (facts that only make sense together come together).
        steps: the calculation; yields quantities on the way that have to be sensible, and the answer last.
        money: quantities are in dollars and may have cents; otherwise they are whole.
    """

    name: str
    cast: Mapping[str, Sequence[Any]]
    questions: Mapping[int, tuple[str, ...]]
    facts: tuple[Fact, ...]
    tiers: Mapping[int, tuple[int, ...]]
    steps: Callable[[Values], Iterator[Fraction]]
    money: bool = False

    def problem(self, id: str, tier: int, rng: Random) -> Instance:
        """One problem of a tier; the same random state gives the same problem."""
        facts = self.facts[: rng.choice(self.tiers[tier])]
        numbers, answer = self._numbers(facts, tier, rng)
        cast = self._fill_cast(rng)
        texts = [rng.choice(fact.texts[:1] if tier == 1 else fact.texts) for fact in facts]
        asked = rng.choice(self.questions[max(count for count in self.questions if count <= len(facts))]).format(**cast)
        said, told = (
            [text.format(**cast, **_spellings(number)) for text, number in zip(version, numbers.values(), strict=True)]
            for version in (texts, _with_pronouns(texts))
        )
        return Instance(
            id=id,
            task="math",
            shards=tuple(Shard(number, text) for number, text in enumerate([asked, *said], start=1)),
            instruction=" ".join([*told, asked]),
            target=_as_text(answer, money=self.money),
            facts=dict(numbers),
            strata={"family": self.name, "tier": tier, "shards": len(said) + 1},
        )

    def _numbers(self, facts: Sequence[Fact], tier: int, rng: Random) -> tuple[dict[str, Number], Fraction]:
        """A number for each fact, no two alike, with which the calculation is sensible; and its result."""
        for _ in range(_DRAWS):
            numbers = {fact.name: rng.choice(fact.easy if tier == 1 else fact.numbers) for fact in facts}
            values = Values({name: Fraction(number) for name, number in numbers.items()})
            quantities = list(self.steps(values))
            if len(set(values.values())) == len(values) and all(map(self._is_sensible, quantities)):
                return numbers, quantities[-1]
        raise RuntimeError(f"family {self.name}, tier {tier}: no sensible numbers in {_DRAWS} draws")

    def _is_sensible(self, quantity: Fraction) -> bool:
        return quantity > 0 and (quantity * (100 if self.money else 1)).denominator == 1

    def _fill_cast(self, rng: Random) -> dict[str, Any]:
        cast: dict[str, Any] = {}
        for slot, pool in self.cast.items():
            cast[slot] = rng.choice([one for one in pool if one not in cast.values()])
        return cast


def _spellings(number: Number) -> dict[str, str]:
    spellings = {"n": str(number)}
    if number in TIMES:
        spellings["times"] = TIMES[int(number)]
    if number in PARTS:
        spellings["part"] = PARTS[str(number)]
    return spellings


#: A sentence about a person: an optional adverbial, the person, perhaps as an owner.
_ABOUT = re.compile(r"^(?P<when>(?:[A-Z][^{},]*, )?)\{(?P<slot>[A-G])\}(?P<owner>'s)?(?= )")
_PERSON = re.compile(r"\{([A-G])[.}]")


def _with_pronouns(texts: Sequence[str]) -> list[str]:
    """The sentences as one story: the name of who was just talked about becomes a pronoun, but not twice in a row."""
    story: list[str] = []
    for previous, text in zip(["", *texts], texts, strict=False):
        about, before = _ABOUT.match(text), set(_PERSON.findall(previous))
        clear = about is not None and before == {about["slot"]} and _ABOUT.match(previous) is not None
        if clear and story[-1] == previous:
            text = _ABOUT.sub(_pronoun, text)
        story.append(text)
    return story


def _pronoun(about: re.Match[str]) -> str:
    word = "his" if about["owner"] else "he"
    return f"{about['when']}{{{about['slot']}.{word if about['when'] else word.title()}}}"


def _as_text(answer: Fraction, *, money: bool) -> str:
    """A whole number as such, an amount of money with its cents."""
    whole, rest = divmod(answer, 1)
    return f"{whole}.{int(rest * 100):02d}" if money and rest else str(whole)
