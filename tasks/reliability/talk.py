"""What goes on in a conversation beside its matter: how long it is, chit-chat, other people, a change of mind."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple, TypeVar

from tasks.reliability.presentations import Exchange
from tasks.reliability.words import small_talk

T = TypeVar("T")

#: Turns of the user in a conversation, the first and the last included.
SHORTEST, LONGEST = 5, 15


class Scenario(NamedTuple):
    """Turns of the user, and what happens in them, in any combination.

    Attributes:
        change: the user changes their mind. `chat`: says things that ask for nothing. `others`: speaks of what others want.
    """

    turns: int
    change: bool
    chat: bool
    others: bool

    @property
    def strata(self) -> dict[str, str | int | float]:
        """For breakdowns: flags as `yes` and `no`."""
        flags = {"change": self.change, "chat": self.chat, "others": self.others}
        return {"turns": self.turns, **{name: "yes" if flag else "no" for name, flag in flags.items()}}


def scenario(index: int) -> Scenario:
    """The scenario of instance `index` of a series: in 88 instances every length meets every combination of flags once."""
    return Scenario(
        turns=SHORTEST + index % (LONGEST - SHORTEST + 1),
        change=index % 2 == 1,
        chat=index // 2 % 2 == 1,
        others=index // 4 % 2 == 1,
    )


def chatter(n: int, rng: Random) -> list[Exchange]:
    """Different things people say that ask for nothing, with a fitting answer."""
    return [Exchange(*pair) for pair in rng.sample(small_talk().chat, n)]


def weave(ordered: Sequence[T], loose: Sequence[T], rng: Random) -> list[T]:
    """What has an order, with what has none put in anywhere between the first and the last."""
    places = sorted(rng.randrange(1, len(ordered)) for _ in loose)
    woven: list[T] = []
    for position, item in enumerate(ordered):
        woven += [inserted for place, inserted in zip(places, loose, strict=True) if place == position]
        woven.append(item)
    return woven
