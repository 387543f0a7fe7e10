"""Words that the generated town and its visitors are named with, and the closed lists that functions take as arguments."""

# ruff: noqa: SIM905 - lists of words are easier to read and to extend as text

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

Day: TypeAlias = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
Area: TypeAlias = Literal["centre", "north", "east", "south", "west"]
PriceRange: TypeAlias = Literal["cheap", "moderate", "expensive"]
HotelKind: TypeAlias = Literal["hotel", "guesthouse"]
RoomKind: TypeAlias = Literal["single", "double", "family"]
Food: TypeAlias = Literal[
    "british", "chinese", "french", "greek", "indian", "italian", "japanese", "korean", "lebanese", "mexican", "spanish",
    "thai", "turkish", "vietnamese",
]  # fmt: skip
AttractionKind: TypeAlias = Literal[
    "museum", "gallery", "park", "church", "theatre", "cinema", "college", "market", "pool", "tower"
]

DAYS: tuple[Day, ...] = get_args(Day)
AREAS: tuple[Area, ...] = get_args(Area)
PRICE_RANGES: tuple[PriceRange, ...] = get_args(PriceRange)
HOTEL_KINDS: tuple[HotelKind, ...] = get_args(HotelKind)
ROOM_KINDS: tuple[RoomKind, ...] = get_args(RoomKind)
FOODS: tuple[Food, ...] = get_args(Food)
ATTRACTION_KINDS: tuple[AttractionKind, ...] = get_args(AttractionKind)

PEOPLE = (
    "Ada Bruno Carla Dev Elena Felix Greta Hugo Ines Jonas Kira Leon Mira Nadia Oscar Paula Quinn Rosa Samir Tilda Uwe "
    "Vera Wanda Yusuf Zoe Amir Bella Cyrus Dora Emil"
).split()

STATION_STARTS = (
    "Alder Amber Birch Black Bram Clover Copper Cray Dun East Elm Fair Fern Glen Harrow Heath Holm Kings Lang Lark Marl "
    "Mill North Oaken Otter Penn Raven Salt Silver Stone Thorn Under Wester Whit Wren Yar"
).split()
STATION_ENDS = (
    "bridge burn bury combe dale ferry field ford gate ham hurst leigh mere port stead ton wick worth".split()
)

STREETS = (
    "Abbey Lane, Bell Street, Castle Road, Chapel Row, Church Lane, Corn Street, Elm Grove, Ferry Road, Garden Walk, "
    "High Street, King's Parade, Lime Avenue, Market Hill, Mill Road, Orchard Way, Park Terrace, Queen Street, River Lane, "
    "Station Road, Tanner Row, Union Street, Victoria Road, Well Lane, York Street"
).split(", ")

HOTEL_STARTS = (
    "Acorn Ashby Beacon Bellview Cedar Crown Dovecote Eagle Finch Garland Hawthorn Ivy Juniper Kestrel Lantern Maple Nettle "
    "Orchard Pine Regent Swan Tudor Victoria Willow"
).split()
HOTEL_ENDS = "House,Lodge,Inn,Court,Rooms,Manor,Arms,Villa".split(",")

RESTAURANT_STARTS = (
    "Amber Basil Blue Brass Cinnamon Clay Copper Coral Crimson Curious Fennel Ginger Golden Hidden Honey Ivory Jade Jolly "
    "Lemon Little Lucky Mellow Midnight Olive Pepper Quiet Red Royal Saffron Scarlet Silver Smoky Sunny Velvet Wandering"
).split()
RESTAURANT_ENDS = (
    "Anchor,Bowl,Cellar,Dragon,Elephant,Fig,Fork,Garden,Goose,Kettle,Kitchen,Ladle,Lotus,Oven,Pan,Pearl,Plate,Spoon,Table,Terrace"
).split(",")

ATTRACTION_STARTS = (
    "Abbot Barnaby Calder Darnley Ellison Fenwick Grantham Hartley Ingram Jarrow Kelmscott Lindley Merton Norbury Orwell "
    "Pemberton Quayle Radcliffe Selwyn Thornton Upton Verity Wexford Yardley"
).split()
ATTRACTION_ENDS: dict[AttractionKind, tuple[str, ...]] = {
    "museum": ("Museum",),
    "gallery": ("Gallery",),
    "park": ("Park", "Gardens"),
    "church": ("Church", "Chapel"),
    "theatre": ("Theatre", "Playhouse"),
    "cinema": ("Cinema",),
    "college": ("College",),
    "market": ("Market", "Arcade"),
    "pool": ("Pool",),
    "tower": ("Tower",),
}
