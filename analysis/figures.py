"""Figures: one function each, a frame of finished numbers in, a matplotlib `Figure` out. Nothing is computed here.

Scores and shares come as 0 to 1 and are drawn as 0 to 100. What is drawn first in the frame comes first in the figure, and has
the same colour in every figure as long as the order is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from analysis.drawing import COLOURS, INK, SMALL, legend, panels, plain, style, title
from tasks.nouns import TURN_CLASSES


def box(table: pd.DataFrame) -> Figure:
    """Per task and assistant one box a mode, from p10 to A90 (means over instances) with the mean and its limits inside.

    The paper's figure 6a. `table`: `task`, `mode`, `assistant`, `p10`, `mean`, `aptitude`, and `mean_low`, `mean_high` where
    they exist.
    """
    tasks, modes, assistants = (_values(table, name) for name in ("task", "mode", "assistant"))
    figure, axes = panels(len(tasks), width=1.3 + 0.45 * len(modes) * len(assistants), height=3.3)
    for axis, (task, rows) in zip(axes, _parts(table, "task"), strict=True):
        for row in rows.to_dict("records"):
            m, a = modes.index(row["mode"]), assistants.index(row["assistant"])
            _box(axis, a * (len(modes) + 1) + m, row, m)
        _name_groups(axis, modes, assistants)
        title(axis, task, pad=18)
        axis.set_ylim(-3, 103)
    axes[0].set_ylabel("score: p10, mean, A90")
    return figure


def scatter(table: pd.DataFrame) -> Figure:
    """Aptitude against unreliability: one path an assistant through its modes; far right and low is good.

    `table`: `task`, `mode`, `assistant`, `aptitude`, `unreliability`.
    """
    modes = _values(table, "mode")
    figure, axes = panels(len(_values(table, "task")), width=3.6, height=3.6, share="xy")
    for axis, (task, rows) in zip(axes, _parts(table, "task"), strict=True):
        for assistant, path in _parts(rows, "assistant"):
            x, y = 100 * path["aptitude"], 100 * path["unreliability"]
            axis.plot(x, y, color="#BBBBBB", linewidth=1, zorder=1)
            axis.annotate(
                assistant, (x.iloc[-1], y.iloc[-1]), (5, 4), textcoords="offset points", fontsize=6.5, color=INK
            )
            for row, at_x, at_y in zip(path.to_dict("records"), x, y, strict=True):
                m = modes.index(row["mode"])
                axis.plot(at_x, at_y, **style(m), markeredgecolor=INK, markersize=6, linestyle="")
        for m, mode in enumerate(modes):
            axis.plot([], [], **style(m), markeredgecolor=INK, linestyle="", label=mode)
        axis.set(xlim=(-3, 103), ylim=(-3, 103), xlabel="aptitude A90")
        title(axis, task)
        plain(axis, grid="both")
    axes[0].set_ylabel("unreliability U90_10")
    legend(figure, axes[0], columns=5)
    return figure


def gradual(table: pd.DataFrame) -> Figure:
    """The same instructions in ever more pieces: p10 to A90 as a band, the mean as a line (paper, figure 6c).

    `table`: `assistant`, `pieces`, `p10`, `mean`, `aptitude`.
    """
    figure, axes = panels(len(_values(table, "assistant")), width=3.4, height=3.0)
    for axis, (assistant, rows) in zip(axes, _parts(table, "assistant"), strict=True):
        rows = rows.sort_values("pieces")
        x = rows["pieces"].astype(float)
        axis.fill_between(x, 100 * rows["p10"], 100 * rows["aptitude"], color=COLOURS[0], alpha=0.2, linewidth=0)
        for name, label, dash in (("aptitude", "A90", "--"), ("mean", "mean", "-"), ("p10", "p10", ":")):
            marker = "o" if name == "mean" else ""
            axis.plot(x, 100 * rows[name], color=COLOURS[0], linestyle=dash, marker=marker, markersize=5, label=label)
        axis.set(ylim=(-3, 103), xlabel="pieces the instruction comes in", xticks=x)
        title(axis, assistant)
    axes[0].set_ylabel("score")
    legend(figure, axes[0])
    return figure


def classes(table: pd.DataFrame) -> Figure:
    """What kinds of replies are given at which turn, as areas. `table`: `failure_modes.class_rates`.

    The line says how many replies a turn still has, on the scale of the first: a late turn's areas may rest on few.
    """
    figure, axes = _grid(table, ["task", "mode", "assistant"], width=3.4, height=2.8)
    for axis, rows in axes:
        x = rows["turn"].astype(float).to_numpy()
        shares = [100 * rows[name].to_numpy(float) for name in TURN_CLASSES]
        if len(x) > 1:
            axis.stackplot(x, shares, colors=_CLASS_COLOURS, labels=TURN_CLASSES, linewidth=0.3, edgecolor="white")
            axis.set_xlim(x.min(), x.max())
        else:
            bottoms = np.cumsum([np.zeros(1), *shares[:-1]], axis=0)
            for share, bottom, colour, name in zip(shares, bottoms, _CLASS_COLOURS, TURN_CLASSES, strict=True):
                axis.bar(x, share, bottom=bottom, color=colour, width=0.5, label=name)
        axis.plot(
            x, 100 * rows["replies"] / rows["replies"].iloc[0], color="black", linewidth=1.4, label="replies left"
        )
        axis.set(ylim=(0, 100), xlabel="turn", xticks=_ticks(x))
    axes[0][0].set_ylabel("% of replies")
    legend(figure, axes[0][0])
    return figure


def attempts(table: pd.DataFrame) -> Figure:
    """Score by when the first attempt was made, on both clocks. `table`: `failure_modes.premature_attempts`."""
    clocks = {"turns": "fifth of the conversation's turns", "shards": "fifth of the shards revealed"}
    figure, axes = panels(len(clocks), width=3.6, height=3.2)
    placed = table[table["fifth"] > 0]
    for axis, (clock, label) in zip(axes, clocks.items(), strict=True):
        _lines(axis, placed[placed["clock"] == clock], "fifth", "score", 100)
        axis.set(xlabel=label, ylim=(-3, 103), xticks=range(1, 6), xticklabels=["first", "2nd", "3rd", "4th", "last"])
        title(axis, f"first attempt, by {clock}")
    axes[0].set_ylabel("mean score at the end")
    legend(figure, axes[0], columns=2)
    return figure


def bloat(table: pd.DataFrame) -> Figure:
    """Length of answers by attempt; modes with a single attempt are dashed lines. `table`: `failure_modes.answer_bloat`."""
    figure, axes = _grid(table, ["task", "assistant"], width=3.4, height=3.0)
    modes = _values(table, "mode")
    for axis, rows in axes:
        for mode, line in _parts(rows, "mode"):
            m = modes.index(mode)
            if len(line) == 1:
                axis.axhline(
                    line["chars"].item(),
                    color=style(m)["color"],
                    linestyle="--",
                    linewidth=1,
                    label=f"{mode} (one attempt)",
                )
            else:
                axis.plot(
                    line["attempt"].astype(float), line["chars"], **style(m), markersize=4, linewidth=1.2, label=mode
                )
        axis.set(xlabel="attempt", xticks=_ticks(rows["attempt"].to_numpy(float)))
        axis.set_ylim(bottom=0)
    axes[0][0].set_ylabel("characters of the answer")
    legend(figure, axes[0][0])
    return figure


def verbosity(table: pd.DataFrame) -> Figure:
    """Score by length of replies, from the shortest fifth of an instance's runs to the longest. `table`: its namesake."""
    figure, axes = panels(1, width=4.2, height=3.2)
    _lines(axes[0], table, "quintile", "score", 100)
    axes[0].set(
        xlabel="length of replies among an instance's runs", ylabel="mean score", ylim=(-3, 103), xticks=range(1, 6),
        xticklabels=["shortest", "short", "median", "long", "longest"],
    )  # fmt: skip
    legend(figure, axes[0], columns=2)
    return figure


def middle(table: pd.DataFrame) -> Figure:
    """Where the citations of a turn's summary come from, in per cent of them. `table`: `failure_modes.middle_turns`."""
    figure, axes = _grid(table, ["task", "mode", "assistant"], width=3.6, height=3.2, share="")
    for axis, rows in axes:
        last = int(rows["turn"].max())
        shares = np.full((last, last), np.nan)
        shares[rows["turn"].to_numpy(int) - 1, rows["introduced"].to_numpy(int) - 1] = 100 * rows["share"].to_numpy(
            float
        )
        axis.imshow(shares, cmap=_SHADES, vmin=0, vmax=100, aspect="auto")
        for turn, introduced in np.argwhere(np.isfinite(shares)):
            share = shares[turn, introduced]
            axis.text(
                introduced,
                turn,
                f"{share:.0f}",
                ha="center",
                va="center",
                fontsize=7,
                color="white" if share > 60 else INK,
            )
        axis.grid(visible=False)
        numbers = range(1, last + 1)
        axis.set(xticks=range(last), yticks=range(last), xticklabels=numbers, yticklabels=numbers)
        axis.set(xlabel="turn that showed the document", ylabel="turn of the summary")
    return figure


def cost(table: pd.DataFrame) -> Figure:
    """What a conversation costs against what it scores. `table`: `task`, `mode`, `assistant`, `mean`, its limits, and
    `cost_each` (US dollars a conversation); unpriced rows are left out.
    """
    priced = table[table["cost_each"].notna()]
    modes = _values(priced, "mode")
    figure, axes = panels(max(1, len(_values(priced, "task"))), width=3.6, height=3.2)
    for axis, (task, rows) in zip(axes, _parts(priced, "task"), strict=False):
        for row in rows.to_dict("records"):
            m = modes.index(row["mode"])
            _whisker(axis, row["cost_each"], row)
            axis.plot(row["cost_each"], 100 * row["mean"], **style(m), markeredgecolor=INK, markersize=6, linestyle="")
            if rows["assistant"].nunique() > 1:
                at = (row["cost_each"], 100 * row["mean"])
                axis.annotate(row["assistant"], at, (5, -8), textcoords="offset points", fontsize=6.5, color=INK)
        for m, mode in enumerate(modes):
            axis.plot([], [], **style(m), markeredgecolor=INK, linestyle="", label=mode)
        axis.set(ylim=(-3, 103), xlabel="US dollars a conversation")
        axis.set_xlim(left=0)
        axis.ticklabel_format(axis="x", style="plain", useOffset=False)
        axis.margins(x=0.12)
        title(axis, task)
    axes[0].set_ylabel("mean score")
    legend(figure, axes[0], columns=5)
    return figure


def differences(table: pd.DataFrame) -> Figure:
    """Paired differences with their limits, one line each; right of zero the first arm is better.

    `table`: `comparisons.paired`.
    """
    shown = table[table["difference"].notna()]
    figure, axes = panels(1, width=6.4, height=0.9 + 0.32 * max(2, len(shown)))
    axis = axes[0]
    names = [name for name in shown.columns[: list(shown.columns).index("a")] if shown[name].nunique(dropna=False) > 1]
    for y, row in enumerate(shown.to_dict("records")):
        if np.isfinite([row["low"], row["high"]]).all():
            axis.plot([100 * row["low"], 100 * row["high"]], [y, y], color=COLOURS[0], linewidth=1.6)
        axis.plot(100 * row["difference"], y, marker="o", color=COLOURS[0], markersize=6)
    axis.axvline(0, color=INK, linewidth=0.8)
    axis.set_yticks(range(len(shown)), [_arm(row, names) for row in shown.to_dict("records")])
    axis.set_ylim(len(shown) - 0.5, -0.5)
    axis.set_xlabel("difference of " + "/".join(_values(shown, "measure")) + ", points (95 % limits)")
    plain(axis, grid="x")
    return figure


def power(table: pd.DataFrame) -> Figure:
    """Power by instances, one line a number of runs. `table`: `planning.power`."""
    figure, axes = panels(1, width=4.4, height=3.2)
    axis = axes[0]
    for at, (runs, rows) in enumerate(_parts(table, "runs")):
        axis.plot(
            rows["instances"],
            rows["power"],
            **style(at),
            markersize=4,
            linewidth=1.2,
            label=f"{runs} run{'s' * (runs > 1)}",
        )
    axis.axhline(0.8, color=INK, linewidth=0.8, linestyle=":")
    axis.set(xlabel="instances", ylabel="power", ylim=(0, 1.03))
    axis.set_xscale("log")
    axis.set_xticks(_values(table, "instances"), map(str, _values(table, "instances")))
    axis.minorticks_off()
    legend(figure, axis, columns=5)
    return figure


# -- parts -----------------------------------------------------------------------------------------------------------------

#: The seven classes in the order of `TURN_CLASSES`: attempts strong, talk about the task in blue and green, the rest pale.
_CLASS_COLOURS = ("#D55E00", "#0072B2", "#56B4E9", "#009E73", "#F0E442", "#999999", "#DDDDDD")
_SHADES = LinearSegmentedColormap.from_list("shades", ["#FFFFFF", COLOURS[0]])


def _values(table: pd.DataFrame, name: str) -> list[Any]:
    return list(dict.fromkeys(table[name]))


def _parts(table: pd.DataFrame, name: str) -> Iterator[tuple[Any, pd.DataFrame]]:
    yield from table.groupby(name, sort=False, dropna=False, observed=True)


def _grid(
    table: pd.DataFrame, by: list[str], width: float, height: float, share: str = "y"
) -> tuple[Figure, list[tuple[Axes, pd.DataFrame]]]:
    """One panel for each combination of `by`, named by what differs."""
    differing = [name for name in by if table[name].nunique(dropna=False) > 1] or by[:1]
    groups = list(table.groupby(by, sort=False, dropna=False, observed=True))
    figure, axes = panels(len(groups), width, height, share=share)
    for axis, (_, rows) in zip(axes, groups, strict=True):
        title(axis, " · ".join(str(rows[name].iloc[0]) for name in differing))
    return figure, [(axis, rows) for axis, (_, rows) in zip(axes, groups, strict=True)]


def _lines(axis: Axes, table: pd.DataFrame, x: str, y: str, scale: float) -> None:
    """One line for each combination of task, mode and assistant, named by what differs."""
    names = ["task", "mode", "assistant"]
    differing = [name for name in names if table[name].nunique() > 1] or ["mode"]
    for at, (_, rows) in enumerate(table.groupby(names, sort=False, dropna=False, observed=True)):
        label = " · ".join(str(rows[name].iloc[0]) for name in differing)
        axis.plot(rows[x].astype(float), scale * rows[y], **style(at), markersize=5, linewidth=1.3, label=label)


def _box(axis: Axes, x: float, row: dict[Any, Any], colour: int) -> None:
    look = style(colour)
    low, mean, high = (100 * row[name] for name in ("p10", "mean", "aptitude"))
    shade = look["color"]
    axis.bar(x, high - low, bottom=low, width=0.62, color=shade, alpha=0.28, edgecolor=shade, linewidth=1.0)
    _whisker(axis, x, row)
    axis.plot(x, mean, **look, markeredgecolor=INK, markersize=6)


def _whisker(axis: Axes, x: float, row: dict[Any, Any]) -> None:
    limits = [100 * row.get(name, np.nan) for name in ("mean_low", "mean_high")]
    if np.isfinite(limits).all():
        axis.plot([x, x], limits, color=INK, linewidth=1.2)


def _name_groups(axis: Axes, modes: list[str], assistants: list[str]) -> None:
    """Modes under their boxes, the assistant above its group of boxes."""
    places = [a * (len(modes) + 1) + m for a in range(len(assistants)) for m in range(len(modes))]
    axis.set_xticks(places, modes * len(assistants), rotation=45, ha="right", rotation_mode="anchor")
    for a, assistant in enumerate(assistants):
        middle = a * (len(modes) + 1) + (len(modes) - 1) / 2
        above = axis.get_xaxis_transform()
        axis.text(middle, 1.01, assistant, transform=above, ha="center", va="bottom", fontsize=SMALL, color=INK)


def _arm(row: dict[Any, Any], names: list[str]) -> str:
    where = " · ".join(str(row[name]) for name in names)
    return f"{row['a']} − {row['b']}" + (f" · {where}" if where else "")


def _ticks(x: np.ndarray[Any, Any]) -> list[int]:
    """Whole numbers, at most about ten of them."""
    low, high = int(x.min()), int(x.max())
    return list(range(low, high + 1, max(1, (high - low) // 9)))
