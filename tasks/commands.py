"""`shardtalk tasks`: list, show, validate and generate."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tasks.datasets import instance_lines, write_instances
from tasks.errors import ShardtalkError, UnknownName
from tasks.nouns import Instance
from tasks.registry import TASKS, get_task
from tasks.task import Task

DATASET = click.Path(path_type=Path, dir_okay=False)


@click.group()
def tasks() -> None:
    """List, show, validate and generate tasks."""


@tasks.command("list")
def list_tasks() -> None:
    """Every task with its instances, shards, scoring and what it needs."""
    rows = []
    for name, kind in TASKS.items():
        task = kind()
        instances = task.load()
        sizes = [len(instance.shards) for instance in instances]
        shards = f"{min(sizes)} to {max(sizes)}"
        rows.append((name, task.summary, str(len(instances)), shards, task.scoring, task.needs))
    _print(("task", "what", "instances", "shards", "scoring", "needs"), rows)


@tasks.command()
@click.argument("task")
@click.argument("instance", required=False)
@click.option("--dataset", type=DATASET, metavar="FILE", help="Instances of a file instead of the embedded ones.")
def show(task: str, instance: str | None, dataset: Path | None) -> None:
    """What TASK says and expects, on its first instance or on INSTANCE."""
    chosen = get_task(task)
    by_id = {one.id: one for one in chosen.load(dataset)}
    if instance is not None and instance not in by_id:
        raise UnknownName("instance", instance, by_id)
    for title, text in _parts(chosen, by_id[instance] if instance else next(iter(by_id.values()))):
        click.echo(f"{click.style(title, bold=True)}\n{text}\n")


def _parts(task: Task, instance: Instance) -> Iterator[tuple[str, str]]:
    yield f"{task.name} · {instance.id}", f"{task.summary}; {task.scoring}; an answer is {task.answer_form}"
    yield "strata", ", ".join(f"{name} {value}" for name, value in instance.strata.items()) or "none"
    yield "system", task.system(instance)
    yield "full", task.full(instance)
    yield "shards", "\n".join(f"{shard.id}: {shard.text}" for shard in instance.shards)
    yield "target", str(instance.target)
    yield "modes of its own", ", ".join(task.presentations) or "none"
    for name in task.presentations:
        yield name, "\n".join(f"[{message.role}] {message.content}" for message, _ in task.script(instance, name).lines)


class Verdict(NamedTuple):
    """How the shipped target of one instance, and a wrong answer, were scored; None where nothing was extracted."""

    instance: str
    right: float | None
    wrong: float | None

    @property
    def trusted(self) -> bool:
        """The target scores 1.0 and the wrong answer less."""
        return self.right == 1.0 and (self.wrong is None or self.wrong < 1.0)


@tasks.command()
@click.argument("task", required=False)
@click.option(
    "--dataset", type=DATASET, metavar="FILE", help="Your own instances of TASK instead of the embedded ones."
)
def validate(task: str | None, dataset: Path | None) -> int:
    """Score every shipped target at 1.0, and a wrong answer below; of TASK, or of all tasks.

    Exits with 1 and names the instances where that does not hold.
    """
    if dataset is not None and task is None:
        raise ShardtalkError(
            "--dataset needs the task its instances belong to", fix="shardtalk tasks validate TASK --dataset FILE"
        )
    rows: list[tuple[str, ...]] = []
    bad: list[str] = []
    for name in [task] if task else list(TASKS):
        verdicts = asyncio.run(_verdicts(get_task(name), dataset))
        right = sum(verdict.right == 1.0 for verdict in verdicts)
        wrong = sum(verdict.wrong is None or verdict.wrong < 1.0 for verdict in verdicts)
        rows.append((get_task(name).name, *map(str, (len(verdicts), right, wrong))))
        bad += [f"{name} {v.instance}: target {v.right}, wrong answer {v.wrong}" for v in verdicts if not v.trusted]
    _print(("task", "instances", "targets at 1.0", "wrong answers below 1"), rows)
    for line in bad:
        click.echo(line, err=True)
    return 1 if bad else 0


async def _verdicts(task: Task, dataset: Path | None) -> list[Verdict]:
    return [
        Verdict(
            instance.id,
            await _value(task, task.right_answer(instance), instance),
            await _value(task, task.wrong_answer(instance), instance),
        )
        for instance in task.load(dataset)
    ]


async def _value(task: Task, reply: str, instance: Instance) -> float | None:
    """The value of a reply, by the way of any reply: extracted, then scored."""
    answer = await task.extract(reply, instance)
    return None if answer is None else (await task.score(answer, instance)).value


@tasks.command()
@click.argument("task")
@click.option("--n", type=click.IntRange(1), default=100, show_default=True, metavar="N", help="Instances.")
@click.option(
    "--seed", type=int, default=0, show_default=True, metavar="S", help="The same seed makes the same instances."
)
@click.option("--out", type=DATASET, metavar="FILE", help="Where to, as JSON lines.  [default: standard output]")
def generate(task: str, n: int, seed: int, out: Path | None) -> None:
    """Make N fresh instances of TASK: no model has seen them."""
    chosen = get_task(task)
    made = iter(chosen.generate(n, seed))
    first = next(made, None)
    if first is None:
        able = [name for name, kind in TASKS.items() if next(iter(kind().generate(1, 0)), None)]
        raise ShardtalkError(f"task {chosen.name} has no generator", allowed=", ".join(able))
    instances = (instance for one in ([first], made) for instance in one)
    if out is None:
        for line in instance_lines(instances):
            click.echo(line, nl=False)
    else:
        click.echo(f"{write_instances(instances, out)} instances · {out}")


def _print(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = Table(box=None, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))  # data is text, never markup
    Console(width=None if sys.stdout.isatty() else 160).print(table)
