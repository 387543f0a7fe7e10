"""Three problems about where things are: in which direction, how far, and in which order the walk is shortest."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import pairwise, permutations
from typing import TypeVar

from tasks.prompts import prompt
from tasks.travel.answers.choices import YesNo
from tasks.travel.answers.form import Frame
from tasks.travel.answers.names import NameOrder
from tasks.travel.answers.quantities import Metres
from tasks.travel.stays import CAPACITY, where
from tasks.travel.task import Drawn, TravelTask, templates
from tasks.travel.town import Attraction, Hotel, Position, Restaurant, Town
from tasks.travel.wording import bullets, listed

Place = TypeVar("Place", Attraction, Restaurant)


def distance(a: Position, b: Position) -> float:
    """Metres in a straight line."""
    return math.hypot(a.x - b.x, a.y - b.y)


def _at(place: Hotel | Restaurant | Attraction) -> str:
    return f"{place.name} is at x = {place.position.x}, y = {place.position.y}."


def _near(start: Position, places: Sequence[Place], rng: random.Random) -> Place:
    """One of the places, rather a near one: of five equal bands by distance, each is chosen 1/e as often as the one before."""
    by_distance = sorted(places, key=lambda place: distance(start, place.position))
    band = rng.choices(range(5), [math.exp(-number) for number in range(5)])[0]
    share = len(by_distance) / 5
    return rng.choice(by_distance[int(band * share) : int((band + 1) * share)] or by_distance)


def _booking(hotel: Hotel, today: date, rng: random.Random) -> dict[str, str]:
    """The words of a booking the dialogue makes on the way; it does not bear on the problem."""
    room = rng.choice(list(hotel.rooms))
    arrival = today + timedelta(rng.randint(0, 20))
    return {
        "hotel_id": hotel.id,
        "kind": hotel.kind,
        "stars": str(hotel.stars),
        "room": room,
        "guests": str(rng.randint(1, CAPACITY[room])),
        "check_in": arrival.isoformat(),
        "check_out": (arrival + timedelta(rng.randint(1, 6))).isoformat(),
    }


# -- direction ------------------------------------------------------------------------------------------------------------


def is_further(direction: str, there: Position, here: Position) -> bool:
    """Whether `there` lies further north, south, east or west than `here`, however little."""
    east, north = there.x - here.x, there.y - here.y
    return {"north": north, "south": -north, "east": east, "west": -east}[direction] > 0


class Direction(TravelTask):
    """Whether an attraction lies further in some direction than a restaurant in the same area."""

    name = "travel-direction"
    summary = "whether a place is further north, south, east or west than another"
    scoring = "the same, yes or no: 1 or 0"
    form = YesNo()
    extraction = "rules"
    answer_form = YesNo.wanted
    prompts = templates("direction")
    domains = ("restaurants", "attractions")

    def draw(self, town: Town, today: date, rng: random.Random) -> Drawn | None:
        """The two never have the same coordinate in the direction asked about."""
        restaurant, direction = rng.choice(town.restaurants), rng.choice(("north", "south", "east", "west"))
        near = [attraction for attraction in town.attractions if attraction.area == restaurant.area]
        if not near:
            return None
        attraction = rng.choice(near)
        here, there = restaurant.position, attraction.position
        if here.x == there.x or here.y == there.y:
            return None
        return Drawn(
            facts={"direction": direction, "attraction": [there.x, there.y], "restaurant": [here.x, here.y]},
            target="yes" if is_further(direction, there, here) else "no",
            slots={
                "restaurant": restaurant.name,
                "restaurant_x": str(here.x),
                "restaurant_y": str(here.y),
                "attraction": attraction.name,
                "attraction_x": str(there.x),
                "attraction_y": str(there.y),
                "direction": direction,
                "food": restaurant.food.capitalize(),
                "food_argument": restaurant.food,
                "area": restaurant.area,
                "where": where(restaurant.area),
                "price_range": restaurant.price_range,
                "kind": attraction.kind,
                "address": attraction.address,
            },
            strata={"direction": direction},
            frame=Frame((attraction.name, restaurant.name), about=direction),
        )


# -- distance -------------------------------------------------------------------------------------------------------------


class Distance(TravelTask):
    """How far it is from a hotel to a restaurant."""

    name = "travel-distance"
    summary = "the distance from a hotel to a restaurant"
    scoring = "1 / (1 + error / 500 metres)"
    form = Metres()
    answer_form = Metres.wanted
    binary = False
    prompts = templates("distance")
    domains = ("hotels", "restaurants")

    def draw(self, town: Town, today: date, rng: random.Random) -> Drawn | None:
        hotel = rng.choice(town.hotels)
        restaurant = _near(hotel.position, town.restaurants, rng)
        here, there = hotel.position, restaurant.position
        return Drawn(
            facts={"hotel": [here.x, here.y], "restaurant": [there.x, there.y]},
            target=round(distance(here, there), 1),
            slots=_booking(hotel, today, rng)
            | {
                "hotel": hotel.name,
                "hotel_x": str(here.x),
                "hotel_y": str(here.y),
                "hotel_area": hotel.area,
                "hotel_where": where(hotel.area),
                "hotel_price_range": hotel.price_range,
                "restaurant": restaurant.name,
                "restaurant_x": str(there.x),
                "restaurant_y": str(there.y),
                "restaurant_area": restaurant.area,
                "restaurant_where": where(restaurant.area),
                "restaurant_price_range": restaurant.price_range,
                "food": restaurant.food.capitalize(),
                "food_argument": restaurant.food,
            },
            strata={"kilometres": int(distance(here, there) // 1000)},
        )


# -- the shortest walk ----------------------------------------------------------------------------------------------------


def walk(start: Position, stops: Sequence[Position]) -> float:
    """Metres from the start through all stops in this order; there is no way back."""
    return sum(distance(a, b) for a, b in pairwise([start, *stops]))


#: The best order is shorter than the next by at least this share, so that rounding cannot turn them round.
GAP = 0.01

_WISHES = (
    "We would also like to see {name}.",
    "Can you tell me where {name} is?",
    "And then there is {name}, which we do not want to miss.",
    "My guidebook recommends {name}.",
)


class WalkingPath(TravelTask):
    """In which order two to four attractions are visited on the shortest walk from a hotel."""

    name = "travel-path"
    summary = "the order of sights on the shortest walk"
    scoring = "the same order: 1 or 0"
    form = NameOrder()
    answer_form = NameOrder.wanted
    prompts = templates("path", "path-stop")
    domains = ("hotels", "attractions")

    def draw(self, town: Town, today: date, rng: random.Random) -> Drawn | None:
        hotel = rng.choice(town.hotels)
        stops: list[Attraction] = []
        for _ in range(rng.randint(2, 4)):
            stops.append(_near(hotel.position, [each for each in town.attractions if each not in stops], rng))
        walks = sorted(permutations(stops), key=lambda order: walk(hotel.position, [each.position for each in order]))
        best, second = (walk(hotel.position, [each.position for each in order]) for order in walks[:2])
        if second - best < GAP * best:
            return None
        positions = [_at(hotel), *map(_at, stops)]
        return Drawn(
            facts={
                "hotel": [hotel.position.x, hotel.position.y],
                "stops": {each.name: [each.position.x, each.position.y] for each in stops},
            },
            target=[each.name for each in walks[0]],
            slots=_booking(hotel, today, rng)
            | {
                "hotel": hotel.name,
                "area": hotel.area,
                "where": where(hotel.area),
                "price_range": hotel.price_range,
                "attractions": listed([each.name for each in stops]),
                "positions": "\n".join(positions),
                "position_shards": bullets(positions),
                "stops": "\n".join(map(_stop, stops, rng.sample(_WISHES, len(stops)))),
            },
            strata={"stops": len(stops), "mentioned_so": "yes" if walks[0] == tuple(stops) else "no"},
            frame=Frame(tuple(each.name for each in stops)),
        )


def _stop(attraction: Attraction, wish: str) -> str:
    """The lines of a dialogue in which an attraction comes up."""
    return prompt("tasks", "travel/path-stop").fill(
        wish=wish.format(name=attraction.name),
        name=attraction.name,
        kind=attraction.kind,
        where=where(attraction.area),
        address=attraction.address,
    )
