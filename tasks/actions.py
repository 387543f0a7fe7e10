"""The actions task: a request becomes one or more function calls.

Protocol as in "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025, App. C and I; data from the Berkeley Function
Calling Leaderboard, v3 parallel); wording, reading and scoring are our own (`tasks/calls.py`, `tasks/call_match.py`). The
shipped requests are made by `tasks/errands.py`, so that anybody can make fresh ones that no model has seen.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tasks.call_match import as_tool, faults
from tasks.calls import Unreadable, calls_as_text, read_calls
from tasks.classify import classify_reply
from tasks.errands import generate
from tasks.nouns import Ask, Instance, Score, Shard, ToolCall, TurnClass
from tasks.prompts import prompt
from tasks.rows import Row
from tasks.task import Setup, Task


class ActionsTask(Task):
    """Requests for function calls; an answer is right if it makes the expected calls, all of them and no others.

    Args:
        native_tools: give the functions to the model as native tools instead of in the system text. Its tool calls come to
            `extract` as text (`tasks.calls.calls_as_text`); calls written as text count all the same.
    """

    name = "actions"
    summary = "requests answered by function calls, one or several at once"
    scoring = "the expected calls, types strict: 1 or 0"
    answer_form = "one or more function calls with their arguments, in Python's syntax or as JSON; nothing else"
    extraction = "rules"
    tool_calls_are_answers = True
    prompts = ("actions/system", "actions/native", "actions/full", "actions/concat")
    sharding_hints = "actions/sharding"

    def __init__(self, native_tools: bool = False) -> None:
        self.native_tools = native_tools

    @classmethod
    def made(cls, setup: Setup) -> ActionsTask:
        return cls(native_tools=setup.native_tools)

    def identity(self) -> dict[str, Any]:
        return {"native_tools": self.native_tools}

    # -- instances ------------------------------------------------------------------------------------------------

    def read_row(self, row: Row) -> Instance:
        """A row of sharded BFCL: `function`, `reference_answer`, `fully_specified_question` (nested lists of messages)."""
        category = row.fields.get("test_category")
        return Instance(
            id=row.id,
            task=self.name,
            shards=row.shards,
            instruction=_question(row),
            target=row.read("reference_answer", list[dict[str, dict[str, list[Any]]]]),
            strata={"category": category} if isinstance(category, str) else {},
            data={"functions": row.read("function", list[dict[str, Any]])},
        )

    def check(self, instance: Instance, row: Row) -> None:
        """A reference of one function an item with allowed values, and documents that have names."""
        field, functions = ("target", "data.functions") if row.ours else ("reference_answer", "function")
        if not (isinstance(instance.target, list) and instance.target and all(map(_is_reference, instance.target))):
            raise row.error(field, instance.target, "a list of {function: {parameter: [allowed values]}}")
        documents = instance.data.get("functions")
        if not (isinstance(documents, list) and documents and all(map(_is_document, documents))):
            raise row.error(
                functions, documents, "a list of {name, description, parameters: {type, properties, required}}"
            )

    def generate(self, n: int, seed: int) -> Iterator[Instance]:
        """Errands of one to four calls, the tiers in turn."""
        return generate(n, seed)

    # -- wording --------------------------------------------------------------------------------------------------

    def system(self, instance: Instance) -> str:
        """The functions and the form of an answer; with native tools neither, since the tools say both."""
        if self.native_tools:
            return prompt("tasks", "actions/native").fill()
        functions = "\n".join(json.dumps(function, ensure_ascii=False) for function in instance.data["functions"])
        return prompt("tasks", "actions/system").fill(functions=functions)

    def full(self, instance: Instance) -> str:
        """The whole request."""
        return prompt("tasks", "actions/full").fill(instruction=instance.instruction)

    def concat(self, instance: Instance, shards: Sequence[Shard]) -> str:
        """The shards as bullets."""
        return prompt("tasks", "actions/concat").fill(shards="\n".join(f"- {shard.text}" for shard in shards))

    def called(self, calls: Sequence[ToolCall]) -> str:
        """The calls in the form the rules read."""
        return calls_as_text(calls)

    def tools(self, instance: Instance) -> Sequence[Mapping[str, Any]]:
        """The functions as native tools, if they are given that way."""
        return [as_tool(function) for function in instance.data["functions"]] if self.native_tools else ()

    # -- answers --------------------------------------------------------------------------------------------------

    async def classify(self, reply: str, instance: Instance) -> TurnClass:
        """By the generic rules, given whether the reply has a function call."""
        return classify_reply(reply, has_answer=await self.extract(reply, instance) is not None)

    async def extract(self, reply: str, instance: Instance) -> str | None:
        """The whole reply, if a function call is in it."""
        try:
            read_calls(reply, _names(instance))
        except Unreadable as error:
            return reply if error.tried else None
        return reply

    async def score(self, answer: str, instance: Instance, ask: Ask | None = None) -> Score:
        """1 if the answer makes the expected calls, else 0. An answer that cannot be read is a 0 that says why."""
        try:
            calls = read_calls(answer, _names(instance))
        except Unreadable as error:
            return Score(0.0, False, "unreadable" if answer.strip() else "no_answer", {"reason": str(error)})
        found = faults(calls, instance.target, instance.data["functions"])
        details = {"calls": len(calls), **({"faults": found[:10]} if found else {})}
        return Score(float(not found), not found, details=details)

    # -- trust ----------------------------------------------------------------------------------------------------

    def right_answer(self, instance: Instance) -> str:
        """The expected calls in Python's form, each argument at its first allowed value."""
        return _written(_first_allowed(instance))

    def wrong_answer(self, instance: Instance) -> str:
        """The same with another value in the first call, or with a call too many where it has no arguments."""
        (name, arguments), *rest = _first_allowed(instance)
        if not arguments:
            return _written([(name, arguments), (name, arguments), *rest])
        parameter = next(iter(arguments))
        return _written([(name, {**arguments, parameter: f"not {arguments[parameter]}"}), *rest])


def _names(instance: Instance) -> list[str]:
    return [str(function["name"]) for function in instance.data["functions"]]


# -- published rows ---------------------------------------------------------------------------------------------------


def _question(row: Row) -> str:
    """The question of a row: a text, or messages in lists of lists."""
    value: Any = row.fields.get("fully_specified_question")
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    text = value.get("content") if isinstance(value, dict) else value
    if not isinstance(text, str) or not text.strip():
        raise row.error("fully_specified_question", value, "a text, or [[{content: text}]] with one message")
    return text


def _is_reference(item: Any) -> bool:
    """One function with lists of allowed values by parameter."""
    if not isinstance(item, dict) or len(item) != 1:
        return False
    (allowed,) = item.values()
    return isinstance(allowed, dict) and all(isinstance(values, list) and values for values in allowed.values())


def _is_document(function: Any) -> bool:
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return False
    parameters = function.get("parameters", {})
    return isinstance(parameters, dict) and isinstance(parameters.get("properties", {}), dict)


# -- answers as text ------------------------------------------------------------------------------------------------


def _first_allowed(instance: Instance) -> list[tuple[str, dict[str, Any]]]:
    return [
        (name, {parameter: _one_of(values) for parameter, values in allowed.items() if values[0] != ""})
        for item in instance.target
        for name, allowed in item.items()
    ]


def _one_of(values: Sequence[Any]) -> Any:
    """The first allowed value; inside an object each key has a list of its own."""
    value = values[0]
    if not isinstance(value, dict):
        return value
    lists = {key: one if isinstance(one, list) else [one] for key, one in value.items()}
    return {key: _one_of(one) for key, one in lists.items()}


def _written(calls: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    shown = (f"{name}({', '.join(f'{key}={value!r}' for key, value in given.items())})" for name, given in calls)
    return f"[{', '.join(shown)}]"
