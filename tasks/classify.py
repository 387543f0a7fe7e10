"""The class of a reply by rules, without a model: the seven classes of "LLMs Get Lost In Multi-Turn Conversation" (Laban
et al. 2025, Table 8).

A task says whether it finds an answer of its own form in the reply. Where that form is a whole of its own (a program, a query,
function calls) this is nearly all there is to know. Where it is a number somewhere in prose (`stated`), the reply must also
commit to it, which a small table of evidence decides. The weights were chosen on 2,167 replies of two models that a model
had labelled (`shardtalk judge-check`); cross-validated over instances they agree with 9 labels in 10.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tasks.nouns import TurnClass

#: A clarification is short (paper: fewer than 100 words) and asks one thing.
CLARIFICATION_WORDS = 100


def classify_reply(reply: str, *, has_answer: bool, stated: str | None = None) -> TurnClass:
    """One of the seven classes.

    Args:
        reply: what the assistant said.
        has_answer: the task found what could be a complete answer.
        stated: that answer as the reply has it, if it is a part of the prose (a number) rather than a whole of its own.
    """
    if not re.search(r"\w", reply):
        return "missing"
    text = _own_words(reply)
    if has_answer and (_commits(_Stated(text, stated)) if stated else not _puts_off(reply, text)):
        return "answer_attempt"
    if has_answer and not stated and _GAP.search(reply):
        return "hedge"
    asked = _asked(text)
    if asked > 1:
        return "interrogation"
    if asked and len(text.split()) < CLARIFICATION_WORDS:
        return "clarification"
    if len(_CASE.findall(text)) > 1:
        return "hedge"
    return "refuse" if not asked and (_REFUSES.search(text) or _LACKS.search(text)) else "discussion"


_QUOTED = re.compile(r"```.*?```|\"[^\"\n]*\"|“[^”\n]*”", re.DOTALL)


def _own_words(reply: str) -> str:
    """The reply without what it quotes: a quoted refusal or question is not the assistant's."""
    return _QUOTED.sub(" … ", reply)


# -- what a reply says about itself -------------------------------------------------------------------------------

_UNTOLD = r"(?:information|info|details?|context|data|specifics?|clarification|parameters?)"
_LACKS = re.compile(
    rf"""\b(?:need|needs|require|requires|missing|lack|lacks|lacking)\b
           (?!\ to\ (?:find|calc|add|sub|mult|div|determine|figure|convert|use|consider|take))
           [^.\n]{{0,50}}\b(?:{_UNTOLD}|piece|know)\b
      | \b(?:cannot|can't|can\ not|couldn't|unable\ to|impossible\ to|not\ possible\ to|isn't\ possible|not\ able\ to)\b
           [^.\n]{{0,40}}\b(?:solve|calculate|determine|answer|tell|provide|give|predict|find|know|say|figure)
      | \b(?:don't|do\ not|doesn't|does\ not|didn't|not|haven't|isn't|lacks?)\b
           [^.\n]{{0,30}}\b(?:enough|sufficient|any|specific|have|provided?|given|mention|specify|know|required)\b
           [^.\n]{{0,30}}\b(?:{_UNTOLD}|value|how\ many|how\ much)
      | \binsufficient\b""",
    re.VERBOSE | re.IGNORECASE,
)
_ASKS = re.compile(
    r"""\bonce\ (?:you|i|we)\b | \bif\ you\ (?:can\ |could\ )?(?:provide|tell|give|share)\b
      | \bplease\ (?:provide|tell|share|clarify|give|specify)\b | \b(?:could|can)\ you\b
      | \bprovide\ (?:me\ with|the|more)\b | \btell\ me\b""",
    re.VERBOSE | re.IGNORECASE,
)
_REFUSES = re.compile(
    r"""\b(?:i|we)\s*(?:can(?:not|'t|\ not)|won't|will\ not|(?:'m|\ am|\ are)\ (?:unable|not\ able))\b
      | \b(?:none\ of\ the|no)\ (?:given\ |available\ )?functions?\b | \b(?:question|request)\b[^.\n]{0,20}\b(?:lacks|missing)\b
      | \b(?:is|are)\ (?:still\ )?missing\b | \bdo(?:es)?(?:n't|\ not)\ support\b""",
    re.VERBOSE | re.IGNORECASE,
)
_CASE = re.compile(r"\b(?:if|assuming|in case|suppose|depending on|(?:scenario|case|option) [a-d1-4])\b", re.IGNORECASE)
_IF_THEN = re.compile(r"\bif\b[^.\n]*,|\b(?:scenario|case|option) [a-d1-4]\b", re.IGNORECASE)
_INVENTS = re.compile(
    r"\bassum|\bhypothetical|\blet's say\b|\bscenario\b|\bsuppose\b|\bfor example\b|\be\.g\.", re.IGNORECASE
)
_RUNNING = re.compile(
    r"so far|running total|to date|what's next|what else|next step|at this point|current total", re.IGNORECASE
)
_MARKER = re.compile(r"####|\\boxed|\banswer\W{0,4}:|\bfinal answer\b", re.IGNORECASE)
_CONCLUDES = re.compile(r"\b(?:therefore|thus|so|hence|answer)\b", re.IGNORECASE)
_BOLD_NUMBER = re.compile(r"\*\*[^*]*\d[^*]*\*\*")
_FINISHED = re.compile(r"[.!)*}$\d%]\s*\Z")


_LEAD = re.compile(r"\b(?:provide|tell|know|need|share|missing|unknown)\b.*:[*_ ]*$", re.IGNORECASE)
_POINT = re.compile(r"\s*(?:[-*•]|\d+[.)])\s")


def _asked(text: str) -> int:
    """How many things a reply asks of the user: its questions, or the points of a list of what it wants to know."""
    points = 0
    listing = False
    for line in filter(str.strip, text.splitlines()):
        is_point = bool(_POINT.match(line))
        points += listing and is_point
        listing = (listing and is_point) or bool(_LEAD.search(line))
    return max(text.count("?"), points, 1 if _ASKS.search(text) else 0)


#: Arguments left open: `f(a=)`, `f(a=?)`, `f(a=<a>)`, `f(a='[DATE]')`.
_GAP = re.compile(r"=\s*(?:[,)?]|<[\w ]+>|['\"]\[[A-Z_]{3,}\]['\"])")


def _puts_off(reply: str, text: str) -> bool:
    """An answer in its own form that has gaps, is only one of several cases, or ends in a question to the user."""
    return bool(_GAP.search(reply)) or len(_CASE.findall(text)) > 1 or text.rstrip("*_ \n").endswith("?")


# -- does prose commit to the number in it? -----------------------------------------------------------------------


class _Stated(NamedTuple):
    """A reply and the answer it may state."""

    text: str
    answer: str

    @property
    def place(self) -> float:
        """Where the answer last ends, from 0 (start of the reply) to 1 (its end)."""
        at = self.text.rfind(self.answer)
        return (at + len(self.answer)) / len(self.text) if at >= 0 else 0.0

    @property
    def sentence(self) -> str:
        """What leads up to that place, from the start of its sentence or line."""
        at = self.text.rfind(self.answer)
        return self.text[max(self.text.rfind("\n", 0, at), self.text.rfind(". ", 0, at), 0) : at]

    def end(self, characters: int) -> str:
        """The last characters of the reply."""
        return self.text[-characters:]


_EVIDENCE: tuple[tuple[int, str, Callable[[_Stated], object]], ...] = (
    (+1, "the answer stands in the last two fifths", lambda said: said.place > 0.6),
    (+1, "and even in the last fifth", lambda said: said.place > 0.8),
    (+1, "its sentence concludes", lambda said: _CONCLUDES.search(said.sentence)),
    (+2, "it is marked as the answer", lambda said: _MARKER.search(said.text)),
    (+2, "a number at the end is in bold", lambda said: _BOLD_NUMBER.search(said.end(250))),
    (+1, "the reply was not cut off", lambda said: _FINISHED.search(said.text)),
    (+2, "the reply is hardly more than the answer", lambda said: len(said.text.split()) <= 5),
    (-2, "the answer depends on the case", lambda said: len(_IF_THEN.findall(said.end(300))) > 1),
    (-3, "it asks for what the user has not told", lambda said: _ASKS.search(said.text)),
    (-2, "it says that something is lacking", lambda said: _LACKS.search(said.text)),
    (-2, "the result is one on the way", lambda said: _RUNNING.search(said.end(500))),
    (-1, "it ends with a question", lambda said: "?" in said.end(400)),
    (-1, "it works with invented values", lambda said: len(_INVENTS.findall(said.text)) > 2),
)
#: An attempt has more evidence for it than this.
_ENOUGH = 1


def _commits(said: _Stated) -> bool:
    return sum(weight for weight, _, holds in _EVIDENCE if holds(said)) > _ENOUGH
