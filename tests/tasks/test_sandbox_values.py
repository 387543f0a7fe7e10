"""What a candidate claims, read by the host: values keep their types, rubbish is the program's failure."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.sandbox import Call, Outcome, Program, Sandbox, values

UNREADABLE = Outcome("raised", detail="the program wrote an unreadable result")

CLAIMS = [
    b"", b"[]", b"{}", b"null", b'"value"', b'["value"]', b'["value", 1, 2]', b'["value", []]', b'["value", ["list"',
    b'["value", ["nothing", 1]]', b'["value", [["list"], 1]]', b'["value", ["int"]]', b'["value", ["int", "zz"]]',
    b'["value", ["float", {}]]', b'["value", ["set", ["list"]]]', b'["value", ["dict", 1]]', b'["value", ["dict", [1, 2, 3]]]',
    b'["value", ["dict", [["list"], 1]]]', b'["raised", 1]', b'["passed"]', b'["ended"]', b'["printed", 1]', b"\xff\xfe",
    b'["value", ' + b"[" * 100_000, b'["value", ' + b"9" * 5000 + b"]", b'["value", ["other", 1]]', b'["value", {"a": 1}]',
]  # fmt: skip


@pytest.mark.parametrize("line", CLAIMS, ids=range(len(CLAIMS)))
def test_an_unreadable_claim_is_the_programs_failure(line: bytes) -> None:
    assert values.read(line) == UNREADABLE


# -- values -----------------------------------------------------------------------------------------------------------

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
KEYS = SCALARS | st.tuples(SCALARS, SCALARS)
LONG = st.integers(min_value=1, max_value=9).map(lambda digit: digit << 20_000)
PYTHON_VALUES = st.recursive(
    SCALARS | LONG,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.frozensets(KEYS, max_size=4)
    ),
    max_leaves=12,
)


def types_of(value: Any) -> Any:
    """The same tree with types in place of scalars."""
    parts = list(value.items()) if isinstance(value, dict) else value
    return [type(value), *map(types_of, parts)] if isinstance(parts, list | tuple) else type(value)


def source(value: Any) -> str:
    """Python source of a value; `repr` refuses integers of thousands of digits."""
    match value:
        case bool() | None:
            return repr(value)
        case int():
            return hex(value)
        case float():
            return f"float('{value}')"
        case dict():
            return "{" + ", ".join(f"{source(k)}: {source(v)}" for k, v in value.items()) + "}"
        case list() | tuple() | frozenset():
            return f"{type(value).__name__}([" + ", ".join(map(source, value)) + "])"
    return repr(value)


@settings(deadline=None, max_examples=10)
@given(st.lists(PYTHON_VALUES, min_size=20, max_size=40))
def test_values_cross_the_wall_with_their_types(given: list[Any]) -> None:
    async def cross() -> list[Outcome]:
        program = Program(code=f"def attack():\n    return {source(given)}", entry="attack")
        async with Sandbox(servers=1) as sandbox:
            return await sandbox.run(program, [Call(())])

    (outcome,) = asyncio.run(cross())
    assert outcome.value == given
    assert types_of(outcome.value) == types_of(given)
