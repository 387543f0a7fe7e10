"""The value of an expression a model wrote, without evaluating it: literals, and arithmetic on numbers of bounded size."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

Number: TypeAlias = int | float


class NotLiteral(Exception):
    """An expression that is more than a literal; the message shows it."""


#: Other languages' spellings, which many models use in Python too.
_SPELLINGS = {"true": True, "false": False, "null": None}

_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[Number], Number]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}

#: Whole numbers stay within this many bits, so that `9**9**9` is refused instead of computed.
_BITS = 128


def literal(node: ast.expr) -> Any:
    """The value in JSON types; tuples become lists. Raises `NotLiteral`, and `RecursionError` when nested too deeply."""
    match node:
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return _bounded(node, value) if isinstance(value, float | int) else value
        case ast.Name(id=name) if name in _SPELLINGS:
            return _SPELLINGS[name]
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [literal(element) for element in elements]
        case ast.Dict(keys=keys, values=values):
            return {_key(node, key): literal(value) for key, value in zip(keys, values, strict=True)}
        case ast.UnaryOp(op=ast.Not(), operand=operand) if isinstance(value := literal(operand), bool):
            return not value
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_number(node, operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _computed(node, op, _number(node, left), _number(node, right))
    raise _refused(node)


def _key(node: ast.expr, key: ast.expr | None) -> str:
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        return key.value
    raise _refused(node)


def _number(node: ast.expr, operand: ast.expr) -> Number:
    value = literal(operand)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _refused(node)
    return value


def _computed(node: ast.expr, op: ast.operator, left: Number, right: Number) -> Number:
    if isinstance(op, ast.Pow) and abs(right) * max(1, int(abs(left)).bit_length()) > _BITS:
        raise _refused(node)
    try:
        return _bounded(node, _BINARY[type(op)](left, right))
    except (ArithmeticError, TypeError):
        raise _refused(node) from None


def _bounded(node: ast.expr, value: Number) -> Number:
    """The value, if it is neither infinite nor enormous (nor complex, as a root of a negative number is)."""
    if isinstance(value, int) and value.bit_length() <= _BITS:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise _refused(node)


def _refused(node: ast.expr) -> NotLiteral:
    try:
        return NotLiteral(ast.unparse(node)[:80])
    except (RecursionError, ValueError):  # a number of thousands of digits cannot even be shown
        return NotLiteral(type(node).__name__)
