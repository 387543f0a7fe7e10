"""Errands: requests that one to four function calls fulfil, put together from the words in `data/functions.toml`.

Each fact of an errand is the value of one parameter, of one call or of all calls alike, and is one shard. A call is told
from the others by its key (a restaurant, a city, …), so that every shard says by itself which call it is about and the
shards after the first may come in any order.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from tasks.errors import DatasetError
from tasks.nouns import Instance, Shard


class Parameter(msgspec.Struct, frozen=True, omit_defaults=True):
    """A parameter, as its function's document has it (without the last three), and the words for it.

    Attributes:
        say: words for a value inside the whole instruction; `fact`: what a shard says about a call. `{}` is the value.
        values: values to draw from; a pair is what the function gets, and what the user says.
    """

    type: str
    description: str
    say: str
    fact: str
    values: list[Any]
    enum: list[str] | msgspec.UnsetType = msgspec.UNSET
    items: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    properties: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    required: list[str] | msgspec.UnsetType = msgspec.UNSET
    default: Any = msgspec.UNSET

    def choices(self) -> list[tuple[Any, str]]:
        """Pairs of value and words."""
        return [(value[0], value[1]) if isinstance(value, list) else (value, str(value)) for value in self.values]

    def document(self) -> dict[str, Any]:
        """What a function's document says of it."""
        told = msgspec.to_builtins(self)
        return {key: value for key, value in told.items() if key not in ("say", "fact", "values")}


class Function(msgspec.Struct, frozen=True):
    """A function and the words for calls of it.

    Attributes:
        verb, one: "reserve", "table". `many`: its plural, if not with an s. `the`: what a fact is about, if not `one`.
        key: the parameter that tells its calls apart; `label`: a call by its key, "the table at {}".
    """

    name: str
    domain: str
    description: str
    verb: str
    one: str
    key: str
    label: str
    parameters: dict[str, Parameter]
    many: str = ""
    the: str = ""

    @property
    def document(self) -> dict[str, Any]:
        """The function as a model is told of it."""
        properties = {name: parameter.document() for name, parameter in self.parameters.items()}
        required = [name for name, parameter in self.parameters.items() if parameter.default is msgspec.UNSET]
        parameters = {"type": "object", "properties": properties, "required": required}
        return {"name": self.name, "description": self.description, "parameters": parameters}


@cache
def functions() -> tuple[Function, ...]:
    """All functions of the embedded data."""
    text = (resources.files("tasks") / "data" / "functions.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text)["functions"], tuple[Function, ...])


# -- what is wanted ---------------------------------------------------------------------------------------------------


class Fact(msgspec.Struct, frozen=True):
    """A value of one parameter, and how it is said. `call`: the key of the call it belongs to; None if it holds for all."""

    parameter: str
    value: Any
    words: str
    call: str | None


class Wish(msgspec.Struct, frozen=True):
    """Calls of one function that are wanted: their keys (as said), and the facts about them."""

    function: Function
    keys: tuple[str, ...]
    facts: tuple[Fact, ...]

    def clauses(self, key: str) -> str:
        """One call inside the whole instruction: "a table at Luna, for 4 people"."""
        own = [fact for fact in self.facts if fact.call == key]
        said = [self.function.parameters[fact.parameter].say.format(fact.words) for fact in own]
        return f"{_a(self.function.one)} {', '.join(said)}"

    def shard(self, fact: Fact) -> str:
        """One fact by itself: "The table at Luna is for 4 people."."""
        return f"{self._subject(fact)} {self.function.parameters[fact.parameter].fact.format(fact.words)}."

    def _subject(self, fact: Fact) -> str:
        thing = self.function.the or self.function.one
        if len(self.keys) == 1:
            return f"The {thing}"
        if fact.call is None:
            return f"Each {thing}"
        if fact.parameter == self.function.key:
            return f"One {thing}"
        return _capital(self.function.label.format(fact.call))

    def calls(self) -> list[dict[str, dict[str, list[Any]]]]:
        """The calls as a reference answer; a parameter nobody spoke of may be left out or at its default."""
        return [{self.function.name: self._allowed(key)} for key in self.keys]

    def _allowed(self, key: str) -> dict[str, list[Any]]:
        said = {fact.parameter: [_alternatives(fact.value)] for fact in self.facts if fact.call in (key, None)}
        unsaid = {name: [one.default, ""] for name, one in self.function.parameters.items() if name not in said}
        return {name: {**unsaid, **said}[name] for name in self.function.parameters}


def _alternatives(value: Any) -> Any:
    """An allowed value; inside an object each key has a list of its own."""
    return {key: [_alternatives(one)] for key, one in value.items()} if isinstance(value, dict) else value


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


# -- drawing ----------------------------------------------------------------------------------------------------------


def _wish(rng: random.Random, function: Function, calls: int) -> Wish:
    choices = function.parameters[function.key].choices()
    chosen = rng.sample(choices, min(calls, len(choices)))
    keys = tuple(words for _, words in chosen)
    facts = [Fact(function.key, value, words, words) for value, words in chosen]
    for name, parameter in function.parameters.items():
        if name != function.key:
            facts += _facts(rng, name, parameter, keys)
    return Wish(function, keys, tuple(facts))


def _facts(rng: random.Random, name: str, parameter: Parameter, keys: Sequence[str]) -> list[Fact]:
    """What is said of one parameter: the same for all calls, a value for each, or (if it may be left out) for none or one."""
    shared = len(keys) > 1 and rng.random() < 0.4
    if parameter.default is msgspec.UNSET:
        about: Sequence[str | None] = [None] if shared else keys
    else:
        about = [None if shared else rng.choice(keys)] if rng.random() < 0.4 else []
    return [Fact(name, *rng.choice(parameter.choices()), call) for call in about]


def _easy(rng: random.Random) -> list[Wish]:
    return [_wish(rng, rng.choice(functions()), 1)]


def _medium(rng: random.Random) -> list[Wish]:
    return [_wish(rng, rng.choice(functions()), 2)]


def _hard(rng: random.Random) -> list[Wish]:
    """Three or four calls of one function, or calls of two functions."""
    if rng.random() < 0.5:
        return [_wish(rng, rng.choice(functions()), rng.randint(3, 4))]
    return [_wish(rng, function, rng.randint(1, 2)) for function in rng.sample(functions(), 2)]


TIERS = {"easy": _easy, "medium": _medium, "hard": _hard}


#: So many draws in vain mean that all errands of a tier have been asked for (there are some thousand easy ones).
_MOST_DRAWS = 20_000

# -- instances --------------------------------------------------------------------------------------------------------


def generate(n: int, seed: int) -> Iterator[Instance]:
    """`n` errands, the tiers in turn, no instruction twice; the same for the same seed in any process."""
    asked: set[str] = set()
    for number in range(n):
        rng = random.Random(f"actions/{seed}/{number}")
        tier = list(TIERS)[number % len(TIERS)]
        wishes = _fresh_wishes(rng, tier, asked)
        asked.add(instruction(wishes))
        yield _instance(rng, wishes, tier, f"actions/{seed}/{number:04}")


def _fresh_wishes(rng: random.Random, tier: str, asked: set[str]) -> list[Wish]:
    for _ in range(_MOST_DRAWS):
        wishes = TIERS[tier](rng)
        if 2 <= sum(len(wish.facts) for wish in wishes) <= 8 and instruction(wishes) not in asked:
            return wishes
    raise DatasetError(f"no more different {tier} errands", fix="ask for fewer instances")


def _instance(rng: random.Random, wishes: Sequence[Wish], tier: str, id: str) -> Instance:
    texts = [intent(wishes), *(wish.shard(fact) for wish in wishes for fact in wish.facts)]
    target = [call for wish in wishes for call in wish.calls()]
    wanted = [wish.function for wish in wishes]
    others = [function for function in functions() if function not in wanted]
    offered = [*wanted, *rng.sample(others, rng.randint(1, 3))]
    rng.shuffle(offered)
    return Instance(
        id=id,
        task="actions",
        shards=tuple(Shard(number, text) for number, text in enumerate(texts, start=1)),
        instruction=instruction(wishes),
        target=target,
        strata={"difficulty": tier, "calls": len(target), "domain": wanted[0].domain},
        data={"functions": [function.document for function in offered]},
    )


def intent(wishes: Sequence[Wish]) -> str:
    """The first shard: what is wanted, without any value."""
    things = [
        f"{wish.function.verb} {_a(wish.function.one) if len(wish.keys) == 1 else f'some {_many(wish.function)}'}"
        for wish in wishes
    ]
    return f"Please {' and '.join(things)}."


def _many(function: Function) -> str:
    return function.many or f"{function.one}s"


def instruction(wishes: Sequence[Wish]) -> str:
    """All facts as one text."""
    items = []
    for wish in wishes:
        first, *rest = (wish.clauses(key) for key in wish.keys)
        items += [f"{wish.function.verb} {first}", *rest]
    asked = f"Please {'; '.join(items[:-1])}; and {items[-1]}." if len(items) > 1 else f"Please {items[0]}."
    shared = [wish.shard(fact) for wish in wishes for fact in wish.facts if fact.call is None]
    return " ".join([asked, *shared])
