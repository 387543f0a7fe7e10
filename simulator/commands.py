"""The simulator's commands: run, plan, status, show. Options are declared once, in `EXPERIMENT` and `MEANS`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table

from simulator import engine
from simulator.estimate import Estimate, estimate
from simulator.experiment import Experiment, plan, read_experiment
from simulator.models.access import Access
from simulator.progress import Display
from simulator.shown import print_record, print_records, print_status
from simulator.store import Store

Command = Callable[..., Any]


class Names(click.ParamType[tuple[Any, ...]]):
    """Comma-separated values, converted one by one."""

    def __init__(self, name: str, convert: Callable[[str], Any] = str) -> None:
        self.name, self._convert = name, convert

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Any, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return tuple(self._convert(part.strip()) for part in value.split(",") if part.strip())
        except ValueError:
            self.fail(f"{value!r}: numbers separated by commas are wanted, such as 0,0.5,1", param, ctx)


NAMES, NUMBERS = Names("NAME[,NAME…]"), Names("T[,T…]", float)

EXPERIMENT = (
    click.argument(
        "experiment", required=False, type=click.Path(path_type=Path, dir_okay=False), metavar="[EXPERIMENT.toml]"
    ),
    click.option("--tasks", type=NAMES, help="Tasks, or `all`.  [default: math]"),
    click.option("--dataset", metavar="FILE", help="Instances from a file (published JSON list or our JSON lines)."),
    click.option("--limit", type=int, metavar="N", help="First N instances of each task.  [default: all]"),
    click.option(
        "--modes",
        type=NAMES,
        help="full, concat, shuffle_concat, sharded, recap, snowball, gradual:N.  [default: the task's]",
    ),
    click.option(
        "--assistant",
        multiple=True,
        metavar="SPEC",
        help="Model under test, may be repeated: openai:NAME, local:smollm2, anthropic:NAME, python:package.module:object, …",
    ),
    click.option("--temperature", type=NUMBERS, help="Of the assistant, one arm each.  [default: the task's]"),
    click.option(
        "--max-tokens", type=int, metavar="N", help="Longest reply of the assistant, tokens.  [default: the task's]"
    ),
    click.option(
        "--intervention",
        "interventions",
        multiple=True,
        metavar="NAME",
        help="package.module:Name; repeated: one arm each; a+b: both; none: the plain arm.  [default: none]",
    ),
    click.option("--user", help="Simulated user: verbatim or llm.  [default: verbatim]"),
    click.option("--user-model", metavar="SPEC", help="Model of the llm user."),
    click.option("--user-temperature", type=NUMBERS, help="Of the llm user, one arm each.  [default: 1.0]"),
    click.option("--judge", help="rules, llm or llm-paper.  [default: rules]"),
    click.option("--judge-model", metavar="SPEC", help="Model of the llm judge and of tasks scored by a model."),
    click.option(
        "--classify-single-turn",
        is_flag=True,
        default=None,
        help="In FULL and CONCAT, too, score only what the judge calls an attempt.",
    ),
    click.option("--runs", type=int, metavar="N", help="Repeats of every instance in every arm.  [default: 10]"),
    click.option("--seed", type=int, help="Of all randomness that is ours.  [default: 0]"),
)

MEANS = (
    click.option("--base-url", metavar="URL", help="OpenAI-compatible server, up to /v1.  [default: OpenAI's]"),
    click.option("--user-base-url", metavar="URL", help="Server of the user model.  [default: --base-url]"),
    click.option("--judge-base-url", metavar="URL", help="Server of the judge model.  [default: --base-url]"),
    click.option(
        "--api-key-env",
        default="OPENAI_API_KEY",
        show_default=True,
        metavar="NAME",
        help="Environment variable that holds the key of these servers.",
    ),
    click.option(
        "--timeout",
        type=float,
        default=600.0,
        show_default=True,
        metavar="SECONDS",
        help="Longest time of one model call.",
    ),
    click.option(
        "--price",
        "prices",
        multiple=True,
        metavar="SPEC=IN,OUT",
        help="US dollars per million input and output tokens of a model the price library does not know.",
    ),
    click.option(
        "--max-concurrency",
        type=int,
        default=32,
        show_default=True,
        metavar="N",
        help="Conversations, and calls to one server, under way at once.",
    ),
)


def options(*groups: tuple[Callable[[Command], Command], ...]) -> Callable[[Command], Command]:
    """Puts groups of options on a command, in the order they are declared."""

    def put(command: Command) -> Command:
        for group in reversed(groups):
            for option in reversed(group):
                command = option(command)
        return command

    return put


def split(values: dict[str, Any]) -> tuple[Experiment, engine.Means]:
    """What is asked and how it is carried out, from the values of the options above."""
    named = {name: values[name] for name in Experiment.__struct_fields__ if name in values}
    return read_experiment(values["experiment"], named), engine.Means(
        access=access(values), max_concurrency=values["max_concurrency"], extend=values.get("extend", False)
    )


def access(values: dict[str, Any]) -> dict[str, Access]:
    """How models are reached, by role; the scorer and interventions use the judge's model."""

    def at(url: str | None) -> Access:
        return Access(
            base_url=url or values["base_url"],
            api_key_env=values["api_key_env"],
            timeout=values["timeout"],
            prices=dict(_price(text) for text in values["prices"]),
        )

    assistant = at(None)
    user = at(values["user_base_url"]) if values["user_base_url"] else assistant
    judge = at(values["judge_base_url"]) if values["judge_base_url"] else assistant
    return {"assistant": assistant, "user": user, "judge": judge, "scorer": judge, "intervention": judge}


def _price(text: str) -> tuple[str, tuple[float, float]]:
    spec, _, numbers = text.rpartition("=")
    try:
        paid, got = (float(number) for number in numbers.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r}: wanted is SPEC=IN,OUT, such as openai:my-model=0.5,1.5") from None
    return spec, (paid, got)


@click.command()
@options(EXPERIMENT, MEANS)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="RUN",
    required=True,
    help="Folder of the run; made if needed.",
)
@click.option("--extend", is_flag=True, help="Add another protocol, prompt or sampling to an existing store.")
@click.option("--quiet", is_flag=True, help="No progress display.")
def run(out: Path, quiet: bool, **values: Any) -> int:
    """Simulate conversations and store them in RUN.

    The same command again does only what is still owed; more runs, instances, modes or models extend a run.
    """
    experiment, means = split(values)
    planned = plan(experiment)
    with Display(Console(stderr=True), quiet=quiet) as display:
        outcome = asyncio.run(engine.run(planned, out, means, display))
    return _tell(outcome, out, quiet)


def _tell(outcome: engine.Outcome, out: Path, quiet: bool) -> int:
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
    return 1


@click.command("plan")
@options(EXPERIMENT, MEANS)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), metavar="RUN", help="As in run; not used.")
def plan_command(as_json: bool, out: Path | None, **values: Any) -> None:
    """Say before any call how many conversations and calls a run makes, and about how many tokens and dollars."""
    experiment, means = split(values)
    rows = estimate(plan(experiment), means)
    if as_json:
        click.echo(json.dumps([msgspec.to_builtins(row) for row in rows], indent=2))
    else:
        _print_estimate(rows)


def _print_estimate(rows: list[Estimate]) -> None:
    table = Table(title="At most, if no conversation is solved early", title_justify="left", title_style="")
    for name in ("task", "mode", "assistant", "conversations", "calls", "input tokens", "output tokens", "US $"):
        table.add_column(name, justify="left" if name in ("task", "mode", "assistant") else "right")
    for row in rows:
        cost = "unpriced" if row.cost is None else f"{row.cost:.2f}"
        numbers = (f"{n:,}" for n in (row.conversations, row.calls, row.tokens_in, row.tokens_out))
        table.add_row(row.task, row.mode, row.assistant, *numbers, cost, style="bold" if row.task == "total" else "")
    Console(width=None if sys.stdout.isatty() else 140).print(table)


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def status(run: Path, as_json: bool) -> None:
    """Show how far RUN is; works while it runs, from another terminal."""
    with Store(run) as store:
        print_status(store, as_json=as_json)


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("key", required=False)
@click.option("--limit", type=int, default=50, show_default=True, metavar="N", help="Conversations to list.")
@click.option("--json", "as_json", is_flag=True, help="The whole record as JSON.")
def show(run: Path, key: str | None, limit: int, as_json: bool) -> None:
    """List the conversations of RUN, or print the one whose key begins with KEY."""
    with Store(run) as store:
        if key is None:
            print_records(store, limit)
        elif as_json:
            click.echo(msgspec.json.format(msgspec.json.encode(store.record(key)), indent=2).decode())
        else:
            print_record(store, key)
