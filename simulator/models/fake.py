"""Scripted replies: a model that is a plain function, and records what it was asked."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from simulator.errors import ModelError
from simulator.models import prices
from simulator.models.access import Access
from simulator.models.said import said
from tasks.errors import UnknownName
from tasks.nouns import Message, Options, Reply, ToolCall, Usage

Scripted: TypeAlias = Reply | str | Exception
Handler: TypeAlias = Callable[[Sequence[Message], Options], Scripted | Awaitable[Scripted]]

#: How many of the latest calls are remembered.
REMEMBERED = 10_000


class FakeModel:
    """Answers with what `handler(messages, options)` returns: a reply, its text, or an exception to raise.

    Attributes:
        asked: the latest calls, as (messages, options), oldest first. `calls`: how many there were in all.
        closed: how often `close` was called.
    """

    def __init__(self, handler: Handler, name: str = "fake:function") -> None:
        self.name = name
        self.asked: deque[tuple[tuple[Message, ...], Options]] = deque(maxlen=REMEMBERED)
        self.calls = 0
        self.closed = 0
        self._handler = handler

    async def call(self, messages: Sequence[Message], options: Options) -> Reply:
        """The scripted reply, at no cost; its tokens are a quarter of its characters."""
        self.calls += 1
        self.asked.append((tuple(messages), options))
        scripted = self._handler(messages, options)
        if inspect.isawaitable(scripted):
            scripted = await scripted
        if isinstance(scripted, Exception):
            raise scripted
        reply = _spoken(scripted) if isinstance(scripted, str) else scripted
        usage = reply.usage if reply.usage != Usage() else _usage(messages, reply)
        return msgspec.structs.replace(reply, model=self.name, usage=usage, cost=prices.free(usage))

    async def close(self) -> None:
        """Nothing is open; it is counted."""
        self.closed += 1


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of a file of replies; a plain string stands for its content."""

    content: str = ""
    finish: str = "stop"
    tool_calls: tuple[ToolCall, ...] = ()


def make_fake(spec: str, script: str, access: Access) -> FakeModel:
    """`fake:echo`, `fake:text=WORDS`, `fake:file=PATH` (a JSON list: one reply per turn, the last one stays)."""
    kind, _, value = script.partition("=")
    if kind not in _SCRIPTS:
        raise UnknownName("scripted reply", script, ["echo", "text=WORDS", "file=PATH"])
    return FakeModel(_SCRIPTS[kind](value), name=spec)


def _echo(_: str) -> Handler:
    return lambda messages, options: messages[-1].content


def _fixed(text: str) -> Handler:
    return lambda messages, options: text


def _from_file(path: str) -> Handler:
    try:
        lines = msgspec.json.decode(Path(path).read_bytes(), type=list[str | Line])
    except (OSError, msgspec.DecodeError) as problem:
        raise ModelError(
            f"fake:file={path}: {problem}",
            allowed='a JSON list of strings or {"content": …, "finish": …, "tool_calls": …}',
        ) from problem
    if not lines:
        raise ModelError(f"fake:file={path}: the list of replies is empty")
    replies = [_spoken(line) if isinstance(line, str) else _of_line(line) for line in lines]

    def nth(messages: Sequence[Message], options: Options) -> Reply:
        turn = sum(m.role == "assistant" for m in messages)
        return replies[min(turn, len(replies) - 1)]

    return nth


_SCRIPTS: Mapping[str, Callable[[str], Handler]] = {"echo": _echo, "text": _fixed, "file": _from_file}


def _spoken(text: str) -> Reply:
    """A text read as any provider's is: thinking taken out, nothing at all named `empty`."""
    one = said(text)
    return Reply((one.message,), finish=one.finish, reasoning=one.reasoning)


def _of_line(line: Line) -> Reply:
    one = said(line.content, finish=line.finish, tool_calls=line.tool_calls)
    return Reply((one.message,), finish=one.finish, reasoning=one.reasoning)


def _usage(messages: Sequence[Message], reply: Reply) -> Usage:
    asked = sum(len(m.content) for m in messages)
    return Usage(input=asked // 4, output=sum(len(m.content) for m in reply.messages) // 4, estimated=True)
