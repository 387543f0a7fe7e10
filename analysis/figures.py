"""Figures: one function each, a frame of finished numbers in, a matplotlib `Figure` out. Nothing is computed here.

Scores come as 0 to 1 and are drawn as 0 to 100. Colours are Okabe and Ito's, which the colour-blind tell apart; each comes with
a marker of its own, so a print in grey can be read too. `save` writes the same bytes for the same figure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#A6A600")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
INK, FAINT = "#333333", "#DDDDDD"


def box(table: pd.DataFrame) -> Figure:
    """Per task and assistant one box a mode, from p10 to A90 (means over instances) with the mean and its interval inside.

    The paper's figure 6a. `table`: `task`, `mode`, `assistant`, `p10`, `mean`, `aptitude`, and `mean_low`, `mean_high` where
    they exist.
    """
    tasks, modes, assistants = (list(dict.fromkeys(table[name])) for name in ("task", "mode", "assistant"))
    per_panel = len(modes) * len(assistants)
    figure, axes = _panels(len(tasks), width=1.2 + 0.42 * per_panel, height=3.2)
    for axis, task in zip(axes, tasks, strict=True):
        rows = table[table["task"] == task]
        for row in rows.to_dict("records"):
            m, a = modes.index(row["mode"]), assistants.index(row["assistant"])
            _box(axis, a * (len(modes) + 1) + m, row, m)
        _name_groups(axis, modes, assistants)
        axis.set_title(task, loc="left", fontsize=10, pad=16)
        axis.set_ylim(-3, 103)
    axes[0].set_ylabel("score (p10, mean, A90)")
    return figure


def save(figure: Figure, path: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Writes `path` with each suffix; the same figure gives the same bytes. Returns the paths."""
    paths = [path.with_suffix(f".{name}") for name in formats]
    with matplotlib.rc_context({"svg.hashsalt": path.name}):
        for made in paths:
            metadata = {"Date": None} if made.suffix == ".svg" else {"Software": None}
            figure.savefig(made, dpi=160, metadata=metadata)
    return paths


# -- parts -----------------------------------------------------------------------------------------------------------------


def _panels(n: int, width: float, height: float, across: int = 4) -> tuple[Figure, list[Axes]]:
    """A figure of `n` panels that share their y axis, each `width` × `height` inches, at most `across` in a row."""
    columns = max(1, min(n, across, int(14 / width) or 1))
    rows = math.ceil(n / columns)
    figure = Figure(figsize=(max(3.2, width * columns), height * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    for axis in grid[n:]:
        axis.set_visible(False)
    for axis in grid[:n]:
        _plain(axis)
    return figure, list(grid[:n])


def _plain(axis: Axes) -> None:
    """Little ink: no frame on top and right, faint lines behind."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", color=FAINT, linewidth=0.6)
    axis.set_axisbelow(True)
    axis.tick_params(labelsize=8, length=3)


def _box(axis: Axes, x: float, row: dict[str, float], colour: int) -> None:
    shade, marker = COLOURS[colour % len(COLOURS)], MARKERS[colour % len(MARKERS)]
    low, mean, high = (100 * row[name] for name in ("p10", "mean", "aptitude"))
    axis.bar(x, high - low, bottom=low, width=0.62, color=shade, alpha=0.28, edgecolor=shade, linewidth=1.0)
    limits = [100 * row.get(name, np.nan) for name in ("mean_low", "mean_high")]
    if np.isfinite(limits).all():
        axis.plot([x, x], limits, color=INK, linewidth=1.2)
    axis.plot(x, mean, marker=marker, color=shade, markeredgecolor=INK, markersize=6)


def _name_groups(axis: Axes, modes: list[str], assistants: list[str]) -> None:
    """Modes under their boxes, the assistant under its group of boxes."""
    places = [a * (len(modes) + 1) + m for a in range(len(assistants)) for m in range(len(modes))]
    axis.set_xticks(places, modes * len(assistants), rotation=45, ha="right", rotation_mode="anchor")
    for a, assistant in enumerate(assistants):
        middle = a * (len(modes) + 1) + (len(modes) - 1) / 2
        axis.text(
            middle,
            1.01,
            assistant,
            transform=axis.get_xaxis_transform(),
            ha="center",
            va="bottom",
            fontsize=8,
            color=INK,
        )
