"""What is true: the published golden values, and a second implementation that agrees on a thousand instances a problem."""

from __future__ import annotations

import math
from datetime import date, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from tasks.nouns import Message
from tasks.registry import get_task
from tasks.travel.clock import minutes, sunset
from tasks.travel.meals import RELATIONS, open_for_an_hour, open_throughout
from tasks.travel.places import is_further, walk
from tasks.travel.problems import TRAVEL_TASKS
from tasks.travel.stays import Guest, Room, stay_price
from tasks.travel.town import Position
from tasks.travel.trains import Traveller, last_before, mean_interval, ticket_price

# -- golden values of BOULDER ---------------------------------------------------------------------------------------------


def test_golden_ticket_price() -> None:
    people = [
        Traveller("a", returns=False, first=True),
        Traveller("b", returns=False, first=False),
        Traveller("c", returns=False, first=False, discount=60),
        Traveller("d", returns=True, first=False),
    ]
    assert ticket_price(1710, 2570, people) == Decimal("83.84")


def test_golden_hotel_price() -> None:
    people = [Guest(name, 0, 2) for name in "abcdef"]
    rooms = [Room("family", 7700, tuple(people[:4])), *(Room("single", 4700, (guest,)) for guest in people[4:])]
    assert stay_price(rooms) == 34200


def test_golden_departure() -> None:
    sets = sunset(52.2055, 0.1187, date(2025, 8, 27))
    assert (sets.hour, sets.minute) == (19, 57)
    trains = [(15 * 60 + 32 + hour * 60, 16 * 60 + 32 + hour * 60) for hour in range(7)]
    assert last_before(trains, 19 * 60 + 57) == minutes("18:32")


# -- cases that can be done in the head -----------------------------------------------------------------------------------


def test_who_leaves_a_shared_room_early_changes_nothing_and_who_comes_early_does() -> None:
    stays = Guest("a", 0, 3)
    assert stay_price([Room("double", 100, (stays, Guest("b", 0, 2)))]) == 300
    assert stay_price([Room("double", 100, (stays, Guest("b", -1, 3)))]) == 400
    assert stay_price([Room("single", 100, (Guest("b", 1, 3),))]) == 200


def test_no_train_before_sunset() -> None:
    assert last_before([(100, 200)], 199) is None
    assert last_before([(100, 200), (90, 210)], 210) == 100  # a slow train that leaves earlier and arrives later


def test_mean_interval() -> None:
    assert mean_interval([0, 10, 40, 45]) == 15
    assert mean_interval([0, 61]) == 61


@pytest.mark.parametrize(
    ("hours", "throughout", "an_hour"),
    [
        ((600, 1000), True, True),
        ((600, 960), True, True),
        ((720, 780), False, True),
        ((720, 779), False, False),
        (None,) + (False,) * 2,
    ],
)
def test_open(hours: tuple[int, int] | None, throughout: bool, an_hour: bool) -> None:
    assert open_throughout(hours, 660, 960) is throughout
    assert open_for_an_hour(hours, 660, 960) is an_hour


def test_the_thirteen_relations_exclude_one_another_and_leave_nothing_out() -> None:
    for a in range(6):
        for b in range(a + 1, 7):
            assert sum(holds(a, b, 2, 4) for holds in RELATIONS.values()) == 1


def test_directions() -> None:
    here = Position(5, 5)
    assert [is_further(way, Position(6, 1), here) for way in ("north", "south", "east", "west")] == [
        False,
        True,
        True,
        False,
    ]


def test_walk_has_no_way_back() -> None:
    assert walk(Position(0, 0), [Position(3, 4), Position(3, 5)]) == 6


# -- a second implementation ----------------------------------------------------------------------------------------------


def agrees(answer: Any, target: Any) -> bool:
    """Prices by value, everything else as it is."""
    if isinstance(target, str) and target[:1].isdigit() and ":" not in target:
        return abs(Decimal(answer) - Decimal(target)) < Decimal("0.0001")
    return bool(answer == target)


def disagreements(task: str, n: int, second: SimpleNamespace) -> list[tuple[str, Any, Any]]:
    """Instances whose full instruction, read and solved by other code, has another answer than the target."""
    found = []
    for instance in get_task(task).generate(n, seed=29):
        facts = second.read[task](second.Seen([Message("user", instance.instruction)]))
        if not agrees(answer := second.solve[task](facts), instance.target):
            found.append((instance.id, answer, instance.target))
    return found


@pytest.mark.parametrize("task", TRAVEL_TASKS)
def test_a_second_implementation_agrees_on_a_thousand(task: str, second: SimpleNamespace) -> None:
    assert not disagreements(task, 1000, second)


def sunset_by_meeus(latitude: float, longitude: float, day: date) -> float:
    """Minutes since midnight on British clocks, by Meeus' low-precision sun (zenith 90.833 degrees), at 18:00 UT of the day."""
    sin, cos, tan = (lambda x, f=f: f(math.radians(x)) for f in (math.sin, math.cos, math.tan))
    t = ((day - date(2000, 1, 1)).days + 0.25) / 36525
    anomaly = 357.52911 + 35999.05029 * t
    mean = 280.46646 + 36000.76983 * t
    centre = 1.914602 * sin(anomaly) + 0.019993 * sin(2 * anomaly)
    tilt = 23.43929 - 0.0130042 * t
    longitude_of_sun = mean + centre - 0.00569
    declination = math.degrees(math.asin(sin(tilt) * sin(longitude_of_sun)))
    ascension = math.degrees(math.atan2(cos(tilt) * sin(longitude_of_sun), cos(longitude_of_sun)))
    equation = 4 * ((mean - 0.0057183 - ascension + 180) % 360 - 180)
    arc = math.degrees(math.acos(cos(90.833) / (cos(latitude) * cos(declination)) - tan(latitude) * tan(declination)))
    return 720 - 4 * (longitude - arc) - equation + (60 if _is_summer(day) else 0)


def _is_summer(day: date) -> bool:
    """From the last Sunday of March to the day before the last Sunday of October."""
    starts, ends = (max(date(2025, month, day) for day in range(25, 32) if _sunday(month, day)) for month in (3, 10))
    return starts <= day < ends


def _sunday(month: int, day: int) -> bool:
    return date(2025, month, day).weekday() == 6


def test_the_sun_sets_when_another_formula_says_and_no_train_arrives_near_it() -> None:
    for instance in get_task("travel-departure").generate(150, seed=31):
        facts = instance.facts
        other = sunset_by_meeus(*facts["place"], date.fromisoformat(facts["date"]))
        assert -1 < other - minutes(facts["sunset"]) < 2, instance.id
        trains = [(minutes(leaves), minutes(arrives)) for leaves, arrives in facts["trains"]]
        # The margin makes the answer the same for anybody whose sunset is off by a minute.
        for off in (-1, 0, 1):
            assert last_before(trains, minutes(facts["sunset"]) + off) == minutes(instance.target)


def test_summer_time_changes_on_the_last_sundays() -> None:
    assert [_is_summer(date(2025, 3, 30) + timedelta(days)) for days in (-1, 0)] == [False, True]
    assert [_is_summer(date(2025, 10, 26) + timedelta(days)) for days in (-1, 0)] == [True, False]
