"""The guard: what an LLM user may say, checked without a model before the assistant or any intervention sees it.

A simulated user is only worth something if it says one shard, all of it, and nothing else. Each rule is a function that
yields what it objects to; a draft with objections is asked for again, then replaced by the shard as written
(simulator/user.py). Design, section 3; the traps are those of the reference implementation and its forks (invented ids,
repeated shards, leaked reasoning, swapped roles).

draft.py    the draft itself          slips.py    the rules about its voice
repeats.py  what was said before      kept.py     what a text leaves out
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from simulator import slips
from simulator.draft import Draft
from simulator.kept import denies_alone, numbers_left_out, quotes_left_out, units_left_out
from simulator.repeats import content, coverage, mentions, repeats, similarity
from simulator.wording import (
    denies,
    firm_values,
    has_pronoun,
    may_negate,
    names,
    numbers,
    quoted,
    subject,
    values,
    words,
)
from tasks.nouns import Shard


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
    if missing := numbers_left_out(draft.own, draft.text):
        yield ", ".join(missing)


def _missing_units(draft: Draft) -> Iterator[str]:
    if missing := units_left_out(draft.own, draft.text):
        yield ", ".join(missing)


def _missing_quotes(draft: Draft) -> Iterator[str]:
    yield from quotes_left_out(draft.own, draft.text)


def _missing_negation(draft: Draft) -> Iterator[str]:
    if denies_alone(draft.own, draft.text):
        yield ""


def _missing_names(draft: Draft) -> Iterator[str]:
    named = names(draft.own, *(shard.text for shard in (*draft.revealed, *draft.others)))
    if missing := named.difference(words(draft.text), *(words(message.content) for message in draft.said)):
        yield ", ".join(sorted(missing))


def _missing_subject(draft: Draft) -> Iterator[str]:
    """A person or thing a shard is about may become a pronoun, but not nothing."""
    whom = subject(draft.own)
    if whom and not mentions(whom, draft.text) and not has_pronoun(draft.text):
        yield whom


#: The part of a shard's content that has to be in the text. Of a good model's rewordings 99 in 100 keep more.
SAID_PART = 0.4


def _unsaid(draft: Draft) -> Iterator[str]:
    """Too little of the shard is there, or the text is closer to another one that was said before."""
    if draft.shard is None:
        return
    said, own, opening = content(draft.text), content(draft.own), content("".join(draft.utterances[:1]))
    closest = max((similarity(said, content(shard.text), opening) for shard in draft.revealed[1:]), default=0.0)
    if coverage(own, said, opening) < SAID_PART or closest > similarity(said, own, opening):
        yield ""


def _adds_negation(draft: Draft) -> Iterator[str]:
    if draft.shard and denies(draft.text) and not may_negate(draft.own):
        yield ""


# -- nothing else is said -----------------------------------------------------------------------------------------


def _leaks(draft: Draft) -> Iterator[str]:
    said, known = firm_values(draft.text), draft.knows(values)
    said_words, known_words = words(draft.text), draft.knows(words)
    for shard in draft.others:
        leaked = [n.written for n in numbers(shard.text) if n.firm and n.values & said and not n.values & known]
        leaked += sorted((names(shard.text) - known_words) & said_words)
        leaked += [string for string in quoted(shard.text) if _only_in(draft.text, string, draft.known)]
        if leaked or _retells(draft, shard):
            yield ", ".join(leaked) or shard.text


#: Another shard is told if so large a part of it is in the text, and so much more of it than in the shard to be told.
TOLD_PART, TOLD_EXCESS = 0.7, 0.35


def _retells(draft: Draft, shard: Shard) -> bool:
    """Whether the text says this unrevealed shard too, beyond what it has in common with its own."""
    other, opening = content(shard.text), content("".join(draft.utterances[:1]))
    told = coverage(other, content(draft.text), opening)
    return told >= TOLD_PART and told - coverage(other, content(draft.own), opening) >= TOLD_EXCESS


def _inventions(draft: Draft) -> Iterator[str]:
    known = draft.knows(values).union(*(values(shard.text) for shard in draft.others))
    invented = [n.written for n in numbers(draft.text) if n.firm and not n.values & known]
    if invented:
        yield ", ".join(invented)


def _answers(draft: Draft) -> Iterator[str]:
    answer = values(draft.answer) if len(numbers(draft.answer)) == 1 else frozenset()
    told = answer & firm_values(draft.text) - draft.knows(values)
    spelt = len(draft.answer) > 2 and _only_in(draft.text.lower(), draft.answer.lower(), map(str.lower, draft.known))
    if told or spelt:
        yield ""


def _repeats(draft: Draft) -> Iterator[str]:
    if draft.shard and repeats(draft.own, draft.utterances):
        return  # the shard itself is like one said before: no rewording of it could pass
    if repeats(draft.text, draft.utterances):
        yield ""


def _only_in(text: str, string: str, known: Iterable[str]) -> bool:
    return string in text and not any(string in other for other in known)


# -- the rules by name ---------------------------------------------------------------------------------------------

RULES: dict[str, Callable[[Draft], Iterator[str]]] = {
    "length": slips.has_a_wrong_length,
    "thinking": slips.thinks,
    "meta_leak": slips.talks_of_the_game,
    "role_slip": slips.plays_the_assistant,
    "question": slips.asks,
    "missing_number": _missing_numbers,
    "missing_unit": _missing_units,
    "missing_quote": _missing_quotes,
    "missing_negation": _missing_negation,
    "missing_name": _missing_names,
    "missing_subject": _missing_subject,
    "added_negation": _adds_negation,
    "unsaid": _unsaid,
    "leak": _leaks,
    "invented_number": _inventions,
    "answer": _answers,
    "repeat": _repeats,
    "copy": slips.copies,
    "nothing_asked": slips.has_nothing_to_say,
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
    "missing_subject": "That fact is about {detail}; the text does not say so.",
    "added_negation": "That fact denies nothing; the text does.",
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
