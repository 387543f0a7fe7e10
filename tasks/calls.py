"""Reading function calls in what a model wrote: Python's form or JSON, in a list, on lines, in fences, among prose.

Nothing is ever evaluated: a call is parsed, and its arguments must be literals or small sums of numbers. Calls that stand
where an answer stands (in a list, as JSON, at the start of a line) are the answer; where there are none of these, calls
inside prose are, if they name a known function.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tasks.code_text import fenced_blocks
from tasks.literals import NotLiteral, literal
from tasks.nouns import ToolCall


class Call(msgspec.Struct, frozen=True):
    """One call: its name, its arguments by position and by name. Values are JSON types; a tuple is read as a list."""

    name: str
    positional: tuple[Any, ...] = ()
    named: dict[str, Any] = {}


class Unreadable(Exception):
    """A text without calls, or with a call that cannot be read; the message says why. `tried`: a call was there."""

    def __init__(self, why: str, *, tried: bool = True) -> None:
        self.tried = tried
        super().__init__(why)


#: Calls are looked for in so many characters at the end of a text: reading takes a few milliseconds at most.
LONGEST = 20_000


def read_calls(text: str, known: Collection[str] = ()) -> list[Call]:
    """All calls of a text, in order. Those in fences alone count where there are any.

    Of several lists the last alone counts if it repeats all the others said; else they add up.

    Args:
        known: names of functions, to tell calls in prose from other words before a bracket.

    Raises:
        Unreadable: there is no call, or one cannot be read.
    """
    end = text[-LONGEST:]
    for part in ("\n".join(fenced_blocks(end)), end):
        passages = list(_passages(part, known))
        answers = [passage for passage in passages if passage.is_answer] or passages
        for passage in answers:
            if passage.fault:
                raise Unreadable(passage.fault)
        if answers:
            return _together([passage.calls for passage in answers])
    raise Unreadable("no function call", tried=False)


def _together(lists: Sequence[list[Call]]) -> list[Call]:
    said_before = [call for calls in lists[:-1] for call in calls]
    repeats_all = all(call in lists[-1] for call in said_before)
    return lists[-1] if repeats_all else [*said_before, *lists[-1]]


def calls_as_text(calls: Sequence[ToolCall]) -> str:
    """Native tool calls as a JSON list, which `read_calls` reads. Arguments that are no JSON stay the text they are."""
    return json.dumps(
        [{"name": call.name, "arguments": _arguments(call.arguments)} for call in calls], ensure_ascii=False
    )


def _arguments(text: str) -> Any:
    try:
        return json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return text


# -- where calls stand ------------------------------------------------------------------------------------------------


class Passage(msgspec.Struct, frozen=True):
    """One place of a text that holds calls, or tries to.

    Attributes:
        end: where it ends. `is_answer`: it stands where an answer stands. `fault`: why its calls cannot be read.
    """

    end: int
    is_answer: bool
    calls: list[Call] = []
    fault: str = ""


_NAME = r"[A-Za-z_]\w*(?:\.\w+)*"
_START = re.compile(rf"(?P<list>\[\s*(?={_NAME}\())|(?P<call>(?<![\w.]){_NAME}\()|(?P<json>[\[{{])")
#: What may stand on a line before a call that is the answer: marks of lists and code, commas, a name it is assigned to.
_BEFORE = re.compile(r"[\s,;>*`(\[-]*(?:\d+[.)]\s*)?[*`]*(?:\w+\s*=\s*)?")


#: Characters that may be read in vain; a text of nothing but opening brackets would take for ever.
_PATIENCE = 5 * LONGEST


def _passages(text: str, known: Collection[str]) -> Iterator[Passage]:
    position = last_end = wasted = 0
    while start := _START.search(text, position):
        at = start.start()
        if start["json"]:
            passage = _json_passage(text, at, known)
        else:
            line = text[max(last_end, text.rfind("\n", 0, at) + 1, at - 200) : at]
            passage = _python_passage(text, at, bool(start["list"] or _BEFORE.fullmatch(line)), known)
        if passage.is_answer or passage.calls:
            position = last_end = passage.end
            yield passage
        else:
            position, wasted = start.end(), wasted + passage.end - at
        if wasted > _PATIENCE:
            raise Unreadable("too many brackets that are not closed")


# -- Python's form ----------------------------------------------------------------------------------------------------


def _python_passage(text: str, start: int, is_answer: bool, known: Collection[str]) -> Passage:
    """A call, or a list of calls, that begins at `start`; neither an answer nor with calls if it is mere prose."""
    source, end = _closed(text, start)
    try:
        calls = _python_calls(source)
    except Unreadable as error:
        return Passage(end, is_answer, fault=str(error))
    names = {_plain(name) for name in known}
    meant = is_answer or all(_plain(call.name) in names for call in calls)
    return Passage(end, is_answer, calls if meant else [])


def _plain(name: str) -> str:
    return name.replace(".", "_")


_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)|(?P<string>'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|(?P<mark>[()\[\]{}])|.""",
    re.DOTALL,
)


def _closed(text: str, start: int) -> tuple[str, int]:
    """The source from `start` to where its first bracket is closed, made fit for Python, and where it ends."""
    source: list[str] = []
    depth = 0
    for token in _TOKEN.finditer(text, start):
        piece = token[0]
        source.append(_one_line(piece) if token["string"] else "" if token["comment"] else piece)
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(piece, 0)
        if token["mark"] and depth <= 0:
            return "".join(source), token.end()
    return "".join(source), len(text)


def _one_line(string: str) -> str:
    """A string literal in which raw line breaks are written as such; Python allows them in triple quotes only."""
    return string if string[:3] in ("'''", '"""') else string.replace("\r", "").replace("\n", "\\n")


def _python_calls(source: str) -> list[Call]:
    try:
        tree = _parsed(source)
        return [_python_call(element) for element in (tree.elts if isinstance(tree, ast.List) else [tree])]
    except (SyntaxError, ValueError):
        raise Unreadable("not a function call in Python's syntax") from None
    except (RecursionError, MemoryError):
        raise Unreadable("nested too deeply") from None


def _parsed(source: str) -> ast.expr:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "\d" in a string is a backslash and a d, however Python feels about it
        return ast.parse(source.strip(), mode="eval").body


def _python_call(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call):
        raise Unreadable(f"not a function call: {ast.unparse(node)[:80]}")
    named: dict[str, Any] = {}
    try:
        positional = tuple(literal(argument) for argument in node.args)
        for keyword in node.keywords:
            given = {keyword.arg: literal(keyword.value)} if keyword.arg else literal(keyword.value)
            if not isinstance(given, dict) or given.keys() & named.keys():
                raise Unreadable(
                    "an argument is given twice" if isinstance(given, dict) else "unsupported expression after **"
                )
            named |= given
    except NotLiteral as error:
        raise Unreadable(f"unsupported expression: {error}") from None
    return Call(ast.unparse(node.func), positional, named)


# -- JSON -------------------------------------------------------------------------------------------------------------

_JSON = json.JSONDecoder(strict=False)  # a raw line break inside a string can mean only one thing
_NAMES = ("name", "function", "function_name", "tool", "tool_name", "action", "recipient_name")
_ARGUMENTS = ("arguments", "parameters", "args", "kwargs", "params", "input", "action_input", "tool_input")
_WRAPPERS = ("tool_calls", "function_calls", "calls", "tool_uses", "function", "function_call", "tool_call", "actions")


def _json_passage(text: str, start: int, known: Collection[str]) -> Passage:
    """JSON at `start`; no answer if it says no calls or is no JSON."""
    try:
        value, end = _JSON.raw_decode(text, start)
    except (ValueError, RecursionError):
        value, end = _python_value(text, start)
    try:
        calls = _json_calls(value, {_plain(name) for name in known})
    except Unreadable as error:
        return Passage(end, True, fault=str(error))
    return Passage(end, bool(calls), calls)


def _python_value(text: str, start: int) -> tuple[Any, int]:
    """A dict or list in Python's spelling, and where it ends; None if it is none."""
    source, end = _closed(text, start)
    try:
        return literal(_parsed(source)), end
    except (NotLiteral, SyntaxError, ValueError, RecursionError, MemoryError):
        return None, end


def _json_calls(value: Any, known: Collection[str]) -> list[Call]:
    """The calls a JSON value says: a call, a list of them, `{function: {argument: value}}`, or a message that wraps them."""
    if isinstance(value, list):
        return [call for item in value for call in _json_calls(item, known)]
    if not isinstance(value, dict):
        return []
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    arguments = next((value[key] for key in _ARGUMENTS if key in value), None)
    if name is not None and (arguments is not None or _plain(name) in known):
        return [_json_call(name.removeprefix("functions."), {} if arguments is None else arguments)]
    if value and all(_plain(key) in known and isinstance(given, dict) for key, given in value.items()):
        return [_json_call(key, given) for key, given in value.items()]
    return [call for key in _WRAPPERS for call in _json_calls(value.get(key), known)]


def _json_call(name: str, arguments: Any) -> Call:
    if isinstance(arguments, str):
        try:
            arguments = _JSON.decode(arguments)
        except (ValueError, RecursionError):
            raise Unreadable(f"the arguments of {name} are not JSON") from None
    if not isinstance(arguments, Mapping):
        raise Unreadable(f"the arguments of {name} are not an object")
    return Call(name, named=dict(arguments))
