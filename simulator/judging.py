"""What becomes of one reply: class, answer, score. The graph does it as a conversation runs, `again` on stored ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from simulator.errors import Failure
from simulator.judge import Judge
from simulator.record import Judgement, spoken_reply
from tasks.nouns import Ask, Instance, Message, Score, ScorerFailure, Shard
from tasks.task import Task


def what_was_said(messages: Sequence[Message], task: Task) -> str:
    """The reply in the messages of a turn as judge and rules read it: its words, and calls that are answers."""
    calls = messages[-1].tool_calls if messages else ()
    words = spoken_reply(messages)
    return "\n".join([words, task.called(calls)]).strip() if calls and task.tool_calls_are_answers else words


async def judge_reply(
    reply: str,
    task: Task,
    instance: Instance,
    judge: Judge,
    *,
    always: bool,
    scored: bool,
    ask: Ask,
    scorer: Ask | None,
) -> Judgement:
    """Class, answer and score of a reply.

    Args:
        always: extract and score whatever the class, as the paper does in single-turn modes (section 3).
        scored: an attempt in this turn counts (see `scored_now`).
        ask: the judge's model. `scorer`: the model of tasks that are scored by one.

    Raises `Failure` of the judge or the scorer.
    """
    judgement = await judge.judge(reply, task, instance, ask)
    if always and judgement.answer is None:
        judgement = msgspec.structs.replace(judgement, answer=await task.extract(reply, instance))
    if not scored or not (always or judgement.label == "answer_attempt"):
        return judgement
    return msgspec.structs.replace(judgement, score=await score(judgement.answer, task, instance, scorer))


def reviewed(judgement: Judgement, turns: Sequence[tuple[str, str]], task: Task, instance: Instance) -> Judgement:
    """The judgement of the last of these turns (what was said, what was replied) in view of the others: `Task.review`."""
    if judgement.score is None:
        return judgement
    return msgspec.structs.replace(judgement, score=task.review(judgement.score, turns, instance))


async def score(answer: str | None, task: Task, instance: Instance, scorer: Ask | None) -> Score:
    """The value of an answer; an attempt without one is worth 0. Raises `Failure` of the scorer."""
    if answer is None:
        return Score(0.0, False, "no_answer")
    try:
        return await task.score(answer, instance, scorer)
    except ScorerFailure as failure:
        raise Failure("scorer", "scorer_failure", str(failure)) from failure


def scored_now(task: Task, shards: Iterable[Shard], revealed: Collection[int]) -> bool:
    """Whether an attempt counts after these shards were said: at any time, or, for some tasks, once all were."""
    return not task.scored_on_last_turn or all(shard.id in revealed for shard in shards)
