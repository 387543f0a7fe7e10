"""Evaluations a second of the code task, behind whatever walls this machine has, and what the event loop notices of them."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import Awaitable, Callable

from tasks.code import CodeTask
from tasks.nouns import Instance, Shard
from tasks.sandbox import Call, Limits, Program, shared

_SECONDS = 2.0
_TICK = 0.005
_TRIVIAL = Instance(
    id="trivial",
    task="code",
    shards=(Shard(1, "Write add(a, b)."),),
    instruction="Write add(a, b).",
    data={"entry": "add", "tests": [{"args": [2, 3], "expected": 5}]},
)


async def _rate(score: Callable[[int], Awaitable[object]], at_once: int) -> float:
    """Calls of `score` a second, `at_once` under way."""
    numbers, done = itertools.count(), 0
    started = time.perf_counter()

    async def work() -> None:
        nonlocal done
        while time.perf_counter() < started + _SECONDS:
            await score(next(numbers))
            done += 1

    await asyncio.gather(*(work() for _ in range(at_once)))
    return done / (time.perf_counter() - started)


async def _latest_tick(work: Awaitable[object]) -> float:
    """The longest the event loop kept a timer waiting while `work` was done, in seconds."""
    latest, task = 0.0, asyncio.ensure_future(work)
    while not task.done():
        asked = time.perf_counter()
        await asyncio.sleep(_TICK)
        latest = max(latest, time.perf_counter() - asked - _TICK)
    await task
    return latest


async def _measure() -> list[tuple[str, str, str]]:
    task = CodeTask()
    level = (await shared().open()).label
    replies = [(await task.extract(task.right_answer(one), one) or "", one) for one in task.load()]
    endless = Program(code="def f():\n    while True: pass", entry="f")

    async def trivial(_: int) -> None:
        assert (await task.score("def add(a, b):\n    return a + b", _TRIVIAL)).correct

    async def embedded(number: int) -> None:
        assert (await task.score(*replies[number % len(replies)])).correct

    quick = await _rate(trivial, 8)
    alone = await _rate(trivial, 1)
    shipped = await _rate(embedded, 8)
    lateness = await _latest_tick(shared().run(endless, [Call(())], Limits(cpu=1.0)))
    cores = len(os.sched_getaffinity(0))
    return [
        (f"evaluations/s: a trivial function, 8 at once on {cores} cores ({level})", f"{quick:,.0f}", "150 on 2 cores"),
        ("milliseconds from asking to knowing, one at a time", f"{1000 / alone:.1f}", ""),
        ("evaluations/s: the embedded instances, all tests, 8 at once", f"{shipped:,.0f}", ""),
        (
            "milliseconds the event loop was late at most during an endless loop of 1 s",
            f"{1000 * lateness:.1f}",
            "below 50",
        ),
    ]


def run() -> list[tuple[str, str, str]]:
    """Rows of (what, value, aim)."""
    return asyncio.run(_measure())


if __name__ == "__main__":
    for row in run():
        print(*row, sep="  ")
