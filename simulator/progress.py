"""The live view of a run: done, failed by cause, rates, tokens, cost, time left. Plain lines when not on a terminal."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from simulator.record import Record
from tasks.nouns import Reply

#: Seconds over which rates are measured, events that takes at least, and seconds between two plain lines.
WINDOW, ENOUGH, PLAIN_EVERY = 30.0, 10, 15.0


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

    def of(self, events: str) -> str:
        """For people: `2.5 calls/s`, or a minute where there are fewer."""
        rate = self.per_second
        return f"{rate:.1f} {events}/s" if rate >= 1 else f"{60 * rate:.1f} {events}/min"


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

    def line(self) -> str:
        """One line for people."""
        parts = [
            self._done.of("conversations"),
            self._called.of("calls"),
            f"{self.tokens:,} tokens",
            self._costs(),
        ]
        if self.left is not None:
            parts.append(f"{_clock(self.left)} left")
        if self.retries:
            parts.append("tried again: " + ", ".join(f"{cause} {n}" for cause, n in self.retries.most_common(3)))
        if self.failed:
            parts.append("failed: " + ", ".join(f"{cause} {n}" for cause, n in self.failed.most_common(3)))
        return " · ".join(parts)

    def _costs(self) -> str:
        priced = " + ".join(f"{role} ${usd:.4f}" for role, usd in self.cost.items() if usd) or "$0"
        return priced + (f" + {self.unpriced} unpriced calls" if self.unpriced else "")


class Display(Tally):
    """A tally that shows itself: a live bar on a terminal, a line now and then elsewhere, nothing when quiet."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        super().__init__()
        self.console, self.quiet = console, quiet
        self._said = time.monotonic()
        self._bar = Progress(
            TextColumn("[bold]simulating"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
        )
        self._task = self._bar.add_task("conversations", total=None)
        self._live = Live(get_renderable=self._view, console=console, refresh_per_second=4, transient=True)

    def stored(self, record: Record) -> None:
        super().stored(record)
        if not (self.quiet or self.console.is_terminal) and time.monotonic() - self._said > PLAIN_EVERY:
            self._said = time.monotonic()
            self.console.print(f"{self.done}/{self.total} · {self.line()}", highlight=False)

    def _view(self) -> Group:
        self._bar.update(self._task, total=self.total or None, completed=self.done)
        return Group(self._bar, Text(self.line(), style="dim"))

    def __enter__(self) -> Self:
        if self.console.is_terminal and not self.quiet:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._live.is_started:
            self._live.stop()


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
