"""Answers that are names: those that something is true of, and all of them in an order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from tasks.nouns import Score
from tasks.travel.answers.finding import CONCLUDES, between, mentions, told, told_in_place, waits
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
        passage = between(reply, stated, start, about[-1])
        return passage if self.read(passage, frame) is not None else None

    def read(self, text: str, frame: Frame) -> Any:
        if not self._says(text, frame):
            return None
        named: dict[str, bool] = {}
        for statement in told(text):
            for clause in self._CLAUSE.split(statement):
                self._note(clause, frame, named)
        # That some are closed is not to say that none is open.
        told_of_all = self._NONE.search(text) or set(named) == set(frame.names)
        return [name for name in frame.names if named.get(name)] if told_of_all or any(named.values()) else None

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
    _ITEM = re.compile(r"^[ \t]*(?:[0-9]{1,2}[.)]|[-*•])[ \t*_]*", re.MULTILINE)

    def find(self, reply: str, frame: Frame) -> str | None:
        """The last list of them all or the last sentence with them all, whichever comes later; else how the reply ends."""
        stated = told(reply)
        whole = [each for each in stated if len(self._named(each, frame)) == len(frame.names)]
        concluding = [each for each in whole if self._CUE.search(each)] or whole
        listed = self._last_list(reply, frame)
        if listed and not (concluding and reply.rindex(concluding[-1]) > reply.rindex(listed)):
            return listed
        if concluding:
            return concluding[-1].strip()
        if waits(reply):
            return None
        partly = (each.strip() for each in reversed(stated) if self._orders_some(each, frame))
        return self._last_run(reply, frame) or next(partly, None)

    def read(self, text: str, frame: Frame) -> Any:
        heads = [name for _, _, name in self._heads(text, frame)]
        return heads or self._named(text, frame) or None

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

    def _heads(self, text: str, frame: Frame) -> list[tuple[int, int, str]]:
        """The last items of a list that begin with a name each: where it begins, where the name ends, the name; or nothing."""
        items = {item.end(): item.start() for item in self._ITEM.finditer(text)}
        begun = [(items[at], at + len(name), name) for at, name in mentions(text, frame.names) if at in items]
        heads = begun[-len(frame.names) :]
        return heads if len({name for _, _, name in heads}) == len(frame.names) else []

    def _last_list(self, reply: str, frame: Frame) -> str | None:
        """The lines of a list that begin with the names, one each."""
        heads = self._heads(told_in_place(reply), frame)
        return reply[heads[0][0] : heads[-1][1]] if heads else None

    def _last_run(self, reply: str, frame: Frame) -> str | None:
        """The shortest end of the reply that names them all (a walk told step by step)."""
        places = mentions(told_in_place(reply), frame.names)
        for start, _ in reversed(places):
            if len(self._named(reply[start:], frame)) == len(frame.names):
                end, last = places[-1]
                return reply[start : end + len(last)]
        return None

    def _orders_some(self, statement: str, frame: Frame) -> bool:
        """Gives an order of more than one: if not of all, it is an answer still, though a wrong one."""
        return bool(self._CUE.search(statement)) and len(self._named(statement, frame)) > 1
