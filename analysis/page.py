"""A report as one HTML page that needs nothing else: no script, no outside file, pictures within, every text escaped."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pandas as pd

from analysis import breakdowns, contrasts, drawing, render
from analysis.report import Report
from analysis.sections import Section, meaning_of

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 74rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .4rem; }
div.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .88rem; margin: .6rem 0; }
th, td { padding: .22rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #e4e4e4; }
th { border-bottom: 1px solid #888; font-weight: 600; }
.label { text-align: left; white-space: normal; overflow-wrap: anywhere; }
img { max-width: 100%; } pre { white-space: pre-wrap; font: inherit; color: #444; margin: .3rem 0; }
summary { color: #555; cursor: pointer; } li { margin: .2rem 0; } .missing { color: #777; }
"""
_DEFINITIONS: dict[str, Callable[..., pd.DataFrame]] = {
    render.DIFFERENCES: contrasts.differences,
    render.MCNEMAR: contrasts.mcnemar,
    render.MISTAKES: breakdowns.mistakes,
    render.SCORES_BY_PART: breakdowns.parts,
    render.SCORES_BY_INSTANCE: breakdowns.strata,
}
#: A label is not wrapped before this many characters.
_LEGIBLE = 28
#: A section's table longer than this is cut, and says so (the notebooks have all of it); one of the report itself is folded.
_ROWS = 60


def page(report: Report, sections: Iterable[Section]) -> str:
    """The whole page."""
    headings, rows = render.readable(report)
    same = [name for name in report.by if report.table[name].nunique(dropna=False) <= 1]
    parts = [
        f"<h1>{html.escape(render.heading(report))}</h1>",
        _table(headings, rows, labels=len(headings) - len(render.COLUMNS)),
        "<ul>" + "".join(f"<li>{html.escape(note)}</li>" for note in report.notes) + "</ul>",
        *(_titled(title, table) for title, table in render.more_tables(report).items()),
        *(_section(section, same) for section in sections),
    ]
    title = html.escape(f"shardtalk: {render.heading(report)}")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n<body>\n'
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _titled(title: str, table: render.Cells) -> str:
    """With its definition, where the title alone does not say what is in the table."""
    defined = _DEFINITIONS.get(title)
    meaning = _folded("What this is", f"<pre>{html.escape(meaning_of(defined))}</pre>") if defined else ""
    numbers = _table(*table)
    shown = _folded(f"{len(table[1])} rows", numbers) if len(table[1]) > _ROWS else numbers
    return f"<h2>{html.escape(title)}</h2>{shown}{meaning}"


def _section(section: Section, same: list[str]) -> str:
    """`same`: labels that are equal in the whole report, and stand in its heading."""
    parts = [f"<h2>{html.escape(section.title)}</h2>"]
    if section.missing:
        parts.append(f'<p class="missing">{html.escape(section.missing)}</p>')
    if section.figure is not None:
        parts.append(f'<img alt="{html.escape(section.title)}" src="{drawing.embedded(section.figure)}">')
    if section.table is not None:
        numbers = _frame(section.table.drop(columns=same, errors="ignore"))
        parts.append(_folded("Numbers", numbers) if section.figure is not None else numbers)
    parts.append(_folded("What this is", f"<pre>{html.escape(section.meaning)}</pre>"))
    return "\n".join(parts)


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{title}</summary>{content}</details>"


def _frame(table: pd.DataFrame) -> str:
    """Any frame: texts are labels, the rest numbers; columns without any text in them are left out."""
    table = table.drop(columns=[name for name in table if (table[name].astype("str") == "").all()])
    labels = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    ordered = table[[*labels, *(name for name in table if name not in labels)]].head(_ROWS)
    rows = [[_cell(value) for value in row] for row in ordered.itertuples(index=False)]
    more = f'<p class="missing">{len(table) - _ROWS} more rows are not shown.</p>' if len(table) > _ROWS else ""
    return _table(list(map(str, ordered.columns)), rows, labels=len(labels)) + more


def _cell(value: Any) -> str:
    if not isinstance(value, str) and pd.isna(value):
        return "–"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], labels: int) -> str:
    cells = [_row("th", headings, labels), *(_row("td", row, labels) for row in rows)]
    return f'<div class="wide"><table>{"".join(cells)}</table></div>'


def _row(tag: str, cells: Sequence[str], labels: int) -> str:
    kinds = [_label(cell) if at < labels else "" for at, cell in enumerate(cells)]
    shown = (f"<{tag}{kind}>{html.escape(cell)}</{tag}>" for cell, kind in zip(cells, kinds, strict=True))
    return f"<tr>{''.join(shown)}</tr>\n"


def _label(cell: str) -> str:
    """Wide tables press label columns together as far as they may: to what is still legible."""
    return f' class="label" style="min-width: {min(len(cell), _LEGIBLE)}ch"'
