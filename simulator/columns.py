"""The typed columns of a store: what analysis groups by, filters on and averages. One list a table, one line a column.

The store makes its tables from these lists, fills them from records, and frames read their types and meanings here; a column
exists in one place. Scores lie in 0 to 1, costs are US dollars (NULL: unpriced), times are seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from simulator.record import Call, Record, Turn

#: SQLite type and pandas dtype of a kind of column; every kind can be missing.
KINDS = {
    "text": ("TEXT", "str"),
    "int": ("INTEGER", "Int64"),
    "float": ("REAL", "float64"),
    "bool": ("INTEGER", "boolean"),
}


class Column(NamedTuple):
    """A name, a kind (see `KINDS`), how the value comes out of the row's source, and what it means."""

    name: str
    kind: str
    value: Callable[[Any], Any]
    meaning: str


def _sampling(record: Record, role: str, what: str) -> Any:
    return record.sampling.get(role, {}).get(what)


def _cost(calls: tuple[Call, ...]) -> float | None:
    """The sum, or None as soon as one call is unpriced: part of a price is not a price."""
    costs = [call.cost for call in calls]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def _own(record: Record) -> tuple[Call, ...]:
    return tuple(call for call in record.calls if not call.replayed)


def _tokens(calls: tuple[Call, ...]) -> int:
    return sum(call.usage.input + call.usage.output for call in calls)


def _of(role: str) -> Callable[[Record], tuple[Call, ...]]:
    return lambda record: tuple(call for call in record.calls if call.role == role)


def _role_cost(role: str) -> Callable[[Record], float | None]:
    calls = _of(role)
    return lambda record: _cost(calls(record))


def _revealed(record: Record) -> int:
    return len({id for turn in record.turns for id in turn.reveals})


ROLES = ("assistant", "user", "judge", "scorer", "intervention")

CONVERSATION_COLUMNS: tuple[Column, ...] = (
    Column("key", "text", lambda r: r.key, "identity of the conversation: content hash of all that was asked for"),
    Column("parent", "text", lambda r: r.parent, "key of the conversation this one continues (RECAP)"),
    Column("final", "bool", lambda r: r.final, "never run again"),
    Column("task", "text", lambda r: r.task, "task name"),
    Column("instance", "text", lambda r: r.instance.id, "instance id"),
    Column("pair", "text", lambda r: r.instance.pair, "same problem asked in another way"),
    Column("strata", "text", lambda r: msgspec.json.encode(r.instance.strata).decode(), "grouping values, JSON"),
    Column("shards", "int", lambda r: len(r.instance.shards), "shards of the instance"),
    Column("mode", "text", lambda r: r.mode, "mode label"),
    Column("policy", "text", lambda r: r.policy, "user policy the label stands for"),
    Column("interventions", "text", lambda r: "+".join(r.interventions), "interventions, joined by +"),
    Column("assistant", "text", lambda r: r.assistant, "model under test"),
    Column("user", "text", lambda r: r.user, "simulated user: verbatim, or llm and its model"),
    Column("judge", "text", lambda r: r.judge, "judge: rules, or llm and its model"),
    Column("temperature", "float", lambda r: _sampling(r, "assistant", "temperature"), "of the assistant"),
    Column("user_temperature", "float", lambda r: _sampling(r, "user", "temperature"), "of the LLM user"),
    Column("repeat", "int", lambda r: r.repeat, "index of the run of this instance, from 0"),
    Column("ended", "text", lambda r: r.ended, "solved, exhausted, turn_cap, or the party that failed"),
    Column("cause", "text", lambda r: r.cause, "cause of a failure"),
    Column("score", "float", lambda r: r.score, "headline score; NULL while a failed conversation is owed"),
    Column("correct", "bool", lambda r: r.correct, "headline answer correct"),
    Column("first_correct", "float", lambda r: r.first_correct, "score of the first correct attempt"),
    Column("last_attempt", "float", lambda r: r.last_attempt, "score of the last attempt"),
    Column("last_turn", "float", lambda r: r.last_turn, "score of the last turn; 0 if it held no attempt"),
    Column("attempts", "int", lambda r: r.attempts, "answer attempts"),
    Column("turns", "int", lambda r: r.inherited + len(r.turns), "turns, those of a continued parent included"),
    Column("inherited", "int", lambda r: r.inherited, "turns that belong to the parent"),
    Column("revealed", "int", _revealed, "shards revealed in this record's own turns"),
    Column("violations", "int", lambda r: sum(len(t.violations) for t in r.turns), "guard's objections"),
    Column("fallbacks", "int", lambda r: sum(t.said_by == "fallback" for t in r.turns), "shards said verbatim instead"),
    Column("calls", "int", lambda r: len(r.calls), "model calls of all roles"),
    Column("retries", "int", lambda r: sum(len(c.retries) for c in r.calls), "tries made again"),
    Column("tokens_in", "int", lambda r: sum(c.usage.input for c in r.calls), "input tokens, all roles"),
    Column("tokens_out", "int", lambda r: sum(c.usage.output for c in r.calls), "output tokens, all roles"),
    Column("estimated", "bool", lambda r: any(c.usage.estimated for c in r.calls), "some tokens were counted by us"),
    Column("cost", "float", lambda r: _cost(r.calls), "all roles; NULL if any call is unpriced"),
    Column("spent", "float", lambda r: _cost(_own(r)), "cost that no earlier row of this key holds"),
    Column("spent_tokens", "int", lambda r: _tokens(_own(r)), "tokens that no earlier row of this key holds"),
    *(Column(f"cost_{role}", "float", _role_cost(role), f"cost of the {role}'s calls") for role in ROLES),
    Column("unpriced", "int", lambda r: sum(c.cost is None for c in r.calls), "calls without a known price"),
    Column("started", "float", lambda r: r.started, "Unix time of the first step"),
    Column("seconds", "float", lambda r: r.seconds, "wall time"),
    Column("seed", "int", lambda r: r.provenance.get("seed"), "seed of the experiment"),
    Column("protocol", "text", lambda r: r.provenance.get("protocol"), "version of the protocol"),
)


class TurnRow(NamedTuple):
    """What a turn's columns are made from: the turn, its number (from 1, a parent's turns counted), what came before."""

    number: int
    turn: Turn
    revealed: int
    attempt: int | None


def _judged(row: TurnRow, what: str) -> Any:
    return getattr(row.turn.judgement, what, None)


def _scored(row: TurnRow, what: str) -> Any:
    return getattr(_judged(row, "score"), what, None)


def _detail(row: TurnRow, name: str) -> Any:
    return (_scored(row, "details") or {}).get(name)


def _joined(names: Sequence[str] | None) -> str | None:
    return ", ".join(names) if names else None


def _as_json(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


TURN_COLUMNS: tuple[Column, ...] = (
    Column("turn", "int", lambda t: t.number, "number of the turn, from 1"),
    Column("said_by", "text", lambda t: t.turn.said_by, "verbatim, llm, fallback, script or intervention"),
    Column(
        "shard",
        "int",
        lambda t: t.turn.reveals[0] if len(t.turn.reveals) == 1 else None,
        "the one shard this turn said",
    ),
    Column("revealed", "int", lambda t: t.revealed, "shards revealed up to and with this turn"),
    Column("label", "text", lambda t: _judged(t, "label"), "class of the reply"),
    Column("judged_by", "text", lambda t: _judged(t, "by"), "judge"),
    Column("attempt", "int", lambda t: t.attempt, "number of the answer attempt, from 1; NULL if it is none"),
    Column("answer", "text", lambda t: _judged(t, "answer"), "extracted answer"),
    Column("score", "float", lambda t: _scored(t, "value"), "score of the attempt"),
    Column("correct", "bool", lambda t: _scored(t, "correct"), "attempt correct"),
    Column("status", "text", lambda t: _scored(t, "status"), "status of the score"),
    Column(
        "errors",
        "text",
        lambda t: _joined(_detail(t, "errors")),
        "what kind of mistake the task names, joined by a comma",
    ),
    Column("parts", "text", lambda t: _as_json(_detail(t, "parts")), "scores of the parts of the answer, JSON"),
    Column("finish", "text", lambda t: t.turn.finish, "how the reply ended: stop, length, content_filter, …"),
    Column("user_chars", "int", lambda t: len(t.turn.utterance), "length of what the user said, characters"),
    Column("reply_chars", "int", lambda t: len(t.turn.reply), "length of the reply, characters"),
    Column("answer_chars", "int", lambda t: len(_judged(t, "answer") or "") or None, "length of the extracted answer"),
    Column("reasoning_chars", "int", lambda t: len(t.turn.reasoning), "length of the reasoning, characters"),
    Column("violations", "int", lambda t: len(t.turn.violations), "guard's objections to the user's drafts"),
)


def turn_rows(record: Record) -> Iterator[TurnRow]:
    """The rows of a record's own turns; the counts of shards and attempts start with its first own turn."""
    revealed: set[int] = set()
    attempts = 0
    for number, turn in enumerate(record.turns, record.inherited + 1):
        revealed.update(turn.reveals)
        is_attempt = turn.judgement is not None and turn.judgement.label == "answer_attempt"
        attempts += is_attempt
        yield TurnRow(number, turn, len(revealed), attempts if is_attempt else None)
