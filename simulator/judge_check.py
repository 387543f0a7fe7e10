"""`shardtalk judge-check LOGS`: how well a judge agrees with the labels in logs of the reference implementation.

The recorded labels come from a small model and are themselves noisy, so agreement is no accuracy: Cohen's kappa takes out
what chance would give, and `--show` prints disagreements to be looked at by hand. The same logs say which user turns repeat
a shard, so the guard's repeat finder (simulator/repeats.py) is measured on them as well.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from simulator.errors import CallFailed, Failure, ModelError
from simulator.judge import JUDGES, Judge
from simulator.labelled import Labelled, UserTurn, labelled_replies, log_files, read_logs, user_turns
from simulator.models.model import Model, make_model
from simulator.repeats import repeats
from tasks.nouns import TURN_CLASSES, Ask, Message, Options, Reply, TurnClass
from tasks.registry import get_task

T = TypeVar("T")
Group = tuple[str, str]


class Judged(msgspec.Struct, frozen=True):
    """A labelled reply and what the judge made of it; where it failed, `label` is None and `failure` its cause."""

    reply: Labelled
    label: TurnClass | None
    failure: str = ""

    @property
    def disagrees(self) -> bool:
        """About whether there was an attempt at all, which decides whether anything is scored."""
        return (self.label == "answer_attempt") != (self.reply.label == "answer_attempt")


class Agreement(msgspec.Struct, frozen=True):
    """How far two labellings of the same replies agree.

    Attributes:
        replies: how many were judged. `failures`: cause -> replies the judge could not label (left out of the rest).
        attempt, attempt_kappa: share of equal decisions on attempt / no attempt, and Cohen's kappa of them.
        classes, classes_kappa: the same for the seven classes.
        disagreements: unequal decisions on attempt / no attempt.
        confusion: recorded class -> judged class -> count.
    """

    replies: int
    failures: dict[str, int]
    attempt: float
    attempt_kappa: float
    classes: float
    classes_kappa: float
    disagreements: int
    confusion: dict[str, dict[str, int]]


class Found(msgspec.Struct, frozen=True):
    """How well repeated user turns are found: of `turns` with a mark, `repeats` are repeats."""

    turns: int
    repeats: int
    precision: float
    recall: float


# -- measuring ----------------------------------------------------------------------------------------------------


def agreement(judged: Sequence[Judged]) -> Agreement:
    """Recorded against judged labels."""
    pairs = [(one.reply.label, one.label) for one in judged if one.label is not None]
    attempts = [(recorded == "answer_attempt", found == "answer_attempt") for recorded, found in pairs]
    confusion: dict[str, dict[str, int]] = {label: dict.fromkeys(TURN_CLASSES, 0) for label in TURN_CLASSES}
    for recorded, found in pairs:
        confusion[recorded][found] += 1
    return Agreement(
        replies=len(judged),
        failures=dict(Counter(one.failure for one in judged if one.label is None)),
        attempt=_equal(attempts),
        attempt_kappa=kappa(attempts),
        classes=_equal(pairs),
        classes_kappa=kappa(pairs),
        disagreements=sum(one.disagrees for one in judged if one.label is not None),
        confusion=confusion,
    )


def _equal(pairs: Sequence[tuple[Hashable, Hashable]]) -> float:
    return sum(one == other for one, other in pairs) / len(pairs) if pairs else 0.0


def kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float:
    """Cohen's kappa of two labellings (Cohen 1960): agreement beyond that of two raters who only keep their shares.

    1 for full agreement, 0 for what chance gives; 1 too if both use a single, equal label (nothing was left to chance).
    """
    if not pairs:
        return 0.0
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    chance = sum(first[label] * second[label] for label in first) / len(pairs) ** 2
    return 1.0 if chance == 1 else (_equal(pairs) - chance) / (1 - chance)


def found_repeats(turns: Sequence[UserTurn]) -> Found:
    """The repeat finder against the marks of the logs; turns without a mark are left out."""
    marked = [turn for turn in turns if turn.repeat is not None]
    called = [turn for turn in marked if repeats(turn.text, turn.said)]
    right = sum(turn.repeat is True for turn in called)
    there = sum(turn.repeat is True for turn in marked)
    return Found(
        turns=len(marked),
        repeats=there,
        precision=right / len(called) if called else 0.0,
        recall=right / there if there else 0.0,
    )


# -- judging ------------------------------------------------------------------------------------------------------


async def judge_all(replies: Sequence[Labelled], judge: Judge, ask: Ask, at_once: int) -> list[Judged]:
    """Every reply before the judge, `at_once` at a time, in order."""
    gate = asyncio.Semaphore(at_once)

    async def one(reply: Labelled) -> Judged:
        async with gate:
            try:
                judgement = await judge.judge(reply.reply, get_task(reply.task), reply.instance, ask)
            except Failure as failure:
                return Judged(reply, None, failure.cause)
            return Judged(reply, judgement.label)

    return list(await asyncio.gather(*map(one, replies)))


def asks(model: Model | None) -> Ask:
    """A model as a judge meets it. A call that fails is a failure of the judge; one no other can survive ends the command."""

    async def ask(messages: Sequence[Message], options: Options = _DEFAULT) -> Reply:
        if model is None:
            raise ModelError("this judge needs a model")
        try:
            return await model.call(messages, options)
        except CallFailed as failed:
            if failed.stop_run:
                raise ModelError(f"{model.name}: {failed}") from failed
            raise Failure("judge", failed.cause, str(failed)) from failed

    return ask


_DEFAULT = Options()


# -- the command --------------------------------------------------------------------------------------------------


@click.command(name="judge-check")
@click.argument("logs", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--judge", "judge_name", type=click.Choice(list(JUDGES)), default="rules", show_default=True)
@click.option("--judge-model", help="Model of an LLM judge, e.g. openai:gpt-4o-mini or local:/path/model.gguf.")
@click.option("--base-url", help="Address of an OpenAI-compatible server.")
@click.option("--max-concurrency", default=8, show_default=True, help="Calls under way at once.")
@click.option(
    "--limit", type=click.IntRange(min=1), help="Replies to judge of each task and assistant, drawn at random.  [all]"
)
@click.option("--seed", default=0, show_default=True, help="Of --limit and --show.")
@click.option("--show", default=0, show_default=True, help="Disagreements on attempt / no attempt to print.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def judge_check(
    logs: tuple[Path, ...],
    judge_name: str,
    judge_model: str | None,
    base_url: str | None,
    max_concurrency: int,
    limit: int | None,
    seed: int,
    show: int,
    as_json: bool,
) -> None:
    """Compare a judge with the labels recorded in LOGS (files or folders, *.jsonl or *.jsonl.gz)."""
    rng, judge = random.Random(seed), JUDGES[judge_name]
    if judge.needs_model and not judge_model:
        raise ModelError(f"the judge {judge_name} needs a model", fix="--judge-model SPEC, e.g. openai:gpt-4o-mini")
    model = make_model(judge_model, base_url=base_url) if judge_model else None
    conversations = [log for path in log_files(logs) for log in read_logs(path)]
    replies = _drawn([reply for log in conversations for reply in labelled_replies(log)], limit, rng)
    judged = asyncio.run(_judge_and_close(replies, judge, model, max_concurrency))
    agreements = {group: agreement(some) for group, some in _grouped(judged, lambda one: one.reply).items()}
    turns = [turn for log in conversations for turn in user_turns(log)]
    found = {group: found_repeats(some) for group, some in _grouped(turns, lambda turn: turn).items()}
    click.echo(_as_json(agreements, found) if as_json else _as_text(judge_name, agreements, found))
    disagreements = [one for one in judged if one.label is not None and one.disagrees]
    for one in rng.sample(disagreements, min(show, len(disagreements))):
        click.echo(_shown(one))


async def _judge_and_close(
    replies: Sequence[Labelled], judge: Judge, model: Model | None, at_once: int
) -> list[Judged]:
    try:
        return await judge_all(replies, judge, asks(model), at_once)
    finally:
        if model is not None:
            await model.close()


def _drawn(replies: Sequence[Labelled], limit: int | None, rng: random.Random) -> list[Labelled]:
    groups: dict[Group, list[Labelled]] = defaultdict(list)
    for reply in replies:
        groups[reply.task, reply.assistant].append(reply)
    return [one for some in groups.values() for one in (rng.sample(some, min(limit, len(some))) if limit else some)]


def _grouped(items: Iterable[T], source: Callable[[T], Labelled | UserTurn]) -> dict[Group, list[T]]:
    """By task and assistant, each task followed by all of it."""
    groups: dict[Group, list[T]] = defaultdict(list)
    for item in items:
        groups[source(item).task, source(item).assistant].append(item)
        groups[source(item).task, "all"].append(item)
    return {group: groups[group] for group in sorted(groups, key=lambda group: (group[0], group[1] == "all", group[1]))}


# -- printing -----------------------------------------------------------------------------------------------------


def _as_json(agreements: Mapping[Group, Agreement], found: Mapping[Group, Found]) -> str:
    labels = [{"task": task, "assistant": who, **msgspec.to_builtins(one)} for (task, who), one in agreements.items()]
    repeated = [{"task": task, "assistant": who, **msgspec.to_builtins(one)} for (task, who), one in found.items()]
    return json.dumps({"labels": labels, "repeats": repeated}, indent=2)


def _as_text(judge: str, agreements: Mapping[Group, Agreement], found: Mapping[Group, Found]) -> str:
    labels = [
        [
            *group,
            one.replies,
            sum(one.failures.values()),
            *_shares(one.attempt, one.attempt_kappa),
            *_shares(one.classes, one.classes_kappa),
        ]
        for group, one in agreements.items()
    ]
    marked = [
        [*group, one.turns, one.repeats, f"{one.precision:.1%}", f"{one.recall:.1%}"]
        for group, one in found.items()
        if one.turns
    ]
    columns = ["task", "assistant", "replies", "failed", "attempt", "kappa", "classes", "kappa"]
    parts = [
        f"Judge {judge} against the recorded labels (attempt: attempt or not; classes: all seven)",
        _table(columns, labels),
        *(_confusion(task, one) for (task, who), one in agreements.items() if who == "all"),
        *(
            f"{task}: failures of the judge by cause: {one.failures}"
            for (task, who), one in agreements.items()
            if one.failures and who == "all"
        ),
    ]
    if marked:
        parts += [
            "The guard's repeat finder against the recorded repeats (which the logs mark by shard id, not by what was said)",
            _table(["task", "assistant", "turns", "repeats", "precision", "recall"], marked),
        ]
    return "\n\n".join(parts)


def _failures(task: str, one: Agreement) -> str:
    return f"{task}: failures of the judge: " + ", ".join(f"{cause} {count}" for cause, count in one.failures.items())


def _shares(equal: float, kappa: float) -> tuple[str, str]:
    return f"{equal:.1%}", f"{kappa:.2f}"


def _confusion(task: str, one: Agreement) -> str:
    rows = [[label, *one.confusion[label].values()] for label in TURN_CLASSES if any(one.confusion[label].values())]
    return f"{task}: recorded class down, judged class across\n" + _table(["", *TURN_CLASSES], rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    cells = [list(header), *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def _shown(one: Judged) -> str:
    reply = one.reply
    return "\n".join(
        [
            f"\n-- {reply.task} {reply.instance.id}, {reply.assistant}: recorded {reply.label}, judged {one.label}",
            f"user: {_printable(reply.instance.shards[0].text)} … {_printable(reply.instance.shards[-1].text)}",
            f"assistant: {_printable(reply.reply, 1200)}",
        ]
    )


def _printable(text: str, longest: int = 200) -> str:
    """A model's text for the terminal: no control characters, the middle left out of a long one."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    return shown if len(shown) <= longest else f"{shown[: longest // 2]} […] {shown[-longest // 2 :]}"
