"""A problem about restaurants: which of them are open when somebody wants to eat."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import date

from tasks.travel.answers.form import Frame
from tasks.travel.answers.names import NameSet
from tasks.travel.clock import DAY, HOUR, clock
from tasks.travel.stays import where
from tasks.travel.task import Drawn, TravelTask, templates
from tasks.travel.town import Restaurant, Town
from tasks.travel.vocabulary import DAYS, Day
from tasks.travel.wording import bullets

Hours = tuple[int, int]

#: How the wanted time [a, b] can lie to the opening hours [c, d] of one restaurant: Allen's thirteen relations.
RELATIONS: Mapping[str, Callable[[int, int, int, int], bool]] = {
    "equals": lambda a, b, c, d: a == c and b == d,
    "starts": lambda a, b, c, d: a == c and b < d,
    "is started by": lambda a, b, c, d: a == c and b > d,
    "finishes": lambda a, b, c, d: a > c and b == d,
    "is finished by": lambda a, b, c, d: a < c and b == d,
    "during": lambda a, b, c, d: a > c and b < d,
    "contains": lambda a, b, c, d: a < c and b > d,
    "overlaps": lambda a, b, c, d: a < c < b < d,
    "is overlapped by": lambda a, b, c, d: c < a < d < b,
    "meets": lambda a, b, c, d: b == c,
    "is met by": lambda a, b, c, d: a == d,
    "precedes": lambda a, b, c, d: b < c,
    "is preceded by": lambda a, b, c, d: a > d,
}

#: The wanted time is on the quarter hour, takes one to twelve hours, and ends at two in the morning at most.
_EARLIEST, _LATEST, _SHORTEST, _LONGEST = 6 * HOUR, DAY + 2 * HOUR, HOUR, 12 * HOUR


def open_throughout(hours: Hours | None, start: int, end: int) -> bool:
    """Open for the whole time; hours are those of the day asked about, None if closed."""
    return hours is not None and hours[0] <= start and end <= hours[1]


def open_for_an_hour(hours: Hours | None, start: int, end: int) -> bool:
    """Open for at least an hour of the time."""
    return hours is not None and min(end, hours[1]) - max(start, hours[0]) >= HOUR


class OpeningHours(TravelTask):
    """Which restaurants of a kind in an area are open for the whole of a time, or else for at least an hour of it."""

    name = "travel-opening"
    summary = "which restaurants are open at a given time"
    scoring = "precision of the named restaurants"
    form = NameSet()
    answer_form = NameSet.wanted
    binary = False
    prompts = templates("opening")
    domains = ("restaurants",)

    def draw(self, town: Town, today: date, rng: random.Random) -> Drawn | None:
        """The whole time is asked for if any restaurant is open for all of it, else an hour of it (perhaps none is)."""
        chosen, day = rng.choice(town.restaurants), rng.choice(DAYS)
        alike = [each for each in town.restaurants if (each.food, each.area) == (chosen.food, chosen.area)]
        relation = rng.choice(list(RELATIONS))
        if day not in chosen.hours or not 2 <= len(alike) <= 7 or not (times := _times(relation, chosen.hours[day])):
            return None
        start, end = rng.choice(times)
        throughout = any(open_throughout(each.hours.get(day), start, end) for each in alike)
        is_open = open_throughout if throughout else open_for_an_hour
        right = [each.name for each in alike if is_open(each.hours.get(day), start, end)]
        hours = [_hours(each, day) for each in alike]
        until = "midnight" if end == DAY else f"{clock(end)} the next morning" if end > DAY else clock(end)
        span = f"from {clock(start)} to {until}" if throughout else f"between {clock(start)} and {until}"
        return Drawn(
            facts={
                "day": day,
                "start": start,
                "end": end,
                "throughout": throughout,
                "relation": relation,
                "hours": {each.name: each.hours.get(day) for each in alike},
            },
            target=right,
            slots={
                "food": chosen.food.capitalize(),
                "food_argument": chosen.food,
                "area": chosen.area,
                "where": where(chosen.area),
                "day": day.capitalize(),
                "asked": f"{'for the whole time' if throughout else 'for at least an hour'} {span}",
                "count": str(len(alike)),
                "hours": "\n".join(hours),
                "hours_shards": bullets(hours),
            },
            strata={
                "asked": "throughout" if throughout else "an hour",
                "relation": relation,
                "restaurants": len(alike),
            },
            frame=Frame(tuple(each.name for each in alike)),
        )


def _times(relation: str, hours: Hours) -> list[tuple[int, int]]:
    """The times that stand in this relation to the hours."""
    holds = RELATIONS[relation]
    return [
        (start, end)
        for start in range(_EARLIEST, DAY, 15)
        for end in range(start + _SHORTEST, min(start + _LONGEST, _LATEST) + 15, 15)
        if holds(start, end, *hours)
    ]


def _hours(restaurant: Restaurant, day: Day) -> str:
    if day not in restaurant.hours:
        return f"{restaurant.name} is closed on {day.capitalize()}."
    opens, closes = restaurant.hours[day]
    return f"{restaurant.name} is open from {clock(opens)} to {clock(closes)} on {day.capitalize()}."
