"""Modes: a label expands to a user policy and a list of interventions. Policies are pure; nothing here calls a model.

FULL, CONCAT, SHUFFLE-CONCAT, SHARDED and gradual sharding after the paper's section 3 and appendices C and K; RECAP and
SNOWBALL (appendix M) are SHARDED under an intervention. A task's own presentations are scripts of given and spoken messages.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from simulator.conversation import Given, Mode, Policy, Reveal, Setting, Speak, State, Step, unrevealed
from simulator.errors import ExperimentError
from simulator.interventions import Recap, Snowball
from tasks.errors import UnknownName
from tasks.nouns import Instance, Shard
from tasks.task import Task


class Full(Policy):
    """The fully specified instruction, in one turn."""

    name = "full"
    single: ClassVar[bool] = True

    def next(self, setting: Setting, state: State) -> Step | None:
        return None if state.turns else Speak(self.text(setting), tuple(shard.id for shard in setting.shards))

    def text(self, setting: Setting) -> str:
        return setting.task.full(setting.instance)


class Concat(Full):
    """All shards at once, one a line."""

    name = "concat"

    def text(self, setting: Setting) -> str:
        return setting.task.concat(setting.instance, setting.shards)


class ShuffleConcat(Concat):
    """CONCAT with the shards permuted; the first shard, which holds the intent, stays first (appendix C)."""

    name = "shuffle_concat"

    def shards(self, instance: Instance, rng: random.Random) -> tuple[Shard, ...]:
        first, *rest = instance.shards
        return (first, *rng.sample(rest, len(rest)))


class Sharded(Policy):
    """One shard a turn: the first as it stands, each later one in the user's own way."""

    name = "sharded"

    def next(self, setting: Setting, state: State) -> Step | None:
        shard = next(unrevealed(setting, state), None)
        if shard is None:
            return None
        if setting.task.scripted_user:
            turn = len(state.turns)
            return Speak(setting.task.say(setting.instance, turn), (shard.id,), "script")
        return Reveal() if state.turns else Speak(shard.text, (shard.id,))


class Gradual(Sharded):
    """SHARDED over the instance's variant merged to `n` shards (appendix K)."""

    def __init__(self, n: int) -> None:
        self.n, self.name = n, f"gradual:{n}"

    def shards(self, instance: Instance, rng: random.Random) -> tuple[Shard, ...]:
        return instance.variants[str(self.n)]


class Scripted(Policy):
    """One of a task's own presentations: messages given and messages answered, in a fixed order.

    The last user message counts as saying all shards.
    """

    single: ClassVar[bool] = True

    def __init__(self, presentation: str) -> None:
        self.name = presentation

    def system(self, setting: Setting) -> str:
        return setting.script.system

    def tools(self, setting: Setting) -> Sequence[Mapping[str, Any]]:
        return setting.script.tools

    def cap(self, setting: Setting) -> int:
        """None that could be reached: a script ends by itself."""
        return len(setting.script.lines) + 1

    def next(self, setting: Setting, state: State) -> Step | None:
        lines = setting.script.lines
        if state.steps == len(lines):
            return None
        message, answered = lines[state.steps]
        if not answered:
            return Given(message)
        last = state.steps == len(lines) - 1
        return Speak(message.content, tuple(shard.id for shard in setting.shards) if last else (), "script")


MODES: dict[str, Mode] = {
    "full": Mode("full", Full()),
    "concat": Mode("concat", Concat()),
    "shuffle_concat": Mode("shuffle_concat", ShuffleConcat()),
    "sharded": Mode("sharded", Sharded()),
    "recap": Mode("recap", Sharded(), (Recap(),)),
    "snowball": Mode("snowball", Sharded(), (Snowball(),)),
}


def get_mode(label: str, task: Task) -> Mode:
    """The mode of a label such as `sharded`, `gradual:4` or one of the task's presentations; dashes may be underscores.

    Raises `UnknownName` with the close matches.
    """
    name = label.strip().lower().replace("-", "_")
    if name in task.presentations:
        return Mode(name, Scripted(name))
    kind, _, parameter = name.partition(":")
    if kind == "gradual":
        if not parameter.isdigit() or int(parameter) < 2:
            raise ExperimentError("gradual needs a number of shards", got=label, allowed="gradual:2, gradual:3, …")
        return Mode(name, Gradual(int(parameter)))
    if name not in MODES:
        raise UnknownName("mode", label, [*MODES, "gradual:N", *task.presentations])
    return MODES[name]


def suited(mode: Mode, task: Task, instances: Iterable[Instance]) -> list[Instance]:
    """The instances this mode can run on. Raises `ExperimentError` when there is none."""
    policy = mode.policy
    everything = list(instances)
    if not isinstance(policy, Gradual):
        return everything
    fitting = [instance for instance in everything if str(policy.n) in instance.variants]
    if not fitting:
        sizes = sorted({int(n) for instance in everything for n in instance.variants})
        raise ExperimentError(
            f"no instance of task {task.name} has a variant of {policy.n} shards",
            allowed=", ".join(map(str, sizes)) or "no variants in this dataset",
            fix="make variants with `shardtalk shard`",
        )
    return fitting
