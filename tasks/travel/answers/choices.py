"""Answers that are one of a few: the time at which a train leaves, and yes or no."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec

from tasks.nouns import Score
from tasks.travel.answers.finding import CONCLUDES, mentions, told, waits
from tasks.travel.answers.form import Form, Frame
from tasks.travel.clock import clock, minutes


class TimeOfDay(Form):
    """HH:MM, right if the same minute. `names` of the frame are the times there are trains at."""

    wanted = "one time of day, HH:MM, at which the train leaves"
    target = Annotated[str, msgspec.Meta(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]

    _TIME = re.compile(
        r"(?<![\w:.])(?:[01]?\d|2[0-3])[:.][0-5]\d(?:\s*[ap]\.?m\b\.?)?(?!\d|:\d|\s*pounds)", re.IGNORECASE
    )
    #: What stands before a time that is another than that of leaving, and before one that is.
    _OTHER = re.compile(
        r"""(?: \b(?:arriv\w*|arrival|reach\w*|gets?|getting)\b (?:\W+(?!before|is\b)[\w']+){0,4}?
              | \b(?:before|by)\ (?:the\ )?sunset (?:\ at)?
              | (?<!before\ )(?<!by\ )(?<!the\ )\b(?:the\ )?sunset (?:\s[\w']+){0,4}?
              | \bsun\ sets? (?:\s[\w']+){0,4}?
              | \b(?:before|by|until|than|after|not) ) \W*$""",
        re.IGNORECASE | re.VERBOSE,
    )
    _LEAVES = re.compile(r"\b(?:leav\w*|depart\w*|take|catch|board|from)\b(?:\W+[\w']+){0,3}?\W*$", re.IGNORECASE)
    _CUE = re.compile(CONCLUDES.pattern + r"|\b(?:last|latest)\b", re.IGNORECASE)

    def find(self, reply: str, frame: Frame) -> str | None:
        stated = [(statement, self._leaving(statement)) for statement in told(reply)]
        stated = [(statement, times) for statement, times in stated if times]
        concluding = [times for statement, times in stated if self._CUE.search(statement)]
        if not concluding and (not stated or waits(reply)):
            return None
        times = concluding[-1] if concluding else stated[-1][1]
        listed = [time for time in times if self._clock(time) in frame.names]
        return (listed or times)[0]

    def read(self, text: str, frame: Frame) -> Any:
        found = self.find(text, frame)
        if found is None:
            times = [time[0] for time in self._TIME.finditer(text)]
            found = times[0] if len(times) == 1 else None
        return None if found is None else self._clock(found)

    def measure(self, value: Any, target: Any, frame: Frame) -> Score:
        right = value == target
        details = {"answer": value, "target": target, "listed": value in frame.names}
        return Score(float(right), right, details=details | {"minutes_off": abs(minutes(value) - minutes(target))})

    def say(self, target: Any) -> str:
        return f"The last train you can take leaves at {target}."

    def spoil(self, target: Any, frame: Frame) -> Any:
        return next((time for time in frame.names if time != target), clock(minutes(target) + 30))

    def _leaving(self, statement: str) -> list[str]:
        """The times in a statement that may be those of leaving, those said to be so first."""
        times = [
            (found[0].strip(), self._said_before(statement, found.start())) for found in self._TIME.finditer(statement)
        ]
        return [time for time, said in sorted(times, key=lambda each: each[1] != "leaves") if said != "other"]

    def _said_before(self, statement: str, place: int) -> str:
        """What the words before a time make of it; the nearer ones decide."""
        before = statement[max(0, place - 80) : place]
        other, leaves = self._OTHER.search(before), self._LEAVES.search(before)
        if leaves and not (other and other.start() > leaves.start()):
            return "leaves"
        return "other" if other else ""

    def _clock(self, written: str) -> str:
        time = re.match(r"(\d+)[:.](\d+)\s*([ap])?", written.lower())
        assert time is not None
        hour, minute, half = int(time[1]), int(time[2]), time[3]
        if half and hour <= 12:
            hour = hour % 12 + (12 if half == "p" else 0)
        return f"{hour:02d}:{minute:02d}"


class YesNo(Form):
    """Yes or no, also in other words: that it is, or is not, further in the direction asked about.

    `names` of the frame are what is asked about and what it is compared with; `about` is the direction.
    """

    wanted = "yes or no (or the sentence that says it)"
    target = Literal["yes", "no"]

    _OPPOSITE = {"north": "south", "south": "north", "east": "west", "west": "east"}
    _SAID = re.compile(
        r"^[\W_]*(?P<v>yes|no)\b"
        r"(?!\s+(?:problem|worries|doubt|need|matter)\b)(?![\s,!.]+(?:i can|i could|of course|sure|please|let)\b)",
        re.IGNORECASE,
    )
    _CUED = re.compile(
        r"\banswer\b(?:\s\w+){0,3}?[\s*_:]{0,4}(?:is|:|=)?[\s*_:\"“]{0,4}\b(?P<v>yes|no)\b", re.IGNORECASE
    )
    _FURTHER = re.compile(r"\b(?:further|farther|more)\b", re.IGNORECASE)
    _NOT = re.compile(r"\b(?:not|isn't|isn’t|no further|neither)\b", re.IGNORECASE)

    def find(self, reply: str, frame: Frame) -> str | None:
        stated = told(reply)
        if cued := [statement for statement in stated if self._CUED.search(statement)]:
            return cued[-1].strip()
        if plain := [statement for statement in stated if self._word(statement)]:
            return plain[-1].strip() if len({self._word(statement) for statement in plain}) == 1 else None
        described = [statement for statement in stated if self._by_direction(statement, frame)]
        return described[-1].strip() if described and not waits(reply) else None

    def read(self, text: str, frame: Frame) -> Any:
        found = self.find(text, frame)
        return None if found is None else self._word(found) or self._by_direction(found, frame)

    def measure(self, value: Any, target: Any, frame: Frame) -> Score:
        right = value == target
        return Score(float(right), right, details={"answer": value, "target": target})

    def say(self, target: Any) -> str:
        return f"{target.capitalize()}, it is{' not' if target == 'no' else ''}."

    def spoil(self, target: Any, frame: Frame) -> Any:
        return "no" if target == "yes" else "yes"

    def _word(self, statement: str) -> str | None:
        said = self._CUED.search(statement) or self._SAID.search(statement)
        return said["v"].lower() if said else None

    def _by_direction(self, statement: str, frame: Frame) -> str | None:
        """From `Abbot Park is (not) further north than …`: the first name is what is said to be there.

        Both names, or a comparative, make it a comparison; where one of the two is on the map does not answer the question.
        """
        ways = f"{frame.about}|{self._OPPOSITE.get(frame.about, frame.about)}"
        there = (
            re.search(rf"(?<![\w-])({ways})(?:ern|wards?)?(?![\w-])", statement, re.IGNORECASE) if frame.about else None
        )
        if not there:
            return None
        named = mentions(statement, frame.names)
        compared = len({name for _, name in named}) == 2 or self._FURTHER.search(statement)
        if not named or not compared or named[0][0] > there.start():
            return None
        holds = (named[0][1] == frame.names[0]) == (there[1].lower() == frame.about)
        return "no" if holds == bool(self._NOT.search(statement)) else "yes"
