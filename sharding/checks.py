"""Checks of a sharding without a model: is it the same instruction, and does each shard stand on its own?

After the properties in "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025, App. B): information preserved, a clear
first intent, shards in any order, as many as possible, wording kept. A check yields (shard id or 0, words at fault).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from sharding.nouns import Found, Objection, Sharding
from sharding.pieces import FEWEST, MOST
from simulator.kept import denies_alone, numbers_left_out, quotes_left_out, units_left_out
from simulator.pointing import dangling, link
from simulator.repeats import content, coverage
from simulator.wording import names, numbers, plain, quoted, words

#: Part of a clause's content that the shards keep, and of a shard's content that the instruction has, at least.
KEPT_PART, OWN_PART = 0.34, 0.45


class Check(NamedTuple):
    """A check: whether what it finds is certain enough to refuse, and what to tell the model that made it."""

    find: Callable[[Sharding], Found]
    certain: bool
    advice: str


def check(sharding: Sharding) -> list[Objection]:
    """All that speaks against a sharding."""
    return [Objection(name, detail, shard) for name, one in CHECKS.items() for shard, detail in one.find(sharding)]


def certain(objection: Objection) -> bool:
    """Whether an objection refuses; all others call for somebody who looks."""
    return objection.check in CHECKS and CHECKS[objection.check].certain


# -- the same instruction: nothing lost, nothing added ------------------------------------------------------------------

#: What of `own` is not in `said`, kind by kind.
KINDS: dict[str, Callable[[str, str, str], list[str]]] = {
    "number": lambda own, said, evidence: numbers_left_out(own, said),
    "unit": lambda own, said, evidence: units_left_out(own, said),
    "name": lambda own, said, evidence: sorted(names(own, evidence) - words(said)),
    "quote": lambda own, said, evidence: quotes_left_out(own, said),
    "negation": lambda own, said, evidence: [own.strip()] if denies_alone(own, said) else [],
}


def _lost(kind: str, sharding: Sharding) -> Found:
    evidence = f"{sharding.instruction}\n{sharding.said}"
    for shard, source, said in sharding.sources():
        if missing := KINDS[kind](source, said, evidence):
            yield shard, ", ".join(dict.fromkeys(missing))


def _added(kind: str, sharding: Sharding) -> Found:
    evidence = f"{sharding.instruction}\n{sharding.said}"
    for shard in sharding.shards:
        if extra := KINDS[kind](shard.text, sharding.instruction, evidence):
            yield shard.id, ", ".join(dict.fromkeys(extra))


#: "The flight to Rome on 2 May …": a value that only says which one is meant.
_REFERENCE = re.compile(
    r"\A(?:\w+ )?the \w+(?: \w+)? (?:of|with|in|to|for|from) (?:an? )?(?:[a-z]+ ){0,3}\$?\d[\d.,]*", re.IGNORECASE
)


def _misplaced(sharding: Sharding) -> Found:
    """A number or quoted string that belongs to another segment."""
    for shard, segment, said in sharding.sources() if sharding.segments else ():
        told = _REFERENCE.sub("", said)
        extra = [*numbers_left_out(told, segment), *quotes_left_out(told, segment)]
        if elsewhere := [written for written in extra if written in plain(sharding.instruction).lower()]:
            yield shard, ", ".join(elsewhere)


def _lost_words(sharding: Sharding) -> Found:
    """A clause of which hardly a word is said anywhere."""
    said = content(sharding.said)
    for clause in re.split(r"(?<=[.!?;])\s+|,\s+", sharding.instruction):
        own = content(clause)
        if len(own) >= 3 and coverage(own, said) < KEPT_PART:
            yield 0, clause


def _added_words(sharding: Sharding) -> Found:
    own = content(sharding.instruction)
    for shard in sharding.shards:
        said = content(shard.text)
        if len(said) >= 3 and coverage(said, own) < OWN_PART:
            yield shard.id, shard.text


def _told_twice(sharding: Sharding) -> Found:
    """A shard whose numbers are told more often than in the instruction, and all of it by another shard."""
    written = Counter(number.value for number in numbers(sharding.instruction) if number.firm)
    later = [(shard, content(shard.text)) for shard in sharding.shards[1:]]
    told = Counter(number.value for shard, _ in later for number in numbers(shard.text) if number.firm)
    own_words = content(sharding.instruction)
    for shard, own in later:
        values = {number.value for number in numbers(shard.text) if number.firm}
        if not values or any(told[value] <= written[value] for value in values):
            continue
        for other, more in later:
            smaller = (len(own), -shard.id) < (len(more), -other.id)
            if smaller and not _REFERENCE.match(other.text) and not (own - more) & own_words:
                yield shard.id, f"shard {other.id}"


# -- the first shard asks, the others tell ------------------------------------------------------------------------------

_REQUEST = re.compile(
    r"\?|(?:^|[.!,;:]\s+)(?:(?:please|then|and|can you|could you|i want to|i need to|i would like to|i'd like to|let's)\s+)*"
    r"(?:calculate|compute|find|determine|work out|figure out|estimate|evaluate|solve|write|implement|create|make|give|get|"
    r"list|show|tell|return|say|look|search|check|order|book|reserve|plan|set|run|log|send|play|convert|translate|describe|"
    r"help|schedule|add|count|name|need|generate|draw|resize|rent|buy|call|print|put|start|stop|open|remind|"
    r"i need|i want|how (?:many|much|long))\b",
    re.IGNORECASE,
)
_WORKING = re.compile(
    r"\?|\b(?:to|can|must|should) (?:calculate|compute|determine|figure out|work out|find out|convert|consider|subtract)\b"
    r"|\b(?:we|i) (?:now )?(?:need|have|want) to (?:find|know|multiply|add|divide)\b|\bwants? to know\b|\bto clarify\b",
    re.IGNORECASE,
)


def _no_intent(sharding: Sharding) -> Found:
    first = sharding.shards[0]
    if not _REQUEST.search(plain(first.text)):
        yield first.id, first.text


def _intent_number(sharding: Sharding) -> Found:
    first = sharding.shards[0]
    if told := _firm(first.text):
        yield first.id, ", ".join(told)


def _firm(text: str) -> list[str]:
    """Numbers that are told; those within quotation marks are examples."""
    return [number.written for number in numbers(_unquoted(text)) if number.firm]


def _unquoted(text: str) -> str:
    text = plain(text)
    for string in quoted(text):
        text = text.replace(string, " ")
    return text


def _second_intent(sharding: Sharding) -> Found:
    for shard in sharding.shards[1:]:
        if found := _WORKING.search(_unquoted(shard.text)):
            yield shard.id, found[0]


def _count(sharding: Sharding) -> Found:
    if not FEWEST <= len(sharding.shards) <= MOST:
        yield 0, str(len(sharding.shards))


# -- each shard stands on its own -------------------------------------------------------------------------------------------


def _links(sharding: Sharding) -> Found:
    yield from ((shard.id, found) for shard in sharding.shards if (found := link(shard.text)))


def _pronouns(sharding: Sharding) -> Found:
    """The first shard is always said first, so "he" in a later one is no riddle if the first names somebody."""
    evidence = f"{sharding.instruction}\n{sharding.said}"
    for number, shard in enumerate(sharding.shards):
        if found := dangling(shard.text, sharding.shards[0].text if number else "", evidence):
            yield shard.id, found


CHECKS: dict[str, Check] = {
    "count": Check(_count, True, f"There must be {FEWEST} to {MOST} shards, not {{detail}}."),
    "no_intent": Check(_no_intent, False, "The first shard must ask for something."),
    "intent_number": Check(_intent_number, True, "The first shard only asks; {detail} belongs into another one."),
    "second_intent": Check(_second_intent, False, "Only the first shard asks or says what to work out: {detail}."),
    "lost_number": Check(partial(_lost, "number"), True, "The number {detail} is missing."),
    "added_number": Check(partial(_added, "number"), True, "The instruction does not say {detail}."),
    "lost_unit": Check(partial(_lost, "unit"), False, "The unit is missing: {detail}."),
    "added_unit": Check(partial(_added, "unit"), False, "The instruction has no such unit: {detail}."),
    "lost_name": Check(partial(_lost, "name"), False, "The name {detail} is missing."),
    "added_name": Check(partial(_added, "name"), False, "The instruction names no {detail}."),
    "lost_quote": Check(partial(_lost, "quote"), True, 'The exact string "{detail}" is missing.'),
    "added_quote": Check(partial(_added, "quote"), False, 'The instruction has no string "{detail}".'),
    "lost_negation": Check(partial(_lost, "negation"), False, "What is denied must stay denied: {detail}"),
    "added_negation": Check(partial(_added, "negation"), False, "The instruction denies nothing of this: {detail}"),
    "misplaced": Check(_misplaced, False, "{detail} is told by another shard; leave it there."),
    "lost_words": Check(_lost_words, False, "No shard says: {detail}"),
    "added_words": Check(_added_words, False, "Keep to the words of the instruction: {detail}"),
    "told_twice": Check(_told_twice, False, "It says nothing that {detail} does not say."),
    "link": Check(_links, False, 'Each shard stands on its own; "{detail}" points to another one.'),
    "pronoun": Check(_pronouns, False, 'Nobody can know what "{detail}" stands for; use the name or the word itself.'),
}
