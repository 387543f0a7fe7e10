"""The simulated user: what it knows (`View`), what it says next (`Utterance`), and the policies that decide it.

Source: "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025), section 3.2 and App. D: a lazy user who reveals at
most one shard a turn. The graph itself says the first shard as it stands; a policy speaks from the second turn on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import msgspec

from simulator import guard
from simulator.structured import Malformed, field, read_object
from tasks.nouns import Ask, Instance, Message, Options, Reply, Shard
from tasks.prompts import prompt


class View(msgspec.Struct, frozen=True):
    """What a user knows when it is its turn.

    Attributes:
        said: the conversation without the system text, the user's own texts as the user said them (before any intervention).
        revealed, unrevealed: the instance's shards in its own order; a policy is only asked while something is unrevealed.
    """

    instance: Instance
    said: tuple[Message, ...]
    revealed: tuple[Shard, ...]
    unrevealed: tuple[Shard, ...]


class Utterance(msgspec.Struct, frozen=True):
    """What the user says.

    Attributes:
        revealed: id of the shard it reveals, or None.
        said_by: `verbatim` (the policy of that name), `llm`, or `fallback` (the model broke the rules, so the
            shard was said as written).
        violations: what the guard objected to in the drafts, in order.
    """

    text: str
    revealed: int | None
    said_by: str
    violations: tuple[str, ...] = ()


class User(Protocol):
    """A policy of what to say next.

    Attributes:
        name: as in `--user`. `needs_model`: it calls `ask`. `prompts`: templates it uses, part of a run's identity.
    """

    name: ClassVar[str]
    needs_model: ClassVar[bool]
    prompts: ClassVar[tuple[str, ...]]

    async def speak(self, view: View, ask: Ask) -> Utterance:
        """The next utterance; it reveals at most one shard."""
        ...


class VerbatimUser:
    """Says the next unrevealed shard, in order and as written."""

    name: ClassVar[str] = "verbatim"
    needs_model: ClassVar[bool] = False
    prompts: ClassVar[tuple[str, ...]] = ()

    async def speak(self, view: View, ask: Ask) -> Utterance:
        shard = view.unrevealed[0]
        return Utterance(shard.text, shard.id, said_by=self.name)


class LlmUser:
    """The paper's user: a model picks one untold shard and says it in other words, watched by the guard.

    It is shown what the paper's user is shown, no more of it than it needs: what the user said, the assistant's last reply
    (a long one without its middle), and the shards still untold. A draft the guard objects to is asked for again with the
    objections; after that the shard is said as written.
    """

    name: ClassVar[str] = "llm"
    needs_model: ClassVar[bool] = True
    prompts: ClassVar[tuple[str, ...]] = ("user", "user-turn", "user-again")

    async def speak(self, view: View, ask: Ask) -> Utterance:
        opening = [Message("system", prompt("simulator", "user").fill()), Message("user", _turn(view))]
        messages, options = opening, Options(schema=_schema(view))
        shard = view.unrevealed[0]
        violations: list[str] = []
        for _ in range(DRAFTS):
            reply = await ask(messages, options)
            draft, objections = read_draft(reply, view)
            if draft and not objections:
                revealed = draft.shard.id if draft.shard else None
                return Utterance(draft.text, revealed, self.name, tuple(violations))
            if draft and draft.shard:
                shard = draft.shard
            violations += objections
            messages = [*opening, *_again(reply, objections)]
        return Utterance(shard.text, shard.id, "fallback", tuple(violations))


USERS: dict[str, User] = {"verbatim": VerbatimUser(), "llm": LlmUser()}

#: How many drafts a model may write for one turn.
DRAFTS = 2
#: A longer reply is shown without its middle: what it asks for stands at its end, what it is about at its start.
HEAD, TAIL = 300, 700


# -- what is asked ------------------------------------------------------------------------------------------------


def _turn(view: View) -> str:
    replies = [message.content for message in view.said if message.role == "assistant"]
    return prompt("simulator", "user-turn").fill(
        said="\n".join(f"- {message.content}" for message in view.said if message.role == "user"),
        reply=shortened(replies[-1]) if replies else "",
        untold="\n".join(f"{shard.id}: {shard.text}" for shard in view.unrevealed),
    )


def shortened(text: str) -> str:
    """A long text without its middle."""
    return text if len(text) <= HEAD + TAIL + 20 else f"{text[:HEAD].rstrip()}\n[…]\n{text[-TAIL:].lstrip()}"


def _schema(view: View) -> dict[str, Any]:
    """The id comes first, so that a small model settles on a fact before it writes; it can only be one that may be told."""
    nothing = [guard.NOTHING] if guard.was_asked(view.said) else []
    longest = max(len(shard.text) for shard in view.unrevealed)
    fields = {
        "shard_id": {"enum": [*(shard.id for shard in view.unrevealed), *nothing]},
        "response": {"type": "string", "maxLength": guard.longest(longest)},
    }
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _again(reply: Reply, objections: Sequence[str]) -> list[Message]:
    why = "\n".join(f"- {guard.advice(objection)}" for objection in objections)
    asked = prompt("simulator", "user-again").fill(objections=why)
    return [Message("assistant", reply.text[:500] or "(nothing)"), Message("user", asked)]


# -- what is read -------------------------------------------------------------------------------------------------


def read_draft(reply: Reply, view: View) -> tuple[guard.Draft | None, tuple[str, ...]]:
    """What a model wants the user to say, and what speaks against it; no draft if it cannot be read."""
    try:
        told = read_object(reply.text, reply.finish)
        shard_id, text = field(told, "shard_id"), field(told, "response")
        if not isinstance(text, str):
            raise Malformed("no_value", 'The field "response" is a text.')
        shard = guard.chosen(shard_id, view.unrevealed)
    except Malformed as malformed:
        return None, (f"malformed: {malformed}",)
    except LookupError:
        return None, (f"unknown_id: {shard_id}",)
    target = view.instance.target
    draft = guard.Draft(
        text=text.strip(),
        shard=shard,
        others=tuple(other for other in view.unrevealed if other is not shard),
        revealed=view.revealed,
        said=view.said,
        answer=str(target) if isinstance(target, str | int | float) else "",
    )
    return draft, guard.check(draft)
