"""How far the points of a summary cover an insight: the judgement "Summary of a Haystack" (Laban et al. 2024) asks for.

Two judges say it. The model judge reads each insight beside the whole summary. The judge by rules looks for the insight's
key facts, each a list of ways to put it; it knows no paraphrase and no negation, costs nothing and never changes its mind.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from tasks.citations import Bullet
from tasks.nouns import Ask, Message, Options, Reply, ScorerFailure
from tasks.number_words import UNITS
from tasks.prompts import prompt

#: What a label is worth.
WORTH = {"NO_COVERAGE": 0.0, "PARTIAL_COVERAGE": 0.5, "FULL_COVERAGE": 1.0}
#: Shares of the key facts from which on a point covers an insight by rules: up to four facts, full means all of them.
_FULL, _PARTIAL = 0.8, 0.4
_TRIES = 3
#: Of a verdict: room for a model that thinks first, an end for one that loops.
_TOKENS = 1_000
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "coverage": {"type": "string", "enum": list(WORTH)},
        "bullet": {"type": "integer", "minimum": 0, "maximum": 999},
    },
    "required": ["coverage", "bullet"],
    "additionalProperties": False,
}


class Insight(msgspec.Struct, frozen=True):
    """What a good summary says, and the documents that say it. `facts`: each a list of ways to put one key fact."""

    text: str
    documents: list[int]
    facts: list[list[str]] = []


class Coverage(NamedTuple):
    """How far an insight is covered (0, 0.5 or 1) and by which point, from 1; None: the judge named none that exists."""

    worth: float
    bullet: int | None


class _Verdict(msgspec.Struct):
    coverage: Literal["NO_COVERAGE", "PARTIAL_COVERAGE", "FULL_COVERAGE"]
    bullet: int | str | None


def by_rules(insights: Sequence[Insight], points: Sequence[Bullet]) -> list[Coverage]:
    """Coverage of each insight by the point that holds most of its key facts (the shortest of several)."""
    texts = [_plain(p.text) for p in points]
    return [_best(insight.facts or _key_words(insight.text), texts) for insight in insights]


async def by_model(insights: Sequence[Insight], points: Sequence[Bullet], ask: Ask) -> list[Coverage]:
    """Coverage of each insight as a judge model says, all insights asked at once.

    A malformed answer is asked again with the reason, in rounds, so that the order of calls is always the same. Raises
    `ScorerFailure` for a model that never gives a readable one.
    """
    summary = "\n".join(f"{i}. {p.text}" for i, p in enumerate(points, 1))
    talks = {i: [_question(insight, summary)] for i, insight in enumerate(insights)}
    found: dict[int, Coverage] = {}
    for _ in range(_TRIES):
        replies = await _all_at_once(ask, list(talks.values()))
        for i, reply in zip(list(talks), replies, strict=True):
            verdict = _verdict(reply.text)
            if isinstance(verdict, str):
                talks[i] += [Message("assistant", reply.text), Message("user", _again(verdict))]
            else:
                found[i] = Coverage(WORTH[verdict.coverage], _existing(verdict.bullet, len(points)))
                del talks[i]
        if not talks:
            return [found[i] for i in range(len(insights))]
    raise ScorerFailure(f"the judge model gave no readable verdict on {len(talks)} of the insights in {_TRIES} tries")


async def _all_at_once(ask: Ask, talks: Sequence[Sequence[Message]]) -> list[Reply]:
    """Waits for every call even if one fails: none is left running behind a failed conversation."""
    options = Options(temperature=0.0, max_tokens=_TOKENS, schema=_SCHEMA)
    replies = await asyncio.gather(*(ask(talk, options) for talk in talks), return_exceptions=True)
    for reply in replies:
        if isinstance(reply, BaseException):
            raise reply
    return [reply for reply in replies if isinstance(reply, Reply)]


def _question(insight: Insight, summary: str) -> Message:
    return Message("user", prompt("tasks", "summary/judge").fill(insight=insight.text, summary=summary))


def _again(reason: str) -> str:
    return prompt("tasks", "summary/judge_again").fill(reason=reason)


def _verdict(text: str) -> _Verdict | str:
    """The verdict in a reply, or what is wrong with it."""
    found = re.search(r"\{.*\}", text, re.DOTALL)
    if found is None:
        return "there is no JSON object in the answer"
    try:
        return msgspec.json.decode(found[0], type=_Verdict)
    except msgspec.MsgspecError as wrong:
        return str(wrong)


def _existing(bullet: int | str | None, points: int) -> int | None:
    """The number of an existing point in what the judge called it (`2`, `"2"`, `"bullet 2"`, `"NO_ID"`)."""
    numbers = [int(digits) for digits in re.findall(r"-?\d{1,9}", str(bullet))]
    return numbers[0] if len(numbers) == 1 and 1 <= numbers[0] <= points else None


def _best(facts: Sequence[Sequence[str]], texts: Sequence[str]) -> Coverage:
    shares = [
        sum(any(f" {_plain(way)} " in f" {text} " for way in fact) for fact in facts) / len(facts) for text in texts
    ]
    best = max(range(len(texts)), key=lambda i: (shares[i], -len(texts[i])), default=None)
    if best is None or shares[best] < _PARTIAL:
        return Coverage(0.0, None)
    return Coverage(1.0 if shares[best] >= _FULL else 0.5, best + 1)


def _key_words(insight: str) -> list[list[str]]:
    """Facts of an insight that came without: its numbers and its longer words (of all, if it has none of these)."""
    words = _plain(insight).split()
    return [[word] for word in dict.fromkeys(words) if len(word) > 3 or word[0].isdigit()] or [[insight]]


def _plain(text: str) -> str:
    """Small letters and digits with single spaces; `1,200` is `1200`, `12 %` is `12 percent`, `two-thirds` is `2 thirds`."""
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text.casefold()).replace("%", " percent ").replace("per cent", "percent")
    return " ".join(str(UNITS.get(word, word)) for word in re.findall(r"[^\W_]+(?:\.\d+)?", text))
