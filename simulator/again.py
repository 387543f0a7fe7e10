"""Judging and scoring again: stored conversations get new judgements without any call of the assistant.

The old record stays; the new one, of the same conversation, is stored behind it and is what frames show from then on. A
conversation ended as the old judge had it: one that was stopped as solved cannot go on, whatever the new judge says.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec

from simulator.calls import Endpoint, Line, Switchboard
from simulator.errors import Failure
from simulator.judge import Judge
from simulator.judging import judge_reply, reviewed, score, scored_now, what_was_said
from simulator.limits import Budget, make_gate
from simulator.means import Means
from simulator.models.model import make_model
from simulator.modes import get_mode
from simulator.record import Call, Judgement, Record, Turn
from simulator.store import Store
from simulator.worker import scores, with_model
from simulator.writer import Writer
from tasks.nouns import Options
from tasks.registry import get_task
from tasks.task import Task


class Again(msgspec.Struct, frozen=True):
    """What is done anew.

    Attributes:
        judge: classifies and extracts anew; None keeps labels and answers and only scores them anew.
        model: of the judge and of tasks that a model scores.
    """

    judge: Judge | None = None
    model: str | None = None

    @property
    def name(self) -> str | None:
        """As records name the judge."""
        return (
            None if self.judge is None else with_model(self.judge.name, self.model if self.judge.needs_model else None)
        )


async def again(folder: Path, what: Again, means: Means) -> tuple[int, list[Failure]]:
    """Judges or scores all final conversations of a run anew; those that the same judge judged are left.

    Returns how many were stored, and what failed (those stay as they were; the same command again does only them).
    """
    with Writer(folder) as writer, Store(folder) as store:
        endpoints: dict[tuple[str, str], Endpoint] = {}
        if what.model:
            access = msgspec.structs.asdict(means.access_of("judge"))
            model = means.models.get(what.model) or make_model(what.model, **access)
            endpoints = {(role, what.model): Endpoint(model, make_gate(model, means)) for role in ("judge", "scorer")}
        board = Switchboard(endpoints, writer, Budget(means.budget_usd, means.budget_tokens), means.max_retries)
        try:
            return await _all(store, writer, board, what, means.max_concurrency)
        finally:
            for endpoint in {id(e): e for e in endpoints.values()}.values():
                await endpoint.model.close()


async def _all(store: Store, writer: Writer, board: Switchboard, what: Again, places: int) -> tuple[int, list[Failure]]:
    """As many conversations at once as there are places, in the order they were stored."""
    left = store.records("final")
    failures: list[Failure] = []
    stored = 0

    async def place(records: Iterator[Record]) -> None:
        nonlocal stored
        for record in records:
            if what.judge is not None and record.judge == what.name:
                continue
            try:
                writer.finish(await _one(record, writer, board, what))
                stored += 1
            except Failure as failure:
                failures.append(failure)

    async with asyncio.TaskGroup() as workers:
        for _ in range(places):
            workers.create_task(place(left))
    return stored, failures


async def _one(record: Record, writer: Writer, board: Switchboard, what: Again) -> Record:
    """The record with new judgements; its own calls are kept, those of the old judge are not."""
    task = get_task(record.task)
    site = f"{record.key}~{what.name or 'score'}"
    endpoints = {role: endpoint for (role, _), endpoint in board.endpoints.items()}
    line = Line(board, site, endpoints, {"judge": Options(), "scorer": Options()}, writer.journalled(site))
    turns = tuple([turn async for turn in _turns(record, task, line, what)])
    kept = [msgspec.structs.replace(call, replayed=True) for call in record.calls if _kept(call, what)]
    return msgspec.structs.replace(
        record,
        turns=turns,
        calls=(*kept, *line.calls),
        judge=what.name or record.judge,
        provenance={**record.provenance, "judged_before_by": record.judge},
        **scores(turns, record.ended),
    )


def _kept(call: Call, what: Again) -> bool:
    return call.role not in (("judge", "scorer") if what.judge else ("scorer",))


async def _turns(record: Record, task: Task, line: Line, what: Again) -> AsyncIterator[Turn]:
    """The record's own turns, each with its new judgement."""
    always = get_mode(record.policy, task).policy.single and not record.provenance.get("classify_single_turn")
    revealed: set[int] = set()
    said: list[tuple[str, str]] = []
    for number, turn in enumerate(record.turns, record.inherited + 1):
        revealed.update(turn.reveals)
        closing = turn.said_by == "intervention" and number == record.inherited + len(record.turns)
        scored = scored_now(task, record.instance.shards, revealed) or closing
        judgement = await _judgement(turn, record, task, line, what, f"t{number}", always and not closing, scored)
        said.append((turn.utterance, what_was_said(turn.messages, task)))
        seen = judgement and reviewed(judgement, said, task, record.instance)
        yield msgspec.structs.replace(turn, judgement=seen)


async def _judgement(
    turn: Turn, record: Record, task: Task, line: Line, what: Again, site: str, always: bool, scored: bool
) -> Judgement | None:
    scorer = line.bound("scorer", site) if "scorer" in line.endpoints else None
    old = turn.judgement
    if what.judge is not None:
        ask = line.bound("judge", site)
        said = what_was_said(turn.messages, task)
        return await judge_reply(
            said, task, record.instance, what.judge, always=always, scored=scored, ask=ask, scorer=scorer
        )
    if old is None or old.score is None:
        return old
    return msgspec.structs.replace(old, score=await score(old.answer, task, record.instance, scorer))
