"""How many sentences a text has: strictly, so that lists, quotation marks and missing full stops hide none, and leniently.

Tried before writing our own, on the cases of the tests: pysbd 0.3.4 takes `size M. It` for an initial, misses `red.The` and
counts every item of a list; BlingFire 0.1.8 misses `red.The` too; syntok 1.4.4 joins what begins in lower case or follows a
price or a year; sentencex 1.0.32, the only one that is still kept up, takes all between two quotation marks or brackets
for one sentence, so a reply in quotation marks would keep every rule; NLTK's Punkt splits at `et al.` and needs a download.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import msgspec

#: Words of an item without an end mark that still belongs to the sentence before its list ("Pack: a map, water").
SHORT_ITEM = 4


class Sentences(msgspec.Struct, frozen=True):
    """Numbers of sentences.

    Attributes:
        strict: every line of its own and every longer list item counts, with or without an end mark.
        lenient: only end marks count; a text with words has at least one sentence.
    """

    strict: int
    lenient: int


def count_sentences(text: str) -> Sentences:
    """The sentences of a text, which may be Markdown. A code block is one sentence; lines without a word are none."""
    blocks = _blocks(_plain(text))
    strict = sum(_in_block(block, before) for before, block in zip([None, *blocks], blocks, strict=False))
    return Sentences(strict, _in_prose(" ".join(block.text for block in blocks)))


# -- lines ----------------------------------------------------------------------------------------------------------------


class Block(msgspec.Struct, frozen=True):
    """Lines that belong together. `item`: it is an item of a list; `lists`: it opens a list or goes on with one."""

    text: str
    item: bool = False
    lists: bool = False


_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_ADDRESS = re.compile(
    r"(?:https?://|www\.)\S*[^\s.,;:!?)\]}\"'”’*]|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]+)+|`[^`\n]+`"
)
_MARKS = str.maketrans({"。": ". ", "！": "! ", "？": "? ", "…": "..."})
_MARKER = re.compile(r"^\s*(?:>\s*)*(?P<item>[-*+•·◦‣–—]\s+|(?:\d{1,3}|[a-zA-Z])[.)]\s+)?(?:#{1,6}\s+)?")
_EMPHASIS = re.compile(r"\*+|(?<!\w)_+|_+(?!\w)|\|")
_CLOSING = "\"'”’)]»"


def _plain(text: str) -> str:
    """Without what may hold a full stop that ends nothing: code, addresses; full stops of other scripts made ours."""
    return _ADDRESS.sub("address", _FENCE.sub("\ncode\n", text)).translate(_MARKS)


def _blocks(text: str) -> list[Block]:
    """The lines with words in them; a line that goes on in lower case belongs to the one before."""
    blocks: list[Block] = []
    apart = True
    for line in text.splitlines():
        marker = _MARKER.match(line)
        assert marker is not None
        body = _EMPHASIS.sub("", line[marker.end() :]).strip()
        if not re.search(r"\w", body):
            apart = True
        elif apart or marker["item"] or not body[0].islower() or _has_end(blocks[-1].text):
            item = bool(marker["item"])
            listing = bool(blocks) and item and (blocks[-1].lists or blocks[-1].text.endswith(":"))
            blocks.append(Block(body, item, listing))
            apart = False
        else:
            blocks[-1] = Block(f"{blocks[-1].text} {body}", blocks[-1].item, blocks[-1].lists)
    return blocks


def _has_end(text: str) -> bool:
    return text.rstrip(_CLOSING).endswith((".", "!", "?"))


def _in_block(block: Block, before: Block | None) -> int:
    """A short item without an end mark belongs to the sentence that opens its list: `Pack:`, then `- a map`."""
    short = len(block.text.split()) <= SHORT_ITEM and not _has_end(block.text) and not block.text.endswith(":")
    return 0 if before and block.lists and short else _in_prose(block.text)


# -- where a sentence ends ------------------------------------------------------------------------------------------------

#: End marks with the quotes and brackets they close; and those that miss the space before the next sentence.
_MARK = re.compile(
    r"(?P<marks>[.!?]+)(?P<closed>[\"'”’)\]»]*)(?=\s|$)|(?<=[a-z0-9)])[.!?]+(?=(?:[A-Z][a-z’']+|[AI])(?:[\s,;:!?]|\.(?!\w)|$))"
)
#: Abbreviations that are never the last word of a sentence, and those that are if a typical first word follows.
_TITLES = "mr mrs ms dr prof gen sen rep gov capt sgt lt rev hon e.g i.e cf vs viz fig figs eq"
_NEVER_LAST = frozenset(_TITLES.split())
_OTHERS = (
    "al etc jr sr st ave blvd mt ft inc ltd co corp dept univ est approx ca vol ed eds pp min max avg hr hrs"
    " jan feb mar apr jun jul aug sep sept oct nov dec a.m p.m"
)
_SELDOM_LAST = frozenset(_OTHERS.split())
_FIRST = re.compile(
    r"(?:The|An?|This|That|These|Those|He|She|It|We|They|You|I|Who|What|Why|How|Where|There|Here|His|Her|Its|My|Our|Your|Their|In"
    r"|On|At|For|From|With|By|To|As|If|When|While|After|Before|Because|Since|Once|Although|But|And|So|Or|Yet|Then|However|Also"
    r"|Next|Finally|First|Second|Not|No|Yes|Most|Many|Some|All|Each|Every|Both|One|Another|Use|Do|Let|Try|Make)(?=[\s,’'])"
)
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘]*$")
_LETTERS = re.compile(r"[A-Za-z](?:\.[A-Za-z]+)*")


def _in_prose(text: str) -> int:
    """The sentences between end marks, and a rest without one."""
    ends = [0, *_ends(text), len(text)]
    return sum(bool(re.search(r"\w", text[start:end])) for start, end in pairwise(ends))


def _ends(text: str) -> Iterator[int]:
    return (mark.end() for mark in _MARK.finditer(text) if _is_end(text, mark))


def _is_end(text: str, mark: re.Match[str]) -> bool:
    following = text[mark.end() : mark.end() + 40].lstrip()
    goes_on = following[:1].islower()
    if goes_on and (mark["closed"] or (mark["marks"] or "").startswith("..")):
        return False  # `"Why?" she asked`, `Wait... what`
    if mark["marks"] != "." or not following:
        return True
    return _word_can_end(text[max(0, mark.start() - 40) : mark.start()], following)


def _word_can_end(before: str, following: str) -> bool:
    """Whether the word before a single full stop is more than an abbreviation or an initial."""
    found = _LAST_WORD.search(before)
    word = found[0] if found else ""
    if word.lower() in _NEVER_LAST:
        return False
    if word == "No" or (word in ("p", "Nos") and following[0].isdigit()):
        return not following[0].isdigit()
    initials = bool(_LETTERS.fullmatch(word)) and ("." in word or (len(word) == 1 and word != "I"))
    if word.lower() in _SELDOM_LAST or initials:
        return bool(_FIRST.match(following))
    return True
