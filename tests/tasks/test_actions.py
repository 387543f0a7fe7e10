"""The actions task: its embedded errands, its wording, native tools, and published rows."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tasks import errands
from tasks.actions import ActionsTask
from tasks.calls import calls_as_text, read_calls
from tasks.datasets import instance_lines
from tasks.errands import functions
from tasks.errors import DatasetError
from tasks.nouns import Instance, ToolCall

TASK = ActionsTask()
SHIPPED = TASK.load()
DATA = Path(__file__).parents[2] / "tasks" / "data" / "actions.jsonl"


# -- the embedded errands ------------------------------------------------------------------------------------------------


def test_shipped_errands_are_generated() -> None:
    assert "".join(instance_lines(TASK.generate(len(SHIPPED), 0))) == DATA.read_text(encoding="utf-8")


def test_functions() -> None:
    assert len(functions()) >= 20
    assert len({function.domain for function in functions()}) >= 10
    for function in functions():
        for name, parameter in function.parameters.items():
            for value, words in parameter.choices():
                assert value != parameter.default, (function.name, name)
                assert parameter.enum is msgspec.UNSET or value in parameter.enum
                assert words or "{}" not in parameter.fact


def test_spread() -> None:
    assert len(SHIPPED) >= 24
    assert all(3 <= len(instance.shards) <= 9 for instance in SHIPPED)
    assert {len(instance.shards) for instance in SHIPPED} == set(range(3, 10))
    assert set(Counter(instance.strata["difficulty"] for instance in SHIPPED)) == {"easy", "medium", "hard"}
    assert {len(instance.target) for instance in SHIPPED} == {1, 2, 3, 4}
    assert len({instance.strata["domain"] for instance in SHIPPED}) >= 10
    assert len({instance.id for instance in SHIPPED}) == len({one.instruction for one in SHIPPED}) == len(SHIPPED)


def test_fresh_errands() -> None:
    fresh = list(TASK.generate(40, 7))
    assert fresh == list(TASK.generate(40, 7))
    assert fresh[:9] == list(TASK.generate(9, 7))
    assert fresh != list(TASK.generate(40, 8))


def test_more_errands_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    few = functions()[:6]
    monkeypatch.setattr(errands, "functions", lambda: few)
    monkeypatch.setattr(errands, "_MOST_DRAWS", 500)
    with pytest.raises(DatasetError, match="no more different easy errands"):
        list(TASK.generate(6_000, 0))


async def test_right_and_wrong_answers() -> None:
    for instance in SHIPPED:
        for reply, value in ((TASK.right_answer(instance), 1.0), (TASK.wrong_answer(instance), 0.0)):
            score = await TASK.score(await TASK.extract(reply, instance) or "", instance)
            assert (score.value, score.status) == (value, "scored")


def calls_without(instance: Instance, number: int, parameter: str) -> list[dict[str, Any]]:
    """The expected calls at their first allowed values, one without a parameter."""
    calls = json.loads(json.dumps([TASK.right_answer(instance)]))
    read = [{"name": call.name, "arguments": dict(call.named)} for call in read_calls(calls[0])]
    del read[number]["arguments"][parameter]
    return read


@pytest.mark.parametrize("instance", SHIPPED, ids=lambda instance: instance.id)
async def test_every_fact_matters(instance: Instance) -> None:
    """Each call needs what was said of it; what nobody said may be left out. Facts and needs are equally many."""
    needed = 0
    for number, item in enumerate(instance.target):
        [allowed] = item.values()
        for parameter, choices in allowed.items():
            text = json.dumps(calls_without(instance, number, parameter))
            optional = "" in choices
            assert (await TASK.score(text, instance)).correct == optional
            needed += not optional
    shared = sum(shard.text.startswith("Each ") for shard in instance.shards)
    own = len(instance.shards) - 1 - shared
    assert own <= needed <= own + shared * len(instance.target)


@pytest.mark.parametrize("instance", SHIPPED, ids=lambda instance: instance.id)
def test_shards_say_what_the_instruction_says(instance: Instance) -> None:
    intent, *rest = (shard.text for shard in instance.shards)
    assert not re.search(r"\d|'", intent)
    for pattern in (r"\d+(?:[.:-]\d+)*", r"'[^']*'"):
        said = {value for text in rest for value in re.findall(pattern, text)}
        assert set(re.findall(pattern, instance.instruction)) == said
    strings = [
        value
        for item in instance.target
        for allowed in item.values()
        for [value, *more] in allowed.values()
        if not more
    ]
    for value in strings:
        if isinstance(value, str) and not re.fullmatch(r"[\d-]+|fahrenheit", value):
            assert value in " ".join(rest)
            assert value in instance.instruction
            assert value not in intent


def test_later_shards_stand_alone() -> None:
    """With several calls of a function each shard names the call it is about, or says that it holds for each or for one."""
    for instance in SHIPPED:
        names = Counter(name for item in instance.target for name in item)
        if len(names) == 1 and len(instance.target) > 1:
            function = next(one for one in functions() if one.name == next(iter(names)))
            label = function.label.partition("{}")[0].strip().capitalize()
            assert all(shard.text.startswith(("Each ", "One ", label)) for shard in instance.shards[1:])
        assert not any(
            re.search(r"\b(also|it|they|another|other|them|that one)\b", s.text, re.I) for s in instance.shards[1:]
        )


def test_the_functions_of_an_instance() -> None:
    for instance in SHIPPED:
        offered = [function["name"] for function in instance.data["functions"]]
        used = {name for item in instance.target for name in item}
        assert used < set(offered)
        assert len(offered) == len(set(offered))


# -- wording -----------------------------------------------------------------------------------------------------------


def test_modes_differ_in_nothing_but_the_disclosure() -> None:
    instance = SHIPPED[0]
    system = TASK.system(instance)
    documents = [json.loads(line) for line in system.splitlines() if line.startswith("{")]
    assert documents == instance.data["functions"]
    assert TASK.full(instance) == instance.instruction
    concat = TASK.concat(instance, instance.shards)
    assert concat.splitlines()[1:] == [f"- {shard.text}" for shard in instance.shards]
    assert not any(name["name"] in concat for name in documents)


async def test_native_tools() -> None:
    task = ActionsTask(native_tools=True)
    for instance in SHIPPED[:6]:
        tools = task.tools(instance)
        assert TASK.tools(instance) == ()
        assert not any(function["name"] in task.system(instance) for function in instance.data["functions"])
        names = {tool["function"]["name"] for tool in tools}
        assert all(re.fullmatch(r"[\w-]{1,64}", name) for name in names)
        called = [
            ToolCall(str(number), call.name.replace(".", "_"), json.dumps(call.named))
            for number, call in enumerate(read_calls(task.right_answer(instance)))
        ]
        assert {call.name for call in called} <= names
        text = calls_as_text(called)
        assert await task.extract(text, instance) == text
        assert (await task.score(text, instance)).correct
        assert not (await task.score(calls_as_text([*called, called[0]]), instance)).correct


# -- answers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "extracted", "status"),
    [
        ("I am not sure what you mean.", False, "unreadable"),  # AC-15
        ("", False, "no_answer"),
        ("[volume(radius=__import__('os').getpid())]", True, "unreadable"),  # AC-03
        ("[volume(radius=1", True, "unreadable"),
        ("[volume(radius=1)]", True, "scored"),
    ],
)
async def test_bad_answers_are_zeros_with_a_reason(reply: str, extracted: bool, status: str) -> None:
    instance = SHIPPED[0]
    assert (await TASK.extract(reply, instance) is not None) == extracted
    score = await TASK.score(reply, instance)
    assert (score.value, score.correct, score.status) == (0.0, False, status)
    assert score.details.get("reason") or score.details.get("faults")


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("[volume(radius=1)]", "answer_attempt"),
        ('{"name": "volume", "arguments": {}}', "answer_attempt"),
        ("Which radius do you have in mind?", "clarification"),
        ("None of the given functions can do that.", "refuse"),
        ("", "missing"),
    ],
)
async def test_classes(reply: str, label: str) -> None:
    assert await TASK.classify(reply, SHIPPED[0]) == label


async def test_right_answers_are_attempts() -> None:
    labels = {await TASK.classify(TASK.right_answer(instance), instance) for instance in SHIPPED}
    assert labels == {"answer_attempt"}


# -- published rows ---------------------------------------------------------------------------------------------------

FUNCTION = {
    "name": "math.hypot",
    "description": "The hypotenuse.",
    "parameters": {
        "type": "dict",
        "properties": {"x": {"type": "float"}, "y": {"type": "float"}, "z": {"type": "any"}},
        "required": ["x", "y"],
    },
}


def row(**changes: object) -> dict[str, object]:
    """A row as published."""
    return {
        "task_id": "sharded-BFCL/parallel_7",
        "task": "actions",
        "function": [FUNCTION],
        "fully_specified_question": [[{"role": "user", "content": "The hypotenuse of 3 and 4, and of 6 and 8?"}]],
        "reference_answer": [
            {"math.hypot": {"x": [3], "y": [4], "z": ["", 0]}},
            {"math.hypot": {"x": [6], "y": [8, 8.0], "z": ["", 0]}},
        ],
        "language": "Python",
        "test_category": "parallel",
        "shards": [{"shard_id": 1, "shard": "Hypotenuses"}, {"shard_id": 2, "shard": "one of 3 and 4, one of 6 and 8"}],
    } | changes


def load(folder: Path, *rows: dict[str, object]) -> list[Instance]:
    path = folder / "rows.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return TASK.load(path)


async def test_published_row(tmp_path: Path) -> None:
    [instance] = load(tmp_path, row())
    assert TASK.full(instance) == "The hypotenuse of 3 and 4, and of 6 and 8?"
    assert instance.strata == {"category": "parallel"}
    assert json.dumps(FUNCTION) in TASK.system(instance)
    answers = {
        TASK.right_answer(instance): True,
        TASK.wrong_answer(instance): False,
        "[math.hypot(6, 8), math.hypot(x=3, y=4.0)]": True,
        "[math_hypot(x=3, y=4, z=0)]\n[math_hypot(x=6, y=8)]": True,
        "[math.hypot(3, 4), math.hypot(6, 9)]": False,
        "[math.hypot(3, 4)]": False,
    }
    for answer, right in answers.items():
        assert (await TASK.score(answer, instance)).correct == right, answer


def test_old_name_and_plain_question(tmp_path: Path) -> None:
    [instance] = load(tmp_path, row(task="apis", fully_specified_question="The hypotenuse?", test_category=None))
    assert (TASK.full(instance), instance.strata) == ("The hypotenuse?", {})


@pytest.mark.parametrize(
    "changes",
    [
        {"function": []},
        {"function": [{"description": "no name"}]},
        {"function": "math.hypot"},
        {"function": [{"name": "f", "parameters": {"properties": []}}]},
        {"reference_answer": []},
        {"reference_answer": [{}]},
        {"reference_answer": [{"f": {"x": [1]}, "g": {}}]},
        {"reference_answer": [{"f": {"x": []}}]},
        {"reference_answer": [{"f": {"x": 1}}]},
        {"fully_specified_question": [[]]},
        {"fully_specified_question": [[{"content": " "}]]},
        {"fully_specified_question": [[{"content": "a"}, {"content": "b"}]]},
    ],
)
def test_row_that_cannot_be_used(tmp_path: Path, changes: dict[str, object]) -> None:
    with pytest.raises(DatasetError, match=rf"rows\.json, row 2, field {next(iter(changes))}"):
        load(tmp_path, row(), row(task_id="other", **changes))


async def test_reference_of_an_unknown_function(tmp_path: Path) -> None:
    """A fault of the dataset, but no crash: the values decide."""
    [instance] = load(tmp_path, row(function=[{"name": "other"}]))
    assert (await TASK.score(TASK.right_answer(instance), instance)).correct
