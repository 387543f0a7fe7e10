"""What a run would make, before any call: conversations, calls, tokens and dollars, arm by arm.

Conversations of a few instances are played through the real graph with an assistant that says filler and never solves
anything, so turns, histories and interventions are exact and the figures an upper end; only the length of replies is assumed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import msgspec

from simulator.conversation import Arm, Setting, State
from simulator.engine import price_of
from simulator.experiment import Part, Plan
from simulator.graph import Scene, converse
from simulator.interventions import label
from simulator.means import Means
from simulator.models import tokens
from simulator.record import Judgement
from simulator.user import VerbatimUser
from tasks.nouns import Ask, Instance, Message, Options, Reply, Usage
from tasks.prompts import prompt
from tasks.task import Task

#: Assumed tokens of one reply, by role; the instances of an arm that are played through.
REPLY_TOKENS = {"assistant": 200, "user": 40, "judge": 40, "intervention": 100, "scorer": 60}
SAMPLE = 10


class Estimate(msgspec.Struct, frozen=True):
    """One row: an arm, or the total. `cost`: US dollars, None if a model's price is unknown."""

    task: str
    mode: str
    assistant: str
    conversations: int
    calls: int
    tokens_in: int
    tokens_out: int
    cost: float | None


async def estimate(plan: Plan, means: Means) -> list[Estimate]:
    """One row an arm, the total last. Calls nobody."""
    rows = [await _arm(arm, part, ids, plan.experiment.runs, means) for part in plan.parts for arm, ids in part.arms]
    costs = [row.cost for row in rows]
    total = Estimate(
        task="total",
        mode="",
        assistant="",
        conversations=sum(row.conversations for row in rows),
        calls=sum(row.calls for row in rows),
        tokens_in=sum(row.tokens_in for row in rows),
        tokens_out=sum(row.tokens_out for row in rows),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
    )
    return [*rows, total]


async def _arm(arm: Arm, part: Part, ids: frozenset[str], runs: int, means: Means) -> Estimate:
    """Plays a few instances through and scales up."""
    sample = [instance for instance in part.instances if instance.id in ids][:SAMPLE]
    played = [await _play(arm, instance) for instance in sample]
    scale = len(ids) * runs / len(sample)
    used = {role: _sum([tally.usage[role] for tally in played if role in tally.usage]) for role in arm.names}
    costs = [price_of(arm.names[role], means.access_of(role))(usage) for role, usage in used.items()]
    return Estimate(
        task=arm.task.name,
        mode="+".join([arm.mode.label, *(label(i) for i in arm.interventions if i not in arm.mode.interventions)]),
        assistant=arm.names["assistant"],
        conversations=len(ids) * runs,
        calls=round(scale * sum(sum(tally.calls.values()) for tally in played)),
        tokens_in=round(scale * sum(usage.input for usage in used.values())),
        tokens_out=round(scale * sum(usage.output for usage in used.values())),
        cost=None if None in costs else scale * sum(cost for cost in costs if cost is not None),
    )


async def _play(arm: Arm, instance: Instance) -> Tally:
    """One conversation with filler for replies; a continued one counts its own turns alone."""
    state = State()
    if arm.parent is not None:
        parent = _dry(arm.parent.setting(instance, "", 0, None))
        await converse(Scene(parent, Tally(parent)), state)
    setting = _dry(arm.setting(instance, "", 0, None))
    if arm.parent is not None:
        state = State.following(setting, state)
    tally = Tally(setting)
    await converse(Scene(setting, tally), state)
    _add_parties(arm, setting, state, tally)
    return tally


def _dry(setting: Setting) -> Setting:
    return replace(setting, arm=replace(setting.arm, user=VerbatimUser(), judge=Undecided()))


def _add_parties(arm: Arm, setting: Setting, state: State, tally: Tally) -> None:
    """The calls of a model user and a model judge, which the dry conversation went without."""
    begun = state.inherited + state.shared
    own = state.turns[begun:]
    shards = sum(tokens.count(shard.text) for shard in setting.shards)
    if arm.user.needs_model:
        simulated = sum(turn.said_by == "verbatim" for turn in state.turns[max(1, begun) :])
        tally.add("user", simulated, _wording(arm.user.prompts) + shards + REPLY_TOKENS["assistant"])
    if arm.judge.needs_model and not setting.task.answers_every_turn:
        calls = arm.judge.calls
        tally.add("judge", calls * len(own), _wording(arm.judge.prompts) // calls + REPLY_TOKENS["assistant"])


def _wording(names: Sequence[str]) -> int:
    return sum(tokens.count(prompt("simulator", name).text) for name in names)


class Undecided:
    """A judge that sees no attempt, so no conversation ends early."""

    name: ClassVar[str] = "undecided"
    needs_model: ClassVar[bool] = False
    calls: ClassVar[int] = 0
    prompts: ClassVar[tuple[str, ...]] = ()

    async def judge(self, reply: str, task: Task, instance: Instance, ask: Ask) -> Judgement:
        return Judgement(by=self.name, label="discussion")


class Tally:
    """A line that calls nobody: it answers with filler and adds up what the calls would have used."""

    def __init__(self, setting: Setting) -> None:
        self.endpoints: Mapping[str, object] = {}
        self.usage: dict[str, Usage] = {}
        self.calls: Counter[str] = Counter()
        self._model = setting.arm.names["assistant"]

    def bound(self, role: str, site: str) -> Ask:
        async def ask(messages: Sequence[Message], options: Options = Options()) -> Reply:  # noqa: B008
            return await self.ask(role, site, messages, options)

        return ask

    async def ask(self, role: str, site: str, messages: Sequence[Message], options: Options) -> Reply:
        self.add(role, 1, tokens.estimate(messages, (), self._model).input)
        return Reply((Message("assistant", " word" * REPLY_TOKENS[role]),))

    def add(self, role: str, calls: int, tokens_in: int) -> None:
        """So many calls of a role with so many input tokens each."""
        before = self.usage.get(role, Usage())
        self.calls[role] += calls
        self.usage[role] = Usage(before.input + calls * tokens_in, before.output + calls * REPLY_TOKENS[role])


def _sum(usages: Sequence[Usage]) -> Usage:
    return Usage(sum(usage.input for usage in usages), sum(usage.output for usage in usages))
