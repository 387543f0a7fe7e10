"""The nouns of the lower half: what is said (`Message`, `Reply`), what is asked (`Shard`, `Instance`), how it was
answered (`Score`).

All are frozen `msgspec` structs: they are checked when read from JSON, cheap to make, and cannot change under a reader.
Sources: shards and instances as in "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025, sections 3 and App. B).
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

#: The seven classes of an assistant's reply (paper, Table 8).
TurnClass: TypeAlias = Literal[
    "answer_attempt", "clarification", "interrogation", "discussion", "hedge", "refuse", "missing"
]
TURN_CLASSES: tuple[TurnClass, ...] = (
    "answer_attempt",
    "clarification",
    "interrogation",
    "discussion",
    "hedge",
    "refuse",
    "missing",
)


class ToolCall(msgspec.Struct, frozen=True):
    """One function call a model asked for. `arguments` is the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing said. `name` and `tool_call_id` belong to tool results."""

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one call. `estimated` is set when the provider did not say and we counted."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cached: int = 0
    estimated: bool = False


class Retry(msgspec.Struct, frozen=True):
    """One failed try of a call that was made again: why, and how long we waited (seconds)."""

    cause: str
    waited: float


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a model answered, one shape for every provider.

    Attributes:
        messages: what the model said, usually one assistant message; an agent may say several.
        finish: `stop`, `length`, `tool_calls`, `content_filter`, `empty` (nothing at all came back) or `unclosed_thinking`.
        reasoning: the model's thinking, kept apart from its answer and never shown to another party.
        usage: tokens. `cost`: US dollars, or None when the price is unknown (never 0 for unknown).
        seconds: wall time of the try that succeeded.
        logprobs: log probability of each output token, where asked for and given.
    """

    messages: tuple[Message, ...]
    model: str = ""
    finish: str = "stop"
    reasoning: str = ""
    usage: Usage = Usage()
    cost: float | None = None
    seconds: float = 0.0
    retries: tuple[Retry, ...] = ()
    logprobs: tuple[float, ...] = ()

    @property
    def text(self) -> str:
        """All the model said, in order, tool results left out."""
        return "\n".join(m.content for m in self.messages if m.role == "assistant" and m.content)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls of the last message."""
        return self.messages[-1].tool_calls if self.messages else ()


class Options(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a call is sampled and shaped. None leaves the provider's default.

    Attributes:
        schema: a JSON schema the reply has to follow; strings in it carry a maximal length (small local models loop).
        tools: OpenAI-style function schemas.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    schema: Mapping[str, Any] | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    logprobs: bool = False


class Ask(Protocol):
    """A model already bound to its role, place and journal: the only way a task, a judge or an intervention meets one."""

    def __call__(self, messages: Sequence[Message], options: Options = ...) -> Awaitable[Reply]: ...


class Shard(msgspec.Struct, frozen=True):
    """One piece of an instruction. The first of an instance is its intent."""

    id: int
    text: str


class Instance(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One problem: the instruction, whole and in shards, and what a right answer is.

    Attributes:
        id: unique within a dataset. `task`: name of the task that reads and scores it.
        instruction: the fully specified instruction.
        target: the right answer in the task's own form (math: a number as text).
        facts: latent values the instruction was made from (generated instances).
        strata: what to group results by (difficulty, family, …).
        pair: instances with the same pair id are the same problem asked in different ways.
        variants: number of shards -> the same instruction merged to so many (GRADUAL).
        data: all else the task needs (schema, functions, tests, documents, …).
        provenance: how the shards came about (`shardtalk shard`); no part of the problem, so not of its digest.
    """

    id: str
    task: str
    shards: tuple[Shard, ...]
    instruction: str
    target: Any = None
    facts: dict[str, Any] = {}
    strata: dict[str, str | int | float] = {}
    pair: str | None = None
    variants: dict[str, tuple[Shard, ...]] = {}
    data: dict[str, Any] = {}
    provenance: dict[str, Any] = {}

    def digest(self) -> str:
        """Content hash: two instances with the same digest are the same problem, wherever they were read."""
        content = msgspec.structs.replace(self, provenance={})
        return hashlib.sha256(_canonical.encode(content)).hexdigest()[:16]


class Script(msgspec.Struct, frozen=True):
    """A presentation of an instance written out: what is given, what is asked.

    Attributes:
        system: the system text. `lines`: messages in order; those marked True are said by the user and answered by the
            assistant under test, the others stand in the transcript as they are. The last line is answered.
        tools: OpenAI-style schemas of the functions the assistant may call in this presentation.
    """

    system: str
    lines: tuple[tuple[Message, bool], ...]
    tools: tuple[Mapping[str, Any], ...] = ()


class Score(msgspec.Struct, frozen=True, omit_defaults=True):
    """How good one answer is.

    Attributes:
        value: in [0, 1]. `correct`: what ends a conversation.
        status: `scored`; `no_answer` (nothing to score); `unreadable` (an answer that is not in the task's form);
            `timeout`, `memory`, `error` (a generated program that failed by itself). A fault of *ours* (missing database,
            failing gold query) is raised as `ScorerFailure`, never scored.
        details: what a reader needs to understand the value; JSON types only.
    """

    value: float
    correct: bool
    status: str = "scored"
    details: dict[str, Any] = {}

    def __post_init__(self) -> None:
        if not 0.0 <= self.value <= 1.0:  # also catches NaN
            raise ValueError(f"a score lies in [0, 1], not {self.value!r}")


class ScorerFailure(Exception):
    """The scorer itself could not work (its data or machinery is at fault): the conversation is owed again, never scored 0."""


_canonical = msgspec.json.Encoder(order="deterministic")

Scorer: TypeAlias = Callable[[str, Instance], Awaitable[Score]]
