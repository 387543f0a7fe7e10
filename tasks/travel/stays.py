"""A problem about hotels: what a stay costs, when some of the guests come or go on another day than the rest."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta

import msgspec

from tasks.travel.answers.quantities import Amount
from tasks.travel.clock import written
from tasks.travel.task import Drawn, TravelTask, templates
from tasks.travel.town import Hotel, Town, pounds
from tasks.travel.vocabulary import PEOPLE, Area, RoomKind
from tasks.travel.wording import bullets, listed

CAPACITY: dict[RoomKind, int] = {"single": 1, "double": 2, "family": 4}


class Guest(msgspec.Struct, frozen=True):
    """Who stays, from which day to which; days are counted from the day of check-in."""

    name: str
    arrives: int
    leaves: int


class Room(msgspec.Struct, frozen=True):
    """A room at so many pence a night, and its guests."""

    kind: RoomKind
    price: int
    guests: tuple[Guest, ...]


def stay_price(rooms: Iterable[Room]) -> int:
    """What a stay costs, in pence: each room from the first arrival to the last departure of its guests."""
    return sum(
        room.price * (max(guest.leaves for guest in room.guests) - min(guest.arrives for guest in room.guests))
        for room in rooms
    )


class HotelPrice(TravelTask):
    """Two to six people in rooms of several kinds for two to seven nights; some come or go a day before or after."""

    name = "travel-hotel"
    summary = "the price of a stay in a hotel"
    scoring = "equal in whole pounds: 1 or 0"
    form = Amount()
    answer_form = Amount.wanted
    prompts = templates("hotel")
    domains = ("hotels",)

    def draw(self, town: Town, today: date, rng: random.Random) -> Drawn | None:
        hotel = rng.choice(town.hotels)
        nights = rng.randint(2, 7)
        names = rng.sample(PEOPLE, rng.randint(2, 6))
        changed = rng.sample(names, 0 if len(names) == 2 else rng.randint(0, max(1, len(names) // 2 - 1)))
        guests = [_guest(name, nights, rng if name in changed else None) for name in names]
        rooms = list(_rooms(hotel, guests, rng))
        check_in = today + timedelta(rng.randint(1, 40))
        told = [_sharing(room) for room in rooms] + [
            _change(guest, nights) for guest in guests if guest.name in changed
        ]
        return Drawn(
            facts={"hotel": hotel.id, "nights": nights, "rooms": rooms},
            target=pounds(stay_price(rooms)),
            slots={
                "hotel": hotel.name,
                "kind": hotel.kind,
                "area": hotel.area,
                "where": where(hotel.area),
                "price_range": hotel.price_range,
                "stars": str(hotel.stars),
                "address": hotel.address,
                "nights": str(nights),
                "check_in": written(check_in),
                "check_out": written(check_in + timedelta(nights)),
                "prices": listed(
                    [f"a {kind} room costs {pounds(price)} pounds" for kind, price in hotel.rooms.items()]
                ),
                "guests": " ".join(told),
                "guest_shards": bullets(told),
            },
            strata={"people": len(names), "exceptions": len(changed)},
        )


def where(area: Area) -> str:
    """The area in a sentence."""
    return "in the centre of town" if area == "centre" else f"in the {area} of town"


def _guest(name: str, nights: int, rng: random.Random | None) -> Guest:
    """A guest of the whole stay, or (`rng`) one who comes or goes a day before or after."""
    arrives, leaves = rng.choice(((-1, 0), (1, 0), (0, -1), (0, 1))) if rng else (0, 0)
    return Guest(name, arrives, nights + leaves)


def _rooms(hotel: Hotel, guests: Sequence[Guest], rng: random.Random) -> Iterator[Room]:
    """Rooms of random kinds that can be filled, one after the other; whoever is left over gets the smallest kind there is."""
    while guests:
        full = [kind for kind in hotel.rooms if CAPACITY[kind] <= len(guests)]
        kind = rng.choice(full) if full else min(hotel.rooms, key=CAPACITY.__getitem__)
        yield Room(kind, hotel.rooms[kind], tuple(guests[: CAPACITY[kind]]))
        guests = guests[CAPACITY[kind] :]


def _sharing(room: Room) -> str:
    names = listed([guest.name for guest in room.guests])
    return f"{names} {'has' if len(room.guests) == 1 else 'share'} a {room.kind} room."


def _change(guest: Guest, nights: int) -> str:
    if guest.arrives:
        return f"{guest.name} arrives one day {'before' if guest.arrives < 0 else 'after'} the check-in date."
    return f"{guest.name} leaves one day {'before' if guest.leaves < nights else 'after'} the check-out date."
