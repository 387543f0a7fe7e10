"""What one text leaves out of another, kind by kind: numbers, units, quoted strings, and that something is denied.

The guard holds a simulated user's words against a shard with it, the sharder a shard against the instruction, both ways round.
"""

from __future__ import annotations

from simulator.wording import (
    denies,
    may_negate,
    numbers,
    plain,
    quoted,
    units,
    units_of_numbers,
    values,
)


def numbers_left_out(own: str, said: str) -> list[str]:
    """Numbers that `own` writes as numbers and `said` does not hold by value, as written."""
    heard = values(said)
    return [number.written for number in numbers(own) if number.firm and number.value not in heard]


def units_left_out(own: str, said: str) -> list[str]:
    """Units that stand beside a number in `own` and nowhere in `said`."""
    return sorted(units_of_numbers(own) - units(said))


def quotes_left_out(own: str, said: str) -> list[str]:
    """Quoted strings of `own` that `said` does not hold letter by letter; spaces may differ."""
    heard = " ".join(plain(said).split())
    return [string for string in sorted(quoted(own)) if " ".join(string.split()) not in heard]


def denies_alone(own: str, said: str) -> bool:
    """Whether `own` denies something and `said` in no way does."""
    return denies(own) and not may_negate(said)
