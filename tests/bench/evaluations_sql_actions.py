"""Evaluations a second of the database and the actions task, on their embedded instances."""

from __future__ import annotations

import asyncio
import time

from tasks.actions import ActionsTask
from tasks.database import DatabaseTask

_SECONDS = 1.0


async def _rate(task: ActionsTask | DatabaseTask, at_once: int) -> float:
    """Answers extracted and scored a second, right and wrong ones in turn, `at_once` under way."""
    answers = [
        (answer, instance)
        for instance in task.load()
        for answer in (task.right_answer(instance), task.wrong_answer(instance))
    ]
    done, ends = 0, 0.0

    async def work() -> None:
        nonlocal done
        while time.perf_counter() < ends:
            answer, instance = answers[done % len(answers)]
            done += 1
            await task.score(await task.extract(answer, instance) or "", instance)

    for answer, instance in answers:  # builds the databases and runs the gold queries
        await task.score(answer, instance)
    started = time.perf_counter()
    ends = started + _SECONDS
    await asyncio.gather(*(work() for _ in range(at_once)))
    return done / (time.perf_counter() - started)


def run() -> list[tuple[str, str, str]]:
    """Rows of (what, value, aim). The aims are far beyond the rate at which models answer."""
    return [
        ("evaluations/s: database, one at a time", f"{asyncio.run(_rate(DatabaseTask(), 1)):,.0f}", "200"),
        ("evaluations/s: database, 8 at once", f"{asyncio.run(_rate(DatabaseTask(), 8)):,.0f}", "200"),
        ("evaluations/s: actions", f"{asyncio.run(_rate(ActionsTask(), 1)):,.0f}", "300"),
    ]


if __name__ == "__main__":
    for row in run():
        print(*row, sep="  ")
