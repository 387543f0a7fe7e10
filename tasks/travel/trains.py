"""Three problems about trains: what the tickets cost, the last train before sunset, and how often trains leave."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import msgspec

from tasks.travel.answers.choices import TimeOfDay
from tasks.travel.answers.form import Frame
from tasks.travel.answers.quantities import Amount, Interval
from tasks.travel.clock import HOUR, clock, sunset, weekday, written
from tasks.travel.task import Drawn, TravelTask, templates
from tasks.travel.town import Town, Train, pounds
from tasks.travel.vocabulary import PEOPLE
from tasks.travel.wording import bullets, listed

# -- the price of tickets -------------------------------------------------------------------------------------------------


class Traveller(msgspec.Struct, frozen=True):
    """Who travels, and on what ticket. `discount` in percent."""

    name: str
    returns: bool
    first: bool
    discount: int = 0


def ticket_price(standard: int, first: int, travellers: Iterable[Traveller]) -> Decimal:
    """What all tickets cost, in pounds and exactly; the prices of one way are in pence.

    A return costs twice a single, and a discount is taken off all of it.
    """
    hundredths = sum(
        (first if each.first else standard) * (2 if each.returns else 1) * (100 - each.discount) for each in travellers
    )
    return Decimal(hundredths) / 10_000


class TicketPrice(TravelTask):
    """Two to six people on one train, each with a ticket of their own kind."""

    name = "travel-ticket"
    summary = "the price of train tickets of several kinds"
    scoring = "equal in whole pounds: 1 or 0"
    form = Amount()
    answer_form = Amount.wanted
    prompts = templates("ticket")
    domains = ("trains",)

    def draw(self, town: Town, today: date, rng: random.Random) -> Drawn | None:
        """The train is the only one within ten minutes, and the total is not half-way between whole pounds."""
        train = rng.choice(town.trains)
        after = train.leaves // 5 * 5 - rng.choice((0, 5))
        near = [other for other in town.route(train.departure, train.destination, train.day) if _within(other, after)]
        travellers = [_traveller(name, rng) for name in rng.sample(PEOPLE, rng.randint(2, 6))]
        total = ticket_price(train.standard, train.first, travellers)
        if near != [train] or abs(total % 1 - Decimal("0.5")) < Decimal("0.02"):
            return None
        return Drawn(
            facts={
                "train": train.id,
                "standard": train.standard,
                "first": train.first,
                "travellers": travellers,
            },
            target=str(total),
            slots=_route_slots(train)
            | {
                "train": train.id,
                "leaves": clock(train.leaves),
                "arrives": clock(train.arrives),
                "after": clock(after),
                "before": clock(after + 10),
                "standard": pounds(train.standard),
                "first": pounds(train.first),
                "people": " ".join(_needs(travellers)),
                "person_shards": bullets([_need([each]) for each in travellers]),
            },
            strata={"people": len(travellers)},
        )


def _within(train: Train, after: int) -> bool:
    return after <= train.leaves <= after + 10


def _traveller(name: str, rng: random.Random) -> Traveller:
    discount = rng.choice((20, 33, 50, 60)) if rng.random() < 0.5 else 0
    return Traveller(name, returns=rng.random() < 0.5, first=rng.random() < 0.25, discount=discount)


def _needs(travellers: Sequence[Traveller]) -> list[str]:
    """A sentence for each kind of ticket."""
    kinds = dict.fromkeys((each.returns, each.first, each.discount) for each in travellers)
    return [_need([each for each in travellers if (each.returns, each.first, each.discount) == kind]) for kind in kinds]


def _need(alike: Sequence[Traveller]) -> str:
    one = alike[0]
    way = "return" if one.returns else "one-way"
    price = f"with a discount of {one.discount}%" if one.discount else "at full price"
    verb = "needs" if len(alike) == 1 else "each need"
    names = listed([each.name for each in alike])
    return f"{names} {verb} a {way} ticket in {'first' if one.first else 'standard'} class {price}."


def _route_slots(train: Train) -> dict[str, str]:
    return {
        "departure": train.departure,
        "destination": train.destination,
        "day": train.day.capitalize(),
        "day_argument": train.day,
    }


# -- the last train before sunset -----------------------------------------------------------------------------------------


def last_before(trains: Iterable[tuple[int, int]], latest: int) -> int | None:
    """When the last train leaves that arrives by `latest`; trains are (leaves, arrives) in minutes since midnight."""
    return max((leaves for leaves, arrives in trains if arrives <= latest), default=None)


#: Formulas for the sun agree to a minute, so no train arrives within two of it.
MARGIN = timedelta(minutes=2)


class DepartureTime(TravelTask):
    """The last of the trains on a route that arrives before the sun sets at its destination."""

    name = "travel-departure"
    summary = "the last train that arrives before sunset"
    scoring = "the same minute: 1 or 0"
    form = TimeOfDay()
    extraction = "rules"
    answer_form = TimeOfDay.wanted
    prompts = templates("departure")
    domains = ("trains",)

    def draw(self, town: Town, today: date, rng: random.Random) -> Drawn | None:
        """The traveller is free from two to six hours before sunset on; some trains are early enough and some are not."""
        route = rng.choice(town.trains)
        place = next(station for station in town.stations if station.name == route.destination)
        sets = sunset(place.latitude, place.longitude, today)
        latest = sets.hour * HOUR + sets.minute
        earliest = (latest - (rng.randint(1, 4) + 1) * HOUR - rng.randrange(0, HOUR, 5)) // 5 * 5
        trains = [
            train
            for train in town.route(route.departure, route.destination, weekday(today))
            if train.leaves >= earliest
        ]
        answer = last_before(((train.leaves, train.arrives) for train in trains), latest)
        if answer is None or answer == trains[-1].leaves or any(_too_near(train, sets) for train in trains):
            return None
        times = [(clock(train.leaves), clock(train.arrives)) for train in trains]
        return Drawn(
            facts={
                "date": today.isoformat(),
                "place": [place.latitude, place.longitude],
                "sunset": clock(latest),
                "earliest": clock(earliest),
                "trains": times,
            },
            target=clock(answer),
            slots={
                "departure": route.departure,
                "destination": route.destination,
                "date": written(today),
                "day_argument": weekday(today),
                "earliest": clock(earliest),
                "sunset": clock(latest),
                "count": str(len(trains)),
                "first": times[0][0],
                "timetable": ", ".join(f"{leaves} (arrives {arrives})" for leaves, arrives in times),
            },
            strata={"trains": len(trains)},
            frame=Frame(tuple(leaves for leaves, _ in times)),
        )


def _too_near(train: Train, sets: datetime) -> bool:
    midnight = sets.replace(hour=0, minute=0, second=0, microsecond=0)
    return abs(midnight + timedelta(minutes=train.arrives) - sets) < MARGIN


# -- how often trains leave -----------------------------------------------------------------------------------------------


def mean_interval(departures: Sequence[int]) -> Fraction:
    """Mean time from one departure to the next; departures in minutes, in order, at least two."""
    return Fraction(departures[-1] - departures[0], len(departures) - 1)


class DepartureFrequency(TravelTask):
    """How many minutes there are on average from one departure to the next in a part of the day."""

    name = "travel-frequency"
    summary = "how often trains leave on average"
    scoring = "1 / (1 + error / 5 minutes)"
    form = Interval()
    answer_form = Interval.wanted
    binary = False
    prompts = templates("frequency")
    domains = ("trains",)

    def draw(self, town: Town, today: date, rng: random.Random) -> Drawn | None:
        """A window of two to six hours on the half hour with at least four departures; their mean can be rounded in one way."""
        train = rng.choice(town.trains)
        start = rng.randrange(5 * HOUR, 20 * HOUR, 30)
        end = min(start + rng.randrange(2 * HOUR, 6 * HOUR + 30, 30), 23 * HOUR + 30)
        departures = [each.leaves for each in town.route(train.departure, train.destination, train.day)]
        counted = [leaves for leaves in departures if start <= leaves <= end]
        if len(counted) < 4 or (mean := mean_interval(counted)) * 10 % 1 == Fraction(1, 2):
            return None
        return Drawn(
            facts={"start": clock(start), "end": clock(end), "departures": [clock(leaves) for leaves in departures]},
            target=float(round(mean, 1)),
            slots=_route_slots(train)
            | {
                "start": clock(start),
                "end": clock(end),
                "count": str(len(departures)),
                "first": clock(departures[0]),
                "last": clock(departures[-1]),
                "departures": listed([clock(leaves) for leaves in departures]),
            },
            strata={"trains": len(counted)},
        )
