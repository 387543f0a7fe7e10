"""The instruction task: an answer of at most five sentences, although the question tempts to a long one.

Source: arXiv 2603.01423, task 1. There only the last reply counts; here every reply of the assistant is held to the rule that
was in force when it was given, as a measure of its own in the details.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, ClassVar, NamedTuple

import msgspec

from tasks.nouns import Ask, Instance, Score
from tasks.off_loop import off_loop
from tasks.prompts import prompt
from tasks.reliability.presentations import CONSECUTIVE, GIVEN, JOINED, LIVE, SINGLE, Exchange, compared
from tasks.reliability.sentences import count_sentences
from tasks.reliability.talk import Scenario, chatter, weave
from tasks.reliability.task import Drawn, ReliabilityTask
from tasks.reliability.words import InstructionWords, Subject, capital, instruction_words, topics

LIMIT = 5
_NUMBERS = {5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine", 10: "ten", 11: "eleven", 12: "twelve"}
_LOOSER = [number for number in _NUMBERS if number > LIMIT]


class InstructionTask(ReliabilityTask):
    """A rule about length, and a question that tempts to break it; an answer is right if it keeps the rule."""

    name = "reliability-instruction"
    summary = "a limit of five sentences, kept to the end of a conversation"
    scoring = "at most five sentences, counted strictly: 1 or 0"
    answer_form = "an answer in at most five sentences"
    answers_every_turn = True
    prompts = ("reliability/instruction", "reliability/joined", "reliability/concat")
    ways = {
        "single": SINGLE,
        "multi": GIVEN,
        "multi_consecutive": CONSECUTIVE,
        "multi_joined": JOINED,
        "multi_live": LIVE,
    }
    presentations = tuple(ways)
    compare_to: ClassVar[dict[str, str]] = compared(ways)

    def draw(self, wanted: Scenario, rng: Random) -> Drawn:
        """A topic, a question about it, and the talk before the question; at first with another limit if the mind changes."""
        return _drawn(wanted, rng)

    def is_target(self, target: Any) -> bool:
        """The highest number of sentences."""
        return isinstance(target, int) and target > 0

    def system(self, instance: Instance) -> str:
        """Nothing but that the user's wishes count."""
        return prompt("tasks", "reliability/instruction").fill()

    # -- answers --------------------------------------------------------------------------------------------------

    async def extract(self, reply: str, instance: Instance) -> str | None:
        """The whole reply."""
        return reply.strip() or None

    async def score(self, answer: str, instance: Instance, ask: Ask | None = None) -> Score:
        """1 if the answer has at most as many sentences as allowed, and at least one.

        `counts_disagree` in the details marks answers that a lenient count would judge otherwise.
        """
        count = await off_loop(count_sentences, answer)
        if not count.strict:
            return Score(0.0, False, "no_answer")
        limit: int = instance.target
        kept = count.strict <= limit
        details = {"sentences": count.strict, "lenient": count.lenient, "limit": limit}
        details["counts_disagree"] = kept != (count.lenient <= limit)
        return Score(float(kept), kept, details=details | ({} if kept else {"errors": ["too_long"]}))

    def review(self, score: Score, turns: Sequence[tuple[str, str]], instance: Instance) -> Score:
        """Adds whether the rule was kept at every turn of the assistant, and the turn (from 1) at which it was first broken."""
        counted = [count_sentences(reply).strict for _, reply in turns]
        limits = _in_force([said for said, _ in turns], instance)
        broken = [turn for turn, (n, limit) in enumerate(zip(counted, limits, strict=True), 1) if limit and n > limit]
        parts = {"kept at the last turn": score.value, "kept at every turn": float(not broken)}
        found = {"sentences_by_turn": counted, "kept_at_every_turn": not broken, "parts": parts}
        if broken:
            errors = [*score.details.get("errors", ()), f"first broken at turn {broken[0]}"]
            found |= {"first_broken_turn": broken[0], "errors": errors}
        return msgspec.structs.replace(score, details=score.details | found)

    # -- trust ----------------------------------------------------------------------------------------------------

    def right_answer(self, instance: Instance) -> str:
        """As many sentences as allowed."""
        return " ".join(["This is one sentence of the answer."] * instance.target)

    def wrong_answer(self, instance: Instance) -> str:
        """One sentence too many."""
        return self.right_answer(instance) + " That is one more."


def _in_force(said: Sequence[str], instance: Instance) -> list[int | None]:
    """The limit that holds for the reply to each of these, by the rules among them; the last reply is held to the target.

    None where no rule had been stated yet. If the rules were said in words we do not know, the target holds throughout.
    """
    rules = {rule["text"]: rule["limit"] for rule in instance.facts.get("rules", ())}
    limits: list[int | None] = []
    for text in said:
        stated = [limit for rule, limit in rules.items() if rule in text]
        limits.append(stated[-1] if stated else limits[-1] if limits else None)
    if not any(limits):
        limits = [instance.target] * len(limits)
    return [*limits[:-1], instance.target]


# -- drawing --------------------------------------------------------------------------------------------------------------


class Question(NamedTuple):
    """The question at the end: its text, and the same in pieces."""

    topic: str
    aspects: list[str]
    pull: str
    text: str
    pieces: list[str]


class Rules(NamedTuple):
    """The rule as the single message has it, as the conversation begins with it, and as it is changed later, if it is."""

    alone: dict[str, Any]
    first: dict[str, Any]
    later: list[dict[str, Any]]


def _drawn(wanted: Scenario, rng: Random) -> Drawn:
    said = instruction_words()
    question, rules = _question(said, rng), _rules(said, wanted, rng)
    loose = chatter(rng.randint(1, 2 if wanted.turns > 6 else 1), rng) if wanted.chat else []
    loose += [_of_others(said, rng)] if wanted.others else []
    asked, visited = _talk(question.topic, wanted.turns - 2 - len(loose) - len(rules.later), rng)
    for rule in rules.later:
        asked.insert(rng.randint(0, len(asked)), Exchange(rule["text"], rng.choice(said.agreed)))
    opening = Exchange(rules.first["text"], rng.choice(said.agreed))
    intent, *pieces = question.pieces
    return Drawn(
        single=f"{rules.alone['text']} {question.text}",
        dialogue=weave([opening, *asked, Exchange(question.text)], loose, rng),
        shards=[intent, rules.alone["text"], *pieces],
        target=LIMIT,
        facts={"topic": question.topic, "aspects": question.aspects, "rules": [rules.alone, rules.first, *rules.later]},
        strata={"topics": visited, "pull": question.pull},
    )


def _question(said: InstructionWords, rng: Random) -> Question:
    topic, subject = rng.choice(list(topics().items()))
    pull = rng.choice(list(said.asks))
    aspects = [name for name, *_ in rng.sample(subject.aspects, 3)]
    wish = rng.choice(said.wishes[pull])
    asked = rng.choice(said.asks[pull]).format(topic=topic, a=aspects[0], b=aspects[1], c=aspects[2])
    covers = [text.format(aspect=aspect) for text, aspect in zip(rng.sample(said.covers, 3), aspects, strict=True)]
    return Question(topic, aspects, pull, f"{asked} {wish}", [said.intents[pull].format(topic=topic), *covers, wish])


def _rules(said: InstructionWords, wanted: Scenario, rng: Random) -> Rules:
    """A user who changes their mind asks for longer answers first."""
    alone = _rule(rng.choice(said.rules), LIMIT)
    if not wanted.change:
        return Rules(alone, alone, [])
    return Rules(alone, _rule(rng.choice(said.rules), rng.choice(_LOOSER)), [_rule(rng.choice(said.changes), LIMIT)])


def _rule(text: str, limit: int) -> dict[str, Any]:
    return {"text": capital(text.format(limit=_NUMBERS[limit])), "limit": limit}


def _of_others(said: InstructionWords, rng: Random) -> Exchange:
    """Somebody else's limit, which is none for this conversation."""
    text = rng.choice(said.others).format(limit=_NUMBERS[rng.choice(_LOOSER)])
    return Exchange(text, rng.choice(said.others_answers))


class Point(NamedTuple):
    """Something to ask about and a sentence that answers. `again`: the aspect was asked about before."""

    aspect: str
    answer: str
    again: bool


def _talk(topic: str, n: int, rng: Random) -> tuple[list[Exchange], int]:
    """`n` questions with answers that keep the rule, on the topic and often on others; and the number of topics."""
    subjects = topics()
    others = rng.sample([name for name in subjects if name != topic], 2)
    left = {name: _points(subjects[name], rng) for name in [topic, *others[: rng.choice((0, 0, 1, 2))]]}
    if n > len(left[topic]) and len(left) == 1:  # more than there is to say
        left[others[0]] = _points(subjects[others[0]], rng)
    talk: list[Exchange] = []
    at, visited = topic, {topic}
    for _ in range(n):
        move = talk and (not left[at] or rng.random() < 0.3)
        name = rng.choice([name for name in left if left[name]]) if move else at
        how = "begin" if not talk else "drift" if name != at else ""
        talk.append(_exchange(name, left[name].pop(0), how, rng))
        at, visited = name, visited | {name}
    return talk, len(visited)


def _points(subject: Subject, rng: Random) -> list[Point]:
    """All there is to say about a topic: a sentence on every aspect, then the other one."""
    aspects = rng.sample(subject.aspects, len(subject.aspects))
    first = [Point(name, one, False) for name, one, _ in aspects]
    return [*first, *(Point(name, other, True) for name, _, other in rng.sample(aspects, len(aspects)))]


def _exchange(topic: str, point: Point, how: str, rng: Random) -> Exchange:
    said = instruction_words()
    question = rng.choice(said.again if point.again else said.questions).format(aspect=point.aspect)
    if how:
        question = rng.choice(said.begin if how == "begin" else said.drift).format(
            topic=topic, question=capital(question)
        )
    lead = f"{rng.choice(said.leads)} " if rng.random() < 0.4 else ""
    return Exchange(capital(question), lead + point.answer)
