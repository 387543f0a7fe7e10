"""`Sandbox`: runs programs that models wrote, many at once, without blocking the event loop or believing them.

    host (event loop) ── a descriptor per evaluation ──> fork server, one a core, behind the walls
                                                          └── warden, first process of namespaces of its own
                                                               └── candidate: the model's program

Expected values stay on this side. What is not in place on this machine is found out by trying: a sandbox opens at the
strongest level whose canary cannot get out, and is refused below the level required.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import weakref
from collections.abc import AsyncGenerator, Sequence
from importlib import resources

import msgspec

from tasks.sandbox import values
from tasks.sandbox.errors import IsolationRefused, SandboxFailure
from tasks.sandbox.forkserver import ForkServer
from tasks.sandbox.isolation import Isolation, Unavailable, plan
from tasks.sandbox.program import Call, Feed, Limits, Outcome, Program

_LONG = 1 << 16  # bytes of a claim
_GRACE = 20.0  # seconds beyond what the warden allows before the host gives a server up


class Sandbox:
    """A pool of fork servers that belongs to one event loop.

    It opens at first use and closes with `aclose`, with the event loop (as `asyncio.run` and its like end one), or with the
    process, whichever comes first; when the process is killed, the servers notice and end.

    Args:
        require: the least isolation to accept. `LIMITS` protects no files and has to be asked for.
        servers: how many, one a core by default. Each runs up to two programs at a time, since one may be asleep.
    """

    def __init__(self, require: Isolation = Isolation.LANDLOCK, servers: int | None = None) -> None:
        self.require = require
        self._size = servers or _cores()
        self._slots = asyncio.Semaphore(2 * self._size)
        self._opening = asyncio.Lock()
        self._level = require  # of the servers, also while they are tried
        self._is_open = False
        self._refusal: IsolationRefused | None = None
        self._servers: list[ForkServer] = []
        self._started = 0
        self._lifetime: AsyncGenerator[None, None] | None = None
        self._last_resort = weakref.finalize(self, _end_all, self._servers)

    async def open(self) -> Isolation:
        """Starts the servers, once; returns the level reached. Raises `IsolationRefused`."""
        async with self._opening:
            if self._refusal is not None:
                raise self._refusal
            if not self._is_open:
                self._lifetime = self._until_loop_ends()
                await anext(self._lifetime)
                await self._start_strongest()
                self._is_open = True
            return self._level

    async def run(
        self, program: Program, tests: Sequence[Call] | Sequence[Feed], limits: Limits | None = None
    ) -> list[Outcome]:
        """One outcome a test, in order. A program that fails in whatever way is an outcome, never an exception.

        Raises `SandboxFailure` when the machinery itself does not work (any more), `IsolationRefused` from opening.
        """
        await self.open()
        limits = limits or Limits()
        request = _request(program, tests, limits)
        async with self._slots:
            for _ in range(2):  # a server may fall with another program that it ran
                seconds = (len(tests) + 3) * limits.wall_seconds + _GRACE
                if (outcomes := await self._evaluate(request, len(tests), seconds)) is not None:
                    return outcomes
            await self._prove_right_and_wrong()
        return [Outcome("raised", detail="the program brought its sandbox down, twice")] * len(tests)

    @property
    def pids(self) -> list[int]:
        """The outermost process of each server."""
        return [server.pid for server in self._servers]

    async def aclose(self) -> None:
        """Ends all servers and what they run; the sandbox opens again when used again."""
        if self._lifetime is not None:
            await self._lifetime.aclose()

    async def __aenter__(self) -> Sandbox:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    # -- servers ------------------------------------------------------------------------------------------------------

    async def _until_loop_ends(self) -> AsyncGenerator[None, None]:
        """Event loops close the asynchronous generators that are open when they end: ours ends the servers."""
        try:
            yield
        finally:
            self._is_open, self._lifetime = False, None
            _forget(self)
            await asyncio.to_thread(_end_all, self._servers)

    async def _evaluate(self, request: bytes, tests: int, seconds: float) -> list[Outcome] | None:
        """One outcome a test, or None where the program's process, or the whole server, did not live to tell."""
        server = self._free_server()
        lines = (await server.evaluate(request, seconds)).split(b"\n")[:-1]
        if len(lines) != tests:
            await server.may_be_dying()
            return None
        # Reading a million bytes takes a while, in which the event loop has other things to do.
        return [await asyncio.to_thread(values.read, li) if len(li) > _LONG else values.read(li) for li in lines]

    def _free_server(self) -> ForkServer:
        """The least busy one; those that died are replaced first."""
        for place, server in enumerate(self._servers):
            if not server.alive:
                self._servers[place] = self._start()
                server.end()
        return min(self._servers, key=lambda server: server.busy)

    def _start(self) -> ForkServer:
        self._started += 1
        return ForkServer(plan(self._level, self._started))

    # -- trust --------------------------------------------------------------------------------------------------------

    async def _start_strongest(self) -> None:
        """Starts the servers at the strongest level that proves itself."""
        reasons: list[str] = []
        for level in sorted(Isolation, reverse=True):
            if level < self.require:
                break
            self._level = level
            try:
                self._servers += [self._start() for _ in range(self._size)]
                await self._prove_right_and_wrong()
                await self._prove_walls()
                return
            except (Unavailable, SandboxFailure) as failure:
                reasons.append(f"{level.label}: {failure}")
                await asyncio.to_thread(_end_all, self._servers)
        self._refusal = IsolationRefused(
            "generated programs cannot be walled in on this machine as strongly as required",
            got="; ".join(reasons),
            allowed=f"{self.require.label} or stronger",
            fix="install the Debian packages bubblewrap and libseccomp2, or lower --require-isolation",
        )
        raise self._refusal

    async def _prove_right_and_wrong(self) -> None:
        """Results come from running the program: a right one gives the right value, a wrong one another."""
        right, wrong = [await self._canary(entry, Call((21,))) for entry in ("double", "double_wrongly")]
        if right.value != 42 or wrong.kind != "value" or wrong.value == 42:
            raise SandboxFailure(f"a right program gave {right}, a wrong one {wrong}")

    async def _prove_walls(self) -> None:
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile(dir=folder) as file:
            os.chmod(folder, 0o777)  # so that permissions are not what stops it
            os.chmod(file.name, 0o666)
            escapes = await self._canary("escapes", Call((file.name, folder)))
        if escapes.kind != "value":
            raise SandboxFailure(f"a program that tries to get out gave {escapes}")
        if escapes.value and self._level > Isolation.LIMITS:
            raise SandboxFailure(f"a program inside could {', '.join(escapes.value)}")

    async def _canary(self, entry: str, call: Call) -> Outcome:
        code = resources.files("tasks.sandbox.inside") / "canary.py"
        program = Program(code=code.read_text(encoding="utf-8"), entry=entry)
        outcomes = await self._evaluate(_request(program, [call], Limits()), 1, _GRACE)
        if outcomes is None:
            raise SandboxFailure(f"it did not answer ({self._servers[0].complaint()})")
        return outcomes[0]


def _cores() -> int:
    """Those this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _request(program: Program, tests: Sequence[Call] | Sequence[Feed], limits: Limits) -> bytes:
    allowance = {"cpu": limits.cpu, "wall": limits.wall_seconds, "memory": limits.memory, "output": limits.output}
    program_fields = msgspec.structs.asdict(program)
    return json.dumps(
        {"program": program_fields, "tests": [msgspec.structs.asdict(test) for test in tests], "allowance": allowance}
    ).encode()


def _end_all(servers: list[ForkServer]) -> None:
    for server in servers:
        server.hang_up()
    while servers:
        servers.pop().end()


# -- one sandbox an event loop ----------------------------------------------------------------------------------------

_shared: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Isolation, Sandbox]] = weakref.WeakKeyDictionary()


def shared(require: Isolation = Isolation.LANDLOCK) -> Sandbox:
    """The running event loop's sandbox: made at first use, closed when the loop ends."""
    return _shared.setdefault(asyncio.get_running_loop(), {}).setdefault(require, Sandbox(require))


def _forget(sandbox: Sandbox) -> None:
    sandboxes = _shared.get(asyncio.get_running_loop(), {})
    if sandboxes.get(sandbox.require) is sandbox:
        del sandboxes[sandbox.require]
