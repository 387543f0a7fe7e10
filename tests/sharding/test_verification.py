"""Verification by simulation: the decision is that of all runs, with fewer of them; and the variants of GRADUAL."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharding.gradual import merged, variants
from sharding.nouns import Sharding
from sharding.verification import MODES, verify
from tasks.nouns import Shard


def decide(scores):
    """The figures for scores by mode; a run beyond the planned ones is an error."""

    async def play(mode, number):
        return scores[mode][number]

    return asyncio.run(verify(play, len(scores["full"])))


def rule(scores):
    """The paper's rule on all runs, in whole hundredths so that nothing is rounded."""
    full, concat, shuffled = (sum(round(100 * score) for score in scores[mode]) for mode in MODES)
    if full == 0:
        return "unsolved"
    return "accepted" if 10 * concat >= 8 * full and 10 * shuffled >= 8 * full else "refused"


def runs(n, score):
    return st.lists(score, min_size=n, max_size=n)


SCORE = st.one_of(st.sampled_from([0.0, 1.0]), st.integers(0, 100).map(lambda percent: percent / 100))
CASES = st.integers(1, 10).flatmap(lambda n: st.fixed_dictionaries({mode: runs(n, SCORE) for mode in MODES}))


@settings(deadline=None, max_examples=300)
@given(CASES)
def test_stopping_early_never_changes_the_decision(scores):
    figures = decide(scores)
    assert figures.runs <= 3 * len(scores["full"])
    assert figures.outcome == rule(scores)
    assert [len(figures.scores[mode]) for mode in MODES] == [figures.summary()["runs"][mode] for mode in MODES]


@pytest.mark.parametrize(
    ("full", "concat", "shuffled", "outcome", "most"),
    [
        ([1] * 10, [1] * 10, [1] * 10, "accepted", 17),
        ([1] * 10, [1] * 8 + [0] * 2, [1] * 10, "accepted", 20),  # 80 % of FULL is enough
        ([1] * 10, [1] * 7 + [0] * 3, [1] * 10, "refused", 30),  # 70 % is not
        ([1] * 10, [0] * 10, [1] * 10, "refused", 20),
        ([1] * 10, [1] * 10, [0] * 10, "refused", 20),  # told in another order it is lost
        ([0] * 10, [1] * 10, [1] * 10, "unsolved", 10),
        ([0, 1] * 5, [1, 0] * 5, [1, 0] * 5, "accepted", 30),
        ([0] * 9 + [1], [1] + [0] * 9, [0] * 10, "refused", 30),
    ],
)
def test_small_cases(full, concat, shuffled, outcome, most):
    figures = decide(dict(zip(MODES, (full, concat, shuffled), strict=True)))
    assert figures.outcome == outcome
    assert figures.runs <= most


# -- GRADUAL --------------------------------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from(["One fig.", "Two figs", "No figs!"]), min_size=2, max_size=10), st.data())
def test_merged_shards_say_the_same_in_the_same_order(texts, data):
    shards = [Shard(number, text) for number, text in enumerate(["How many?", *texts], 1)]
    n = data.draw(st.integers(2, len(shards)))
    made = merged(shards, n)
    assert [shard.id for shard in made] == list(range(1, n + 1))
    assert made[0].text == "How many?"
    said = " ".join(shard.text for shard in made)
    assert said.replace(".", "").split() == " ".join(shard.text for shard in shards).replace(".", "").split()
    sizes = [shard.text.count("ig") for shard in made[1:]]
    assert max(sizes) - min(sizes) <= 1


def test_variants_run_from_two_to_one_less_than_all():
    texts = ["How many figs are there?", "Ann has 2 figs.", "Bob has 3 figs.", "Carl has 4 figs.", "Dora has 5 figs."]
    whole = Sharding(" ".join([*texts[1:], texts[0]]), tuple(Shard(n, text) for n, text in enumerate(texts, 1)))
    made = variants(whole)
    assert {n: len(shards) for n, shards in made.items()} == {"2": 2, "3": 3, "4": 4}
    assert made["2"][1].text == "Ann has 2 figs. Bob has 3 figs. Carl has 4 figs. Dora has 5 figs."
    assert [shard.text for shard in made["3"]][1:] == [
        "Ann has 2 figs. Bob has 3 figs.",
        "Carl has 4 figs. Dora has 5 figs.",
    ]
