"""An arm by its name: a mode, the interventions added to it, and whatever else differs, as in `sharded + remind 0.7`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd

from analysis.measures import GROUP


def added(frame: pd.DataFrame) -> pd.Series:
    """The interventions of each row beyond those its mode stands for, joined by `+`; index of `frame`."""
    rows = list(zip(frame["mode"], frame["interventions"].fillna(""), strict=True))
    beyond = {row: _beyond(*row) for row in dict.fromkeys(rows)}
    return pd.Series([beyond[row] for row in rows], frame.index, dtype="str")


def names(frame: pd.DataFrame, by: Iterable[str] = ("interventions",)) -> pd.Series:
    """The arm of each row by its name; index of `frame`. `by`: what may differ within a mode (see `measures.grouping`)."""
    parts = [frame["mode"], *(_part(frame, name) for name in by if name not in GROUP)]
    rows = list(zip(*parts, strict=True))
    joined = {row: " ".join(str(part) for part in row if part != "") for row in dict.fromkeys(rows)}
    return pd.Series([joined[row] for row in rows], frame.index, dtype="str")


def _beyond(mode: str, interventions: str) -> str:
    """RECAP and SNOWBALL are modes that have the name of the one intervention they stand for, which comes first."""
    first, _, others = interventions.partition("+")
    return others if first == mode else interventions


def _part(frame: pd.DataFrame, name: str) -> Iterator[object]:
    if name == "interventions":
        return (f"+ {one}" if one else "" for one in added(frame))
    return iter(frame[name].astype("object").where(frame[name].notna(), ""))
