"""What the eight travel problems have in common: each is a task of its own, with its own form of answer.

A problem says how an instance is drawn from a town (`draw`); everything else happens here: instances are generated, put into
words, presented, their functions carried out, their answers found, read and scored. No instance needs anything but itself and
the town, which is made again from its seed and checked against its content hash.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from tasks.errors import DatasetError, PromptError
from tasks.nouns import Ask, Instance, Message, Score, Script, Shard, ToolCall
from tasks.prompts import prompt
from tasks.rows import Row
from tasks.task import Task
from tasks.travel.answers.form import Form, Frame
from tasks.travel.building import build_town
from tasks.travel.clock import clock, written
from tasks.travel.presentations import PRESENTATIONS, SHARED_PROMPTS, Telling, write_out
from tasks.travel.tools import result_message
from tasks.travel.town import Size, Town
from tasks.travel.wording import Wording, bullets, variants, wording

#: Instances that share a town; how often a draw is tried before a town is given up.
PER_TOWN, TRIES = 500, 2000


class Reference(msgspec.Struct, frozen=True):
    """A town by its seed, and the content hash it had when the instance was made."""

    seed: str
    size: Size
    digest: str


class Case(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an instance carries in `data`.

    Attributes:
        now: date and time of the conversation, in words. `slots`: the words of the template, `variant`: which of its dialogues.
    """

    town: Reference
    now: str
    slots: dict[str, str]
    variant: int
    frame: Frame = Frame()


class Drawn(msgspec.Struct, frozen=True):
    """A problem drawn from a town: its latent values, its true answer, and the words of the template."""

    facts: dict[str, Any]
    target: Any
    slots: dict[str, str]
    strata: dict[str, str | int | float]
    frame: Frame = Frame()


class TravelTask(Task):
    """Base of the eight problems.

    Attributes:
        form: the form of the answer. `domains`: what the problem is about, of `tools.DOMAINS`.
    """

    form: ClassVar[Form]
    domains: ClassVar[tuple[str, ...]]
    temperature = 0.0
    max_tokens = 2048
    modes = ("isolated", "dialogue", "dialogue_concise")
    presentations = tuple(PRESENTATIONS)
    compare_to = {name: each.compare_to for name, each in PRESENTATIONS.items() if each.compare_to}
    embedded = Path(__file__).parents[1] / "data" / "travel.jsonl"

    def draw(self, town: Town, today: date, rng: random.Random) -> Drawn | None:
        """One problem about a town, or None if this try makes no good one. Its truth is computed here."""
        raise NotImplementedError

    @classmethod
    def problem(cls) -> str:
        """The name of the problem's template."""
        return cls.name.removeprefix("travel-")

    # -- instances ------------------------------------------------------------------------------------------------

    def generate(self, n: int, seed: int) -> Iterator[Instance]:
        """Fresh problems, a new town every 500. Instances of the eight problems with the same seed share their towns."""
        for index in range(n):
            yield self._instance(str(seed), index)

    def read_row(self, row: Row) -> Instance:
        """There is no published sharded form of these problems."""
        raise row.error("instruction", "no such field", "instances made by `shardtalk tasks generate`", what="missing")

    def check(self, instance: Instance, row: Row) -> None:
        """The instance is whole, and its town is still the one it was made from."""
        try:
            case = msgspec.convert(instance.data, Case)
        except msgspec.ValidationError as error:
            raise row.error("data", str(error), "the data of a generated travel instance") from error
        made = reference(case.town.seed, case.town.size)
        if made != case.town:
            raise row.error(
                "data.town",
                case.town.digest,
                f"{made.digest}, the town this version makes; generate the instances anew",
            )
        try:
            self._words(case)
        except (PromptError, KeyError) as error:
            raise row.error("data.slots", str(error), f"the words of the template travel/{self.problem()}") from error
        if not self.form.fits(instance.target, case.frame):
            raise row.error("target", instance.target, self.answer_form)

    def _instance(self, seed: str, index: int) -> Instance:
        town = reference(f"{seed}/{index // PER_TOWN}", Size())
        rng = random.Random(f"{seed}/{self.name}/{index}")
        today = date(2025, 1, 1) + timedelta(rng.randrange(365))
        now = f"{clock(rng.randrange(24 * 60))} on {written(today)}"
        drawn = self._drawn(build_town(town.seed, town.size), today, rng)
        case = Case(town, now, drawn.slots, rng.randint(1, variants(self.problem())), drawn.frame)
        words = self._words(case)
        return Instance(
            id=f"{self.problem()}-{seed}-{index:04d}",
            task=self.name,
            shards=words.shards,
            instruction=_whole(words),
            target=drawn.target,
            facts=_as_read(drawn.facts),
            strata=drawn.strata,
            data=_as_read(case),
        )

    def _drawn(self, town: Town, today: date, rng: random.Random) -> Drawn:
        for _ in range(TRIES):
            if drawn := self.draw(town, today, rng):
                return drawn
        raise DatasetError(f"{self.name}: the town {town.seed} is too small for this problem", fix="make a larger town")

    def _words(self, case: Case) -> Wording:
        return wording(self.problem(), case.slots, case.variant)

    # -- wording --------------------------------------------------------------------------------------------------

    def system(self, instance: Instance) -> str:
        """A neutral role, equal in all the general modes; presentations have system texts of their own."""
        return prompt("tasks", "travel/system").fill()

    def full(self, instance: Instance) -> str:
        """The question with all the facts in prose."""
        return instance.instruction

    def concat(self, instance: Instance, shards: Sequence[Shard]) -> str:
        """The shards as bullets."""
        return prompt("tasks", "travel/concat").fill(shards=bullets([shard.text for shard in shards]))

    def script(self, instance: Instance, presentation: str) -> Script:
        """One of `PRESENTATIONS`, with the results that the dialogue's function calls have in the town."""
        case = _case(instance)
        telling = Telling(build_town(case.town.seed, case.town.size), self._words(case), self.domains, case.now)
        return write_out(PRESENTATIONS[presentation], telling)

    async def use_tool(self, instance: Instance, call: ToolCall) -> Message:
        """The call carried out against the instance's town."""
        town = _case(instance).town
        return result_message(build_town(town.seed, town.size), call)

    # -- answers --------------------------------------------------------------------------------------------------

    async def extract(self, reply: str, instance: Instance) -> str | None:
        """The part of the reply that is its answer; None for a reply that gives none, which is not the same as a wrong one."""
        return self.form.find(reply, self.frame(instance))

    async def score(self, answer: str, instance: Instance, ask: Ask | None = None) -> Score:
        """The published metric of the problem; stricter ones in the details."""
        frame = self.frame(instance)
        value = self.form.read(answer, frame)
        if value is None:
            return Score(0.0, False, "unreadable" if answer.strip() else "no_answer")
        return self.form.measure(value, instance.target, frame)

    def frame(self, instance: Instance) -> Frame:
        """What the instance says about its answers: the closed list they come from, where there is one."""
        return _case(instance).frame

    # -- trust ----------------------------------------------------------------------------------------------------

    def right_answer(self, instance: Instance) -> str:
        """The target in a sentence."""
        return self.form.say(instance.target)

    def wrong_answer(self, instance: Instance) -> str:
        """Another answer of the same form, in the same sentence."""
        return self.form.say(self.form.spoil(instance.target, self.frame(instance)))


def templates(*own: str) -> tuple[str, ...]:
    """The names of the templates a problem uses."""
    return tuple(f"travel/{name}" for name in (*SHARED_PROMPTS, *own))


@lru_cache(maxsize=64)
def reference(seed: str, size: Size) -> Reference:
    """The town of a seed, with its content hash."""
    return Reference(seed, size, build_town(seed, size).digest())


def _case(instance: Instance) -> Case:
    return msgspec.convert(instance.data, Case)


def _as_read(value: Any) -> dict[str, Any]:
    """A value as it is when read back from a file, so that an instance equals itself."""
    return dict(msgspec.json.decode(msgspec.json.encode(value)))


def _whole(words: Wording) -> str:
    """The fully specified instruction."""
    known = "\n".join(filter(None, (words.rules, words.facts)))
    return prompt("tasks", "travel/full").fill(question=words.question, known=known)
