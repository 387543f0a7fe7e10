"""How many people a text speaks of: `4`, `a party of six`, `half a dozen`, `my parents and I`.

Tried before writing our own, on the cases of the tests: word2number 1.1 reads `two of us` but no dozen and no couple;
text2num 3.1 reads neither. Number words are read by `tasks/number_words.py`, as everywhere here.
"""

from __future__ import annotations

import re

from tasks.number_words import UNITS, read_words

_WORD = "|".join(sorted(UNITS, key=len, reverse=True))
_NUMBER = rf"(?:\d{{1,3}}|(?:{_WORD})(?:-(?:{_WORD}))?)"
_DOZENS = re.compile(rf"\b(?P<half>half\s+an?\s+dozen|half\s+dozen)\b|\b(?P<n>an?|{_NUMBER})\s+dozen\b|\bdozen\b")
_PAIR = re.compile(r"\b(?:a\s+couple|a\s+pair|both of us|us both)\b")

#: Words for more than one person that say by themselves how many; for one person; for as many as a number says.
_SEVERAL = {"parents": 2, "grandparents": 2, "in-laws": 2, "twins": 2}
_ONE = (
    "wife|husband|partner|girlfriend|boyfriend|spouse|fianc[eé]e?|mother|father|mom|mum|dad|brother|sister|son|daughter"
    "|boss|friend|colleague|cousin|uncle|aunt|grandmother|grandfather|grandma|grandpa|child|kid|baby|neighbou?r|client|guest"
)
_MANY = (
    "people|persons?|adults?|kids?|child(?:ren)?|friends?|colleagues?|brothers?|sisters?|sons?|daughters?|cousins?|guests?"
    "|neighbou?rs?|clients?|others?|bab(?:y|ies)|grown-ups?|teenagers?|toddlers?|seniors?|students?|of\\s+us"
)
_HEAD = rf"(?:{_NUMBER}\s+(?:of\s+)?(?:[a-z]+\s+)?(?:{_MANY})|{'|'.join(_SEVERAL)}|{_ONE}|i|me|myself)\b"
_OWN = r"(?:(?:my|our|the|a|an|his|her|both|just|only)\s+){0,2}"
_JOINT = r"(?:\s*,\s*(?:and\s+)?|\s+(?:and|plus|with)\s+|\s*[&+]\s*)"
#: Everybody who is named in one breath: `my wife, our two kids and me`.
_COMPANY = re.compile(rf"(?<![\w.:/-]){_OWN}{_HEAD}(?:{_JOINT}{_OWN}{_HEAD})*")
_HEADS = re.compile(rf"(?P<n>{_NUMBER})\s+\S|\b(?P<several>{'|'.join(_SEVERAL)})\b|\b(?:{_ONE}|i|me|myself)\b")

_ALONE = rf"(?P<n>{_NUMBER})(?![\w:/%-]|\.\d|\s*(?:[ap]\.?m\b|o'clock\b|days?\b|weeks?\b|hours?\b|minutes?\b))"
_COUNT = re.compile(rf"(?<![\w.:/-]){_ALONE}")
_PARTY = re.compile(rf"\b(?:for|of|we are|we're|be)\s+{_ALONE}")


def find_people(text: str, *, bare: bool = False) -> list[int]:
    """The numbers of people a text may mean, in order: dozens and pairs, else everybody named, else `for 4`, `party of six`.

    Args:
        bare: a number alone (`4`) is one of people, too, and so is a person (`me`).
    """
    plain = text.lower().replace("’", "'")
    counted = _dozens(plain) or _companies(plain) or _counts(plain, _COUNT if bare else _PARTY)
    return counted or (_companies(plain, alone=True) if bare else [])


def _dozens(text: str) -> list[int]:
    dozens = [6 if found["half"] else 12 * _value(found["n"] or "a") for found in _DOZENS.finditer(text)]
    return dozens or [2 for _ in _PAIR.finditer(text)]


def _companies(text: str, *, alone: bool = False) -> list[int]:
    """A person alone is a number of people only where nothing else can be meant: a text may well say `I`, or `my friend`."""
    counted = ([_heads(head) for head in _HEADS.finditer(found[0])] for found in _COMPANY.finditer(text))
    return [sum(heads) for heads in counted if alone or heads != [1]]


def _heads(head: re.Match[str]) -> int:
    return _SEVERAL[head["several"]] if head["several"] else _value(head["n"]) if head["n"] else 1


def _counts(text: str, pattern: re.Pattern[str]) -> list[int]:
    return [_value(found["n"]) for found in pattern.finditer(text)]


def _value(number: str) -> int:
    return 1 if number in ("a", "an") else int(number) if number.isdigit() else int(read_words(number) or 0)
