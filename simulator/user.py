"""The simulated user: what it knows (`View`), what it says next (`Utterance`), and the policies that decide it.

Source: "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025), section 3.2 and App. D: a lazy user who reveals at
most one shard a turn. The graph itself says the first shard as it stands; a policy speaks from the second turn on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import msgspec

from simulator import guard
from simulator.draft import NOTHING, Draft, chosen, longest, was_asked
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

    It is shown what the paper's user is shown, no more of it than it needs: what the user said, the end of the assistant's
    last reply, and the shards still untold. A draft the guard objects to is asked for again with the objections, for the
    same shard; after that the shard is said as written.
    """

    name: ClassVar[str] = "llm"
    needs_model: ClassVar[bool] = True
    prompts: ClassVar[tuple[str, ...]] = ("user", "user-example", "user-example-answer", "user-turn", "user-again")

    async def speak(self, view: View, ask: Ask) -> Utterance:
        asked, schema = _turn(view), _schema(view.unrevealed, nothing=was_asked(view.said))
        shard = view.unrevealed[0]
        violations: list[str] = []
        for _ in range(DRAFTS):
            reply = await ask(_messages(asked), Options(schema=schema))
            draft, objections = read_draft(reply, view)
            if draft and not objections:
                return Utterance(draft.text, draft.shard.id if draft.shard else None, self.name, tuple(violations))
            if draft and draft.shard:
                shard = draft.shard
            violations += objections
            asked, schema = _again(shard, objections), _schema([shard], nothing=False)
        return Utterance(shard.text, shard.id, "fallback", tuple(violations))


USERS: dict[str, User] = {"verbatim": VerbatimUser(), "llm": LlmUser()}

#: How many drafts a model may write for one turn.
DRAFTS = 2
#: How much of the assistant's reply the user is shown (characters): what it asks for stands at its end.
REPLY_END = 600


# -- what is asked ------------------------------------------------------------------------------------------------


def _messages(asked: str) -> list[Message]:
    """The constant part first, so that a provider can cache it; the example is a turn of its own, which weak models need."""
    system, example, answer = (
        prompt("simulator", name).fill() for name in ("user", "user-example", "user-example-answer")
    )
    return [Message("system", system), Message("user", example), Message("assistant", answer), Message("user", asked)]


def _turn(view: View) -> str:
    replies = [message.content for message in view.said if message.role == "assistant"]
    return prompt("simulator", "user-turn").fill(
        said="\n".join(f"- {message.content}" for message in view.said if message.role == "user"),
        reply=replies[-1].strip()[-REPLY_END:] if replies else "",
        untold="\n".join(map(_listed, view.unrevealed)),
    )


def _again(shard: Shard, objections: Sequence[str]) -> str:
    """The second request shows neither the conversation nor the refused draft: a weak model would copy from them again."""
    why = "\n".join(f"- {guard.advice(objection)}" for objection in objections)
    return prompt("simulator", "user-again").fill(untold=_listed(shard), objections=why)


def _listed(shard: Shard) -> str:
    return f"{shard.id}: {shard.text}"


def _schema(tellable: Sequence[Shard], *, nothing: bool) -> dict[str, Any]:
    """The id comes first, so that a small model settles on a fact before it writes; it can only be one that may be told."""
    most = max(len(shard.text) for shard in tellable)
    fields = {
        "shard_id": {"enum": [*(shard.id for shard in tellable), *([NOTHING] if nothing else [])]},
        "response": {"type": "string", "maxLength": longest(most)},
    }
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


# -- what is read -------------------------------------------------------------------------------------------------


def read_draft(reply: Reply, view: View) -> tuple[Draft | None, tuple[str, ...]]:
    """What a model wants the user to say, and what speaks against it; no draft if it cannot be read."""
    try:
        told = read_object(reply.text, reply.finish)
        shard_id, text = field(told, "shard_id"), field(told, "response")
        if not isinstance(text, str):
            raise Malformed("no_value", 'The field "response" is a text.')
        shard = chosen(shard_id, view.unrevealed)
    except Malformed as malformed:
        return None, (f"malformed: {malformed}",)
    except LookupError:
        return None, (f"unknown_id: {str(shard_id)[:40]}",)
    target = view.instance.target
    draft = Draft(
        text=text.strip(),
        shard=shard,
        others=tuple(other for other in view.unrevealed if other is not shard),
        revealed=view.revealed,
        said=view.said,
        answer=str(target) if isinstance(target, str | int | float) else "",
    )
    return draft, guard.check(draft)
