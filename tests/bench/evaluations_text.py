"""Evaluations a second of the tasks whose answers are texts, on their embedded instances; the judge model answers at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from tasks.bleu import BleuTask
from tasks.data2text import Data2TextTask
from tasks.nouns import Ask, Message, Options, Reply
from tasks.summary import SummaryTask
from tasks.translation import TranslationTask

_SECONDS = 1.0
_VERDICT = Reply((Message("assistant", '{"coverage": "FULL_COVERAGE", "bullet": 1}'),))


async def judge(messages: Sequence[Message], options: Options = Options()) -> Reply:  # noqa: B008
    """A judge model that takes no time."""
    return _VERDICT


async def _rate(task: BleuTask | SummaryTask, ask: Ask | None = None) -> float:
    """Answers extracted and scored a second, right and wrong ones in turn."""
    answers = [
        (answer, instance)
        for instance in task.load()
        for answer in (task.right_answer(instance), task.wrong_answer(instance))
    ]
    done, started = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - started) < _SECONDS:
        answer, instance = answers[done % len(answers)]
        await task.score(await task.extract(answer, instance) or "", instance, ask)
        done += 1
    return done / elapsed


def run() -> list[tuple[str, str, str]]:
    """Rows of (what, value, aim)."""
    rates = {
        "data2text, BLEU of a sentence": asyncio.run(_rate(Data2TextTask())),
        "translation, BLEU of a document": asyncio.run(_rate(TranslationTask())),
        "summary, judge by rules": asyncio.run(_rate(SummaryTask())),
        "summary, judge model without its own time": asyncio.run(_rate(SummaryTask(), judge)),
    }
    return [(f"evaluations/s: {what}", f"{rate:,.0f}", "") for what, rate in rates.items()]


if __name__ == "__main__":
    for row in run():
        print(*row, sep="  ")
