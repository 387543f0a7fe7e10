"""Whether a text only says again what was said before, found without knowing which shard it is about.

A user model that loses track repeats itself: in the public logs of a fork of the reference implementation half of all user
turns do. Two texts are compared by the weight of the content words and numbers they share (weighted Jaccard); the constants
were chosen on those logs, and `shardtalk judge-check` prints precision and recall on them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from simulator.wording import MULTIPLES, Value, numbers, plain, remembered, words
from tasks.number_words import SCALES, UNITS

Content: TypeAlias = frozenset[str | Value]

#: A number tells more than a word; a word of the opening question is in everything that is said later.
NUMBER_WEIGHT, OPENING_WEIGHT = 1.5, 0.4
#: From this similarity on, a text is a repeat. A number nobody has said before counts against it.
THRESHOLD, NEW_NUMBER = 0.47, 0.3

_FILLERS = """
a an the of to in on at for from by with and or but so as is are was were be been being it its this that these those i
you your we our us they their them he his him she her my me there here have has had do does did will would can could
should may might must just also oh actually think forgot forget let lets need needs needed want wants wanted please
make makes sure get gets got too well then now way btw guess yeah yes ok okay um uh hmm about if what how which who
whom where when why than into out up some any all each per only clarify clarifying recap summarize confirm remember
remind mention mentioned mentioning add adding again right specifically specific initially ended ending going go
actual currently current another trying plus basically know exactly really supposed use used uses using regarding
still ll ve re s t m d
"""
_EMPTY = frozenset(_FILLERS.split())
_SYNONYMS = """
cost price charge fee worth pay paid | begin start commence began | calculate compute determine find figure
total overall altogether | earn earning made | buy bought purchase | home house | trip journey travel
usual normal typical | kid child children | big large | small little | amount quantity | far distance
raise increase | include consist comprise | give gave given hand | keep kept | spend spent | sell sold | eat ate
take took taken | fly flies flew | wake woke | original initial | foot feet | equal even split share | get got
"""
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s", "ly", "e")


@lru_cache(maxsize=4096)
def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


_SAME = {_stem(word): _stem(group.split()[0]) for group in re.split(r"[|\n]", _SYNONYMS) for word in group.split()}
_SPELT = {*UNITS, *SCALES, "half", "halves", "quarter", "quarters", "dozen", *MULTIPLES}


@remembered
def content(text: str) -> Content:
    """The numbers of a text by value (1 aside, which is often `a`), and the stems of the words that carry its meaning."""
    found = re.findall(r"(?<![a-z\d])(?<![a-z]')[a-z]+(?:\d[a-z\d]*)?", plain(text).lower())
    stems = {_stem(word) for word in found if word not in _EMPTY and word not in _SPELT}
    return frozenset({_SAME.get(stem, stem) for stem in stems} | {n.value for n in numbers(text) if n.firm} - {1})


def mentions(word: str, text: str) -> bool:
    """Whether a text has this word, in whatever form."""
    return _stem(word) in {_stem(other) for other in words(text)}


#: A conclusion the speaker draws (`…, so that's 20 in total`) adds no information of its own.
_CONCLUSION = re.compile(
    r"(?:[,;.]|\band\b)\s*(?:so|which means|meaning|(?:that|this) means|which (?:is|would be|makes|totals)|that's|making)"
    r"\b[^.;]*$",
    re.IGNORECASE,
)


def premises(text: str) -> str:
    """A text without the conclusion it ends in, if four words or more are left."""
    rest = _CONCLUSION.sub("", plain(text).rstrip(". \n"))
    return rest if len(rest.split()) >= 4 else text


def repeats(text: str, said: Sequence[str]) -> bool:
    """Whether a user's text repeats an earlier one.

    Args:
        text: what the user is about to say, without any recap around it.
        said: what the user said before, in order; the first is the opening request, which no later text repeats.
    """
    if len(said) < 2:
        return False
    opening, *later = map(content, said)
    new = content(premises(text))
    unheard = _numbers_in(new.difference(opening, *later))
    closest = max(similarity(new, earlier, opening) for earlier in later)
    return closest - NEW_NUMBER * min(unheard, 2) > THRESHOLD


def similarity(one: Content, other: Content, opening: Content = frozenset()) -> float:
    """Weighted Jaccard similarity in [0, 1]; what the opening holds too weighs less."""
    either = _weight(one | other, opening)
    return _weight(one & other, opening) / either if either else 0.0


def coverage(part: Content, whole: Content, opening: Content = frozenset()) -> float:
    """How much of `part` is in `whole`, in [0, 1], weighted as above; 1 for an empty part."""
    weight = _weight(part, opening)
    return _weight(part & whole, opening) / weight if weight else 1.0


def _weight(items: Content, opening: Content) -> float:
    heard, new = items & opening, items - opening
    return _plain_weight(new) + OPENING_WEIGHT * _plain_weight(heard)


def _plain_weight(items: Content) -> float:
    return len(items) + (NUMBER_WEIGHT - 1) * _numbers_in(items)


def _numbers_in(items: Content) -> int:
    return len(items) - list(map(type, items)).count(str)
