"""How long 10,000 fresh instances of each reliability task take."""

from __future__ import annotations

import time
from collections import deque

from tasks.reliability.registered import RELIABILITY_TASKS

N = 10_000


def _seconds(name: str) -> float:
    started = time.perf_counter()
    deque(RELIABILITY_TASKS[name]().generate(N, 0), maxlen=0)
    return time.perf_counter() - started


def run() -> list[tuple[str, str, str]]:
    """Rows of (what, value, aim)."""
    return [(f"{N:,} instances of {name}", f"{_seconds(name):.1f} s", "< 60 s") for name in RELIABILITY_TASKS]


if __name__ == "__main__":
    for row in run():
        print(*row, sep="  ")
