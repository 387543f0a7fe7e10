"""LangChain's providers, over real HTTP: `azure_openai` stands for all, since its package is among the test tools."""

from __future__ import annotations

from importlib import util
from typing import Any

import msgspec
import pytest

from simulator.errors import CallFailed, ModelError
from simulator.models.model import make_model
from simulator.models.provider import PACKAGES
from tasks.nouns import Message, Options, ToolCall

ASKED = [Message("system", "Be brief."), Message("user", "How much is 6 times 7?")]
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


@pytest.fixture
async def azure(server: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url.removesuffix("/v1"))
    model = make_model("azure_openai:gpt-4o-mini", timeout=1.0)
    yield model
    await model._chat.root_async_client.close()  # LangChain leaves its sockets to the end of the process


async def test_a_reply(azure, server) -> None:
    reply = await azure.call(ASKED, Options(temperature=0.5, max_tokens=9, seed=4))
    body = server.requests[0].body
    assert (body["temperature"], body["max_completion_tokens"], body["seed"]) == (0.5, 9, 4)
    assert [m["role"] for m in body["messages"]] == ["system", "user"]
    assert (reply.text, reply.finish, reply.model) == ("The answer is 42.", "stop", "azure_openai:gpt-4o-mini")
    assert not reply.usage.estimated
    assert reply.cost > 0  # its price is in the library


async def test_a_schema(azure, server) -> None:
    reply = await azure.call(ASKED, Options(schema=SCHEMA))
    assert msgspec.json.decode(reply.text) == {"answer": "text"}
    assert server.requests[0].body["response_format"]["json_schema"]["schema"]["properties"] == SCHEMA["properties"]


async def test_a_structured_reply_cut_short_is_a_reply(azure, server, loopback) -> None:
    server.plan = [loopback.Answer(message={"content": '{"answer": "te'}, choice={"finish_reason": "length"})]
    reply = await azure.call(ASKED, Options(schema=SCHEMA))
    assert (reply.text, reply.finish) == ('{"answer": "te', "length")


async def test_tools(azure, server) -> None:
    server.handler = lambda body: {
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"n": 1}'}}],
    }
    tool = {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}}
    reply = await azure.call(ASKED, Options(tools=(tool,)))
    assert (reply.finish, reply.tool_calls) == ("tool_calls", (ToolCall("c1", "look", '{"n":1}'),))


async def test_log_probabilities(azure, server, loopback) -> None:
    tokens = [{"token": "4", "logprob": -0.5, "top_logprobs": [], "bytes": None}]
    server.plan = [loopback.Answer(choice={"logprobs": {"content": tokens}})]
    assert (await azure.call(ASKED, Options(logprobs=True))).logprobs == (-0.5,)


@pytest.mark.parametrize(
    ("fault", "cause", "retry", "stop"),
    [
        ("rate_limited_seconds", "rate_limit", True, False),
        ("quota", "quota", False, True),
        ("server_error", "server", True, False),
        ("bad_key", "auth", False, True),
        ("missing_model", "bad_request", False, True),
        ("context_exceeded", "context_exceeded", False, False),
        ("reset", "connection", True, False),
    ],
)
async def test_failures_are_named_and_tried_once(azure, server, loopback, fault, cause, retry, stop) -> None:
    server.plan = lambda number, body: loopback.FAULTS[fault]()
    with pytest.raises(CallFailed) as failed:
        await azure.call(ASKED, Options())
    assert (failed.value.cause, failed.value.retry, failed.value.stop_run) == (cause, retry, stop)
    assert failed.value.after == (1.0 if fault == "rate_limited_seconds" else None)
    assert server.count == 1


@pytest.mark.parametrize(
    ("fault", "text", "finish"),
    [
        ("filtered_prompt", "", "content_filter"),
        ("filtered_reply", "", "content_filter"),
        ("refusal", "I can't help with that.", "stop"),
        ("empty", "", "empty"),
        ("cut_short", "The answer is 42.", "length"),
    ],
)
async def test_odd_answers_are_replies(azure, server, loopback, fault, text, finish) -> None:
    server.plan = [loopback.FAULTS[fault]()]
    reply = await azure.call(ASKED, Options())
    assert (reply.text, reply.finish) == (text, finish)


async def test_a_call_that_takes_too_long(azure, server, loopback) -> None:
    server.plan = [loopback.Answer(delay=5.0)]
    with pytest.raises(CallFailed) as failed:
        await azure.call(ASKED, Options())
    assert (failed.value.cause, failed.value.retry) == ("timeout", True)


def test_a_missing_key(monkeypatch) -> None:
    for name in ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
    with pytest.raises(ModelError, match=r"(?i)credentials|api_key"):
        make_model("azure_openai:gpt-4o-mini")


@pytest.mark.parametrize("prefix", [p for p in PACKAGES if util.find_spec(PACKAGES[p].replace("-", "_")) is None])
def test_a_missing_package_gets_the_command_that_installs_it(prefix) -> None:
    with pytest.raises(ModelError, match=f"pip install {PACKAGES[prefix]}"):
        make_model(f"{prefix}:some-model")
