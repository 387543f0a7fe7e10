"""How our figures look: colours, panels, axes, and files whose bytes depend on nothing but the figure.

Colours are Okabe and Ito's, which the colour-blind tell apart; each comes with a marker of its own, so a print in grey can be
read too.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

T = TypeVar("T")

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#A6A600")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
INK, FAINT = "#333333", "#DDDDDD"
SMALL = 8
#: Characters of a name in a figure; panels of a figure; lines of a panel; boxes of a panel.
LONGEST, MOST_PANELS, MOST_LINES, MOST_BOXES = 32, 24, 12, 25


def named(table: pd.DataFrame) -> pd.DataFrame:
    """The table with texts as a figure can hold them: long ones without their middle, and no `$`, which would be mathematics.

    Names that would become equal stay long.
    """
    texts = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    return table.assign(**{str(name): table[name].map(_shortened(table[name])) for name in texts})


def _shortened(names: pd.Series) -> dict[Any, str]:
    """Every name, and how it is shown."""
    whole = [name for name in dict.fromkeys(names) if isinstance(name, str)]
    short = [name if len(name) <= LONGEST else f"{name[: LONGEST // 2]}…{name[-LONGEST // 2 + 1 :]}" for name in whole]
    shown = short if len(set(short)) == len(whole) else whole
    return {name: text.replace("$", r"\$") for name, text in zip(whole, shown, strict=True)}


def style(at: int) -> dict[str, Any]:
    """Colour and marker of the `at`-th thing shown."""
    return {"color": COLOURS[at % len(COLOURS)], "marker": MARKERS[at % len(MARKERS)]}


class Picture(Figure):
    """A figure that a notebook shows by itself, in its own size and without pyplot."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        width, height = self.get_size_inches()
        return rendered(self, "png"), {"width": round(96 * width), "height": round(96 * height)}


def panels(n: int, width: float, height: float, *, across: int = 4, share: str = "y") -> tuple[Figure, list[Axes]]:
    """A figure of `n` panels, each `width` × `height` inches, at most `across` in a row; `share`: `x`, `y`, `xy` or nothing."""
    rows = max(1, math.ceil(n / max(1, min(across, int(14 / width)))))
    columns = max(1, math.ceil(n / rows))
    figure = Picture(figsize=(max(3.2, width * columns), height * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharex="x" in share, sharey="y" in share, squeeze=False).ravel()
    for at, axis in enumerate(grid):
        axis.set_visible(at < n)
        plain(axis)
    return figure, list(grid[:n])


def plain(axis: Axes, grid: str = "y") -> None:
    """Little ink: no frame on top and right, faint lines behind."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis=grid, color=FAINT, linewidth=0.6)  # type: ignore[arg-type]
    axis.set_axisbelow(True)
    axis.tick_params(labelsize=SMALL, length=3)
    for label in (axis.xaxis.label, axis.yaxis.label):
        label.set_fontsize(9)


def title(axis: Axes, text: str, pad: float = 6) -> None:
    axis.set_title(text, loc="left", fontsize=9.5, pad=pad)


def legend(figure: Figure, axis: Axes, columns: int = 4) -> None:
    """One legend for the whole figure, below it, in as many columns as fit; none where there is nothing to tell apart."""
    handles, labels = axis.get_legend_handles_labels()
    if len(labels) > 1:
        fitting = int(figure.get_figwidth() / (0.5 + 0.075 * max(map(len, labels))))
        across = max(1, min(columns, fitting, len(labels)))
        look: dict[str, Any] = {"fontsize": SMALL, "frameon": False, "columnspacing": 1.2, "handlelength": 1.6}
        figure.set_figheight(figure.get_figheight() + 0.17 * max(0, math.ceil(len(labels) / across) - 2))
        figure.legend(handles, labels, loc="outside lower center", ncols=across, **look)


def first(groups: Sequence[T], most: int, figure: Figure | None = None) -> list[T]:
    """The first so many; a figure says that there are more, and its frame has them all."""
    if figure is not None and len(groups) > most:
        figure.suptitle(f"the first {most} of {len(groups)}", fontsize=SMALL, color=INK)
    return list(groups[:most])


def save(figure: Figure, path: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Writes `path` with each suffix; the same figure gives the same bytes. Returns the paths."""
    paths = [path.with_name(f"{path.name}.{name}") for name in formats]
    for made in paths:
        made.write_bytes(rendered(figure, made.suffix[1:]))
    return paths


def rendered(figure: Figure, form: str) -> bytes:
    """The figure as a PNG or SVG file."""
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "shardtalk"}):
        figure.savefig(buffer, format=form, dpi=160, metadata={"svg": {"Date": None}}.get(form, {"Software": None}))
    return buffer.getvalue()


def embedded(figure: Figure) -> str:
    """The figure as a data URL: text in it stays a picture and cannot become markup of the page."""
    return "data:image/svg+xml;base64," + base64.b64encode(rendered(figure, "svg")).decode()
