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
from matplotlib.patheffects import withStroke

from analysis.drawing import (
    COLOURS,
    INK,
    MOST_BOXES,
    MOST_LINES,
    MOST_PANELS,
    first,
    legend,
    named,
    panels,
    plain,
    style,
    title,
)
from tasks.nouns import TURN_CLASSES

#: Conversations of a timeline.
MOST_TALKS = 40
#: Points that rest on fewer conversations than this are drawn hollow, or not at all.
FEW = 10


def box(table: pd.DataFrame) -> Figure:
    """Per task and assistant one box a mode, from p10 to A90 (means over instances) with the mean and its limits inside.

    The paper's figure 6a. `table`: `task`, `mode`, `assistant`, `p10`, `mean`, `aptitude`, and `mean_low`, `mean_high` where
    they exist. One assistant: modes are named below their boxes; several: below each group its assistant, modes in a legend.
    """
    table = named(table)
    modes, several = _values(table, "mode"), table["assistant"].nunique() > 1
    parts = list(_box_panels(table, max(1, MOST_BOXES // len(modes))))
    widest = max(len(rows) + 0.8 * rows["assistant"].nunique() for _, rows in parts)
    figure, axes = panels(len(parts), width=1.2 + 0.36 * widest, height=3.4)
    for axis, (task, rows) in zip(axes, parts, strict=True):
        at, ticks = 0.0, []
        for assistant, group in _parts(rows, "assistant"):
            places = [at + k for k in range(len(group))]
            for x, row in zip(places, group.to_dict("records"), strict=True):
                _box(axis, x, row, modes.index(row["mode"]))
            ticks += (
                [(sum(places) / len(places), assistant)] if several else list(zip(places, group["mode"], strict=True))
            )
            at = places[-1] + 1.8
        axis.set_xticks(
            [x for x, _ in ticks], [name for _, name in ticks], rotation=35, ha="right", rotation_mode="anchor"
        )
        title(axis, task if several else f"{task} · {rows['assistant'].iloc[0]}")
        axis.set(xlim=(-0.8, widest - 1.0), ylim=(-3, 103))
    axes[0].set_ylabel("score: p10, mean, A90")
    if several:
        _mode_legend(figure, axes[0], modes)
    return figure


def scatter(table: pd.DataFrame) -> Figure:
    """Aptitude against unreliability; far right and low is good. Grey lines join an assistant's first mode with its others.

    `table`: `task`, `mode`, `assistant`, `aptitude`, `unreliability`.
    """
    table = named(table)
    modes = _values(table, "mode")
    figure, axes = panels(len(_values(table, "task")), width=3.6, height=3.6, share="xy")
    for axis, (task, rows) in zip(axes, _parts(table, "task"), strict=True):
        for assistant, group in _parts(rows, "assistant"):
            points = list(zip(100 * group["aptitude"], 100 * group["unreliability"], group["mode"], strict=True))
            _star(axis, points, modes, str(assistant), 100)
        axis.set(xlim=(-3, 103), ylim=(-3, 103), xlabel="aptitude A90")
        title(axis, task)
        plain(axis, grid="both")
    axes[0].set_ylabel("unreliability U90_10")
    _mode_legend(figure, axes[0], modes)
    return figure


def gradual(table: pd.DataFrame) -> Figure:
    """The same instructions in ever more pieces: p10 to A90 as a band, the mean as a line (paper, figure 6c).

    `table`: `task`, `assistant`, `pieces`, `p10`, `mean`, `aptitude`.
    """
    table = named(table)
    figure, axes = _grid(table, ["task", "assistant"], width=3.4, height=3.0)
    for axis, rows in axes:
        rows = rows.sort_values("pieces")
        x = rows["pieces"].astype(float)
        axis.fill_between(x, 100 * rows["p10"], 100 * rows["aptitude"], color=COLOURS[0], alpha=0.2, linewidth=0)
        for name, label, dash in (("aptitude", "A90", "--"), ("mean", "mean", "-"), ("p10", "p10", ":")):
            marker = "o" if name == "mean" else ""
            axis.plot(x, 100 * rows[name], color=COLOURS[0], linestyle=dash, marker=marker, markersize=5, label=label)
        axis.set(ylim=(-3, 103), xlabel="pieces the instruction comes in", xticks=x)
    axes[0][0].set_ylabel("score")
    legend(figure, axes[0][0])
    return figure


def timeline(turns: pd.DataFrame) -> Figure:
    """Conversations as one reads them: a line each, a box a turn in the colour of its class; ✓ a right answer, ✗ a wrong one.

    `turns`: `frames.turns` of as few conversations as one can look at; the first `MOST_TALKS` are drawn.
    """
    turns = named(turns)
    names = [name for name in ("task", "instance", "mode", "assistant", "repeat") if turns[name].nunique() > 1]
    every = [rows for _, rows in turns.groupby("key", sort=False, observed=True)]
    height = 1.1 + 0.28 * min(len(every), MOST_TALKS)
    figure, axes = panels(1, width=1.6 + 0.55 * max(7, int(turns["turn"].max())), height=height)
    axis, talks = axes[0], first(every, MOST_TALKS, figure)
    title(axis, " · ".join(str(turns[name].iloc[0]) for name in ("task", "assistant") if name not in names))
    for y, rows in enumerate(talks):
        colours = [_CLASS_COLOURS[TURN_CLASSES.index(label)] for label in rows["label"].fillna("missing")]
        axis.barh(y, 0.94, left=rows["turn"].astype(float) - 0.47, height=0.8, color=colours)
        for row in rows[rows["correct"].notna()].to_dict("records"):
            axis.text(row["turn"], y, "✓" if row["correct"] else "✗", ha="center", va="center", color="black")
    for colour, label in zip(_CLASS_COLOURS, TURN_CLASSES, strict=True):
        if label in set(turns["label"]):
            axis.barh(0, 0, color=colour, label=label)
    axis.set_yticks(range(len(talks)), [" · ".join(str(rows[name].iloc[0]) for name in names) for rows in talks])
    numbers = turns["turn"].to_numpy(float)
    axis.set(ylim=(len(talks) - 0.5, -0.5), xlim=(0.4, numbers.max() + 0.6), xticks=_ticks(numbers))
    axis.set_xlabel("turn (✓ right answer, ✗ wrong answer)")
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False)
    legend(figure, axis)
    return figure


def classes(table: pd.DataFrame) -> Figure:
    """What kinds of replies are given at which turn, as areas. `table`: `failure_modes.class_rates`.

    The black line says how many replies a turn still has, on the scale of the first. Turns with fewer than `FEW` replies are
    not drawn, as long as there are others.
    """
    table = named(table)
    figure, axes = _grid(table, ["task", "mode", "assistant"], width=3.4, height=2.8)
    for axis, rows in axes:
        rows = _enough(rows, "replies")
        x = rows["turn"].astype(float).to_numpy()
        if len(x) == 1:  # an area needs two turns
            x, rows = np.array([x[0] - 0.4, x[0] + 0.4]), pd.concat([rows, rows])
        shares = [100 * rows[name].to_numpy(float) for name in TURN_CLASSES]
        axis.stackplot(x, shares, colors=_CLASS_COLOURS, labels=TURN_CLASSES, linewidth=0.4, edgecolor="white")
        axis.plot(
            x, 100 * rows["replies"] / rows["replies"].iloc[0], color="black", linewidth=1.2, label="replies left"
        )
        axis.set(xlim=(x.min(), x.max()), ylim=(0, 100), xlabel="turn", xticks=_ticks(rows["turn"].to_numpy(float)))
    axes[0][0].set_ylabel("% of replies")
    legend(figure, axes[0][0])
    return figure


def attempts(table: pd.DataFrame) -> Figure:
    """Score by when the first attempt was made, on both clocks. `table`: `failure_modes.premature_attempts`."""
    table = named(table)
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
    """Length of answers by attempt; modes with a single attempt are dashed lines. `table`: `failure_modes.answer_bloat`.

    Attempts that fewer than `FEW` conversations made are not drawn, as long as there are others.
    """
    table = named(table)
    figure, axes = _grid(table, ["task", "assistant"], width=3.4, height=3.0, share="")
    modes = _values(table, "mode")
    for axis, rows in axes:
        lines = [(mode, _enough(line, "attempts")) for mode, line in _parts(rows, "mode")]
        for mode, line in lines:
            look = style(modes.index(mode))
            if len(line) == 1:
                label = f"{mode} (one attempt)"
                axis.axhline(line["chars"].item(), color=look["color"], linestyle="--", linewidth=1, label=label)
            else:
                axis.plot(line["attempt"].astype(float), line["chars"], **look, markersize=4, linewidth=1.2, label=mode)
        drawn = np.concatenate([line["attempt"].to_numpy(float) for _, line in lines])
        axis.set(xlabel="attempt", ylim=(0, None), xticks=_ticks(drawn))
    axes[0][0].set_ylabel("characters of the answer")
    legend(figure, axes[0][0])
    return figure


def verbosity(table: pd.DataFrame) -> Figure:
    """Score by length of replies, from the shortest fifth of an instance's runs to the longest. `table`: its namesake."""
    table = named(table)
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
    table = named(table)
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
    `cost_each` (US dollars a conversation); unpriced rows are left out. Grey lines as in `scatter`.
    """
    table = named(table)
    priced = table[table["cost_each"].notna()]
    modes = _values(priced, "mode")
    figure, axes = panels(max(1, len(_values(priced, "task"))), width=3.6, height=3.2)
    for axis, (task, rows) in zip(axes, _parts(priced, "task"), strict=False):
        most = max(rows["cost_each"].max(), 1e-9)
        for assistant, group in _parts(rows, "assistant"):
            for row in group.to_dict("records"):
                _whisker(axis, row["cost_each"], row)
            points = list(zip(group["cost_each"], 100 * group["mean"], group["mode"], strict=True))
            _star(axis, points, modes, str(assistant), most)
        axis.set(xlim=(0, 1.12 * most), ylim=(-3, 103), xlabel="US dollars a conversation")
        axis.locator_params(axis="x", nbins=4)
        title(axis, task)
    axes[0].set_ylabel("mean score")
    _mode_legend(figure, axes[0], modes)
    return figure


def differences(table: pd.DataFrame) -> Figure:
    """Paired differences with their limits, one line each; right of zero the first arm is better.

    `table`: `comparisons.paired`.
    """
    table = named(table)
    shown = table[table["difference"].notna()]
    figure, axes = panels(1, width=6.4, height=0.9 + 0.32 * max(2, len(shown)))
    axis = axes[0]
    labels = list(shown.columns[: list(shown.columns).index("a")])
    names = [name for name in (*labels, "measure") if shown[name].nunique(dropna=False) > 1]
    title(axis, " · ".join(str(shown[name].iloc[0]) for name in labels if shown[name].nunique(dropna=False) == 1))
    for y, row in enumerate(shown.to_dict("records")):
        if np.isfinite([row["low"], row["high"]]).all():
            axis.plot([100 * row["low"], 100 * row["high"]], [y, y], color=COLOURS[0], linewidth=1.6)
        axis.plot(100 * row["difference"], y, marker="o", color=COLOURS[0], markersize=6)
    axis.axvline(0, color=INK, linewidth=0.8)
    axis.set_yticks(range(len(shown)), [_arm(row, names) for row in shown.to_dict("records")])
    axis.set_ylim(len(shown) - 0.5, -0.5)
    what = "difference" if "measure" in names else "difference of " + "".join(_values(shown, "measure"))
    axis.set_xlabel(f"{what}, points (95 % limits)", loc="right")  # names may leave little room below the axis
    plain(axis, grid="x")
    return figure


def power(table: pd.DataFrame) -> Figure:
    """Power by instances, one line a number of runs. `table`: `planning.power`."""
    figure, axes = panels(1, width=5.2, height=3.2)
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

#: The seven classes in the order of `TURN_CLASSES`: light tints of our colours, since areas take much ink.
_CLASS_COLOURS = ("#E9A06A", "#3F8FC4", "#9CCFEE", "#5DBB97", "#F3EA8A", "#AAAAAA", "#DDDDDD")
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
    every = list(table.groupby(by, sort=False, dropna=False, observed=True))
    figure, axes = panels(min(len(every), MOST_PANELS), width, height, share=share)
    groups = first(every, MOST_PANELS, figure)
    for axis, (_, rows) in zip(axes, groups, strict=True):
        title(axis, " · ".join(str(rows[name].iloc[0]) for name in differing))
    return figure, [(axis, rows) for axis, (_, rows) in zip(axes, groups, strict=True)]


def _lines(axis: Axes, table: pd.DataFrame, x: str, y: str, scale: float) -> None:
    """One line for each combination of task, mode and assistant, named by what differs; hollow where it rests on few."""
    names = ["task", "mode", "assistant"]
    differing = [name for name in names if table[name].nunique() > 1] or ["mode"]
    every = list(table.groupby(names, sort=False, dropna=False, observed=True))
    for at, (_, rows) in enumerate(first(every, MOST_LINES, axis.figure if isinstance(axis.figure, Figure) else None)):
        look, label = style(at), " · ".join(str(rows[name].iloc[0]) for name in differing)
        axis.plot(rows[x].astype(float), scale * rows[y], **look, markersize=5, linewidth=1.3, label=label)
        few = rows[rows["conversations"] < FEW]
        axis.plot(few[x].astype(float), scale * few[y], **look, markersize=5, markerfacecolor="white", linestyle="")
    if (table["conversations"] < FEW).any():
        axis.text(
            1,
            1,
            f"hollow: fewer than {FEW}",
            transform=axis.transAxes,
            fontsize=6.5,
            color=INK,
            ha="right",
            va="bottom",
        )


def _enough(rows: pd.DataFrame, counts: str) -> pd.DataFrame:
    """The rows that rest on enough; all of them where none does."""
    kept = rows[rows[counts] >= FEW]
    return rows if kept.empty else kept


def _mode_legend(figure: Figure, axis: Axes, modes: list[str]) -> None:
    for at, mode in enumerate(modes):
        axis.plot([], [], **style(at), markeredgecolor=INK, linestyle="", label=mode)
    legend(figure, axis, columns=5)


def _star(axis: Axes, points: list[tuple[float, float, str]], modes: list[str], name: str, most: float) -> None:
    """An assistant's modes as points, joined with the first of them, which carries the assistant's name.

    `most`: the right end of the axis, which the name should not leave.
    """
    x0, y0, _ = points[0]
    for x, y, mode in points:
        axis.plot([x0, x], [y0, y], color="#CCCCCC", linewidth=0.9, zorder=1)
        axis.plot(x, y, **style(modes.index(mode)), markeredgecolor=INK, markersize=6, linestyle="")
    halo = [withStroke(linewidth=2, foreground="white")]
    side = "right" if x0 > 0.75 * most else "center"
    look: dict[str, Any] = {"fontsize": 6.5, "color": INK, "path_effects": halo}
    axis.annotate(
        name, (x0, y0), (4 if side == "right" else 0, -6), textcoords="offset points", ha=side, va="top", **look
    )


def _box_panels(table: pd.DataFrame, assistants: int) -> Iterator[tuple[Any, pd.DataFrame]]:
    """Each task with at most so many assistants; more go on in a panel of their own."""
    for task, rows in _parts(table, "task"):
        names = _values(rows, "assistant")
        for start in range(0, len(names), assistants):
            yield task, rows[rows["assistant"].isin(names[start : start + assistants])]


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


def _arm(row: dict[Any, Any], names: list[str]) -> str:
    where = " · ".join(str(row[name]) for name in names)
    return f"{row['a']} − {row['b']}" + (f" · {where}" if where else "")


def _ticks(x: np.ndarray[Any, Any]) -> list[int]:
    """Whole numbers, at most eight of them."""
    low, high = int(x.min()), int(x.max())
    return list(range(low, high + 1, (high - low) // 8 + 1))
