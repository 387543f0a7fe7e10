"""GRADUAL: the same instruction in fewer shards (paper, section 6.3 and App. K), to draw performance by number of shards.

The paper has a model merge them. Here neighbours are said in one breath, word for word: nothing can be lost or added, and it
costs nothing. The first shard stays the intent alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from sharding.checks import check
from sharding.nouns import Sharding
from tasks.nouns import Shard


def variants(sharding: Sharding) -> dict[str, tuple[Shard, ...]]:
    """Number of shards -> shards, for 2 … n − 1 of them; those the checks have more against than against all n are left out."""
    known = {objection.check for objection in check(sharding)} | {"count"}
    made = {n: merged(sharding.shards, n) for n in range(2, len(sharding.shards))}
    return {
        str(n): shards
        for n, shards in made.items()
        if {objection.check for objection in check(Sharding(sharding.instruction, shards))} <= known
    }


def merged(shards: Sequence[Shard], n: int) -> tuple[Shard, ...]:
    """`n` shards (2 or more): those after the first in runs of neighbours, as equal in number as can be."""
    first, *rest = shards
    size, larger = divmod(len(rest), n - 1)
    texts, at = [first.text], 0
    for number in range(n - 1):
        end = at + size + (number < larger)
        texts.append(" ".join(_closed(shard.text) for shard in rest[at:end]))
        at = end
    return tuple(Shard(number, text) for number, text in enumerate(texts, 1))


def _closed(text: str) -> str:
    return text if text.rstrip().endswith((".", "!", "?", '"', "'")) else text.rstrip() + "."
