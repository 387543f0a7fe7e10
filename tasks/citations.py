"""What a summary is made of, as written by a model: its bullets, and the documents each of them cites.

Source of the form: "Summary of a Haystack" (Laban et al. 2024), one insight a bullet with citations like `[1][4]`. Read
here in all forms models use instead; text that is none of them is simply not a citation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

_BRACKETED = re.compile(r"[\[【]([^\[\]【】]{1,200})[\]】]|\(((?:doc|source)[^()]{1,200})\)", re.IGNORECASE)
_PIECES = re.compile(
    r"(?P<number>\d+)|(?P<dash>[-–—]|\bto\b)|(?P<filler>\s+|[,;&/#^]|\band\b|\b(?:documents?|docs?|sources?)(?![a-z])\.?:?)"
    r"|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_ITEM = re.compile(r"\s*(?:[-*+–—‣◦]|\d{1,3}[.)])\s+|\s*[•·]\s*")
_HEADING = re.compile(r"\s*#{1,6}\s")


class Bullet(NamedTuple):
    """One point of a summary: its text without citation marks, and the documents it cites."""

    text: str
    cited: frozenset[int]


def bullets(summary: str, documents: Collection[int]) -> list[Bullet]:
    """The points of a summary, in order.

    Where lines are marked as items (`-`, `*`, `•`, `1.`) these are the points, each with the unmarked lines that follow it
    up to a blank line; an opening sentence and a closing remark are none. Without any mark every line with words is one.
    """
    points = (Bullet(_without_citations(item, documents), citations(item, documents)) for item in _items(summary))
    return [point for point in points if re.search(r"\w", point.text)]


def citations(text: str, documents: Collection[int]) -> frozenset[int]:
    """The documents a text cites: `[1, 2]`, `[1][2]`, `[1-3]`, `[1; 2]`, `[Document 2]`, `(Document 2)`, `【2】`.

    Only numbers of existing `documents` count: a year in brackets is no citation, and a range must end at documents.
    """
    return frozenset().union(*(_cited(found, documents) for found in _BRACKETED.finditer(text)))


def citation_f1(cited: Collection[int], reference: Collection[int]) -> tuple[float, float, float]:
    """Precision, recall and F1 of cited documents; all 0 where nothing is right."""
    right = len(set(cited) & set(reference))
    if not right:
        return 0.0, 0.0, 0.0
    precision, recall = right / len(set(cited)), right / len(set(reference))
    return precision, recall, 2 * precision * recall / (precision + recall)


def trimmed(points: Sequence[Bullet], limit: int) -> tuple[list[Bullet], float]:
    """The points cut to `limit` words in all, and the share of words that stayed.

    As in the paper each point loses the same share of its end; unlike there a point keeps its citations, which are no
    part of its wording.
    """
    words = sum(len(p.text.split()) for p in points)
    if words <= limit:
        return list(points), 1.0
    share = limit / words
    return [p._replace(text=_first_words(p.text, share)) for p in points], share


def _items(summary: str) -> list[str]:
    lines = summary.splitlines()
    if not any(_ITEM.match(line) for line in lines):
        return [line.strip() for line in lines]
    items: list[str] = []
    inside = False
    for line in lines:
        if mark := _ITEM.match(line):
            items.append(line[mark.end() :].strip())
        elif inside and line.strip() and not _HEADING.match(line):
            items[-1] += " " + line.strip()
            continue
        inside = mark is not None
    return items


def _cited(bracketed: re.Match[str], documents: Collection[int]) -> frozenset[int]:
    ranges = _ranges(bracketed[1] or bracketed[2])
    return frozenset(
        d for low, high in ranges for d in documents if d in (low, high) or (low < d < high and high in documents)
    )


def _ranges(inside: str) -> list[tuple[int, int]]:
    """The numbers (as ranges of one) and ranges between two brackets; none if anything else stands there."""
    ranges: list[tuple[int, int]] = []
    open_range = False
    for piece in _PIECES.finditer(inside):
        match piece.lastgroup:
            case "number" if open_range:
                start, _ = ranges.pop()
                ranges.append((start, _number(piece[0])))
                open_range = False
            case "number":
                ranges.append((_number(piece[0]), _number(piece[0])))
            case "dash" if ranges and not open_range:
                open_range = True
            case "dash" | "other":
                return []
    return [] if open_range else ranges


def _number(digits: str) -> int:
    return int(digits[:9])  # no document has a longer one, and Python refuses to read very long ones


def _without_citations(text: str, documents: Collection[int]) -> str:
    bare = _BRACKETED.sub(lambda found: "" if _cited(found, documents) else found[0], text)
    return re.sub(r"\s+(?=[.,;]|\s|\Z)", "", bare).strip()


def _first_words(text: str, share: float) -> str:
    words = text.split()
    return " ".join(words[: int(len(words) * share)])
