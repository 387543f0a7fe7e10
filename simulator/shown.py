"""`status` and `show`: a run looked at from outside. Light: neither graph nor model library is loaded.

Model text is printed as text, never as markup.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from simulator.columns import ROLES
from simulator.record import Record, Turn
from simulator.store import Store
from simulator.tally import clock, per

#: An engine that spoke so many seconds ago still works; its rates are of now.
JUST_NOW = 10.0

RUN = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.argument("run", type=RUN)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def status(run: Path, as_json: bool) -> None:
    """Show how far RUN is; works while it runs, from another terminal."""
    with Store(run) as store:
        print_status(store, as_json=as_json)


@click.command()
@click.argument("run", type=RUN)
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


def console() -> Console:
    """A console as wide as the terminal, or wide enough for tables where there is none."""
    return Console(width=None if sys.stdout.isatty() else 140, soft_wrap=False)


def status_of(store: Store) -> dict[str, Any]:
    """How far a run is, JSON types only. `latest` is what the last engine to work on it said, and when (Unix time)."""
    sums = ["final", "calls", "tokens_in + tokens_out", "unpriced", *(f"cost_{role}" for role in ROLES)]
    # one pass over the conversations: there may be hundreds of thousands
    groups = store.connection.execute(
        f"SELECT ended, cause, count(*), {', '.join(f'sum({what})' for what in sums)} FROM latest GROUP BY ended, cause"
    ).fetchall()
    ended: Counter[str] = Counter()
    for group in groups:
        ended[group[0]] += group[2]
    final, calls, tokens, unpriced, *costs = ([group[k] for group in groups] for k in range(3, 3 + len(sums)))
    return {
        "done": sum(final),
        "failed": sum(ended.values()) - sum(final),
        "causes": {f"{group[0]}: {group[1]}": group[2] for group in groups if group[1]},
        "ended": dict(ended),
        "replies_in_flight": store.connection.execute("SELECT count(*) FROM journal").fetchone()[0],
        "calls": sum(calls),
        "tokens": sum(tokens),
        "unpriced_calls": sum(unpriced),
        "cost_usd": {role: sum(c for c in cost if c is not None) for role, cost in zip(ROLES, costs, strict=True)},
        "latest": store.progress(),
    }


def print_status(store: Store, *, as_json: bool) -> None:
    """The state of a run, for people or as JSON."""
    status = status_of(store)
    if as_json:
        click.echo(json.dumps(status, indent=2))
        return
    latest = status["latest"]
    ended = ", ".join(f"{end} {n}" for end, n in status["ended"].items()) or "nothing yet"
    cost = " + ".join(f"{role} ${cost:.4f}" for role, cost in status["cost_usd"].items()) or "nothing priced"
    unpriced = f" + {status['unpriced_calls']} unpriced calls" if status["unpriced_calls"] else ""
    lines = [
        f"{status['done']} conversations done, {status['failed']} failed and owed ({ended})",
        f"{status['calls']:,} calls, {status['tokens']:,} tokens, {cost}{unpriced}",
        f"{status['replies_in_flight']} paid replies of conversations under way",
        *(f"failed: {n} × {cause}" for cause, n in status["causes"].items()),
    ]
    if latest:
        lines += _said(latest)
    click.echo("\n".join(lines))


def _said(latest: Mapping[str, Any]) -> Iterator[str]:
    """What the engine said last, and how fast it is if it still works."""
    ago = max(0.0, time.time() - latest["at"])
    yield f"the engine, {ago:.0f} s ago: {latest['owed']} of {latest['planned']} owed"
    yield from (f"  {key}: {latest[key]}" for key in ("parked", "stopped") if latest.get(key))
    if ago < JUST_NOW and latest["owed"] and not latest.get("stopped") and "calls_per_second" in latest:
        left = latest["seconds_left"]
        rates = (per(latest[f"{what}_per_second"], what) for what in ("conversations", "calls"))
        yield "  " + " · ".join([*rates, *([f"{clock(left)} left"] if left is not None else [])])
    if again := latest.get("tried_again"):
        yield "  tried again: " + ", ".join(f"{cause} {n}" for cause, n in again.items())


def print_records(store: Store, limit: int) -> None:
    """The first conversations of a run, a line each."""
    table = Table(box=None)
    names = ("key", "task", "instance", "mode", "repeat", "ended", "turns", "attempts", "score")
    for name in names:
        table.add_column(name)
    columns = ", ".join(f'"{name}"' for name in names)
    for row in store.connection.execute(f"SELECT {columns} FROM latest ORDER BY id LIMIT ?", (limit,)):
        table.add_row(*(Text("" if value is None else str(value)) for value in row))
    console().print(table)
    total = store.connection.execute("SELECT count(*) FROM latest").fetchone()[0]
    if total > limit:
        click.echo(f"… {total - limit} more; --limit N lists more", err=True)


def print_record(store: Store, key: str) -> None:
    """One conversation, readably; what a continued one inherits is shown first."""
    record = store.record(key)
    inherited = store.record(record.parent).turns[: record.inherited] if record.parent else ()
    console().print(Group(*_page(record, inherited)))


def _page(record: Record, inherited: tuple[Turn, ...]) -> Iterator[RenderableType]:
    yield Panel(_head(record), title=f"{record.task} · {record.mode}", title_align="left")
    yield Text(f"system: {record.system}", style="dim")
    for number, turn in enumerate((*inherited, *record.turns), 1):
        yield from _turn(number, turn, inherited=number <= len(inherited) + record.shared)
    yield Text(f"\nended: {record.ended} {record.cause}  score: {record.score}", style="bold")
    if record.detail:
        yield Text(record.detail, style="red")


def _head(record: Record) -> Text:
    cost = [call.cost for call in record.calls]
    priced = "unpriced" if None in cost else f"${sum(c for c in cost if c is not None):.5f}"
    return Text(
        f"key {record.key}  instance {record.instance.id}  repeat {record.repeat}\n"
        f"assistant {record.assistant}  user {record.user}  judge {record.judge}\n"
        f"target {record.instance.target}  calls {len(record.calls)}  {priced}  {record.seconds:.1f} s"
    )


def _turn(number: int, turn: Turn, *, inherited: bool) -> Iterator[RenderableType]:
    reveals = f" reveals {', '.join(map(str, turn.reveals))}" if turn.reveals else ""
    note = " (of the conversation this one comes from)" if inherited else ""
    yield Text(f"\n── turn {number}: {turn.said_by}{reveals}{note}", style="bold")
    for message in turn.messages:
        style = {"user": "cyan", "assistant": "green"}.get(message.role, "magenta")
        calls = "".join(f"\n  → {call.name}({call.arguments})" for call in message.tool_calls)
        yield Text(f"{message.role}: {message.content}{calls}", style=style)
    for violation in turn.violations:
        yield Text(f"  guard: {violation}", style="yellow")
    if turn.context is not None:
        yield Text(f"  the assistant saw {len(turn.context)} messages other than the transcript", style="yellow")
    if turn.judgement is not None:
        score = turn.judgement.score
        value = "not scored" if score is None else f"{score.value:g} ({score.status})"
        yield Text(f"  judge ({turn.judgement.by}): {turn.judgement.label}, answer {turn.judgement.answer!r}, {value}")
