"""Times of day and lengths of time in words and digits: `7:30 p.m.`, `noon`, `half past seven in the evening`; `1h30`.

Tried before writing our own, on the cases of the tests: dateparser 1.5 does not know midday or `half past seven` and takes
`tonight at 9:30` for the morning; python-dateutil 4 cannot read noon; parsedatetime 2.6 reads `9 in the morning` as 6:00.
"""

from __future__ import annotations

import re

from tasks.number_words import UNITS, read_words

HOUR, NOON = 60, 12 * 60

_HALVES = {"am": 0, "morning": 0, "pm": NOON, "afternoon": NOON, "evening": NOON, "tonight": NOON, "night": NOON}
_WORDS = "|".join(word for word, value in UNITS.items() if 1 <= value <= 12)
_MINUTES = {"quarter": 15, "half": 30, "five": 5, "ten": 10, "twenty": 20, "twenty-five": 25}
_HALF = r"am\b|pm\b|in\s+the\s+(?:morning|afternoon|evening)\b|at\s+night\b"
_TIME = re.compile(
    rf"""(?<![\w:.,/-])(?:
        (?:12(?::00)?\s*)?(?P<name>noon|midday|midnight)
      | (?:a\s+)?(?P<minutes>{"|".join(sorted(_MINUTES, key=len, reverse=True))})\s+(?P<way>past|to)\s+
        (?:(?P<from>\d{{1,2}}|{_WORDS})\b(?:\s*(?P<half_>{_HALF}))?
          |(?P<from_name>noon|midnight))
      | (?P<hour>\d{{1,2}}|{_WORDS})(?P<clock>[:.]\s?(?P<minute>[0-5]\d)(?::[0-5]\d)?)?
        (?P<oclock>\s*o'?clock)?(?:\s*(?P<half>{_HALF}))?(?![\w/%]|[:.,]\d|-\d)
    )""",
    re.VERBOSE,
)
_PART_BEFORE = re.compile(r"\b(?P<part>morning|afternoon|evening|tonight|night)\b(?:\W+\w+){0,3}\W*$")


def find_times(text: str, *, bare: bool = False) -> list[frozenset[int]]:
    """The times of day a text names, in order, each as the minutes since midnight it may mean.

    `H:MM` is read by the 24-hour clock unless the text says which half of the day it means. Said in another way (`half past
    seven`, `7 o'clock`) a time without its half of the day may be either.

    Args:
        bare: a number alone (`7`) is a time, too.
    """
    plain = re.sub(r"\b([ap])\.?\s?m\b\.?", r"\1m", text.lower().replace("’", "'"))
    plain = re.sub(r"\b(?:12|twelve)\s+at\s+night\b", "midnight", plain)
    return [time for found in _TIME.finditer(plain) if (time := _time(found, plain, bare))]


def _time(found: re.Match[str], text: str, bare: bool) -> frozenset[int] | None:
    if found["name"]:
        return frozenset({0 if found["name"] == "midnight" else NOON})
    if found["from_name"]:
        return frozenset({(_shift(found) + (NOON if found["from_name"] == "noon" else 0)) % (24 * HOUR)})
    hour = _number(found["from"] or found["hour"])
    half = _half(found["half"] or found["half_"] or _part_before(text[: found.start()]))
    if not (found["from"] or found["clock"] or found["oclock"] or half is not None or bare):
        return None
    minutes = hour * HOUR + (_shift(found) if found["from"] else int(found["minute"] or 0))
    return _meant(minutes, half, exact=bool(found["clock"]))


def _meant(minutes: int, half: int | None, *, exact: bool) -> frozenset[int] | None:
    """The times of day that a dial shows so; none for an hour that no clock has."""
    if minutes > 24 * HOUR:
        return None
    if minutes == 24 * HOUR:
        return frozenset({0})
    if minutes >= NOON + HOUR or (minutes < HOUR and exact):  # 13:00 and later, 0:30: only one clock says so
        return frozenset({minutes})
    on_dial = minutes % NOON
    if half is not None:
        return frozenset({on_dial + half})
    return frozenset({minutes}) if exact else frozenset({on_dial, on_dial + NOON})


def _half(words: str) -> int | None:
    return next((start for word, start in _HALVES.items() if words.endswith(word)), None)


def _part_before(text: str) -> str:
    """`tonight at 9:30`: the part of the day may stand a few words before."""
    found = _PART_BEFORE.search(text[-60:])
    return found["part"] if found else ""


def _shift(found: re.Match[str]) -> int:
    minutes = _MINUTES[found["minutes"]]
    return minutes if found["way"] == "past" else -minutes


def _number(text: str) -> int:
    return int(text) if text.isdigit() else UNITS[text]


# -- lengths of time ------------------------------------------------------------------------------------------------------

_N = r"(?P<{}>\d+(?:\.\d+)?|an?|half\s+an?|[a-z]+(?:-[a-z]+)?)"
_LENGTH = re.compile(
    rf"""\s*(?:
        (?P<h>\d{{1,2}}):(?P<m>[0-5]\d)(?::[0-5]\d)?
      | (?:{_N.format("hours")}\s*h(?:ou)?r?s?\b)?(?:\s*and)?\s*(?:{_N.format("minutes")}\s*m(?:in(?:ute)?s?)?\b)?
      | (?P<h_>\d{{1,2}})\s*h\s*(?P<m_>[0-5]?\d)
    )[\s.]*""",
    re.VERBOSE,
)


def read_length(text: str) -> int | None:
    """Minutes of a text that is a length of time and nothing else; `1:30` is an hour and a half, seconds are left out."""
    found = _LENGTH.fullmatch(text.lower())
    if found is None or not any(found.groups()):
        return None
    if found["h"] or found["h_"]:
        return int(found["h"] or found["h_"]) * HOUR + int(found["m"] or found["m_"])
    parts = [_amount(found[name], unit) for name, unit in (("hours", HOUR), ("minutes", 1)) if found[name]]
    return None if None in parts else round(sum(part for part in parts if part is not None))


def _amount(number: str, unit: int) -> float | None:
    if number.startswith("half"):
        return unit / 2
    if number in ("a", "an"):
        return unit
    spelled = float(number) if number[0].isdigit() else read_words(number)
    return None if spelled is None else float(spelled) * unit


def write_time(minutes: int) -> str:
    """As the paper writes times, `7pm`; with minutes, `7:30pm`."""
    hour, minute = divmod(minutes % NOON, HOUR)
    shown = f"{hour or 12}:{minute:02d}" if minute else f"{hour or 12}"
    return f"{shown}{'am' if minutes < NOON else 'pm'}"
