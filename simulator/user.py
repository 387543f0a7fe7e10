"""The simulated user: what it knows (`View`), what it says next (`Utterance`), and the policies that decide it.

Source: "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025), section 3.2 and App. D: a lazy user who reveals at
most one shard a turn. The graph itself says the first shard as it stands; a policy speaks from the second turn on.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

import msgspec

from tasks.nouns import Ask, Instance, Message, Shard


class View(msgspec.Struct, frozen=True):
    """What a user knows when it is its turn.

    Attributes:
        said: the conversation without the system text, the user's own texts as the user said them (before any intervention).
        revealed, unrevealed: the instance's shards in its own order; a policy is only asked while something is unrevealed.
    """

    instance: Instance
    said: tuple[Message, ...]
    revealed: tuple[Shard, ...]
    unrevealed: tuple[Shard, ...]


class Utterance(msgspec.Struct, frozen=True):
    """What the user says.

    Attributes:
        revealed: id of the shard it reveals, or None.
        said_by: `verbatim` (the policy of that name), `llm`, or `fallback` (the model broke the rules, so the
            shard was said as written).
        violations: what the guard objected to in the drafts, in order.
    """

    text: str
    revealed: int | None
    said_by: str
    violations: tuple[str, ...] = ()


class User(Protocol):
    """A policy of what to say next.

    Attributes:
        name: as in `--user`. `needs_model`: it calls `ask`. `prompts`: templates it uses, part of a run's identity.
    """

    name: ClassVar[str]
    needs_model: ClassVar[bool]
    prompts: ClassVar[tuple[str, ...]]

    async def speak(self, view: View, ask: Ask) -> Utterance:
        """The next utterance; it reveals at most one shard."""
        ...


class VerbatimUser:
    """Says the next unrevealed shard, in order and as written."""

    name: ClassVar[str] = "verbatim"
    needs_model: ClassVar[bool] = False
    prompts: ClassVar[tuple[str, ...]] = ()

    async def speak(self, view: View, ask: Ask) -> Utterance:
        shard = view.unrevealed[0]
        return Utterance(shard.text, shard.id, said_by=self.name)


USERS: dict[str, User] = {"verbatim": VerbatimUser()}
