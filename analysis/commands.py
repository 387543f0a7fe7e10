"""The commands of this package: `shardtalk report`, `label`, `import`, `export`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from analysis import drawing, exchange, figures, intervals, labelling, render
from analysis.frames import conversations
from analysis.page import page
from analysis.report import Report
from analysis.report import report as make_report
from analysis.sections import labelled, sections
from simulator.errors import StoreError
from simulator.store import Store

FORMATS = {"json": render.as_json, "csv": render.csv, "md": render.markdown}


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "form", flag_value="json", help="Print JSON instead of a table; scores 0 to 1.")
@click.option("--csv", "form", flag_value="csv", help="Print CSV instead of a table; scores 0 to 1.")
@click.option("--md", "form", flag_value="md", help="Print Markdown instead of a table.")
@click.option("--html", "form", flag_value="html", help="Write one page with all tables, figures and failure modes.")
@click.option("--against", metavar="MODE", help="Compare with this mode.  [default: what each is meant for]")
@click.option(
    "--labels", "sheet", type=click.Path(path_type=Path), help="Filled sheet of `shardtalk label`: correct the judge."
)
@click.option("--strata", metavar="NAME[,NAME]", help="Break scores down by these.  [default: all with few values]")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the bootstrap.")
@click.option(
    "--resamples", type=click.IntRange(100), default=intervals.RESAMPLES, show_default=True, help="Bootstrap resamples."
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for figure and page.  [default: RUN]")
def report(
    run: Path, form: str | None, sheet: Path | None, out: Path | None, seed: int, strata: str | None, **options: Any
) -> None:
    """Print aptitude and unreliability of RUN, with intervals, and draw them.

    One row a task, mode and assistant: instances, runs of each (N), mean score P̄, aptitude A90, unreliability U90_10 with
    95 % intervals, what was not scored, effort and cost; mistakes and scores by part, where the task names some. The figure
    goes to RUN. A terminal shows scores by kind of instance only with --strata, comparisons of modes only with --md.
    """
    labels = labelling.labels(sheet) if sheet else None
    names = [name.strip() for name in strata.split(",")] if strata else None
    with Store(run) as store:
        made = make_report(store, seed=seed, labels=labels, strata=names, **options)
        if form == "html":
            _write_page(store, made, seed, out or folder(run))
        else:
            show(made, form, out or folder(run), strata=names is not None)


def _write_page(store: Store, made: Report, seed: int, out: Path) -> None:
    text = page(made, sections(store, made, seed=seed))
    with _writable():
        out.mkdir(parents=True, exist_ok=True)
        path = out / "report.html"
        path.write_text(text, encoding="utf-8")
    click.echo(f"report: {path}")


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--n", type=click.IntRange(1), default=30, show_default=True, help="Conversations of each row of the report."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the draw.")
@click.option("--out", type=click.Path(path_type=Path), help="The sheet, a CSV file.  [default: RUN/labels.csv]")
def label(run: Path, n: int, seed: int, out: Path | None) -> None:
    """Write a sheet on which people score conversations of RUN.

    Fill in its column human_score (0 to 1, or yes and no) and give it to `shardtalk report RUN --labels SHEET`: the labels
    correct the judge's errors in every P̄. The sheet does not say what the judge thought.
    """
    path = out or folder(run) / "labels.csv"
    with Store(run) as store:
        keys = labelling.drawn(conversations(store), n, seed)
        try:
            written = labelling.write(labelling.sheet(store, keys), path)
        except FileExistsError as error:
            raise StoreError("this sheet is already there", got=str(path), fix="give another --out") from error
    click.echo(f"{written} conversations to label: {path}")


@click.command("import")
@click.argument("logs", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="RUN", required=True, help="Folder of the run; made if needed."
)
@click.option(
    "--dataset", type=click.Path(path_type=Path), help="Instances the conversations were about, where at hand."
)
def import_command(logs: Path, out: Path, dataset: Path | None) -> None:
    """Bring LOGS of the reference implementation, or exported JSON lines, into RUN.

    LOGS is a .jsonl or .jsonl.gz file, or a folder of them. Reports, figures and exports then work as on a run of our own.
    The same logs again add nothing.
    """
    found = exchange.import_logs(logs, out, dataset)
    click.echo(
        f"{found.new} conversations imported into {out}" + (f", {found.known} were there" if found.known else "")
    )
    for place in found.unread:
        click.echo(f"not read: {place}", err=True)


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(list(exchange.EXPORTS)), default="jsonl", show_default=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="File to write (reference: folder); never overwritten.",
)
def export(run: Path, form: str, out: Path) -> None:
    """Write RUN for other programs.

    jsonl: whole records, one a line (.gz compresses). parquet: one row a conversation with typed columns and nested turns.
    reference: the log folders of the reference implementation of "LLMs Get Lost In Multi-Turn Conversation".
    """
    click.echo(f"{exchange.EXPORTS[form](run, out)} conversations written: {out}")


def show(made: Report, form: str | None, out: Path, *, strata: bool = False) -> None:
    """Prints a report in one form, writes its figure into `out`, and says where it is. `strata`: see `render.terminal`."""
    console = Console()
    if form is None and console.is_terminal:
        console.print(render.terminal(made, console.width, strata=strata))
    else:
        click.echo(FORMATS[form or "md"](made))
    for path in draw(made, out):
        click.echo(f"figure: {path}", err=True)


def draw(made: Report, out: Path) -> list[Path]:
    """Writes the figure of a report as PNG and SVG; none where nothing is scored. Raises `StoreError` where it cannot."""
    measured = labelled(made)
    if measured.empty:
        return []
    with _writable():
        out.mkdir(parents=True, exist_ok=True)
        return drawing.save(figures.box(measured), out / "modes")


@contextmanager
def _writable() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError("nothing can be written there", got=str(error), fix="give a folder with --out") from error


def folder(run: Path) -> Path:
    """The folder of a run that was named by its folder or by its store file."""
    return run.parent if run.suffix == ".sqlite" else run
