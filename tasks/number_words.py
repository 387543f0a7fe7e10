"""Whole numbers and simple fractions written as English words: `forty-two`, `two hundred and five`, `three quarters`."""

from __future__ import annotations

import re
from fractions import Fraction

UNITS: dict[str, int] = {
    "zero": 0,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "thirteen": 13,
    "fourteen": 14,
    "fifteen": 15,
    "sixteen": 16,
    "seventeen": 17,
    "eighteen": 18,
    "nineteen": 19,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
}
SCALES: dict[str, int] = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9}
PARTS: dict[str, int] = {
    "half": 2,
    "halves": 2,
    "third": 3,
    "quarter": 4,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "eighth": 8,
    "tenth": 10,
}

_SIGNS = {"minus", "negative"}


def read_words(text: str) -> Fraction | None:
    """The number a text spells out, if it spells out one number and nothing else; None otherwise.

    `a` counts as one before a scale or a part (`a hundred`, `a half`). Mixed numbers join by `and` (`two and a half`).
    """
    words = re.findall(r"[a-z]+|\S", text.lower().replace("-", " "))
    if words and words[0] in _SIGNS:
        value = read_words(" ".join(words[1:]))
        return None if value is None else -value
    whole, _, part = " ".join(words).rpartition(" and ")
    if (fraction := _fraction(part.split())) is not None:
        before = _whole(whole.split()) if whole else 0
        return None if before is None else before + fraction
    number = _whole(words)
    return None if number is None else Fraction(number)


def _fraction(words: list[str]) -> Fraction | None:
    if not words:
        return None
    below = PARTS.get(words[-1]) or PARTS.get(words[-1].removesuffix("s"))
    above = 1 if words[:-1] in ([], ["a"]) else _whole(words[:-1])
    return Fraction(above, below) if below and above is not None else None


def _whole(words: list[str]) -> int | None:
    """Value of `two hundred and five thousand ...`: units add, hundred multiplies, greater scales close a group."""
    total, group = 0, None
    for position, word in enumerate(words):
        if word in UNITS and _fits(group, UNITS[word]):
            group = (group or 0) + UNITS[word]
        elif word in ("a", "an") and group is None and position + 1 < len(words):
            group = 1
        elif word == "hundred" and group and group < 100:
            group *= 100
        elif SCALES.get(word, 0) > 100 and group and (not total or SCALES[word] * group < total):
            total, group = total + group * SCALES[word], None
        elif word != "and" or position in (0, len(words) - 1):
            return None
    return total + group if group is not None else (total or None)


def _fits(group: int | None, unit: int) -> bool:
    """Whether a unit may follow: a digit after tens, anything below 100 after hundreds, nothing after a digit."""
    if group is None:
        return True
    return group > 0 and (group % 100 == 0 or (unit < 10 and unit > 0 and group % 100 >= 20 and group % 10 == 0))
