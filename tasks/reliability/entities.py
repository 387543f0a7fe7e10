"""The entity task: date, time and number of people of the user's own booking, as they stand at the end.

Source: arXiv 2603.01423, task 3. Beside its dates in full and fixed holidays there are dates seen from today, which the system
text names; `date_form` in the strata tells them apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date
from random import Random
from typing import Any, ClassVar

import msgspec

from tasks.nouns import Ask, Instance, Score
from tasks.off_loop import off_loop
from tasks.prompts import prompt
from tasks.reliability.bookings import draw_booking
from tasks.reliability.dates import MONTHS, WEEKDAYS
from tasks.reliability.phrases import SLOTS
from tasks.reliability.presentations import CONSECUTIVE, GIVEN, JOINED, LIVE, SINGLE, compared
from tasks.reliability.slots import KINDS, Context, Slot, read_field, read_fields, read_slots
from tasks.reliability.talk import Scenario
from tasks.reliability.task import Drawn, ReliabilityTask
from tasks.rows import Row


class Booked(msgspec.Struct, frozen=True):
    """What an instance carries in `data` beside its messages.

    Attributes:
        today: the day of the conversation. `slots`: slot -> its kind, of `slots.KINDS`; own datasets may have others.
    """

    today: date
    slots: dict[str, str] = msgspec.field(default_factory=lambda: dict(zip(SLOTS, SLOTS, strict=True)))


class EntitiesTask(ReliabilityTask):
    """The slots of a booking as JSON; an answer is right if every slot is."""

    name = "reliability-entities"
    summary = "date, time and people of one booking, among changes and other bookings"
    scoring = "every slot right: 1 or 0; each slot in the details"
    answer_form = (
        'one JSON object with every slot of the booking, such as {"date": "03/15", "time": "7pm", "people": 4}'
    )
    prompts = ("reliability/entities", "reliability/joined", "reliability/concat")
    ways = {"single": SINGLE, "multi": CONSECUTIVE, "multi_given": GIVEN, "multi_joined": JOINED, "multi_live": LIVE}
    presentations = tuple(ways)
    compare_to: ClassVar[dict[str, str]] = compared(ways)

    def draw(self, wanted: Scenario, rng: Random) -> Drawn:
        """A booking and how it comes about."""
        return draw_booking(wanted, rng)

    def check(self, instance: Instance, row: Row) -> None:
        """Beside what all tasks check: today, and a readable value for every slot."""
        super().check(instance, row)
        try:
            booked = _booked(instance)
        except msgspec.ValidationError as error:
            raise row.error("data", str(error), '{"today": "YYYY-MM-DD", "slots": {name: kind}}') from error
        if unknown := set(booked.slots.values()) - KINDS.keys():
            raise row.error("data.slots", sorted(unknown), ", ".join(KINDS))
        for name, slot in _target(instance).items():
            if slot.state == "unreadable" or (slot.state == "absent" and instance.target.get(name) is not None):
                raise row.error(f"target.{name}", instance.target.get(name), f'a {booked.slots[name]}, "any" or null')

    def is_target(self, target: Any) -> bool:
        """Slot -> value."""
        return isinstance(target, dict) and bool(target)

    def system(self, instance: Instance) -> str:
        """What to keep track of, the form of an answer, and what day it is."""
        return prompt("tasks", "reliability/entities").fill(today=_written(_booked(instance).today))

    # -- answers --------------------------------------------------------------------------------------------------

    async def extract(self, reply: str, instance: Instance) -> str | None:
        """The whole reply, if it says anything of a slot."""
        read = await off_loop(_read, reply, instance)
        return reply if any(slot.state != "absent" for slot in read.values()) else None

    async def score(self, answer: str, instance: Instance, ask: Ask | None = None) -> Score:
        """1 if every slot is right. The details have the score of each slot (`parts`), and what kind of mistakes there are."""
        read, target = await off_loop(_read, answer, instance), _target(instance)
        right = {name: read[name].same(slot) for name, slot in target.items()}
        details = {
            "parts": {name: float(ok) for name, ok in right.items()},
            "given": {name: slot.shown for name, slot in read.items()},
            "target": instance.target,
        }
        errors = [f"{name}:{_error(name, read[name], instance)}" for name, ok in right.items() if not ok]
        return Score(float(not errors), not errors, details=details | ({"errors": errors} if errors else {}))

    # -- trust ----------------------------------------------------------------------------------------------------

    def right_answer(self, instance: Instance) -> str:
        """The booking as JSON."""
        return json.dumps(instance.target)

    def wrong_answer(self, instance: Instance) -> str:
        """The booking with one slot left open."""
        known = next((name for name, value in instance.target.items() if value is not None), None)
        return json.dumps({name: None if name == known else value for name, value in instance.target.items()})


def _booked(instance: Instance) -> Booked:
    return msgspec.convert(instance.data, Booked)


def _read(reply: str, instance: Instance) -> dict[str, Slot]:
    booked = _booked(instance)
    return read_slots(reply, booked.slots, Context(booked.today))


def _target(instance: Instance) -> dict[str, Slot]:
    booked = _booked(instance)
    return read_fields(instance.target, booked.slots, Context(booked.today))


def _error(name: str, given: Slot, instance: Instance) -> str:
    """What kind of mistake it is; by the facts alone, so that `single` shows how often each happens by chance."""
    if given.state != "value":
        return "missing" if given.state == "absent" else given.state
    booked = _booked(instance)

    def among(values: Iterable[Any]) -> bool:
        return any(given.same(read_field(value, booked.slots[name], Context(booked.today))) for value in values)

    if among(other[name] for other in instance.facts.get("others", ()) if name in other):
        return "other_booking"
    earlier = (said["value"] for said in instance.facts.get("said", ()) if said["slot"] == name)
    return "earlier_value" if among(earlier) else "other_value"


def _written(day: date) -> str:
    return f"{WEEKDAYS[day.weekday()]}, {MONTHS[day.month - 1]} {day.day}, {day.year}"
