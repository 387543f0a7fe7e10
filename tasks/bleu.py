"""Free text measured against reference texts: where the answer lies in a reply, and its BLEU.

The arithmetic is sacrebleu's (Post 2018, "A Call for Clarity in Reporting BLEU Scores"); this file decides how it is
applied: one answer is one segment with all its references, n-gram orders the text is too short for are left out
(`effective_order`), and rounding never lifts a value above 1. The metric's signature goes into every score.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tasks.nouns import Ask, Instance, Score, TurnClass
from tasks.off_loop import off_loop
from tasks.rows import Row
from tasks.task import Task

#: BLEU of a text with itself is 1 up to rounding (sacrebleu: 100.00000000000004).
_TOLERANCE = 1e-9

_POLITE = r"(?:(?:sure|certainly|of course|okay|ok|absolutely|thanks|thank you)\b[^\n:]{0,80}[.!,:]\s*)?"
_ANSWER = r"(?:translation|description|sentence|caption|answer|version)"
_HERE_IS = rf"here(?:['’]s| is| are)\b[^\n]{{0,120}}\b{_ANSWER}\b[^\n:]{{0,120}}:"
_LABEL = rf"(?:(?:the|my|updated|revised|full|complete|entire|english|final)\s+){{0,4}}{_ANSWER}(?: so far)?[*_]*:"
_ANNOUNCEMENT = re.compile(rf"\A[#*_\s]*{_POLITE}(?:{_HERE_IS}|{_LABEL})[*_\s]*", re.IGNORECASE)
_FENCED = re.compile(r"\A```\w*\n(.*?)\n?```\Z", re.DOTALL)
_QUOTES = (('"', '"'), ("“", "”"), ("„", "“"), ("«", "»"))


def answer_text(reply: str) -> str:
    """The answer in a reply: without an announcement ("Here is the translation:"), a fence or quotes around all of it.

    The paper scores replies as they are. An announcement says nothing of how good the text after it is, yet it halves the
    BLEU of a short answer, and several turns invite more of it than one does; so it is taken off in every mode.
    """
    text = reply.strip()
    rest = text[found.end() :].strip() if (found := _ANNOUNCEMENT.match(text)) else text
    if fenced := _FENCED.match(rest):
        rest = fenced[1].strip()
    return _unquoted(rest) or text


def _unquoted(text: str) -> str:
    for opening, closing in _QUOTES:
        inner = text[1:-1]
        if text[:1] == opening and text[-1:] == closing and opening not in inner and closing not in inner:
            return inner.strip()
    return text


def bleu(answer: str, references: Sequence[str]) -> Score:
    """BLEU of one text against its references, in [0, 1]; correct when it reaches 1."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(effective_order=True)
    found = metric.sentence_score(answer, list(references))
    value = min(1.0, found.score / 100)
    details = {
        "signature": str(metric.get_signature()),
        "precisions": [round(p, 4) for p in found.precisions],
        "brevity_penalty": round(found.bp, 4),
    }
    status = "scored" if answer.strip() else "no_answer"
    return Score(value, correct=value >= 1 - _TOLERANCE, status=status, details=details)


class BleuTask(Task):
    """A task with a scripted user whose every reply is a text, scored by BLEU against `instance.target`, a list of texts."""

    scoring = "BLEU"
    modes = ("full", "concat", "sharded")
    scripted_user = True
    answers_every_turn = True
    extraction = "rules"
    binary = False

    def check(self, instance: Instance, row: Row) -> None:
        """Raises where there is nothing to compare with."""
        references = instance.target
        if not (
            isinstance(references, list) and references and all(isinstance(r, str) and r.strip() for r in references)
        ):
            raise row.error("target", references, "a list of at least one text")

    def say(self, instance: Instance, turn: int) -> str:
        """Shard `turn` as it stands."""
        return instance.shards[turn].text

    async def classify(self, reply: str, instance: Instance) -> TurnClass:
        """Every reply with text in it is an attempt."""
        return "answer_attempt" if reply.strip() else "missing"

    async def extract(self, reply: str, instance: Instance) -> str | None:
        """The text of the answer (`answer_text`)."""
        return answer_text(reply) or None

    async def score(self, answer: str, instance: Instance, ask: Ask | None = None) -> Score:
        """BLEU against all references."""
        return await off_loop(bleu, answer, instance.target)

    def right_answer(self, instance: Instance) -> str:
        """The first reference."""
        return str(instance.target[0])

    def wrong_answer(self, instance: Instance) -> str:
        """The first reference without the second half of its words."""
        words = self.right_answer(instance).split()
        return " ".join(words[: max(1, len(words) // 2)])
