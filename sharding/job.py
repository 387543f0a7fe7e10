"""A file of instructions through the pipeline: many at once, on the engine of the run command.

Calls of the sharder go through the same seam as those of a conversation, with the same gates, retries, journal and budget;
simulations are conversations of the same store. Nothing is kept beside that: the same command again finds every reply and
every simulation that was paid, and so comes to the same items.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from sharding.authors import ROLE, Author, ModelAuthor
from sharding.gradual import variants
from sharding.items import Provenance, provenance, read_items, texts, with_provenance, write_items
from sharding.nouns import Objection, Sharding
from sharding.pipeline import Desk, Draft, shard
from sharding.rules import RulesAuthor
from sharding.verification import Verification, verify
from simulator.calls import OWN_FAULT, Line
from simulator.conversation import Arm
from simulator.engine import admit, budget, interruptible
from simulator.errors import Failure, Halt
from simulator.experiment import Experiment, arms_of, asked_for
from simulator.means import Means
from simulator.worker import Stage, stage, versions
from simulator.writer import Writer
from tasks.nouns import Instance
from tasks.registry import get_task

#: The model that is no model.
RULES = "none"


@dataclass
class Job:
    """What is asked for, and what came of it.

    Attributes:
        source: name of the file. `model`: who shards, `none` for rules alone.
        simulated: the experiment that verifies, with its modes and number of runs; None: nothing is simulated.
        told: hears of every item as it is done.
        items: by id. `owed`: instructions that are none yet, and `failures` why; `stopped`: why the job was broken off.
        usd, tokens: what the folder has cost so far, simulations included.
    """

    source: str
    model: str
    simulated: Experiment | None = None
    told: Callable[[Instance], None] = lambda item: None
    items: dict[str, Instance] = field(default_factory=dict)
    owed: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    stopped: str = ""
    usd: float = 0.0
    tokens: int = 0

    async def run(self, instructions: Sequence[Instance], folder: Path, means: Means) -> None:
        """Shards every instruction that no reviewer has decided on yet, and writes the items of the folder.

        Raises `StoreError` or `ModelError` before anything is paid.
        """
        earlier = {item.id: item for item in read_items(folder)}
        self.items = {id: item for id, item in earlier.items() if provenance(item).history}
        left = iter([instance for instance in instructions if instance.id not in self.items])
        arms = self._arms({instance.task for instance in instructions})
        models = {pair for arm in arms.values() for pair in arm.names.items()}
        models |= set() if self.model == RULES else {(ROLE, self.model)}
        with Writer(folder) as writer:
            if self.simulated:
                admit(writer, asked_for(self.simulated, arms.values()), extend=means.extend)
            async with stage(sorted(models), means, writer, budget(models, means, writer)) as one:
                desk = _Workshop(self, arms, one, writer)
                with interruptible(desk.halt):
                    async with asyncio.TaskGroup() as places:
                        for _ in range(means.max_concurrency):
                            places.create_task(desk.work(left))
            writer.flush()
            self.usd, self.tokens = writer.spent()
        asked = dict.fromkeys(instance.id for instance in instructions)
        self.owed = sum(id not in self.items for id in asked)
        found = earlier | self.items
        self.items = {id: found[id] for id in [*(id for id in earlier if id not in asked), *asked] if id in found}
        write_items(folder, list(self.items.values()))

    def _arms(self, tasks: set[str]) -> dict[tuple[str, str], Arm]:
        """How each task is simulated in each mode."""
        if self.simulated is None:
            return {}
        return {(name, arm.mode.label): arm for name in tasks for arm in arms_of(self.simulated, get_task(name))}


@dataclass(frozen=True)
class _Workshop:
    """Where the instructions of a job are sharded, as many at once as `work` is awaited."""

    job: Job
    arms: dict[tuple[str, str], Arm]
    stage: Stage
    writer: Writer

    async def work(self, left: Iterator[Instance]) -> None:
        """Shards one after the other until none is left or the job is stopped."""
        for instance in left:
            try:
                item = self.job.items[instance.id] = await self._item(instance)
                self.job.told(item)
            except Halt as halt:
                self.halt(str(halt))
            except Failure as failure:
                self.job.failures[f"{failure.party}: {failure.cause}"] += 1
                if failure.stop_run:
                    self.halt(str(failure))
            if self.job.stopped:
                return

    def halt(self, why: str) -> None:
        """No further call is made; those under way are waited for and kept."""
        self.job.stopped = self.job.stopped or why
        self.stage.halt(why)

    async def _item(self, instance: Instance) -> Instance:
        """One instruction through the pipeline. A model that refuses it is a reason to refuse it, other failures are owed."""
        line = self._line(instance)
        author: Author = ModelAuthor(get_task(instance.task), line) if line.endpoints else RulesAuthor()

        async def simulate(sharding: Sharding) -> Verification:
            return await self._verified(msgspec.structs.replace(instance, shards=sharding.shards))

        try:
            draft = await shard(instance.instruction, Desk(author, simulate if self.arms else None))
        except Failure as failure:
            if failure.cause not in OWN_FAULT:
                raise
            draft = Draft(instance.instruction, objections=[Objection(failure.cause, failure.detail)])
        return self._made(instance, draft, author, line)

    def _line(self, instance: Instance) -> Line:
        """The sharder's calls for one instruction; rules alone have no model at its end."""
        endpoints = {role: end for (role, _), end in self.stage.board.endpoints.items() if role == ROLE}
        key = "shard-" + hashlib.sha256(f"{instance.digest()}/{self.job.model}".encode()).hexdigest()[:24]
        return Line(self.stage.board, key, endpoints, {}, self.writer.journalled(key))

    async def _verified(self, instance: Instance) -> Verification:
        assert self.job.simulated is not None
        digest = instance.digest()

        async def play(mode: str, repeat: int) -> float:
            setting = self.arms[instance.task, mode].setting(instance, digest, repeat, None)
            record = self.writer.record(setting.key)
            if record is None and setting.key in self.writer.settled([setting.key]):
                raise Failure("infrastructure", "a simulation failed three times")
            record = record or await self.stage.play(setting, self.writer.journalled(setting.key))
            if not record.final:
                raise Failure(record.ended, record.cause, record.detail)
            return record.score or 0.0

        return await verify(play, self.job.simulated.runs)

    def _made(self, instance: Instance, draft: Draft, author: Author, line: Line) -> Instance:
        """What became of it, as an item with its provenance."""
        sharding = draft.sharding or Sharding(instance.instruction, instance.shards)
        kept = variants(sharding) if draft.sharding else {}
        item = msgspec.structs.replace(instance, shards=sharding.shards, variants=kept)
        costs = [call.cost for call in line.calls if call.cost is not None]
        tokens = sum(call.usage.input + call.usage.output for call in line.calls)
        made = Provenance(
            status=draft.status,
            source={"file": self.job.source, "id": instance.id, "digest": instance.digest()},
            model=self.job.model,
            assistant=self.job.simulated.assistant[0] if self.job.simulated else None,
            texts=texts(item),
            prompts=dict(author.prompts),
            versions=versions(),
            segments=sharding.segments,
            objections=tuple(draft.objections),
            repaired=tuple(draft.repaired),
            verification=draft.verification.summary() if draft.verification else None,
            cost={
                "calls": len(line.calls),
                "tokens": tokens,
                "usd": sum(costs) if len(costs) == len(line.calls) else None,
            },
        )
        return with_provenance(item, made)
