"""The code task as a run meets it: programs found in replies, passed through tests, scored; case ids are the shared cases'."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from tasks.code import CodeTask
from tasks.code_tests import unpack
from tasks.datasets import load_instances
from tasks.errors import DatasetError
from tasks.nouns import Instance, Score, ScorerFailure, Shard
from tasks.sandbox import Isolation, Limits, Sandbox, host, isolation, shared

pytestmark = pytest.mark.asyncio(loop_scope="module")

TASK = CodeTask()
SHIPPED = TASK.load()
MUTANTS: dict[str, dict[str, str]] = json.loads((Path(__file__).parent / "code_mutants.json").read_text())


def instance(*tests: Any, entry: str | None = "add", **data: Any) -> Instance:
    """One with these tests: `(args, expected)` or, without an entry, `(stdin, stdout)`."""
    names = ("stdin", "stdout") if entry is None else ("args", "expected")
    data |= {"tests": [dict(zip(names, test, strict=True)) for test in tests]} | ({"entry": entry} if entry else {})
    return Instance(id="x", task="code", shards=(Shard(1, "Write add."),), instruction="Write add.", data=data)


ADDING = instance(([2, 3], 5), ([-1, 1], 0))


async def score(reply: str, asked: Instance = ADDING, task: CodeTask = TASK) -> Score:
    """As a conversation does it: extracted, then scored."""
    answer = await task.extract(dedent(reply), asked)
    assert answer is not None
    return await task.score(answer, asked)


# -- scoring ----------------------------------------------------------------------------------------------------------

PASSING = {
    "XC-01": (
        "```python\ndef total(xs):\n    return scale(sum(xs))\n\ndef scale(v):\n    return v * 2\n```",
        instance(([[1, 2]], 6), entry="total"),
    ),
    "XC-12": ("def f(x):\n    return x if x else 0", instance(([0], 0), ([3], 3), entry="solve")),
    "XC-13": (
        "class Solution:\n    def __init__(self):\n        self.memo = {}\n"
        "    def climb(self, n):\n        return self.memo.get(n, n)",
        instance(([3], 3), entry="climb"),
    ),
    "XC-15": ("def a(x):\n    return b(x)\n\ndef b(x):\n    return x + 1\n", instance(([1], 2), entry="a")),
    "XC-18": (
        "def main():\n    print(int(input()) * 2)\n\nif __name__ == '__main__':\n    main()",
        instance(("4\n", "8"), entry=None),
    ),
    "SB-13": ("def fib(n):\n    return n if n < 2 else fib(n-1) + fib(n-2)", instance(([6], 8), entry="fib")),
    # Arguable: True == 1 in Python and in the evaluators of the published tests, so it does here.
    "SB-15": ("def is_even(n):\n    return 1", instance(([2], True), entry="is_even")),
    # Arguable: JSON has no tuples, so an expected list means either, at every depth.
    "SB-16": ("def pair():\n    return (1, [2, (3, 4)])", instance(([], [1, [2, [3, 4]]]), entry="pair")),
    "SB-16: keys": ("def keys():\n    return {1: 'a', None: (2,)}", instance(([], {"1": "a", "null": [2]}), entry="keys")),
    "0.1 + 0.2": ("def add(a, b):\n    return a + b", instance(([0.1, 0.2], 0.3))),
    "preamble": ("def add(a, b):\n    return helper(a) + b", instance(([1, 2], 3), preamble="def helper(x):\n    return x")),
}  # fmt: skip


@pytest.mark.parametrize(("reply", "asked"), PASSING.values(), ids=PASSING.keys())
async def test_a_right_program_passes(reply: str, asked: Instance) -> None:
    result = await score(reply, asked)
    assert (result.value, result.correct, result.status) == (1.0, True, "scored")
    assert result.details["outcomes"] == ["passed"] * len(asked.data["tests"])
    assert result.details["isolation"] == (await shared().open()).label


FAILING = {
    "SB-01": (
        "class E(int):\n    def __eq__(self, o): return True\n    def __ne__(self, o): return False\n"
        "    __hash__ = int.__hash__\ndef add(a, b):\n    return E(0)",
        "scored",
        ["wrong", "passed"],
    ),
    "SB-02": ("import os\ndef add(a, b):\n    os._exit(0)", "error", ["raised", "raised"]),
    "SB-02: while loading": (
        "import sys\nsys.exit(0)\ndef add(a, b):\n    return a + b",
        "error",
        ["raised", "raised"],
    ),
    "SB-03": (
        "print('PASSED 5/5')\nprint('{\"passed\": true}')\ndef add(a, b):\n    return 0",
        "scored",
        ["wrong", "passed"],
    ),
    "SB-05": (
        "def add(a, b):\n    while True:\n        try:\n            pass\n        except BaseException:\n            continue",
        "timeout",
        ["timed_out", "timed_out"],
    ),
    "SB-08": ("import os\nwhile True:\n    os.fork()\ndef add(a, b):\n    return a + b", "error", ["raised", "raised"]),
    "SB-22": ("def add(a, b):\n    x = 'a' * (16 * 1024**3)\n    return a + b", "memory", ["memory", "memory"]),
    "one test of two": ("def add(a, b):\n    return abs(a) + b", "scored", ["passed", "wrong"]),
    "raises": ("def add(a, b):\n    return a / (a - 2)", "error", ["raised", "wrong"]),
    "prints instead of returning": ("def add(a, b):\n    print(a + b)", "scored", ["wrong", "wrong"]),
    "returns a text": ("def add(a, b):\n    return str(a + b)", "scored", ["wrong", "wrong"]),
    "takes too few": ("def add(a):\n    return a", "error", ["raised", "raised"]),
}


@pytest.mark.parametrize(("reply", "status", "outcomes"), FAILING.values(), ids=FAILING.keys())
async def test_a_wrong_program_fails_and_the_score_says_how(reply: str, status: str, outcomes: list[str]) -> None:
    class Quick(CodeTask):
        limits = Limits(cpu=0.5)

    result = await score(reply, task=Quick())
    assert (result.value, result.correct, result.status) == (0.0, False, status)
    assert result.details["outcomes"] == outcomes
    first = result.details["first_failure"]
    assert first["test"] == outcomes.index(next(outcome for outcome in outcomes if outcome != "passed"))
    assert json.loads(json.dumps(result.details)) == result.details


async def test_the_first_failure_is_described() -> None:
    result = await score("def add(a, b):\n    return [a, b]")
    assert result.details["first_failure"] == {"test": 0, "given": "(2, 3)", "expected": "5", "got": "[2, 3]"}
    result = await score("def add(a, b):\n    return a + c")
    reason = result.details["first_failure"]["reason"]
    assert reason == "NameError: name 'c' is not defined (line 2)"
    result = await score("def add(a, b):\n    return [10 ** 5000, '\\ud800' * 400]")
    assert result.details["first_failure"]["got"] == "a value too long to print"


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("", "no_answer"),
        ("no code", "unreadable"),
        ("def add(a, b:\n  return", "unreadable"),
        ("```python\ndef test_add():\n    assert add(1, 2) == 3\n```", "unreadable"),
        ("```python\nclass Nothing:\n    pass\ndef _hidden(): pass\n```", "unreadable"),
    ],
)
async def test_an_answer_that_is_no_program_is_scored_not_raised(answer: str, status: str) -> None:
    result = await TASK.score(answer, ADDING)
    assert (result.value, result.status) == (0.0, status)


async def test_a_script_is_run_anew_for_each_test() -> None:
    asked = instance(("3\n1 2 3\n", "6"), ("1\n-5\n", "-5\n"), ("2\n0.5 0.25\n", "0.75"), entry=None)
    right = "n = int(input())\nprint(sum(map(float if n == 2 else int, input().split())))"
    assert (await score(right, asked)).value == 1.0
    result = await score("print(6)", asked)
    assert result.details["outcomes"] == ["passed", "wrong", "wrong"]
    result = await score("def main():\n    print(6)", asked)
    assert result.details["outcomes"] == ["wrong", "wrong", "wrong"]


async def test_sb_11_no_tests_is_a_fault_of_the_dataset(tmp_path: Path) -> None:
    for tests in ([], None, [{"stdin": "", "stdout": ""}], [{"args": [1]}], "[]"):
        broken = msgspec.structs.replace(ADDING, data={"entry": "add", "tests": tests})
        with pytest.raises(DatasetError):
            await TASK.score("def add(a, b):\n    return a + b", broken)
        file = tmp_path / "own.jsonl"
        file.write_bytes(msgspec.json.encode(broken))
        with pytest.raises(DatasetError, match=r"row 1 .*data\.tests"):
            load_instances(TASK, file)


async def test_sb_20_a_sandbox_that_cannot_be_had_is_no_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(level: Isolation, number: int) -> Any:
        raise isolation.Unavailable("not on this machine")

    monkeypatch.setattr(host, "plan", nothing)
    monkeypatch.setattr("tasks.code.shared", lambda require: Sandbox(require))
    with pytest.raises(ScorerFailure, match="not on this machine"):
        await TASK.score("def add(a, b):\n    return a + b", ADDING)


async def test_isolation_can_be_required() -> None:
    assert CodeTask().require is Isolation.LANDLOCK
    reached = await shared().open()
    result = await score("def add(a, b):\n    return a + b", task=CodeTask(require=reached))
    assert Isolation.named(result.details["isolation"]) >= reached


async def test_all_a_program_finds_in_its_memory_is_what_it_was_called_with() -> None:
    """Expected values never enter the sandbox: they cannot be looked up."""
    code = """
        import gc
        def seek(given):
            holders = [o for o in gc.get_objects() if isinstance(o, (list, dict, tuple))]
            words = {w for o in holders for w in (o.values() if isinstance(o, dict) else o) if isinstance(w, str)}
            return sorted(w for w in words if w.endswith("".join(["xyz", "zy"])))
    """
    asked = instance((["given xyzzy"], ["given xyzzy", "expected xyzzy"]), entry="seek")
    result = await score(code, asked)
    assert result.details["first_failure"]["got"] == "['given xyzzy']"


# -- published rows ---------------------------------------------------------------------------------------------------


def packed(tests: list[dict[str, str]]) -> str:
    """As LiveCodeBench packs private tests."""
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(tests)))).decode()


SHARDS = [{"shard_id": 1, "shard": "write a function that sums"}, {"shard_id": 2, "shard": "it takes two numbers"}]
LCB = {
    "task_id": "sharded-lcb/1", "task": "code", "source": "lcb_easy", "shards": SHARDS,
    "question_content": "You are given two integers. Return their sum.",
    "starter_code": "class Solution:\n    def addUp(self, a: int, b: int) -> int:\n        ",
    "metadata": json.dumps({"func_name": "addUp"}),
    "public_test_cases": json.dumps([{"input": "1\n2", "output": "3", "testtype": "functional"}]),
    "private_test_cases": packed([{"input": "5\n-7", "output": "-2", "testtype": "functional"}]),
}  # fmt: skip
HUMANEVAL = {
    "task_id": "sharded-HumanEval/1", "task": "code", "source": "humaneval", "shards": SHARDS,
    "prompt": "from typing import List\n\ndef twice(x):\n    return 2 * x\n\ndef add(a, b):\n    \"\"\" Adds. \"\"\"\n",
    "metadata": {"func_name": "add"},
    "public_test_cases": json.dumps([{"input": "1\n2", "output": "3"}]),
    "private_test_cases": json.dumps([{"input": "[1]\n[2]", "output": "[1, 2]"}]),
}  # fmt: skip


def load(tmp_path: Path, **row: Any) -> Instance:
    """A published row, through the file reader."""
    file = tmp_path / "rows.json"
    file.write_text(json.dumps([row]))
    (read,) = load_instances(TASK, file)
    return read


async def test_a_livecodebench_row(tmp_path: Path) -> None:
    read = load(tmp_path, **LCB)
    assert read.data["entry"] == "addUp"
    assert read.data["tests"] == [{"args": [1, 2], "expected": 3}, {"args": [5, -7], "expected": -2}]
    assert read.strata == {"source": "lcb_easy"}
    for text in (TASK.full(read), TASK.concat(read, read.shards)):
        assert LCB["starter_code"].strip() in text
    assert LCB["question_content"] in TASK.full(read)
    assert "- it takes two numbers" in TASK.concat(read, read.shards)
    right = "class Solution:\n    def addUp(self, a: int, b: int) -> Optional[int]:\n        return a + b"
    assert (await score(right, read)).value == 1.0
    assert (await score("def my_sum(x, y):\n    return x + y", read)).value == 1.0
    assert (await score("def addUp(a, b):\n    return 3", read)).details["outcomes"] == ["passed", "wrong"]


async def test_a_humaneval_row(tmp_path: Path) -> None:
    read = load(tmp_path, **HUMANEVAL)
    assert "def add(a, b):" in TASK.full(read)
    assert "starter" not in read.data
    using_the_prompts_helper = "def add(a: List, b: List):\n    return twice(a + b)[: len(a + b)]"
    assert (await score(using_the_prompts_helper, read)).details["outcomes"] == ["raised", "passed"]
    assert (await score("def add(a, b):\n    return a + b", read)).value == 1.0
    with pytest.raises(DatasetError, match="no reference solution"):
        TASK.right_answer(read)
    assert (await score(TASK.wrong_answer(read), read)).value == 0.0


async def test_a_row_with_standard_input(tmp_path: Path) -> None:
    tests = json.dumps([{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}])
    read = load(tmp_path, **{**LCB, "metadata": "{}", "public_test_cases": tests, "private_test_cases": "[]"})
    assert (await score("print(sum(map(int, input().split())))", read)).value == 1.0


class Evil:
    """Unpickled, it would call print."""

    def __reduce__(self) -> Any:
        return print, ("pwned",)


def pickled(value: Any) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
async def test_a_packed_text_is_read_in_every_pickle_protocol(protocol: int) -> None:
    for text in ("", "[]", "äß€ 😀" * 100, "x" * 100_000, "line\nline\\"):
        packed_text = base64.b64encode(zlib.compress(pickle.dumps(text, protocol))).decode()
        assert unpack(packed_text) == text


BAD_FIELDS = {
    "a pickle that calls": ({"private_test_cases": pickled(Evil())}, "does more than hold a text"),
    "a pickled list": ({"private_test_cases": pickled(["a"])}, "does more than hold a text"),
    "a pickle of nothing": ({"private_test_cases": pickled(None)}, "does more than hold a text"),
    "a pickled text that is not JSON": ({"private_test_cases": pickled("[")}, "private_test_cases"),
    "not base64": ({"private_test_cases": "!!!"}, "neither JSON nor base64"),
    "not zlib": ({"private_test_cases": base64.b64encode(b"abc").decode()}, "neither JSON nor base64"),
    "cut off": ({"private_test_cases": packed([{"input": "1\n2", "output": "3"}])[:-8]}, "private_test_cases"),
    "no tests": ({"public_test_cases": "[]", "private_test_cases": "[]"}, "no tests"),
    "no such fields": ({"public_test_cases": None}, "public_test_cases"),
    "an input that is not JSON": (
        {"public_test_cases": json.dumps([{"input": "x", "output": "1"}])},
        "public_test_cases",
    ),
    "no function name": ({"metadata": "{}"}, "tests"),
    "metadata that is not JSON": ({"metadata": "{"}, "metadata"),
    "no question": ({"question_content": " "}, "question_content"),
}


@pytest.mark.parametrize(("fields", "message"), BAD_FIELDS.values(), ids=BAD_FIELDS.keys())
async def test_a_bad_row_is_an_error_that_says_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(DatasetError, match=message) as error:
        load(tmp_path, **{**LCB, **fields})
    assert "row 1" in str(error.value)
    assert "pwned" not in capsys.readouterr().out


# -- the shipped instances --------------------------------------------------------------------------------------------


async def test_the_shipped_set_is_what_it_promises() -> None:
    assert len(SHIPPED) >= 24
    assert {one.strata["tier"] for one in SHIPPED} == {1, 2, 3, 4}
    assert len({one.strata["family"] for one in SHIPPED}) >= 6
    assert any("entry" not in one.data for one in SHIPPED)
    for one in SHIPPED:
        assert 3 <= len(one.shards) <= 9, one.id
        assert len(one.data["tests"]) >= 6, one.id
        if "entry" in one.data:
            assert one.data["entry"] in one.shards[0].text, one.id


@pytest.mark.parametrize("one", SHIPPED, ids=lambda one: one.id)
async def test_a_shipped_instance_scores_right_and_wrong(one: Instance) -> None:
    right = await score(TASK.right_answer(one), one)
    assert (right.value, right.correct) == (1.0, True), right.details
    wrong = await score(TASK.wrong_answer(one), one)
    assert wrong.value < 1
    assert set(wrong.details["outcomes"]) <= {"passed", "wrong", "raised"}


@pytest.mark.parametrize("one", SHIPPED, ids=lambda one: one.id)
async def test_every_shard_counts(one: Instance) -> None:
    """For each shard but the first, a program that does all but that shard fails, and only some tests or for a reason."""
    mutants = MUTANTS[one.id]
    assert sorted(map(int, mutants)) == [shard.id for shard in one.shards[1:]]
    for number, code in mutants.items():
        result = await score(f"```python\n{code}\n```", one)
        assert result.value == 0.0, (one.id, number)
        assert result.status in ("scored", "error")


# -- classes ----------------------------------------------------------------------------------------------------------

CLASSES = {
    "```python\ndef add(a, b):\n    return a + b\n```": "answer_attempt",
    "Here is it:\n\ndef add(a, b):\n    return a + b\n\nLet me know if you need anything else.": "answer_attempt",
    "```python\ndef add(a, b:\n```": "answer_attempt",
    "Should it return a list, or print it?": "clarification",
    "```python\ndef add(a, b):\n    pass  # to be filled\n```\nWhat should it do with negative numbers?": "clarification",
    "  \n": "missing",
}


@pytest.mark.parametrize(("reply", "label"), CLASSES.items(), ids=range(len(CLASSES)))
async def test_classes_of_replies(reply: str, label: str) -> None:
    assert await TASK.classify(reply, ADDING) == label


# -- wording ----------------------------------------------------------------------------------------------------------


async def test_the_prompts_say_all_and_no_more() -> None:
    one = SHIPPED[0]
    assert TASK.full(one) == one.instruction
    said = TASK.concat(one, one.shards)
    assert [line[2:] for line in said.splitlines() if line.startswith("- ")] == [shard.text for shard in one.shards]
    assert TASK.concat(one, one.shards[::-1]) != said
    assert "python" in TASK.system(one).lower()


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def _one_sandbox() -> AsyncIterator[None]:
    """The module's event loop has one, which ends with it."""
    yield
    await shared().aclose()
