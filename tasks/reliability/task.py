"""What the three tasks have in common: instances are generated, presented in the same ways, and scored on the last reply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, ClassVar

import msgspec

from tasks.nouns import Instance, Script, Shard
from tasks.prompts import prompt
from tasks.reliability.presentations import Exchange, Presentation, lines
from tasks.reliability.talk import Scenario, scenario
from tasks.rows import Row
from tasks.task import Task

#: How often an instance is drawn again if its single message has been used.
TRIES = 50


class Case(msgspec.Struct, frozen=True):
    """What every instance carries in `data`: the single message, and the conversation that says the same."""

    single: str
    dialogue: list[Exchange]


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """A problem drawn for a scenario. `shards`: the texts of the single message's pieces, the intent first."""

    single: str
    dialogue: Sequence[Exchange]
    shards: Sequence[str]
    target: Any
    facts: dict[str, Any]
    strata: dict[str, str | int | float]
    data: dict[str, Any] = {}


class ReliabilityTask(Task):
    """Base of the three tasks.

    Attributes:
        ways: the task's presentations.
    """

    ways: ClassVar[Mapping[str, Presentation]]
    temperature = 0.0
    modes = ("single", "multi")
    scored_on_last_turn = True
    extraction = "rules"

    def draw(self, wanted: Scenario, rng: Random) -> Drawn:
        """One problem, in a conversation of exactly `wanted.turns` turns of the user."""
        raise NotImplementedError

    # -- instances ------------------------------------------------------------------------------------------------

    def generate(self, n: int, seed: int) -> Iterator[Instance]:
        """Fresh instances, no two alike; the first of a longer series are those of a shorter one."""
        seen = set[str]()
        for index in range(n):
            wanted = scenario(index)
            tries = (self.draw(wanted, Random(f"{self.name} {seed} {index} {attempt}")) for attempt in range(TRIES))
            drawn = next((drawn for drawn in tries if drawn.single not in seen), None)
            if drawn is None:  # all single messages have been used: the conversation at least is another
                drawn = self.draw(wanted, Random(f"{self.name} {seed} {index}"))
            seen.add(drawn.single)
            yield self._instance(f"{self.name.removeprefix('reliability-')}-{seed}-{index:04d}", drawn, wanted)

    def _instance(self, id: str, drawn: Drawn, wanted: Scenario) -> Instance:
        return Instance(
            id=id,
            task=self.name,
            shards=tuple(Shard(number, text) for number, text in enumerate(drawn.shards, 1)),
            instruction=drawn.single,
            target=drawn.target,
            facts=drawn.facts,
            strata=wanted.strata | drawn.strata,
            data=msgspec.to_builtins(Case(drawn.single, list(drawn.dialogue))) | drawn.data,
        )

    def read_row(self, row: Row) -> Instance:
        """The published instances were never released, so there is no form of them to read."""
        raise row.error("instruction", "no such field", "instances made by `shardtalk tasks generate`", what="missing")

    def check(self, instance: Instance, row: Row) -> None:
        """A single message, a conversation, and a target of the task's form."""
        case = self._checked(instance, row)
        if not case.dialogue:
            raise row.error("data.dialogue", [], "at least one exchange")
        if not self.is_target(instance.target):
            raise row.error("target", instance.target, self.answer_form)

    def _checked(self, instance: Instance, row: Row) -> Case:
        try:
            return case_of(instance)
        except msgspec.ValidationError as error:
            raise row.error(
                "data", str(error), '{"single": text, "dialogue": [{"user": text, "assistant": text}, …]}'
            ) from error

    def is_target(self, target: Any) -> bool:
        """Whether a target can be scored."""
        raise NotImplementedError

    # -- wording --------------------------------------------------------------------------------------------------

    def full(self, instance: Instance) -> str:
        """The single message, as in the presentation `single`."""
        return instance.instruction

    def concat(self, instance: Instance, shards: Sequence[Shard]) -> str:
        """The shards as bullets."""
        return prompt("tasks", "reliability/concat").fill(shards="\n".join(f"- {shard.text}" for shard in shards))

    def script(self, instance: Instance, presentation: str) -> Script:
        """One of the task's ways, with the system text that all of them share."""
        case = case_of(instance)
        return Script(self.system(instance), lines(self.ways[presentation], case.single, case.dialogue))


def case_of(instance: Instance) -> Case:
    """The messages of an instance."""
    return msgspec.convert(instance.data, Case)
