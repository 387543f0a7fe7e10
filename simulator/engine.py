"""The engine: runs what a plan owes, many conversations at once, and stores each as it ends.

Resuming is the normal path: owed = planned − settled. A failed conversation is data, not a crash; what stops a run is a wrong
key, a used-up quota, a full disk, or the user.
"""

from __future__ import annotations

import asyncio
import platform
import time
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from simulator.calls import Endpoint, Line, Semaphore, Switchboard
from simulator.conversation import PROTOCOL, Setting, State
from simulator.errors import Failure, StoreError
from simulator.experiment import Experiment, Plan, differences
from simulator.graph import Scene, converse
from simulator.models.access import Access
from simulator.models.model import make_model
from simulator.record import OWED_AGAIN, Record, Turn
from simulator.store import Writer

T = TypeVar("T")

#: Chains looked up in the store at once; seconds between two words about how far the run is.
BATCH, HEARTBEAT = 200, 1.0


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """How a run is carried out; none of it changes what is asked.

    Attributes:
        access: how models are reached, by role; roles without their own are reached like the assistant.
        max_concurrency: conversations, and calls to one endpoint, under way at once.
        extend: another protocol, prompt or sampling may join the records of an existing store.
    """

    access: Mapping[str, Access] = {}
    max_concurrency: int = 32
    extend: bool = False

    def access_of(self, role: str) -> Access:
        """How the models of a role are reached; the same object for roles that share it."""
        return self.access.get(role) or self.access.get("assistant") or _PLAIN


_PLAIN = Access()


class Watcher(Protocol):
    """Somebody who looks on: the progress display, a notebook, or nobody."""

    def planned(self, total: int, settled: int) -> None:
        """Called as the store is searched: so many conversations were found settled from before."""

    def called(self, line: Line) -> None:
        """A model call of this line has ended."""

    def stored(self, record: Record) -> None:
        """A conversation has ended."""


class Nobody:
    """A watcher that looks away."""

    def planned(self, total: int, settled: int) -> None: ...

    def called(self, line: Line) -> None: ...

    def stored(self, record: Record) -> None: ...


@dataclass
class Outcome:
    """What a run did.

    Attributes:
        planned: conversations of the experiment; `settled`: of those, ended in an earlier run (`parked`: given up there).
        ended: conversations that ended in this run, by how they ended (`solved`, …, or the party that failed).
        causes: failures by (party, cause). `stopped`: why the run was broken off, if it was.
    """

    planned: int
    settled: int = 0
    parked: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    causes: Counter[tuple[str, str]] = field(default_factory=Counter)
    finished: int = 0
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
        admit(writer, plan.experiment, extend=means.extend)
        async with switchboard(plan, means, writer) as board:
            return await _Run(plan, writer, board, means, watcher or Nobody()).work()


def admit(writer: Writer, experiment: Experiment, *, extend: bool) -> None:
    """Lets an experiment into a store: a new one, the same, more of the same, or (`extend`) a different one."""
    earlier = writer.experiments()
    asked = experiment.asked()
    if asked in earlier:
        return
    changed = differences(earlier[-1], experiment) if earlier else []
    if changed and not extend:
        raise StoreError(
            "this store was made by a different experiment",
            got="; ".join(changed),
            allowed="more runs, instances, modes, models or interventions of the same protocol",
            fix="use another --out, or --extend to keep both side by side",
        )
    writer.add_experiment(asked)


@asynccontextmanager
async def switchboard(plan: Plan, means: Means, writer: Writer) -> AsyncIterator[Switchboard]:
    """The models of a plan, made once each, and closed at the end. Raises `ModelError` for one that cannot be made."""
    endpoints: dict[tuple[str, int], Endpoint] = {}
    by_role: dict[tuple[str, str], Endpoint] = {}
    try:
        for arm, _ in plan.arms():
            for role, name in arm.names.items():
                access = means.access_of(role)
                reached = (name, id(access))
                if reached not in endpoints:
                    endpoints[reached] = Endpoint(
                        make_model(name, **msgspec.structs.asdict(access)), Semaphore(means.max_concurrency)
                    )
                by_role[role, name] = endpoints[reached]
        yield Switchboard(by_role, writer)
    finally:
        for endpoint in endpoints.values():
            await endpoint.model.close()


class _Run:
    """One run under way."""

    def __init__(self, plan: Plan, writer: Writer, board: Switchboard, means: Means, watcher: Watcher) -> None:
        self.plan, self.writer, self.board, self.means, self.watcher = plan, writer, board, means, watcher
        self.outcome = Outcome(len(plan))
        self.stopping = asyncio.Event()

    async def work(self) -> Outcome:
        """Conversations of as many workers as there are places, each taking the next chain that is owed."""
        owed = self._owed()
        heartbeat = asyncio.create_task(self._tell_status())
        try:
            async with asyncio.TaskGroup() as workers:
                for _ in range(min(self.means.max_concurrency, max(1, len(self.plan)))):
                    workers.create_task(self._worker(owed))
        finally:
            heartbeat.cancel()
            self.writer.progress(self._status())
            self.writer.flush()
        return self.outcome

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
            "waiting": {cause: n for cause, n in self.board.waiting.items() if n},
            "stopped": self.outcome.stopped,
        }

    async def _worker(self, owed: Iterator[tuple[list[Setting], frozenset[str]]]) -> None:
        for chain, keys in owed:
            await self._chain(chain, keys)
            if self.stopping.is_set():
                return

    def _owed(self) -> Iterator[tuple[list[Setting], frozenset[str]]]:
        """Chains with something to do, and the keys of it; looked up in the store a batch at a time."""
        for batch in _batches(self.plan.chains(), BATCH):
            keys = [setting.key for chain in batch for setting in chain]
            settled = self.writer.settled(keys)
            self.outcome.settled += sum(settled.values())
            self.outcome.parked += sum(not final for final in settled.values())
            self.watcher.planned(self.outcome.planned, self.outcome.settled + self.outcome.parked)
            for chain in batch:
                if owed := frozenset(setting.key for setting in chain if setting.key not in settled):
                    yield chain, owed

    async def _chain(self, chain: list[Setting], owed: frozenset[str]) -> None:
        """A conversation, then those that continue it; these stay owed as long as it has not ended."""
        first, *later = chain
        record = await self._conversation(first) if first.key in owed else None
        for setting in later:
            if setting.key not in owed or self.stopping.is_set():
                continue
            parent = record or self.writer.record(first.key)
            if parent is not None and parent.final:
                await self._conversation(setting, parent)

    async def _conversation(self, setting: Setting, parent: Record | None = None) -> Record:
        """Runs one conversation to its end or failure and stores it."""
        line = self.board.line(setting, self.writer.journalled(setting.key), self.watcher.called)
        state = State.continuing(parent) if parent else State()
        started, clock = time.time(), time.perf_counter()
        failure = await self._attempt(Scene(setting, line), state)
        record = finished(setting, state, line, failure, started, time.perf_counter() - clock)
        spoilt = f"{setting.key}/{failure.party}/" if failure and failure.party in ("user", "judge", "scorer") else None
        self.writer.finish(record, forget=spoilt)
        self._count(record)
        self.watcher.stored(record)
        return record

    async def _attempt(self, scene: Scene, state: State) -> Failure | None:
        try:
            await converse(scene, state)
        except Failure as failure:
            if failure.stop_run:
                self._stop(str(failure))
            return failure
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - a fault of ours or of an intervention is recorded, counted and owed again
            return Failure("infrastructure", f"unexpected {type(error).__name__}", traceback.format_exc(limit=-6))
        return None

    def _stop(self, why: str) -> None:
        if not self.stopping.is_set():
            self.outcome.stopped = why
            self.stopping.set()

    def _count(self, record: Record) -> None:
        self.outcome.ended[record.ended] += 1
        self.outcome.finished += record.final
        if record.failed:
            self.outcome.causes[record.ended, record.cause] += 1


def finished(
    setting: Setting, state: State, line: Line, failure: Failure | None, started: float, seconds: float
) -> Record:
    """What remains of a conversation: its own turns, its calls, its end and its scores."""
    turns = tuple(state.turns[state.inherited :])
    ended = failure.party if failure else state.ended
    return Record(
        key=setting.key,
        parent=setting.parent.key if setting.parent else None,
        inherited=state.inherited,
        task=setting.task.name,
        instance=setting.instance,
        mode=setting.mode.label,
        policy=setting.mode.policy.name,
        interventions=tuple(intervention.name for intervention in setting.interventions),
        repeat=setting.repeat,
        assistant=setting.names["assistant"],
        user=_with_model(setting.user.name, setting.names.get("user")),
        judge=_with_model(setting.judge.name, setting.names.get("judge")),
        sampling={role: msgspec.to_builtins(options) for role, options in setting.sampling.items()},
        system=state.system,
        turns=turns,
        calls=tuple(line.calls),
        ended=ended,
        cause=failure.cause if failure else "",
        detail=failure.detail if failure else "",
        started=started,
        seconds=seconds,
        provenance={
            "protocol": PROTOCOL,
            "seed": setting.seed,
            "arm": setting.arm,
            "prompts": dict(setting.prompts),
            "versions": versions(),
        },
        **scores(turns, ended),
    )


def scores(turns: tuple[Turn, ...], ended: str) -> dict[str, Any]:
    """The scores of a conversation (design, section 3): headline, first correct, last attempt, last turn, attempts.

    No attempt at all counts 0, as does a failure of the assistant; a failure of another party is not scored.
    """
    scored = [turn.judgement.score for turn in turns if turn.judgement and turn.judgement.score]
    values: dict[str, Any] = {
        "attempts": sum(
            turn.judgement is not None
            and (turn.judgement.label == "answer_attempt" or turn.judgement.score is not None)
            for turn in turns
        ),
        "first_correct": next((score.value for score in scored if score.correct), None),
        "last_attempt": scored[-1].value if scored else None,
        "last_turn": _last_turn(turns),
    }
    if ended in OWED_AGAIN:
        return values
    if ended == "assistant" or not scored:
        return values | {"score": 0.0, "correct": False}
    return values | {"score": scored[-1].value, "correct": scored[-1].correct}


def _last_turn(turns: tuple[Turn, ...]) -> float | None:
    if not turns:
        return None
    judgement = turns[-1].judgement
    return judgement.score.value if judgement and judgement.score else 0.0


def _with_model(name: str, model: str | None) -> str:
    return f"{name} {model}" if model else name


@cache
def versions() -> dict[str, str]:
    """Versions of what shapes a conversation."""
    packages = ("shardtalk", "langgraph", "langchain-core")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in packages}}


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
