"""Reading a model's JSON and verdicts: read exactly, or refused with a reason that can be said to the model."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.structured import ADVICE, Malformed, field, read_object, read_verdict, unfenced


def reason(text: str, finish: str = "stop") -> str:
    with pytest.raises(Malformed) as caught:
        read_object(text, finish)
    return caught.value.reason


# -- cases (json-repair) ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            '```json\n{"answer": "run:\\n```python\\nprint(1)\\n```"}\n```',
            {"answer": "run:\n```python\nprint(1)\n```"},
            id="JR-01",
        ),
        pytest.param('{"response_type": "hedge"}\n\nSee [1] and {note}.', {"response_type": "hedge"}, id="JR-03"),
        pytest.param(
            "{'shard_id': 1, 'ok': True, 'x': None}", {"shard_id": 1, "ok": True, "x": None}, id="JR-10-python"
        ),
        pytest.param('{"score": NaN}', {"score": None}, id="JR-10-nan"),
        pytest.param('````json\n{"a": "use ``` here"}\n````', {"a": "use ``` here"}, id="JR-11"),
        pytest.param('<think>{"a": 1}</think>{"a": 2}', {"a": 2}, id="behind-thinking"),
        pytest.param('{"a": 1}</think>\n{"a": 2}', {"a": 2}, id="template-opened-the-thinking"),
        pytest.param('"{\\"a\\": 1}"', {"a": 1}, id="quoted"),
        pytest.param('Sure! {"a": {"b": [1, {"c": 2}]}} Anything else?', {"a": {"b": [1, {"c": 2}]}}, id="nested"),
        pytest.param('{"a": 1} as I said: {"a": 1}', {"a": 1}, id="said-twice"),
        pytest.param('{"a": "two\nlines"}', {"a": "two\nlines"}, id="raw-line-break"),
        pytest.param('[{"a": 1}]', {"a": 1}, id="in-a-list"),
        pytest.param('{"a": 1e999}', {"a": None}, id="infinite"),
        pytest.param("{'a': (1, 2), }", {"a": [1, 2]}, id="tuple-and-trailing-comma"),
        pytest.param("{'a': 'it}s'} {note}", {"a": "it}s"}, id="brace-in-python-string"),
        pytest.param("{}", {}, id="empty"),
    ],
)
def test_an_object_is_read_whatever_stands_around_it(text: str, expected: dict[str, Any]) -> None:
    assert read_object(text) == expected


def test_jr_05_inner_quotes_are_asked_for_again() -> None:
    # Arguable: a parser could guess where the string ends. Of `"the "boss", please"` it could as well make `the `;
    # a wrong text would reach the assistant unseen, while a second call costs little. So it is refused.
    assert reason('{"response": "tell the "boss", please", "shard_id": 2}') == "invalid_json"


def test_jr_06_a_cut_value_is_not_completed() -> None:
    assert reason('{"answer": "SELECT name FROM pe') == "truncated"
    assert reason('{"answer": "SELECT name FROM pe', "length") == "truncated"


def test_jr_08_a_language_tag_is_not_content() -> None:
    assert unfenced("```plaintext\nThe lamp is red.\n```") == "The lamp is red."


@pytest.mark.parametrize(
    ("text", "finish", "expected"),
    [
        ("", "stop", "empty"),
        ("  \n", "length", "truncated"),
        ("no braces here", "stop", "no_json"),
        ("the answer is", "length", "truncated"),
        ('{"outer": {"a": 1}, "b": "cut', "stop", "truncated"),
        ('{"outer": {"a": 1}, "b": {"c": 1}', "length", "truncated"),
        ('{"a": 1} or {"a": 2}', "stop", "several"),
        ('{"a": 1, "a": 2}', "stop", "several"),
        ('{"a": "x "" y"}', "stop", "invalid_json"),
        (r'{"a": "\(x\)"}', "stop", "invalid_json"),
        ("{'a': __import__('os')}", "stop", "invalid_json"),
        ("{'a': b'bytes'}", "stop", "invalid_json"),
        ("{1: 2, 'a': 3}", "stop", "no_json"),
        ('{"a": "\\ud800"}', "stop", "invalid_json"),
        ("<think>let me see", "stop", "unclosed_thinking"),
        ("whatever", "unclosed_thinking", "unclosed_thinking"),
        ("withheld", "content_filter", "filtered"),
        ('{"a": ' + "[" * 20_000 + "}", "stop", "invalid_json"),
        ('{"a": ' + "9" * 6000 + "}", "stop", "invalid_json"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, finish: str, expected: str) -> None:
    assert reason(text, finish) == expected
    assert ADVICE[expected]  # type: ignore[index]


def test_a_complete_object_of_a_cut_reply_counts() -> None:
    assert read_object('{"a": 1}\n\nThis is beca', "length") == {"a": 1}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(
    st.dictionaries(st.text(), JSON, min_size=1, max_size=4),
    st.sampled_from(["", "Sure. ", "```json\n", "<think>{</think>"]),
)
def test_whatever_json_writes_is_read_back(value: dict[str, Any], before: str) -> None:
    assert read_object(before + json.dumps(value) + ("\n```" if "```" in before else "")) == value


@settings(deadline=None)
@given(st.dictionaries(st.text(min_size=1), st.integers() | st.text(), min_size=1, max_size=4), st.data())
def test_a_cut_object_is_never_read(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    with pytest.raises(Malformed):
        read_object(cut, "length")


@settings(deadline=None)
@given(st.text(alphabet="{}[]\"'\\:,ab1 \n`<>/think"), st.sampled_from(["stop", "length", "unclosed_thinking"]))
def test_any_text_is_read_or_refused(text: str, finish: str) -> None:
    with contextlib.suppress(Malformed):
        json.dumps(read_object(text, finish), allow_nan=False)


def test_a_required_field() -> None:
    assert field({"a": None}, "a") is None
    with pytest.raises(Malformed, match="answer"):
        field({}, "answer")


# -- fences -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("```\nx\n```", "x"),
        ("````md\na ``` b\n```\nc\n````", "a ``` b\n```\nc"),
        ("```\na\n```\nprose\n```\nb\n```", "```\na\n```\nprose\n```\nb\n```"),
        ("~~~sql\nSELECT 1\n~~~", "SELECT 1"),
    ],
)
def test_one_fence_around_a_text_goes(text: str, expected: str) -> None:
    assert unfenced(text) == expected


# -- verdicts -----------------------------------------------------------------------------------------------------

RIGHT_WRONG = {"correct": (), "incorrect": ("not correct",)}
YES_NO = {"yes": (), "no": (), "unknown": ()}
CLASSES = {"answer_attempt": (), "clarification": (), "refuse": ("refusal",), "missing": ()}


@pytest.mark.parametrize(
    ("text", "spellings", "expected"),
    [
        pytest.param("INCORRECT", RIGHT_WRONG, "incorrect", id="CL-01-incorrect"),
        pytest.param("not correct", RIGHT_WRONG, "incorrect", id="CL-01-not-correct"),
        pytest.param("CORRECT", RIGHT_WRONG, "correct", id="CL-01-correct"),
        pytest.param(
            "It looks like an answer_attempt at first, but a value is missing.\nFinal verdict: clarification",
            CLASSES,
            "clarification",
            id="CL-03",
        ),
        pytest.param("Answer attempt", CLASSES, "answer_attempt", id="CL-05-spaces"),
        pytest.param("answer-attempt", CLASSES, "answer_attempt", id="CL-05-hyphen"),
        pytest.param("refusal", CLASSES, "refuse", id="CL-05-noun"),
        pytest.param("It is not a clear Yes; the answer is No.", YES_NO, "no", id="CL-10-no"),
        pytest.param("Unknown, the notes do not say yes or no.", YES_NO, "unknown", id="CL-10-unknown"),
        pytest.param("**Verdict:** `refuse`", CLASSES, "refuse", id="markdown"),
        pytest.param("> Yes.", YES_NO, "yes", id="quoted-line"),
    ],
)
def test_a_verdict_is_what_a_text_commits_to(text: str, spellings: dict[str, tuple[str, ...]], expected: str) -> None:
    assert read_verdict(text, spellings) == expected


@pytest.mark.parametrize(
    ("text", "spellings", "expected"),
    [
        pytest.param("refuse|missing", CLASSES, "no_verdict", id="CL-05-both"),
        pytest.param("", CLASSES, "no_verdict", id="CL-05-none"),
        pytest.param("Yes\nNo", YES_NO, "several", id="CL-10-both"),
        pytest.param("not an answer_attempt", CLASSES, "no_verdict", id="CL-01-negated"),
        pytest.param("nobody knows", YES_NO, "no_verdict", id="inside-a-word"),
        pytest.param("label: refuse / missing", CLASSES, "no_verdict", id="two-after-a-cue"),
    ],
)
def test_no_verdict_or_two_are_refused(text: str, spellings: dict[str, tuple[str, ...]], expected: str) -> None:
    with pytest.raises(Malformed) as caught:
        read_verdict(text, spellings)
    assert caught.value.reason == expected
