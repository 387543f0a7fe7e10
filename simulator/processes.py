"""`--workers N`: workers in processes of this machine, each with an event loop of its own. The one that writes stays here."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import socket
import struct
from collections.abc import AsyncIterator

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
from simulator.worker import Sink

#: A frame is its length in four bytes, then so many bytes of msgpack.
_LENGTH = struct.Struct("<I")


def processes(orders: Orders, size: int, sink: Sink) -> RemoteCrew:
    """A crew of processes."""
    told = encode(orders)

    async def start() -> _ProcessLink:
        return await _ProcessLink.open(told)

    return RemoteCrew(start, size, sink)


class _ProcessLink:
    """A link to a process over a socket pair."""

    def __init__(
        self, process: multiprocessing.process.BaseProcess, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._process, self._reader, self._writer = process, reader, writer

    @classmethod
    async def open(cls, orders: bytes) -> _ProcessLink:
        ours, theirs = socket.socketpair()
        process = multiprocessing.get_context("spawn").Process(target=_main, args=(theirs, orders), daemon=True)
        # Starting takes as long as importing: other links start meanwhile.
        await asyncio.to_thread(process.start)
        theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours)
        return cls(process, reader, writer)

    def send(self, command: Command) -> None:
        _write(self._writer, encode(command))

    async def events(self) -> AsyncIterator[Event]:
        async for frame in _frames(self._reader):
            yield decode_event(frame)

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()
        await asyncio.to_thread(self._process.join, 10.0)
        if self._process.is_alive():
            self._process.kill()
            await asyncio.to_thread(self._process.join)


def _main(connection: socket.socket, orders: bytes) -> None:
    """The process: Ctrl-C is the engine's business, and the end of the connection is the end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(_serve(connection, orders))


async def _serve(connection: socket.socket, orders: bytes) -> None:
    reader, writer = await asyncio.open_connection(sock=connection)

    def send(event: Event) -> None:
        _write(writer, encode(event))

    await serve(decode_orders(orders), _commands(reader), send)
    await writer.drain()
    writer.close()


async def _commands(reader: asyncio.StreamReader) -> AsyncIterator[Command]:
    async for frame in _frames(reader):
        yield decode_command(frame)
    os._exit(0)  # the engine is gone or done: whatever is still under way here has nobody to report to


def _write(writer: asyncio.StreamWriter, frame: bytes) -> None:
    writer.write(_LENGTH.pack(len(frame)) + frame)


async def _frames(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
            yield await reader.readexactly(length)
