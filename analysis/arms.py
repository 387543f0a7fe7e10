"""An arm by its name: a mode, the interventions added to it, and whatever else differs, as in `sharded + remind 0.7`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from analysis.measures import GROUP, group_codes


def added(frame: pd.DataFrame) -> pd.Series:
    """The interventions of each row beyond those its mode stands for, joined by `+`; index of `frame`."""
    return _by_kind(frame, ["mode", "interventions"], lambda kind: _beyond(kind["mode"], kind["interventions"]))


def names(frame: pd.DataFrame, by: Iterable[str] = ("interventions",)) -> pd.Series:
    """The arm of each row by its name; index of `frame`. `by`: what may differ within a mode (see `measures.grouping`)."""
    columns = ["mode", *(name for name in by if name not in GROUP)]
    return _by_kind(frame, columns, lambda kind: " ".join(filter(None, (_part(kind, name) for name in columns))))


def _by_kind(frame: pd.DataFrame, columns: list[str], text: Callable[[dict[str, Any]], str]) -> pd.Series:
    """A text for each row, made once for all rows that are alike in these columns."""
    kinds = frame[columns].drop_duplicates().to_dict("records")
    texts = np.array(
        [text({str(name): "" if pd.isna(value) else value for name, value in kind.items()}) for kind in kinds]
    )
    return pd.Series(texts[group_codes(frame, columns)] if kinds else [], frame.index, dtype="str")


def _beyond(mode: str, interventions: str) -> str:
    """RECAP and SNOWBALL are modes that have the name of the one intervention they stand for, which comes first."""
    first, _, others = interventions.partition("+")
    return others if first == mode else interventions


def _part(kind: dict[str, Any], name: str) -> str:
    if name == "interventions":
        more = _beyond(kind["mode"], kind[name])
        return f"+ {more}" if more else ""
    return str(kind[name])
