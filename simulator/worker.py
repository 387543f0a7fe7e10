"""The worker: plays chains of conversations through the graph and hands what comes of it to a sink.

It knows no store and no other worker, so the same code runs in the engine's own process, in a process beside it and on
another machine.
"""

from __future__ import annotations

import asyncio
import gc
import platform
import time
import traceback
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from importlib import metadata
from typing import Any, Protocol

import msgspec

from simulator.calls import Endpoint, Journal, Line, Switchboard
from simulator.conversation import PROTOCOL, Setting, State
from simulator.errors import Failure, Halt, StoreError
from simulator.experiment import Plan, Where
from simulator.graph import Scene, converse
from simulator.interventions import label
from simulator.limits import Budget, Gate, make_gate
from simulator.means import Means
from simulator.models.access import Access
from simulator.models.model import Model, make_model
from simulator.record import OWED_AGAIN, Journalled, Record, Turn


class Sink(Journal, Protocol):
    """Where a worker's results go: the store, at the end."""

    def finish(self, record: Record, forget: str | None = None) -> None:
        """A conversation has ended; see `Writer.finish`."""


class Work(msgspec.Struct, frozen=True):
    """A chain of conversations to play.

    Attributes:
        owed: keys of those still to be done. `paid`: replies an interrupted run left behind, by conversation and call.
        parent: the record of the chain's first conversation, where that is done and only its continuations are owed.
    """

    where: Where
    owed: frozenset[str]
    paid: dict[str, dict[str, Journalled]]
    parent: Record | None = None


class Stage:
    """Where conversations are played: models, journal, gates and budget, and a sink for what comes of it. Made by `stage`."""

    def __init__(self, board: Switchboard, sink: Sink) -> None:
        self.board, self.sink = board, sink

    def halt(self, why: str) -> None:
        """No further call is made; those under way are waited for and kept."""
        self.board.halt(why)

    async def play(self, setting: Setting, paid: Mapping[str, Journalled], parent: Record | None = None) -> Record:
        """Plays one conversation to its end or failure; `paid`: replies an interrupted run left behind.

        Raises `Halt` when the run is being stopped: what was paid so far is with the sink.
        """
        line = self.board.line(setting, paid)
        state = State.following(setting, parent) if parent else State()
        started, clock = time.time(), time.perf_counter()
        failure = _shared_failure(setting, parent) or await self._attempt(Scene(setting, line), state)
        record = finished(setting, state, line, failure, started, time.perf_counter() - clock)
        # Replies that could not be used would be unusable again: they are asked for anew.
        spoilt = failure is not None and failure.party in ("user", "judge", "scorer")
        self.sink.finish(record, forget=f"{setting.key}/{record.ended}/" if spoilt else None)
        return record

    async def _attempt(self, scene: Scene, state: State) -> Failure | None:
        try:
            await converse(scene, state)
        except Failure as failure:
            if failure.stop_run:
                self.halt(str(failure))
            return failure
        except (Halt, StoreError):
            raise
        except Exception as error:  # noqa: BLE001 - a fault of ours or of an intervention is recorded and owed again
            return Failure("infrastructure", f"unexpected {type(error).__name__}", traceback.format_exc(limit=-6))
        return None


class Worker:
    """Plays the chains of a plan, as many at once as `do` is awaited. Made by `worker`."""

    def __init__(self, plan: Plan, stage: Stage) -> None:
        self.plan, self.stage = plan, stage

    async def do(self, work: Work) -> None:
        """A conversation, then those that continue it; these stay owed as long as it has not ended. Raises `Halt`."""
        first, *later = self.plan.chain(work.where)
        parent = await self._play(first, work) if first.key in work.owed else work.parent
        for setting in later:
            if setting.key in work.owed and parent is not None and parent.final:
                await self._play(setting, work, parent)

    def halt(self, why: str) -> None:
        """See `Stage.halt`."""
        self.stage.halt(why)

    async def _play(self, setting: Setting, work: Work, parent: Record | None = None) -> Record:
        return await self.stage.play(setting, work.paid.get(setting.key, {}), parent)


@asynccontextmanager
async def worker(plan: Plan, means: Means, sink: Sink, budget: Budget) -> AsyncIterator[Worker]:
    """A worker with the models of a plan. Raises `ModelError`."""
    async with stage(plan.models(), means, sink, budget) as one:
        yield Worker(plan, one)


@asynccontextmanager
async def stage(models: Iterable[tuple[str, str]], means: Means, sink: Sink, budget: Budget) -> AsyncIterator[Stage]:
    """A stage with models by role and name, made once each, and closed at the end. Raises `ModelError`."""
    endpoints: dict[tuple[str, str], Endpoint] = {}
    made: dict[tuple[str, int], Model] = {}
    gates: dict[int, Gate] = {}
    try:
        for role, name in models:
            model = means.models.get(name) or _made(made, name, means.access_of(role))
            gate = gates.setdefault(id(model), make_gate(model, means))
            endpoints[role, name] = Endpoint(model, gate)
        with _rare_collections():
            yield Stage(Switchboard(endpoints, sink, budget, means.max_retries), sink)
    finally:
        await asyncio.gather(*(model.close() for model in made.values()))


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Garbage is looked for less often: conversations under way hold none, and going through them took a tenth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(10_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _made(made: dict[tuple[str, int], Model], name: str, access: Access) -> Model:
    """The model of a name, made once for all roles that reach it in the same way."""
    if (name, id(access)) not in made:
        made[name, id(access)] = make_model(name, **msgspec.structs.asdict(access))
    return made[name, id(access)]


def finished(
    setting: Setting, state: State, line: Line, failure: Failure | None, started: float, seconds: float
) -> Record:
    """What remains of a conversation: its own turns, its calls, its end and its scores."""
    turns = tuple(state.turns[state.inherited :])
    ended = failure.party if failure else state.ended
    return Record(
        key=setting.key,
        parent=setting.parent.key if setting.parent and not setting.arm.fork else None,
        inherited=state.inherited,
        forked=setting.parent.key if setting.parent and setting.arm.fork else None,
        shared=state.shared,
        task=setting.task.name,
        instance=setting.instance,
        mode=setting.arm.mode.label,
        policy=setting.policy.name,
        interventions=tuple(map(label, setting.arm.interventions)),
        repeat=setting.repeat,
        assistant=setting.arm.names["assistant"],
        user=with_model(setting.arm.user.name, setting.arm.names.get("user")),
        judge=with_model(setting.arm.judge.name, setting.arm.names.get("judge")),
        sampling={role: msgspec.to_builtins(options) for role, options in setting.arm.sampling.items()},
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
            "seed": setting.arm.seed,
            "arm": setting.arm.digest,
            "classify_single_turn": setting.arm.classify_single_turn,
            "prompts": dict(setting.arm.prompts),
            "versions": versions(),
            "not_sent": _not_sent(line),
        },
        **scores(turns, ended),
    )


def _shared_failure(setting: Setting, parent: Record | None) -> Failure | None:
    """What ended the parent within the turns that both share."""
    if parent is None or not parent.failed or len(parent.turns) >= setting.arm.fork:
        return None
    return Failure(parent.ended, parent.cause, parent.detail)


def _not_sent(line: Line) -> dict[str, list[str]]:
    """Sampling parameters a model refused, by role, so that calls went without them."""
    refused = {role: sorted(getattr(endpoint.model, "refused", ())) for role, endpoint in line.endpoints.items()}
    return {role: names for role, names in refused.items() if names}


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


def with_model(name: str, model: str | None) -> str:
    """A user's or judge's name as records hold it."""
    return f"{name} {model}" if model else name


@cache
def versions() -> dict[str, str]:
    """Versions of what shapes a conversation."""
    packages = ("shardtalk", "langgraph", "langchain-core")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in packages}}
