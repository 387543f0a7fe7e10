"""How numbers are written, in one pattern, and what each of them is worth.

Knows digits, signs, thousands, decimals, fractions, LaTeX, currency, percent and powers of ten; which number of a text
matters is the business of `tasks/numbers.py`. Exact throughout (`Fraction`), and nothing is evaluated.
"""

from __future__ import annotations

import re
from fractions import Fraction

from tasks.number_words import SCALES

#: Longer numbers are not read: model text is hostile, and 1e999999999 would be computed exactly.
MAX_LENGTH = 60

_DECIMAL = r"(?>[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"

#: One number in text that went through `plain`.
NUMBER = re.compile(
    rf"""
    (?<![A-Za-z0-9_.]) (?<![0-9][,:])                    # not the rest of a word, a number or a time of day
    (?P<minus>(?<![)\]}}%]) (?<![0-9)\]}}%]\s) - | \b(?:minus|negative)\s)?
    [$€£¥]?\s?
    (?P<inner_minus>(?<=[$€£¥])-)?
    (?>
        (?:(?P<units>[0-9]+)\s?)? \\frac\s?\{{\s?(?P<top>{_DECIMAL})\s?\}}\s?\{{\s?(?P<bottom>{_DECIMAL})\s?\}}
      | (?:(?P<units2>[0-9]+)\s(?:and\s)?)? (?P<top2>{_DECIMAL})\s?/\s?(?P<bottom2>{_DECIMAL})
      | (?P<decimal>{_DECIMAL})
        (?>e(?P<power>[-+]?[0-9]+) | \s?(?:[x×*]|\\times|\\cdot)\s?10\s?\^\s?\{{?(?P<power2>-?[0-9]+)\}}?)?
    )
    (?![:,]?[0-9] | (?:st|nd|rd|th)\b)
    (?:\s?(?P<scale>hundred|thousand|million|billion)\b)?
    %?
    """,
    re.VERBOSE | re.IGNORECASE,
)

_VULGAR = dict(zip("½⅓⅔¼¾⅕⅛⅜⅝⅞", ("1/2", "1/3", "2/3", "1/4", "3/4", "1/5", "1/8", "3/8", "5/8", "7/8"), strict=True))

#: Many ways of writing a sign, made one: minus signs, fraction bars, LaTeX escapes, thousands, vulgar fractions.
_ONE_WAY = (
    (re.compile("[\u2212\u2012\u2013\ufe63\uff0d]"), "-"),
    (re.compile("[\u2044\u2215]"), "/"),
    (re.compile(r"\\([$%])"), r"\1"),
    (re.compile(r"\\[dtc]frac"), r"\\frac"),
    (re.compile(r"(?<=[0-9])(?:\{,\}|\\,|\\!|,\\!)(?=[0-9]{3})"), ","),
    (re.compile("(?<=[0-9])[\u00a0\u2009\u202f](?=[0-9]{3})"), ","),
    (re.compile("(?<=[0-9])(?=[½⅓⅔¼¾⅕⅛⅜⅝⅞])"), " "),
    (re.compile("[½⅓⅔¼¾⅕⅛⅜⅝⅞]"), lambda vulgar: _VULGAR[vulgar[0]]),
    (re.compile(r"\\(?:text|textbf|mathrm|mathbf)\s*\{([^{}]*)\}"), r" \1 "),
)


def plain(text: str) -> str:
    """The text with one way of writing for signs, fractions and thousands, so that `NUMBER` finds its numbers."""
    for pattern, replacement in _ONE_WAY:
        text = pattern.sub(replacement, text)
    return text


def value(number: re.Match[str]) -> Fraction | None:
    """What a match of `NUMBER` is worth; None for a division by zero and for a number too long to be meant."""
    top, bottom = number["top"] or number["top2"], number["bottom"] or number["bottom2"]
    power = int((number["power"] or number["power2"] or "0")[:9])
    if len(number[0]) > MAX_LENGTH or abs(power) > MAX_LENGTH:
        return None
    amount = _decimal(top or number["decimal"]) * Fraction(10) ** power
    if bottom:
        if not (below := _decimal(bottom)):
            return None
        amount = int(number["units"] or number["units2"] or 0) + amount / below
    sign = -1 if number["minus"] or number["inner_minus"] else 1
    return sign * amount * SCALES.get((number["scale"] or "").lower(), 1)


def places(number: re.Match[str]) -> int:
    """Digits behind the decimal point of a plain decimal; 0 for a whole number or a fraction."""
    return len((number["decimal"] or "").partition(".")[2])


def _decimal(digits: str) -> Fraction:
    return Fraction(digits.replace(",", ""))
