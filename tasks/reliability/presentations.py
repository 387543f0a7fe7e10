"""The ways an instance is asked: alone in one message, or as a conversation whose turns are shown in one of four ways.

Source: arXiv 2603.01423, which leaves open how turns without an assistant are shown; so each way is a presentation of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from tasks.nouns import Message
from tasks.prompts import prompt


class Exchange(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the user says, and the answer that is given for the assistant; the last one has none."""

    user: str
    assistant: str = ""


class Presentation(msgspec.Struct, frozen=True, kw_only=True):
    """How an instance is asked.

    Attributes:
        turns: `one` message that says all; or all turns of the conversation: with `given` answers, as `consecutive` messages of
            the user, `joined` to one message, or `live`, each answered by the assistant under test.
        native: the tools are offered as functions to call.
        compare_to: the presentation it is meant to be compared with.
    """

    turns: Literal["one", "given", "consecutive", "joined", "live"]
    native: bool = False
    compare_to: str = ""


SINGLE = Presentation(turns="one")
GIVEN = Presentation(turns="given", compare_to="single")
CONSECUTIVE = Presentation(turns="consecutive", compare_to="single")
JOINED = Presentation(turns="joined", compare_to="single")
LIVE = Presentation(turns="live", compare_to="single")


def compared(presentations: Mapping[str, Presentation]) -> dict[str, str]:
    """`Task.compare_to` of these presentations."""
    return {name: each.compare_to for name, each in presentations.items() if each.compare_to}


def lines(presentation: Presentation, single: str, dialogue: Sequence[Exchange]) -> tuple[tuple[Message, bool], ...]:
    """The lines of a script: messages in order, those marked True are answered by the assistant under test."""
    *before, last = [Message("user", exchange.user) for exchange in dialogue]
    match presentation.turns:
        case "one":
            return ((Message("user", single), True),)
        case "joined":
            return ((Message("user", _joined(dialogue)), True),)
        case "live":
            return tuple((message, True) for message in (*before, last))
        case "consecutive":
            return (*((message, False) for message in before), (last, True))
        case "given":
            answers = [Message("assistant", exchange.assistant) for exchange in dialogue[:-1]]
            told = [message for pair in zip(before, answers, strict=True) for message in pair]
            return (*((message, False) for message in told), (last, True))


def _joined(dialogue: Sequence[Exchange]) -> str:
    messages = "\n\n".join(f"{number}. {exchange.user}" for number, exchange in enumerate(dialogue, 1))
    return prompt("tasks", "reliability/joined").fill(messages=messages)
