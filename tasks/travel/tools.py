"""The functions an assistant can call, by domain, each carried out against the town.

A search returns what is there; a booking always succeeds for something that exists, and gives no price away.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from tasks.nouns import Message, ToolCall
from tasks.travel.clock import minutes
from tasks.travel.functions import CallError, Function
from tasks.travel.town import Attraction, Hotel, Restaurant, Town, Train
from tasks.travel.vocabulary import Area, AttractionKind, Day, Food, HotelKind, PriceRange, RoomKind

#: Most things of one search that are listed.
PAGE = 20

T = TypeVar("T", Hotel, Restaurant, Attraction, Train)

Clock = Annotated[str, Meta(description="Time of day, HH:MM, 24 hours.")]
StationName = Annotated[str, Meta(description="Name of a station, or a part of it.")]
PlaceName = Annotated[str, Meta(description="Name, or a part of it.")]
Date = Annotated[str, Meta(description="Date, YYYY-MM-DD.")]
People = Annotated[int, Meta(description="Number of people.", ge=1)]


class Ticket(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one passenger needs."""

    return_ticket: bool = False
    first_class: bool = False
    discount: Annotated[int, Meta(description="Discount in percent.", ge=0, le=100)] = 0


class Room(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One room and its guests."""

    type: RoomKind
    guests: People
    check_in: Date
    check_out: Date


# -- trains ---------------------------------------------------------------------------------------------------------------


def find_trains(
    town: Town,
    departure: StationName,
    destination: StationName,
    day: Day,
    leaves_after: Clock | None = None,
    leaves_before: Clock | None = None,
    arrives_before: Clock | None = None,
) -> Any:
    """Find the trains between two stations on a day of the week, with times and the price of a one-way ticket."""
    start, end = _station(town, departure), _station(town, destination)
    earliest, latest, arrival = _moment(leaves_after, 0), _moment(leaves_before), _moment(arrives_before)
    fitting = [
        train.shown()
        for train in town.route(start, end, day)
        if earliest <= train.leaves <= latest and train.arrives <= arrival
    ]
    return {"departure": start, "destination": end, "day": day, "trains": fitting}


def buy_train_tickets(
    town: Town,
    train_id: str,
    tickets: Annotated[list[Ticket], Meta(description="One for each passenger.", min_length=1)],
) -> Any:
    """Buy tickets for one train."""
    train = _with_id(town.trains, "train", train_id)
    return _confirmed(train.id, msgspec.to_builtins(tickets))


# -- hotels ---------------------------------------------------------------------------------------------------------------


def find_hotels(
    town: Town,
    name: PlaceName | None = None,
    area: Area | None = None,
    type: HotelKind | None = None,
    price_range: PriceRange | None = None,
) -> Any:
    """Find hotels and guesthouses, with the price of each kind of room per night."""
    found = _matching(town.hotels, name, area=area, kind=type, price_range=price_range)
    return _page("hotels", found)


def book_hotel(
    town: Town, hotel_id: str, rooms: Annotated[list[Room], Meta(description="One for each room.", min_length=1)]
) -> Any:
    """Book rooms in one hotel."""
    hotel = _with_id(town.hotels, "hotel", hotel_id)
    missing = {room.type for room in rooms} - hotel.rooms.keys()
    if missing:
        raise CallError(f"{hotel.name} has no {', '.join(sorted(missing))} room; it has {', '.join(hotel.rooms)}")
    return _confirmed(hotel.id, msgspec.to_builtins(rooms))


# -- restaurants ----------------------------------------------------------------------------------------------------------


def find_restaurants(
    town: Town,
    name: PlaceName | None = None,
    area: Area | None = None,
    food: Food | None = None,
    price_range: PriceRange | None = None,
) -> Any:
    """Find restaurants, with their opening hours; a day that is not listed is a day on which they are closed."""
    found = _matching(town.restaurants, name, area=area, food=food, price_range=price_range)
    return _page("restaurants", found)


def reserve_table(town: Town, restaurant_id: str, date: Date, time: Clock, guests: People) -> Any:
    """Reserve a table in one restaurant."""
    restaurant = _with_id(town.restaurants, "restaurant", restaurant_id)
    return _confirmed(restaurant.id, [date, minutes_of(time), guests])


# -- attractions ----------------------------------------------------------------------------------------------------------


def find_attractions(
    town: Town, name: PlaceName | None = None, area: Area | None = None, type: AttractionKind | None = None
) -> Any:
    """Find things to see, with their entrance fee."""
    return _page("attractions", _matching(town.attractions, name, area=area, kind=type))


#: Domain -> the function that looks things up, and the one that books them.
SEARCHES: Mapping[str, Function] = {
    "trains": Function(find_trains),
    "hotels": Function(find_hotels),
    "restaurants": Function(find_restaurants),
    "attractions": Function(find_attractions),
}
BOOKINGS: Mapping[str, Function] = {
    "trains": Function(buy_train_tickets),
    "hotels": Function(book_hotel),
    "restaurants": Function(reserve_table),
}
DOMAINS = tuple(SEARCHES)
_BY_NAME = {function.name: function for function in (*SEARCHES.values(), *BOOKINGS.values())}


def schemas(domains: Iterable[str]) -> tuple[Mapping[str, Any], ...]:
    """The schemas of the functions of some domains."""
    return tuple(kind[domain].schema for domain in domains for kind in (SEARCHES, BOOKINGS) if domain in kind)


def carry_out(town: Town, call: ToolCall) -> Any:
    """The result of a call in JSON types; of one that cannot be carried out, `{"error": …}`."""
    function = _BY_NAME.get(call.name)
    if function is None:
        return {"error": f"there is no function {call.name!r}; there are {', '.join(_BY_NAME)}"}
    try:
        return function(town, call.arguments)
    except CallError as error:
        return {"error": str(error)}


def looked_up(town: Town, calls: Iterable[ToolCall]) -> dict[str, dict[str, Any]]:
    """All that the searches among some calls find, by domain; nothing twice."""
    found: dict[str, dict[str, Any]] = {}
    domains = {function.name: domain for domain, function in SEARCHES.items()}
    for call in calls:
        if domain := domains.get(call.name):
            known = found.setdefault(domain, {})
            for key, value in carry_out(town, call).items():
                fresh = isinstance(value, list) and [item for item in value if item not in known.get(key, [])]
                known[key] = known.get(key, []) + fresh if isinstance(value, list) else value
    return found


def result_message(town: Town, call: ToolCall) -> Message:
    """The tool message that answers a call."""
    result = msgspec.json.encode(carry_out(town, call)).decode()
    return Message("tool", result, tool_call_id=call.id, name=call.name)


# -- small parts ----------------------------------------------------------------------------------------------------------


def minutes_of(time: str) -> int:
    """Minutes since midnight of an argument. Raises `CallError`."""
    try:
        return minutes(time)
    except ValueError as error:
        raise CallError(str(error)) from error


def _moment(time: str | None, otherwise: int = 24 * 60) -> int:
    return otherwise if time is None else minutes_of(time)


def _station(town: Town, name: str) -> str:
    """The one station of this name, or with this in its name."""
    wanted = name.strip().lower()
    exact = [station.name for station in town.stations if station.name.lower() == wanted]
    found = exact or [station.name for station in town.stations if wanted and wanted in station.name.lower()]
    if len(found) != 1:
        names = ", ".join(found or [station.name for station in town.stations])
        raise CallError(f"{len(found)} stations are named like {name!r}; {'these' if found else 'there'} are {names}")
    return found[0]


def _matching(things: Iterable[T], name: str | None, **wanted: str | None) -> list[T]:
    """Those with this in their name, and with these values where one is given."""
    part = (name or "").strip().lower()
    return [
        thing
        for thing in things
        if part in getattr(thing, "name", "").lower()
        and all(value is None or getattr(thing, field) == value for field, value in wanted.items())
    ]


def _page(kind: str, found: Sequence[Hotel | Restaurant | Attraction]) -> dict[str, Any]:
    """A result of bounded length: a search for everything must not flood the conversation."""
    page: dict[str, Any] = {kind: [thing.shown() for thing in found[:PAGE]]}
    return page | {"left_out": len(found) - PAGE, "hint": "narrow the search"} if len(found) > PAGE else page


def _with_id(things: Iterable[T], kind: str, id: str) -> T:
    found = next((thing for thing in things if thing.id == id.strip()), None)
    if found is None:
        raise CallError(f"there is no {kind} with the id {id!r}")
    return found


def _confirmed(id: str, what: Any) -> dict[str, Any]:
    """A booking that went through; the same booking has the same reference."""
    reference = hashlib.sha256(msgspec.json.encode([id, what])).hexdigest()[:8].upper()
    return {"booked": True, "reference": reference}
