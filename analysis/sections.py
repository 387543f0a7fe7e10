"""What a full report shows beside its tables: figures of the measures, and every failure mode with its definition.

A section is a frame, a figure of it, or both; `SECTIONS` lists those made from turns. One that cannot be made says why.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis import arms, comparisons, failure_modes, figures, frames, measures, texts, user_faults
from analysis.errors import AnalysisError
from analysis.report import Report, ordered

#: Of a noise floor within a report; `comparisons.noise_floor` takes more where it stands alone.
_SPLITS = 200


class Section(NamedTuple):
    """A heading, what the numbers mean, and the numbers: as a table, a figure or both; `missing` says why there are none."""

    title: str
    meaning: str
    table: pd.DataFrame | None = None
    figure: Figure | None = None
    missing: str = ""


class _Made(NamedTuple):
    title: str
    table: Callable[[pd.DataFrame], pd.DataFrame]
    figure: Callable[[pd.DataFrame], Figure] | None = None


SECTIONS = (
    _Made("Kinds of replies by turn", failure_modes.class_rates, figures.classes),
    _Made("Premature attempts", failure_modes.premature_attempts, figures.attempts),
    _Made("What a new shard does to the answer", failure_modes.answer_changes),
    _Made("Recovery after a wrong first attempt", failure_modes.recovery),
    _Made("Reliance on earlier answers", failure_modes.reliance),
    _Made("Assumptions before all was said", failure_modes.assumptions),
    _Made("Answer bloat", failure_modes.answer_bloat, figures.bloat),
    _Made("Verbosity", failure_modes.verbosity, figures.verbosity),
    _Made("The simulated user", user_faults.user_faults),
)


def sections(source: frames.Source, report: Report, *, seed: int = 0) -> Iterator[Section]:
    """The sections of a run, in order. Reads every turn."""
    yield from _of_measures(report)
    with frames.opened(source) as store:
        conversations = ordered(frames.conversations(store), store)
        turns = _by_arm(frames.turns(store, inherited=True), conversations)
        cited = _by_arm(texts.citations(store), conversations)
    yield from _gradual(conversations)
    yield _noise(conversations, seed)
    for made in SECTIONS:
        yield _section(made, turns)
    if len(cited):
        yield _section(_Made("Loss in the middle turns", failure_modes.middle_turns, figures.middle), cited)


def labelled(report: Report) -> pd.DataFrame:
    """The report's rows that have measures; what differs within a task, mode and assistant becomes part of the mode's name."""
    table = report.table[report.table["mean"].notna()]
    return table.assign(mode=arms.names(table, report.by), cost_each=table["cost_alone"] / table["conversations"])


def _of_measures(report: Report) -> Iterator[Section]:
    table = labelled(report)
    if table.empty:
        return
    yield Section("Averages, best and worst", _first(figures.box), figure=figures.box(table))
    if table["runs_max"].max() > 1:
        yield Section("Aptitude and unreliability", _first(figures.scatter), figure=figures.scatter(table))
    if len(report.differences) and report.differences["difference"].notna().any():
        yield Section("Differences", _first(figures.differences), figure=figures.differences(report.differences))
    if table["cost_each"].max() > 0:  # local models cost nothing
        yield Section("Cost and score", _first(figures.cost), figure=figures.cost(table))


def _gradual(conversations: pd.DataFrame) -> Iterator[Section]:
    """Where the same instructions came in different numbers of pieces: their curve, of plain conversations only."""
    plain = conversations[(conversations["interventions"] == "") & (conversations["policy"] != "full")]
    told = plain.assign(pieces=measures.pieces(plain))
    if told["mode"].str.contains(":").any():
        curve = measures.summary(told, ["task", "assistant", "pieces"])
        yield Section("Gradual sharding", meaning_of(measures.pieces), curve, figures.gradual(curve))


def _by_arm(frame: pd.DataFrame, conversations: pd.DataFrame) -> pd.DataFrame:
    """Turns or citations with their arm as the mode, since a rate over two interventions or temperatures is a rate of nothing;
    the categories are in the order of the conversations, so that tables have that order too.
    """
    by = measures.grouping(conversations)
    if len(by) > len(measures.GROUP):
        conversations = conversations.assign(mode=arms.names(conversations, by))
        frame = frame.assign(mode=frame["key"].map(conversations.set_index("key")["mode"]))
    order = {name: list(dict.fromkeys(conversations[name])) for name in measures.GROUP}
    told = {
        name: frame[name].astype("category").cat.set_categories(every, ordered=True) for name, every in order.items()
    }
    return frame.assign(**told)


def _noise(conversations: pd.DataFrame, seed: int) -> Section:
    table = comparisons.noise_floor(conversations, np.random.default_rng(seed), splits=_SPLITS)
    return Section("Noise floor", meaning_of(comparisons.noise_floor), table)


def _section(made: _Made, turns: pd.DataFrame) -> Section:
    try:
        table = made.table(turns)
    except AnalysisError as error:
        return Section(made.title, meaning_of(made.table), missing=error.what)
    if table.empty:
        return Section(made.title, meaning_of(made.table), missing="No conversation of this run has what this needs.")
    return Section(made.title, meaning_of(made.table), table, made.figure(table) if made.figure else None)


def meaning_of(function: Callable[..., object]) -> str:
    """The definition of a table: its function's docstring, which is where it is kept."""
    return inspect.getdoc(function) or ""


def _first(function: Callable[..., object]) -> str:
    return meaning_of(function).partition("\n\n")[0]
