"""Small haystacks of our own: documents on an invented topic, made from insights that each stand in several of them.

After the recipe of "Summary of a Haystack" (Laban et al. 2024): insights first, then documents that hold them in
different words between other sentences. The sentences are in `data/haystacks.json`; a seed decides the topic's values,
which insights are used, where each is said, in which words, and what else a document talks about.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import msgspec

from tasks.coverage import Insight
from tasks.nouns import Instance, Shard


class _Level(NamedTuple):
    """How hard a haystack is: turns of two documents, insights in all, and in how many documents each is said."""

    name: str
    turns: int
    insights: int
    said: tuple[int, ...]


_LEVELS = (_Level("easy", 5, 4, (2,)), _Level("medium", 6, 5, (2, 3)), _Level("hard", 8, 6, (2, 3)))
_PER_TURN = 2


class _InsightText(msgspec.Struct):
    text: str
    facts: list[list[str]]
    says: list[str]


class _Topic(msgspec.Struct):
    """One topic: `slots` are the values to choose from; all other texts are templates over them."""

    family: str
    topic: str
    query: str
    slots: dict[str, list[str]]
    insights: list[_InsightText]
    asides: list[str]


class _Material(msgspec.Struct):
    frames: list[str]
    asides: list[str]
    topics: list[_Topic]


def haystacks(n: int, seed: int) -> Iterator[Instance]:
    """`n` instances, topic after topic; the same for the same seed in any process."""
    for i in range(n):
        topics = _material().topics
        rng = random.Random(f"summary/{seed}/{i}")
        yield _haystack(f"summary-{seed}-{i}", topics[i % len(topics)], _LEVELS[i % len(_LEVELS)], rng)


@cache
def _material() -> _Material:
    text = (resources.files("tasks") / "data" / "haystacks.json").read_text(encoding="utf-8")
    return msgspec.convert(json.loads(text), _Material)


def _haystack(name: str, topic: _Topic, level: _Level, rng: random.Random) -> Instance:
    values = {slot: rng.choice(choices) for slot, choices in topic.slots.items()}
    chosen = rng.sample(topic.insights, level.insights)
    places = _places(chosen, level, rng)
    documents = _documents(topic, chosen, places, level.turns * _PER_TURN, rng)
    texts = [f"Document {number}:\n{text.format_map(values)}" for number, text in enumerate(documents, 1)]
    turns = [texts[i : i + _PER_TURN] for i in range(0, len(texts), _PER_TURN)]
    return Instance(
        id=name,
        task="summary",
        shards=tuple(Shard(i, "\n\n".join(turn)) for i, turn in enumerate(turns, 1)),
        instruction=topic.query.format_map(values),
        facts=dict(values),
        strata={"difficulty": level.name, "family": topic.family},
        data={
            "topic": topic.topic.format_map(values),
            "documents": list(range(1, len(texts) + 1)),
            "insights": [_filled(i, where, values) for i, where in zip(chosen, places, strict=True)],
        },
    )


def _places(chosen: list[_InsightText], level: _Level, rng: random.Random) -> list[list[int]]:
    """In which documents each insight is said: the emptiest first, so that they spread over all turns."""
    load = dict.fromkeys(range(1, level.turns * _PER_TURN + 1), 0)
    places = []
    for _ in chosen:
        emptiest = sorted(load, key=lambda number: (load[number], rng.random()))
        places.append(sorted(emptiest[: rng.choice(level.said)]))
        for number in places[-1]:
            load[number] += 1
    return places


def _documents(
    topic: _Topic, chosen: list[_InsightText], places: list[list[int]], count: int, rng: random.Random
) -> list[str]:
    """The documents as templates: a frame, the insights said there, and two or three asides, in mixed order."""
    frames = rng.sample(_material().frames, count)
    asides = _material().asides + topic.asides
    rng.shuffle(asides)
    sentences = [[asides.pop() for _ in range(rng.choice((2, 3)))] for _ in range(count)]
    for insight, where in zip(chosen, places, strict=True):
        for number, words in zip(where, rng.sample(insight.says, len(where)), strict=True):
            sentences[number - 1].append(words)
    for document in sentences:
        rng.shuffle(document)
    return [" ".join([frame, *document]) for frame, document in zip(frames, sentences, strict=True)]


def _filled(insight: _InsightText, where: list[int], values: dict[str, str]) -> dict[str, Any]:
    facts = [[way.format_map(values) for way in fact] for fact in insight.facts]
    return msgspec.structs.asdict(Insight(insight.text.format_map(values), where, facts))
