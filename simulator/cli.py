"""The command line: composition root of the four packages. Each keeps its commands in a `commands.py` of its own; a module is
loaded when its command is called, so that `shardtalk --help` is quick.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import click

from tasks.errors import ShardtalkError, UnknownName

#: command -> (module:object, one line of help).
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("simulator.commands:run", "Simulate conversations; the same command again does only what is still owed."),
    "plan": ("simulator.commands:plan_command", "Say how many conversations, calls, tokens and dollars a run makes."),
    "status": ("simulator.shown:status", "Show how far a run is, also while it runs."),
    "show": ("simulator.shown:show", "List the conversations of a run, or print one."),
    "rejudge": ("simulator.commands:rejudge", "Judge stored conversations anew, without calling the assistant."),
    "rescore": ("simulator.commands:rescore", "Score stored answers anew."),
    "report": ("analysis.commands:report", "Print the table of a run and write its figure."),
    "label": ("analysis.commands:label", "Write a sheet on which people score conversations of a run."),
    "import": ("analysis.commands:import_command", "Bring logs of the reference implementation into a run."),
    "export": ("analysis.commands:export", "Write a run as JSON lines, Parquet or reference logs."),
    "judge-check": ("simulator.judge_check:judge_check", "Compare a judge with the labels recorded in logs."),
    "data": ("tasks.fetch_commands:data", "Fetch published datasets, and find them."),
    "shard": ("sharding.commands:shard", "Cut instructions into shards, verify, lint and review them."),
    "tasks": ("tasks.commands:tasks", "List, show, validate and generate tasks."),
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and loads one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise UnknownName("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.version_option(package_name="shardtalk")
def cli(debug: bool) -> None:
    """Mass simulation of sharded conversations: how language models get lost, why, and what brings them back."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line. An error the user can act on is one clear message and a non-zero exit code."""
    args = list(sys.argv[1:] if arguments is None else arguments)
    try:
        result: Any = cli.main(args=args, prog_name="shardtalk", standalone_mode=False)
    except (ShardtalkError, click.ClickException, click.exceptions.Abort, KeyboardInterrupt, ExceptionGroup) as error:
        known = _known(error)
        if known is None or "--debug" in args:
            raise
        sys.exit(_complain(known))
    sys.exit(result if isinstance(result, int) else 0)


def _known(error: BaseException) -> BaseException | None:
    """The error a user can act on; tasks that ran side by side report theirs as a group."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    found: BaseException | None = error.subgroup(ShardtalkError)
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


def _complain(error: BaseException) -> int:
    """Says what went wrong on standard error; the exit code."""
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    if isinstance(error, ShardtalkError):
        click.echo(f"error: {error}", err=True)
        return error.exit_code
    click.echo("interrupted", err=True)
    return 130
