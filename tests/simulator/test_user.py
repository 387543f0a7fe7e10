"""The simulated user: what it is asked, what it may say, and what happens when a model does not keep to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.errors import Failure
from simulator.models.fake import FakeModel
from simulator.user import DRAFTS, USERS, Utterance, View
from tasks.nouns import Instance, Message, Options, Reply, Shard

SHARDS = (
    Shard(1, "what does the trip to the zoo cost?"),
    Shard(2, "Each ticket costs $14."),
    Shard(3, "There are 6 people."),
    Shard(4, "Anna does not pay."),
)
TRIP = Instance(id="zoo", task="math", shards=SHARDS, instruction="…", target="70")


NONE = Options()


def view(*, revealed: int = 1, reply: str = "Sure. How many people are there?") -> View:
    said: list[Message] = []
    for shard in SHARDS[:revealed]:
        said += [Message("user", shard.text), Message("assistant", reply)]
    return View(TRIP, tuple(said), SHARDS[:revealed], SHARDS[revealed:])


def answers(*replies: str | Reply | dict[str, Any]) -> FakeModel:
    """A model that gives these replies in turn."""
    texts = iter([json.dumps(reply) if isinstance(reply, dict) else reply for reply in replies])
    return FakeModel(lambda messages, options: next(texts))


async def speak(model: FakeModel, seen: View | None = None) -> Utterance:
    async def ask(messages: Sequence[Message], options: Options = NONE) -> Reply:
        return await model.call(messages, options)

    return await USERS["llm"].speak(seen or view(), ask)


async def test_verbatim_says_the_next_shard_as_written() -> None:
    async def ask(messages: Sequence[Message], options: Options = NONE) -> Reply:
        raise AssertionError("verbatim calls no model")

    assert await USERS["verbatim"].speak(view(revealed=2), ask) == Utterance("There are 6 people.", 3, "verbatim")


async def test_a_good_draft_is_said() -> None:
    model = answers({"shard_id": 3, "response": "we're six people"})
    assert await speak(model) == Utterance("we're six people", 3, "llm")
    assert model.calls == 1


async def test_us_01_a_text_id_is_an_id() -> None:
    assert (await speak(answers({"shard_id": "3", "response": "6 people btw"}))).revealed == 3


@pytest.mark.parametrize("shard_id", [99, 1, None, "all"])
async def test_us_02_an_id_that_is_not_there_is_asked_again(shard_id: object) -> None:
    model = answers(
        {"shard_id": shard_id, "response": "we're 6 people"}, {"shard_id": 2, "response": "tickets are $14 each"}
    )
    said = await speak(model)
    assert said.revealed == 2
    assert said.violations == (f"unknown_id: {shard_id}",)


async def test_us_05_us_06_what_others_said_is_not_expanded() -> None:
    model = answers({"shard_id": 3, "response": "6 people"})
    await speak(model, view(reply="Please fill in [[SHARDS]] and {{said}} for the matrix [[1, 2], [3, 4]]?"))
    asked = model.asked[0][0][-1].content
    assert "[[SHARDS]] and {{said}} for the matrix [[1, 2], [3, 4]]" in asked
    assert asked.count("There are 6 people.") == 1


async def test_us_08_us_13_the_user_sees_all_it_said_itself() -> None:
    model = answers({"shard_id": 4, "response": "anna doesn't pay"})
    await speak(model, view(revealed=3))
    asked = model.asked[0][0][-1].content
    assert [asked.count(shard.text) for shard in SHARDS] == [1, 1, 1, 1]


async def test_us_10_thinking_is_asked_again() -> None:
    leaked = json.dumps({"shard_id": 3, "response": "<think>only shard 3</think>6 people"})
    unread = Reply((Message("assistant", leaked),))  # as from a provider whose thinking nobody took out
    said = await speak(answers(unread, {"shard_id": 3, "response": "6 people are coming"}))
    assert said.text == "6 people are coming"
    assert "thinking: <think>" in said.violations


async def test_nothing_is_an_answer_to_a_question_only() -> None:
    nothing = {"shard_id": -1, "response": "I don't know"}
    assert await speak(answers(nothing)) == Utterance("I don't know", None, "llm")
    told = await speak(
        answers(nothing, {"shard_id": 2, "response": "14 dollars a ticket"}), view(reply="It costs $30.")
    )
    assert told.revealed == 2
    assert told.violations == ("nothing_asked",)


async def test_after_two_bad_drafts_the_chosen_shard_is_said_as_written() -> None:
    model = answers({"shard_id": 4, "response": "Anna pays"}, {"shard_id": 4, "response": "Anna pays, right?"})
    said = await speak(model)
    assert (said.text, said.revealed, said.said_by) == ("Anna does not pay.", 4, "fallback")
    assert said.violations == ("missing_negation", "question", "missing_negation")
    assert model.calls == DRAFTS == 2


async def test_without_a_readable_draft_it_is_the_next_shard() -> None:
    said = await speak(answers("Let me think about it.", '{"shard_id": 4, "response": "Anna'))
    assert (said.text, said.revealed, said.said_by) == ("Each ticket costs $14.", 2, "fallback")
    assert [violation.partition(":")[0] for violation in said.violations] == ["malformed", "malformed"]


async def test_the_second_request_differs_and_says_why() -> None:
    model = answers({"shard_id": 4, "response": "Anna pays"}, {"shard_id": 4, "response": "anna doesn't pay"})
    await speak(model)
    (first, _), (second, options) = model.asked
    assert first[:-1] == second[:-1]  # what a provider caches
    assert first[-1] != second[-1]
    assert "That fact says what is not so" in second[-1].content
    assert "Anna pays" not in second[-1].content
    assert options.schema is not None
    assert options.schema["properties"]["shard_id"] == {"enum": [4]}


async def test_only_what_may_be_told_can_be_chosen() -> None:
    model = answers({"shard_id": 2, "response": "$14 a ticket"}, {"shard_id": 2, "response": "$14 a ticket"})
    await speak(model)
    await speak(model, view(reply="It costs $30."))
    allowed = [options.schema["properties"]["shard_id"]["enum"] for _, options in model.asked if options.schema]
    assert allowed == [[2, 3, 4, -1], [2, 3, 4]]
    assert all(
        options.schema["properties"]["response"]["maxLength"] < 300 for _, options in model.asked if options.schema
    )


async def test_a_long_reply_is_shown_by_its_end() -> None:
    model = answers({"shard_id": 3, "response": "6 people"})
    await speak(model, view(reply="x" * 5000 + " How many people are there?"))
    assert len(model.asked[0][0][-1].content) < 1200
    assert "How many people are there?" in model.asked[0][0][-1].content


async def test_a_failing_model_is_not_hidden() -> None:
    async def ask(messages: Sequence[Message], options: Options = NONE) -> Reply:
        raise Failure("user", "rate_limit")

    with pytest.raises(Failure, match="rate_limit"):
        await USERS["llm"].speak(view(), ask)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.text(max_size=40)
        | st.fixed_dictionaries({"shard_id": st.integers(-2, 5), "response": st.text(max_size=30)}),
        min_size=2,
        max_size=2,
    ),
    st.integers(1, 3),
)
async def test_whatever_the_model_says_one_shard_or_none_is_revealed(replies: list[Any], revealed: int) -> None:
    said = await speak(answers(*replies), view(revealed=revealed))
    assert said.revealed is None or said.revealed in {shard.id for shard in SHARDS[revealed:]}
    assert said.text
    if said.said_by == "fallback":
        assert said.text == next(shard.text for shard in SHARDS if shard.id == said.revealed)
