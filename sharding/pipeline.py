"""The pipeline: one compiled LangGraph graph that turns an instruction into a verified sharding.

    segment   the author cuts the instruction into pieces        check    the rules, and then the author, look at the step
    rephrase  the author words each piece as a shard             repair   the step is done again with the reasons, twice at most
    verify    simulations compare the shards with the instruction

After App. B and C of "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025), with checks after every step of a model.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypeAlias, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from sharding.authors import Author, Refused, Wording
from sharding.checks import certain, check
from sharding.nouns import Objection, Pieces, Sharding
from sharding.pieces import cut
from sharding.verification import Verification
from tasks.nouns import Shard

Status: TypeAlias = Literal["accepted", "review", "refused"]
Verifier: TypeAlias = Callable[[Sharding], Awaitable[Verification]]


@dataclass
class Draft:
    """What changes on the way.

    Attributes:
        step: under way. `said`: the author's words in it; `objections`: to it; `repairs`: how often it was done again.
        repaired: objections to earlier tries of any step.
    """

    instruction: str
    step: Literal["segment", "rephrase"] = "segment"
    pieces: Pieces | None = None
    sharding: Sharding | None = None
    said: str = ""
    objections: list[Objection] = field(default_factory=list)
    repaired: list[Objection] = field(default_factory=list)
    repairs: int = 0
    verification: Verification | None = None

    @property
    def status(self) -> Status:
        """What became of it: certain faults and failed simulations refuse, doubts ask for somebody who looks."""
        outcome = self.verification.outcome if self.verification else "accepted"
        if self.sharding is None or any(map(certain, self.objections)) or outcome == "refused":
            return "refused"
        return "review" if self.objections or outcome == "unsolved" else "accepted"

    @property
    def refused(self) -> Refused | None:
        """The last try of this step, if it is to be done again."""
        return Refused(self.said, self.objections) if self.objections else None


@dataclass(frozen=True)
class Desk:
    """The graph's context: who writes, and who simulates (None: nobody)."""

    author: Author
    verifier: Verifier | None = None


class Channels(TypedDict):
    """The graph's state."""

    draft: Draft


async def shard(instruction: str, desk: Desk) -> Draft:
    """Takes an instruction through the pipeline. Raises `Failure` or `Halt` of a call."""
    channels = await graph().ainvoke({"draft": Draft(instruction)}, {"recursion_limit": 50}, context=desk)
    draft: Draft = channels["draft"]
    return draft


@cache
def graph() -> CompiledStateGraph[Channels, Desk, Channels, Channels]:
    """The compiled graph."""
    builder = StateGraph(Channels, context_schema=Desk)
    builder.add_node("segment", segment)
    builder.add_node("rephrase", rephrase)
    builder.add_node("check", examine)
    builder.add_node("repair", repair)
    builder.add_node("verify", verify)
    builder.add_edge(START, "segment")
    builder.add_edge("segment", "check")
    builder.add_edge("rephrase", "check")
    builder.add_conditional_edges("check", _after_check, ["repair", "rephrase", "verify", END])
    builder.add_conditional_edges("repair", lambda state: state["draft"].step, ["segment", "rephrase"])
    builder.add_edge("verify", END)
    return builder.compile()


async def segment(state: Channels, *, runtime: Runtime[Desk]) -> Channels:
    """Cuts the instruction into pieces."""
    draft = state["draft"]
    proposal = await runtime.context.author.cut(draft.instruction, draft.refused)
    draft.said = proposal.said
    draft.pieces, draft.objections = cut(draft.instruction, proposal.pieces, proposal.request - 1)
    if proposal.problem:
        draft.objections = [Objection("unreadable", proposal.problem)]
    return state


async def rephrase(state: Channels, *, runtime: Runtime[Desk]) -> Channels:
    """Words each piece as a shard."""
    draft = state["draft"]
    assert draft.pieces is not None  # what the edge from `check` made sure of
    if draft.step == "segment":
        draft.step, draft.repairs = "rephrase", 0
    proposal = await runtime.context.author.word(draft.pieces, draft.refused)
    draft.said = proposal.said
    draft.sharding, draft.objections = _put_together(draft.pieces, proposal)
    return state


def _put_together(pieces: Pieces, proposal: Wording) -> tuple[Sharding | None, list[Objection]]:
    """The sharding, if every piece was worded once and the request first."""
    if proposal.problem:
        return None, [Objection("unreadable", proposal.problem)]
    used = [worded.piece - 1 for worded in proposal.shards]
    if sorted(used) != list(range(len(pieces.texts))) or used[0] != pieces.request:
        return None, [Objection("wrong_pieces", f"1 to {len(pieces.texts)}, number {pieces.request + 1} first")]
    shards = tuple(Shard(number, worded.text.strip()) for number, worded in enumerate(proposal.shards, 1))
    return Sharding(pieces.instruction, shards, tuple(pieces.texts[piece] for piece in used)), []


async def examine(state: Channels, *, runtime: Runtime[Desk]) -> Channels:
    """Looks at a step by rules; a sharding they have nothing against is compared by the author, too."""
    draft = state["draft"]
    if draft.sharding and not draft.objections:
        draft.objections = check(draft.sharding)
        if not draft.objections:
            found = await runtime.context.author.compare(draft.sharding)
            draft.objections = [] if found.complete else [Objection("incomplete", found.problem or found.missing)]
    return state


def _after_check(state: Channels, runtime: Runtime[Desk]) -> str:
    draft = state["draft"]
    if draft.objections and draft.repairs < runtime.context.author.repairs:
        return "repair"
    if draft.step == "segment":
        return END if draft.objections else "rephrase"
    return END if draft.status == "refused" else "verify"


async def repair(state: Channels) -> Channels:
    """Notes what is put right; the step is done again, with the reasons."""
    draft = state["draft"]
    draft.repairs += 1
    draft.repaired += draft.objections
    return state


async def verify(state: Channels, *, runtime: Runtime[Desk]) -> Channels:
    """Simulates, where somebody does."""
    draft, verifier = state["draft"], runtime.context.verifier
    if verifier and draft.sharding:
        draft.verification = await verifier(draft.sharding)
    return state
