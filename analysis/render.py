"""A `Report` as text: a rich table for a terminal, Markdown, CSV, JSON.

Scores are 0 to 100 in tables, 0 to 1 in CSV and JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import pandas as pd
from rich import box
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from analysis import arms
from analysis.measures import ALSO, FEW_INSTANCES, FEW_RUNS, GROUP
from analysis.notes import SYNTHETIC
from analysis.report import Report


class Shown(NamedTuple):
    """A column of the readers' table: its heading, the cell of a row, and whether a narrow terminal goes without it."""

    heading: str
    cell: Callable[[dict[str, Any]], str]
    wide: bool = False


def _rests_on(row: dict[str, Any]) -> str:
    """Instances × runs of each; a star marks what is too few for inference."""
    runs = "–".join(dict.fromkeys([str(row["runs_min"]), str(row["runs_max"])]))
    stars = ("*" if few else "" for few in (row["instances"] < FEW_INSTANCES, row["runs_min"] < FEW_RUNS))
    return "{}{} × {}{}".format(row["instances"], next(stars), runs, next(stars))


def _measure(name: str) -> Callable[[dict[str, Any]], str]:
    def cell(row: dict[str, Any]) -> str:
        if _missing(row[name]):
            return "–"
        limits = [row[f"{name}_{end}"] for end in ("low", "high")]
        shown = "" if any(map(_missing, limits)) else f" [{_short(limits[0])}, {_short(limits[1])}]"
        return f"{100 * row[name]:.1f}{shown}"

    return cell


def _short(limit: float) -> str:
    return f"{100 * limit:.1f}".removesuffix(".0")


def _not_scored(row: dict[str, Any]) -> str:
    return f"{row['not_scored']} of {row['conversations']}" if row["not_scored"] else "0"


def _split(row: dict[str, Any]) -> str:
    return "–" if _missing(row["sd_runs"]) else f"{100 * row['sd_instances']:.0f} / {100 * row['sd_runs']:.0f}"


def _cost(row: dict[str, Any]) -> str:
    return "unpriced" if _missing(row["cost_alone"]) else f"${row['cost_alone']:.4f}"


def _mean(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda row: "–" if _missing(row[name]) else f"{row[name]:.1f}"


#: Headings, cells, and how many columns from the left are labels.
Cells: TypeAlias = tuple[list[str], list[list[str]], int]
#: Titles of tables that are looked for by them.
DIFFERENCES = "Differences on the same instances"
MCNEMAR = "McNemar's test of the same pairs"
SCORES_BY_PART = "Scores by part of the answer"
MISTAKES = "Mistakes, % of scored conversations"
SCORES_BY_INSTANCE = "P̄ by kind of instance (instances)"
#: Characters; a terminal with fewer shows no `wide` columns.
WIDE = 105

COLUMNS = (
    Shown("instances × N", _rests_on),
    Shown("P̄", _measure("mean")),
    Shown("A90", _measure("aptitude")),
    Shown(
        "U90_10", lambda row: _measure("unreliability")(row) if row["runs_max"] > 1 else "–"
    ),  # one run has no spread
    Shown("σ inst. / runs", _split, wide=True),
    Shown("not scored", _not_scored),
    Shown("turns", _mean("turns"), wide=True),
    Shown("attempts", _mean("attempts"), wide=True),
    Shown("cost", _cost),
)


def terminal(report: Report, width: int = 120, *, strata: bool = False) -> RenderableType:
    """For a `rich` console of this width: the readers' table (limits stand below their value), the notes, and where a run has
    them mistakes, scores by part, and with `strata` scores by kind of instance.
    """
    shown = [column for column in COLUMNS if width >= WIDE or not column.wide]
    headings, rows = readable(report, shown)
    labels = len(headings) - len(shown)
    table = _grid(heading(report), headings, [[cell.replace(" [", "\n[") for cell in row] for row in rows], labels)
    broken_down = {
        name: made for name, made in breakdown_tables(report).items() if strata or name != SCORES_BY_INSTANCE
    }
    return Group(
        table, *(Text(f"- {note}") for note in report.notes), *(_grid(name, *it) for name, it in broken_down.items())
    )


def markdown(report: Report) -> str:
    """All tables and the notes, in GitHub's Markdown; also what a terminal that is none gets."""
    headings, rows = readable(report)
    parts = [f"# {_escaped(heading(report))}", _aligned(headings, rows, labels=len(headings) - len(COLUMNS))]
    parts.append("\n".join(f"- {_escaped(note)}" for note in report.notes))
    parts += [f"## {title}\n\n{_aligned(*table)}" for title, table in more_tables(report).items()]
    return "\n\n".join(parts) + "\n"


def more_tables(report: Report) -> dict[str, Cells]:
    """Title -> headings, cells and number of label columns of every other table that has rows."""
    tables = {
        "Means over tasks": (report.overall, _OVERALL),
        DIFFERENCES: (report.differences, _DIFFERENCES),
        MCNEMAR: (report.mcnemar, _MCNEMAR),
        "P̄ corrected by labels": (report.corrected, _CORRECTED),
        "Not scored, or failed by the assistant": (report.unscored, _UNSCORED),
    }
    shown = {title: _readable(frame, columns) for title, (frame, columns) in tables.items() if len(frame)}
    return shown | breakdown_tables(report)


def breakdown_tables(report: Report) -> dict[str, Cells]:
    """As `more_tables`, for mistakes, parts and kinds of instances: one column a mode, so that modes are read side by side."""
    tables = {
        MISTAKES: (report.mistakes, ["mistake"], lambda row: _percent(row["share"])),
        SCORES_BY_PART: (report.parts, ["part"], lambda row: _percent(row["mean"])),
        SCORES_BY_INSTANCE: (
            report.strata,
            ["stratum", "value"],
            lambda row: f"{_percent(row['mean'])} ({row['instances']})",
        ),
    }
    return {title: _by_mode(report, *how) for title, how in tables.items() if len(how[0])}


def csv(report: Report) -> str:
    """The whole table, one row a group, every column."""
    return report.table.to_csv(index=False)


def as_json(report: Report) -> str:
    """All of it as one JSON object; what is missing is null."""
    tables = {"groups": report.table, "overall": report.overall, "differences": report.differences}
    tables |= {"mcnemar": report.mcnemar, "mistakes": report.mistakes, "parts": report.parts, "strata": report.strata}
    tables |= {"corrected": report.corrected, "unscored": report.unscored}
    frames = {name: _records(frame) for name, frame in tables.items()}
    whole = {"run": report.run, "by": report.by, **frames, "notes": report.notes}
    return json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False)


def readable(report: Report, columns: Sequence[Shown] = COLUMNS) -> tuple[list[str], list[list[str]]]:
    """Headings and cells of the readers' table; a label that is the same in every row stands in the heading instead."""
    labels = [name for name in report.by if name == "mode" or report.table[name].nunique(dropna=False) > 1]
    rows = _records(report.table)
    cells = [[*(_label(row[name]) for name in labels), *(column.cell(row) for column in columns)] for row in rows]
    return [*labels, *(column.heading for column in columns)], cells


def heading(report: Report) -> str:
    """The run, and what is the same in every row."""
    constant = [name for name in report.by if name != "mode" and report.table[name].nunique(dropna=False) == 1]
    return " · ".join([report.run, *(_label(report.table[name].iloc[0]) for name in constant)])


_OVERALL = (
    Shown("tasks", lambda row: str(row["tasks"])),
    Shown("P̄", _measure("mean")),
    Shown("A90", _measure("aptitude")),
    Shown("U90_10", _measure("unreliability")),
)
_DIFFERENCES = (
    Shown("minus", lambda row: _label(row["b"])),
    Shown(
        "P̄ difference",
        lambda row: _measure("difference")(row | {"difference_low": row["low"], "difference_high": row["high"]}),
    ),
    Shown("p", lambda row: _p(row["p"])),
    Shown("p (Holm)", lambda row: _p(row["p_holm"])),
    Shown(
        "instances", lambda row: f"{row['instances']}" + (f" ({row['unpaired']} unpaired)" if row["unpaired"] else "")
    ),
    Shown("", lambda row: row["note"]),
)
_MCNEMAR = (
    Shown("minus", lambda row: _label(row["b"])),
    Shown("only this arm right", lambda row: str(row["a_only"])),
    Shown("only the other right", lambda row: str(row["b_only"])),
    Shown("pairs", lambda row: str(row["pairs"])),
    Shown("instances", lambda row: str(row["instances"])),
    Shown("p exact", lambda row: _p(row["p_exact"])),
    Shown("p corrected", lambda row: _p(row["p_corrected"])),
    Shown("p by instance", lambda row: _p(row["p_clustered"])),
    Shown("p by instance (Holm)", lambda row: _p(row["p_holm"])),
)
_CORRECTED = (
    Shown("as judged", lambda row: _measure("judged")(row | {"judged_low": None, "judged_high": None})),
    Shown("corrected", lambda row: _measure("value")(row | {"value_low": row["low"], "value_high": row["high"]})),
    Shown("labelled", lambda row: f"{row['labelled']} of {row['size']}"),
    Shown("", lambda row: row["note"]),
)
_UNSCORED = (Shown("conversations", lambda row: str(row["conversations"])),)
#: Names of columns that are labels wherever they appear.
_LABELS = (*GROUP, *ALSO, "a", "party", "cause")
_ALWAYS = ("mode", "a", "party", "cause")


# -- parts -----------------------------------------------------------------------------------------------------------------


def _grid(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], labels: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1), title=Text(title, "bold"), title_justify="left")
    for at, name in enumerate(headings):
        table.add_column(Text(name), justify="left" if at < labels else "right", overflow="fold", no_wrap=at >= labels)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _by_mode(report: Report, frame: pd.DataFrame, names: list[str], cell: Callable[[dict[str, Any]], str]) -> Cells:
    """One row a task, assistant and what `names` name, one column an arm."""
    labels = [name for name in ("task", "assistant") if report.table[name].nunique() > 1] + names
    columns = dict.fromkeys(arms.names(report.table, report.by))
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for arm, row in zip(arms.names(frame, report.by), _records(frame), strict=True):
        place = tuple(_label(row[name]) for name in ("task", "assistant", *names))
        cells.setdefault(place, {})[arm] = cell(row)
    shown = [column for column in columns if any(column in found for found in cells.values())]
    at = [("task", "assistant", *names).index(name) for name in labels]
    rows = [[*(place[k] for k in at), *(found.get(column, "–") for column in shown)] for place, found in cells.items()]
    return [*labels, *shown], rows, len(labels)


def _percent(share: Any) -> str:
    return "–" if _missing(share) else f"{100 * share:.1f}"


def _readable(frame: pd.DataFrame, columns: Sequence[Shown]) -> Cells:
    """As `readable`, for any frame: the labels that differ, then the columns; a column that would be empty is left out."""
    labels = [name for name in frame if name in _LABELS and (name in _ALWAYS or frame[name].nunique(dropna=False) > 1)]
    rows = _records(frame)
    cells = [[*(_label(row[str(name)]) for name in labels), *(column.cell(row) for column in columns)] for row in rows]
    headings = [*map(str, labels), *(column.heading for column in columns)]
    kept = [at for at in range(len(headings)) if at < len(labels) or any(row[at] for row in cells)]
    return (
        [{"a": "arm"}.get(headings[at], headings[at]) for at in kept],
        [[row[at] for at in kept] for row in cells],
        len(labels),
    )


def _p(value: Any) -> str:
    return "–" if _missing(value) else f"{value:.4f}" if value < 0.001 else f"{value:.3f}"


def _label(value: Any) -> str:
    if _missing(value) or value == "":
        return "–"
    return f"{value} (synthetic)" if isinstance(value, str) and value.startswith(SYNTHETIC) else str(value)


def _aligned(headings: Sequence[str], rows: Sequence[Sequence[str]], labels: int) -> str:
    """A Markdown table whose source lines up too."""
    safe = [[_escaped(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(headings, *safe, strict=True)]
    rule = ["-" * w if at < labels else "-" * (w - 1) + ":" for at, w in enumerate(widths)]
    lines = [
        [_padded(cell, w, left=at < labels) for at, (cell, w) in enumerate(zip(row, widths, strict=True))]
        for row in (headings, *safe)
    ]
    lines.insert(1, rule)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _padded(cell: str, width: int, *, left: bool) -> str:
    space = " " * (width - cell_len(cell))
    return cell + space if left else space + cell


def _escaped(text: str) -> str:
    """Names and causes may hold anything: no table cell, tag or line break may come of it."""
    for what, instead in (("\\", "\\\\"), ("|", "\\|"), ("<", "&lt;"), ("\n", " "), ("\r", " ")):
        text = text.replace(what, instead)
    return text


def _missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value))


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(k): None if _missing(v) else v for k, v in row.items()} for row in frame.to_dict("records")]
