"""Times of day as minutes since midnight, written as HH:MM; days; and when the sun sets."""

from __future__ import annotations

import re
from datetime import date, datetime

from tasks.travel.vocabulary import DAYS, Day

HOUR, DAY = 60, 24 * 60

#: Not from `strftime`, which speaks the language of the machine.
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip

_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


def minutes(text: str) -> int:
    """Minutes since midnight of a time such as `09:05`. Raises `ValueError` for anything else."""
    time = _TIME.fullmatch(text.strip())
    if not time:
        raise ValueError(f"{text!r} is not a time such as 09:05 or 17:30")
    return HOUR * int(time[1]) + int(time[2])


def clock(moment: int) -> str:
    """The time of day `HH:MM` at so many minutes since midnight, of this day or the next."""
    return f"{moment // HOUR % 24:02d}:{moment % HOUR:02d}"


def weekday(day: date) -> Day:
    """The day of the week."""
    return DAYS[day.weekday()]


def written(day: date) -> str:
    """A date in words, such as `Friday 5 September 2025`."""
    return f"{weekday(day).capitalize()} {day.day} {MONTHS[day.month - 1]} {day.year}"


def sunset(latitude: float, longitude: float, day: date) -> datetime:
    """When the sun sets at a place in the United Kingdom (degrees north and east), in the time of the clocks there."""
    from zoneinfo import ZoneInfo

    from astral import Observer
    from astral.sun import sunset as sun_sets

    return sun_sets(Observer(latitude, longitude), day, tzinfo=ZoneInfo("Europe/London"))
