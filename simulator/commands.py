"""The simulator's commands that make conversations or judge them: run, plan, rejudge, rescore."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table

from simulator import engine
from simulator.again import Again, again
from simulator.errors import ExperimentError
from simulator.estimate import Estimate, estimate
from simulator.experiment import named, plan
from simulator.judge import JUDGES
from simulator.options import EXPERIMENT, MEANS, RUN, experiment_of, means_of, options
from simulator.progress import Display
from simulator.shown import console
from simulator.store import Store


@click.command()
@options(EXPERIMENT, MEANS)
@click.option("--out", type=RUN, metavar="RUN", required=True, help="Folder of the run; made if needed.")
@click.option("--extend", is_flag=True, help="Add another protocol, prompt or sampling to an existing store.")
@click.option("--quiet", is_flag=True, help="No progress display.")
def run(out: Path, quiet: bool, **values: Any) -> int:
    """Simulate conversations and store them in RUN.

    The same command again does only what is still owed; more runs, instances, modes or models extend a run.
    """
    planned, means = plan(experiment_of(values)), means_of(values)
    if not quiet:
        click.echo(_at_most(asyncio.run(estimate(planned, means))[-1]), err=True)
    with Display(Console(stderr=True), quiet=quiet) as display:
        try:
            outcome = asyncio.run(engine.run(planned, out, means, display))
        except asyncio.CancelledError:
            raise click.Abort from None
    return tell(outcome, out, quiet=quiet)


def _at_most(total: Estimate) -> str:
    cost = "cost unknown: some model is unpriced" if total.cost is None else f"${total.cost:,.2f}"
    tokens = total.tokens_in + total.tokens_out
    return f"at most {total.conversations:,} conversations, {total.calls:,} calls, about {tokens:,} tokens, {cost}"


def tell(outcome: engine.Outcome, out: Path, *, quiet: bool = False) -> int:
    """Says what was done and what is still owed; the exit code."""
    if not quiet:
        click.echo(
            f"{outcome.settled + outcome.finished} of {outcome.planned} conversations done"
            f" ({outcome.finished} now, {outcome.settled} before) · {out}"
        )
    if outcome.complete:
        return 0
    for (party, cause), n in outcome.causes.most_common():
        click.echo(f"failed: {n} × {party}: {cause}", err=True)
    if outcome.parked:
        click.echo(f"parked after repeated failures: {outcome.parked}", err=True)
    if outcome.stopped:
        click.echo(f"stopped: {outcome.stopped}", err=True)
    click.echo(f"owed: {outcome.owed}; give the same command again to go on", err=True)
    return 130 if outcome.stopped == "interrupted" else 1


@click.command()
@click.argument("run", type=RUN)
@click.option("--judge", default="llm", show_default=True, metavar="NAME", help="rules, llm or llm-paper.")
@click.option("--judge-model", metavar="SPEC", help="Model of the judge, and of tasks that a model scores.")
@options(MEANS)
def rejudge(run: Path, judge: str, judge_model: str | None, **values: Any) -> int:
    """Judge and score the conversations of RUN anew, without calling the assistant; the old judgements are kept."""
    chosen = named(JUDGES, "judge", judge)
    if chosen.needs_model and judge_model is None:
        raise ExperimentError(f"--judge {judge} needs a model", fix="give --judge-model SPEC")
    return _again(run, Again(chosen, judge_model), values)


@click.command()
@click.argument("run", type=RUN)
@click.option("--judge-model", metavar="SPEC", help="Model of tasks that a model scores.")
@options(MEANS)
def rescore(run: Path, judge_model: str | None, **values: Any) -> int:
    """Score the answers of RUN anew, labels and answers as they are; the old scores are kept."""
    return _again(run, Again(None, judge_model), values)


def _again(run: Path, what: Again, values: dict[str, Any]) -> int:
    Store(run).close()  # a run must be there: asking for one is no reason to make it
    stored, failures = asyncio.run(again(run, what, means_of(values)))
    click.echo(f"{stored} conversations {'scored' if what.judge is None else 'judged'} anew · {run}")
    for failure, n in Counter(map(str, failures)).most_common(5):
        click.echo(f"failed: {n} × {failure}", err=True)
    return 1 if failures else 0


@click.command("plan")
@options(EXPERIMENT, MEANS)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("--out", type=RUN, metavar="RUN", help="As in run; not used.")
def plan_command(as_json: bool, out: Path | None, **values: Any) -> None:
    """Say before any call how many conversations and calls a run makes, and about how many tokens and dollars."""
    rows = asyncio.run(estimate(plan(experiment_of(values)), means_of(values)))
    if as_json:
        click.echo(json.dumps([msgspec.to_builtins(row) for row in rows], indent=2))
    else:
        _print_estimate(rows)


def _print_estimate(rows: list[Estimate]) -> None:
    table = Table(title="At most, if no conversation is solved early", title_justify="left", title_style="", box=None)
    for name in ("task", "mode", "assistant"):
        table.add_column(name)
    for name in ("conversations", "calls", "input tokens", "output tokens", "US $"):
        table.add_column(name, justify="right")
    for row in rows:
        numbers = (f"{n:,}" for n in (row.conversations, row.calls, row.tokens_in, row.tokens_out))
        cost = "unpriced" if row.cost is None else f"{row.cost:,.2f}"
        table.add_row(row.task, row.mode, row.assistant, *numbers, cost, style="bold" if row.task == "total" else "")
    console().print(table)
