"""A user's own model: `python:package.module:object` for a chat model, a Runnable, a LangGraph agent or a function."""

from __future__ import annotations

import importlib
import os
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from inspect import isawaitable
from typing import Any

import msgspec
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig

from simulator.errors import CallFailed, ModelError
from simulator.models import prices
from simulator.models.access import Access
from simulator.models.failures import from_exception, malformed
from simulator.models.langchain_messages import reply_of, to_langchain
from simulator.models.provider import ChatModel, isolated
from tasks.errors import UnknownName
from tasks.nouns import Message, Options, Reply

_FORM = "python:package.module:object"
_KINDS = "a LangChain chat model, a Runnable, a compiled LangGraph agent, or a function (messages, options) -> text"


class RunnableModel:
    """A Runnable or a compiled LangGraph agent: it gets the whole conversation at each call and says what it adds to it.

    It runs with its own configuration and, where it has a checkpointer, in a fresh thread each time: nothing is carried
    from one call to the next but the messages. Sampling options and schemas are its own affair; it brings its own tools.
    """

    def __init__(self, name: str, runnable: Runnable[Any, Any], *, timeout: float, price: prices.Price) -> None:
        self.name = name
        self._runnable, self._timeout, self._price = runnable, timeout, price
        self._wants_state = "messages" in runnable.get_input_jsonschema().get("properties", {})

    async def call(self, messages: Sequence[Message], options: Options) -> Reply:
        """One try. Raises `CallFailed`."""
        if options.tools:
            raise CallFailed("bad_request", f"{self.name} brings its own tools and takes no others", stop_run=True)
        started = time.perf_counter()
        given = to_langchain(messages)
        thread: RunnableConfig = {"configurable": {"thread_id": uuid.uuid4().hex}}
        asked = {"messages": given} if self._wants_state else given
        try:
            output = await isolated(self._runnable.ainvoke(asked, thread), self._timeout)
        except Exception as problem:
            raise from_exception(problem) from problem
        reply = reply_of(_added(output, given), self.name, messages)
        return msgspec.structs.replace(reply, cost=self._price(reply.usage), seconds=time.perf_counter() - started)

    async def close(self) -> None:
        """It is the user's, and stays open."""


class FunctionModel:
    """A plain function, sync or async, from (messages, options) to text, to a `Reply` or to anything a Runnable may say."""

    def __init__(self, name: str, function: Callable[[Sequence[Message], Options], Any], price: prices.Price) -> None:
        self.name = name
        self._function, self._price = function, price

    async def call(self, messages: Sequence[Message], options: Options) -> Reply:
        """One try; what the function raises is a failed call. Raises `CallFailed`."""
        started = time.perf_counter()
        try:
            output = self._function(messages, options)
            if isawaitable(output):
                output = await output
        except Exception as problem:
            raise from_exception(problem) from problem
        reply = output if isinstance(output, Reply) else reply_of(_added(output, ()), self.name, messages)
        cost = reply.cost if reply.cost is not None else self._price(reply.usage)
        return msgspec.structs.replace(reply, model=self.name, cost=cost, seconds=time.perf_counter() - started)

    async def close(self) -> None:
        """It is the user's, and stays open."""


def make_python(spec: str, path: str, access: Access) -> ChatModel | RunnableModel | FunctionModel:
    """The model behind `python:package.module:object`; modules of the current folder are found.

    Raises:
        ModelError: it cannot be imported, or is nothing that answers. UnknownName: the module has no such object.
    """
    target = _load(spec, path)
    price = prices.price(spec, given=access.prices)
    if isinstance(target, BaseChatModel):
        return ChatModel(spec, target, timeout=access.timeout, price=price)
    if isinstance(target, Runnable):
        return RunnableModel(spec, target, timeout=access.timeout, price=price)
    function = getattr(target, "call", target)  # a model of ours
    if isinstance(target, type) or not callable(function):
        raise ModelError(f"{spec} is nothing that answers", got=target, allowed=_KINDS)
    return FunctionModel(spec, function, price)


def _load(spec: str, path: str) -> Any:
    module_name, _, attributes = path.partition(":")
    if not module_name or not attributes:
        raise ModelError("a Python object is named by its module and its name in it", got=spec, allowed=_FORM)
    here = os.getcwd()
    if here not in sys.path:  # a console script does not look there; at the end, so that nothing is shadowed
        sys.path.append(here)
    try:
        target: Any = importlib.import_module(module_name)
    except Exception as problem:
        raise ModelError(
            f"{spec}: importing {module_name} failed: {type(problem).__name__}: {problem}",
            allowed=_FORM,
            fix="run it from the folder that holds the package, or install the package",
        ) from problem
    for name in attributes.split("."):
        if not hasattr(target, name):
            raise UnknownName(f"object in {path.rpartition('.')[0] or module_name}", name, _similar(name, target))
        target = getattr(target, name)
    return target


def _similar(name: str, target: object) -> list[str]:
    """The public names of a module that could have been meant."""
    return get_close_matches(name, [other for other in dir(target) if not other.startswith("_")], n=10, cutoff=0.4)


def _added(output: Any, given: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages of an output that were not in the input."""
    if isinstance(output, str):
        return [AIMessage(output)]
    if isinstance(output, BaseMessage):
        return [output]
    listed: Any = output.get("messages") if isinstance(output, Mapping) else output
    try:
        messages = convert_to_messages(listed)
    except (TypeError, ValueError, NotImplementedError) as problem:
        raise malformed(f"the object answered with {type(output).__name__}, not with text or messages") from problem
    known = {message.id for message in given}
    return [m for m in messages if m.id is None or m.id not in known]
