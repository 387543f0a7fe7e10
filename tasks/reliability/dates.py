"""Days of the year in words and digits: `March 15th`, `15 March`, `3/15`, `2026-03-15`, `Christmas Eve`, `in ten days`.

Tried before writing our own, on the cases of the tests: dateparser 1.5 knows no holiday, takes `a week from today` for a week
ago and reads a day into `4`, `8` or `may`; python-dateutil 4 fails on `the 3rd of May` and on everything relative;
parsedatetime 2.6 takes `the 3rd of May` for its first and `the day after tomorrow` for tomorrow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

import msgspec

from tasks.number_words import UNITS, read_words

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

#: Holidays that are on the same day every year.
HOLIDAYS: dict[str, tuple[int, int]] = {
    "New Year's Eve": (12, 31),
    "New Year's Day": (1, 1),
    "Valentine's Day": (2, 14),
    "St. Patrick's Day": (3, 17),
    "Independence Day": (7, 4),
    "Fourth of July": (7, 4),
    "Halloween": (10, 31),
    "Christmas Eve": (12, 24),
    "Boxing Day": (12, 26),
    "Christmas Day": (12, 25),
    "Christmas": (12, 25),
}


class Day(msgspec.Struct, frozen=True, order=True):
    """A day of any year, February 29 included."""

    month: int
    day: int

    def __str__(self) -> str:
        return f"{self.month:02d}/{self.day:02d}"


def find_dates(text: str, today: date | None = None, *, day_first: bool = False) -> list[Day]:
    """The days a text names, in order.

    Days relative to `today` and weekdays count only where the text names no other and `today` is known; a weekday is the next
    one after today, and `next Friday`, which people understand in two ways, is none.

    Args:
        day_first: `3/4` is the third of April. Whatever it says, `15/3` is in March.
    """
    plain = text.lower().replace("’", "'")
    absolute = [day for found in _ABSOLUTE.finditer(plain) if (day := _day(found, day_first))]
    return absolute or ([] if today is None else list(_relative(plain, today)))


# -- on a day of the calendar ---------------------------------------------------------------------------------------------

_ORDINAL_WORDS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
    " sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third twenty-fourth"
    " twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first"
)
_ORDINALS = _ORDINAL_WORDS.split()
_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" if month[3:] else month for month in map(str.lower, MONTHS)) + "|sept"
_NTH = r"(?:\d{1,2}(?:st|nd|rd|th)?|" + "|".join(sorted(_ORDINALS, key=len, reverse=True)) + r")(?![\w:]|\.\d)"
_HOLIDAY = "|".join(
    re.escape(name.lower()).replace("'", "'?").replace(r"st\.", r"(?:st\.?|saint)") for name in HOLIDAYS
)
_ABSOLUTE = re.compile(
    rf"""(?<![\w/.:-])(?:
        (?P<iso>\d{{4}}[-/](?P<iso_month>\d{{1,2}})[-/](?P<iso_day>\d{{1,2}}))(?![\w/-])
      | (?P<one>\d{{1,2}})(?:/(?P<two>\d{{1,2}})|-(?P<two_>\d{{2}}))(?:[/-](?:\d{{4}}|\d{{2}}))?(?![\w/-])
      | (?P<holiday>{_HOLIDAY})\b
      | (?P<month>{_MONTH})\.?\s+(?:the\s+)?(?P<nth>{_NTH})
      | (?P<nth_>{_NTH})\s+(?:day\s+)?(?:of\s+)?(?P<month_>{_MONTH})\b
    )""",
    re.VERBOSE,
)


def _day(found: re.Match[str], day_first: bool) -> Day | None:
    if found["holiday"]:
        return next(Day(*day) for name, day in HOLIDAYS.items() if _letters(name) == _letters(found["holiday"]))
    if found["iso"]:
        return _real(int(found["iso_month"]), int(found["iso_day"]))
    if found["one"]:
        one, two = int(found["one"]), int(found["two"] or found["two_"])
        return _real(two, one) if one > 12 or (day_first and two <= 12) else _real(one, two)
    name, nth = found["month"] or found["month_"], found["nth"] or found["nth_"]
    month = next(number for number, full in enumerate(MONTHS, 1) if full.lower().startswith(name[:3]))
    return _real(month, _ORDINALS.index(nth) + 1 if nth in _ORDINALS else int(re.sub(r"\D", "", nth)))


def _letters(text: str) -> str:
    return re.sub(r"[^a-z]", "", text.lower().replace("saint", "st"))


def _real(month: int, day: int) -> Day | None:
    """The day, if there is such a day in a leap year."""
    try:
        date(2024, month, day)
    except ValueError:
        return None
    return Day(month, day)


# -- seen from today ------------------------------------------------------------------------------------------------------

_NUMBER = r"(?:\d{1,3}|an?|" + "|".join(UNITS) + ")"
_RELATIVE = re.compile(
    rf"""\b(?:
        (?P<after>day\s+after\s+tomorrow) | (?P<tomorrow>tomorrow) | (?P<today>today|tonight)
      | in\s+(?P<n>{_NUMBER})\s+(?P<unit>day|week)s? | (?P<n_>{_NUMBER})\s+(?P<unit_>day|week)s?\s+from\s+(?:now|today)
      | (?P<next>next\s+)?(?P<weekday>{"|".join(WEEKDAYS).lower()})
    )\b""",
    re.VERBOSE,
)


def _relative(text: str, today: date) -> Iterator[Day]:
    # `a week from today` names no other day by its last word: the longer match comes first.
    for found in _RELATIVE.finditer(text):
        days = _distance(found, today)
        if days is not None:
            day = today + timedelta(days)
            yield Day(day.month, day.day)


def _distance(found: re.Match[str], today: date) -> int | None:
    if found["weekday"]:
        ahead = (WEEKDAYS.index(found["weekday"].title()) - today.weekday()) % 7 or 7
        return None if found["next"] else ahead
    if number := found["n"] or found["n_"]:
        count = 1 if number in ("a", "an") else int(number) if number.isdigit() else int(read_words(number) or 0)
        return count * (7 if (found["unit"] or found["unit_"]) == "week" else 1)
    return 2 if found["after"] else 1 if found["tomorrow"] else 0
