"""The guard: what an LLM user may say. Each rule on a draft it must refuse and on one it must let pass."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.draft import Draft, chosen, was_asked
from simulator.guard import ADVICE, RULES, advice, check
from tasks.nouns import Message, Shard

REFERENCE = Path(__file__).parents[2] / "../shared/data/sharded_gsm8k_698.json"

OPENING = Shard(1, "how far is Elvis from his house?")
DRIVE = Shard(2, "Elvis drives west for 5 hours at 18 mph.")
TURN = Shard(3, "He does not stop in Memphis before he turns around.")
BACK = Shard(4, 'On the way back his sign says "Tupelo Honey" and he pays $7.50.')
ASKED = (Message("user", OPENING.text), Message("assistant", "Sure! How fast does he drive?"))


def rules(text: str, shard: Shard | None = DRIVE, **changes: object) -> set[str]:
    """The names of the rules a text breaks."""
    others = tuple(other for other in (DRIVE, TURN, BACK) if other is not shard)
    draft = Draft(text, shard, others=others, revealed=(OPENING,), said=ASKED, answer="90")
    return {violation.partition(":")[0] for violation in check(msgspec.structs.replace(draft, **changes))}


def test_a_good_rewording_passes() -> None:
    assert rules("he goes west for five hours, 18 miles an hour") == set()
    assert rules("oh and he doesn't stop in Memphis before turning around", TURN) == set()
    assert rules('on the way back he paid 7.50 dollars, his sign says "Tupelo Honey"', BACK) == set()
    assert rules("I don't know", None) == set()


@pytest.mark.parametrize(
    ("text", "shard", "broken"),
    [
        ("he drives west for a while at 18 mph", DRIVE, "missing_number"),
        ("he drives west for 5 at 18", DRIVE, "missing_unit"),
        ("on the way back he pays $7.50 and the sign says tupelo honey", BACK, "missing_quote"),
        ("he stops in Memphis before he turns around", TURN, "missing_negation"),
        ("he does not stop there before he turns around", TURN, "missing_name"),
        ("he doesn't drive west for 5 hours at 18 mph", DRIVE, "added_negation"),
        ("he does not like Memphis at all", TURN, "unsaid"),
        ("he drives west 5 hours at 18 mph and pays $7.50", DRIVE, "leak"),
        ("he drives west 5 hours at 18 mph, no stop in Memphis", DRIVE, "leak"),
        ("he drives west 5 hours at 18 mph, all 33 of it", DRIVE, "invented_number"),
        ("he drives west 5 hours at 18 mph, so it's 90 miles", DRIVE, "answer"),
        ("does he drive west for 5 hours at 18 mph?", DRIVE, "question"),
        ("<think>tell the speed</think>he drives west for 5 hours at 18 mph", DRIVE, "thinking"),
        ("as the user I say: he drives west for 5 hours at 18 mph", DRIVE, "meta_leak"),
        ("Assistant: he drives west for 5 hours at 18 mph", DRIVE, "role_slip"),
        ("let me calculate: he drives west for 5 hours at 18 mph", DRIVE, "role_slip"),
        ("he drives west for 5 hours at 18 mph " + "and on " * 60, DRIVE, "length"),
        ("", DRIVE, "length"),
        ("the way back costs him money, $7.50", None, "leak"),
    ],
)
def test_each_rule_refuses_what_it_is_for(text: str, shard: Shard | None, broken: str) -> None:
    assert broken in rules(text, shard)


def test_us_10_reasoning_is_not_delivered() -> None:
    wifi = Shard(2, "it needs wifi")
    draft = Draft(
        "<think>I should only give shard 2</think>it needs wifi", wifi, said=(Message("user", "I want a lamp"),)
    )
    assert "thinking" in {violation.partition(":")[0] for violation in check(draft)}


def test_us_11_untagged_reasoning_is_not_delivered() -> None:
    # Arguable: no pattern finds all of it. Here the words of the game, the number and the length give it away.
    wifi = Shard(2, "it needs wifi")
    text = "need wifi\n\nSo I am the user, not the assistant. The hidden spec says the budget is 40."
    found = check(Draft(text, wifi, said=(Message("user", "I want a lamp"),)))
    assert {"meta_leak", "invented_number"} <= {violation.partition(":")[0] for violation in found}


OLAF = (
    Shard(1, "How many toy cars does Olaf have in total, after receiving all these gifts?"),
    Shard(2, "Frankie has six more snakes than he has cats."),
    Shard(3, "Frankie has one less parrot than cats."),
    Shard(4, "Six of Frankie's pets have four legs."),
    Shard(5, "Dad gave Olaf 10 toy cars, 5 less than Mum."),
    Shard(6, "Auntie gave Olaf 6 toy cars."),
    Shard(7, "Leigh grabbed one-third of the shells that Kyle found."),
    Shard(8, "John hits 70% of his free throws."),
    Shard(9, "The female dog just had a litter of 6 puppies."),
)


@pytest.mark.parametrize(
    ("place", "text", "broken"),
    [
        (5, "10 toy cars, 5 less than Mum", "missing_subject"),
        (6, "Ola gave 6 toy cars", "missing_subject"),
        (7, "one-third of the shells that Kyle found", "missing_subject"),
        (3, "Frankie has one less parrot than cats, and six more snakes than he has cats.", "leak"),
        (8, "John does not hit 70% of his free throws at all.", "added_negation"),
        (9, "oh, 6 of that fact is missing", "unsaid"),
        (9, "Let's assume the female dog just had a litter of 6 puppies.", "role_slip"),
    ],
)
def test_what_a_weak_model_said_as_user_is_refused(place: int, text: str, broken: str) -> None:
    """Texts of a model with 0.5 billion parameters, each of which an earlier guard let pass."""
    shard = OLAF[place - 1]
    others = tuple(other for other in OLAF[1:] if other is not shard)
    draft = Draft(text, shard, others, OLAF[:1], (Message("user", OLAF[0].text),))
    assert broken in {violation.partition(":")[0] for violation in check(draft)}


def test_a_name_that_is_known_may_be_a_pronoun() -> None:
    known = Shard(3, "Later Elvis turns around in Memphis.")
    assert rules("later he turns around in Memphis", known) == set()


def test_what_the_assistant_said_is_not_copied_unless_it_is_the_shard() -> None:
    said = (*ASKED[:1], Message("assistant", "Tell me: does he drive straight to the west for 5 hours at 18 mph?"))
    assert "copy" not in rules("he drives west for 5 hours at 18 mph", said=said)
    long = "the total distance from the house to the turning point along the road"
    said = (*ASKED[:1], Message("assistant", f"I need {long} to go on."))
    assert "copy" in rules(f"{long}: 5 hours west at 18 mph", said=said)


def test_a_repeat_is_refused_unless_the_shard_itself_is_one() -> None:
    said = (Message("user", OPENING.text), Message("user", "he does not stop in Memphis before turning"), ASKED[1])
    assert "repeat" in rules("he does not stop in Memphis before turning", DRIVE, said=said)
    assert "repeat" not in rules("he does not stop in Memphis before turning", TURN, said=said)


def test_nothing_may_only_be_said_to_a_request() -> None:
    silent = (*ASKED[:1], Message("assistant", "He is 90 miles away."))
    assert "nothing_asked" in rules("I don't know", None, said=silent)
    assert was_asked(ASKED)
    assert not was_asked(silent)
    assert not was_asked(())


# -- ids (user-sim-leak) ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shard_id", [2, "2", 2.0, " 2 "])
def test_us_01_an_id_is_coerced(shard_id: object) -> None:
    assert chosen(shard_id, (DRIVE, TURN)) is DRIVE


@pytest.mark.parametrize("shard_id", [99, 1, None, True, "two", "", 2.5, [2], -2, "9" * 30])
def test_us_02_an_invented_or_revealed_id_is_refused(shard_id: object) -> None:
    with pytest.raises(LookupError):
        chosen(shard_id, (DRIVE, TURN))


@pytest.mark.parametrize("shard_id", [-1, "-1", -1.0])
def test_one_id_reveals_nothing(shard_id: object) -> None:
    assert chosen(shard_id, (DRIVE,)) is None


# -- the rules as a whole -----------------------------------------------------------------------------------------


def test_every_rule_has_its_advice() -> None:
    assert RULES.keys() <= ADVICE.keys()
    assert advice("missing_number: 5, 18") == "The number 5, 18 of that fact is missing."
    assert "{" not in "".join(advice(f"{rule}: x") for rule in ADVICE)
    assert advice("leak: {detail} {0}").endswith("{detail} {0}.")


WORDS = st.lists(
    st.sampled_from(["Anna", "sold", "twelve", "3", "$4.50", "25%", "pears", "never", "in", "May", '"x y"', "hours"]),
    min_size=1,
    max_size=8,
).map(" ".join)


@settings(deadline=None)
@given(WORDS, st.lists(WORDS, max_size=3), st.lists(WORDS, max_size=3))
def test_a_shard_as_written_says_all_of_itself_and_nothing_else(own: str, others: list[str], before: list[str]) -> None:
    draft = Draft(
        own,
        Shard(9, own),
        others=tuple(Shard(n, text) for n, text in enumerate(others, 10)),
        revealed=tuple(Shard(n, text) for n, text in enumerate(before, 1)),
        said=tuple(Message("user", text) for text in before),
    )
    assert check(draft) == ()


@settings(deadline=None, max_examples=150)
@given(st.text(max_size=80), WORDS, st.text(max_size=40))
def test_any_text_is_checked(text: str, own: str, reply: str) -> None:
    said = (Message("user", "hello"), Message("assistant", reply))
    assert isinstance(check(Draft(text, Shard(2, own), (Shard(3, text),), (), said, answer=reply)), tuple)


@pytest.mark.skipif(not REFERENCE.exists(), reason="the published instructions are not here")
def test_no_shard_of_the_published_maths_instructions_is_refused_as_written() -> None:
    refused = []
    for row in msgspec.json.decode(REFERENCE.read_bytes())[::15]:
        shards = [Shard(shard["shard_id"], shard["shard"]) for shard in row["shards"] if shard["shard"]]
        said = [Message("user", shards[0].text)]
        for place, shard in enumerate(shards[1:], 1):
            draft = Draft(shard.text, shard, tuple(shards[place + 1 :]), tuple(shards[:place]), tuple(said))
            refused += check(draft)
            said.append(Message("user", shard.text))
    assert refused == []
