"""Function calls of a model: how they are read without being run, and when they are the expected ones."""

from __future__ import annotations

import ast
import gzip
import itertools
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.call_match import as_tool, faults, same
from tasks.calls import LONGEST, Call, Unreadable, calls_as_text, read_calls
from tasks.nouns import ToolCall

KNOWN = ["get_weather", "math.gcd", "f"]


def call(name: str, *positional: Any, **named: Any) -> Call:
    return Call(name, positional, named)


# -- reading ----------------------------------------------------------------------------------------------------------

READ = {
    "[move(dx=+5, dy=-3)]": [call("move", dx=5, dy=-3)],  # AC-01
    '[send(title="Spring Garden Fair")]': [call("send", title="Spring Garden Fair")],  # AC-16
    # AC-08, arguable: true, false and null mean one thing only, and many models write them in Python too.
    "[f(flag=true, x=null)]": [call("f", flag=True, x=None)],
    "[f(a=not True, b=1/4, c=2*(3+4), d=-2**2)]": [call("f", a=False, b=0.25, c=14, d=-4)],
    "f(1, 'x', y=(1, 2), z={'k': [1.5]})": [call("f", 1, "x", y=[1, 2], z={"k": [1.5]})],
    "f(**{'a': 1}, b=2)": [call("f", a=1, b=2)],
    "```py\nf(a=1)\nget_weather(city='x')\n```": [call("f", a=1), call("get_weather", city="x")],
    'Here you are:\n```json\n[{"name": "f", "arguments": {"a": 1}}]\n```\nDone.': [call("f", a=1)],
    "f(a=1)\nf(a=2)": [call("f", a=1), call("f", a=2)],
    "[f(a=1)]\n[f(a=2)]": [call("f", a=1), call("f", a=2)],
    "[f(a=1)]\n12 grams\n\n[f(a=2)]\n24 grams": [call("f", a=1), call("f", a=2)],
    "[f(a=1)] was first, so all in all [f(a=1), f(a=2)]": [call("f", a=1), call("f", a=2)],
    "1. f(a=1)\n2. f(a=2)": [call("f", a=1), call("f", a=2)],
    "- `f(a=1)`\n- `f(a=2)`": [call("f", a=1), call("f", a=2)],
    "f(a=1), f(a=2)": [call("f", a=1), call("f", a=2)],
    "result = f(a=1)": [call("f", a=1)],
    "Sure, I will call get_weather(city='Paris') for you.": [call("get_weather", city="Paris")],
    "f(\n  a=1,  # it's one\n  b=2,\n)": [call("f", a=1, b=2)],
    "f(a='two\nlines', b='''three\n''')": [call("f", a="two\nlines", b="three\n")],
    "f(a='brackets )] in text', b=\"it's\")": [call("f", a="brackets )] in text", b="it's")],
    r"f(a='C:\dir')": [call("f", a=r"C:\dir")],
    "[math.gcd(a=1, b=2)]": [call("math.gcd", a=1, b=2)],
    '{"name": "f", "parameters": {"a": null}}': [call("f", a=None)],
    "{'name': 'f', 'arguments': {'a': True}}": [call("f", a=True)],
    '{"f": {"a": 1}}': [call("f", a=1)],
    '[{"f": {"a": 1}}, {"math_gcd": {"a": 2}}]': [call("f", a=1), call("math_gcd", a=2)],
    '{"tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{\\"a\\": 1}"}}]}': [call("f", a=1)],
    '<tool_call>{"name": "f", "arguments": {}}</tool_call>\n<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>': [
        call("f"),
        call("f", a=1),
    ],
    '{"recipient_name": "functions.f", "parameters": {"a": "[f(a=2)]"}}': [call("f", a="[f(a=2)]")],
}


@pytest.mark.parametrize("text", READ)
def test_calls_are_read(text: str) -> None:
    assert read_calls(text, KNOWN) == READ[text]


UNREADABLE = {
    "I am not sure what you mean.": "no function call",  # AC-15
    "The area(s) and mean (x) of get_weather.": "no function call",
    "I need the city for get_weather(city), please.": "no function call",
    "[]": "no function call",
    "": "no function call",
    "[f(x=__import__('os').getpid() + 0)]": "unsupported expression: __import__",  # AC-03
    "[f(x=9**9**9)]": "unsupported expression",
    "[f(x=10**200)]": "unsupported expression",
    "[f(x='a'*10**9)]": "unsupported expression",
    "[f(x=1/0)]": "unsupported expression",
    "[f(x=(-1)**0.5)]": "unsupported expression",
    "[f(x=1e999)]": "unsupported expression",
    "[f(x=-y)]": "unsupported expression: y",
    "[f(x=-True)]": "unsupported expression",
    "[f(x=city)]": "unsupported expression: city",
    "[f(x=...)]": "unsupported expression",
    "[f(x=b'a')]": "unsupported expression",
    "[f(x={1, 2})]": "unsupported expression",
    "[f(x={**y})]": "unsupported expression",
    "[f(x=f'{y}')]": "unsupported expression",
    "[f(x=lambda: 1)]": "unsupported expression",
    "[f(x=[y for y in (1, 2)])]": "unsupported expression",
    "[f(x=1), 2]": "not a function call: 2",
    "[f(x=1, x=2)]": "given twice",
    "[f(x=<missing>)]": "syntax",
    "[f(x=1": "syntax",
    '{"name": "f", "arguments": "a = 1"}': "not JSON",
    '{"name": "f", "arguments": [1]}': "not an object",
    "f(a=" + "(" * 300 + "1" + ")" * 300 + ")": "deep|syntax",
    "f(a=" + "1+" * 9000 + "1)": "deep|syntax",
}


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_cannot_be_read(text: str) -> None:
    with pytest.raises(Unreadable, match=UNREADABLE[text]) as raised:
        read_calls(text, KNOWN)
    assert raised.value.tried == ("no function call" not in UNREADABLE[text])


def test_nothing_is_evaluated(tmp_path: Path) -> None:
    made = tmp_path / "made"
    with pytest.raises(Unreadable):
        read_calls(f"[f(x=__import__('pathlib').Path({str(made)!r}).write_text('x') + 1)]")
    assert not made.exists()


@pytest.mark.parametrize("piece", ["[", "{", "f(", "f([", '{"', "f('", "```\n", "a(b ", "[f(x=1),", "'", "[1,"])
def test_long_tangles_end(piece: str) -> None:
    text = piece * (3 * LONGEST // len(piece))
    with pytest.raises(Unreadable):
        read_calls(text, KNOWN)


def test_the_end_of_a_long_text_is_read() -> None:
    assert read_calls("Let me think. " * LONGEST + "\n[f(a=1)]", KNOWN) == [call("f", a=1)]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
NAMED = st.dictionaries(st.from_regex(r"[a-z]{2,8}_x", fullmatch=True), JSON, max_size=4)


@settings(deadline=None, max_examples=50)
@given(st.lists(NAMED, min_size=1, max_size=3))
def test_both_forms_round_trip(arguments: list[dict[str, Any]]) -> None:
    wanted = [Call(f"f{number}", named=given) for number, given in enumerate(arguments)]
    python = ", ".join(f"{one.name}({', '.join(f'{k}={v!r}' for k, v in one.named.items())})" for one in wanted)
    native = [ToolCall(str(number), one.name, json.dumps(one.named)) for number, one in enumerate(wanted)]
    assert read_calls(f"[{python}]") == wanted
    assert read_calls(calls_as_text(native)) == wanted


def test_native_calls_with_broken_arguments_are_unreadable() -> None:
    broken = [ToolCall("1", "f", '{"a": 1'), ToolCall("2", "f", "")]
    with pytest.raises(Unreadable, match="the arguments of f are not JSON"):
        read_calls(calls_as_text(broken))
    assert read_calls(calls_as_text(broken[1:])) == [call("f")]


@settings(deadline=None)
@given(st.text(alphabet="f(a=1,[]{}\"'`\n:#\\ xT", max_size=120))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        calls = read_calls(text, KNOWN)
    except Unreadable:
        return
    assert calls


# -- matching --------------------------------------------------------------------------------------------------------


def document(**properties: dict[str, Any]) -> dict[str, Any]:
    """A document of `f` in which a parameter without a default is required."""
    required = [name for name, schema in properties.items() if "default" not in schema]
    return {"name": "f", "parameters": {"type": "dict", "properties": properties, "required": required}}


def is_right(given: Any, allowed: list[Any], **schema: Any) -> bool:
    return not faults([call("f", x=given)], [{"f": {"x": allowed}}], [document(x=schema)])


VALUES: list[tuple[bool, Any, list[Any], dict[str, Any]]] = [
    # right?, given, allowed, schema
    (True, [1, 2.5], [[1.0, 2.5]], {"type": "array", "items": {"type": "float"}}),  # AC-05
    (True, 1, [1], {"type": "number"}),  # AC-06
    # AC-08, arguable: `flag=true` was read as True.
    (True, True, [True], {"type": "boolean"}),
    # AC-10, arguable: punctuation can be all that tells two ids, dates or numbers apart.
    (False, "1-23", ["12-3"], {"type": "string"}),
    (False, "-5", ["5"], {"type": "string"}),
    (False, "1.5", ["15"], {"type": "string"}),
    # AC-11, arguable: what is forgiven in a string is forgiven at any depth.
    (True, {"a": {"b": "New York"}}, [{"a": [{"b": ["new york"]}]}], {"type": "dict"}),
    (True, ["New York"], [["new york"]], {"type": "array", "items": {"type": "string"}}),
    (False, [2, 1], [[1, 2]], {"type": "array", "items": {"type": "integer"}}),  # AC-18
    (True, " new  york", ["New York"], {"type": "string"}),
    (True, "it’s", ["it's"], {"type": "string"}),
    (False, "5", [5], {"type": "integer"}),
    (False, 5, ["5"], {"type": "string"}),
    (False, 5.0, [5], {"type": "integer"}),
    (True, 5.0, [5], {"type": "float"}),
    (True, 5, [5.0], {"type": "float"}),
    (True, 0.1 + 0.2, [0.3], {"type": "float"}),
    (False, True, [1], {"type": "integer"}),
    (False, 1, [True], {"type": "boolean"}),
    (False, None, [0], {"type": "integer"}),
    (True, None, [None], {"type": "string"}),
    (True, "anything", ["anything"], {"type": "any"}),
    (True, [], [[]], {"type": "array"}),  # an array whose items nobody described
    (True, {"a": 1}, [{"a": [1], "b": ["", 2]}], {"type": "dict"}),
    (False, {"b": 2}, [{"a": [1], "b": ["", 2]}], {"type": "dict"}),
    (False, {"a": 1, "c": 3}, [{"a": [1]}], {"type": "dict"}),
    (True, {"a": [1, 2.0]}, [{"a": [[1, 2]]}], {"type": "dict", "properties": {"a": {"items": {"type": "float"}}}}),
]


@pytest.mark.parametrize(("right", "value", "allowed", "schema"), VALUES)
def test_values(right: bool, value: Any, allowed: list[Any], schema: dict[str, Any]) -> None:
    assert is_right(value, allowed, **schema) == right


def test_matching_is_an_assignment() -> None:
    """AC-09: first come, first served would give x=1 to the slot that x=2 needs."""
    reference: list[dict[str, Any]] = [{"f": {"x": [1, 2]}}, {"f": {"x": [1]}}]
    docs = [document(x={"type": "integer"})]
    assert faults([call("f", x=1), call("f", x=2)], reference, docs) == []
    assert faults([call("f", x=2), call("f", x=1)], reference, docs) == []
    assert faults([call("f", x=2), call("f", x=2)], reference, docs) == ["f: x is 2, expected 1"]


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(st.integers(0, 3), st.sets(st.integers(0, 3), min_size=1)), min_size=1, max_size=4))
def test_assignment_against_all_orders(pairs: list[tuple[int, set[int]]]) -> None:
    calls = [call("f", x=value) for value, _ in pairs]
    reference: list[dict[str, Any]] = [{"f": {"x": sorted(allowed)}} for _, allowed in pairs]
    possible = any(
        all(one.named["x"] in item["f"]["x"] for one, item in zip(calls, order, strict=True))
        for order in itertools.permutations(reference)
    )
    assert (not faults(calls, reference, [document(x={"type": "integer"})])) == possible


@pytest.mark.parametrize(
    ("calls", "fault"),
    [
        ([call("f", 1, 2)], None),
        ([call("f", 1, b=2)], None),
        ([call("f", b=2, a=1)], None),
        ([call("f", 2, 1)], "a is 2, expected 1"),
        ([call("f", 1, 2, False)], None),
        ([call("f", 1, 2, True)], "c was not asked for"),
        ([call("f", 1, 2, False, 4)], "4 arguments, 3 parameters"),
        ([call("f", 1, a=1, b=2)], "a is given twice"),
        ([call("f", 1)], "b is missing"),
        ([call("f", 1, 2, d=4)], "there is no parameter d"),
        ([call("g", 1, 2)], "g instead of f"),
        ([call("f", 1, 2)] * 2, "2 calls instead of 1"),
    ],
)
def test_arguments(calls: list[Call], fault: str | None) -> None:
    docs = [document(a={"type": "integer"}, b={"type": "integer"}, c={"type": "boolean", "default": False})]
    found = faults(calls, [{"f": {"a": [1], "b": [2]}}], docs)
    assert any(fault in one for one in found) if fault else found == []


def test_defaults_and_optional_parameters() -> None:
    """AC-13, arguable: to leave a parameter at its documented default is to give the default, and the other way round."""
    docs = [document(standardize={"type": "boolean", "default": False})]
    for calls in ([call("f")], [call("f", standardize=False)]):
        assert faults(calls, [{"f": {"standardize": [False]}}], docs) == []
        assert faults(calls, [{"f": {}}], docs) == []
    assert faults([call("f")], [{"f": {"standardize": [True]}}], docs) != []
    assert faults([call("f")], [{"f": {"x": [5, ""]}}], [document(x={"type": "integer"})]) == []


def test_documents_with_gaps_are_no_crash() -> None:
    reference: list[dict[str, Any]] = [{"f.g": {"x": [1]}}]
    for documents in ([], [{"name": "f.g"}], [{"name": "f.g", "parameters": {"properties": {"x": {}}}}]):
        assert faults([call("f_g", x=1)], reference, documents) == []
        assert faults([call("f.g", x=2)], reference, documents) == ["f.g: x is 2, expected 1"]


@settings(deadline=None)
@given(JSON)
def test_a_value_is_itself(value: Any) -> None:
    def alternatives(one: Any) -> Any:
        if isinstance(one, dict):
            return {key: [alternatives(inner)] for key, inner in one.items()}
        return [alternatives(inner) for inner in one] if isinstance(one, list) else one

    assert same(value, alternatives(value), {})


def test_native_tools_are_json_schema() -> None:
    items = {"type": "dict", "properties": {"y": {"type": "float"}}}
    tool = as_tool(
        {
            "name": "a.b",
            "description": "Does it.",
            "parameters": {
                "type": "dict",
                "properties": {
                    "x": {"type": "tuple", "items": items, "description": "Pairs."},
                    "z": {"type": "any"},
                    "n": {"type": "integer", "default": 3},
                },
                "required": ["x"],
            },
        }
    )
    assert tool["function"]["name"] == "a_b"
    assert tool["function"]["parameters"] == {
        "type": "object",
        "properties": {
            "x": {
                "type": "array",
                "items": {"type": "object", "properties": {"y": {"type": "number"}}},
                "description": "Pairs.",
            },
            "z": {},
            "n": {"type": "integer", "default": 3},
        },
        "required": ["x"],
    }


# -- what real models wrote ----------------------------------------------------------------------------------------

LOGS = Path(__file__).parents[2] / ".." / "shared" / "data" / "reference_logs"


def evaluations() -> list[tuple[str, list[dict[str, Any]], dict[str, Any]]]:
    """Task, function documents and evaluation of every answer in the real logs."""
    found = []
    for file in sorted(LOGS.glob("*actions*.jsonl.gz")):
        for line in gzip.decompress(file.read_bytes()).splitlines():
            record = json.loads(line)
            system = record["trace"][0]["content"]
            documents = ast.literal_eval(system[system.index("[{'name'") :])
            logs = [entry["content"] for entry in record["trace"] if entry["role"] == "log"]
            evaluated = [log for log in logs if log["type"] == "answer-evaluation"]
            found += [(record["task_id"], documents, log) for log in evaluated]
    return found


def read(text: str, documents: list[dict[str, Any]]) -> tuple[list[Call], str]:
    try:
        return read_calls(text, [document["name"] for document in documents]), ""
    except Unreadable as error:
        return [], str(error)


@pytest.mark.skipif(not LOGS.is_dir(), reason="the real logs are not here")
def test_what_real_models_wrote() -> None:
    """All the reference could read is read, but for calls of variables; where the two disagree it could not read.

    The logs do not say the allowed values, so an answer the reference found right stands for those of its task.
    """
    answers = []
    golds: defaultdict[str, list[list[Call]]] = defaultdict(list)
    for task, documents, log in evaluations():
        calls, why = read(log["exact_answer"], documents)
        assert calls or "score" not in log["evaluation_return"] or "unsupported expression" in why
        if log["is_correct"]:
            golds[task].append(calls)
        answers.append((task, documents, log, calls))
    table: Counter[tuple[bool, bool]] = Counter()
    for task, documents, log, calls in answers:
        references = [[{one.name: {k: [v] for k, v in one.named.items()}} for one in gold] for gold in golds[task]]
        right = bool(calls) and any(not faults(calls, reference, documents) for reference in references)
        assert right or not log["is_correct"]
        assert not right or log["is_correct"] or "score" not in log["evaluation_return"]
        table[bool(log["is_correct"]), right] += 1
    assert table == {(True, True): 147, (False, True): 9, (False, False): 2321}
