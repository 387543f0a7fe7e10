"""Messages between our nouns and LangChain's, both ways."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages import ToolCall as LangChainToolCall
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import invalid_tool_call

from simulator.models import wire
from simulator.models.said import Said, nothing, said
from simulator.models.tokens import estimate
from tasks.nouns import Message, Reply, Role, ToolCall, Usage

#: Where providers put the reason why they stopped.
_FINISH_KEYS = ("finish_reason", "stop_reason", "done_reason", "stopReason")
_ROLES: dict[str, Role] = {"human": "user", "system": "system", "tool": "tool"}


def to_langchain(messages: Iterable[Message]) -> list[BaseMessage]:
    """Our messages as LangChain's, each with an id, so that what an agent adds can be told from what it was given."""
    return [_to_langchain(message, f"given-{i}") for i, message in enumerate(messages)]


def from_langchain(messages: Iterable[BaseMessage]) -> list[Message]:
    """LangChain's messages as ours, thinking left out."""
    return [_spoken(message).message for message in messages]


def reply_of(messages: Sequence[BaseMessage], model: str, asked: Sequence[Message]) -> Reply:
    """All a model or an agent added to the conversation, as one reply; tokens add up."""
    if not messages:
        return nothing(model, estimate(asked, (), model))
    spoken = [_spoken(message) for message in messages]
    answered = [m for m in messages if isinstance(m, AIMessage)]
    usages = [_usage(m.usage_metadata) for m in answered if m.usage_metadata]
    last = answered[-1].response_metadata if answered else {}
    return Reply(
        tuple(one.message for one in spoken),
        model=model,
        finish=spoken[-1].finish,
        reasoning="\n".join(one.reasoning for one in spoken if one.reasoning),
        usage=_sum(usages) if usages else estimate(asked, [one.message for one in spoken], model),
        logprobs=wire.logprobs(last.get("logprobs")),
    )


def to_ai_message(reply: Reply) -> AIMessage:
    """A reply of ours as LangChain's message, with its tokens."""
    message = _to_langchain(reply.messages[-1], None)
    assert isinstance(message, AIMessage)
    message.response_metadata = {"finish_reason": reply.finish, "model_name": reply.model}
    used = reply.usage
    message.usage_metadata = UsageMetadata(
        input_tokens=used.input, output_tokens=used.output, total_tokens=used.input + used.output
    )
    return message


def _to_langchain(message: Message, identity: str | None) -> BaseMessage:
    match message.role:
        case "system":
            return SystemMessage(message.content, id=identity)
        case "user":
            return HumanMessage(message.content, id=identity)
        case "tool":
            call = message.tool_call_id or ""
            return ToolMessage(message.content, tool_call_id=call, name=message.name, id=identity)
        case "assistant":
            right, wrong = _calls(message.tool_calls)
            return AIMessage(message.content, tool_calls=right, invalid_tool_calls=wrong, id=identity)


def _calls(calls: Iterable[ToolCall]) -> tuple[list[LangChainToolCall], list[InvalidToolCall]]:
    """Calls whose arguments are a JSON object, and the others."""
    right: list[LangChainToolCall] = []
    wrong: list[InvalidToolCall] = []
    for call in calls:
        try:
            arguments = msgspec.json.decode(call.arguments, type=dict[str, Any])
            right.append(LangChainToolCall(name=call.name, args=arguments, id=call.id))
        except msgspec.DecodeError as problem:
            wrong.append(invalid_tool_call(name=call.name, args=call.arguments, id=call.id, error=str(problem)))
    return right, wrong


def _spoken(message: BaseMessage) -> Said:
    if isinstance(message, AIMessage):
        return _answered(message)
    one = said(message.content)
    plain = Message(
        _ROLES.get(message.type, "user"),
        one.message.content,
        tool_call_id=getattr(message, "tool_call_id", None),
        name=message.name,
    )
    return Said(plain, "stop", "")


def _answered(message: AIMessage) -> Said:
    extra, metadata = message.additional_kwargs, message.response_metadata
    reasoning = extra.get("reasoning_content") or extra.get("reasoning")
    return said(
        message.content,
        finish=next((str(metadata[key]) for key in _FINISH_KEYS if metadata.get(key)), None),
        refusal=extra.get("refusal"),
        reasoning=reasoning if isinstance(reasoning, str) else None,
        reasoning_tokens=_usage(message.usage_metadata).reasoning if message.usage_metadata else 0,
        tool_calls=_tool_calls(message),
    )


def _tool_calls(message: AIMessage) -> tuple[ToolCall, ...]:
    right = [
        ToolCall(call["id"] or "", call["name"], msgspec.json.encode(call["args"]).decode())
        for call in message.tool_calls
    ]
    wrong = [ToolCall(call["id"] or "", call["name"] or "", call["args"] or "") for call in message.invalid_tool_calls]
    return (*right, *wrong)


def _usage(given: UsageMetadata) -> Usage:
    into: Mapping[str, Any] = given.get("input_token_details") or {}
    out: Mapping[str, Any] = given.get("output_token_details") or {}
    return Usage(
        input=given["input_tokens"],
        output=given["output_tokens"],
        reasoning=out.get("reasoning") or 0,
        cached=into.get("cache_read") or 0,
    )


def _sum(usages: Sequence[Usage]) -> Usage:
    return Usage(
        input=sum(u.input for u in usages),
        output=sum(u.output for u in usages),
        reasoning=sum(u.reasoning for u in usages),
        cached=sum(u.cached for u in usages),
    )
