"""`shardtalk shard`: instructions become sharded instructions; lint, gradual, review and apply."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from sharding import review
from sharding.checks import CHECKS, certain, check
from sharding.gradual import variants
from sharding.items import PENDING, SHARDED, provenance, read_instructions, read_items, read_sharded, write_items
from sharding.job import RULES, Job
from sharding.nouns import Sharding
from sharding.verification import MODES
from simulator.errors import ExperimentError
from simulator.experiment import Experiment
from simulator.options import MEANS, RUN, means_of, options
from tasks.datasets import write_instances
from tasks.errors import DatasetError
from tasks.nouns import Instance

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.argument("folder", type=RUN)


class WithDefault(click.Group):
    """A group whose first command is meant where none is named: `shard FILE` is `shard run FILE`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


@click.group("shard", cls=WithDefault)
def shard() -> None:
    """Cut fully specified instructions into shards, and verify them. `shard FILE …` is `shard run FILE …`."""


@shard.command()
@click.argument("file", metavar="FILE|TASK")
@click.option("--out", "folder", type=RUN, metavar="FOLDER", required=True, help="For items and store; made if needed.")
@click.option("--model", metavar="SPEC", required=True, help="Who shards, as in `run --assistant`; none: rules alone.")
@click.option("--assistant", metavar="SPEC", help="Who is simulated to verify.  [default: the model that shards]")
@click.option("--no-verify", is_flag=True, help="Do not simulate.")
@click.option("--runs", type=click.IntRange(1), default=10, show_default=True, help="Simulated runs a mode, at most.")
@click.option("--judge", default="rules", show_default=True, metavar="NAME", help="rules, llm or llm-paper.")
@click.option("--judge-model", metavar="SPEC", help="Model of the llm judge.")
@click.option("--task", metavar="NAME", help="Task of rows that name none.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="First N instructions.  [default: all]")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the simulations.")
@click.option("--extend", is_flag=True, help="Simulate in another way than this folder's store did before.")
@click.option("--quiet", is_flag=True, help="Say only what is wrong.")
@options(MEANS)
def run(file: str, folder: Path, quiet: bool, **values: Any) -> int:
    """Shard the instructions of FILE, or the embedded ones of TASK.

    Accepted ones go to FOLDER/sharded.jsonl, ready for `run --dataset`; refused ones and those to be reviewed, with the
    reasons, to FOLDER/pending.jsonl. The same command again pays for nothing twice.
    """
    if values["engine"] != "local" or values["workers"]:
        raise ExperimentError("sharding is done in this process", fix="leave out --engine and --workers")
    instructions = read_instructions(file, values["task"])[: values["limit"]]
    job = Job(
        file, values["model"], _simulated(file, instructions, values), lambda item: None if quiet else _tell(item)
    )
    try:
        asyncio.run(job.run(instructions, folder, means_of(values)))
    except asyncio.CancelledError:
        raise click.Abort from None
    return _sum_up(job, folder, quiet)


def _simulated(file: str, instructions: Sequence[Instance], values: dict[str, Any]) -> Experiment | None:
    """The experiment that verifies; none where nobody is there to be simulated, or it is not wanted."""
    assistant = values["assistant"] or (None if values["model"] == RULES else values["model"])
    if assistant is None or values["no_verify"]:
        return None
    names = tuple(dict.fromkeys(instance.task for instance in instructions))
    asked = {name: values[name] for name in ("runs", "judge", "judge_model", "seed")}
    return Experiment(tasks=names, dataset=file, modes=MODES, assistant=(assistant,), **asked)


def _tell(item: Instance) -> None:
    """A line for an item that is done."""
    made = provenance(item)
    figures = made.verification or {"outcome": "not simulated", "made": 0}
    why = "; ".join(map(str, made.objections)) or f"{figures['outcome']}, {figures['made']} runs"
    click.echo(f"{item.id}: {made.status}, {len(item.shards)} shards ({why})")


def _sum_up(job: Job, folder: Path, quiet: bool) -> int:
    """What was done, what was refused and why, and what it has cost; the exit code."""
    by_status = Counter(provenance(item).status for item in job.items.values())
    if not quiet:
        counts = ", ".join(f"{by_status[status]} {status}" for status in ("accepted", "review", "refused"))
        click.echo(f"{counts} · ${job.usd:.2f}, {job.tokens:,} tokens so far · {folder}")
        refused = Counter(_reason(item) for item in job.items.values() if provenance(item).status != "accepted")
        for (status, reason), n in refused.most_common():
            click.echo(f"  {status}: {n} × {reason}")
    for failure, n in job.failures.most_common():
        click.echo(f"failed: {n} × {failure}", err=True)
    if job.stopped:
        click.echo(f"stopped: {job.stopped}", err=True)
    if job.owed:
        click.echo(f"owed: {job.owed}; give the same command again to go on", err=True)
    return 130 if job.stopped == "interrupted" else int(bool(job.owed))


def _reason(item: Instance) -> tuple[str, str]:
    made = provenance(item)
    return made.status, made.objections[0].check if made.objections else "simulation"


# -- files of shards --------------------------------------------------------------------------------------------------------


@shard.command()
@click.argument("file", type=FILE)
def lint(file: Path) -> int:
    """Check every sharded instruction of FILE, without a model. The exit code is 1 if anything was found."""
    items = read_sharded(file)
    found = [(item.id, objection) for item in items for objection in check(Sharding.of(item))]
    for id, objection in found:
        click.echo(f"{id}: {objection}" + (" [certain]" if certain(objection) else ""))
    counts = Counter(objection.check for _, objection in found)
    summary = ", ".join(f"{counts[name]} {name}" for name in CHECKS if counts[name]) or "no fault found"
    click.echo(f"{len({id for id, _ in found})} of {len(items)} with faults: {summary}", err=True)
    return int(bool(found))


@shard.command()
@click.argument("file", type=FILE)
@click.option("--out", type=FILE, required=True, help="The file with variants.")
def gradual(file: Path, out: Path) -> None:
    """Add variants of 2 … n − 1 shards to every instruction of FILE, for `run --modes gradual:N`."""
    items = [msgspec.structs.replace(item, variants=variants(Sharding.of(item))) for item in read_sharded(file)]
    write_instances(items, out)
    sizes = Counter(int(n) for item in items for n in item.variants)
    click.echo(", ".join(f"{sizes[n]} of {n} shards" for n in sorted(sizes)) + f" · {out}")


@shard.command("review")
@FOLDER
@click.option("--out", type=FILE, help="The page.  [default: FOLDER/review.html]")
def review_command(folder: Path, out: Path | None) -> None:
    """Write a page that shows every item of FOLDER; its decisions are saved as a file for `apply`."""
    page = out or folder / "review.html"
    page.write_text(review.page(_items(folder), f"shardtalk: {folder.name}"), encoding="utf-8")
    click.echo(page)


@shard.command()
@FOLDER
@click.argument("decisions", type=FILE, required=False)
def apply(folder: Path, decisions: Path | None) -> int:
    """Merge DECISIONS of a review page, and edits made in its files, into the items of FOLDER."""
    items, problems = review.merged(_items(folder), review.read_decisions(decisions) if decisions else [])
    write_items(folder, items)
    for problem in problems:
        click.echo(problem, err=True)
    by_status = Counter(provenance(item).status for item in items)
    click.echo(
        f"{by_status['accepted']} in {folder / SHARDED}, {len(items) - by_status['accepted']} in {folder / PENDING}"
    )
    return int(bool(problems))


def _items(folder: Path) -> list[Instance]:
    items = read_items(folder)
    if not items:
        raise DatasetError(
            "there are no items here", got=str(folder), allowed="a folder made by `shardtalk shard --out`"
        )
    return items
