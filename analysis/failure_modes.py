"""How conversations go wrong: each a function from the frame of turns to a frame, with its definition in the docstring.

Source: "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025), appendix F and section 6; definitions are ours where
the paper gives none. Every function takes `frames.turns(run, inherited=True)` and groups by task, mode, assistant and whatever
else differs within them (`by` changes that). Conversations that are not scored are left out, and so are modes in which nobody
has a second turn, except where they are the yardstick (`answer_bloat`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.core.groupby import DataFrameGroupBy

from analysis.errors import AnalysisError
from analysis.measures import grouping
from tasks.nouns import TURN_CLASSES

#: How a reply says that it takes something for granted.
_ASSUMING = re.compile(
    r"\b(?:assum(?:e|ed|es|ing|ption)\w*|suppos(?:e|ed|ing)|presum\w+|let'?s say|hypothetical\w*)\b", re.IGNORECASE
)
_TOKEN = re.compile(r"[^\W_]+(?:[.,]\d+)*|[^\w\s]")


def premature_attempts(turns: pd.DataFrame, by: Sequence[str] | None = None) -> pd.DataFrame:
    """How well conversations end that made their first answer attempt early or late (F.1).

    Columns beside `by`: `clock`, `fifth`, `conversations`, `score` (mean of how they ended).
    By the clock `turns`, as in the paper, a conversation belongs to the fifth of its own turns in which its first attempt
    lies. That clock is biased: a conversation ends with its first correct attempt, which so lies in the last fifth by
    construction. By the clock `shards` it belongs to the fifth of the instance's shards revealed by then, without that bias.
    `fifth` is 1 to 5, or 0 for conversations without any attempt.
    """
    by, told = _prepared(turns, by)
    first = _first(told[told["attempt"].notna()])
    ends = _last(told)[[*by, "key", "outcome"]]
    clocks = {
        "turns": first["turn"] / first["conversation_turns"],
        "shards": (first["revealed"] / first["shards"]).clip(upper=1),
    }
    parts = []
    for clock, share in clocks.items():
        fifth = pd.Series(
            np.maximum(np.ceil(5 * share.to_numpy(np.float64) - 1e-9), 1).astype(int), index=first["key"].astype("str")
        )
        placed = ends.assign(clock=clock, fifth=fifth.reindex(ends["key"].astype("str"), fill_value=0).to_numpy())
        parts.append(
            _grouped(placed, [*by, "clock", "fifth"])["outcome"].agg(conversations="size", score="mean").reset_index()
        )
    return pd.concat(parts).sort_values([*by, "clock", "fifth"], ignore_index=True)


def answer_bloat(turns: pd.DataFrame, by: Sequence[str] | None = None) -> pd.DataFrame:
    """Do answers grow from attempt to attempt (F.2)?

    Columns beside `by`: `attempt` (its number within a conversation), `attempts`, `chars` (mean length of the extracted
    answer), `right_chars` (of correct ones only; missing where there is none). Modes of one turn are the yardstick, attempt 1.
    """
    by = grouping(turns) if by is None else list(by)
    made = turns[turns["attempt"].notna() & turns["answer_chars"].notna() & turns["outcome"].notna()]
    chars = made["answer_chars"].astype("float64")
    wide = made[[*by, "attempt"]].assign(
        chars=chars, right_chars=chars.where(made["correct"].fillna(False).astype(bool))
    )
    return _counted(wide, [*by, "attempt"], "attempts")


def verbosity(turns: pd.DataFrame, by: Sequence[str] | None = None) -> pd.DataFrame:
    """Do conversations with longer replies end worse (F.4)?

    The runs of an instance are ranked by characters of the assistant a turn and cut into fifths, the shortest first (10 runs:
    two in each). Columns beside `by`: `quintile` (1 to 5), `conversations`, `chars` (mean length of a reply), `score`.

    Raises `AnalysisError` when no instance has five runs; instances with fewer are left out.
    """
    by, told = _prepared(turns, by)
    runs = _grouped(told, [*by, "instance", "key"]).agg(
        chars=("reply_chars", "mean"), score=("outcome", "first"), repeat=("repeat", "first")
    )
    runs = runs.reset_index().sort_values("repeat", kind="stable")
    of_instance = runs.groupby([*by, "instance"], dropna=False, observed=True)["chars"]
    runs["quintile"] = np.ceil(5 * of_instance.rank(method="first") / of_instance.transform("size")).astype("int64")
    runs = runs[of_instance.transform("size") >= 5]
    if runs.empty:
        raise AnalysisError(
            "quintiles of verbosity need at least five runs of an instance", fix="run with --runs 5 or more"
        )
    return _grouped(runs, [*by, "quintile"]).agg(
        conversations=("score", "size"), chars=("chars", "mean"), score=("score", "mean")
    ).reset_index().sort_values([*by, "quintile"], ignore_index=True)  # fmt: skip


def middle_turns(citations: pd.DataFrame, by: Sequence[str] = ("task", "mode", "assistant")) -> pd.DataFrame:
    """Are documents of the middle turns forgotten (F.3)? From `texts.citations`, not from turns.

    Columns beside `by`: `turn` (of the summary), `introduced` (turn that showed the document), `citations`, and `share`: of all
    citations in summaries of that turn. Shares of a turn add up to less than 1 where documents are cited that were never shown.
    """
    by = list(by)
    whole = _grouped(citations, [*by, "turn"]).size()
    shown = citations[citations["introduced"].notna()]
    table = _grouped(shown, [*by, "turn", "introduced"]).size().rename("citations").reset_index()
    total = whole.reindex(pd.MultiIndex.from_frame(table[[*by, "turn"]])).to_numpy()
    return table.assign(share=table["citations"] / total).sort_values([*by, "turn", "introduced"], ignore_index=True)


def class_rates(turns: pd.DataFrame, by: Sequence[str] | None = None) -> pd.DataFrame:
    """What kinds of replies are given at which turn: clarifications, hedges, attempts, …

    Columns beside `by`: `turn`, `replies` (conversations that reached this turn and were judged there), and for each of the
    seven classes its share of these replies. The conversations still going at a late turn are those not solved before.
    """
    by, told = _prepared(turns, by)
    judged = told[told["label"].notna()]
    flags = {name: (judged["label"] == name).astype("float64") for name in TURN_CLASSES}
    return _counted(judged[[*by, "turn"]].assign(**flags), [*by, "turn"], "replies")


def answer_changes(turns: pd.DataFrame, by: Sequence[str] | None = None) -> pd.DataFrame:
    """What a new shard does to the answer: two attempts in a row with at least one shard revealed in between.

    Columns beside `by`: `revealed` (shards known at the later attempt), `pairs`, and the shares `kept_wrong` (the same answer,
    compared without case, space and punctuation), `wrong_to_wrong` (another wrong one), `wrong_to_right`, `right_to_wrong`,
    `kept_right`. A conversation that ends with its first correct attempt never loses it, so the last two need another protocol.
    """
    pairs, by = _pairs(turns, by)
    same, was, now = pairs["same"], pairs["was_right"], pairs["is_right"]
    kinds = {
        "kept_wrong": ~was & ~now & same,
        "wrong_to_wrong": ~was & ~now & ~same,
        "wrong_to_right": ~was & now,
        "right_to_wrong": was & ~now,
        "kept_right": was & now,
    }
    flags = {kind: which.astype("float64") for kind, which in kinds.items()}
    return _counted(pairs[[*by, "revealed"]].assign(**flags), [*by, "revealed"], "pairs")


def recovery(turns: pd.DataFrame, by: Sequence[str] | None = None) -> pd.DataFrame:
    """How often a conversation comes back after a wrong first attempt.

    Columns beside `by`: `conversations` (with an attempt), `wrong_first` (share whose first attempt was wrong), `recovered`
    (of those, the share that ended correct), and the same for first attempts made before all shards were revealed: `early`,
    their share of the wrong ones, and `recovered_early`. After a wrong attempt with everything revealed no turn is left to
    recover in. Shares of nothing are missing.
    """
    by, told = _prepared(turns, by)
    first = _first(told[told["attempt"].notna()])
    wrong = ~first["correct"].fillna(False).astype(bool)
    early = wrong & (first["revealed"] < first["shards"]).astype(bool)
    ended = first["outcome_correct"].fillna(False).astype("float64")
    wide = first[by].assign(
        wrong_first=wrong.astype("float64"),
        recovered=ended.where(wrong),
        early=early.astype("float64").where(wrong),
        recovered_early=ended.where(early),
    )
    return _counted(wide, by, "conversations")


def reliance(turns: pd.DataFrame, by: Sequence[str] | None = None) -> pd.DataFrame:
    """How much of a wrong answer stays after a shard that contradicts it.

    A shard is needed for the right answer (shards are minimal), so an answer given without it and wrong should change when
    it comes. Over such pairs of attempts (`answer_changes`): `pairs`; `identical`, the share that did not change; `kept`, the
    mean share of the earlier answer's tokens found again in the later one (for one number the same as `identical`).
    """
    pairs, by = _pairs(turns, by)
    wrong = pairs[~pairs["was_right"]]
    kept = [_kept(before, after) for before, after in zip(wrong["before"], wrong["answer"], strict=True)]
    wide = wrong[by].assign(identical=wrong["same"].astype("float64"), kept=np.asarray(kept, dtype=np.float64))
    return _counted(wide, by, "pairs")


def assumptions(
    turns: pd.DataFrame, texts: pd.DataFrame | None = None, by: Sequence[str] | None = None
) -> pd.DataFrame:
    """Answers given before all was said rest on assumptions.

    Columns beside `by`: `attempts`; `early`, the share made while shards were still unrevealed; of these `missing`, the mean
    number of such shards, and `right`, the share correct all the same; with `texts` (of `texts.texts`) also `stated`, the share
    whose reply says that it assumes something: the others assume in silence.
    """
    by, told = _prepared(turns, by)
    made = told[told["attempt"].notna()]
    missing = (made["shards"] - made["revealed"]).astype("float64").clip(lower=0)
    early = missing > 0
    wide = made[by].assign(early=early.astype("float64"), missing=missing.where(early))
    wide["right"] = made["correct"].fillna(False).astype("float64").where(early)
    if texts is not None:
        replies = made[["key", "turn"]].merge(texts[["key", "turn", "reply"]], on=["key", "turn"], how="left")["reply"]
        stated = replies.fillna("").map(lambda reply: float(bool(_ASSUMING.search(reply))))
        wide["stated"] = stated.set_axis(made.index).where(early)
    return _counted(wide, by, "attempts")


# -- parts -----------------------------------------------------------------------------------------------------------------


def _prepared(turns: pd.DataFrame, by: Sequence[str] | None) -> tuple[list[str], pd.DataFrame]:
    """Grouping columns, and the turns of scored conversations in modes that have more than one turn."""
    by = grouping(turns) if by is None else list(by)
    longest = turns.groupby("mode", observed=True)["conversation_turns"].transform("max")
    return by, turns[(longest > 1).to_numpy(bool, na_value=False) & turns["outcome"].notna().to_numpy()]


def _grouped(frame: pd.DataFrame, by: Sequence[str]) -> DataFrameGroupBy[Any, Any]:
    return frame.groupby(list(by), sort=False, dropna=False, observed=True)


def _counted(frame: pd.DataFrame, by: Sequence[str], rows: str) -> pd.DataFrame:
    """The groups in order: how many `rows` each has, and the means of all columns beside `by`."""
    grouped = _grouped(frame, by)
    table = grouped.size().rename(rows).to_frame().join(grouped.mean())
    return table.reset_index().sort_values(list(by), ignore_index=True)


def _first(turns: pd.DataFrame) -> pd.DataFrame:
    return turns.drop_duplicates("key")


def _last(turns: pd.DataFrame) -> pd.DataFrame:
    return turns.drop_duplicates("key", keep="last")


def _pairs(turns: pd.DataFrame, by: Sequence[str] | None) -> tuple[pd.DataFrame, list[str]]:
    """Attempts that follow another one of their conversation after a shard: both answers, and whether they were right."""
    by, told = _prepared(turns, by)
    made = told[told["attempt"].notna() & told["answer"].notna()]
    before = made.groupby("key", sort=False)[["answer", "revealed", "correct"]].shift()
    news = (before["answer"].notna() & (made["revealed"] > before["revealed"]).fillna(False).astype(bool)).to_numpy()
    pairs, before = made[news], before[news]
    answers = {name: side["answer"].map(_normal) for name, side in (("now", pairs), ("then", before))}
    return pairs.assign(
        before=before["answer"],
        same=(answers["now"] == answers["then"]).astype(bool),
        was_right=before["correct"].fillna(False).astype(bool),
        is_right=pairs["correct"].fillna(False).astype(bool),
    ), by


def _normal(answer: str) -> str:
    return re.sub(r"[^\w.+-]+", "", answer.casefold()).strip(".")


def _kept(before: str, after: str) -> float:
    """Share of the tokens of one text that are found again in another, each as often as it is there."""
    old, new = Counter(_TOKEN.findall(before.casefold())), Counter(_TOKEN.findall(after.casefold()))
    return (old & new).total() / max(1, old.total())
