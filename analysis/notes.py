"""What a reader of a report has to know: how the numbers were made, and what they must not be taken for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from analysis import measures
from simulator.store import Store

#: Assistants of this maker are formulas with known aptitude, for tests and planning; never shown without saying so.
SYNTHETIC = "synthetic:"


class Paid(NamedTuple):
    """What was paid for a run, tries that failed included: US dollars of priced conversations, and how many are unpriced."""

    dollars: float
    unpriced: int


def paid(store: Store) -> Paid:
    """Sums over every row of the store, not only the latest of each conversation."""
    dollars, unpriced = store.connection.execute(
        "SELECT total(spent), total(spent IS NULL) FROM conversations"
    ).fetchone()
    return Paid(dollars, int(unpriced))


def notes(table: pd.DataFrame, conversations: pd.DataFrame, money: Paid, seed: int, resamples: int) -> Iterable[str]:
    """The notes that this table and these conversations call for."""
    if table.empty:
        yield "There are no conversations in this run."
        return
    yield (
        "P̄ is the mean score, A90 the 90th percentile of an instance's scores over its N runs (numpy's linear rule), U90_10 = "
        "A90 minus the 10th percentile; all averaged over instances. "
        f"In brackets: 95 % limits of the measure expected at this N, BCa bootstrap over instances ({resamples} resamples, "
        f"seed {seed})."
    )
    yield from _too_small(table)
    yield from _saturated(table)
    yield from _other_n(table)
    yield from _constant(table)
    yield from _synthetic(table)
    yield from _not_scored(conversations)
    yield from _protocols(conversations)
    yield from _cost(conversations, money)


def shared_pairs(mcnemar: pd.DataFrame) -> Iterable[str]:
    """A note where McNemar's test pairs several runs of an instance."""
    if len(mcnemar) and mcnemar["note"].any():
        yield (
            "McNemar's test (see --md, --html): exact and corrected p take pairs as independent. Where an instance has "
            "several they are too small: read p by instance."
        )


def _too_small(table: pd.DataFrame) -> Iterable[str]:
    instances, runs = int(table["instances"].min()), int(table["runs_min"].min())
    reasons = []
    if instances < measures.FEW_INSTANCES:
        reasons.append(f"{_plural(instances, 'instance')} where at least {measures.FEW_INSTANCES} are needed")
    if runs < measures.FEW_RUNS:
        reasons.append(f"N = {runs} where at least {measures.FEW_RUNS} are needed")
    if reasons:
        yield f"TOO SMALL FOR INFERENCE: some row has {' and '.join(reasons)}. Do not draw conclusions from its numbers."


def _saturated(table: pd.DataFrame) -> Iterable[str]:
    if table["sd_runs"].notna().any():
        yield (
            "On binary scores U90_10 saturates (N = 10: it is 100 for 2 to 8 successes). σ splits the spread of scores into "
            "that between instances and that between runs of one instance; it neither saturates nor depends on N "
            "(beta-binomial for binary scores, one-way random effects for graded ones)."
        )


def _other_n(table: pd.DataFrame) -> Iterable[str]:
    if table["runs_min"].min() != table["runs_max"].max():
        yield (
            "N is not the same everywhere. A90 and U90_10 depend on N: do not compare rows with another N "
            "(analysis.measures.common_runs cuts to a common one)."
        )


def _constant(table: pd.DataFrame) -> Iterable[str]:
    if any("constant" in set(table[name]) for name in table if str(name).endswith("_note")):
        yield "Limits are missing where every instance has the same value: there is no spread to estimate them from."


def _synthetic(table: pd.DataFrame) -> Iterable[str]:
    if made := sorted({name for name in table["assistant"] if str(name).startswith(SYNTHETIC)}):
        yield f"SYNTHETIC: {', '.join(made)} is a formula with known parameters, no language model."


def _not_scored(conversations: pd.DataFrame) -> Iterable[str]:
    missing = int(conversations["score"].isna().sum())
    if missing:
        whole = len(conversations)
        over_all, over_scored = conversations["score"].fillna(0).mean(), conversations["score"].mean()
        both = f"mean score {100 * over_all:.1f} over all, "
        both += f"{100 * over_scored:.1f} over scored" if missing < whole else "none over scored"
        yield f"{missing} of {whole} conversations are not scored (no fault of the assistant): {both}. P̄ is over scored ones."
    failed = int((conversations["ended"] == "assistant").sum())
    if failed:
        yield f"{_plural(failed, 'conversation')} failed by the assistant's own doing and count as 0."


def _protocols(conversations: pd.DataFrame) -> Iterable[str]:
    protocols = sorted(conversations["protocol"].dropna().unique())
    if len(protocols) > 1:
        yield f"MIXED PROTOCOLS {', '.join(protocols)}: rows of another protocol are not comparable."


def _cost(conversations: pd.DataFrame, money: Paid) -> Iterable[str]:
    if money.unpriced and not money.dollars:
        yield "Cost: unpriced (the price of these models is not known)."
        return
    others = f"; {_plural(money.unpriced, 'conversation')} more unpriced" if money.unpriced else ""
    shared = (
        " Rows show what a mode costs standing alone; the total counts shared turns once."
        if conversations["parent"].notna().any()
        else ""
    )
    yield f"Cost: ${money.dollars:.4f} in all, tries that failed included{others}.{shared}"


def _plural(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
