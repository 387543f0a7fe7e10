"""The engine: finds what a plan owes, has it played by a crew of workers, and stores each conversation as it ends.

Resuming is the normal path: owed = planned − settled. A failed conversation is data, not a crash; what stops a run is a wrong
key, a used-up quota or budget, a full disk, or the user.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

from simulator.cluster import cluster
from simulator.conversation import Setting
from simulator.crew import Orders, RemoteCrew
from simulator.errors import ExperimentError, Halt, Lost, StoreError
from simulator.experiment import Plan, Where, asked_for, differences
from simulator.limits import Budget
from simulator.means import Means
from simulator.models import prices
from simulator.models.access import Access
from simulator.processes import processes
from simulator.record import Record
from simulator.tally import Tally
from simulator.worker import Sink, Work, worker
from simulator.writer import Writer
from tasks.nouns import Reply

T = TypeVar("T")

#: Chains looked up in the store at once; seconds between two words about how far the run is.
BATCH, HEARTBEAT = 200, 1.0
#: A chain whose workers died so often stays owed.
LOSSES = 3


class Watcher(Protocol):
    """Somebody who looks on: the progress display, or a notebook's."""

    def planned(self, total: int, settled: int) -> None:
        """Called as the store is searched: so many conversations were found settled from before."""

    def called(self, role: str, reply: Reply) -> None:
        """A model call of this role was paid."""

    def stored(self, record: Record) -> None:
        """A conversation has ended."""


class Crew(Protocol):
    """Who plays the conversations: a worker in this process, processes beside it, or a cluster."""

    async def do(self, work: Work) -> None:
        """Returns when the chain was played. Raises `Halt` when the run is being stopped."""

    def halt(self, why: str) -> None:
        """No further call is made."""


@dataclass
class Outcome:
    """What a run did.

    Attributes:
        planned: conversations of the experiment; `settled`: of those, ended in an earlier run; `parked`: given up there.
        ended: conversations that ended in this run, by how they ended (`solved`, …, or the party that failed).
        causes: failures by (party, cause). `stopped`: why the run was broken off, if it was.
    """

    planned: int
    settled: int = 0
    parked: int = 0
    finished: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    causes: Counter[tuple[str, str]] = field(default_factory=Counter)
    stopped: str = ""

    @property
    def owed(self) -> int:
        """Conversations a further run would do."""
        return self.planned - self.settled - self.parked - self.finished

    @property
    def complete(self) -> bool:
        """Everything planned has a final record."""
        return self.owed == 0 and self.parked == 0


async def run(plan: Plan, folder: Path, means: Means | None = None, watcher: Watcher | None = None) -> Outcome:
    """Runs what is owed and returns what was done. Raises `StoreError` or `ModelError` before anything is paid."""
    means = means or Means()
    with Writer(folder) as writer:
        admit(writer, asked_for(plan.experiment, (arm for arm, _ in plan.arms())), extend=means.extend)
        ledger = Ledger(writer, Outcome(len(plan)), watcher)
        async with _crew(plan, means, ledger, budget(plan.models(), means, writer)) as crew:
            return await _Foreman(plan, writer, ledger, crew, means).work()


def admit(writer: Writer, asked: Mapping[str, Any], *, extend: bool) -> None:
    """Lets an experiment (`asked_for`) into a store: the first, the same, more of the same, or (`extend`) a different one."""
    earlier = writer.experiments()
    if asked in earlier:
        return
    changed = differences(earlier, asked) if earlier else []
    if changed and not extend:
        raise StoreError(
            "this store was made by a different experiment",
            got="; ".join(changed),
            allowed="more runs, instances, modes, models or interventions of the same protocol",
            fix="use another --out, or --extend to keep both side by side",
        )
    writer.add_experiment(asked)


def budget(models: Iterable[tuple[str, str]], means: Means, writer: Writer) -> Budget:
    """What may still be spent by models of these roles and names. A budget of dollars needs the price of every one."""
    if means.budget_usd is not None:
        unpriced = {name for role, name in models if price_of(name, means.access_of(role)) is prices.unknown}
        if unpriced:
            raise ExperimentError(
                "a budget in dollars needs the price of every model",
                got=", ".join(sorted(unpriced)),
                fix="give --price SPEC=IN,OUT (dollars per million tokens), or --budget-tokens",
            )
    usd, tokens = writer.spent()
    until = None if means.budget_hours is None else time.time() + means.budget_hours * 3600
    return Budget(means.budget_usd, means.budget_tokens, until, spent_usd=usd, spent_tokens=tokens)


def price_of(name: str, access: Access) -> prices.Price:
    """How a model's calls are priced before it is made."""
    return prices.price(name, base_url=access.base_url, given=access.prices)


@asynccontextmanager
async def _crew(plan: Plan, means: Means, ledger: Ledger, budget: Budget) -> AsyncIterator[Crew]:
    """Who plays: this process, processes beside it, or a cluster; those outside share the limits equally."""
    async with worker(plan, means, ledger, budget) as alone:
        # Made in any case: a missing key or package is found here, not by every worker anew.
        if means.engine == "local" and means.workers == 0:
            yield alone
            return
    if means.models:
        raise ExperimentError("ready-made models live in this process", fix="name them python:package.module:object")
    n = means.workers or os.cpu_count() or 1
    orders = Orders(plan.experiment, means.share(n), budget.share(n))
    async with CREWS[means.engine](orders, n, ledger) as crew:
        yield crew


CREWS: dict[str, Callable[[Orders, int, Sink], RemoteCrew]] = {"local": processes, "ray": cluster}


class Ledger:
    """Where workers' results arrive: the store gets them, the outcome counts them, the watcher sees them."""

    def __init__(self, writer: Writer, outcome: Outcome, watcher: Watcher | None) -> None:
        self.writer, self.outcome, self.tally = writer, outcome, Tally()
        self._watchers: tuple[Watcher, ...] = (self.tally, watcher) if watcher else (self.tally,)

    def planned(self, settled: int) -> None:
        """The store was searched further: so many conversations are settled from before."""
        for watcher in self._watchers:
            watcher.planned(self.outcome.planned, settled)

    def journal(self, conversation: str, call: str, request: str, reply: Reply) -> None:
        self.writer.journal(conversation, call, request, reply)
        for watcher in self._watchers:
            watcher.called(call.split("/", 2)[1], reply)

    def finish(self, record: Record, forget: str | None = None) -> None:
        self.writer.finish(record, forget)
        self.outcome.ended[record.ended] += 1
        self.outcome.finished += record.final
        if record.failed:
            self.outcome.causes[record.ended, record.cause] += 1
        for watcher in self._watchers:
            watcher.stored(record)


class _Foreman:
    """Hands out what is owed, and sees that the run stops when it has to."""

    def __init__(self, plan: Plan, writer: Writer, ledger: Ledger, crew: Crew, means: Means) -> None:
        self.plan, self.writer, self.ledger, self.crew, self.means = plan, writer, ledger, crew, means
        self.outcome = ledger.outcome

    async def work(self) -> Outcome:
        """Keeps as many chains under way as there are places, until nothing is owed or the run is stopped."""
        owed = self._owed()
        heartbeat = asyncio.create_task(self._tell_status())
        try:
            with interruptible(self.halt):
                async with asyncio.TaskGroup() as places:
                    for _ in range(min(self.means.max_concurrency, max(1, len(self.plan)))):
                        places.create_task(self._place(owed))
        finally:
            heartbeat.cancel()
            self.writer.progress(self._status())
            self.writer.flush()
        return self.outcome

    async def _place(self, owed: Iterator[Work]) -> None:
        for work in owed:
            try:
                await self._have_played(work)
            except Halt as halt:
                self.outcome.stopped = self.outcome.stopped or str(halt)
            if self.outcome.stopped:
                return

    async def _have_played(self, work: Work) -> None:
        """Has a chain played; again from where it stopped when its worker dies, until it seems to be the chain's doing."""
        for _ in range(LOSSES):
            try:
                await self.crew.do(work)
                return
            except Lost:
                await asyncio.to_thread(self.writer.flush)
                left = work.owed - self.writer.settled(list(work.owed)).keys()
                if not left:
                    return
                work = self._work(work.where, self.plan.chain(work.where), left)

    def _owed(self) -> Iterator[Work]:
        """Chains with something to do; looked up in the store a batch at a time."""
        for batch in _batches(self.plan.chains(), BATCH):
            settled = self.writer.settled([setting.key for _, chain in batch for setting in chain])
            self.outcome.settled += sum(settled.values())
            self.outcome.parked += sum(not final for final in settled.values())
            self.ledger.planned(self.outcome.settled + self.outcome.parked)
            for where, chain in batch:
                if owed := frozenset(setting.key for setting in chain if setting.key not in settled):
                    yield self._work(where, chain, owed)

    def _work(self, where: Where, chain: list[Setting], owed: frozenset[str]) -> Work:
        first = chain[0].key
        paid = {key: replies for key in owed if (replies := self.writer.journalled(key))}
        return Work(where, owed, paid, None if first in owed else self.writer.record(first))

    def halt(self, why: str) -> None:
        """Stops the run: calls under way are waited for and kept, no other is made."""
        self.outcome.stopped = self.outcome.stopped or why
        self.crew.halt(why)

    async def _tell_status(self) -> None:
        """Says now and then how far we are, for those who look at the store from outside."""
        while True:
            self.writer.progress(self._status())
            await asyncio.sleep(HEARTBEAT)

    def _status(self) -> dict[str, Any]:
        return {
            "planned": self.outcome.planned,
            "owed": self.outcome.owed,
            "parked": self.outcome.parked,
            "stopped": self.outcome.stopped,
            **self.ledger.tally.state(),
        }


@contextlib.contextmanager
def interruptible(halt: Callable[[str], None]) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM finishes the calls under way and saves, the second stops at once; both can be resumed."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    asked = False

    def interrupt() -> None:
        nonlocal asked
        if asked and task:
            task.cancel()
        asked = True
        halt("interrupted")

    caught: list[signal.Signals] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):  # not the main thread, not Unix
            loop.add_signal_handler(number, interrupt)
            caught.append(number)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
