"""How near an answer is to the truth, as published for BOULDER, and the stricter measures kept beside it."""

from __future__ import annotations

from collections.abc import Collection
from decimal import ROUND_HALF_EVEN, Decimal

import msgspec


class Overlap(msgspec.Struct, frozen=True):
    """Of a set of names against the true one, each in [0, 1]."""

    precision: float
    recall: float
    f1: float


def overlap(answer: Collection[str], truth: Collection[str]) -> Overlap:
    """Nothing named where nothing is true is all right; naming nothing where something is true is all wrong."""
    named, true = set(answer), set(truth)
    if not named and not true:
        return Overlap(1.0, 1.0, 1.0)
    hits = len(named & true)
    precision = hits / len(named) if named else 0.0
    recall = hits / len(true) if true else 0.0
    return Overlap(precision, recall, 2 * hits / (len(named) + len(true)))


def closeness(error: float, half_at: float) -> float:
    """1 / (1 + error / half_at): 1 for no error, one half at an error of `half_at`, in the same unit."""
    return 1 / (1 + abs(error) / half_at)


def rounded(amount: Decimal) -> int:
    """To a whole number; exactly half-way goes to the even neighbour, as published."""
    return int(amount.quantize(Decimal(1), rounding=ROUND_HALF_EVEN))
