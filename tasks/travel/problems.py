"""The eight problems by task name."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.travel.meals import OpeningHours
from tasks.travel.places import Direction, Distance, WalkingPath
from tasks.travel.stays import HotelPrice
from tasks.travel.task import TravelTask
from tasks.travel.trains import DepartureFrequency, DepartureTime, TicketPrice

TRAVEL_TASKS: Mapping[str, type[TravelTask]] = {
    task.name: task
    for task in (
        TicketPrice,
        HotelPrice,
        DepartureTime,
        DepartureFrequency,
        OpeningHours,
        Distance,
        Direction,
        WalkingPath,
    )
}
