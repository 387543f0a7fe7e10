"""Makes a town from a seed. The same seed gives the same town in any process; any size can be asked for."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count, islice, product

from tasks.travel.clock import HOUR
from tasks.travel.town import Attraction, Hotel, Position, Restaurant, Size, Station, Town, Train
from tasks.travel.vocabulary import (
    AREAS,
    ATTRACTION_ENDS,
    ATTRACTION_KINDS,
    ATTRACTION_STARTS,
    DAYS,
    FOODS,
    HOTEL_ENDS,
    HOTEL_KINDS,
    HOTEL_STARTS,
    RESTAURANT_ENDS,
    RESTAURANT_STARTS,
    STATION_ENDS,
    STATION_STARTS,
    STREETS,
    Area,
    AttractionKind,
    Day,
    PriceRange,
    RoomKind,
)


@lru_cache(maxsize=16)
def build_town(seed: str, size: Size) -> Town:
    """The town of a seed. Sizes below 2 stations or 1 of anything else leave problems that cannot be drawn."""
    stations = tuple(_stations(random.Random(f"{seed}/stations"), size.stations))
    return Town(
        seed=seed,
        size=size,
        stations=stations,
        trains=tuple(_trains(random.Random(f"{seed}/trains"), stations)),
        hotels=tuple(_hotels(random.Random(f"{seed}/hotels"), size.hotels)),
        restaurants=tuple(_restaurants(random.Random(f"{seed}/restaurants"), size.restaurants)),
        attractions=tuple(_attractions(random.Random(f"{seed}/attractions"), size.attractions)),
    )


# -- names and places -----------------------------------------------------------------------------------------------------


def _names(rng: random.Random, starts: Sequence[str], ends: Sequence[str], gap: str = " ") -> Iterator[str]:
    """Names without end, none twice: all pairs in random order, then again with a number (`Copper Kettle 2`)."""
    pairs = [f"{start}{gap}{end}" for start, end in product(starts, ends)]
    rng.shuffle(pairs)
    yield from pairs
    for number in count(2):
        yield from (f"{pair} {number}" for pair in pairs)


#: The map is 12 km wide and high. The centre is a disc, the other areas are what lies outside of it in their direction.
_MIDDLE, _CENTRE, _EDGE = 6000, 1500, 5800
_BEARING: dict[Area, int] = {"east": 0, "north": 90, "west": 180, "south": 270}


def _position(rng: random.Random, area: Area) -> Position:
    """Somewhere in the area."""
    if area == "centre":
        radius, angle = _CENTRE * math.sqrt(rng.random()), rng.uniform(0, 360)
    else:
        radius, angle = rng.uniform(_CENTRE + 100, _EDGE), _BEARING[area] + rng.uniform(-44, 44)
    x, y = radius * math.cos(math.radians(angle)), radius * math.sin(math.radians(angle))
    return Position(round(_MIDDLE + x), round(_MIDDLE + y))


def _area(rng: random.Random, centre: int) -> Area:
    """An area; the centre weighs `centre` times as much as each of the others."""
    return rng.choices(AREAS, [centre if area == "centre" else 1 for area in AREAS])[0]


def _address(rng: random.Random) -> str:
    return f"{rng.randint(1, 120)} {rng.choice(STREETS)}"


# -- trains ---------------------------------------------------------------------------------------------------------------


def _stations(rng: random.Random, n: int) -> Iterator[Station]:
    """The town's own station, and others around it within the south of Great Britain."""
    for name in islice(_names(rng, STATION_STARTS, STATION_ENDS, gap=""), n):
        yield Station(name, round(rng.uniform(51.0, 53.4), 4), round(rng.uniform(-2.6, 0.9), 4))


def _trains(rng: random.Random, stations: Sequence[Station]) -> Iterator[Train]:
    """Trains from the town to every other station and back, on every day of the week."""
    town, *others = stations
    numbers = count(1)
    for departure, destination in [(town, other) for other in others] + [(other, town) for other in others]:
        length = _kilometres(departure, destination)
        duration, fare = 8 + round(length / 1.6), 300 + round(length * 2.2) * 10
        for day in DAYS:
            for leaves, arrives in _timetable(rng, duration):
                standard = _dearer(fare, 1.25) if _is_rush_hour(day, leaves) else fare
                yield Train(
                    id=f"TR{next(numbers):04d}",
                    departure=departure.name,
                    destination=destination.name,
                    day=day,
                    leaves=leaves,
                    arrives=arrives,
                    standard=standard,
                    first=_dearer(standard, 1.5),
                )


def _kilometres(a: Station, b: Station) -> float:
    """Distance as the crow flies; a degree of longitude is about 69 km here."""
    return math.hypot((a.latitude - b.latitude) * 111.2, (a.longitude - b.longitude) * 69)


def _dearer(pence: int, factor: float) -> int:
    return round(pence * factor / 10) * 10


def _is_rush_hour(day: Day, leaves: int) -> bool:
    return day not in ("saturday", "sunday") and leaves < 9 * HOUR + 30


def _timetable(rng: random.Random, duration: int) -> Iterator[tuple[int, int]]:
    """Departures and arrivals of a day: a few periods, each with an interval of its own, every train a little off the beat."""
    start = 5 * HOUR + rng.randrange(0, 60, 5)
    for end in (9 * HOUR + 30, 15 * HOUR + rng.choice((0, 30, 60)), 19 * HOUR + rng.choice((0, 30)), 23 * HOUR + 30):
        interval = rng.choice((15, 20, 24, 30, 30, 40, 45, 60))
        while start < end:
            leaves = start + rng.randint(-2, 2)
            arrives = leaves + duration + rng.randint(-3, 3)
            if arrives < 24 * HOUR:
                yield leaves, arrives
            start += interval


# -- hotels, restaurants, attractions -----------------------------------------------------------------------------------

#: Pounds for one person in a single room.
_NIGHT: dict[PriceRange, tuple[int, int]] = {"cheap": (28, 48), "moderate": (50, 78), "expensive": (82, 140)}
_ROOMS: tuple[tuple[RoomKind, ...], ...] = (
    ("single", "double", "family"),
    ("single", "double", "family"),
    ("single", "double", "family"),
    ("single", "double"),
    ("double", "family"),
    ("single",),
)
_ROOM_FACTOR: dict[RoomKind, float] = {"single": 1.0, "double": 1.45, "family": 2.1}


def _hotels(rng: random.Random, n: int) -> Iterator[Hotel]:
    for number, name in enumerate(islice(_names(rng, HOTEL_STARTS, HOTEL_ENDS), n), 1):
        price_range = rng.choice(list(_NIGHT))
        night = rng.randint(*_NIGHT[price_range])
        area = _area(rng, centre=2)
        yield Hotel(
            id=f"H{number:03d}",
            name=name,
            kind=rng.choice(HOTEL_KINDS),
            area=area,
            address=_address(rng),
            price_range=price_range,
            stars=rng.randint(2, 5),
            position=_position(rng, area),
            rooms={kind: 100 * round(night * _ROOM_FACTOR[kind] + rng.randint(0, 3)) for kind in rng.choice(_ROOMS)},
        )


def _restaurants(rng: random.Random, n: int) -> Iterator[Restaurant]:
    for number, name in enumerate(islice(_names(rng, RESTAURANT_STARTS, RESTAURANT_ENDS), n), 1):
        area = _area(rng, centre=6)
        yield Restaurant(
            id=f"R{number:03d}",
            name=name,
            food=rng.choices(FOODS, range(len(FOODS), 0, -1))[0],
            area=area,
            address=_address(rng),
            price_range=rng.choice(list(_NIGHT)),
            position=_position(rng, area),
            hours=_hours(rng),
        )


def _hours(rng: random.Random) -> dict[Day, tuple[int, int]]:
    """Open on 5 to 7 days; on Friday and Saturday often for longer. All on the half hour, and closed before midnight."""
    opens = rng.randrange(7 * HOUR, 18 * HOUR + 30, 30)
    closes = min(23 * HOUR + 30, opens + rng.randrange(4 * HOUR, 10 * HOUR + 30, 30))
    later = rng.choice((0, 0, 30, 60))
    closed = set(rng.sample(DAYS, rng.choice((0, 0, 1, 2))))
    return {
        day: (opens, min(23 * HOUR + 30, closes + later) if day in ("friday", "saturday") else closes)
        for day in DAYS
        if day not in closed
    }


def _attractions(rng: random.Random, n: int) -> Iterator[Attraction]:
    kinds: dict[AttractionKind, Iterator[str]] = {
        kind: _names(rng, ATTRACTION_STARTS, ATTRACTION_ENDS[kind]) for kind in ATTRACTION_KINDS
    }
    for number in range(1, n + 1):
        kind, area = rng.choice(ATTRACTION_KINDS), _area(rng, centre=5)
        yield Attraction(
            id=f"A{number:03d}",
            name=next(kinds[kind]),
            kind=kind,
            area=area,
            address=_address(rng),
            fee=rng.choice((0, 0, 0, rng.randrange(200, 1600, 50))),
            position=_position(rng, area),
        )
