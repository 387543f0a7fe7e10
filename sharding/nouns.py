"""The nouns of sharding: `Pieces` of an instruction, a `Sharding` made of them, an `Objection` to either."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from tasks.nouns import Instance, Shard

#: What a check yields: the id of a shard, or 0 for the whole, and the words at fault.
Found: TypeAlias = Iterator[tuple[int, str]]


class Objection(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a check holds against a sharding: the check's name, the words at fault, the id of the shard (0: the whole)."""

    check: str
    detail: str = ""
    shard: int = 0

    def __str__(self) -> str:
        where = f" (shard {self.shard})" if self.shard else ""
        return f"{self.check}{where}" + (f": {self.detail}" if self.detail else "")


class Pieces(msgspec.Struct, frozen=True):
    """An instruction cut up. `texts`: excerpts in the order of the instruction; `request`: which of them (from 0) asks."""

    instruction: str
    texts: tuple[str, ...]
    request: int


class Sharding(msgspec.Struct, frozen=True):
    """An instruction and its shards, the intent first; `segments`: what each shard was made from, empty where unknown."""

    instruction: str
    shards: tuple[Shard, ...]
    segments: tuple[str, ...] = ()

    @classmethod
    def of(cls, instance: Instance) -> Sharding:
        """The sharding an instance holds."""
        return cls(instance.instruction, instance.shards)

    @property
    def said(self) -> str:
        """All shards together."""
        return "\n".join(shard.text for shard in self.shards)

    def sources(self) -> Iterator[tuple[int, str, str]]:
        """What has to be said where: (shard id, source, what is said for it); without segments all of it somewhere."""
        if self.segments:
            for shard, segment in zip(self.shards, self.segments, strict=True):
                yield shard.id, segment, shard.text
        else:
            yield 0, self.instruction, self.said
