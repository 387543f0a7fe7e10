"""What a short text points to outside itself: linking words ("also", "then"), and pronouns without a word they can stand for.

Beside `wording`, which says what a text says. Rules can only tell by wording; what they find calls for somebody who looks.
"""

from __future__ import annotations

import re

from simulator.wording import names, plain, words

_LINKS = re.compile(
    r"\b(?:also|too(?=[.,;!]|$)|as well(?! as)|additionally|furthermore|moreover|however|aforementioned)\b"
    r"|\bas (?:mentioned|stated|said|noted)\b|\bthat (?:number|amount|many|much|total)\b|\bthan that\b"
    r"|\A\W*(?:but|and|so(?! far)|then|instead|therefore|thus|otherwise|meanwhile|after (?:that|this)|the rest (?!of)|"
    r"the others?\b(?! than)|the former,|the latter|each one)\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"\b(?:(?P<person>he|she|him|her|his|hers|himself|herself)|(?P<several>they|them|their|theirs|themselves)|"
    r"(?P<thing>it|its|itself)|(?P<fact>this|that|these|those)(?= (?:is|was|are|were|means?|makes?|will|has|had|costs?)\b))\b",
    re.IGNORECASE,
)
_FOR_PEOPLE = """
mother father mom dad mum sister brother uncle aunt auntie grandma grandpa grandmother grandfather son daughter wife
husband friend boy girl man woman kid child teacher student farmer neighbor neighbour owner baker customer chef doctor
nurse driver worker guest player coach boss princess prince king queen cousin niece nephew person everyone cook builder
salesman saleswoman policeman fireman
"""
PEOPLE = frozenset(_FOR_PEOPLE.split())
_PLURAL = re.compile(
    r"\b(?!(?:was|is|has|does|this|less|his|its|plus)\b)[a-z]\w{2,}s\b|\band\b|\b(?:family|people|children|group)\b"
)
#: What a question counts is not what its "they" stands for.
_COUNTED = re.compile(r"\b[Hh]ow (?:many|much) .*?(?=\b(?:do|did|will|can|could|would|should|have|had) they\b)")
#: "It takes an hour to …": nothing is meant by "it".
_EMPTY_IT = re.compile(
    r"it(?:'s| is| was| will| would)?(?: also)? ?"
    r"(?:(?:take|took|cost|snow|rain|known|noted|\w+ing)\w*\b.*\b(?:to|that|until|for|from)\b|\d)",
    re.IGNORECASE,
)
_OPENERS = """
the a an in on at for if after before each every there how what when with of to and but so then one two three four five
six seven eight nine ten half all both some most several many another other next first second third last by from during
while since because today yesterday later finally initially originally also only just given everyone please he she they it we
i you his her their its our my your who whose where why which
"""
_NO_NAMES = frozenset(_OPENERS.split())


def link(text: str) -> str:
    """A word in the first sentence or clause that points to what was said before; empty if there is none."""
    opening = re.split(r"(?<=[.!?;])\s", plain(text))[0]  # what comes later may point to that
    found = _LINKS.search(opening)
    return found[0].strip() if found else ""


def dangling(text: str, before: str, evidence: str) -> str:
    """A pronoun for which neither the text nor what was said before it has a word; empty if there is none.

    `evidence`: more text of the same hand, in which names can be told from words that begin a sentence.
    """
    text, before = plain(text), plain(before)
    lost = (found[0] for found in _PRONOUN.finditer(text) if not _stands_for(found, text, before, evidence))
    return next(lost, "")


def _stands_for(pronoun: re.Match[str], text: str, first: str, evidence: str) -> bool:
    """Whether the text, or what was said first, has a word for a pronoun; at the beginning of a text it only points back."""
    before, after = text[: pronoun.start()], text[pronoun.end() :] if pronoun.start() else ""
    match pronoun.lastgroup:
        case "person":
            ahead = names(after, evidence) if pronoun[0] in ("his", "her") else set[str]()
            known = people(before, evidence) | people(first, evidence) | ahead
            return bool(known or re.match(r"An? \w+ ", before) or re.search(r"\b(?:s?he|his|her)\b", first))
        case "several":
            return any(map(_PLURAL.search, (_COUNTED.sub("", before), after, first)))
        case "thing":
            pointed = len(before.split()) >= 2 or re.search(r"\b(?:an?|the) \w", first)
            return bool(pointed or _EMPTY_IT.match(text[pronoun.start() :]))
        case _:
            return len(before.split()) >= 2


def people(text: str, evidence: str) -> frozenset[str]:
    """Names in a text, those that begin a sentence too, and words for people; in lower case."""
    openers = {found[0].lower() for found in re.finditer(r"(?:(?<=\A)|(?<=[.!?] ))[A-Z][a-z]+", text)}
    sure = names(text, evidence) | {word for word in openers if word not in words(evidence.replace(word.title(), ""))}
    return (sure - _NO_NAMES) | (words(re.sub(r"\b(?:each|every|per|many|more) \w+", "", text)) & PEOPLE)
