"""Where a quotation of a reply stands in the reply: the judge's answer has to be a part of what was said.

Spaces, letter case, Markdown and dollar signs may differ, and a number may be written in another way (`1000` for `1,000`);
what is returned is always the reply's own text, so nothing a judge made up can be scored.
"""

from __future__ import annotations

import re
import unicodedata

from tasks.numbers import equal, parse

#: All but Markdown and dollar signs: words of plain letters at once, anything else sign by sign.
_SEEN = re.compile(r"(?P<ascii>[^\s*_`$\\\x80-\U0010ffff]+)|[^*_`$\\]")
_ALIKE = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "−": "-", "–": "-", "—": "-"})
_ELLIPSIS = re.compile(r"\s*\[\s*(?:\.\.\.|…)\s*\]\s*")
_ENUMERATOR = re.compile(r"^[ \t]*(?:[*_#]*(?:step )?)\d+[.):](?=\s|\*)", re.MULTILINE | re.IGNORECASE)
_DIGITS = re.compile(r"(?:(?<![\w)])-)?[$€£]?\s?\d[\d,]*(?:\.\d+)?(?:\s?/\s?\d+)?\s?%?")


def find_span(reply: str, quotation: str) -> str | None:
    """The part of `reply` that `quotation` quotes, as the reply has it; None if it is not in there.

    A long quotation may be shortened to `first words [...] last words`. Of several places the last one counts, since a
    reply ends with its answer.
    """
    if re.fullmatch(r"[\W_]*\d+[\W_]*", quotation):
        reply = _ENUMERATOR.sub(lambda mark: " " * len(mark[0]), reply)  # "3." before a step is no answer
    pieces = _ELLIPSIS.split(quotation.strip())
    text, positions = _folded(reply)
    if len(pieces) == 1:
        found = _find(text, _folded(quotation)[0].strip())
        return _cut(reply, positions, *found) if found else _same_number(reply, quotation)
    if len(pieces) > 2:
        return None
    return _between(reply, pieces[0], pieces[1])


def _between(reply: str, first: str, last: str) -> str | None:
    """From the first words to the nearest last words behind them."""
    text, positions = _folded(reply)
    starts = _find(text, _folded(first)[0].strip())
    if not starts:
        return None
    ends = _find(text, _folded(last)[0].strip(), after=starts[1], nearest=True)
    return _cut(reply, positions, starts[0], ends[1]) if ends else None


def _folded(text: str) -> tuple[str, list[int]]:
    """The text without what may differ, and for each of its characters its position in the original."""
    characters: list[str] = []  # or whole words of them
    positions: list[int] = []
    for run in _SEEN.finditer(text):
        if run.lastgroup == "ascii":
            characters.append(run[0].lower())
            positions.extend(range(*run.span()))
            continue
        for character in unicodedata.normalize("NFKC", run[0]).translate(_ALIKE).lower():
            if not character.isspace():
                characters.append(character)
            elif characters and characters[-1] != " ":
                characters.append(" ")
            else:
                continue
            positions.append(run.start())
    return "".join(characters), positions


def _find(text: str, wanted: str, *, after: int = 0, nearest: bool = False) -> tuple[int, int] | None:
    """Start and end of the last (or the nearest) place where `wanted` stands as whole words and numbers."""
    if not wanted:
        return None
    front = r"(?<!\w)(?<!\d[.,])" if wanted[0].isalnum() else ""
    back = r"(?!\w)(?![.,]\d)" if wanted[-1].isalnum() else ""
    places = [found.span() for found in re.finditer(front + re.escape(wanted) + back, text) if found.start() >= after]
    return (places[0] if nearest else places[-1]) if places else None


def _cut(reply: str, positions: list[int], start: int, end: int) -> str:
    return reply[positions[start] : positions[end - 1] + 1]


def _same_number(reply: str, quotation: str) -> str | None:
    """The last number in the reply that is the quoted number, written in another way."""
    if parse(quotation) is None:
        return None
    same = [found[0].strip() for found in _DIGITS.finditer(reply) if equal(found[0], quotation)]
    return same[-1] if same else None
