"""What an LLM user wants to say (`Draft`), and what it may choose from."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from tasks.nouns import Message, Shard

Found = TypeVar("Found")

#: The id a user gives when it reveals nothing.
NOTHING = -1


class Draft(msgspec.Struct, frozen=True):
    """A text an LLM user wants to say, and all that decides whether it may.

    Attributes:
        shard: what it claims to reveal, None for nothing.
        others: the shards it must not reveal: all unrevealed ones but `shard`.
        revealed: the shards said before.
        said: the conversation so far, without the system text.
        answer: the right answer as text, which no user knows; empty where there is no such text.
    """

    text: str
    shard: Shard | None
    others: tuple[Shard, ...] = ()
    revealed: tuple[Shard, ...] = ()
    said: tuple[Message, ...] = ()
    answer: str = ""

    @property
    def own(self) -> str:
        """The text of the shard, empty for nothing."""
        return self.shard.text if self.shard else ""

    @property
    def known(self) -> tuple[str, ...]:
        """All the user has a right to say: the shard, what it revealed and what it said before."""
        return (self.own, *(shard.text for shard in self.revealed), *self.utterances)

    def knows(self, read: Callable[[str], frozenset[Found]]) -> frozenset[Found]:
        """What `read` finds in all the user has a right to say, text by text, so that each is only read once."""
        return frozenset[Found]().union(*map(read, self.known))

    @property
    def utterances(self) -> list[str]:
        """What the user said before."""
        return [message.content for message in self.said if message.role == "user"]

    @property
    def replies(self) -> list[str]:
        """What the assistant said."""
        return [message.content for message in self.said if message.role == "assistant"]


def chosen(shard_id: object, unrevealed: Sequence[Shard]) -> Shard | None:
    """The shard an id stands for; None for the id that reveals nothing. `"2"` and `2.0` are 2.

    Raises:
        LookupError: an id that is not there to be revealed: invented, revealed before, or no id at all.
    """
    number = _as_int(shard_id)
    if number == NOTHING:
        return None
    for shard in unrevealed:
        if shard.id == number:
            return shard
    raise LookupError(shard_id)


def _as_int(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,9}\s*", value):
        return int(value)
    return value if isinstance(value, int) else None


def longest(shard: int) -> int:
    """How many characters a text may have that says a shard of so many."""
    return 2 * shard + 160


_REQUEST = re.compile(
    r"\?|\b(?:please|let me know|need|provide|clarify|specify|tell me|missing|could you|can you)\b", re.IGNORECASE
)


def was_asked(said: Sequence[Message]) -> bool:
    """Whether the assistant's last words ask for something, so that "I don't know" is a reply."""
    return bool(said) and said[-1].role == "assistant" and _REQUEST.search(said[-1].content) is not None
