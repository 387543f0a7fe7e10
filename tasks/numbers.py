"""Numbers in model text: found, read and compared as numbers.

`find_answer` says which number of a reply is its answer, by the first of these rules that finds one:

1.  What follows a question the model made up (`Question:`, `User:` at the start of a later line) is cut off.
2.  The last marker with a number counts, so that a self-correction does: `#### 24`, `\\boxed{24}`, `Answer: 24`,
    `the answer is 24`.
3.  The last statement with a number. What follows `Let's check` or `Note:` comes last, a question to the user too.
4.  A reply that is nothing but a number word (`Twelve apples.`).

Within a statement: the last right-hand side where there is an `=`; else the last number set in bold; else the last number
that is no aside in brackets, nothing already known (`the 20 pupils`) and no circumstance (`42 km in 2h`, `12 eggs after
3 days`, `3 shelves to hold 110 books`).

The rules were made on 1,290 recorded replies to sharded GSM8K questions of two models.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

from tasks.number_text import NUMBER, places, plain, value
from tasks.number_words import SCALES, UNITS, read_words

# -- the three questions ----------------------------------------------------------------------------------------------


def find_answer(reply: str) -> str | None:
    """The number a reply gives as its answer, as written there; None if it gives none."""
    text = plain(reply)
    answered = text[: _next_question(text)]
    return _answer_in(answered) or _answer_in(text)


def parse(text: str) -> Fraction | None:
    """The number in a text that holds one (`$1,200.00`, `-3/4`, `18 dollars`, `2.5%`, `twelve`); None for none or several.

    A percent sign is a unit: `28%` is 28 (the answers of GSM8K carry no sign, and 0.28 for 28% is another answer).
    """
    numbers = list(NUMBER.finditer(plain(text)))
    if not numbers:
        return read_words(_spelled(text) or "")
    return value(numbers[0]) if len(numbers) == 1 else None


def equal(answer: str, gold: str) -> bool:
    """Whether an answer is the same number as the gold answer, exactly.

    One tolerance, for a gold that no decimal can hold (1/3): a decimal answer with at least two places is right if it is
    the gold rounded, or cut off, at these places.
    """
    right, given = parse(gold), parse(answer)
    if right is None or given is None:
        return False
    return given == right or (not _has_finite_decimal(right) and given in _written_out(right, answer))


# -- where the answer is ----------------------------------------------------------------------------------------------

#: Bare, as base models go on; in bold or in a list it is a heading over the question that was asked.
_NEXT_QUESTION = re.compile(r"^(?:question|problem|q|user|human)[ \t]*[0-9]*[ \t]*:", re.IGNORECASE | re.MULTILINE)
_REMARK = re.compile(
    r"^[ \t>*_#(-]*(?:(?:now,?[ ])?let(?:'|’)?s[ ](?:quickly[ ]|just[ ])?(?:check|verify|double)|verification|to[ ]verify"
    r"|(?:please|important)?[ ]?note\b|check\b|would[ ]you|do[ ]you|if[ ]you)",
    re.IGNORECASE | re.MULTILINE,
)
_CUE = re.compile(
    r"""\b(?:answer|conclusion)\b
        (?: [^.\n:=?]{0,40}?\b(?:is|are|of|equals|remains|stands|(?:would|will|should)\ be|comes\ to)\b | [\s*_]*[:=] )""",
    re.IGNORECASE | re.VERBOSE,
)
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")
_HASHES = re.compile(r"####[ \t]*")
_OPENING = re.compile(
    r"[\s*_`\"'“(\[{\\:=~≈]*(?:(?:approximately|about|roughly|exactly|only|just)\s+)?(?:[a-z]\s*=\s*)?", re.IGNORECASE
)
#: How far behind a marker its number may stand, and how many markers are looked at, from the last.
_REACH, _TRIED = 400, 50


def _answer_in(text: str) -> str | None:
    return _at_last_marker(text) or _in_last_statement(text) or _spelled(text) or _only_spelled(text)


def _next_question(text: str) -> int | None:
    """Where the model goes on to a question of its own: not at the very start, where it repeats the one it was asked."""
    return next((m.start() for m in _NEXT_QUESTION.finditer(text) if text[: m.start()].strip()), None)


def _at_last_marker(text: str) -> str | None:
    first_word = len(text) - len(text.lstrip(" \t\n*_#"))
    markers = [(m.start(), m.end(), read) for pattern, read in _MARKERS for m in pattern.finditer(text)]
    for start, end, read in sorted(markers, key=lambda marker: -marker[0])[:_TRIED]:
        if answer := read(text[end : end + _REACH], opens=start <= first_word):
            return answer
    return None


def _after_cue(rest: str, *, opens: bool) -> str | None:
    """The number right behind a cue, else that of its sentence; an `Answer:` that opens the reply may just open the work."""
    sentence = next(_statements(rest.lstrip(" \t\n*_:")), "")
    first = NUMBER.match(sentence, _opening(sentence))
    if first and not _EQUALS.search(sentence):
        return first[0].strip()
    return _spelled(sentence) or (None if opens and not first else _in_statement(sentence, asides=True))


def _after_hashes(rest: str, *, opens: bool) -> str | None:
    """The number of a line `#### 24 eggs`; a Markdown heading such as `#### Step 2` or `#### 2. Total` is not one."""
    line = rest.partition("\n")[0]
    number = NUMBER.match(line, _opening(line))
    if not number:
        return _spelled(line)
    unit = line[number.end() :]
    is_heading = re.match(r"[.)]\s+\w", unit) or len(unit.split()) > 4
    return None if is_heading else number[0].strip()


def _in_box(rest: str, *, opens: bool) -> str | None:
    depth = 1
    for position, letter in enumerate(rest):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if depth == 0:
            rest = rest[:position]
            break
    return _in_statement(rest, asides=True) or _spelled(rest)


_MARKERS = ((_CUE, _after_cue), (_HASHES, _after_hashes), (_BOXED, _in_box))


def _opening(text: str) -> int:
    opening = _OPENING.match(text)
    return opening.end() if opening else 0


def _spelled(text: str) -> str | None:
    """The number word a short text begins with, if at most a unit follows (`Twelve apples.`)."""
    words = re.findall(r"[A-Za-z-]+", text[:80])
    for end in range(min(len(words), 8), 0, -1):
        if len(words) - end <= 1 and read_words(" ".join(words[:end])) is not None:
            return " ".join(words[:end])
    return None


#: `one`, `a half` and ordinals stand in any sentence and are left out.
_SPELT = "|".join(word for word in (*UNITS, *SCALES) if word != "one")
_SPELT_RUN = re.compile(rf"\b(?:{_SPELT})(?:(?:[\s-]+|\s+and\s+)(?:{_SPELT}|one))*\b", re.IGNORECASE)


def _only_spelled(text: str) -> str | None:
    """The number that a text of one statement spells out, if it is the only one (`So there are twelve apples.`)."""
    statements = list(islice(_statements(text), 2))
    if len(statements) != 1 or statements[0].rstrip("*_ ").endswith("?"):
        return None
    runs = _SPELT_RUN.findall(statements[0])
    return runs[0] if len(runs) == 1 and read_words(runs[0]) is not None else None


# -- which statement --------------------------------------------------------------------------------------------------

_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\b[DMS][rst]\.)(?<!\bMrs\.)(?<!\b[a-z]\.[a-z]\.)[*_)\]\"']*\s+")
#: A calculation that the end of the tokens cut.
_CUT_OFF = re.compile(r"[-+/×÷=(]\s*$|[0-9]\s\*\s*$")
_LIST_MARK = re.compile(r"^[\s>*#]*(?:[-+•]\s+)?(?:[*_]*(?:step|day)?\s*[0-9]{1,2}[.):][*_]*\s+(?=\S))?", re.IGNORECASE)


def _in_last_statement(text: str) -> str | None:
    remark = next((m.start() for m in _REMARK.finditer(text) if NUMBER.search(text, 0, m.start())), None)
    for part in (text[:remark], text):
        told = [statement for statement in _statements(part) if NUMBER.search(statement)]
        told = [statement for statement in told if not _CUT_OFF.search(statement)] or told
        told.sort(key=lambda statement: statement.rstrip("*_ ").endswith("?"), reverse=True)  # questions are tried last
        for asides in (False, True):
            if answer := next(filter(None, (_in_statement(s, asides=asides) for s in reversed(told))), None):
                return answer
    return None


def _statements(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield from filter(str.strip, _SENTENCE_END.split(_LIST_MARK.sub("", line, count=1)))


# -- which number of a statement --------------------------------------------------------------------------------------

_EQUALS = re.compile(r"[=≈]|\bequals\b|\\approx")
_OPERATOR_NEXT = re.compile(
    r"\s*[a-z $%]{0,20}(?:[-+*/×÷]|\\times|\\div|x(?=\s?[0-9]))\s*\(?[$\s]*[0-9]", re.IGNORECASE
)
_BOLD = re.compile(r"(?:\*\*|__)(.+?)(?:\*\*|__)")
_SET_APART = re.compile(r"(?<!\\)\([^()]*\)|\[[^\[\]]*\]|\"[^\"]*\"|“[^”]*”")
#: Words before a number that make it something already known, or a circumstance of the answer.
_BEFORE_ASIDE = re.compile(
    r"""\b(?: (?:in|after|per|out\ of|within|every|during|over|than|each|by|for(?!\s+\$)) (?:\s+an?)?
          | all | the | these | those | her | his | their | its | my | your | our
          | first | next | last | other | remaining | initial | original )
        (?:\s+(?:first|next|last|other|remaining|initial|original))? \s+\$?$""",
    re.VERBOSE | re.IGNORECASE,
)
_AFTER_ASIDE = re.compile(r"-[a-z]", re.IGNORECASE)  # a 10-year period
#: Where a statement that has given its number goes on to a reason, a condition or a purpose.
_TAIL = re.compile(
    r"""(?: ,?\ (?:with|not|if|because|since|considering|assuming|when|while|where|based|compared|instead|rather|in\ order)
          | ,\ or
          | \ (?:after|before|from|by)\ [a-z]+ing
          | \ to\ (?!a|an|the|her|his|their|get|give|find|obtain|arrive|have|be|equal|reach)[a-z]+
        )\b""",
    re.VERBOSE | re.IGNORECASE,
)


def _in_statement(statement: str, *, asides: bool) -> str | None:
    apart = _SET_APART.sub(lambda part: " " * len(part[0]), statement)
    text = apart if NUMBER.search(apart) else statement
    if _EQUALS.search(text):
        return _right_hand_side(text) or _last_number(text, asides=True)
    bold = (_last_number(part, asides=asides) for part in reversed(_BOLD.findall(text)))
    return next(filter(None, bold), None) or _last_number(text, asides=asides)


def _right_hand_side(statement: str) -> str | None:
    """First number behind the last `=` whose right side is a value, not a calculation still to be done."""
    for side in reversed(_EQUALS.split(statement)):
        number = NUMBER.search(side)
        if number and not _OPERATOR_NEXT.match(side, number.end()):
            return number[0].strip()
    return None


def _last_number(text: str, *, asides: bool) -> str | None:
    """The last number before any tail that is no aside; with `asides`, any number is better than none."""
    numbers = list(NUMBER.finditer(text))
    told = [number for number in numbers if not _is_aside(number, text)]
    if told:
        tail = _TAIL.search(text, told[0].end())
        told = [number for number in told if not tail or number.start() < tail.start()]
    told = told or (numbers if asides else [])
    return told[-1][0].strip() if told else None


def _is_aside(number: re.Match[str], text: str) -> bool:
    before = text[max(0, number.start() - 40) : number.start()]
    return bool(_BEFORE_ASIDE.search(before) or _AFTER_ASIDE.match(text, number.end()))


# -- golds that no decimal can hold -----------------------------------------------------------------------------------


def _has_finite_decimal(number: Fraction) -> bool:
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def _written_out(number: Fraction, answer: str) -> tuple[Fraction, ...]:
    """The number rounded and cut off at the decimal places of an answer, if it has at least two."""
    written = NUMBER.search(plain(answer))
    if written is None or (digits := places(written)) < 2:
        return ()
    scaled = number * 10**digits
    return Fraction(round(scaled), 10**digits), Fraction(int(scaled), 10**digits)
