"""`--engine ray`: workers as actors of a Ray cluster. The store, and all that is written to it, stays with the driver.

The cluster is the one `RAY_ADDRESS` names (see Ray's own documentation); without it one is started on this machine. Every
node needs shardtalk and the files the experiment names, under the same paths. Source of the actor interface: ray 2.x.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from simulator.crew import (
    Command,
    Event,
    Orders,
    RemoteCrew,
    decode_command,
    decode_event,
    decode_orders,
    encode,
    serve,
)
from simulator.errors import ModelError
from simulator.worker import Sink

#: Events of an actor travel together that come within so many seconds.
GATHER = 0.02


def cluster(orders: Orders, size: int, sink: Sink) -> RemoteCrew:
    """A crew of actors. Raises `ModelError` when Ray is not installed."""
    ray = _ray()
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False, configure_logging=False)
    # An async actor: `events` runs for as long as the actor lives, `send` beside it.
    actor = ray.remote(num_cpus=1, max_concurrency=1000)(_Actor)
    told = encode(orders)

    async def start() -> _ActorLink:
        return _ActorLink(actor.remote(told))

    return RemoteCrew(start, size, sink)


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ModelError("--engine ray needs Ray", fix="pip install 'shardtalk[ray]'") from error
    return ray


class _Actor:
    """One worker in the cluster."""

    def __init__(self, orders: bytes) -> None:
        self._orders = orders
        self._commands: asyncio.Queue[bytes] = asyncio.Queue()
        self._outbox: list[bytes] = []
        self._something = asyncio.Event()

    async def send(self, command: bytes) -> None:
        """Takes a command."""
        self._commands.put_nowait(command)

    async def events(self) -> AsyncIterator[list[bytes]]:
        """Works, and says what comes of it, until the actor is ended."""
        working = asyncio.create_task(serve(decode_orders(self._orders), self._told(), self._say))
        working.add_done_callback(lambda _: self._something.set())
        while not working.done():
            await self._something.wait()
            await asyncio.sleep(GATHER)
            self._something.clear()
            said, self._outbox = self._outbox, []
            if said:
                yield said
        await working

    def _say(self, event: Event) -> None:
        self._outbox.append(encode(event))
        self._something.set()

    async def _told(self) -> AsyncIterator[Command]:
        while True:
            yield decode_command(await self._commands.get())


class _ActorLink:
    """A link to an actor."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor

    def send(self, command: Command) -> None:
        self.actor.send.remote(encode(command))

    async def events(self) -> AsyncIterator[Event]:
        # Whatever ends the stream, the actor or its node is gone: the crew replaces it.
        with contextlib.suppress(_ray().exceptions.RayError):
            async for reference in self.actor.events.options(num_returns="streaming").remote():
                for event in await reference:
                    yield decode_event(event)

    async def close(self) -> None:
        _ray().kill(self.actor)
