"""The town and what is in it. Money is in pence, times in minutes since midnight, positions in metres.

`shown()` of each thing is what a function call about it returns and what a prompt prints: money and times written out.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, TypeAlias

import msgspec

from tasks.travel.clock import clock
from tasks.travel.vocabulary import Area, AttractionKind, Day, Food, HotelKind, PriceRange, RoomKind


def pounds(pence: int) -> str:
    """An amount written out, such as `17.10`."""
    return f"{pence / 100:.2f}"


class Position(msgspec.Struct, frozen=True):
    """Metres east (`x`) and north (`y`) of the south-west corner of the map."""

    x: int
    y: int

    def shown(self) -> dict[str, int]:
        return {"x": self.x, "y": self.y}


class Station(msgspec.Struct, frozen=True):
    """A station; where it is on the globe (degrees) decides when the sun sets there."""

    name: str
    latitude: float
    longitude: float


class Train(msgspec.Struct, frozen=True):
    """One departure. `standard`, `first`: price of a one-way ticket by class. It arrives on the day it leaves."""

    id: str
    departure: str
    destination: str
    day: Day
    leaves: int
    arrives: int
    standard: int
    first: int

    def shown(self) -> dict[str, str]:
        """Without its route and day, which all trains of a result share."""
        return {
            "id": self.id,
            "leaves": clock(self.leaves),
            "arrives": clock(self.arrives),
            "standard_class": f"{pounds(self.standard)} pounds",
            "first_class": f"{pounds(self.first)} pounds",
        }


class Hotel(msgspec.Struct, frozen=True):
    """A hotel or guesthouse. `rooms`: price of a room per night, by kind."""

    id: str
    name: str
    kind: HotelKind
    area: Area
    address: str
    price_range: PriceRange
    stars: int
    position: Position
    rooms: dict[RoomKind, int]

    def shown(self) -> dict[str, Any]:
        rooms = {kind: f"{pounds(price)} pounds" for kind, price in self.rooms.items()}
        return {
            "id": self.id,
            "name": self.name,
            "type": self.kind,
            "area": self.area,
            "address": self.address,
            "price_range": self.price_range,
            "stars": self.stars,
            "location": self.position.shown(),
            "room_per_night": rooms,
        }


class Restaurant(msgspec.Struct, frozen=True):
    """A restaurant. `hours`: from when to when it is open, before midnight; days on which it is closed are not in there."""

    id: str
    name: str
    food: Food
    area: Area
    address: str
    price_range: PriceRange
    position: Position
    hours: dict[Day, tuple[int, int]]

    def shown(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "food": self.food,
            "area": self.area,
            "address": self.address,
            "price_range": self.price_range,
            "location": self.position.shown(),
            "opening_hours": {day: f"{clock(opens)}-{clock(closes)}" for day, (opens, closes) in self.hours.items()},
        }


class Attraction(msgspec.Struct, frozen=True):
    """Something to see. `fee`: entrance in pence, 0 for free."""

    id: str
    name: str
    kind: AttractionKind
    area: Area
    address: str
    fee: int
    position: Position

    def shown(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "type": self.kind,
            "area": self.area,
            "address": self.address,
            "entrance_fee": f"{pounds(self.fee)} pounds" if self.fee else "free",
            "location": self.position.shown(),
        }


Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=5000)]


class Size(msgspec.Struct, frozen=True):
    """How many of each there are; the defaults are about those of MultiWOZ."""

    stations: Annotated[int, msgspec.Meta(ge=2, le=200)] = 13
    hotels: Count = 33
    restaurants: Count = 110
    attractions: Count = 79


class Town(msgspec.Struct, frozen=True):
    """A town and the trains between it and its neighbours. The first station is the town's own.

    Attributes:
        trains: of every route on every day, in order of leaving, those of a route and day together.
    """

    seed: str
    size: Size
    stations: tuple[Station, ...]
    trains: tuple[Train, ...]
    hotels: tuple[Hotel, ...]
    restaurants: tuple[Restaurant, ...]
    attractions: tuple[Attraction, ...]

    @property
    def name(self) -> str:
        return self.stations[0].name

    def route(self, departure: str, destination: str, day: Day) -> list[Train]:
        """The trains of a route on a day, in order of leaving."""
        return [
            train
            for train in self.trains
            if train.day == day and train.departure == departure and train.destination == destination
        ]

    def digest(self) -> str:
        """Content hash: says whether a town made again is the same town."""
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()[:16]
