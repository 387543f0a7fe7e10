"""Scripted replies, as functions and as specs."""

from __future__ import annotations

import pytest

from simulator.errors import CallFailed, ModelError
from simulator.models.fake import FakeModel
from simulator.models.model import make_model
from tasks.errors import ShardtalkError
from tasks.nouns import Message, Options, Reply, Usage

ASKED = [Message("user", "one"), Message("assistant", "two"), Message("user", "three")]


async def test_a_function_answers_and_the_model_remembers() -> None:
    fake = FakeModel(lambda messages, options: f"{len(messages)} at {options.temperature}", name="fake:mine")
    reply = await fake.call(ASKED, Options(temperature=0.5))
    assert (reply.text, reply.model, reply.cost, reply.finish) == ("3 at 0.5", "fake:mine", 0.0, "stop")
    assert reply.usage.estimated
    assert list(fake.asked) == [(tuple(ASKED), Options(temperature=0.5))]
    assert fake.calls == 1
    await fake.close()
    assert fake.closed == 1


async def test_a_function_may_be_asynchronous_or_fail() -> None:
    async def handler(messages, options):
        return CallFailed("rate_limit", retry=True, after=2.0)

    with pytest.raises(CallFailed, match="rate_limit"):
        await FakeModel(handler).call(ASKED, Options())


async def test_a_whole_reply_is_kept() -> None:
    given = Reply((Message("assistant", "x"),), finish="length", usage=Usage(input=5, output=6))
    reply = await FakeModel(lambda messages, options: given).call(ASKED, Options())
    assert (reply.finish, reply.usage) == ("length", Usage(input=5, output=6))


async def test_text_is_read_as_any_models_is() -> None:
    reply = await FakeModel(lambda messages, options: "<think>hm").call(ASKED, Options())
    assert (reply.text, reply.finish, reply.reasoning) == ("", "unclosed_thinking", "hm")


@pytest.mark.parametrize(("spec", "text"), [("fake:echo", "three"), ("fake:text=a=b, c", "a=b, c"), ("fake:text=", "")])
async def test_specs(spec, text) -> None:
    assert (await make_model(spec).call(ASKED, Options())).text == text


async def test_a_file_holds_one_reply_a_turn_and_the_last_one_stays(tmp_path) -> None:
    file = tmp_path / "replies.json"
    file.write_text('["first", {"content": "second", "finish": "length"}]')
    model = make_model(f"fake:file={file}")
    replies = [await model.call(ASKED[:n], Options()) for n in (1, 3)]
    replies.append(await model.call([*ASKED, Message("assistant", "x"), Message("user", "y")], Options()))
    assert [(r.text, r.finish) for r in replies] == [("first", "stop"), ("second", "length"), ("second", "length")]


@pytest.mark.parametrize("content", [None, "[]", "{}", "[1]", '[{"contnt": "x"}]', "["])
def test_a_file_that_is_none(tmp_path, content) -> None:
    file = tmp_path / "replies.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ModelError, match=r"replies\.json"):
        make_model(f"fake:file={file}")


def test_an_unknown_script() -> None:
    with pytest.raises(ShardtalkError, match="echo"):
        make_model("fake:ecko")
