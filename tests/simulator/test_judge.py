"""Judges: label and answer of a reply; what a model judge says is quoted from the reply, or it fails as a judge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from simulator.errors import Failure
from simulator.hearing import TRIES, read_label
from simulator.judge import JUDGES
from simulator.models.fake import FakeModel
from simulator.record import Judgement
from simulator.structured import Malformed
from tasks.nouns import TURN_CLASSES, Instance, Message, Options, Reply, Shard, TurnClass
from tasks.task import Task

SUM = Instance(id="sum", task="sums", shards=(Shard(1, "what do we pay?"),), instruction="…", target="37")
REPLY = "Let me add that up. So the result is **37**."


NONE = Options()


class Sums(Task):
    """Answers are numbers; a reply with a digit is an attempt."""

    name = "sums"
    answer_form = "one number"

    async def classify(self, reply: str, instance: Instance) -> TurnClass:
        return "answer_attempt" if any(map(str.isdigit, reply)) else "discussion"

    async def extract(self, reply: str, instance: Instance) -> str | None:
        words = (word.strip("*.") for word in reply.split())
        return next((word for word in words if word.strip("$").replace(",", "").isdigit()), None)


class Programs(Sums):
    name, extraction = "programs", "rules"


class Captions(Sums):
    name, answers_every_turn = "captions", True


def answers(*replies: str | dict[str, Any]) -> FakeModel:
    texts = iter([json.dumps(reply) if isinstance(reply, dict) else reply for reply in replies])
    return FakeModel(lambda messages, options: next(texts))


async def judged(name: str, model: FakeModel, reply: str = REPLY, task: Task | None = None) -> Judgement:
    async def ask(messages: Sequence[Message], options: Options = NONE) -> Reply:
        return await model.call(messages, options)

    return await JUDGES[name].judge(reply, task or Sums(), SUM, ask)


# -- without a model ----------------------------------------------------------------------------------------------


async def test_rules_ask_the_task_alone() -> None:
    model = answers()
    assert await judged("rules", model) == Judgement(by="rules", label="answer_attempt", answer="37")
    assert await judged("rules", model, "Well.") == Judgement(by="rules", label="discussion")
    assert model.calls == 0


@pytest.mark.parametrize("name", JUDGES)
async def test_cl_08_tasks_that_answer_every_turn_need_no_judge(name: str) -> None:
    model = answers()
    assert await judged(name, model, task=Captions()) == Judgement(by="task", label="answer_attempt", answer="37")
    assert model.calls == 0


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("reply", ["", " \n"])
async def test_an_empty_reply_is_missing_without_a_model(name: str, reply: str) -> None:
    model = answers()
    assert (await judged(name, model, reply)).label == "missing"
    assert model.calls == 0


# -- one call -----------------------------------------------------------------------------------------------------


async def test_one_call_labels_and_quotes() -> None:
    model = answers({"response_type": "answer_attempt", "answer": "37"})
    assert await judged("llm", model) == Judgement(by="llm", label="answer_attempt", answer="37")
    (messages, options), *more = model.asked
    assert not more
    assert REPLY in messages[-1].content
    assert "one number" in messages[-1].content
    assert options.temperature == 0.0


async def test_the_schema_names_the_classes_and_bounds_the_answer() -> None:
    model = answers({"response_type": "hedge", "answer": ""})
    await judged("llm", model)
    schema = model.asked[0][1].schema
    assert schema is not None
    assert schema["properties"]["response_type"]["enum"] == list(TURN_CLASSES)
    assert schema["properties"]["answer"]["maxLength"] <= 1000
    assert set(schema["required"]) == set(schema["properties"])


@pytest.mark.parametrize("label", [label for label in TURN_CLASSES if label != "answer_attempt"])
async def test_only_an_attempt_has_an_answer(label: str) -> None:
    assert await judged("llm", answers({"response_type": label, "answer": "37"})) == Judgement(by="llm", label=label)  # type: ignore[arg-type]


async def test_xm_25_a_number_is_text() -> None:
    assert (await judged("llm", answers({"response_type": "answer_attempt", "answer": 37}))).answer == "37"


async def test_a_number_may_be_written_otherwise_and_is_returned_as_said() -> None:
    model = answers({"response_type": "answer_attempt", "answer": "1000"})
    assert (await judged("llm", model, "It costs $1,000 in all.")).answer == "$1,000"


async def test_an_answer_that_is_not_in_the_reply_is_asked_again_with_the_reason() -> None:
    model = answers(
        {"response_type": "answer_attempt", "answer": "42"}, {"response_type": "answer_attempt", "answer": "37"}
    )
    assert (await judged("llm", model)).answer == "37"
    (first, _), (second, _) = model.asked
    assert second[0] == first[0]
    assert second[1].content.startswith(first[1].content)
    assert '"42" does not stand in the reply' in second[-1].content


async def test_a_copy_of_the_whole_reply_is_asked_again() -> None:
    reply = "We add up. " * 40 + "So the result is 37."
    whole, part = ({"response_type": "answer_attempt", "answer": answer} for answer in (reply, "the result is 37"))
    assert (await judged("llm", answers(whole, part), reply)).answer == "the result is 37"


async def test_a_quotation_that_is_not_in_the_tasks_form_is_asked_again() -> None:
    model = answers(
        {"response_type": "answer_attempt", "answer": "Let me add that up"},
        {"response_type": "answer_attempt", "answer": "37"},
    )
    assert (await judged("llm", model)).answer == "37"
    assert "one number" in model.asked[1][0][-1].content.rpartition("Let me add that up")[2]


@pytest.mark.parametrize(
    "answer",
    ["42", "", None, True, ["37"], {"value": 37}, "SELECT a [...] LIMIT 3"],
    ids=lambda answer: type(answer).__name__,
)
@pytest.mark.parametrize("name", ["llm", "llm-paper"])
async def test_a_judge_that_never_quotes_the_reply_fails(name: str, answer: object) -> None:
    # "A judge that fails is a judge failure, never an empty answer": the conversation is owed again.
    said = {"response_type": "answer_attempt", "answer": answer}
    model = answers(*[said] * (3 + TRIES))
    with pytest.raises(Failure) as caught:
        await judged(name, model)
    assert (caught.value.party, caught.value.cause) == ("judge", "malformed")


async def test_a_judge_that_cannot_quote_chooses_a_statement() -> None:
    reply = "There are 7 of them.\nNo wait. So the result is **37**. Anything else?"
    wrong = {"response_type": "answer_attempt", "answer": "42"}
    model = answers(wrong, wrong, {"number": 2})
    assert await judged("llm", model, reply) == Judgement(
        by="llm", label="answer_attempt", answer="So the result is **37**."
    )
    messages, options = model.asked[-1]
    assert "1: There are 7 of them.\n2: So the result is **37**." in messages[-1].content
    assert options.schema is not None
    assert options.schema["properties"]["number"] == {"enum": [0, 1, 2]}


async def test_an_attempt_none_of_whose_statements_answers_is_none() -> None:
    wrong = {"response_type": "answer_attempt", "answer": "42"}
    assert await judged("llm", answers(wrong, wrong, {"number": 0})) == Judgement(by="llm", label="discussion")


@pytest.mark.parametrize("number", [2, -1, "x", None, True])
async def test_a_statement_that_is_not_there_is_asked_again(number: object) -> None:
    wrong = {"response_type": "answer_attempt", "answer": "42"}
    model = answers(wrong, wrong, {"number": number}, {"number": "1"})
    assert (await judged("llm", model)).answer == "So the result is **37**."


async def test_no_prompt_is_sent_twice() -> None:
    model = answers("no idea", '{"response_type": "refuse|missing"}', '{"response_type": "hedge", "answer": ""')
    with pytest.raises(Failure):
        await judged("llm", model)
    prompts = [messages for messages, _ in model.asked]
    assert len(prompts) == TRIES == 3
    assert len(set(prompts)) == 3


async def test_an_unreadable_reply_is_asked_again() -> None:
    model = answers('{"response_type": "answer_att', {"response_type": "discussion", "answer": ""})
    assert (await judged("llm", model)).label == "discussion"


async def test_where_rules_extract_the_model_only_labels() -> None:
    model = answers({"response_type": "answer_attempt"}, {"response_type": "hedge"})
    assert await judged("llm", model, task=Programs()) == Judgement(by="llm", label="answer_attempt", answer="37")
    assert await judged("llm", model, task=Programs()) == Judgement(by="llm", label="hedge")
    assert all("answer" not in options.schema["properties"] for _, options in model.asked if options.schema)


async def test_replies_are_not_expanded_as_templates() -> None:
    model = answers({"response_type": "discussion", "answer": ""})
    await judged("llm", model, "fill in {{request}} and {{classes}} please")
    assert "{{request}} and {{classes}}" in model.asked[0][0][-1].content


# -- two calls ----------------------------------------------------------------------------------------------------


async def test_the_papers_form_extracts_in_a_second_call() -> None:
    model = answers({"response_type": "answer_attempt"}, {"answer": "the result is 37"})
    assert await judged("llm-paper", model) == Judgement(
        by="llm-paper", label="answer_attempt", answer="the result is **37"
    )
    assert model.calls == 2


async def test_the_papers_form_extracts_only_attempts() -> None:
    model = answers({"response_type": "clarification"})
    assert await judged("llm-paper", model) == Judgement(by="llm-paper", label="clarification")
    assert model.calls == 1


async def test_the_papers_form_takes_a_shortened_quotation() -> None:
    model = answers({"response_type": "answer_attempt"}, {"answer": "Let me add [...] result is 37"})
    assert (await judged("llm-paper", model)).answer == "Let me add that up. So the result is **37"


# -- labels -------------------------------------------------------------------------------------------------------


def label(text: str) -> str:
    return read_label(Reply((Message("assistant", text),)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"response_type": "Answer attempt"}', "answer_attempt", id="CL-05-spaces"),
        pytest.param('{"response_type": "answer-attempt"}', "answer_attempt", id="CL-05-hyphen"),
        pytest.param('{"response_type": "refusal"}', "refuse", id="CL-05-noun"),
        pytest.param(
            "It looks like an answer_attempt at first, but a value is missing.\nFinal verdict: clarification",
            "clarification",
            id="CL-03",
        ),
        pytest.param('```json\n{"response_type": "hedge"}\n```', "hedge", id="fenced"),
    ],
)
def test_labels_are_read(text: str, expected: str) -> None:
    assert label(text) == expected


@pytest.mark.parametrize(
    "text", ['{"response_type": "refuse|missing"}', "{}", '{"x": 1}', "not an answer_attempt", '{"response_type": 3}']
)
def test_cl_05_other_labels_are_asked_again(text: str) -> None:
    with pytest.raises(Malformed):
        label(text)
