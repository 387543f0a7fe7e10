"""Answers that are names: those that something is true of, and all of them in an order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from tasks.nouns import Score
from tasks.travel.answers.finding import CONCLUDES, between, mentions, told, waits, without_questions
from tasks.travel.answers.form import Form, Frame
from tasks.travel.answers.metrics import overlap


class NameSet(Form):
    """A set of names, perhaps empty. Precision, as published; correct if it is the very set. Recall and F1 in the details."""

    wanted = "the passage that names the restaurants that are open, or says that none is"
    target = list[str]

    _NONE = re.compile(r"\b(?:none|neither|not any|no (?:[a-z]+ ){0,3}restaurants?|nowhere)\b", re.IGNORECASE)
    _ALL = re.compile(r"\b(?:all|every|each|both)\b(?! (?:the |of the )?(?:time|while|day))", re.IGNORECASE)
    _OPEN = re.compile(r"\b(?:open|opened|available|closed|of (?:them|these|those)|restaurants)\b", re.IGNORECASE)
    _NOT = re.compile(
        r"\b(?:not|never|cannot|closed|closes|except|excluding|unfortunately|too (?:late|early|short)|only opens"
        r"|no|without|neither|nor|fails?|unavailable|other than|apart from)\b|n['’]t\b|[✗❌✘]",
        re.IGNORECASE,
    )
    _EXCEPT = re.compile(r"\b(?:except|excluding|other than|apart from)\b", re.IGNORECASE)
    _CUE = re.compile(CONCLUDES.pattern + r"|^\W*(?:the (?:following|only)|only|these)\b", re.IGNORECASE)
    _CLAUSE = re.compile(r";|,?\s\b(?:but|while|whereas|however|although|though)\b")

    def find(self, reply: str, frame: Frame) -> str | None:
        """From the last conclusion, or the first statement about any of the names, to the last statement about one."""
        if waits(reply):
            return None
        stated = told(reply)
        about = [number for number, statement in enumerate(stated) if self._says(statement, frame)]
        concluding = [number for number in about if self._concludes(stated, number)]
        if not about:
            return None
        start = concluding[-1] if concluding else about[0]
        return between(reply, stated, start, about[-1])

    def read(self, text: str, frame: Frame) -> Any:
        if not self._says(text, frame):
            return None
        named: dict[str, bool] = {}
        for statement in told(text):
            for clause in self._CLAUSE.split(statement):
                self._note(clause, frame, named)
        return [name for name in frame.names if named.get(name)]

    def measure(self, value: Any, target: Any, frame: Frame) -> Score:
        near = overlap(value, target)
        exact = set(value) == set(target)
        details = {"answer": value, "target": target, "recall": near.recall, "f1": near.f1, "exact": exact}
        return Score(near.precision, exact, details=details)

    def say(self, target: Any) -> str:
        return f"These are open: {', '.join(target)}." if target else "None of these restaurants is open then."

    def spoil(self, target: Any, frame: Frame) -> Any:
        return [name for name in frame.names if name not in target]

    def _says(self, text: str, frame: Frame) -> bool:
        """Whether a text says something about the names; "all" does where it is about them or about being open."""
        about_all = self._ALL.search(text) and self._OPEN.search(text)
        return bool(mentions(text, frame.names) or self._NONE.search(text) or about_all)

    def _concludes(self, stated: Sequence[str], number: int) -> bool:
        """Says what the answer is, or is the first line of a list that was announced."""
        announced = number > 0 and stated[number - 1].rstrip("*_ ").endswith(":")
        return announced or bool(self._CUE.search(stated[number]))

    def _note(self, clause: str, frame: Frame, named: dict[str, bool]) -> None:
        """What a clause says of the names in it; later clauses overrule earlier ones."""
        mentioned = [name for _, name in mentions(clause, frame.names)]
        if self._ALL.search(clause) and (self._EXCEPT.search(clause) or not (mentioned or self._NOT.search(clause))):
            named.update(dict.fromkeys(frame.names, True))
        named.update(dict.fromkeys(mentioned, not self._NOT.search(clause)))


class NameOrder(Form):
    """All the names of the frame in an order, right if it is the true one."""

    wanted = "the passage that names the places in the order in which they are to be visited"
    target = Annotated[list[str], msgspec.Meta(min_length=1)]

    _CUE = re.compile(CONCLUDES.pattern + r"|\b(?:order|route|shortest|visit)\b|→|->", re.IGNORECASE)

    def find(self, reply: str, frame: Frame) -> str | None:
        whole = [each for each in told(reply) if len(self._named(each, frame)) == len(frame.names)]
        concluding = [each for each in whole if self._CUE.search(each)]
        if whole:
            return (concluding or whole)[-1].strip()
        return None if waits(reply) else self._last_run(reply, frame)

    def read(self, text: str, frame: Frame) -> Any:
        return self._named(text, frame) or None

    def measure(self, value: Any, target: Any, frame: Frame) -> Score:
        right = value == target
        placed = sum(mine == true for mine, true in zip(value, target, strict=False)) / len(target)
        return Score(float(right), right, details={"answer": value, "target": target, "in_place": placed})

    def say(self, target: Any) -> str:
        return f"The shortest walk visits them in this order: {', '.join(target)}."

    def spoil(self, target: Any, frame: Frame) -> Any:
        return target[1:] + target[:1]

    def _named(self, text: str, frame: Frame) -> list[str]:
        return list(dict.fromkeys(name for _, name in mentions(text, frame.names)))

    def _last_run(self, reply: str, frame: Frame) -> str | None:
        """The shortest end of the reply that names them all (a numbered list, a walk told step by step)."""
        places = mentions(without_questions(reply), frame.names)
        for start, _ in reversed(places):
            if len(self._named(reply[start:], frame)) == len(frame.names):
                end, last = places[-1]
                return reply[start : end + len(last)]
        return None
