"""The guard: what an LLM user may say, checked without a model before the assistant or any intervention sees it.

A simulated user is only worth something if it says one shard, all of it, and nothing else. Each rule below is a function
that names what it objects to; a draft with objections is asked for again, then replaced by the shard as written
(simulator/user.py). Design, section 3; the traps are those of the reference implementation and its forks (invented ids,
repeated shards, leaked reasoning, swapped roles).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from simulator.repeats import content, repeats
from simulator.wording import (
    firm_values,
    may_negate,
    names,
    negates,
    numbers,
    plain,
    quoted,
    units,
    units_of_numbers,
    values,
    words,
)
from tasks.nouns import Message, Shard

#: The id a user gives when it reveals nothing.
NOTHING = -1


class Draft(msgspec.Struct, frozen=True):
    """A text an LLM user wants to say, and all that decides whether it may.

    Attributes:
        shard: what it claims to reveal, None for nothing.
        others: the shards it must not reveal: all unrevealed ones but `shard`.
        revealed: the shards said before.
        said: the conversation so far, without the system text.
        answer: the right answer as text, which no user knows; empty where there is no such text.
    """

    text: str
    shard: Shard | None
    others: tuple[Shard, ...] = ()
    revealed: tuple[Shard, ...] = ()
    said: tuple[Message, ...] = ()
    answer: str = ""

    @property
    def own(self) -> str:
        """The text of the shard, empty for nothing."""
        return self.shard.text if self.shard else ""

    @property
    def known(self) -> str:
        """All the user has a right to say: the shard, what it revealed and what it said before."""
        return "\n".join([self.own, *(shard.text for shard in self.revealed), *self.utterances])

    @property
    def utterances(self) -> list[str]:
        """What the user said before."""
        return [message.content for message in self.said if message.role == "user"]

    @property
    def replies(self) -> list[str]:
        """What the assistant said."""
        return [message.content for message in self.said if message.role == "assistant"]


def chosen(shard_id: object, unrevealed: Sequence[Shard]) -> Shard | None:
    """The shard an id stands for; None for the id that reveals nothing. `"2"` and `2.0` are 2.

    Raises:
        LookupError: an id that is not there to be revealed: invented, revealed before, or no id at all.
    """
    number = _as_int(shard_id)
    if number == NOTHING:
        return None
    for shard in unrevealed:
        if shard.id == number:
            return shard
    raise LookupError(shard_id)


def _as_int(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,9}\s*", value):
        return int(value)
    return value if isinstance(value, int) else None


def check(draft: Draft) -> tuple[str, ...]:
    """What speaks against a draft, as `rule: detail`; empty if it may be said."""
    return tuple(
        f"{rule}: {detail}" if detail else rule for rule, objections in RULES.items() for detail in objections(draft)
    )


def advice(violation: str) -> str:
    """A violation as a sentence to the model that made it."""
    rule, _, detail = violation.partition(": ")
    return ADVICE[rule].format(detail=detail)


# -- the shard is said, all of it ---------------------------------------------------------------------------------


def _missing_numbers(draft: Draft) -> Iterator[str]:
    heard = values(draft.text)
    missing = [n.written for n in numbers(draft.own) if n.firm and n.value not in heard]
    if missing:
        yield ", ".join(missing)


def _missing_units(draft: Draft) -> Iterator[str]:
    missing = units_of_numbers(draft.own) - units(draft.text)
    if missing:
        yield ", ".join(sorted(missing))


def _missing_quotes(draft: Draft) -> Iterator[str]:
    heard = " ".join(plain(draft.text).split())
    for string in sorted(quoted(draft.own)):
        if " ".join(string.split()) not in heard:
            yield string


def _missing_negation(draft: Draft) -> Iterator[str]:
    if negates(draft.own) and not may_negate(draft.text):
        yield ""


def _missing_names(draft: Draft) -> Iterator[str]:
    evidence = "\n".join(shard.text for shard in (*draft.revealed, *draft.others))
    known = {word for message in draft.said for word in words(message.content)}
    missing = names(draft.own, evidence) - known - words(draft.text)
    if missing:
        yield ", ".join(sorted(missing))


def _unsaid(draft: Draft) -> Iterator[str]:
    shard = content(draft.own)
    if len(shard) > 1 and not shard & content(draft.text):
        yield ""


# -- nothing else is said -----------------------------------------------------------------------------------------


def _leaks(draft: Draft) -> Iterator[str]:
    said, known = firm_values(draft.text), values(draft.known)
    said_words, known_words = words(draft.text), words(draft.known)
    for shard in draft.others:
        leaked = [n.written for n in numbers(shard.text) if n.firm and n.values & said and not n.values & known]
        leaked += sorted((names(shard.text) - known_words) & said_words)
        leaked += [string for string in quoted(shard.text) if string in draft.text and string not in draft.known]
        if leaked or _retells(draft, shard):
            yield ", ".join(leaked) or shard.text


def _retells(draft: Draft, shard: Shard) -> bool:
    """Whether the text holds most of the words that only this unrevealed shard has."""
    only_there = content(shard.text) - content(draft.known)
    return len(only_there) >= 3 and len(only_there & content(draft.text)) >= 0.6 * len(only_there)


def _inventions(draft: Draft) -> Iterator[str]:
    known = values(draft.known).union(*(values(shard.text) for shard in draft.others))
    invented = [n.written for n in numbers(draft.text) if n.firm and not n.values & known]
    if invented:
        yield ", ".join(invented)


def _answers(draft: Draft) -> Iterator[str]:
    answer = values(draft.answer) if len(numbers(draft.answer)) == 1 else set()
    told = answer & firm_values(draft.text) - values(draft.known)
    spelt = (
        len(draft.answer) > 2
        and draft.answer.lower() in draft.text.lower()
        and draft.answer.lower() not in draft.known.lower()
    )
    if told or spelt:
        yield ""


def _repeats(draft: Draft) -> Iterator[str]:
    if draft.shard and repeats(draft.own, draft.utterances):
        return  # the shard itself is like one said before: no rewording of it could pass
    if repeats(draft.text, draft.utterances):
        yield ""


# -- it is a user who speaks --------------------------------------------------------------------------------------

_TAG = re.compile(
    r"</?\s*(?:think|thinking|thought|reasoning|reflection|scratchpad)\s*>|<\|[^|>]*\|>|\[/?(?:INST|THINK)\]", re.I
)
_META = re.compile(
    r"""\bshards?\b | \bshard_id\b | "response"\s*: | \bhidden\ (?:spec|detail|info|instruct)\w* | \bsimulat(?:ed|ion|or|ing)\b
      | \b(?:as|am|i'm)\ the\ user\b | \bthe\ (?:user|assistant)\b | \bsystem\ prompt\b | \b(?:un)?reveal\w*
      | \b(?:my|the)\ instructions\b | \blanguage\ model\b | \bpersona\b | \brole-?play
      | \bi\ should\ (?:only|give|reveal|respond)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_ROLE = re.compile(
    r"""^\W*(?:assistant|ai|system|user|human)\W*: | \bas\ an?\ (?:ai|assistant)\b | \bcan\ i\ (?:help|assist)
      | \bbe\ (?:happy|glad)\ to\ (?:help|assist) | \blet\ me\ (?:help|solve|calculate|compute|explain|break)
      | \bi(?:'ll|\ will)\ (?:calculate|solve|compute|help\ you)
      | \bhere(?:'s|\ is|\ are)\ (?:the|a|my|your)\ (?:solution|answer|steps?|code)
      | \b(?:the|your|my)\ (?:final\ )?answer\ (?:is|would)\b | \bstep\ 1\b | \b(?:great|good)\ question\b | \byou're\ welcome\b
      | \bplease\ (?:provide|clarify|specify|share)\b""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)


def _without(pattern: re.Pattern[str], draft: Draft) -> Iterator[str]:
    """What a pattern finds in the text but not in what the user has a right to say."""
    known = words(draft.known)
    for found in pattern.finditer(plain(draft.text)):
        if not set(_spoken(found[0])) <= known:
            yield found[0].strip()
            return


def _thinks(draft: Draft) -> Iterator[str]:
    return _without(_TAG, draft)


def _talks_of_the_game(draft: Draft) -> Iterator[str]:
    return _without(_META, draft)


def _plays_the_assistant(draft: Draft) -> Iterator[str]:
    return _without(_ROLE, draft)


def _asks(draft: Draft) -> Iterator[str]:
    outside = plain(draft.text)
    for string in quoted(draft.text):
        outside = outside.replace(string, "")
    if "?" in outside and "?" not in draft.own:
        yield ""


#: A run of so many words of the assistant's is a copy; of a short text, so large a part.
COPIED_WORDS, COPIED_PART = 8, 0.7


def _copies(draft: Draft) -> Iterator[str]:
    said = _spoken(draft.text)
    run = min(COPIED_WORDS, max(5, round(COPIED_PART * len(said))))
    known = content(draft.known)
    replies = [" ".join(_spoken(reply)) for reply in draft.replies]
    for start in range(len(said) - run + 1):
        piece = " ".join(said[start : start + run])
        if any(piece in reply for reply in replies) and not content(piece) <= known:
            yield piece
            return


def _spoken(text: str) -> list[str]:
    return re.findall(r"\w+", plain(text).lower())


def longest(shard: int) -> int:
    """How many characters a text may have that says a shard of so many."""
    return 2 * shard + 160


def _length(draft: Draft) -> Iterator[str]:
    if not draft.text.strip():
        yield "empty"
    elif len(draft.text) > longest(len(draft.own)):
        yield f"{len(draft.text)} characters"


_REQUEST = re.compile(
    r"\?|\b(?:please|let me know|need|provide|clarify|specify|tell me|missing|could you|can you)\b", re.IGNORECASE
)


def was_asked(said: Sequence[Message]) -> bool:
    """Whether the assistant's last words ask for something, so that "I don't know" is a reply."""
    return bool(said) and said[-1].role == "assistant" and _REQUEST.search(said[-1].content) is not None


def _nothing_was_asked(draft: Draft) -> Iterator[str]:
    if draft.shard is None and not was_asked(draft.said):
        yield ""


RULES: dict[str, Callable[[Draft], Iterator[str]]] = {
    "length": _length,
    "thinking": _thinks,
    "meta_leak": _talks_of_the_game,
    "role_slip": _plays_the_assistant,
    "question": _asks,
    "missing_number": _missing_numbers,
    "missing_unit": _missing_units,
    "missing_quote": _missing_quotes,
    "missing_negation": _missing_negation,
    "missing_name": _missing_names,
    "unsaid": _unsaid,
    "leak": _leaks,
    "invented_number": _inventions,
    "answer": _answers,
    "repeat": _repeats,
    "copy": _copies,
    "nothing_asked": _nothing_was_asked,
}

#: Each violation as a sentence to the model. The last two are objections to the form, found before there is a draft.
ADVICE: dict[str, str] = {
    "length": "The text is empty or too long; say it in one short sentence.",
    "thinking": "Write no tags and no thoughts, only what the user says.",
    "meta_leak": 'The user knows nothing of this game and would not say "{detail}".',
    "role_slip": 'You are the user, not the assistant; the user would not say "{detail}".',
    "question": "State the fact; do not ask anything.",
    "missing_number": "The number {detail} of that fact is missing.",
    "missing_unit": "The unit of that fact is missing: {detail}.",
    "missing_quote": 'The exact string "{detail}" of that fact is missing.',
    "missing_negation": "That fact says what is not so; the text does not.",
    "missing_name": "The name {detail} of that fact is missing.",
    "unsaid": "The text does not say that fact.",
    "leak": "Only one fact at a time; this belongs to another: {detail}.",
    "invented_number": "That fact does not hold the number {detail}.",
    "answer": "The user does not know the answer.",
    "repeat": "The user has said this before; tell something that is still untold.",
    "copy": "Use the user's own words, not the assistant's.",
    "nothing_asked": "The assistant asked nothing, so tell one of the untold facts.",
    "unknown_id": "{detail} is not the number of an untold fact.",
    "malformed": "{detail}",
}
