"""The tests of the code task: what is called with what, and which results are right.

Also the published form of tests (LiveCodeBench, and HumanEval brought into its form): JSON texts of input and output, the
private ones packed as base64 of zlib of a pickle. A pickle is a program; this one is read as data, without running it.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import pickletools
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from tasks.errors import DatasetError
from tasks.sandbox import Call, Feed, Outcome


class CallTest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The function called with `args` gives `expected`."""

    args: tuple[Any, ...]
    expected: Any


class FeedTest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The script that reads `stdin` prints `stdout`."""

    stdin: str
    stdout: str


class CodeData(msgspec.Struct, frozen=True):
    """`Instance.data` of the code task.

    Attributes:
        tests: all `CallTest` or all `FeedTest`.
        entry: name of the function the tests call; None for scripts.
        starter: code that FULL and CONCAT show, if the dataset gives any. `preamble`: code that is run before the answer.
        solution, wrong: a right program and a wrong one, where known.
    """

    tests: list[Any]
    entry: str | None = None
    starter: str = ""
    preamble: str = ""
    solution: str = ""
    wrong: str = ""

    @property
    def runs(self) -> list[Call] | list[Feed]:
        """What goes into the sandbox: the tests without their answers."""
        if self.entry is None:
            return [Feed(test.stdin) for test in self.tests]
        return [Call(test.args) for test in self.tests]

    @property
    def arity(self) -> int:
        """How many arguments the function takes."""
        return 0 if self.entry is None else len(self.tests[0].args)


# -- when a result is right -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Equality:
    """When a result counts as the expected one. Expected values are JSON; results have Python's types.

    Attributes:
        relative, absolute: tolerance where either number is a float; two integers have to be equal.
        tuples_are_lists: at every depth, since JSON has no tuples.
        truth_is_number: True equals 1, as in Python and in the evaluators of the published tests.
        keys_are_texts: a dictionary key 1 equals "1", since JSON has no other keys.

    A set, an iterator or an object of a class equals nothing.
    """

    relative: float = 1e-6
    absolute: float = 1e-9
    tuples_are_lists: bool = True
    truth_is_number: bool = True
    keys_are_texts: bool = True

    def passes(self, outcome: Outcome, test: CallTest | FeedTest) -> bool:
        """Whether an outcome is the answer the test expects."""
        if isinstance(test, CallTest):
            return outcome.kind == "value" and self.same(test.expected, outcome.value)
        return outcome.kind == "printed" and self.same_text(test.stdout, outcome.value)

    def same(self, expected: Any, got: Any) -> bool:
        """Equality of values."""
        if isinstance(expected, list):
            kinds = (list, tuple) if self.tuples_are_lists else (list,)
            return isinstance(got, kinds) and len(got) == len(expected) and all(map(self.same, expected, got))
        if isinstance(expected, dict):
            return isinstance(got, dict) and self._same_items(expected, got)
        if isinstance(expected, bool) != isinstance(got, bool) and not self.truth_is_number:
            return False
        if isinstance(expected, int | float) and isinstance(got, int | float):
            return self._same_number(expected, got)
        return type(expected) is type(got) and bool(expected == got)

    def _same_items(self, expected: Mapping[str, Any], got: Mapping[Any, Any]) -> bool:
        found = {_json_key(key): value for key, value in got.items()} if self.keys_are_texts else got
        return (
            len(found) == len(got)
            and expected.keys() == found.keys()
            and all(self.same(value, found[key]) for key, value in expected.items())
        )

    def _same_number(self, expected: float, got: float) -> bool:
        if isinstance(expected, float) or isinstance(got, float):
            try:
                return math.isclose(expected, got, rel_tol=self.relative, abs_tol=self.absolute)
            except OverflowError:  # an integer beyond all floats
                return False
        return expected == got

    def same_text(self, expected: str, got: str) -> bool:
        """Equality of what was printed: line by line, spaces at line ends and empty lines at the end left aside."""
        ours, theirs = _lines(expected), _lines(got)
        return len(ours) == len(theirs) and all(map(self._same_line, ours, theirs))

    def _same_line(self, expected: str, got: str) -> bool:
        words, others = expected.split(), got.split()
        return expected == got or (len(words) == len(others) and all(map(self._same_word, words, others)))

    def _same_word(self, expected: str, got: str) -> bool:
        """The same word, or the same number where the expected one is written with a decimal point."""
        if expected == got or "." not in expected:
            return expected == got
        try:
            return self._same_number(float(expected), float(got))
        except ValueError:
            return False


def _json_key(key: Any) -> Any:
    if key is None or isinstance(key, bool | int | float):
        return json.dumps(key)
    return key


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]


# -- the published form -----------------------------------------------------------------------------------------------


class PublishedTest(msgspec.Struct, frozen=True):
    """One published test. A functional `input` has one JSON value a line, one for each argument."""

    input: str
    output: str
    testtype: str = "functional"

    def read(self) -> CallTest | FeedTest:
        """Raises `ValueError` where the texts are not JSON."""
        if self.testtype == "stdin":
            return FeedTest(self.input, self.output)
        args = [json.loads(line) for line in self.input.split("\n") if line.strip()]
        return CallTest(tuple(args), json.loads(self.output))


_LARGEST = 1 << 28  # bytes; the largest published set of private tests takes some 50 million
_TEXT_OPCODES = frozenset({"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"})
_IDLE_OPCODES = frozenset({"PROTO", "FRAME", "MEMOIZE", "BINPUT", "LONG_BINPUT", "PUT", "STOP"})


def read_published(text: str) -> Sequence[CallTest | FeedTest]:
    """The tests of `public_test_cases` or `private_test_cases`. Raises `ValueError` for anything but the two known forms."""
    if not text.lstrip().startswith("["):
        text = unpack(text)
    try:
        return [test.read() for test in msgspec.json.decode(text, type=list[PublishedTest])]
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def unpack(text: str) -> str:
    """The text in base64(zlib(pickle(text))). Raises `ValueError`; never runs what a pickle says."""
    try:
        inflate = zlib.decompressobj()
        pickled = inflate.decompress(base64.b64decode(text, validate=True), _LARGEST)
        if not inflate.eof:
            raise ValueError(f"cut off, or more than {_LARGEST} bytes when unpacked")
        return _text_of_pickle(pickled)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"neither JSON nor base64 of zlib data ({error})") from error


def _text_of_pickle(data: bytes) -> str:
    """The one text a pickle holds: its instructions are read, and any that could do more than give a text is refused."""
    texts: list[str] = []
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name in _TEXT_OPCODES:
            texts.append(str(argument))
        elif opcode.name not in _IDLE_OPCODES:
            raise ValueError(f"the pickle does more than hold a text ({opcode.name})")
    if len(texts) != 1:
        raise ValueError(f"the pickle holds {len(texts)} texts")
    return texts[0]


# -- the data of an instance ------------------------------------------------------------------------------------------

_FORM = 'at least one {"args": […], "expected": …} and an entry, or {"stdin": "…", "stdout": "…"} and no entry'


def read_data(fields: Mapping[str, Any], where: str) -> CodeData:
    """`Instance.data`, checked. Raises `DatasetError`, also where there are no tests: any program would pass them all."""
    try:
        data = msgspec.convert(fields, CodeData)
        kind = FeedTest if data.entry is None else CallTest
        tests = msgspec.convert(data.tests, list[kind])  # type: ignore[valid-type]
    except msgspec.ValidationError as error:
        raise DatasetError(f"{where}: unreadable tests ({error})", got=fields.get("tests"), allowed=_FORM) from error
    if not tests:
        raise DatasetError(f"{where}: no tests", got=fields.get("tests"), allowed=_FORM)
    return msgspec.structs.replace(data, tests=tests)
