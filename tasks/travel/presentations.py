"""The ways a problem is put to a model: nine presentations, each a row of one table, and one function that writes them out.

Source: the set-ups of BOULDER (arXiv 2603.20133): the problem alone against the problem in a task-oriented dialogue, and the
ablations between the two. Repaired: the concise style names its number of sentences, and every single turn holds its question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from tasks.nouns import Message, Script, ToolCall
from tasks.prompts import prompt
from tasks.travel.tools import DOMAINS, looked_up, result_message, schemas
from tasks.travel.town import Town
from tasks.travel.wording import Wording, sections

#: How long an answer of the concise dialogue may be.
SENTENCES = "two"


class Presentation(msgspec.Struct, frozen=True, kw_only=True):
    """How a problem is put; the parts are those of `PARTS`, a paragraph each.

    Attributes:
        system: parts of the system text, none for no system text. `turn`: parts of the one self-contained user turn; none where
            the dialogue comes first and its last line is the question.
        functions: the dialogue's function calls and their results are shown, and the assistant can call functions itself.
        own_domains: the role names only what the problem is about (trains, hotels, …).
        compare_to: the presentation it is meant to be compared with.
    """

    system: tuple[str, ...] = ()
    turn: tuple[str, ...] = ()
    functions: bool = False
    own_domains: bool = False
    compare_to: str = ""


_ALONE = ("question", "rules", "data")
_ROLE = ("role", "domains", "functions", "now", "rules")
_INFORMED = ("role", "informed_domains", "now", "rules")

PRESENTATIONS: Mapping[str, Presentation] = {
    "isolated": Presentation(turn=_ALONE),
    "isolated_role": Presentation(turn=("short_role", *_ALONE), compare_to="isolated"),
    "isolated_multi_turn": Presentation(system=("answerer", "rules", "data"), compare_to="isolated"),
    "dialogue": Presentation(system=_ROLE, functions=True, compare_to="isolated"),
    "dialogue_concise": Presentation(system=(*_ROLE, "concise"), functions=True, compare_to="dialogue"),
    "dialogue_reasoning": Presentation(system=(*_ROLE, "reasoning"), functions=True, compare_to="dialogue"),
    "dialogue_reduced": Presentation(system=_ROLE, functions=True, own_domains=True, compare_to="dialogue"),
    "dialogue_no_tools": Presentation(system=_INFORMED, own_domains=True, compare_to="dialogue"),
    "dialogue_single_turn": Presentation(
        system=_INFORMED, turn=("question",), own_domains=True, compare_to="dialogue_no_tools"
    ),
}


class Telling(msgspec.Struct, frozen=True):
    """All that a presentation of one instance is written from.

    Attributes:
        domains: those of the problem. `now`: date and time of the conversation, in words.
    """

    town: Town
    words: Wording
    domains: tuple[str, ...]
    now: str

    def calls(self) -> list[ToolCall]:
        """The function calls of the dialogue, in order."""
        called = (line.text.partition(" ") for line in self.words.dialogue if line.speaker == "call")
        return [ToolCall(f"call_{n}", name, arguments) for n, (name, _, arguments) in enumerate(called, 1)]

    def data(self) -> dict[str, dict[str, Any]]:
        """What the town knows that bears on the problem, by domain."""
        return looked_up(self.town, self.calls())


def write_out(presentation: Presentation, telling: Telling) -> Script:
    """The messages of a presentation; the last one is asked, all before it are given."""
    domains = telling.domains if presentation.own_domains else DOMAINS
    said = [Message("user", _joined(presentation.turn, telling, domains))] if presentation.turn else None
    *given, asked = said or _history(telling, functions=presentation.functions)
    return Script(
        system=_joined(presentation.system, telling, domains),
        lines=(*((message, False) for message in given), (asked, True)),
        tools=schemas(domains) if presentation.functions else (),
    )


def _history(telling: Telling, *, functions: bool) -> Iterator[Message]:
    """The dialogue, opened by the assistant's greeting; calls with what they really return, or left out."""
    yield Message("assistant", _paragraph("greeting", town=telling.town.name))
    calls = iter(telling.calls())
    for line in telling.words.dialogue:
        if line.speaker != "call":
            yield Message(line.speaker, line.text)
        elif functions:
            call = next(calls)
            yield Message("assistant", tool_calls=(call,))
            yield result_message(telling.town, call)


# -- parts ----------------------------------------------------------------------------------------------------------------


def _joined(parts: tuple[str, ...], telling: Telling, domains: tuple[str, ...]) -> str:
    return "\n\n".join(filter(None, (PARTS[part](telling, domains) for part in parts)))


def _paragraph(name: str, **slots: str) -> str:
    return prompt("tasks", f"travel/{name}").fill(**slots)


def _domains(telling: Telling, domains: tuple[str, ...]) -> str:
    about = sections("domains")
    return "\n".join(f"- {about[domain]}" for domain in domains)


def _informed_domains(telling: Telling, domains: tuple[str, ...]) -> str:
    about, data = sections("domains"), telling.data()
    return "\n\n".join(f"- {about[domain]}\n{_json(data[domain])}" for domain in domains if domain in data)


def _data(telling: Telling, domains: tuple[str, ...]) -> str:
    merged = {key: value for found in telling.data().values() for key, value in found.items()}
    return _paragraph("data", data=_json(merged))


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()


#: A part -> its paragraph, from what is told and the domains the role names.
PARTS: Mapping[str, Callable[[Telling, tuple[str, ...]], str]] = {
    "question": lambda telling, domains: telling.words.question,
    "rules": lambda telling, domains: telling.words.rules,
    "data": _data,
    "role": lambda telling, domains: _paragraph("role", town=telling.town.name),
    "short_role": lambda telling, domains: _paragraph("short-role", town=telling.town.name),
    "answerer": lambda telling, domains: _paragraph("answerer"),
    "domains": _domains,
    "informed_domains": _informed_domains,
    "functions": lambda telling, domains: _paragraph("functions"),
    "now": lambda telling, domains: _paragraph("now", now=telling.now),
    "concise": lambda telling, domains: _paragraph("concise", sentences=SENTENCES),
    "reasoning": lambda telling, domains: _paragraph("reasoning"),
}

#: Templates all problems share, which is part of the identity of a run.
SHARED_PROMPTS = (
    "answerer", "concat", "concise", "data", "domains", "full", "functions", "greeting", "now", "reasoning", "role",
    "short-role", "system",
)  # fmt: skip
