"""The tool task: which one of six tools the latest request needs, after requests that needed others.

Source: arXiv 2603.01423, task 2, with its six labels. Natively, the tools are offered as functions and a call is the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, ClassVar, NamedTuple

import msgspec

from tasks.calls import calls_as_text
from tasks.nouns import Ask, Instance, Score, Script, ToolCall
from tasks.prompts import prompt
from tasks.reliability.labels import read_choice
from tasks.reliability.presentations import CONSECUTIVE, GIVEN, JOINED, LIVE, SINGLE, Exchange, compared
from tasks.reliability.talk import Scenario, chatter, weave
from tasks.reliability.task import Drawn, ReliabilityTask
from tasks.reliability.words import tool_words

#: The six labels, and the answer where no tool is needed. Functions are called like their label, in small letters.
LABELS = ("Weather", "News", "Calculator", "Stock", "Recipe", "Dictionary")
NO_TOOL = "None"
CHOICES = (*LABELS, NO_TOOL)
FEWEST = 2


class ToolsTask(ReliabilityTask):
    """One of six tools for the last request; an answer is right if it names this tool and no other."""

    name = "reliability-tools"
    summary = "one tool of six for the last of many requests"
    scoring = "the one right label: 1 or 0"
    answer_form = f"the name of one tool: {', '.join(LABELS)}; or {NO_TOOL}"
    tool_calls_are_answers = True
    prompts = ("reliability/tools", "reliability/tools-native", "reliability/joined", "reliability/concat")
    ways = {
        "single": SINGLE,
        "multi": CONSECUTIVE,
        "multi_given": GIVEN,
        "multi_joined": JOINED,
        "multi_live": LIVE,
        "single_native": msgspec.structs.replace(SINGLE, native=True, compare_to="single"),
        "multi_native": msgspec.structs.replace(CONSECUTIVE, native=True, compare_to="single_native"),
    }
    presentations = tuple(ways)
    compare_to: ClassVar[dict[str, str]] = compared(ways)

    def draw(self, wanted: Scenario, rng: Random) -> Drawn:
        """Requests for two to six tools; the last needs another tool than the one before, which the user may have given up."""
        return _drawn(wanted, rng)

    def is_target(self, target: Any) -> bool:
        """One of the labels."""
        return target in LABELS

    def system(self, instance: Instance) -> str:
        """The tools and the form of an answer."""
        return prompt("tasks", "reliability/tools").fill()

    def script(self, instance: Instance, presentation: str) -> Script:
        """Natively, the tools say themselves what they do."""
        script = super().script(instance, presentation)
        if not self.ways[presentation].native:
            return script
        tools = tuple(tool.schema for tool in tool_words().tools.values())
        return Script(prompt("tasks", "reliability/tools-native").fill(), script.lines, tools)

    def called(self, calls: Sequence[ToolCall]) -> str:
        """Calls as JSON, which names the functions."""
        return calls_as_text(calls)

    # -- answers --------------------------------------------------------------------------------------------------

    async def extract(self, reply: str, instance: Instance) -> str | None:
        """The whole reply, if it names a label."""
        return None if read_choice(reply, CHOICES).how == "none" else reply

    async def score(self, answer: str, instance: Instance, ask: Ask | None = None) -> Score:
        """1 if the answer chooses the target. An answer that names several labels, or none, is a 0 that says which."""
        choice = read_choice(answer, CHOICES)
        if choice.label is None:
            return Score(0.0, False, "unreadable" if answer.strip() else "no_answer", {"errors": [choice.how]})
        right = choice.label == instance.target
        errors = {} if right else {"errors": [_error(choice.label, instance.facts)]}
        return Score(float(right), right, details={"chosen": choice.label, "target": instance.target} | errors)

    # -- trust ----------------------------------------------------------------------------------------------------

    def right_answer(self, instance: Instance) -> str:
        """The label."""
        return str(instance.target)

    def wrong_answer(self, instance: Instance) -> str:
        """The label of the request before."""
        return str(instance.facts.get("previous") or next(label for label in LABELS if label != instance.target))


def _error(label: str, facts: dict[str, Any]) -> str:
    """What kind of wrong choice it is; by the facts alone, so that `single` shows how often each happens by chance."""
    if label == NO_TOOL:
        return "no_tool"
    if label == facts.get("previous"):
        return "previous_tool"
    return "earlier_tool" if label in (request["tool"] for request in facts.get("requests", ())) else "other_tool"


# -- drawing --------------------------------------------------------------------------------------------------------------


class Request(NamedTuple):
    """A request and the tool it needs; `thing` is what it is about, in a few words; `pieces` are the same in shards."""

    tool: str
    text: str
    thing: str
    pieces: tuple[str, str, str]


def _drawn(wanted: Scenario, rng: Random) -> Drawn:
    at_once = wanted.change and rng.random() < 0.5  # given up within one message, so that holds two requests
    loose = chatter(rng.randint(1, 2 if wanted.turns > 6 else 1), rng) if wanted.chat else []
    loose = [Exchange(exchange.user, NO_TOOL) for exchange in loose]
    needed = _sequence(wanted.turns - len(loose) - wanted.others + at_once, rng)
    loose += [_aside(needed[-1], rng)] if wanted.others else []
    requests = [_request(tool, before, rng) for before, tool in zip(["", *needed[:-2]], needed[:-1], strict=True)]
    last, previous = _request(needed[-1], "", rng), requests[-1]
    told = [Exchange(request.text, request.tool) for request in (requests[:-1] if at_once else requests)]
    return Drawn(
        single=last.text,
        dialogue=weave([*told, Exchange(_said(last, previous, wanted, at_once, rng))], loose, rng),
        shards=last.pieces,
        target=last.tool,
        facts={
            "requests": [{"text": request.text, "tool": request.tool} for request in (*requests, last)],
            "previous": previous.tool,
        },
        strata={"tools": len(set(needed)), "tool": last.tool},
    )


def _sequence(n: int, rng: Random) -> list[str]:
    """The tools of `n` requests, two to six different ones; the last is another than the one before."""
    last, *others = rng.sample(LABELS, rng.randint(FEWEST, min(n, len(LABELS))))
    before = [*others, *rng.choices([last, *others], k=n - 1 - len(others))]
    rng.shuffle(before)
    place = rng.choice([place for place, tool in enumerate(before) if tool != last])
    before[place], before[-1] = before[-1], before[place]
    return [*before, last]


def _request(tool: str, before: str, rng: Random) -> Request:
    """A request; where the one before needed the same tool, it may be in a few words that only make sense after it."""
    said = tool_words().tools[tool]
    slots = {"subject": rng.choice(said.subjects), "detail": rng.choice(said.details)}
    follows = tool == before and rng.random() < 0.6
    text, thing, *pieces = (
        rng.choice(texts).format(**slots)
        for texts in (said.follow_ups if follows else said.asks, said.thing, said.intent, said.about, said.more)
    )
    return Request(tool, text, thing, (pieces[0], pieces[1], pieces[2]))


def _said(last: Request, previous: Request, wanted: Scenario, at_once: bool, rng: Random) -> str:
    """The last request as it is said: plainly, or giving up the one before."""
    said = tool_words()
    if not wanted.change:
        return last.text
    given_up = rng.choice(said.at_once if at_once else said.turns)
    return given_up.format(given_up=previous.text, thing=previous.thing, request=last.text)


def _aside(tool: str, rng: Random) -> Exchange:
    """Chatter that comes near another tool than the last one without asking for it."""
    near = rng.choice([label for label in LABELS if label != tool])
    return Exchange(rng.choice(tool_words().tools[near].aside), NO_TOOL)
