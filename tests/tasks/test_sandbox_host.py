"""The host's side of the sandbox: it opens at the strongest level that proves itself, never blocks, and leaves nothing."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tasks.errors import UnknownName
from tasks.sandbox import (
    Call,
    Isolation,
    IsolationRefused,
    Limits,
    Outcome,
    Program,
    Sandbox,
    SandboxFailure,
    forkserver,
    host,
    isolation,
    shared,
)

ROOT = Path(__file__).parents[2]
ADD = Program(code="def add(a, b):\n    return a + b", entry="add")
SLEEP = Program(code="import time\ndef sleep(seconds):\n    time.sleep(seconds)\n    return seconds", entry="sleep")
FIVE = [Outcome("value", 5)]

real_plan = isolation.plan


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Replaces how levels are built; `plans(change)` changes each real plan."""

    def use(change: Any) -> None:
        monkeypatch.setattr(host, "plan", lambda level, number: change(level, real_plan(level, number)))

    return use


def running(*pids: int) -> list[int]:
    """Those of the processes that exist, zombies included."""
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


async def gone(*pids: int) -> bool:
    """Whether the processes end within some seconds."""
    for _ in range(500):
        if not running(*pids):
            return True
        await asyncio.sleep(0.01)
    return False


# -- levels -----------------------------------------------------------------------------------------------------------


def test_levels_are_ordered_and_have_names() -> None:
    assert [level.label for level in sorted(Isolation)] == ["limits", "landlock", "namespaces", "bubblewrap"]
    assert all(Isolation.named(level.label) is level for level in Isolation)
    with pytest.raises(UnknownName, match="did you mean bubblewrap"):
        Isolation.named("bubblewarp")


async def test_the_strongest_level_that_proves_itself_is_used(plans: Any) -> None:
    def without_bubblewrap(level: Isolation, plan: Any) -> Any:
        if level is Isolation.BUBBLEWRAP:
            return plan._replace(bubblewrap="/bin/false")
        return plan

    plans(without_bubblewrap)
    async with Sandbox(servers=1) as sandbox:
        assert await sandbox.open() < Isolation.BUBBLEWRAP
        assert await sandbox.run(ADD, [Call((2, 3))]) == FIVE


async def test_less_than_required_is_refused_with_the_reasons(plans: Any) -> None:
    def nothing(level: Isolation, plan: Any) -> Any:
        raise isolation.Unavailable("not on this machine")

    plans(nothing)
    sandbox = Sandbox(Isolation.NAMESPACES, servers=1)
    for _ in range(2):
        with pytest.raises(IsolationRefused) as refusal:
            await sandbox.run(ADD, [Call((2, 3))])
        assert refusal.value.got == "bubblewrap: not on this machine; namespaces: not on this machine"
        assert refusal.value.allowed == "namespaces or stronger"
    assert sandbox.pids == []


async def test_a_level_whose_canary_gets_out_is_not_used(plans: Any) -> None:
    """The walls are there by name, but have a hole: the level is not claimed."""

    def with_a_hole(level: Isolation, plan: Any) -> Any:
        return plan._replace(syscall_filter="")

    plans(with_a_hole)
    with pytest.raises(IsolationRefused) as refusal:
        await Sandbox(Isolation.NAMESPACES, servers=1).open()
    assert "a program inside could open a socket, start a process, signal a process" in str(refusal.value.got)


async def test_sb_21_a_sandbox_that_does_not_run_programs_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    real = forkserver._payload

    def commented_out(plan: Any) -> bytes:
        text = real(plan)
        running_it = b'_plain(_call(module, program[\\"entry\\"], args))'
        assert running_it in text
        return text.replace(running_it, b"42")

    monkeypatch.setattr(forkserver, "_payload", commented_out)
    with pytest.raises(IsolationRefused, match="a wrong one Outcome"):
        await Sandbox(Isolation.BUBBLEWRAP if bubblewrap() else Isolation.LANDLOCK, servers=1).open()


def bubblewrap() -> bool:
    """Whether it is installed."""
    with contextlib.suppress(isolation.Unavailable):
        return bool(real_plan(Isolation.BUBBLEWRAP, 0).bubblewrap)
    return False


async def test_processes_are_limited_even_without_the_syscall_filter(
    plans: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second wall by itself: as root, too, a limit on processes binds, since the user was changed first."""
    plans(lambda level, plan: plan._replace(syscall_filter=""))
    monkeypatch.setattr(Sandbox, "_prove_walls", lambda self: asyncio.sleep(0))
    code = (
        "import os, time\ndef bomb():\n    forks = 0\n    try:\n        while forks < 500:\n"
        "            if os.fork() == 0:\n                time.sleep(60)\n            forks += 1\n"
        "    except OSError as error:\n        return [forks, error.errno]"
    )
    async with Sandbox(Isolation.NAMESPACES, servers=1) as sandbox:
        for _ in range(2):  # and what the first forked does not count against the second
            (outcome,) = await sandbox.run(Program(code=code, entry="bomb"), [Call(())])
            forks, error = outcome.value
            assert 10 < forks < 40
            assert os.strerror(error) == "Resource temporarily unavailable"


async def test_no_isolation_has_to_be_asked_for(plans: Any) -> None:
    def only_limits(level: Isolation, plan: Any) -> Any:
        if level is not Isolation.LIMITS:
            raise isolation.Unavailable("not on this machine")
        return plan

    plans(only_limits)
    with pytest.raises(IsolationRefused):
        await Sandbox(servers=1).open()
    async with Sandbox(Isolation.LIMITS, servers=1) as sandbox:
        assert await sandbox.open() is Isolation.LIMITS
        assert await sandbox.run(ADD, [Call((2, 3))]) == FIVE
        exits = Program(code="import os\ndef f(): os._exit(0)", entry="f")
        assert (await sandbox.run(exits, [Call(())]))[0].kind == "raised"


# -- many at once -----------------------------------------------------------------------------------------------------


async def test_slow_programs_hold_up_neither_the_loop_nor_others() -> None:
    async with Sandbox(servers=1) as sandbox:
        asleep = asyncio.create_task(sandbox.run(SLEEP, [Call((60,))], Limits(wall=60)))
        await asyncio.sleep(0.1)
        results = await asyncio.gather(*(sandbox.run(ADD, [Call((i, 1))]) for i in range(20)))
        assert [outcome.value for (outcome,) in results] == list(range(1, 21))
        assert not asleep.done()
        asleep.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asleep


async def test_cancelling_ends_the_program() -> None:
    async with Sandbox(servers=1) as sandbox:
        idle = len(children(*sandbox.pids))
        asleep = asyncio.create_task(sandbox.run(SLEEP, [Call((60,))], Limits(wall=60)))
        while len(children(*sandbox.pids)) <= idle:
            await asyncio.sleep(0.01)
        asleep.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asleep
        while len(children(*sandbox.pids)) > idle:
            await asyncio.sleep(0.01)


def children(*roots: int) -> set[int]:
    """All processes below these, and these."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(") ")[2].split()[1])
    found = set(roots)
    while grown := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= grown
    return found


async def test_a_server_that_dies_is_replaced_and_its_programs_run_again() -> None:
    async with Sandbox(servers=1) as sandbox:
        (first,) = sandbox.pids
        asleep = asyncio.create_task(sandbox.run(SLEEP, [Call((1,))]))
        await asyncio.sleep(0.3)
        os.kill(first, signal.SIGKILL)
        assert await asleep == [Outcome("value", 1)]
        assert sandbox.pids != [first]
        assert await gone(first)


async def test_a_program_that_takes_its_server_along_gets_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    """However it may do that: here the server is shot from outside whenever the program runs."""
    real, shots = forkserver.ForkServer.evaluate, []

    async def shot(self: forkserver.ForkServer, request: bytes, seconds: float) -> bytes:
        if b"deadly" in request:
            shots.append(self.pid)
            os.kill(self.pid, signal.SIGKILL)
        return await real(self, request, seconds)

    monkeypatch.setattr(forkserver.ForkServer, "evaluate", shot)
    deadly = Program(code="def deadly(): pass", entry="deadly")
    async with Sandbox(servers=1) as sandbox:
        outcomes = await sandbox.run(deadly, [Call(()), Call(())])
        assert outcomes == [Outcome("raised", detail="the program brought its sandbox down, twice")] * 2
        assert len(set(shots)) == 2
        assert await sandbox.run(ADD, [Call((2, 3))]) == FIVE


async def test_sb_20_machinery_that_broke_is_not_the_programs_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Sandbox(servers=1) as sandbox:

        async def nothing(*_: object) -> bytes:
            return b""

        monkeypatch.setattr(forkserver.ForkServer, "evaluate", nothing)
        with pytest.raises(SandboxFailure):
            await sandbox.run(ADD, [Call((2, 3))])


# -- leaving nothing --------------------------------------------------------------------------------------------------


async def test_closing_ends_everything_and_using_it_opens_it_again() -> None:
    sandbox = Sandbox(servers=2)
    for _ in range(2):
        assert await sandbox.run(ADD, [Call((2, 3))]) == FIVE
        everything = children(*sandbox.pids)
        assert len(everything) >= 2
        await sandbox.aclose()
        assert sandbox.pids == []
        assert not running(*everything)
    await sandbox.aclose()


def test_the_end_of_the_event_loop_closes_it() -> None:
    async def score() -> set[int]:
        assert shared() is shared()
        assert await shared().run(ADD, [Call((2, 3))]) == FIVE
        return children(*shared().pids)

    for _ in range(2):
        everything = asyncio.run(score())
        assert len(everything) >= 2
        assert not running(*everything)
    gc.collect()
    assert not host._shared


def test_every_loop_in_every_thread_has_its_own() -> None:
    found: list[Any] = []

    async def score() -> None:
        sandboxes.append(shared())
        found.append(await shared().run(ADD, [Call((2, 3))]))

    sandboxes: list[Sandbox] = []
    threads = [threading.Thread(target=asyncio.run, args=(score(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [FIVE] * 3
    assert len(set(map(id, sandboxes))) == 3


def test_a_loop_that_is_not_ended_properly_leaves_nothing_either() -> None:
    loop = asyncio.new_event_loop()
    sandbox = Sandbox(servers=1)
    loop.run_until_complete(sandbox.open())
    everything = children(*sandbox.pids)
    loop.close()
    sandbox._last_resort()
    assert not running(*everything)


HOST = """
import asyncio, os, sys
from tasks.sandbox import Call, Limits, Program, Sandbox

async def main():
    sandbox = Sandbox(servers=2)
    await sandbox.open()
    sleep = Program(code="import time\\ndef sleep(): time.sleep(60)", entry="sleep")
    running = [asyncio.create_task(sandbox.run(sleep, [Call(())], Limits(wall=60))) for _ in range(2)]
    await asyncio.sleep(0.5)
    print(*sandbox.pids, flush=True)
    await asyncio.gather(*running)

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
async def test_a_host_that_is_killed_leaves_nothing(number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOST], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
    )
    assert process.stdout is not None
    with process.stdout:
        pids = [int(word) for word in process.stdout.readline().split()]
    everything = children(*pids)
    assert len(everything) > len(pids)
    process.send_signal(number)
    process.wait()
    assert await gone(*everything)


def test_a_machine_without_the_sandboxs_needs_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(isolation.Unavailable, match="needs Linux"):
        isolation.plan(Isolation.LIMITS, 0)
