"""Interventions: middleware around the conversation. RECAP and SNOWBALL (paper, appendix M) are written with the same hooks
that a user's own class has.

Write a subclass of `Intervention`, override what you need, and name it on the command line:
`--intervention package.module:Name`. An intervention object is shared by all conversations, so it keeps nothing itself:
`talk.memory` is a dict of its own for each conversation. `NAME@K` acts from turn K on: the turns before are those of the
conversation without it, paid once.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import ClassVar, TypeAlias

from simulator.conversation import Talk
from simulator.errors import ExperimentError
from simulator.record import Judgement
from tasks.nouns import Instance, Message, Reply
from tasks.prompts import prompt

#: Asks the assistant with these messages; what `generate` wraps. May be called more than once.
Generate: TypeAlias = Callable[[Sequence[Message]], Awaitable[Reply]]


class Intervention:
    """Hooks, all optional, in the order a conversation meets them.

    Attributes:
        name: what frames and tables call it. `prompts`: its templates as (package, name), part of the identity of a run.
        continues: it only speaks `at_end`, so its conversation is that without it, continued: the shared part is paid once.
        logprobs: ask the assistant for the log probabilities of its tokens.
        first_turn: the first one it acts on (`NAME@K`). From the second on, what begins a conversation (`prepare`, `system`) is
            not asked.
    """

    name: ClassVar[str] = ""
    prompts: ClassVar[tuple[tuple[str, str], ...]] = ()
    continues: ClassVar[bool] = False
    logprobs: ClassVar[bool] = False
    first_turn: int = 1

    def prepare(self, instance: Instance) -> Instance:
        """Another form of the instance: other shards, another order. Its id stays."""
        return instance

    def system(self, text: str, talk: Talk) -> str:
        """The system text."""
        return text

    def say(self, text: str, talk: Talk) -> str:
        """What the user says, before it is sent; `talk.utterances` are the earlier ones as they were first said."""
        return text

    async def context(self, messages: Sequence[Message], talk: Talk) -> Sequence[Message]:
        """What the assistant sees instead of the transcript: replace, append, filter, or ask a model."""
        return messages

    async def generate(self, call: Generate, messages: Sequence[Message], talk: Talk) -> Reply:
        """The assistant's call itself: look at the reply and ask again, perhaps with other messages."""
        return await call(messages)

    async def after_reply(self, reply: Reply, talk: Talk) -> None:
        """The assistant has answered; nobody has judged it yet."""

    async def after_judgement(self, judgement: Judgement, talk: Talk) -> str | None:
        """A user turn to put in that reveals nothing, or None."""
        return None

    async def at_end(self, talk: Talk) -> str | None:
        """One last user turn, when nothing is left to say or the conversation was solved; or None."""
        return None

    @classmethod
    def identity(cls) -> str:
        """Name, and a digest of the code and prompts behind it: a changed intervention is another experiment."""
        try:
            source = inspect.getsource(cls)
        except (OSError, TypeError):
            source = cls.__qualname__
        texts = [prompt(*where).text for where in cls.prompts]
        return f"{cls.name}@{hashlib.sha256(''.join([source, *texts]).encode()).hexdigest()[:12]}"


class Recap(Intervention):
    """One more user turn after a SHARDED conversation that restates all of it; its score is that of the reply alone."""

    name = "recap"
    prompts = (("simulator", "recap"),)
    continues = True

    async def at_end(self, talk: Talk) -> str | None:
        said = [*talk.utterances, *(shard.text for shard in talk.unrevealed)]
        return prompt("simulator", "recap").fill(said=bullets(said))


class Snowball(Intervention):
    """Every user turn from the second on first restates what the user said before."""

    name = "snowball"
    prompts = (("simulator", "snowball"),)

    def say(self, text: str, talk: Talk) -> str:
        if not talk.utterances:
            return text
        return prompt("simulator", "snowball").fill(said=bullets(talk.utterances), new=text)


def label(intervention: Intervention) -> str:
    """What frames and tables call it: its name, and the turn it begins at where that is not the first."""
    begins = intervention.first_turn
    return intervention.name if begins == 1 else f"{intervention.name}@{begins}"


def bullets(lines: Sequence[str]) -> str:
    """One line a bullet."""
    return "\n".join(f"- {line}" for line in lines)


INTERVENTIONS: dict[str, type[Intervention]] = {"recap": Recap, "snowball": Snowball}


def get_interventions(spec: str) -> tuple[Intervention, ...]:
    """The interventions of one arm: `none`, a name, `package.module:Name`, or several joined by `+`; each may have its `@K`.

    Raises `ExperimentError` when it cannot be imported or is no intervention.
    """
    return tuple(_made(name.strip()) for name in spec.split("+") if name.strip() and name.strip() != "none")


def _made(spec: str) -> Intervention:
    name, at, turn = spec.partition("@")
    intervention = _load(name)()
    if at:
        if not turn.isdecimal() or int(turn) < 2:
            raise ExperimentError("this is no turn to begin at", got=spec, allowed=f"{name}@2, {name}@3, …")
        intervention.first_turn = int(turn)
    return intervention


def _load(name: str) -> type[Intervention]:
    if name in INTERVENTIONS:
        return INTERVENTIONS[name]
    module, _, attribute = name.partition(":")
    allowed = f"none, {', '.join(INTERVENTIONS)}, or package.module:Name"
    if not attribute:
        raise ExperimentError("there is no such intervention", got=name, allowed=allowed)
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ExperimentError(f"the intervention cannot be imported: {error}", got=name, allowed=allowed) from error
    if not (isinstance(found, type) and issubclass(found, Intervention)):
        raise ExperimentError("this is no subclass of simulator.interventions.Intervention", got=name, allowed=allowed)
    if not found.name:
        found.name = name
    return found
