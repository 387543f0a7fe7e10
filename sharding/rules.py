"""The sharder that needs no model: sentences and clauses, with names for pronouns where there is only one they can mean.

For word problems and for requests of a single call. It does what is safe and refuses the rest: its checks are those of a
model's work, and nothing is ever asked again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import ClassVar

from sharding.authors import Coverage, Cut, Refused, Worded, Wording
from sharding.nouns import Pieces, Sharding
from simulator.pointing import PEOPLE, people
from simulator.wording import plain, words

_SENTENCE = re.compile(r"(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\b[A-Z]\.)(?<=[.!?])[\"']?\s+(?=[\"'A-Z\d$])")
_CONDITION_FIRST = re.compile(
    r"(?:If|When|Given that|Assuming|Since) (?P<fact>.+), (?P<request>(?:then )?(?:how|what|which|who|calculate|find)\b.+)",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION_LAST = re.compile(
    r"(?P<request>(?:How|What|Which|Who)\b.+?),? (?:if|given that|when) (?P<fact>.+)", re.DOTALL
)
_REQUEST = re.compile(
    r"(?:How|What|Which|Who|Where|When|Calculate|Find|Compute|Determine|Please)\b|\$?\w.*\?$", re.DOTALL
)
_VERB = (
    r"(?:is|are|was|were|has|have|had|gets?|got|gives?|gave|buys?|bought|sells?|sold|makes?|made|takes?|took|costs?|needs?|"
    r"wants?|eats?|ate|pays?|paid|spends?|spent|holds?|contains?|weighs?|reads?|works?|can|will|finds?|found|uses?|used)\b"
)
#: Where a clause ends and another one with a subject and a verb of its own begins.
_CLAUSE = re.compile(
    rf"(?:;|,? and|,? but|, while)\s+(?=(?:he|she|there|each \w+|every \w+|the \w+|(?-i:[A-Z]\w+)) {_VERB})",
    re.IGNORECASE,
)
_ASKS = re.compile(r"\b(?:how|what|which|who|whom|where|when|why)\b", re.IGNORECASE)
#: What only means something in the order in which it was told.
_UNSAFE = re.compile(
    r"\b(?:remain\w*|the rest|what(?:'s| is| was) left|left over|that (?:many|much|number|amount)|than that|those|these|"
    r"the same|the others?|the former|the latter|respectively|the next|previous\w*|another|each one|herself|himself|"
    r"after (?:that|this)|"
    r"this(?! (?:week|month|year|morning|afternoon|evening|summer|winter|weekend)))\b",
    re.IGNORECASE,
)
_OPENING = re.compile(r"(?:(?:and|but|so|then|also|however|additionally|if)\b,?\s*)+", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(he|she|his|him|her)\b", re.IGNORECASE)
#: Somebody by trade, whom a pronoun may mean as well.
_TRADE = re.compile(r"\b(?:an?|the|his|her) (?:\w+ )?\w+(?:ian|ist|eer|yer|ctor|tant|mic|nic)s?\b")
_PHRASES = r"with|without|for|from|to|into|in|on|at|as|by"
_CALL = re.compile(
    rf"(?P<request>[^,;.]*?\b(?P<noun>an? [^,;.]+?|some [^,;.]+?))(?P<phrases>,? (?:{_PHRASES})\b[^;]+?)\.?"
)
_DAYS = "monday tuesday wednesday thursday friday saturday sunday "
_MONTHS = "january february march april may june july august september october november december"
_NOBODY = frozenset((_DAYS + _MONTHS + " mr mrs ms dr").split())


class RulesAuthor:
    """Cuts at sentences and clauses, words by naming whom a pronoun means; has a problem where it cannot be sure."""

    repairs: ClassVar[int] = 0
    prompts: Mapping[str, str] = {}

    async def cut(self, instruction: str, refused: Refused | None) -> Cut:
        sentences = [sentence.strip() for sentence in _SENTENCE.split(instruction) if sentence.strip()]
        if len(sentences) == 1 and (call := _CALL.fullmatch(sentences[0])):
            phrases = re.split(rf",\s+(?=(?:{_PHRASES})\b)", call["phrases"].lstrip(", "))
            return Cut(pieces=[call["request"].strip(), *phrases], request=1)
        asking = [number for number, sentence in enumerate(sentences) if _REQUEST.match(_without_opening(sentence))]
        asking = [number for number in asking if "?" in sentences[number]] or asking
        if len(asking) != 1:
            return Cut(problem="there is no sentence, or more than one, that asks")
        if ";" in sentences[asking[0]]:
            return Cut(problem="several things are asked in one sentence")
        pieces = list(_pieces(sentences, asking[0]))
        return Cut(pieces=[text for text, _ in pieces], request=[asks for _, asks in pieces].index(True) + 1)

    async def word(self, pieces: Pieces, refused: Refused | None) -> Wording:
        told = [text for number, text in enumerate(pieces.texts) if number != pieces.request]
        if unsafe := next((found[0] for text in told if (found := _UNSAFE.search(plain(text)))), None):
            return Wording(problem=f'"{unsafe}" needs what was said before')
        hero = _hero(pieces.instruction)
        request = pieces.texts[pieces.request]
        shards = [Worded(pieces.request + 1, _sentence(_named(request, hero), "?" if _ASKS.search(request) else "."))]
        noun = call["noun"] if (call := re.search(r"\b(?P<noun>an? .+|some .+)$", request)) else ""
        for number, text in enumerate(pieces.texts, 1):
            if number != pieces.request + 1:
                shards.append(Worded(number, _sentence(_told(_named(text, hero), noun), ".")))
        return Wording(shards=shards)

    async def compare(self, sharding: Sharding) -> Coverage:
        """Nothing to compare: the words are those of the instruction."""
        return Coverage(complete=True)


def _pieces(sentences: list[str], asking: int) -> Iterator[tuple[str, bool]]:
    """The pieces in order, and whether one is the request."""
    for number, sentence in enumerate(sentences):
        body = sentence.rstrip(".?! ")
        if number != asking:
            yield from _clauses(body)
        elif split := _CONDITION_FIRST.fullmatch(body):
            yield from _clauses(split["fact"])
            yield split["request"], True
        elif split := _CONDITION_LAST.fullmatch(body):
            yield split["request"], True
            yield from _clauses(split["fact"])
        else:
            yield body, True


def _clauses(sentence: str) -> Iterator[tuple[str, bool]]:
    """The clauses of a sentence that tells something; one without a verb stays with its neighbours."""
    clauses = [clause.strip() for clause in _CLAUSE.split(sentence)]
    whole = all(re.search(rf"\b{_VERB}|\w{{3,}}(?:ed|s)\b", clause) for clause in clauses)
    yield from ((clause, False) for clause in (clauses if whole else [sentence]))


def _hero(instruction: str) -> str:
    """The one person an instruction names, as it writes the name; empty if there is none or more than one."""
    named = people(plain(instruction), instruction) - _NOBODY
    if len(named) != 1 or words(instruction) & PEOPLE or _TRADE.search(instruction):
        return ""
    found = re.search(rf"\b{re.escape(min(named))}\b", instruction, re.IGNORECASE)
    return found[0] if found and len(found[0]) > 2 else ""


def _named(text: str, hero: str) -> str:
    """The text with the hero's name for the first pronoun that would come before it."""
    pronoun = _PRONOUN.search(text)
    if not hero or not pronoun or hero in text[: pronoun.start()]:
        return text
    behind = text[pronoun.end() :]
    owned = re.match(r" (?!(?:to|for|at|with|in|a|an|the|\d+)\b)[a-z]", behind)
    owns = pronoun[0].lower() == "his" or (pronoun[0].lower() == "her" and owned)
    return text[: pronoun.start()] + (f"{hero}'s" if owns else hero) + behind


def _told(text: str, noun: str) -> str:
    """A phrase of a call as a statement about its noun; anything else as it is."""
    if noun and re.match(rf"(?:{_PHRASES})\b", text):
        return f"The {noun.split(' ', 1)[1]} is {text}"
    return re.sub(r"\b(?:also|then) ", "", text)


def _without_opening(text: str) -> str:
    return _OPENING.sub("", text, count=1) if _OPENING.match(text) else text


def _sentence(text: str, end: str) -> str:
    text = _without_opening(" ".join(text.split()).rstrip(".?!,;"))
    return text[:1].upper() + text[1:] + end
