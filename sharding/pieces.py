"""Cutting an instruction into exact excerpts, and the checks of such a cut: copied, apart, complete, with one request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from sharding.nouns import Objection, Pieces
from simulator.wording import numbers

Span: TypeAlias = tuple[int, int]

#: How many pieces, and so shards, an instruction is cut into; the paper drops what has fewer than three.
FEWEST, MOST = 3, 10
#: Words between two pieces that may be left out: they only link. Anything else that is uncovered is named.
_LINKING = "and but or so then if when while with who which that also because since as for yet"
LINKING = frozenset(_LINKING.split())


def cut(instruction: str, excerpts: Sequence[str], request: int) -> tuple[Pieces, list[Objection]]:
    """The pieces in the instruction's own letters and order, and what speaks against the cut.

    Args:
        excerpts: as they were written; their spaces, letter case and the stop at their end may differ.
        request: which of them asks, from 0; where there is no such one, it is the only one with a question mark.
    """
    spans: dict[int, Span] = {}
    objections: list[Objection] = []
    for number, excerpt in enumerate(excerpts):
        places = list(_places(instruction, excerpt))
        free = [place for place in places if not any(_overlap(place, span) for span in spans.values())]
        if free:
            spans[number] = free[0]
        else:
            objections.append(Objection("overlap" if places else "not_copied", excerpt))
    order = sorted(spans, key=spans.__getitem__)
    cuts = [spans[number] for number in order]
    asks = order.index(request) if request in order else _only_question(instruction, cuts)
    pieces = Pieces(instruction, tuple(instruction[start:end] for start, end in cuts), asks)
    left = list(_uncovered(instruction, cuts))
    return pieces, [*objections, *left, *_request(pieces, lost=bool(objections)), *_count(pieces)]


def _places(instruction: str, excerpt: str) -> Iterator[Span]:
    """Where an excerpt stands, in its own letters first: what is cut out is the instruction's own text in any case."""
    words = excerpt.rstrip(",.; ").split()
    if not words:
        return
    pattern = r"\s+".join(map(re.escape, words))
    exact = [found.span() for found in re.finditer(pattern, instruction)]
    yield from exact or (found.span() for found in re.finditer(pattern, instruction, re.IGNORECASE))


def _only_question(instruction: str, spans: Sequence[Span]) -> int:
    asking = [number for number, (start, end) in enumerate(spans) if "?" in instruction[start : end + 1]]
    return asking[0] if len(asking) == 1 else -1


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _uncovered(instruction: str, spans: Sequence[Span]) -> Iterator[Objection]:
    """What lies between the pieces, delimiters and linking words aside."""
    edges = [0, *(edge for span in spans for edge in span), len(instruction)]
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        gap = instruction[start:end]
        if any(word.lower() not in LINKING for word in re.findall(r"[^\W_]+", gap)):
            yield Objection("uncovered", gap.strip(" \n,;."))


def _request(pieces: Pieces, *, lost: bool) -> Iterator[Objection]:
    if not 0 <= pieces.request < len(pieces.texts):
        if not lost:
            yield Objection("no_request")
    elif told := [number.written for number in numbers(pieces.texts[pieces.request]) if number.firm]:
        yield Objection("request_number", ", ".join(told))


def _count(pieces: Pieces) -> Iterator[Objection]:
    if not FEWEST <= len(pieces.texts) <= MOST:
        yield Objection("pieces", str(len(pieces.texts)))


#: Each objection as a sentence to the model; those of `checks` have theirs there.
ADVICE: dict[str, str] = {
    "not_copied": "This is no exact copy of a part of the instruction: {detail}",
    "overlap": "This overlaps another piece: {detail}",
    "uncovered": "No piece holds this part of the instruction: {detail}",
    "no_request": "No piece has the number that was given for the request.",
    "request_number": "The request holds the number {detail}; cut it off into a piece of its own.",
    "wrong_pieces": "Each piece has to be worded once, the request first: {detail}.",
    "incomplete": "The messages lose or change something: {detail}",
    "pieces": f"There must be {FEWEST} to {MOST} pieces, not {{detail}}.",
}
