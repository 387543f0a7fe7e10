"""The functions an assistant can call: their schemas, and what they do with what models really send."""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.nouns import ToolCall
from tasks.registry import get_task
from tasks.travel.building import build_town
from tasks.travel.functions import Function
from tasks.travel.tools import BOOKINGS, DOMAINS, PAGE, SEARCHES, carry_out, schemas
from tasks.travel.town import Size, Town

Json = Any


@pytest.fixture(scope="module")
def town() -> Town:
    return build_town("5", Size())


def call(town: Town, function: str, **arguments: Json) -> Json:
    return carry_out(town, ToolCall("c", function, json.dumps(arguments)))


class Leg(msgspec.Struct):
    """One leg."""

    to: str
    km: int = 1


def plan_trip(
    town: Town,
    legs: list[Leg],
    pace: Annotated[float, msgspec.Meta(description="Speed.", gt=0)],
    note: str | None = None,
) -> Json:
    """Plan a trip."""
    return [[leg.to, leg.km, pace, note] for leg in legs]


def test_a_typed_function_becomes_a_schema() -> None:
    assert Function(plan_trip).schema == {
        "type": "function",
        "function": {
            "name": "plan_trip",
            "description": "Plan a trip.",
            "parameters": {
                "type": "object",
                "properties": {
                    "legs": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "description": "One leg.",
                            "properties": {"to": {"type": "string"}, "km": {"type": "integer", "default": 1}},
                            "required": ["to"],
                        },
                    },
                    "pace": {"type": "number", "description": "Speed.", "exclusiveMinimum": 0},
                    "note": {"type": "string"},
                },
                "required": ["legs", "pace"],
                "additionalProperties": False,
            },
        },
    }


def test_arguments_become_python_values(town: Town) -> None:
    planned = Function(plan_trip)(town, '{"legs": [{"to": "x", "km": "3"}], "pace": 4, "note": null}')
    assert planned == [["x", 3, 4.0, None]]


def test_schemas_are_plain_json_of_the_right_domains() -> None:
    everything = json.dumps(schemas(DOMAINS))
    assert "$ref" not in everything
    assert "anyOf" not in everything
    assert [each["function"]["name"] for each in schemas(["hotels"])] == ["find_hotels", "book_hotel"]
    assert len(schemas(DOMAINS)) == len(SEARCHES) + len(BOOKINGS) == 7


@pytest.mark.parametrize("schema", schemas(DOMAINS), ids=lambda schema: schema["function"]["name"])
def test_every_argument_is_described_or_speaks_for_itself(schema: Json) -> None:
    assert schema["function"]["description"].endswith(".")
    for name, each in schema["function"]["parameters"]["properties"].items():
        assert each["type"] in ("string", "integer", "array")
        assert "description" in each or "enum" in each or name.endswith("_id")


# -- searches -------------------------------------------------------------------------------------------------------------


def test_trains_are_those_of_the_route_and_time(town: Town) -> None:
    hub, other = town.stations[0].name, town.stations[4].name
    found = call(
        town,
        "find_trains",
        departure=hub,
        destination=other,
        day="friday",
        leaves_after="09:00",
        arrives_before="15:00",
    )
    right = [t.id for t in town.trains if (t.departure, t.destination, t.day) == (hub, other, "friday")]
    assert (found["departure"], found["destination"]) == (hub, other)
    assert {train["id"] for train in found["trains"]} < set(right)
    assert all(train["leaves"] >= "09:00" and train["arrives"] <= "15:00" for train in found["trains"])
    assert found["trains"]


def test_a_station_may_be_named_in_part_and_in_any_case(town: Town) -> None:
    hub, other = town.stations[0].name, town.stations[4].name
    found = call(town, "find_trains", departure=hub.upper(), destination=f" {other[:-2].lower()}", day="monday")
    assert found["destination"] == other


def test_hotels_match_all_that_is_asked(town: Town) -> None:
    found = call(town, "find_hotels", area="north", type="hotel", price_range=None)["hotels"]
    assert [hotel["id"] for hotel in found] == [h.id for h in town.hotels if (h.area, h.kind) == ("north", "hotel")]


def test_a_name_is_matched_in_part(town: Town) -> None:
    attraction = town.attractions[3]
    assert call(town, "find_attractions", name=attraction.name[1:-1])["attractions"] == [attraction.shown()]


def test_a_search_for_everything_is_cut_short_and_says_so(town: Town) -> None:
    found = call(town, "find_restaurants")
    assert len(found["restaurants"]) == PAGE
    assert found["left_out"] == len(town.restaurants) - PAGE


# -- bookings -------------------------------------------------------------------------------------------------------------


def test_a_booking_succeeds_and_gives_no_price_away(town: Town) -> None:
    hotel = town.hotels[0]
    room = {"type": next(iter(hotel.rooms)), "guests": 1, "check_in": "2025-03-01", "check_out": "2025-03-04"}
    first, again = (call(town, "book_hotel", hotel_id=hotel.id, rooms=[room]) for _ in range(2))
    assert first == again
    assert first.keys() == {"booked", "reference"}
    assert call(town, "buy_train_tickets", train_id=town.trains[0].id, tickets=[{"discount": 50}])["booked"]
    table = {"restaurant_id": town.restaurants[0].id, "date": "2025-03-01", "time": "19:30", "guests": 2}
    assert call(town, "reserve_table", **table)["booked"]


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("fly", "{}", "no function 'fly'; there are find_trains"),
        ("find_hotels", '{"area": "moon"}', "moon"),
        ("find_hotels", '{"stars": 3}', "stars"),
        ("find_hotels", '{"area": "north"', "arguments do not fit"),
        ("find_hotels", "[]", "object"),
        ("find_hotels", '{"name": "\ud800"}', "arguments do not fit"),
        ("\ud800", "{}", "no function"),
        ("find_hotels", "[" * 100_000, "arguments do not fit"),
        ("find_trains", '{"departure": "a", "day": "friday"}', "destination"),
        (
            "find_trains",
            '{"departure": "Nowhere", "destination": "", "day": "friday"}',
            "0 stations are named like 'Nowhere'",
        ),
        (
            "book_hotel",
            '{"hotel_id": "H999", "rooms": [{"type": "single", "guests": 1, "check_in": "", "check_out": ""}]}',
            "H999",
        ),
        ("book_hotel", '{"hotel_id": "H001", "rooms": []}', "rooms"),
        ("buy_train_tickets", '{"train_id": "TR0001", "tickets": [{"discount": 140}]}', "discount"),
        ("reserve_table", '{"restaurant_id": "R001", "date": "2025-01-01", "time": "7 pm", "guests": 2}', "09:05"),
    ],
)
def test_a_call_that_cannot_be_carried_out_says_why(town: Town, name: str, arguments: str, says: str) -> None:
    result = carry_out(town, ToolCall("c", name, arguments))
    assert result.keys() == {"error"}
    assert says in result["error"]


@settings(deadline=None, max_examples=300)
@given(name=st.sampled_from([each["function"]["name"] for each in schemas(DOMAINS)]), arguments=st.text())
def test_no_text_of_a_model_raises(name: str, arguments: str) -> None:
    json.dumps(carry_out(build_town("5", Size()), ToolCall("c", name, arguments)))


VALUES = (
    st.none()
    | st.integers()
    | st.text(max_size=5)
    | st.just("friday")
    | st.lists(st.dictionaries(st.text(), st.integers()))
)
ARGUMENTS = "name area day departure destination leaves_after hotel_id rooms tickets guests"


@settings(deadline=None, max_examples=100)
@given(
    name=st.sampled_from([each["function"]["name"] for each in schemas(DOMAINS)]),
    arguments=st.dictionaries(st.sampled_from(ARGUMENTS.split()), VALUES),
)
def test_no_object_of_a_model_raises(name: str, arguments: dict[str, Json]) -> None:
    json.dumps(carry_out(build_town("5", Size()), ToolCall("c", name, json.dumps(arguments))))


async def test_a_task_answers_a_call_with_a_tool_message() -> None:
    task = get_task("travel-hotel")
    (instance,) = task.generate(1, seed=5)
    hotel = instance.data["slots"]["hotel"]
    message = await task.use_tool(instance, ToolCall("id-7", "find_hotels", json.dumps({"name": hotel})))
    assert (message.role, message.tool_call_id, message.name) == ("tool", "id-7", "find_hotels")
    assert json.loads(message.content)["hotels"][0]["name"] == hotel
