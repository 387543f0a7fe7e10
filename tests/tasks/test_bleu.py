"""Free text against references: sacrebleu's arithmetic, applied so that right is 1 and nothing is wrong for its form."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.bleu import answer_text, bleu
from tasks.nouns import Instance, Shard
from tasks.translation import TranslationTask

texts = st.text(alphabet=st.sampled_from('ab cd.\n,:’"*-#`[]9é中'), max_size=200)


def plain_bleu(answer: list[str], reference: list[str]) -> float:
    """BLEU-4 straight from its definition (Papineni et al. 2002), for tokens with at least one match of each order."""
    logs = []
    for n in range(1, 5):
        said, true = (Counter(zip(*(words[i:] for i in range(n)), strict=False)) for words in (answer, reference))
        logs.append(math.log((said & true).total() / said.total()))
    brevity = min(0.0, 1 - len(reference) / len(answer))
    return math.exp(brevity + sum(logs) / 4)


def test_value_is_the_definition() -> None:
    reference = "the old bakery in the village closes on saturday after a hundred years of work"
    answer = "the old bakery in our village closes on saturday after a hundred years"
    assert bleu(answer, [reference]).value == pytest.approx(plain_bleu(answer.split(), reference.split()), abs=1e-12)


def test_every_answer_meets_its_own_reference() -> None:
    """BL-01: two answers, one right: the mean is 50, not the 100 that mixed-up reference lists give."""
    answers, references = ["A B C D E", "F G H I J"], ["A B C D E", "X Y Z W V"]
    values = [bleu(a, [r]).value for a, r in zip(answers, references, strict=True)]
    assert values == [1.0, 0.0]


@pytest.mark.parametrize("answer", ["", "  \n"])
def test_empty_answer_is_zero(answer: str) -> None:
    """BL-03: nothing said is worth nothing, and does not push the next answer onto another reference."""
    score = bleu(answer, ["A"])
    assert (score.value, score.correct, score.status) == (0.0, False, "no_answer")
    assert bleu("B C D E", ["B C D E"]).value == 1.0


async def test_announcement_is_taken_off() -> None:
    """BL-05, arguable: we strip an announcement before scoring, since politeness says nothing of the translation.

    `extract` does it, so the value of the raw text stays available: 55.94.
    """
    raw, reference = "Here is the translation:\n\nThe cat sat on the mat today.", "The cat sat on the mat today."
    task, instance = (
        TranslationTask(),
        Instance(id="i", task="translation", shards=(), instruction="", target=[reference]),
    )
    assert (await task.score(raw, instance)).value == pytest.approx(0.5594, abs=1e-4)
    answer = await task.extract(raw, instance)
    assert answer == reference
    assert (await task.score(answer, instance)).value == 1.0


@pytest.mark.parametrize("text", ["The dog bit the man.", "Two words", "Yes", "a b c d e f g " * 40])
def test_perfect_answer_is_exactly_one(text: str) -> None:
    """BL-06, and traps 20 and 82: neither 1.0000000000000004 nor 0 for an answer of fewer than four words."""
    score = bleu(text, [text])
    assert score.value == 1.0
    assert score.correct


def test_case_counts_and_is_said() -> None:
    """BL-08."""
    score = bleu("The Cat Is On The Mat", ["the cat is on the mat"])
    assert score.value == 0.0
    assert "case:mixed" in score.details["signature"]


def test_details_say_how() -> None:
    details = bleu("a b c d", ["a b c d", "a b c e"]).details
    assert details["signature"].startswith("nrefs:2|case:mixed|eff:yes|tok:13a|smooth:exp|version:")
    assert details["brevity_penalty"] == 1.0


def test_any_reference_will_do() -> None:
    references = ["The first way to say it is this one.", "One could also put it like that."]
    assert [bleu(r, references).correct for r in references] == [True, True]
    assert bleu("The first way to put it is that one.", references).value < 1


@pytest.mark.parametrize(
    "reply",
    [
        "Sure! Here's the translation of the whole text so far:\n\n{}",
        "Certainly, I can do that.\n\nHere is the updated English translation:\n{}",
        "**Translation:**\n\n{}",
        "Translation: {}",
        "The updated translation so far:\n{}",
        "### Description\n{}".replace("Description", "Description:"),
        "```\n{}\n```",
        "```text\n{}```",
        "“{}”",
        '"{}"',
        'Here is the sentence:\n\n"{}"',
        "  {}\n",
    ],
)
def test_what_stands_around_an_answer(reply: str) -> None:
    answer = "The last bakery closes on Saturday.\nNobody knows why: not even the baker."
    assert answer_text(reply.format(answer)) == answer


@pytest.mark.parametrize(
    "answer",
    [
        "Here is where the river begins: at a small spring.",
        "Translation is an art.",
        "“No,” she said. “Never.”",
        "Three things matter:\n\nLight, water and time.",
        "Sure enough, it rained.",
        "Here are the rules:\n\nNo bicycles.",
        "The sentence was two years in prison.",
    ],
)
def test_an_answer_that_only_looks_like_more(answer: str) -> None:
    assert answer_text(answer) == answer


@given(texts)
@settings(deadline=None)
def test_an_answer_is_never_lost(reply: str) -> None:
    assert bool(answer_text(reply)) == bool(reply.strip())


@given(texts, st.lists(texts.filter(lambda t: bool(t.strip())), min_size=1, max_size=3))
@settings(deadline=None)
def test_any_text_has_a_value(answer: str, references: list[str]) -> None:
    score = bleu(answer, references)
    assert 0.0 <= score.value <= 1.0
    if answer in references:
        assert score.value in (0.0, 1.0)  # 0 where the tokenizer finds nothing in it


async def test_long_text_is_scored_all_the_same() -> None:
    task = TranslationTask()
    text = "Word after word after word. " * 500
    instance = Instance(id="i", task="translation", shards=(Shard(1, "x"),), instruction="", target=[text])
    assert (await task.score(text, instance)).value == 1.0
