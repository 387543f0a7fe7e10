"""Answers that are a number with a unit: an amount of money, a distance, the time between two departures."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any

import msgspec

from tasks.nouns import Score
from tasks.travel.answers.finding import CONCLUDES, find_value
from tasks.travel.answers.form import Form, Frame
from tasks.travel.answers.metrics import closeness, rounded

#: A plain decimal of bounded length, with or without commas between thousands.
_DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3}){1,3}|[0-9]{1,12})(?:\.[0-9]{1,9})?(?![0-9])"
#: The same, standing alone: no part of a word, of a time of day or of a fraction.
_NUMBER = rf"(?<![\w.:,£])(?<![0-9][./]){_DIGITS}(?!:)"
_BARE = re.compile(_NUMBER)


def _decimal(text: str) -> Decimal:
    return Decimal(text.replace(",", "").strip())


class Amount(Form):
    """Pounds. Right if equal when both are rounded to whole pounds; `exact` says whether they are equal to the penny."""

    wanted = "one amount of money in pounds, the total"
    target = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,9}(\.[0-9]{1,4})?$")]

    #: The unit may stand behind the end of a formula or of bold type: `\\boxed{420}\\) pounds`, `63.00 \\text{ pounds}`.
    _MONEY = re.compile(
        rf"(?:£|GBP)\s?{_DIGITS}|{_NUMBER}(?=(?:[\s$*_{{}}()\\\]]|text){{0,9}}(?:pounds?\b|GBP\b|£|quid\b))",
        re.IGNORECASE,
    )
    _SUM = re.compile(
        rf"{_NUMBER}(?!\s*(?:%|percent|per cent|(?:st|nd|rd|th)\b|nights?|people|persons?|tickets?|rooms?))"
    )
    _CUE = re.compile(
        CONCLUDES.pattern
        + r"|\b(?:total|altogether|all together|together|sum|comes? to|whole|grand|combined|you(?:'ll)? pay)\b",
        re.IGNORECASE,
    )

    def find(self, reply: str, frame: Frame) -> str | None:
        return find_value(reply, self._MONEY, self._CUE) or find_value(reply, self._SUM, self._CUE, needs_cue=True)

    def read(self, text: str, frame: Frame) -> Any:
        found = self.find(text, frame) or find_value(text, self._SUM, self._CUE)
        return None if found is None else str(_decimal(re.sub(r"£|GBP", "", found, flags=re.IGNORECASE)))

    def measure(self, value: Any, target: Any, frame: Frame) -> Score:
        answer, truth = Decimal(value), Decimal(target)
        right = rounded(answer) == rounded(truth)
        exact = abs(answer - truth) < Decimal("0.01")
        return Score(float(right), right, details={"answer": value, "target": target, "exact": exact})

    def say(self, target: Any) -> str:
        return f"Adding it all up, the total is £{Decimal(target):.2f}."

    def spoil(self, target: Any, frame: Frame) -> Any:
        return str(Decimal(target) + 7)


class Metres(Form):
    """A distance. 1 / (1 + error / 500 m); correct within 5 m."""

    wanted = "one distance, in metres or kilometres"
    target = Annotated[float, msgspec.Meta(ge=0)]

    _UNITS = {"k": Decimal(1000), "m": Decimal(1)}
    _LENGTH = re.compile(rf"{_NUMBER}\s*(?:km|kilomet(?:re|er)s?|m|met(?:re|er)s?)\b", re.IGNORECASE)
    _CUE = re.compile(
        CONCLUDES.pattern + r"|\b(?:distance|away|far|apart|approximately|about|roughly)\b", re.IGNORECASE
    )
    _CLOSED = re.compile(r"≈|√|\\approx|sqrt|\b(?:answer|distance)\b", re.IGNORECASE)

    def find(self, reply: str, frame: Frame) -> str | None:
        measured = find_value(reply, self._LENGTH, self._CUE)
        return measured or find_value(reply, _BARE, self._CLOSED, needs_cue=True)

    def read(self, text: str, frame: Frame) -> Any:
        found = self.find(text, frame) or find_value(text, _BARE, self._CUE)
        if found is None:
            return None
        unit = re.search("[a-z]", found.lower())
        return float(_decimal(re.sub("[a-zA-Z]", "", found)) * self._UNITS[unit[0] if unit else "m"])

    def measure(self, value: Any, target: Any, frame: Frame) -> Score:
        error = abs(value - target)
        details = {"answer": value, "target": target, "error": error, "within_1_percent": error <= 0.01 * target}
        return Score(closeness(error, half_at=500), error <= 5, details=details)

    def say(self, target: Any) -> str:
        return f"In a straight line the distance is {target} metres."

    def spoil(self, target: Any, frame: Frame) -> Any:
        return target + 1000


class Interval(Form):
    """Minutes between departures. 1 / (1 + error / 5 min); correct within half a minute."""

    wanted = "one time in minutes, how long it is on average from one departure to the next"
    target = Annotated[float, msgspec.Meta(ge=0)]

    _INTERVAL = re.compile(
        rf"""{_NUMBER}\s*(?:-|–|to)\s*{_NUMBER}\s*-?\s*min(?:ute)?s?\b
           | {_NUMBER}\s*h(?:ou)?rs?\s*(?:and\s*)?{_NUMBER}\s*min(?:ute)?s?\b
           | {_NUMBER}\s*-?\s*(?:min(?:ute)?s?|h(?:ou)?rs?|h)\b
           | {_NUMBER}\s+(?:trains?|departures?)\s+(?:per|an|each|every)\s+hour\b
           | \b(?:once\s+an|every|each)\s+hour\b | \bhourly\b
           | \b(?:every|each|a)?\s*(?:half\s+(?:an\s+)?hour|half-hour|quarter\s+of\s+an\s+hour)\b""",
        re.VERBOSE | re.IGNORECASE,
    )
    _CUE = re.compile(CONCLUDES.pattern + r"|\b(?:average|mean|every|interval|frequency)\b", re.IGNORECASE)
    _CLOSED = re.compile(r"[=≈]|\\approx|\b(?:answer|average|interval)\b", re.IGNORECASE)

    def find(self, reply: str, frame: Frame) -> str | None:
        timed = find_value(reply, self._INTERVAL, self._CUE)
        return timed or find_value(reply, _BARE, self._CLOSED, needs_cue=True)

    def read(self, text: str, frame: Frame) -> Any:
        found = self.find(text, frame) or find_value(text, _BARE, self._CUE)
        return None if found is None else _minutes(found.lower())

    def measure(self, value: Any, target: Any, frame: Frame) -> Score:
        error = abs(value - target)
        details = {"answer": value, "target": target, "error": error, "exact": error < 0.05}
        return Score(closeness(error, half_at=5), error <= 0.5, details=details)

    def say(self, target: Any) -> str:
        return f"On average a train leaves every {target} minutes."

    def spoil(self, target: Any, frame: Frame) -> Any:
        return round(target + 12, 1)


def _minutes(interval: str) -> float | None:
    """What a match of `Interval._INTERVAL` is in minutes; of a range, its middle."""
    numbers = [float(_decimal(found[0])) for found in _BARE.finditer(interval)]
    if not numbers:
        return 15.0 if "quarter" in interval else 30.0 if "half" in interval else 60.0
    if re.search(r"train|departure", interval):
        return 60 / numbers[0] if numbers[0] else None
    hours = re.search(r"h(?:ou)?rs?\b|h\b", interval)
    if hours and len(numbers) == 2:
        return 60 * numbers[0] + numbers[1]
    return sum(numbers) / len(numbers) * (60 if hours else 1)
