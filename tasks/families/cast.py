"""Who and what word problems are about: people with their pronouns, things with their plurals."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Person:
    """A name and its pronouns; in a template `{A}` is the name, `{A.he}` the pronoun, `{A.He}` the same at a start."""

    name: str
    he: str
    his: str
    him: str

    def __str__(self) -> str:
        return self.name

    @property
    def He(self) -> str:
        return self.he.title()

    @property
    def His(self) -> str:
        return self.his.title()


@dataclass(frozen=True)
class Thing:
    """Something that is counted; in a template `{toys}` is the plural and `{toys.one}` the singular."""

    many: str
    one: str

    def __str__(self) -> str:
        return self.many


_WOMEN = (
    "Ana Bea Carla Dina Emma Fatima Greta Hana Ines Julia Kira Lena Mia Nora Olga Priya Rosa Sara Tess Vera Yara Zoe"
)
_MEN = "Adam Ben Carlos David Erik Felix Gabriel Hugo Ivan Jonas Karim Leo Marco Noah Omar Paul Ravi Samuel Tom Victor Yusuf"

PEOPLE = (
    *(Person(name, "she", "her", "her") for name in _WOMEN.split()),
    *(Person(name, "he", "his", "him") for name in _MEN.split()),
)


def _things(*words: str) -> tuple[Thing, ...]:
    """Things whose plural adds an s; `plural/singular` where it does not."""
    split = (word.partition("/") for word in words)
    return tuple(Thing(many, one or many.removesuffix("s")) for many, _, one in split)


FRUIT = _things("apples", "pears", "plums", "oranges", "peaches/peach", "lemons", "mangoes/mango", "apricots")
BAKED = _things("muffins", "cookies", "bagels", "buns", "pretzels", "scones", "cupcakes", "croissants")
TOYS = _things(
    "marbles", "stickers", "toy cars", "puzzle pieces", "trading cards", "beads", "building blocks", "stamps"
)
STATIONERY = _things("pens", "notebooks", "folders", "markers", "rulers", "erasers")
GROCERIES = _things(
    "melons", "cartons of milk/carton of milk", "jars of jam/jar of jam", "pineapples", "loaves of bread/loaf of bread"
)
SNACKS = ("a sandwich", "lunch", "a magazine", "a bus ticket", "a cinema ticket", "a poster")
TREATS = ("a kite", "a board game", "a scarf", "a football", "a pair of headphones", "a rucksack")
SHOWS = ("school play", "choir concert", "talent show", "puppet show", "spring concert", "magic show")
TRIPS = ("museum trip", "ski trip", "camping trip", "zoo trip", "theatre trip", "boat trip")
STOPS = (
    *(
        "Mill Lane",
        "Station Road",
        "the town hall",
        "Oak Street",
        "the harbour",
        "the library",
        "Castle Hill",
        "the stadium",
    ),
    *("Market Square", "the old bridge", "Park Avenue", "the hospital", "Church Street", "the swimming pool"),
)
