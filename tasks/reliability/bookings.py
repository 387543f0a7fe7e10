"""Bookings as they come up in a conversation: said in pieces and in any order, changed, among wishes and others' bookings.

Every turn of the user is a `Said`: a text, and what it settles about the user's own booking. So the answer that is given to a
turn, and the booking at the end, are what the turns up to there have settled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple, TypeAlias

from tasks.reliability.phrases import SAYERS, SLOTS, Phrase
from tasks.reliability.presentations import Exchange
from tasks.reliability.talk import Scenario, chatter, weave
from tasks.reliability.task import Drawn
from tasks.reliability.words import booking_words, capital

#: Slot -> the phrase it is said in.
Booking: TypeAlias = Mapping[str, Phrase]


class Said(NamedTuple):
    """One turn of the user. `settles`: what it says of the user's own booking; other people's bookings settle nothing."""

    text: str
    settles: Booking = {}


def draw_booking(wanted: Scenario, rng: Random) -> Drawn:
    """A booking, and the conversation in which it comes about."""
    said, shape = booking_words(), _shape(wanted, rng)
    today = date(2026, 1, 1) + timedelta(rng.randrange(365))
    own, earlier, *others = _bookings(2 + shape.others, today, rng)
    changed = rng.sample(SLOTS, shape.changes)
    opener = _worded(rng.choice(said.openers), {}, restaurant=rng.choice(said.restaurants))
    remarks = [_of_other(booking, rng) for booking in others]
    loose = [*(text for text, _ in remarks), *rng.sample(said.wishes, shape.wishes)]
    loose += [exchange.user for exchange in chatter(shape.chat, rng)]
    settling = _settling(opener, own, {slot: earlier[slot] for slot in changed}, shape, rng)
    turns = weave(settling, [Said(text) for text in rng.sample(loose, len(loose))], rng)
    return Drawn(
        single=_at_once(opener, own, rng),
        dialogue=_answered(turns),
        shards=[opener, *(_worded(rng.choice(said.said[slot]), own) for slot in rng.sample(SLOTS, len(SLOTS)))],
        target=_values(own),
        facts={"said": _in_order(turns), "others": [told for _, told in remarks]},
        strata={"changed": "+".join(sorted(changed)) or "none", **{f"{slot}_form": own[slot].form for slot in SLOTS}},
        data={"today": today.isoformat()},
    )


# -- what is said ---------------------------------------------------------------------------------------------------------


class Shape(NamedTuple):
    """Of how many turns of which kind a conversation is made.

    Attributes:
        groups: turns that say slots for the first time. `changes`: turns that change one. `greeting`: the first turn says
            nothing else. `closing`: the last turn settles nothing.
    """

    groups: int
    changes: int
    greeting: bool
    closing: bool
    chat: int
    others: int
    wishes: int


def _shape(wanted: Scenario, rng: Random) -> Shape:
    """So many turns in all as are wanted. The last one never says the whole booking."""
    room = wanted.turns - wanted.chat - wanted.others
    changes = rng.randint(1, 2 if room > 4 else 1) if wanted.change else 0
    groups = rng.randint(1 if changes else 2, min(len(SLOTS), room - changes))
    rest = room - changes - groups
    closing = rest > 0 and rng.random() < 0.5
    greeting = rest > closing and rng.random() < 0.5
    rest -= closing + greeting
    chat = rng.randint(0, min(2, rest)) if wanted.chat else 0
    others = rng.randint(0, min(1, rest - chat)) if wanted.others else 0
    return Shape(
        groups, changes, greeting, closing, wanted.chat + chat, wanted.others + others, wishes=rest - chat - others
    )


def _bookings(n: int, today: date, rng: Random) -> list[dict[str, Phrase]]:
    """Bookings no two of which have a value in common."""
    bookings: list[dict[str, Phrase]] = []
    for _ in range(n):
        fresh: dict[str, Phrase] = {}
        for slot, sayer in SAYERS.items():
            taken = {booking[slot].value for booking in bookings}
            while slot not in fresh or fresh[slot].value in taken:
                fresh[slot] = sayer(today, rng)
        bookings.append(fresh)
    return bookings


def _settling(opener: str, own: Booking, earlier: Booking, shape: Shape, rng: Random) -> list[Said]:
    """The turns that settle something, with how the conversation opens and closes; what changes is said as it was at first."""
    said = booking_words()
    turns = _first_said({**own, **earlier}, shape.groups, rng)
    for slot in earlier:
        turns = _with_change(turns, Said(_worded(rng.choice(said.changed[slot]), own), {slot: own[slot]}), rng)
    first, *later = turns
    opening = [Said(opener), first] if shape.greeting else [Said(f"{opener} {first.text}", first.settles)]
    return [*opening, *later, *([Said(rng.choice(said.closings))] if shape.closing else [])]


def _first_said(booking: Booking, groups: int, rng: Random) -> list[Said]:
    """The slots in any order, in so many turns."""
    order = rng.sample(SLOTS, len(SLOTS))
    cuts = [0, *sorted(rng.sample(range(1, len(SLOTS)), groups - 1)), len(SLOTS)]
    turns = []
    for start, end in pairwise(cuts):
        group = [slot for slot in SLOTS if slot in order[start:end]]
        text = rng.choice(booking_words().said["_".join(group)])
        turns.append(Said(_worded(text, booking), {slot: booking[slot] for slot in group}))
    return turns


def _with_change(turns: Sequence[Said], change: Said, rng: Random) -> list[Said]:
    """A change comes anywhere after what it changes."""
    (slot,) = change.settles
    first = next(place for place, turn in enumerate(turns) if slot in turn.settles)
    place = rng.randint(first + 1, len(turns))
    return [*turns[:place], change, *turns[place:]]


def _of_other(booking: Booking, rng: Random) -> tuple[str, dict[str, Any]]:
    """A remark on another person's booking, and what it gives away of it."""
    said = booking_words()
    template = rng.choice(said.others["full"] + said.others["part"])
    name = rng.choice(said.names)
    text = _worded(template, booking, name=name, Relation=capital(rng.choice(said.relations)))
    told = {slot: phrase for slot, phrase in booking.items() if re.search(rf"\{{(the_)?{slot}\}}", template)}
    return text, {"name": name, **_values(told)}


def _at_once(opener: str, booking: Booking, rng: Random) -> str:
    """The whole booking in one message, with some chit-chat as in the paper."""
    said = booking_words()
    told = _worded(rng.choice(said.said["date_time_people"]), booking)
    (chat,) = (exchange.user for exchange in chatter(1, rng))
    return " ".join([opener, *rng.sample([told, chat], 2)])


def _answered(turns: Sequence[Said]) -> list[Exchange]:
    """Each turn with the booking as it stands after it, as the assistant should give it."""
    standing: dict[str, Any] = dict.fromkeys(SLOTS)
    exchanges = []
    for turn in turns:
        standing |= _values(turn.settles)
        exchanges.append(Exchange(turn.text, json.dumps(standing)))
    return [*exchanges[:-1], Exchange(turns[-1].text)]


def _in_order(turns: Sequence[Said]) -> list[dict[str, Any]]:
    """All that is said of the booking, in order; the last value of a slot is the one that holds."""
    return [
        {"slot": slot, "value": phrase.value, "words": phrase.bare}
        for turn in turns
        for slot, phrase in turn.settles.items()
    ]


# -- small parts ----------------------------------------------------------------------------------------------------------


def _values(booking: Booking) -> dict[str, Any]:
    return {slot: phrase.value for slot, phrase in booking.items()}


#: Where a sentence starts in lower case, since a phrase stands there; `p.m.` is no end of one.
_START = re.compile(r"(?:^|(?<![ap]\.m)[.?!] )[a-z]")


def _worded(template: str, booking: Booking, **more: str) -> str:
    """A template with the phrases of a booking: `{date}` is `on March 15`, `{the_date}` is `March 15`."""
    slots = {slot: phrase.said for slot, phrase in booking.items()}
    slots |= {f"the_{slot}": phrase.bare for slot, phrase in booking.items()}
    text = template.format(**slots, **more).replace("..", ".")
    return _START.sub(lambda start: start[0].upper(), text)
