"""The live view of a run. Plain lines when not on a terminal."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from simulator.record import Record
from simulator.tally import Tally

#: Seconds between two plain lines.
PLAIN_EVERY = 15.0


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
