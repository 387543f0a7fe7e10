"""From the parts in which a provider answers (content, refusal, reasoning, tool calls, finish reason) to what was said.

One place for every provider: content may be text, null or a list of blocks; thinking may come in a field, in a block or
between tags; a finish reason has many names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from simulator.models.thinking import split_thinking
from tasks.nouns import Message, Reply, ToolCall, Usage

#: Names of finish reasons (OpenAI, Anthropic, Google, Cohere, Bedrock, Mistral, Ollama), in lower case -> ours. All others
#: mean `stop`.
_FINISHES = {
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "refusal": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "prohibited_content": "content_filter",
    "blocklist": "content_filter",
    "spii": "content_filter",
    "error_toxic": "content_filter",
}

#: Fields of a content block that hold text of the answer, and those that hold thinking, by the block's type.
_ANSWER_BLOCKS = {"text": "text", "output_text": "text", "refusal": "refusal"}
_THINKING_BLOCKS = {"thinking": ("thinking", "text"), "reasoning": ("reasoning", "text")}


class Said(msgspec.Struct, frozen=True):
    """One message of a model, with its thinking taken out, and why the model stopped."""

    message: Message
    finish: str
    reasoning: str


def said(
    content: Any,
    *,
    finish: str | None = None,
    refusal: str | None = None,
    reasoning: str | None = None,
    reasoning_tokens: int = 0,
    tool_calls: tuple[ToolCall, ...] = (),
) -> Said:
    """Puts the parts of one message together.

    A refusal given in a field of its own is what the model said. A reply that holds thinking and nothing else, unfinished,
    is `unclosed_thinking`, also where the thinking is hidden and only its tokens are known; nothing at all is `empty`.
    """
    text, in_blocks = _content(content)
    separate = "\n".join(part for part in (reasoning, in_blocks) if part)
    thought = split_thinking(text, separated=bool(separate))
    answer = thought.text if thought.text.strip() else (refusal or "")
    thinking = "\n".join(part for part in (separate, thought.reasoning) if part)
    hidden = bool(separate or reasoning_tokens) and not thought.reasoning
    return Said(
        message=Message("assistant", answer, tool_calls),
        finish=_finish(
            _FINISHES.get(str(finish).lower(), "stop"),
            spoke=bool(answer),
            called=bool(tool_calls),
            unclosed=not thought.closed or (hidden and not answer),
        ),
        reasoning=thinking,
    )


def filtered(model: str) -> Reply:
    """The reply of a provider that refused the prompt for what it says: an outcome, not an error."""
    return Reply((Message("assistant", ""),), model=model, finish="content_filter")


def nothing(model: str, usage: Usage = Usage()) -> Reply:  # noqa: B008 -- frozen
    """The reply of a provider that answered without any message."""
    return Reply((Message("assistant", ""),), model=model, finish="empty", usage=usage)


def _finish(given: str, *, spoke: bool, called: bool, unclosed: bool) -> str:
    if given == "content_filter":
        return given
    if called:  # some servers say `stop`
        return "length" if given == "length" else "tool_calls"
    if unclosed:
        return "unclosed_thinking"
    return given if spoke or given == "length" else "empty"


def _content(content: Any) -> tuple[str, str]:
    """Text and thinking of a message's content, which is text, null, or a list of blocks."""
    if isinstance(content, str):
        return content, ""
    if not isinstance(content, list):
        return "", ""
    texts: list[str] = []
    thoughts: list[str] = []
    for block in content:
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, Mapping):
            kind = str(block.get("type", "text"))
            texts.append(_text(block.get(_ANSWER_BLOCKS.get(kind, ""))))
            thoughts += [_text(block.get(field)) for field in _THINKING_BLOCKS.get(kind, ())]
    return "".join(texts), "\n".join(t for t in thoughts if t)


def _text(value: Any) -> str:
    """Text that may itself be a list of blocks (Mistral's thinking)."""
    return value if isinstance(value, str) else _content(value)[0]
