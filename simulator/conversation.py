"""What a conversation is made of while it runs: the frozen `Arm` and `Setting`, the changing `State`, the steps of a script.

The other half, what remains of it, is `record`.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import msgspec

from simulator.judge import Judge
from simulator.record import REGULAR_ENDS, Judgement, Record, Turn
from simulator.user import User
from tasks.nouns import Ask, Instance, Message, Options, Reply, Script, Shard
from tasks.prompts import prompt
from tasks.task import Task

if TYPE_CHECKING:
    from simulator.interventions import Intervention

#: Version of the protocol of design section 3; another one is another experiment.
PROTOCOL = "1"

#: A conversation that reveals nothing ends after so many turns: 3 a shard, at least 8.
CAP_PER_SHARD, CAP_AT_LEAST = 3, 8


class Given(msgspec.Struct, frozen=True):
    """A step: a message that stands in the transcript without any model being asked."""

    message: Message


class Speak(msgspec.Struct, frozen=True):
    """A step: the user says this text, which reveals these shards; then the assistant answers."""

    text: str
    revealed: tuple[int, ...] = ()
    said_by: str = "verbatim"


class Reveal(msgspec.Struct, frozen=True):
    """A step: the simulated user says one more shard in its own way; then the assistant answers."""


Step: TypeAlias = Given | Speak | Reveal


class Policy:
    """A user policy: what is said next, as a pure function. It calls no model.

    Attributes:
        name: part of a run's identity.
        single: nothing is found out on the way; the reply is extracted and scored whatever its class (paper, section 3).
    """

    name: str
    single: ClassVar[bool] = False

    def shards(self, instance: Instance, rng: random.Random) -> tuple[Shard, ...]:
        """The shards this policy reveals, in the order it prefers."""
        return instance.shards

    def system(self, setting: Setting) -> str:
        """The system text."""
        return setting.task.system(setting.instance)

    def tools(self, setting: Setting) -> Sequence[Mapping[str, Any]]:
        """Schemas of the functions the assistant may call."""
        return setting.task.tools(setting.instance)

    def cap(self, setting: Setting) -> int:
        """The number of turns after which a conversation that reveals nothing is stopped."""
        return max(CAP_AT_LEAST, CAP_PER_SHARD * len(setting.shards))

    def next(self, setting: Setting, state: State) -> Step | None:
        """The next step, or None when there is nothing left to say; `state.steps` counts those taken."""
        raise NotImplementedError


@dataclass(frozen=True)
class Mode:
    """A label, and what it stands for: a user policy and interventions."""

    label: str
    policy: Policy
    interventions: tuple[Intervention, ...] = ()


@dataclass(frozen=True)
class Arm:
    """All that the conversations of one arm share; `parent` is the arm these conversations continue or are forked from."""

    task: Task
    mode: Mode
    interventions: tuple[Intervention, ...]
    user: User
    judge: Judge
    names: Mapping[str, str]
    sampling: Mapping[str, Options]
    seed: int
    classify_single_turn: bool
    parent: Arm | None = None

    @cached_property
    def digest(self) -> str:
        """Content hash of all that was asked for here: a part of each conversation's identity."""
        return hashlib.sha256(msgspec.json.encode(self.identity(), order="deterministic")).hexdigest()

    def identity(self) -> dict[str, Any]:
        """What enters the identity, readable."""
        return {
            "protocol": PROTOCOL,
            "task": self.task.name,
            "setup": self.task.identity(),
            "policy": self.mode.policy.name,
            "interventions": list(map(_identity, self.interventions)),
            "user": self.user.name,
            "judge": self.judge.name,
            "models": dict(self.names),
            "sampling": {role: msgspec.to_builtins(options) for role, options in self.sampling.items()},
            "prompts": self.prompts,
            "seed": self.seed,
            "classify_single_turn": self.classify_single_turn,
        }

    @cached_property
    def prompts(self) -> dict[str, str]:
        """Digest of every template that shapes these conversations, by name."""
        used = [("tasks", name) for name in self.task.prompts]
        used += [("simulator", name) for name in (*self.user.prompts, *self.judge.prompts)]
        used += [where for intervention in self.interventions for where in intervention.prompts]
        return {f"{package}/{name}": prompt(package, name).digest for package, name in used}

    @property
    def fork(self) -> int:
        """The number of turns these conversations share with those they are forked from, which interventions leave alone."""
        return max((intervention.first_turn for intervention in self.interventions), default=1) - 1

    def setting(self, instance: Instance, digest: str, repeat: int, parent: Setting | None) -> Setting:
        """One conversation of this arm; `digest` is the instance's, computed once for all arms and repeats."""
        prepared = instance
        for intervention in self.interventions:
            prepared = intervention.prepare(prepared) if intervention.first_turn == 1 else prepared
        return Setting(self, prepared, digest if prepared is instance else prepared.digest(), repeat, parent)


def _identity(intervention: Intervention) -> str:
    begins = f" from turn {intervention.first_turn}" if intervention.first_turn > 1 else ""
    return type(intervention).identity() + begins


@dataclass(frozen=True)
class Setting:
    """All that was asked for, of one conversation: an instance in an arm. Frozen: the graph gets it as its context.

    Attributes:
        digest: content hash of the instance.
        parent: the setting this conversation continues (`Intervention.continues`) or is forked from (`first_turn`).
    """

    arm: Arm
    instance: Instance
    digest: str
    repeat: int
    parent: Setting | None = None

    @property
    def task(self) -> Task:
        """The task of the arm."""
        return self.arm.task

    @property
    def policy(self) -> Policy:
        """The user policy of the arm."""
        return self.arm.mode.policy

    @cached_property
    def key(self) -> str:
        """Identity: the same question asked again has the same key, in any process and any order of work."""
        text = f"{self.arm.digest}/{self.digest}/{self.repeat}"
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    @cached_property
    def shards(self) -> tuple[Shard, ...]:
        """What can be revealed, in the policy's order. A conversation and its continuation agree on it."""
        return self.policy.shards(self.instance, self.random("shards"))

    @cached_property
    def script(self) -> Script:
        """The presentation named by the policy, written out once; asked for only where the policy is one."""
        return self.task.script(self.instance, self.policy.name)

    @property
    def cap(self) -> int:
        """The number of turns after which the conversation is stopped."""
        return self.policy.cap(self)

    def random(self, purpose: str) -> random.Random:
        """Randomness of a purpose: the same for this run of this instance in every arm, so that arms are compared on the
        same draws; never dependent on the order of work.
        """
        return random.Random(f"{self.arm.seed}/{self.instance.id}/{self.repeat}/{purpose}")


@dataclass
class State:
    """What changes.

    Attributes:
        turns: finished turns. As in a record, the first `inherited` are the parent's and stay there, or the first `shared` are
            the parent's too.
        draft: the turn under way: what the user said and what entered the transcript since.
        steps: steps of the policy taken so far. `extra`: text of a user turn that an intervention put in.
        memory: a dict for each intervention, by name; the only place an intervention may keep anything.
        closing: the interventions' `at_end` has spoken, so nothing follows.
    """

    system: str = ""
    turns: list[Turn] = field(default_factory=list)
    inherited: int = 0
    shared: int = 0
    draft: Draft | None = None
    steps: int = 0
    extra: str | None = None
    memory: dict[str, dict[str, Any]] = field(default_factory=dict)
    closing: bool = False
    ended: str = ""

    @classmethod
    def following(cls, setting: Setting, parent: Record | State) -> State:
        """Where a conversation with a parent begins: at its end, where only `at_end` can go on, or after the shared turns."""
        turns, ended = list(parent.turns), parent.ended
        if not setting.arm.fork:
            return cls(system=parent.system, turns=turns, inherited=len(turns), ended=ended)
        over = len(turns) <= setting.arm.fork and ended in REGULAR_ENDS
        shared = turns[: setting.arm.fork]
        return cls(parent.system, shared, shared=len(shared), steps=len(shared), ended=ended if over else "")

    @property
    def revealed(self) -> tuple[int, ...]:
        """Ids of the shards said so far, in order of being said."""
        return tuple(id for turn in self.turns for id in turn.reveals)

    @property
    def messages(self) -> list[Message]:
        """The transcript so far, the system text first, the turn under way last."""
        system = [Message("system", self.system)] if self.system else []
        said = [message for turn in self.turns for message in turn.messages]
        return system + said + (self.draft.messages if self.draft else [])


@dataclass
class Draft:
    """The turn under way."""

    said_by: str
    utterance: str
    revealed: tuple[int, ...]
    violations: tuple[str, ...] = ()
    messages: list[Message] = field(default_factory=list)
    context: tuple[Message, ...] | None = None
    reply: Reply | None = None

    def finished(self, judgement: Judgement | None) -> Turn:
        """The turn as it is kept."""
        return Turn(
            said_by=self.said_by,
            utterance=self.utterance,
            reveals=self.revealed,
            messages=tuple(self.messages),
            context=self.context,
            violations=self.violations,
            finish=self.reply.finish if self.reply else "missing",
            reasoning=self.reply.reasoning if self.reply else "",
            judgement=judgement,
        )


@dataclass(frozen=True)
class Talk:
    """A conversation as an intervention may see it, with a model already bound to it.

    Attributes:
        ask: the model for the intervention's own calls (`--judge-model`, else the assistant's).
        memory: this intervention's own dict, kept for this conversation alone.
    """

    setting: Setting
    state: State
    ask: Ask
    memory: dict[str, Any]

    @property
    def instance(self) -> Instance:
        return self.setting.instance

    @property
    def messages(self) -> Sequence[Message]:
        """The transcript, system text first."""
        return self.state.messages

    @property
    def utterances(self) -> list[str]:
        """What the user said so far in turns that revealed something, before any intervention changed it."""
        return [turn.utterance for turn in self.state.turns if turn.reveals]

    @property
    def unrevealed(self) -> list[Shard]:
        """Shards nobody has said yet, in the policy's order."""
        return list(unrevealed(self.setting, self.state))

    def random(self, purpose: str) -> random.Random:
        """See `Setting.random`."""
        return self.setting.random(purpose)


def unrevealed(setting: Setting, state: State) -> Iterator[Shard]:
    """Shards nobody has said yet, in the policy's order."""
    said = set(state.revealed)
    return (shard for shard in setting.shards if shard.id not in said)
