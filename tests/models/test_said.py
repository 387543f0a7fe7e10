"""Thinking, blocks, refusals and finish reasons: what a message says once it is put together. Cases PR-01 to PR-11."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.models import wire
from simulator.models.said import said
from simulator.models.thinking import Thought, split_thinking
from tasks.nouns import ToolCall

CALLS = (ToolCall("c1", "look", "{}"),)


@pytest.mark.parametrize(
    ("text", "thought"),
    [
        ("The answer is 24.", Thought("The answer is 24.", "", True)),
        ("  kept as written \n", Thought("  kept as written \n", "", True)),
        ("a < b [c]", Thought("a < b [c]", "", True)),
        ("<think>3*8</think>\n\nIt is 24.", Thought("It is 24.", "3*8", True)),
        ("<THINK>3*8</THINK>24", Thought("24", "3*8", True)),
        ("<thinking>a</thinking>24", Thought("24", "a", True)),
        ("[THINK]a[/THINK]24", Thought("24", "a", True)),
        ("<think>a</think>one<think>b</think>two", Thought("one\ntwo", "a\nb", True)),
        ("<think>is <think> a tag?</think>yes", Thought("yes", "is <think> a tag?", True)),
        ("<think>a<think>b</think>c</think>24", Thought("24", "a<think>b\nc", True)),
        ("<think></think>24", Thought("24", "", True)),
        ("Use the `<think>` tag.", Thought("Use the `<think>` tag.", "", True)),
        # PR-07: cut inside its thinking.
        ("<think>Let me see, 3*8 is 24 and", Thought("", "Let me see, 3*8 is 24 and", False)),
        ("It is 24. <think>Or is", Thought("It is 24.", "Or is", False)),
        # PR-08: decided for the template that supplied the opening tag; where the server takes thinking apart itself the
        # tag is ordinary text (next test).
        ("3*8 is 24</think>The answer is 24.", Thought("The answer is 24.", "3*8 is 24", True)),
    ],
)
def test_thinking_is_taken_out(text, thought) -> None:
    assert split_thinking(text) == thought


def test_a_lone_closing_tag_is_text_where_the_server_separates_thinking() -> None:  # PR-08, nexent 3751
    one = said("Write </think> to end it.", reasoning="They ask about tags.")
    assert one.message.content == "Write </think> to end it."


PIECES = st.lists(
    st.sampled_from(["<think>", "</think>", "[THINK]", "secret", "said", " ", "\n", "`", "<"]), max_size=12
)


@given(PIECES)
@settings(deadline=None)
def test_no_tag_survives_and_nothing_is_said_twice(pieces) -> None:
    text = "".join(pieces)
    thought = split_thinking(text)
    for word in ("secret", "said"):
        assert thought.text.count(word) + thought.reasoning.count(word) == text.count(word)
    if "`" not in text:
        assert "</think>" not in thought.text
        assert "<think>" not in thought.text


@given(st.text(max_size=60), st.text(max_size=60))
@settings(deadline=None)
def test_a_closed_block_never_reaches_the_answer(inside, answer) -> None:
    thought = split_thinking(f"<think>\u241e{inside.replace('`', '')}</think>{answer}")
    assert "\u241e" not in thought.text


@pytest.mark.parametrize(
    ("content", "text", "reasoning"),
    [
        # PR-06
        (
            [
                {"type": "thinking", "text": "hidden"},
                {"type": "text", "text": "The total "},
                {"type": "text", "text": "is 18."},
            ],
            "The total is 18.",
            "hidden",
        ),
        (
            [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "18"}],
            "18",
            "hm",
        ),
        (["The ", {"type": "output_text", "text": "end"}], "The end", ""),
        ([{"type": "tool_use", "id": "1", "input": {}}, {"type": "text", "text": "Calling."}], "Calling.", ""),
        ([{"type": "image_url", "image_url": {}}, None, 3, {"type": "text", "text": None}], "", ""),
        (None, "", ""),
        ({"text": "no list"}, "", ""),
        ([], "", ""),
    ],
)
def test_content_is_text_blocks_only(content, text, reasoning) -> None:
    one = said(content)
    assert (one.message.content, one.reasoning) == (text, reasoning)


@pytest.mark.parametrize(
    ("parts", "finish"),
    [
        ({"content": "24", "finish": "stop"}, "stop"),
        ({"content": "24", "finish": "end_turn"}, "stop"),
        ({"content": "24", "finish": None}, "stop"),
        ({"content": "24", "finish": "MAX_TOKENS"}, "length"),
        ({"content": "24", "finish": "SAFETY"}, "content_filter"),
        ({"content": "", "finish": "length"}, "length"),
        ({"content": "  \n", "finish": "stop"}, "empty"),
        ({"content": None, "finish": "STOP"}, "empty"),  # PR-11
        ({"content": "<think>a</think>", "finish": "stop"}, "empty"),
        ({"content": "<think>a", "finish": "length"}, "unclosed_thinking"),  # PR-07
        # PR-01: hidden reasoning used the whole cap. Not an empty answer; Reply's word for it is unclosed thinking,
        # also where the finish reason reads `stop`.
        ({"content": "", "finish": "length", "reasoning_tokens": 498}, "unclosed_thinking"),
        ({"content": "", "finish": "stop", "reasoning_tokens": 498}, "unclosed_thinking"),
        ({"content": "", "finish": "length", "reasoning": "Let me see"}, "unclosed_thinking"),
        ({"content": "24", "finish": "stop", "reasoning_tokens": 498}, "stop"),
        ({"content": None, "finish": "stop", "refusal": "I can't help with that."}, "stop"),  # PR-10
        ({"content": None, "finish": "content_filter", "refusal": "No."}, "content_filter"),
        ({"content": None, "finish": "stop", "tool_calls": CALLS}, "tool_calls"),
        ({"content": "", "finish": "tool_calls", "tool_calls": CALLS, "reasoning_tokens": 9}, "tool_calls"),
        ({"content": "<think>call it", "finish": "stop", "tool_calls": CALLS}, "tool_calls"),
        ({"content": None, "finish": "length", "tool_calls": CALLS}, "length"),
    ],
)
def test_finish(parts, finish) -> None:
    assert said(parts.pop("content"), **parts).finish == finish


def test_a_refusal_is_what_was_said() -> None:  # PR-10
    assert said(None, refusal="I can't help with that.").message.content == "I can't help with that."


@pytest.mark.parametrize("body", [{"candidates": []}, {"choices": []}])
def test_no_candidate_at_all(body) -> None:  # PR-03
    reply = wire.read(body, "openai:x", [])
    assert (reply.text, reply.finish) == ("", "empty")


def test_a_candidate_without_parts() -> None:  # PR-11
    body = {"candidates": [{"content": {"role": "model"}, "finish_reason": "STOP"}]}
    reply = wire.read(body, "openai:x", [])
    assert (reply.text, reply.finish) == ("", "empty")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["content", "tool_calls", "function", "type", "text", "usage", "prompt_tokens", "logprobs"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(message=JSON, usage=JSON, logprobs=JSON, finish=JSON)
@settings(deadline=None, max_examples=200)
def test_no_shape_of_a_choice_raises(message, usage, logprobs, finish) -> None:
    choice = {"message": message, "logprobs": logprobs, "finish_reason": finish}
    reply = wire.read({"choices": [choice], "usage": usage}, "openai:x", [])
    assert len(reply.messages) == 1
