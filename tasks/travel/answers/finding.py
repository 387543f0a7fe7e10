"""Where in a reply its answer stands: statements, questions and offers, and the statement that concludes.

What is found is always a piece of the reply as it was written, so an answer is never made up here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_END = re.compile(r"(?<=[.!?])(?<!\b[a-zA-Z]\.)(?<!\b[ap]\.m\.)[*_)\"'”]*\s+|\n+")
#: Words of a question that needs no answer: an offer, or whether all is well.
_OFFER = re.compile(
    r"""\b(?: would\ you\ like | (?:do\ you\ )?(?:want|need)\ (?:me|any|help) | do\ you\ want | like\ me\ to | anything\ else
        | (?:shall|should|can|could|may)\ (?:i|we) | any\ (?:other|further|more) | prefer | interested | work\ for\ you
        | sounds?\ (?:good|right) | does\ (?:that|this) | is\ (?:that|this) )\b""",
    re.IGNORECASE | re.VERBOSE,
)

#: What opens a conclusion, whatever is asked.
CONCLUDES = re.compile(
    r"^\W*so\b|\b(?:therefore|thus|hence|answer|conclusion|summary|overall|in total|result|finally)\b|\\boxed",
    re.IGNORECASE,
)


def statements(reply: str) -> Iterator[str]:
    """Sentences and lines, in order; each is a piece of the reply."""
    return (piece for piece in _END.split(reply) if piece.strip())


def is_question(statement: str) -> bool:
    """Ends in a question mark, whatever it is wrapped in."""
    return statement.rstrip("*_)\"'” \t").endswith("?")


def is_record(statement: str) -> bool:
    """A JSON object or list: what a function returned (or might have), repeated; it answers nothing."""
    return bool(re.match(r"\s*(?:\{\s*\"|\[\s*\{)", statement))


def told(reply: str) -> list[str]:
    """The statements that are no questions and no records."""
    return [statement for statement in statements(reply) if not (is_question(statement) or is_record(statement))]


def told_in_place(reply: str) -> str:
    """The reply with blanks for all that is not told, so that positions stay the same."""
    for statement in statements(reply):
        if is_question(statement) or is_record(statement):
            reply = reply.replace(statement, " " * len(statement))
    return reply


def waits(reply: str) -> bool:
    """Whether the reply ends by asking for something it needs; an offer of more help is no such question."""
    *_, last = ["", *statements(reply)]
    return is_question(last) and not _OFFER.search(last)


def between(reply: str, stated: Sequence[str], first: int, last: int) -> str:
    """The part of a reply from one of its statements to another, by their numbers in `told(reply)`."""
    place, start = 0, 0
    for number, statement in enumerate(stated[: last + 1]):
        place = reply.index(statement, place)
        start = place if number == first else start
        place += len(statement)
    return reply[start:place].strip()


# -- one value of a kind --------------------------------------------------------------------------------------------------

_BOLD = re.compile(r"\*\*(.+?)\*\*")
_ASIDE = re.compile(r"\([^()]*\)")
_EQUALS = re.compile(r"[=≈]|\\approx")


def find_value(reply: str, value: re.Pattern[str], cue: re.Pattern[str], *, needs_cue: bool = False) -> str | None:
    """The value a reply commits to, as written: that of the last statement with a cue, else of the last one with a value.

    A reply that waits for an answer of the user and has no statement with a cue commits to nothing.
    """
    alone = value.fullmatch(reply.strip("*_$ .\n"))
    if alone:
        return alone[0].strip()
    stated = [statement for statement in told(reply) if value.search(statement)]
    concluding = [statement for statement in stated if cue.search(statement)]
    if concluding:
        return _in_statement(concluding[-1], value, cue)
    if not stated or needs_cue or waits(reply):
        return None
    return _in_statement(stated[-1], value, cue)


def _in_statement(statement: str, value: re.Pattern[str], cue: re.Pattern[str]) -> str:
    """The value behind the last `=`, else the last one in bold, else the one nearest to the cue, else the last of all."""
    apart = _ASIDE.sub(lambda aside: " " * len(aside[0]), statement)
    text = apart if value.search(apart) else statement
    for side in reversed(_EQUALS.split(text)[1:]):
        if found := value.search(side):
            return found[0].strip()
    for bold in reversed(_BOLD.findall(text)):
        if found := value.search(bold):
            return found[0].strip()
    return _nearest(list(value.finditer(text)), cue.search(text))[0].strip()


def _nearest(values: list[re.Match[str]], cue: re.Match[str] | None) -> re.Match[str]:
    if cue is None:
        return values[-1]
    start, end = cue.span()
    # What stands behind a cue is rather meant than what stands before it, so that way counts half.
    return min(values, key=lambda value: max(value.start() - end, 2 * (start - value.end())))


# -- names ----------------------------------------------------------------------------------------------------------------


def mentions(text: str, names: tuple[str, ...]) -> list[tuple[int, str]]:
    """Where each of these names stands in a text, in order; a longer name is not taken for a shorter one inside it."""
    if not names:
        return []
    by_spelling = {name.lower(): name for name in names}
    longest_first = sorted(by_spelling, key=len, reverse=True)
    pattern = r"(?<!\w)(?:" + "|".join(re.escape(name).replace(r"\ ", r"\s+") for name in longest_first) + r")(?!\w)"
    return [
        (found.start(), by_spelling[" ".join(found[0].lower().split())])
        for found in re.finditer(pattern, text, re.IGNORECASE)
    ]
