"""A record shows itself in a notebook: all that was said is there, and none of it is markup."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from IPython.core.formatters import DisplayFormatter

from simulator.record import Judgement, Record, Turn
from simulator.record_html import LONGEST
from tasks.nouns import Instance, Message, Score, Shard, ToolCall

PLAIN = {"div", "p", "b", "table", "tr", "td", "br"}


class Reader(HTMLParser):
    """The tags of a page, their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.text += "\n" * (tag == "br")

    def handle_data(self, data: str) -> None:
        self.text += data


def record(said: str = "It is 7.", answer: str | None = "7", **more) -> Record:
    instance = Instance(id="i0", task="math", shards=(Shard(1, "What?"),), instruction="What?", target="7")
    score = None if answer is None else Score(1.0, True)
    turn = Turn(
        said_by="llm",
        utterance="What?",
        messages=(Message("user", "What?"), Message("assistant", said)),
        reveals=(1,),
        judgement=Judgement(by="rules", label="answer_attempt", answer=answer, score=score),
    )
    usual = {"turns": (turn,), "ended": "solved", "score": 1.0, "correct": True, "system": "Be brief."}
    whole = {"task": "math", "mode": "sharded", "policy": "sharded", "repeat": 2, "assistant": "m"} | usual | more
    return Record(key="abcdef0123456789", instance=instance, **whole)


def test_what_was_said_and_judged_is_there():
    page = Reader(record()._repr_html_())
    for text in ("math · sharded", "instance i0 · run 2 · m", "Be brief.", "user (shard 1)", "What?", "It is 7."):
        assert text in page.text
    assert "judge: rules" in page.text
    assert "answer_attempt · answer: 7 · score 1 (scored)" in page.text
    assert "ended: solved · score 1 · target: 7" in page.text


@given(st.text(), st.text())
@settings(deadline=None)
def test_no_text_becomes_markup(said, answer):
    hostile = f"{said}<script>alert(1)</script>\"'><img src=x onerror=y>&lt;"
    page = record(
        hostile, answer=f"{answer}<b onclick=x>", mode=hostile, assistant=hostile, system=hostile, detail=said
    )
    reader = Reader(page._repr_html_())
    assert set(reader.tags) <= PLAIN
    assert reader.attributes <= {"class", "style"}
    assert reader.tags.count("b") == 1
    assert "<script>alert(1)</script>" in reader.text


def test_dollars_are_no_formula():
    page = record("Pay $18 and keep $2.")._repr_html_()
    assert page.startswith('<div class="tex2jax_ignore mathjax_ignore">')


@pytest.mark.parametrize("length", [LONGEST, LONGEST + 1, 50_000])
def test_long_texts_are_cut_and_say_so(length):
    page = record("§" * length)._repr_html_()
    assert page.count("§") == min(length, LONGEST)
    assert (f"({length - LONGEST:,} more characters)" in page) == (length > LONGEST)


def test_lines_stay_lines():
    assert "one\ntwo" in Reader(record("one\ntwo")._repr_html_()).text


def test_tool_calls_and_objections_of_the_guard_are_shown():
    call = ToolCall("c1", "look_up", '{"town": "<Ulm>"}')
    messages = (
        Message("user", "Where?"),
        Message("assistant", "", (call,)),
        Message("tool", "here", tool_call_id="c1"),
    )
    turn = Turn(said_by="llm", utterance="Where?", messages=messages, violations=("numbers: 7 is not there",))
    text = Reader(record(turns=(turn,))._repr_html_()).text
    assert '→ look_up({"town": "<Ulm>"})' in text
    assert "numbers: 7 is not there" in text


def test_a_conversation_that_goes_on_says_so_and_counts_on():
    text = Reader(record(parent="fedcba9876543210", inherited=3)._repr_html_()).text
    assert "goes on after the 3 turns of conversation fedcba987654" in text
    assert "4user (shard 1)" in text


def test_one_that_failed_says_why_and_has_no_score():
    text = Reader(record(ended="judge", cause="timeout", score=None, correct=None, turns=())._repr_html_()).text
    assert "ended: judge timeout · not scored" in text


def test_a_notebook_keeps_one_line_beside_the_page():
    shown, _ = DisplayFormatter().format(record("y" * 5000))
    assert shown["text/html"] == record("y" * 5000)._repr_html_()
    assert shown["text/plain"] == (
        "<Record abcdef012345: math · sharded · instance i0 · run 2 · m · ended: solved · score 1 · target: 7>"
    )
