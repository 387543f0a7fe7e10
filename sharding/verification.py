"""Verification by simulation: do the shards, said at once, carry as much as the instruction?

The rule of "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025, App. C): of N runs each, CONCAT and
SHUFFLE-CONCAT have to reach 80 % of FULL. It is applied run by run and stops when no further run could change the outcome,
so the decision is that of all N runs, at a part of their cost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

import msgspec

FULL, RESTATED = "full", ("concat", "shuffle_concat")
MODES = (FULL, *RESTATED)
#: What the restatements have to reach of FULL.
SHARE = 0.8
_EXACT = 1e-9

Outcome: TypeAlias = Literal["accepted", "refused", "unsolved"]
#: The score in [0, 1] of one run: (mode, number of the run from 0).
Play: TypeAlias = Callable[[str, int], Awaitable[float]]


class Verification(msgspec.Struct, frozen=True):
    """The figures. `scores`: of the runs made, by mode; `planned`: runs a mode; `outcome`: `unsolved` if FULL scores 0."""

    planned: int
    scores: dict[str, tuple[float, ...]]
    outcome: Outcome | None = None

    @property
    def runs(self) -> int:
        """Runs made, of all modes."""
        return sum(map(len, self.scores.values()))

    def mean(self, mode: str) -> float | None:
        """The mean score so far."""
        scores = self.scores[mode]
        return sum(scores) / len(scores) if scores else None

    def lowest(self, mode: str) -> float:
        """The mean of all planned runs, if those to come score 0."""
        return sum(self.scores[mode]) / self.planned

    def highest(self, mode: str) -> float:
        """The mean of all planned runs, if those to come score 1."""
        return self.lowest(mode) + 1 - len(self.scores[mode]) / self.planned

    def summary(self) -> dict[str, Any]:
        """What is kept of it, in JSON types."""
        means = {mode: self.mean(mode) for mode in self.scores}
        runs = {mode: len(scores) for mode, scores in self.scores.items()}
        return {"outcome": self.outcome, "planned": 3 * self.planned, "made": self.runs, "runs": runs, "means": means}

    def after(self, mode: str, score: float) -> Verification:
        """The figures after one more run."""
        more = Verification(self.planned, {**self.scores, mode: (*self.scores[mode], score)})
        return msgspec.structs.replace(more, outcome=settled(more))


async def verify(play: Play, planned: int) -> Verification:
    """Runs what is needed, one after the other."""
    figures = Verification(planned, dict.fromkeys(MODES, ()))
    while figures.outcome is None:
        mode = next_mode(figures)
        figures = figures.after(mode, await play(mode, len(figures.scores[mode])))
    return figures


def settled(figures: Verification) -> Outcome | None:
    """The outcome that no further run can change, or None. Nothing can be compared with a FULL that never scores."""
    if figures.highest(FULL) < _EXACT:
        return "unsolved"
    if any(figures.highest(mode) < SHARE * figures.lowest(FULL) - _EXACT for mode in RESTATED):
        return "refused"
    reached = all(figures.lowest(mode) >= SHARE * figures.highest(FULL) - _EXACT for mode in RESTATED)
    return "accepted" if reached and figures.lowest(FULL) > 0 else None


def next_mode(figures: Verification) -> str:
    """The mode to run next: FULL until it scores, then the restatements; one that falls behind in turn with FULL."""
    open_modes = [mode for mode in MODES if len(figures.scores[mode]) < figures.planned]
    behind = [mode for mode in RESTATED if figures.highest(mode) < SHARE * figures.highest(FULL) - _EXACT]
    if not any(figures.scores[FULL]):
        wanted = [FULL]
    elif behind:
        wanted = [FULL, *behind]
    else:
        wanted = list(RESTATED)
    fit = [mode for mode in open_modes if mode in wanted] or open_modes
    return min(fit, key=lambda mode: len(figures.scores[mode]))
