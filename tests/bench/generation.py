"""Fresh instances a second, of every benchmark that can be generated: 10,000 of a family are to be made in under a minute."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from tasks.registry import TASKS
from tasks.task import Task

#: Instances asked for, the aim, and the seconds after which a family is not waited for.
_N, _SECONDS, _LONGEST = 10_000, 60, 15


def families() -> dict[str, list[Task]]:
    """Tasks with a generator, by the benchmark they belong to (`travel-ticket` and `travel-hotel` are of `travel`)."""
    found: defaultdict[str, list[Task]] = defaultdict(list)
    for name, task in TASKS.items():
        if next(task().generate(1, 0), None) is not None:
            found[name.partition("-")[0]].append(task())
    return found


def generated(tasks: Sequence[Task], n: int, until: float) -> int:
    """Makes about `n` instances, as many of each task, or as many as there is time for; how many it were."""
    streams = [islice(task.generate(each := -(-n // len(tasks)), 1), each) for task in tasks]
    made = 0
    for _ in chain.from_iterable(zip(*streams, strict=True)):
        made += 1
        if time.perf_counter() > until:
            break
    return made


def rows() -> Iterator[tuple[str, str, str]]:
    for family, tasks in families().items():
        started = time.perf_counter()
        rate = generated(tasks, _N, started + _LONGEST) / (time.perf_counter() - started)
        yield (
            f"instances generated/s, {family} (tasks: {len(tasks)})",
            f"{rate:,.0f}",
            f"{_N:,} in {_N / rate:.1f} s (aim: under {_SECONDS} s)",
        )


def run() -> list[tuple[str, str, str]]:
    """Rows of (what, value, aim)."""
    return list(rows())
