"""Aptitude and unreliability: measures per instance over its runs, then averaged over instances, then over tasks.

Source: "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025), section 3. For the scores S of one instance's N runs

    P̄  = mean(S)                    averaged performance
    A90 = 90th percentile of S       aptitude
    U90_10 = A90 - 10th percentile   unreliability

The paper does not name its percentile rule; ours is numpy's linear interpolation. Two things follow that every reader has to
know. On binary scores A90 and U90_10 are step functions: with N = 10 an instance with 2 to 8 successes has A90 = 1 and
U90_10 = 1, so U90_10 saturates (see `variance` for a split that does not). And both depend on N, so groups with another N are
never compared as they are: see `common_runs`. The paper's worked example (appendix E), situation 3, contradicts its own
definition: three perfect, five mixed and two failing instances give U = 50, not the printed 60.

Scores are 0 to 1 here and 0 to 100 in tables. A conversation whose assistant failed has score 0; one that is owed again
(another party failed) has none: measures over scored conversations leave it out, those `over all` count it as 0, and both
are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.errors import AnalysisError

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]

#: A table has one row for each combination of these …
GROUP = ("task", "mode", "assistant")
#: … and of those of these that differ within one: a mean over two temperatures or protocols is a mean of nothing.
ALSO = ("interventions", "temperature", "user", "user_temperature", "judge", "protocol")
#: Fewer instances or runs than these are too few for inference, and are called so.
FEW_INSTANCES, FEW_RUNS = 20, 10

UPPER, LOWER = 90, 10


def grouping(frame: pd.DataFrame) -> list[str]:
    """The columns to group by: `GROUP`, and each of `ALSO` that takes several values within one of its combinations."""
    grouped = frame.groupby(list(GROUP), observed=True, dropna=False)
    return [*GROUP, *(name for name in ALSO if name in frame and (grouped[name].nunique(dropna=False) > 1).any())]


def scored(frame: pd.DataFrame) -> pd.DataFrame:
    """The conversations that have a score: all but those owed again or parked."""
    return frame[frame["score"].notna()]


def answer_status(frame: pd.DataFrame, turns: pd.DataFrame) -> pd.Series:
    """What became of each conversation's last attempt: the status of its score, or `no attempt`; index of `frame`.

    A conversation without a readable answer counts 0. Published means sometimes leave such conversations out; those over
    `frame[answer_status(frame, turns) == "scored"]` are comparable with them, and only with them.
    """
    attempts = turns[turns["attempt"].notna()].drop_duplicates("key", keep="last").set_index("key")["status"]
    status = frame["key"].map(attempts.fillna("not scored")).fillna("no attempt")
    return status.astype("str").rename("status")


def per_instance(frame: pd.DataFrame, by: Sequence[str] | None = None, value: str = "score") -> pd.DataFrame:
    """One row for each group and instance: `runs` (scored ones), `successes`, `mean`, `aptitude`, `p10`, `unreliability`.

    Args:
        frame: conversations, one row each.
        by: grouping columns, `grouping(frame)` by default.
        value: the column that holds the scores, 0 to 1; rows without one are left out.

    Groups and instances come in order of first appearance.
    """
    by = grouping(frame) if by is None else list(by)
    kept = frame[frame[value].notna()]
    codes = group_codes(kept, [*by, "instance"])
    values = kept[value].to_numpy(dtype=np.float64)
    order = np.lexsort((values, codes))
    first = np.flatnonzero(np.diff(codes[order], prepend=-1))
    ordered, runs = values[order], np.diff(np.append(first, len(order)))
    aptitude, p10 = (_percentile(ordered, first, runs, q) for q in (UPPER, LOWER))
    labels = kept[[*by, "instance"]].iloc[np.unique(codes, return_index=True)[1]].reset_index(drop=True)
    return labels.assign(
        runs=runs,
        successes=np.add.reduceat(ordered >= 1.0, first, dtype=np.int64) if len(first) else 0,
        mean=np.add.reduceat(ordered, first) / runs if len(first) else 0.0,
        aptitude=aptitude,
        p10=p10,
        unreliability=aptitude - p10,
    )


def summary(frame: pd.DataFrame, by: Sequence[str] | None = None) -> pd.DataFrame:
    """One row a group: how many instances and runs, the measures averaged over instances, what was not scored, effort, cost.

    Columns beside `by`: `instances`, `conversations`, `scored`, `not_scored`, `failed` (by the assistant: scored 0),
    `runs_min`, `runs_max`; `mean`, `aptitude`, `p10`, `unreliability`; `accuracy` (share correct); `over_all` (mean with those
    not scored as 0); `any_correct`, `last_attempt`, `last_turn` (the same conversations scored in these ways); `turns`,
    `attempts` (means); `cost` (US dollars, NaN where a call is unpriced; what these conversations cost by themselves),
    `cost_alone` (with what they continue: RECAP as if there had been no SHARDED run to share), `unpriced` (calls).

    A group none of whose conversations is scored keeps its row, with empty measures.
    """
    by = grouping(frame) if by is None else list(by)
    instances = per_instance(frame, by).groupby(by, sort=False, dropna=False, observed=True)
    measures = instances[["mean", "aptitude", "p10", "unreliability"]].mean()
    counts = instances["runs"].agg(instances="size", runs_min="min", runs_max="max")
    table = _counts(frame, by).join(counts).join(measures)
    table[["instances", "runs_min", "runs_max"]] = (
        table[["instances", "runs_min", "runs_max"]].fillna(0).astype("int64")
    )
    return table.reset_index()


def over_tasks(
    table: pd.DataFrame, columns: Sequence[str] = ("mean", "aptitude", "p10", "unreliability")
) -> pd.DataFrame:
    """Means over tasks of a `summary`, one row a group without its task; `tasks` says over how many."""
    by = [name for name in (*GROUP, *ALSO) if name in table and name != "task"]
    grouped = table.groupby(by, sort=False, dropna=False, observed=True)
    return grouped[list(columns)].mean().assign(tasks=grouped["task"].nunique()).reset_index()


def relative(table: pd.DataFrame, to: str = "full", column: str = "mean") -> pd.DataFrame:
    """The overall columns of the paper's Table 1: P̄ of a mode over that of another, in per cent, averaged over tasks.

    A task that lacks either is left out of the mean; `tasks` says how many are in it.

    Raises `AnalysisError` when the mode `to` is not in the table.
    """
    if to not in set(table["mode"]):
        raise AnalysisError("there is nothing to relate to", got=to, allowed=", ".join(dict.fromkeys(table["mode"])))
    arm = [name for name in ("task", "assistant", "temperature", "protocol") if name in table]
    base = table[table["mode"] == to].set_index(arm)[column]
    if base.index.has_duplicates:
        raise AnalysisError(
            f"mode {to!r} has several rows for one task and assistant", fix="filter the conversations first"
        )
    ratio = 100 * table[column] / base.reindex(pd.MultiIndex.from_frame(table[arm])).to_numpy()
    by = ["mode", *(name for name in arm if name != "task")]
    kept = table.assign(ratio=ratio.replace([np.inf, -np.inf], np.nan)).dropna(subset="ratio")
    return (
        kept.groupby(by, sort=False, observed=True, dropna=False)["ratio"].agg(ratio="mean", tasks="size").reset_index()
    )


def pieces(frame: pd.DataFrame) -> pd.Series:
    """In how many pieces each conversation's instruction came (paper, 6.3): N for a mode `NAME:N` (gradual sharding), 1 where
    the mode says all at once, else as many as the instance has shards. Index of `frame`.
    """
    named = pd.to_numeric(frame["mode"].astype("str").str.extract(r":(\d+)$")[0])
    at_once = frame.groupby("mode", observed=True)["turns"].transform("max") <= 1
    return (
        named.fillna(frame["shards"].where(~at_once.fillna(True), 1).astype("float64")).astype("Int64").rename("pieces")
    )


def common_runs(frame: pd.DataFrame, by: Sequence[str] | None = None, n: int | None = None) -> pd.DataFrame:
    """The scored conversations cut to the same number of runs for every instance of every group, so that A and U compare.

    Kept are the first by repeat index, which says nothing about the scores. `n` defaults to the smallest number there is.

    Raises `AnalysisError` when an instance has fewer than `n` runs.
    """
    by = grouping(frame) if by is None else list(by)
    kept = scored(frame)
    codes = group_codes(kept, [*by, "instance"])
    runs = np.bincount(codes)
    fewest = int(runs.min()) if len(runs) else 0
    if n is not None and n > fewest:
        raise AnalysisError("an instance has fewer runs than asked for", got=fewest, allowed=f"at least {n}")
    rank = kept["repeat"].groupby(codes).rank(method="first")
    return kept[(rank <= (fewest if n is None else n)).to_numpy()]


def pass_hat_k(frame: pd.DataFrame, k: int, by: Sequence[str] | None = None) -> pd.DataFrame:
    """pass^k: the chance that k runs of an instance are all correct, unbiased from its N ≥ k runs, averaged over instances.

    Source: τ-bench (Yao et al. 2024): C(c, k) / C(N, k) for c correct of N. Raises `AnalysisError` when N < k.
    """
    return _pass(frame, k, by, lambda correct, runs: choose_ratio(correct, runs, k), f"pass_hat_{k}")


def pass_at_k(frame: pd.DataFrame, k: int, by: Sequence[str] | None = None) -> pd.DataFrame:
    """pass@k: the chance that at least one of k runs of an instance is correct, averaged over instances.

    Source: Chen et al. 2021: 1 - C(N - c, k) / C(N, k). Undefined, never 1, for N < k: raises `AnalysisError`.
    """
    return _pass(frame, k, by, lambda correct, runs: 1 - choose_ratio(runs - correct, runs, k), f"pass_at_{k}")


def choose_ratio(part: npt.ArrayLike, whole: npt.ArrayLike, k: int) -> Floats:
    """C(part, k) / C(whole, k), elementwise, as a product that cannot overflow. Raises `AnalysisError` for k > whole, k < 1."""
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    if k < 1 or (whole < k).any():
        raise AnalysisError(
            f"this is not defined for k = {k}",
            got=f"{int(whole.min())} runs",
            allowed="1 ≤ k ≤ runs of every instance",
        )
    steps = np.arange(k)
    factors: Floats = np.clip(part[..., None] - steps, 0, None) / (whole[..., None] - steps)
    product: Floats = factors.prod(axis=-1)
    return product


# -- parts -----------------------------------------------------------------------------------------------------------------


def _pass(
    frame: pd.DataFrame, k: int, by: Sequence[str] | None, chance: Callable[[Floats, Floats], Floats], name: str
) -> pd.DataFrame:
    by = grouping(frame) if by is None else list(by)
    instances = per_instance(frame, by)
    instances[name] = chance(instances["successes"].to_numpy(np.float64), instances["runs"].to_numpy(np.float64))
    return instances.groupby(by, sort=False, dropna=False, observed=True)[name].mean().reset_index()


def group_codes(frame: pd.DataFrame, by: Sequence[str]) -> Integers:
    """Number of the group each row belongs to, in order of first appearance."""
    numbers = frame.groupby(list(by), sort=False, dropna=False, observed=True).ngroup()
    return np.asarray(numbers, dtype=np.int64)


def _percentile(ordered: Floats, first: Integers, runs: Integers, q: float) -> Floats:
    """`numpy.percentile(group, q)` (linear) of consecutive ordered groups."""
    at = (runs - 1) * (q / 100)
    below = np.floor(at).astype(np.int64)
    above = np.minimum(below + 1, runs - 1)
    low, high = ordered[first + below], ordered[first + above]
    percentile: Floats = low + (high - low) * (at - below)
    return percentile


def _counts(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """What can be said of a group without looking at instances, groups in order of first appearance."""
    has = frame["score"].notna()
    ways = {
        name: frame[name].astype("float64").fillna(0).where(has)
        for name in ("first_correct", "last_attempt", "last_turn")
    }
    wide = frame[by].assign(
        scored=has,
        failed=frame["ended"] == "assistant",
        accuracy=frame["correct"].astype("Float64").fillna(0).astype("float64").where(has),
        over_all=frame["score"].fillna(0.0),
        any_correct=ways["first_correct"],
        last_attempt=ways["last_attempt"],
        last_turn=ways["last_turn"],
        turns=frame["turns"].astype("float64").where(has),
        attempts=frame["attempts"].astype("float64").where(has),
        cost=frame["cost"],
        cost_alone=_cost_alone(frame),
        unpriced=frame["unpriced"],
    )
    grouped = wide.groupby(by, sort=False, dropna=False, observed=True)
    means = grouped[["accuracy", "over_all", "any_correct", "last_attempt", "last_turn", "turns", "attempts"]].mean()
    sums = grouped[["scored", "failed", "unpriced"]].sum().astype("int64")
    sizes = grouped.size()
    costs = grouped[["cost", "cost_alone"]].sum().where(grouped[["cost", "cost_alone"]].count().eq(sizes, axis=0))
    sums.insert(1, "not_scored", sizes - sums["scored"])
    return pd.concat([sizes.rename("conversations"), sums, means, costs], axis=1)


def _cost_alone(frame: pd.DataFrame) -> pd.Series:
    """A conversation's cost with that of everything it continues; missing where a parent is not in the frame or unpriced."""
    costs, above = frame["cost"].astype("float64"), frame.get("parent", pd.Series(None, frame.index, dtype="object"))
    by_key = frame.drop_duplicates("key").set_index("key") if "key" in frame else pd.DataFrame()
    while above.notna().any():
        costs = costs + above.map(by_key["cost"]).where(above.notna(), 0.0).astype("float64")
        above = above.map(by_key["parent"])
    return costs
