"""Our client against an endpoint that behaves, over real HTTP: what is sent, and what becomes of the answer."""

from __future__ import annotations

import asyncio
import gc
import warnings

import msgspec
import pytest

from simulator.errors import CallFailed, ModelError
from simulator.models.model import make_model
from simulator.models.openai import OpenAIChat
from tasks.nouns import Message, Options, ToolCall, Usage

CLOSED = {
    "type": "object",
    "properties": {"answer": {"type": "string", "maxLength": 40}},
    "required": ["answer"],
    "additionalProperties": False,
}
TOOL = {"name": "lookup", "description": "Looks up.", "parameters": {"type": "object", "properties": {}}}


# -- what is sent ---------------------------------------------------------------------------------------------------


async def test_only_what_was_asked_for_is_sent(ask, server) -> None:
    await ask()
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert "authorization" not in request.headers
    assert request.body == {
        "model": "assistant",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "How much is 6 times 7?"},
        ],
    }


async def test_sampling_tools_and_schema_are_sent(ask, server) -> None:
    await ask(temperature=0.0, max_tokens=7, seed=3, logprobs=True, tools=(TOOL,), schema=CLOSED)
    body = server.requests[0].body
    assert (body["temperature"], body["max_tokens"], body["seed"], body["logprobs"]) == (0.0, 7, 3, True)
    assert body["tools"] == [{"type": "function", "function": TOOL}]
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": CLOSED, "strict": True},
    }


@pytest.mark.parametrize(
    "schema",
    [
        {**CLOSED, "additionalProperties": True},
        {**CLOSED, "required": []},
        {**CLOSED, "properties": {"answer": {"type": "object", "properties": {"n": {"type": "integer"}}}}},
    ],
    ids=["open", "optional", "open inside"],
)
async def test_strict_is_asked_for_only_where_the_schema_allows_it(ask, server, schema) -> None:
    await ask(schema=schema)
    assert "strict" not in server.requests[0].body["response_format"]["json_schema"]


async def test_a_tool_conversation_is_sent_whole(model, server) -> None:
    conversation = [
        Message("user", "Find it."),
        Message("assistant", "", (ToolCall("c1", "lookup", '{"key": 1}'),)),
        Message("tool", "found", tool_call_id="c1", name="lookup"),
    ]
    await model.call(conversation, Options())
    _, called, result = server.requests[0].body["messages"]
    function = {"name": "lookup", "arguments": '{"key": 1}'}
    assert called["tool_calls"] == [{"id": "c1", "type": "function", "function": function}]
    assert result == {"role": "tool", "content": "found", "tool_call_id": "c1"}


async def test_the_key_comes_from_the_named_variable(server, question, monkeypatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-mine")
    model = make_model("openai:assistant", base_url=server.url, api_key_env="MY_KEY")
    await model.call(question, Options())
    await model.close()
    assert server.requests[0].headers["authorization"] == "Bearer sk-mine"


async def test_the_base_url_may_come_from_the_environment(server, question, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/")
    model = make_model("openai:assistant")
    await model.call(question, Options())
    await model.close()
    assert server.count == 1


def test_openai_itself_needs_a_key() -> None:
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        make_model("openai:gpt-4o-mini")


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://host/v1", "http://", ""])
def test_a_base_url_has_to_be_a_web_address(url, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    if url:
        with pytest.raises(ModelError, match="base URL"):
            make_model("openai:x", base_url=url)


# -- what comes back ------------------------------------------------------------------------------------------------


async def test_a_plain_reply(ask, server, model) -> None:
    server.handler = lambda body: "It is 42."
    reply = await ask()
    assert reply.messages == (Message("assistant", "It is 42."),)
    assert (reply.model, reply.finish, reply.reasoning) == ("openai:assistant", "stop", "")
    assert reply.usage == Usage(input=7, output=2)  # as the server said: a quarter of the characters
    assert reply.cost is None  # nobody knows the price of a server of one's own
    assert reply.seconds > 0


async def test_a_price_can_be_given(server, question) -> None:
    model = make_model("openai:assistant", base_url=server.url, prices={"openai:assistant": (2.0, 10.0)})
    server.handler = lambda body: "x" * 400
    reply = await model.call(question, Options())
    await model.close()
    assert reply.cost == pytest.approx((reply.usage.input * 2.0 + 100 * 10.0) / 1e6)


async def test_tool_calls(ask, server) -> None:
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": '{"key": "a"}'}},
        {"function": {"name": "lookup", "arguments": {"key": "b"}}},  # Ollama: no id, arguments as an object
    ]
    server.handler = lambda body: {"content": None, "tool_calls": calls}
    reply = await ask(tools=(TOOL,))
    assert reply.finish == "tool_calls"
    assert reply.tool_calls == (ToolCall("c1", "lookup", '{"key": "a"}'), ToolCall("call_1", "lookup", '{"key":"b"}'))


async def test_log_probabilities(ask, server, loopback) -> None:
    tokens = [{"token": "4", "logprob": -0.25, "top_logprobs": []}, {"token": "2", "logprob": -1}]
    server.plan = [loopback.Answer(choice={"logprobs": {"content": tokens}})]
    assert (await ask(logprobs=True)).logprobs == (-0.25, -1.0)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_in_a_field_of_its_own(ask, server, field) -> None:
    server.handler = lambda body: {"content": "42", field: "6 times 7"}
    reply = await ask()
    assert (reply.text, reply.reasoning, reply.finish) == ("42", "6 times 7", "stop")


async def test_cached_and_reasoning_tokens(ask, server, loopback) -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 30},
    }
    server.plan = [loopback.Answer(completion={"usage": usage})]
    assert (await ask()).usage == Usage(input=100, output=50, reasoning=30, cached=64)


async def test_missing_usage_is_counted_and_marked(ask, server, loopback) -> None:
    server.plan = [loopback.FAULTS["no_usage"]()]
    usage = (await ask()).usage
    assert usage.estimated
    assert 10 <= usage.input <= 30
    assert usage.output > 0


# -- dialects -------------------------------------------------------------------------------------------------------


def reasoning_model(loopback):
    """A plan that refuses what OpenAI's reasoning models refuse."""

    def plan(number, body):
        if "max_tokens" in body:
            text = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'."
            return loopback.error(400, text, param="max_tokens", code="unsupported_parameter")
        if "temperature" in body:
            text = "Unsupported value: 'temperature' does not support 0.5 with this model."
            return loopback.error(400, text, param="temperature", code="unsupported_value")
        return None

    return plan


async def test_a_model_that_refuses_parameters_is_adapted_to_once(ask, server, loopback, model) -> None:
    server.plan = reasoning_model(loopback)
    assert (await ask(temperature=0.5, max_tokens=9)).text
    assert server.count == 3
    assert server.requests[-1].body["max_completion_tokens"] == 9
    assert model.dialect.refused == {"temperature"}
    await ask(temperature=0.5, max_tokens=9)
    assert server.count == 4


async def test_adapting_works_for_many_calls_at_once(ask, server, loopback) -> None:
    server.plan = reasoning_model(loopback)
    server.latency = 0.05
    replies = await asyncio.gather(*(ask(temperature=0.5, max_tokens=9) for _ in range(20)))
    assert all(reply.text for reply in replies)


async def test_a_value_out_of_range_is_not_adapted_to(ask, server, loopback) -> None:
    text = "Invalid 'temperature': decimal above maximum value."
    server.plan = lambda number, body: loopback.error(400, text, param="temperature", code="decimal_above_max_value")
    with pytest.raises(CallFailed) as failed:
        await ask(temperature=9.0)
    assert (failed.value.cause, failed.value.retry, server.count) == ("bad_request", False, 1)


async def test_strict_is_given_up_where_the_schema_is_refused(ask, server, loopback) -> None:
    def plan(number, body):
        if body["response_format"]["json_schema"].get("strict"):
            return loopback.error(400, "'maxLength' is not permitted", param="response_format")
        return None

    server.plan = plan
    assert msgspec.json.decode((await ask(schema=CLOSED)).text) == {"answer": "text"}


# -- connections ----------------------------------------------------------------------------------------------------


async def test_calls_run_at_once_without_a_bound(ask, server) -> None:
    server.latency = 0.3
    await asyncio.gather(*(ask() for _ in range(150)))
    assert server.most_open == 150


async def test_models_at_one_endpoint_share_connections_until_the_last_one_closes(server, question) -> None:
    first, second = (make_model(f"openai:{name}", base_url=server.url) for name in ("user", "judge"))
    await first.call(question, Options())
    await second.call(question, Options())
    assert server.connections == 1
    await first.close()
    await second.call(question, Options())
    assert server.connections == 1
    await second.close()
    await second.call(question, Options())
    assert server.connections == 2
    await second.close()


def test_closed_models_leave_nothing_open(server, question) -> None:
    async def once() -> None:
        model = make_model("openai:assistant", base_url=server.url)
        await model.close()  # never used
        await model.call(question, Options())
        await model.close()
        await model.close()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(once())
        asyncio.run(once())
        gc.collect()


async def test_a_proxy_is_used_but_not_for_this_machine(server, loopback, question, monkeypatch) -> None:
    with loopback.Threaded(loopback.Loopback()) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        for url in ("http://models.invalid/v1", server.url):
            model = make_model("openai:assistant", base_url=url)
            await model.call(question, Options())
            await model.close()
        assert [request.path for request in proxy.requests] == ["http://models.invalid/v1/chat/completions"]
    assert server.count == 1


async def test_a_cancelled_call_is_gone(ask, server) -> None:
    server.latency = 30.0
    task = asyncio.create_task(ask())
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# -- LangChain's face -----------------------------------------------------------------------------------------------


async def test_langchain_face(server) -> None:
    chat = OpenAIChat(model="assistant", base_url=server.url, temperature=0.5, max_tokens=20)
    message = await chat.ainvoke([("system", "Be brief."), ("user", "Hello")])
    assert message.content == "The answer is 42."
    assert message.usage_metadata["input_tokens"] == 3
    body = server.requests[0].body
    assert (body["temperature"], body["max_tokens"]) == (0.5, 20)
    assert body["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
    await chat.aclose()


async def test_langchain_face_calls_tools(server) -> None:
    def lookup(key: str) -> str:
        """Looks up a key."""
        return key

    server.handler = lambda body: {
        "content": None,
        "tool_calls": [{"id": "c1", "function": {"name": "lookup", "arguments": '{"key": "a"}'}}],
    }
    chat = OpenAIChat(model="assistant", base_url=server.url)
    message = await chat.bind_tools([lookup]).ainvoke("Find a.")
    assert [(call["name"], call["args"], call["id"]) for call in message.tool_calls] == [("lookup", {"key": "a"}, "c1")]
    assert server.requests[0].body["tools"][0]["function"]["name"] == "lookup"
    await chat.aclose()


def test_langchain_face_says_how_to_call_it() -> None:
    with pytest.raises(NotImplementedError, match="ainvoke"):
        OpenAIChat(model="x", base_url="http://127.0.0.1:1/v1").invoke("hi")
