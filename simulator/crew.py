"""A crew of workers outside this process: who gets which chain, what comes back, and what happens when one of them dies.

How they are reached is a `Link`: a socket to a process beside this one (`processes`), or an actor of a cluster (`cluster`).
All events of a worker travel in order on one link, so a chain is only done after all it paid for has arrived.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, TypeAlias

import msgspec

from simulator.errors import Halt, Lost, ModelError
from simulator.experiment import Experiment, plan
from simulator.limits import Budget
from simulator.means import Means
from simulator.record import Record
from simulator.worker import Sink, Work, worker
from tasks.nouns import Reply


class Orders(msgspec.Struct, frozen=True):
    """What a worker is told once, at its start. It makes the plan anew, so only what describes it travels."""

    experiment: Experiment
    means: Means
    budget: Budget


class Do(msgspec.Struct, frozen=True, tag=True):
    """To a worker: play this chain; the number names it in `Done`."""

    number: int
    work: Work


class Stop(msgspec.Struct, frozen=True, tag=True):
    """To a worker: make no further call."""

    why: str


class Paid(msgspec.Struct, frozen=True, tag=True):
    """From a worker: a reply for the journal."""

    conversation: str
    call: str
    request: str
    reply: Reply


class Ended(msgspec.Struct, frozen=True, tag=True):
    """From a worker: a conversation for the store."""

    record: Record
    forget: str | None = None


class Done(msgspec.Struct, frozen=True, tag=True):
    """From a worker: the chain was played, or `halted` says why not."""

    number: int
    halted: str = ""


#: So many workers may die without having done anything before no more are started.
STILLBORN = 5

Command: TypeAlias = Do | Stop
Event: TypeAlias = Paid | Ended | Done

encode = msgspec.msgpack.Encoder().encode
decode_command = msgspec.msgpack.Decoder(Command).decode
decode_event = msgspec.msgpack.Decoder(Event).decode
decode_orders = msgspec.msgpack.Decoder(Orders).decode


class Link(Protocol):
    """The way to one worker."""

    def send(self, command: Command) -> None:
        """Does not wait."""

    def events(self) -> AsyncIterator[Event]:
        """What the worker says, in order; ends when the worker does."""

    async def close(self) -> None:
        """Ends the worker."""


class _Member:
    """One worker of the crew, and the chains it has not yet done."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.lived = False
        self.open: dict[int, asyncio.Future[None]] = {}


class RemoteCrew:
    """Workers reached by links. One that dies is replaced; its chains raise `Lost`, and what they paid for is kept."""

    def __init__(self, start: Callable[[], Awaitable[Link]], size: int, sink: Sink) -> None:
        self._start, self._size, self._sink = start, size, sink
        self._members: list[_Member] = []
        self._listeners: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count()
        self._closing, self._stillborn = False, 0

    async def __aenter__(self) -> RemoteCrew:
        for _ in range(self._size):
            await self._hire()
        return self

    async def __aexit__(self, *error: object) -> None:
        self._closing = True
        await asyncio.gather(*(member.link.close() for member in self._members))
        for listener in self._listeners:
            listener.cancel()
        await asyncio.gather(*self._listeners, return_exceptions=True)

    async def do(self, work: Work) -> None:
        """Has the least busy worker play a chain. Raises `Halt`, or `Lost` when the worker died over it."""
        if not self._members:
            raise ModelError("workers die as soon as they are started", fix="try --workers 0, which shows the error")
        member = min(self._members, key=lambda member: len(member.open))
        number = next(self._numbers)
        done = member.open[number] = asyncio.get_running_loop().create_future()
        member.link.send(Do(number, work))
        await done

    def halt(self, why: str) -> None:
        """Tells every worker."""
        for member in self._members:
            member.link.send(Stop(why))

    async def _hire(self) -> None:
        member = _Member(await self._start())
        self._members.append(member)
        listener = asyncio.create_task(self._listen(member))
        self._listeners.add(listener)
        listener.add_done_callback(self._listeners.discard)

    async def _listen(self, member: _Member) -> None:
        async for event in member.link.events():
            member.lived = True
            self._take(member, event)
        if not self._closing:
            self._members.remove(member)
            await member.link.close()
            self._stillborn += not member.lived
            if self._stillborn < STILLBORN:
                await self._hire()
        for done in member.open.values():
            if not done.done():
                done.set_exception(Lost("a worker died"))

    def _take(self, member: _Member, event: Event) -> None:
        match event:
            case Paid(conversation, call, request, reply):
                self._sink.journal(conversation, call, request, reply)
            case Ended(record, forget):
                self._sink.finish(record, forget)
            case Done(number, halted):
                done = member.open.pop(number)
                if halted:
                    done.set_exception(Halt(halted))
                else:
                    done.set_result(None)


class _Outbox:
    """A sink that sends: the worker's side of a link."""

    def __init__(self, send: Callable[[Event], None]) -> None:
        self._send = send

    def journal(self, conversation: str, call: str, request: str, reply: Reply) -> None:
        self._send(Paid(conversation, call, request, reply))

    def finish(self, record: Record, forget: str | None = None) -> None:
        self._send(Ended(record, forget))


async def serve(orders: Orders, commands: AsyncIterator[Command], send: Callable[[Event], None]) -> None:
    """The worker's side: does what it is told until the commands end."""
    outbox = _Outbox(send)
    async with (
        worker(plan(orders.experiment), orders.means, outbox, orders.budget) as one,
        asyncio.TaskGroup() as chains,
    ):
        async for command in commands:
            match command:
                case Do(number, work):
                    chains.create_task(_play(one.do, number, work, send))
                case Stop(why):
                    one.halt(why)


async def _play(do: Callable[[Work], Awaitable[None]], number: int, work: Work, send: Callable[[Event], None]) -> None:
    halted = ""
    try:
        await do(work)
    except Halt as halt:
        halted = str(halt)
    send(Done(number, halted))
