"""The JSON of OpenAI's chat completions, as spoken by OpenAI, vLLM, Ollama, llama.cpp, OpenRouter and others.

Pure: `request` makes the body from our nouns, `read` makes a `Reply` from the answer and forgives what servers get wrong
(nulls, missing fields, lists where text should be, an error inside a 200).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from simulator.models.failures import ErrorBody, from_http, malformed
from simulator.models.said import filtered, nothing, said
from simulator.models.tokens import estimate
from tasks.nouns import Message, Options, Reply, ToolCall, Usage

#: An endpoint answers 400 with one of these codes when a model does not know a parameter or a value of it.
_REFUSALS = frozenset({"unsupported_parameter", "unsupported_value"})
#: Sampling parameters a model may do without; all others are needed.
_DISPENSABLE = frozenset({"temperature", "seed", "logprobs"})


class Dialect:
    """What one model at one endpoint has been seen to refuse: learned from its own 400s, never guessed from its name.

    Attributes:
        cap: the parameter that limits the reply (`max_tokens`, or `max_completion_tokens` of OpenAI's reasoning models).
        strict: ask for strict JSON schemas where the schema allows it.
        refused: sampling parameters that are left out.
    """

    def __init__(self) -> None:
        self.cap = "max_tokens"
        self.strict = True
        self.refused: frozenset[str] = frozenset()

    def learn(self, error: ErrorBody) -> None:
        """Takes in one 400. Does nothing if it is about something else."""
        if error.param == "max_tokens" and "max_completion_tokens" in error.message:
            self.cap = "max_completion_tokens"
        elif error.param in _DISPENSABLE and error.codes & _REFUSALS:
            self.refused |= {error.param}
        elif error.param.startswith("response_format"):
            self.strict = False


def request(model: str, messages: Iterable[Message], options: Options, dialect: Dialect) -> dict[str, Any]:
    """The body of one call."""
    body: dict[str, Any] = {"model": model, "messages": [_message(m) for m in messages]}
    if options.max_tokens is not None:
        body[dialect.cap] = options.max_tokens
    sampling = {"temperature": options.temperature, "seed": options.seed, "logprobs": options.logprobs or None}
    body.update({k: v for k, v in sampling.items() if v is not None and k not in dialect.refused})
    if options.schema is not None:
        body["response_format"] = _response_format(options.schema, dialect.strict)
    if options.tools:
        body["tools"] = [
            tool if "function" in tool else {"type": "function", "function": tool} for tool in options.tools
        ]
    return body


def read(body: Any, model: str, asked: Sequence[Message]) -> Reply:
    """The reply in a parsed answer; raises `CallFailed` where there is none.

    `asked` is what was sent: it is counted where the endpoint does not say what it used.
    """
    if not isinstance(body, Mapping):
        raise malformed(f"the answer is no JSON object but {type(body).__name__}")
    choices = body.get("choices", body.get("candidates"))
    if not choices and body.get("error"):
        return _read_error(body, model)
    if not isinstance(choices, list):
        raise malformed(f"the answer holds no choices: {str(body)[:200]}")
    if not choices:
        return nothing(model, _usage(body.get("usage")) or estimate(asked, (), model))
    return _read_choice(_mapping(choices[0]), body, model, asked)


def _read_choice(choice: Mapping[str, Any], body: Mapping[str, Any], model: str, asked: Sequence[Message]) -> Reply:
    if choice.get("error"):
        return _read_error(choice, model)
    message = _mapping(choice.get("message", choice.get("content")))
    usage = _usage(body.get("usage"))
    one = said(
        message.get("content"),
        finish=choice.get("finish_reason"),
        refusal=message.get("refusal"),
        reasoning=_reasoning(message),
        reasoning_tokens=usage.reasoning if usage else 0,
        tool_calls=_tool_calls(message.get("tool_calls")),
    )
    return Reply(
        (one.message,),
        model=model,
        finish=one.finish,
        reasoning=one.reasoning,
        usage=usage or estimate(asked, [one.message, Message("assistant", one.reasoning)], model),
        logprobs=logprobs(choice.get("logprobs")),
    )


def _read_error(body: Mapping[str, Any], model: str) -> Reply:
    """An error inside a 200 (OpenRouter): its code is the status it should have had."""
    code = _mapping(body["error"]).get("code")
    failure = from_http(code if isinstance(code, int) and code >= 400 else 500, {}, body)
    if failure.cause == "content_filter":
        return filtered(model)
    raise failure


# -- what we send ---------------------------------------------------------------------------------------------------


def _message(message: Message) -> dict[str, Any]:
    plain: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        plain["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        plain["tool_call_id"] = message.tool_call_id
    return plain


def _response_format(schema: Mapping[str, Any], strict: bool) -> dict[str, Any]:
    named: dict[str, Any] = {"name": str(schema.get("title", "reply")), "schema": schema}
    if strict and _may_be_strict(schema):
        named["strict"] = True
    return {"type": "json_schema", "json_schema": named}


def _may_be_strict(schema: Any) -> bool:
    """OpenAI's rule: every object closed, every property required."""
    if isinstance(schema, list):
        return all(_may_be_strict(part) for part in schema)
    if not isinstance(schema, dict):
        return True
    if "properties" in schema:
        closed = schema.get("additionalProperties") is False
        if not closed or set(schema.get("required", ())) != set(schema["properties"]):
            return False
    return all(_may_be_strict(part) for part in schema.values())


# -- what we get ----------------------------------------------------------------------------------------------------


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _integer(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and math.isfinite(value) and value > 0 else 0


def _usage(usage: Any) -> Usage | None:
    """None where the endpoint does not say."""
    if not isinstance(usage, Mapping) or usage.get("prompt_tokens") is None:
        return None
    prompt, completion = _mapping(usage.get("prompt_tokens_details")), _mapping(usage.get("completion_tokens_details"))
    return Usage(
        input=_integer(usage.get("prompt_tokens")),
        output=_integer(usage.get("completion_tokens")),
        reasoning=_integer(completion.get("reasoning_tokens", usage.get("reasoning_tokens"))),
        cached=_integer(prompt.get("cached_tokens", usage.get("prompt_cache_hit_tokens"))),
    )


def _reasoning(message: Mapping[str, Any]) -> str | None:
    """vLLM, DeepSeek and llama.cpp say `reasoning_content`; OpenRouter, Ollama and Groq say `reasoning`."""
    found = message.get("reasoning_content") or message.get("reasoning")
    return found if isinstance(found, str) else None


def _tool_calls(calls: Any) -> tuple[ToolCall, ...]:
    if not isinstance(calls, list):
        return ()
    return tuple(_tool_call(i, _mapping(call)) for i, call in enumerate(calls))


def _tool_call(position: int, call: Mapping[str, Any]) -> ToolCall:
    """Some servers leave the id out, or send the arguments as an object."""
    function = _mapping(call.get("function"))
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        arguments = msgspec.json.encode(arguments or {}).decode()
    return ToolCall(str(call.get("id") or f"call_{position}"), str(function.get("name", "")), arguments)


def logprobs(given: Any) -> tuple[float, ...]:
    """The log probability of each token, from `{"content": [{"logprob": …}, …]}`."""
    tokens = _mapping(given).get("content")
    if not isinstance(tokens, list):
        return ()
    found = (_mapping(token).get("logprob") for token in tokens)
    return tuple(float(value) for value in found if isinstance(value, int | float))
