"""What the simulated user did wrong, and what the guard did about it: a benchmark is no better than its user."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

_BY = ("task", "mode", "user")


def user_faults(turns: pd.DataFrame, by: Sequence[str] = _BY) -> pd.DataFrame:
    """How often the user needed the guard, and how often it did not do its work.

    Over turns of modes with more than one turn. Columns beside `by`: `turns`; shares of turns: `objected` (the guard objected
    to a draft), `fallback` (the shard was said as written instead), `nothing_new` (no shard was revealed); `conversations`;
    shares of conversations: `capped` (ended by the turn cap), `untold` (ended unsolved with shards never said).
    """
    by = list(by)
    longest = turns.groupby("mode", observed=True)["conversation_turns"].transform("max")
    told = turns[(longest > 1).to_numpy(bool, na_value=False)]
    of_turns = told[by].assign(
        objected=(told["violations"] > 0).astype("float64"),
        fallback=(told["said_by"] == "fallback").astype("float64"),
        nothing_new=_nothing_new(told).astype("float64"),
    )
    last = told.drop_duplicates("key", keep="last")
    untold = (last["revealed"] < last["shards"]).fillna(False) & (last["ended"] != "solved")
    of_ends = last[by].assign(capped=(last["ended"] == "turn_cap").astype("float64"), untold=untold.astype("float64"))
    grouped, ended = (frame.groupby(by, sort=False, dropna=False, observed=True) for frame in (of_turns, of_ends))
    table = grouped.size().rename("turns").to_frame().join(grouped.mean())
    return (
        table.join(ended.size().rename("conversations"))
        .join(ended.mean())
        .reset_index()
        .sort_values(by, ignore_index=True)
    )


def violations(turns: pd.DataFrame, texts: pd.DataFrame, by: Sequence[str] = _BY) -> pd.DataFrame:
    """Which rules of the guard were broken: `rule`, `times`, `per_100_turns`, the most frequent first.

    `texts`: of `texts.texts`. A draft can break several rules, and a turn can have several drafts.
    """
    by = list(by)
    said = turns[[*by, "key", "turn"]].merge(texts[["key", "turn", "violations"]], on=["key", "turn"], how="left")
    broken = said.assign(rule=said["violations"].fillna("").str.split("\n")).explode("rule")
    broken["rule"] = broken["rule"].str.partition(":")[0]
    whole = said.groupby(by, sort=False, dropna=False, observed=True).size().rename("turns")
    counted = (
        broken[broken["rule"] != ""]
        .groupby([*by, "rule"], sort=False, dropna=False, observed=True)
        .size()
        .rename("times")
    )
    table = counted.reset_index().merge(whole.reset_index(), on=by)
    table["per_100_turns"] = 100 * table["times"] / table["turns"]
    return table.drop(columns="turns").sort_values(
        [*by, "times"], ascending=[True] * len(by) + [False], ignore_index=True
    )


def _nothing_new(turns: pd.DataFrame) -> pd.Series:
    """Turns after which no more shards are known than before."""
    return (turns["revealed"] - turns.groupby("key", sort=False)["revealed"].shift().fillna(0)) <= 0
