"""The generated town: the same from the same seed, of any size, and a place that could be."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tasks.travel.building import build_town
from tasks.travel.town import Size, Town
from tasks.travel.vocabulary import DAYS

SMALL, USUAL, LARGE = Size(2, 1, 2, 1), Size(), Size(40, 700, 2000, 900)


@pytest.fixture(params=[SMALL, USUAL, LARGE], ids=["small", "usual", "large"])
def town(request: pytest.FixtureRequest) -> Town:
    return build_town("3", request.param)


def test_size_is_what_was_asked_for(town: Town) -> None:
    got = Size(len(town.stations), len(town.hotels), len(town.restaurants), len(town.attractions))
    assert got == town.size


def test_nothing_shares_a_name(town: Town) -> None:
    named = [*town.stations, *town.hotels, *town.restaurants, *town.attractions]
    assert len({thing.name for thing in named}) == len(named)


def test_nothing_shares_an_id(town: Town) -> None:
    things = [*town.trains, *town.hotels, *town.restaurants, *town.attractions]
    assert len({thing.id for thing in things}) == len(things)


def test_every_route_is_served_every_day(town: Town) -> None:
    hub, *others = (station.name for station in town.stations)
    for other in others:
        for day in DAYS:
            assert town.route(hub, other, day)
            assert town.route(other, hub, day)


def test_trains_arrive_after_they_leave_and_before_midnight(town: Town) -> None:
    assert all(train.leaves < train.arrives < 24 * 60 for train in town.trains)


def test_trains_of_a_route_are_in_order_and_no_two_leave_together(town: Town) -> None:
    by_route: dict[tuple[str, str, str], list[int]] = {}
    for train in town.trains:
        by_route.setdefault((train.departure, train.destination, train.day), []).append(train.leaves)
    assert all(times == sorted(set(times)) for times in by_route.values())


def test_first_class_costs_half_as_much_again() -> None:
    ratios = [train.first / train.standard for train in build_town("3", USUAL).trains]
    assert 1.45 < min(ratios) <= max(ratios) < 1.55


def test_areas_lie_where_their_names_say(town: Town) -> None:
    for thing in (*town.hotels, *town.restaurants, *town.attractions):
        east, north = thing.position.x - 6000, thing.position.y - 6000
        toward = {"east": east, "west": -east, "north": north, "south": -north}
        if thing.area == "centre":
            assert max(toward.values()) <= 1501
        else:
            assert toward[thing.area] == max(toward.values())


def test_restaurants_open_and_close_on_the_same_day(town: Town) -> None:
    for restaurant in town.restaurants:
        assert 5 <= len(restaurant.hours) <= 7
        assert all(opens + 240 <= closes < 24 * 60 for opens, closes in restaurant.hours.values())


def test_a_seed_makes_the_same_town_in_any_process() -> None:
    imports = "from tasks.travel.building import build_town; from tasks.travel.town import Size"
    code = f"{imports}; print(build_town('3', Size()).digest())"
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "LC_ALL": "C"}
        made = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert made.stdout.strip() == build_town("3", USUAL).digest()


def test_another_seed_makes_another_town() -> None:
    assert build_town("3", USUAL).digest() != build_town("4", USUAL).digest()
