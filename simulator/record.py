"""`Record`: one finished or failed conversation, with everything needed to score and judge it again offline.

A light leaf: no graph, no model library, so a notebook opens a store without importing either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from simulator import record_html
from tasks.nouns import Instance, Message, Reply, Retry, Score, TurnClass, Usage

#: Why a conversation ended. The first three are regular ends; the rest name the party at fault.
REGULAR_ENDS = ("solved", "exhausted", "turn_cap")
#: Failures of these parties are owed again, never scored. A failure of the assistant is final and scores 0.
OWED_AGAIN = ("user", "judge", "scorer", "infrastructure", "budget")

#: Bump when a record of today cannot be read by the code of yesterday.
SCHEMA_VERSION = 1


class Call(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One model call as it was paid for.

    Attributes:
        role: assistant, user, judge, scorer or intervention. `site`: its place in the conversation (`t3`, `t3.classify`).
        cost: US dollars; None when the price is unknown. `seconds`: wall time of the successful try.
        replayed: an earlier, failed record of the same conversation already holds this call; it was paid once.
    """

    role: str
    site: str
    model: str
    finish: str = "stop"
    usage: Usage = Usage()
    cost: float | None = None
    seconds: float = 0.0
    retries: tuple[Retry, ...] = ()
    replayed: bool = False


class Journalled(msgspec.Struct, frozen=True):
    """A paid reply of a conversation that has not ended.

    Attributes:
        request: digest of the request it answered (a changed request is not replayed).
        counted: an earlier record of the conversation, a failed one, already holds its cost.
    """

    request: str
    reply: Reply
    counted: bool


class Judgement(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a judge made of one reply.

    Attributes:
        by: `rules`, `llm`, `llm-paper` or `task` (tasks whose every reply is an attempt).
        label: one of the seven classes. `answer`: what was extracted, None if it was no attempt or nothing was found.
        score: of the answer; None where it was not scored.
    """

    by: str
    label: TurnClass
    answer: str | None = None
    score: Score | None = None


class Turn(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One exchange.

    Attributes:
        said_by: `verbatim`, `llm`, `fallback` (the LLM user broke the rules twice, so the shard was said as written),
            `script`, or `intervention`.
        reveals: ids of the shards this turn said: one in SHARDED, all in FULL and CONCAT, none in a turn that adds nothing.
        utterance: what the user said, before any intervention changed it.
        messages: what entered the transcript, in order: given messages, the user's text, all the assistant said, tool results.
        context: what the assistant saw, where an intervention made it differ from the transcript so far.
        violations: what the guard objected to in the LLM user's drafts.
    """

    said_by: str
    utterance: str
    messages: tuple[Message, ...]
    reveals: tuple[int, ...] = ()
    context: tuple[Message, ...] | None = None
    violations: tuple[str, ...] = ()
    finish: str = "stop"
    reasoning: str = ""
    judgement: Judgement | None = None

    @property
    def reply(self) -> str:
        """What the assistant said in this turn."""
        return spoken_reply(self.messages)


def spoken_reply(messages: Sequence[Message]) -> str:
    """What the assistant said after the user spoke last, tool results left out; words given to it before are not its own."""
    spoke = max((index for index, message in enumerate(messages) if message.role == "user"), default=-1)
    return "\n".join(m.content for m in messages[spoke + 1 :] if m.role == "assistant" and m.content)


class Record(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One conversation.

    Attributes:
        key: identity, a content hash of all that was asked for. `parent`: key of the conversation this one continues; its
            `turns` then hold only the suffix, and `inherited` says how many turns of the parent come first.
        forked: key of the conversation this one is forked from: the first `shared` of its `turns` are those of that one, whose
            record holds their calls.
        mode: the label; `policy` and `interventions` what it stands for.
        assistant, user, judge: model names; `sampling` their settings by role.
        ended: `solved`, `exhausted`, `turn_cap`, or the party whose failure ended it; `cause`, `detail` say more then.
        score: the headline value in [0, 1] (SHARDED: the last scored attempt, which a correct one is by construction);
            None for a conversation that failed and is owed again. No attempt at all counts 0.
        first_correct, last_attempt, last_turn: the same conversation scored in the three ways of the design (None: no such).
        provenance: versions, prompt digests, seed, isolation, … JSON types only.
    """

    key: str
    task: str
    instance: Instance
    mode: str
    policy: str
    repeat: int
    assistant: str
    parent: str | None = None
    inherited: int = 0
    forked: str | None = None
    shared: int = 0
    interventions: tuple[str, ...] = ()
    user: str = "verbatim"
    judge: str = "rules"
    sampling: dict[str, dict[str, Any]] = {}
    system: str = ""
    turns: tuple[Turn, ...] = ()
    calls: tuple[Call, ...] = ()
    ended: str = "exhausted"
    cause: str = ""
    detail: str = ""
    score: float | None = None
    correct: bool | None = None
    first_correct: float | None = None
    last_attempt: float | None = None
    last_turn: float | None = None
    attempts: int = 0
    started: float = 0.0
    seconds: float = 0.0
    provenance: dict[str, Any] = {}

    @property
    def failed(self) -> bool:
        """Ended by somebody's failure rather than regularly."""
        return self.ended not in REGULAR_ENDS

    @property
    def final(self) -> bool:
        """Never run again: ended regularly, or failed by the assistant's own doing."""
        return self.ended not in OWED_AGAIN

    def transcript(self) -> Iterator[Message]:
        """System text and all messages of this record's own turns, in order (a continued prefix is in the parent)."""
        if self.system:
            yield Message("system", self.system)
        for turn in self.turns:
            yield from turn.messages

    def _repr_html_(self) -> str:
        """How a notebook shows it."""
        return record_html.page(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How IPython prints it: in a line, since a notebook keeps that text beside the HTML."""
        printer.text(record_html.line(self))
