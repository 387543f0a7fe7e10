"""What has happened in a run so far, as numbers: rates, tokens, cost by role, tries made again, failures, the time left.

The live view shows it, and the engine leaves it in the store for `shardtalk status`.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from simulator.record import Record
from tasks.nouns import Reply

#: Seconds over which rates are measured, and events that takes at least.
WINDOW, ENOUGH = 30.0, 10


class Rate:
    """Events a second: of the last `WINDOW`, or where these are few, since the first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._since, self._times, self._all = clock, clock(), deque[float](), 0

    def event(self) -> None:
        """One more, now."""
        self._all += 1
        self._times.append(self._clock())
        self._forget()

    @property
    def per_second(self) -> float:
        """0 before the first event."""
        now = self._forget()
        if len(self._times) < ENOUGH:
            return self._all / max(1.0, now - self._since)
        return len(self._times) / max(1e-3, now - self._times[0])

    def _forget(self) -> float:
        now = self._clock()
        while self._times and self._times[0] < now - WINDOW:
            self._times.popleft()
        return now


class Tally:
    """What has happened so far; the numbers behind every view of a run."""

    def __init__(self) -> None:
        self.total = self.settled = self.final = self.calls = self.tokens = self.unpriced = 0
        self.failed: Counter[str] = Counter()
        self.retries: Counter[str] = Counter()
        self.cost: dict[str, float] = {}
        self._done, self._called = Rate(), Rate()

    def planned(self, total: int, settled: int) -> None:
        self.total, self.settled = total, settled

    def called(self, role: str, reply: Reply) -> None:
        self.calls += 1
        self.tokens += reply.usage.input + reply.usage.output
        self.retries.update(retry.cause for retry in reply.retries)
        if reply.cost is None:
            self.unpriced += 1
        else:
            self.cost[role] = self.cost.get(role, 0.0) + reply.cost
        self._called.event()

    def stored(self, record: Record) -> None:
        self.final += record.final
        if record.failed:
            self.failed[f"{record.ended}: {record.cause}"] += 1
        self._done.event()

    @property
    def done(self) -> int:
        return self.settled + self.final

    @property
    def left(self) -> float | None:
        """Seconds until everything planned is done, at the present rate."""
        rate = self._done.per_second
        return (self.total - self.done) / rate if rate else None

    def state(self) -> dict[str, Any]:
        """What others are told of this session while it runs, in JSON types; rates a second."""
        return {
            "conversations_per_second": round(self._done.per_second, 4),
            "calls_per_second": round(self._called.per_second, 4),
            "seconds_left": None if self.left is None else round(self.left),
            "tried_again": dict(self.retries),
        }

    def line(self) -> str:
        """One line for people."""
        parts = [
            per(self._done.per_second, "conversations"),
            per(self._called.per_second, "calls"),
            f"{self.tokens:,} tokens",
            self._costs(),
        ]
        if self.left is not None:
            parts.append(f"{clock(self.left)} left")
        if self.retries:
            parts.append("tried again: " + ", ".join(f"{cause} {n}" for cause, n in self.retries.most_common(3)))
        if self.failed:
            parts.append("failed: " + ", ".join(f"{cause} {n}" for cause, n in self.failed.most_common(3)))
        return " · ".join(parts)

    def _costs(self) -> str:
        priced = " + ".join(f"{role} ${usd:.4f}" for role, usd in self.cost.items() if usd) or "$0"
        return priced + (f" + {self.unpriced} unpriced calls" if self.unpriced else "")


def per(rate: float, events: str) -> str:
    """A rate for people: `2.5 calls/s`, or a minute where there are fewer."""
    return f"{rate:.1f} {events}/s" if rate >= 1 else f"{60 * rate:.1f} {events}/min"


def clock(seconds: float) -> str:
    """A time for people: `1:02:03`, `2:03`."""
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
