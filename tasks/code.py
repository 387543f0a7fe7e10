"""The code task: write a Python function, or a script, that passes tests the model does not see.

Protocol as in "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025, App. C and I; data from HumanEval and
LiveCodeBench); wording, extraction and evaluation are our own. The program is found by `tasks/code_text.py`, run by
`tasks/sandbox`, and its results are compared here, by `tasks/code_tests.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from tasks.classify import classify_reply
from tasks.code_tests import CallTest, CodeData, Equality, FeedTest, read_data, read_published
from tasks.code_text import find_entry, find_program, is_template, syntax_error
from tasks.errors import DatasetError
from tasks.nouns import Ask, Instance, Score, ScorerFailure, Shard, TurnClass
from tasks.prompts import prompt
from tasks.rows import Row
from tasks.sandbox import Isolation, IsolationRefused, Limits, Outcome, Program, shared
from tasks.task import Setup, Task

#: What the first failed test makes of the whole; a wrong result is scored.
_STATUS = {"raised": "error", "timed_out": "timeout", "memory": "memory"}


class CodeTask(Task):
    """Python programs; an answer is right if it passes every test.

    Args:
        require: the least isolation under which a model's program is run at all.

    Attributes:
        equality: when a result counts as the expected one. `limits`: what a program may use.
    """

    name = "code"
    summary = "write a Python function or script that passes hidden tests"
    scoring = "all tests passed: 1 or 0"
    needs = "Linux; bubblewrap is best"
    answer_form = "a complete Python function, or script, with the imports and helpers it uses"
    extraction = "rules"
    prompts = ("code/system", "code/full", "code/concat", "code/starter", "code/complete")
    sharding_hints = "code/sharding"
    equality: ClassVar[Equality] = Equality()
    limits: ClassVar[Limits] = Limits()

    def __init__(self, require: Isolation = Isolation.LANDLOCK) -> None:
        self.require = require

    @classmethod
    def made(cls, setup: Setup) -> CodeTask:
        """Raises `UnknownName` for an isolation that is none."""
        return cls() if setup.require_isolation is None else cls(Isolation.named(setup.require_isolation))

    # -- instances ------------------------------------------------------------------------------------------------

    def read_row(self, row: Row) -> Instance:
        """A row made from HumanEval (`prompt`) or LiveCodeBench (`question_content`, `starter_code`), with its tests."""
        stub = row.read("prompt", str, "")
        starter = row.read("starter_code", str, "")
        entry = _function_name(row)
        tests = [test for field in ("public_test_cases", "private_test_cases") for test in _published_tests(row, field)]
        texts = {"entry": entry, "starter": starter, "preamble": _without(stub, entry)}
        return Instance(
            id=row.id,
            task=self.name,
            shards=row.shards,
            instruction=prompt("tasks", "code/complete").fill(code=stub.strip())
            if stub
            else row.text("question_content"),
            strata={"source": row.read("source", str, "")},
            data={"tests": [_fields(test) for test in tests], **{name: text for name, text in texts.items() if text}},
        )

    def check(self, instance: Instance, row: Row) -> None:
        """There are tests, and they can be run."""
        try:
            read_data(instance.data, instance.id)
        except DatasetError as error:
            field = "data.tests" if row.ours else "public_test_cases"
            raise row.error(field, error.got, error.allowed or "", what=error.what) from error

    # -- wording --------------------------------------------------------------------------------------------------

    def system(self, instance: Instance) -> str:
        """A programmer's role and the form of an answer."""
        return prompt("tasks", "code/system").fill()

    def full(self, instance: Instance) -> str:
        """The whole instruction, and the starting code where the dataset has one."""
        return prompt("tasks", "code/full").fill(instruction=instance.instruction, starter=_starter(instance))

    def concat(self, instance: Instance, shards: Sequence[Shard]) -> str:
        """The shards as bullets, and the starting code, as in the paper."""
        bullets = "\n".join(f"- {shard.text}" for shard in shards)
        return prompt("tasks", "code/concat").fill(shards=bullets, starter=_starter(instance))

    # -- answers --------------------------------------------------------------------------------------------------

    async def classify(self, reply: str, instance: Instance) -> TurnClass:
        """By the generic rules, given whether the reply holds a program that is more than a template."""
        program = await self.extract(reply, instance)
        return classify_reply(reply, has_answer=program is not None and not is_template(program))

    async def extract(self, reply: str, instance: Instance) -> str | None:
        """The program in the reply, as written there."""
        return find_program(reply, instance.data.get("entry"))

    async def score(self, answer: str, instance: Instance, ask: Ask | None = None) -> Score:
        """1 if the program passes every test, else 0; the details say how each ended and under which isolation.

        Raises `DatasetError` for an instance without tests, `ScorerFailure` where programs cannot be run.
        """
        data = read_data(instance.data, instance.id)
        code = find_program(answer, data.entry)
        if code is None:
            return Score(0.0, False, "unreadable" if answer.strip() else "no_answer")
        entry = None if data.entry is None else find_entry(code, data.entry, data.arity)
        if fault := syntax_error(code) or (None if data.entry is None or entry else "no function to call"):
            return Score(0.0, False, "unreadable", {"error": fault})
        return await self._run(Program(code=code, preamble=data.preamble, entry=entry), data)

    async def _run(self, program: Program, data: CodeData) -> Score:
        sandbox = shared(self.require)
        try:
            isolation = await sandbox.open()
        except IsolationRefused as refusal:
            raise ScorerFailure(str(refusal)) from refusal
        outcomes = await sandbox.run(program, data.runs, self.limits)
        passed = [self.equality.passes(outcome, test) for outcome, test in zip(outcomes, data.tests, strict=True)]
        right = all(passed)
        details: dict[str, Any] = {"isolation": isolation.label, "entry": program.entry, "passed": sum(passed)}
        details["outcomes"] = [_name(outcome, good) for outcome, good in zip(outcomes, passed, strict=True)]
        if right:
            return Score(1.0, True, details=details)
        first = passed.index(False)
        details["first_failure"] = {"test": first, **_failure(outcomes[first], data.tests[first])}
        return Score(0.0, False, _STATUS.get(outcomes[first].kind, "scored"), details)

    # -- trust ----------------------------------------------------------------------------------------------------

    def right_answer(self, instance: Instance) -> str:
        """The reference solution. Raises `DatasetError` for an instance without one, as published rows are."""
        solution = read_data(instance.data, instance.id).solution
        if not solution:
            raise DatasetError(f"{instance.id}: no reference solution", allowed="data.solution, a program")
        return f"This does all of it:\n\n```python\n{solution}\n```"

    def wrong_answer(self, instance: Instance) -> str:
        """A program that runs and fails a test: the instance's own, or one that does nothing."""
        data = read_data(instance.data, instance.id)
        code = data.wrong or (f"def {data.entry}(*values):\n    return None" if data.entry else "print()")
        return f"This does all of it:\n\n```python\n{code}\n```"


# -- published rows ---------------------------------------------------------------------------------------------------


def _function_name(row: Row) -> str | None:
    """`metadata.func_name`; the metadata may be an object or its JSON text."""
    metadata = row.fields.get("metadata") or "{}"
    try:
        fields = msgspec.json.decode(metadata) if isinstance(metadata, str) else metadata
        return msgspec.convert(fields, dict[str, Any]).get("func_name")
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise row.error("metadata", metadata, "an object, or its JSON text, with func_name") from error


def _published_tests(row: Row, field: str) -> Sequence[CallTest | FeedTest]:
    text = row.read(field, str, "[]")
    try:
        return read_published(text)
    except ValueError as error:
        allowed = "JSON text of [{input, output}], or the same as base64 of zlib of a pickled text"
        raise row.error(field, text, allowed, what=str(error)) from error


def _fields(test: CallTest | FeedTest) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in msgspec.structs.asdict(test).items()
    }


def _without(stub: str, entry: str | None) -> str:
    """Imports and helpers of a HumanEval prompt: what it defines beside the function to complete."""
    if not stub:
        return ""
    try:
        tree = ast.parse(stub)
    except SyntaxError:  # the prompt ends in the middle of something
        return "\n".join(line for line in stub.splitlines() if line.startswith(("import ", "from ")))
    tree.body = [node for node in tree.body if getattr(node, "name", None) != entry]
    return ast.unparse(tree)


# -- small parts ------------------------------------------------------------------------------------------------------


def _starter(instance: Instance) -> str:
    code = str(instance.data.get("starter", "")).strip("\n")
    return prompt("tasks", "code/starter").fill(code=code) if code else ""


def _name(outcome: Outcome, passed: bool) -> str:
    answered = outcome.kind in ("value", "printed")
    return ("passed" if passed else "wrong") if answered else outcome.kind


def _failure(outcome: Outcome, test: CallTest | FeedTest) -> dict[str, str]:
    """What a reader needs of one failed test, as short texts."""
    given, expected = (test.args, test.expected) if isinstance(test, CallTest) else (test.stdin, test.stdout)
    got = {"got": _short(outcome.value)} if outcome.kind in ("value", "printed") else {}
    reason = {"reason": outcome.detail} if outcome.detail else {}
    return {"given": _short(given), "expected": _short(expected), **got, **reason}


def _short(value: Any) -> str:
    try:
        text = repr(value).encode(errors="backslashreplace").decode()
    except ValueError:  # an integer of more digits than Python prints
        text = "a value too long to print"
    return text if len(text) <= 300 else f"{text[:297]}..."
