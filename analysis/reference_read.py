"""Logs of the reference implementation become records.

Source: microsoft/lost_in_conversation (MIT), its log format as found in the released code and in two public forks. A log is a
JSON line a conversation with a `trace` of messages and log entries. What is read here beyond the format's own words:

- Old names of tasks and kinds of conversation (`NAMES`), and temperatures in suffixes (`sharded-at0.5-ut1.0`).
- A score is the number given; without one it is 1 or 0 by `is_correct`; without either the conversation made no attempt and
  counts 0. An evaluation without a number (an answer that could not be parsed) is a score of 0 with status `unreadable`.
- Tokens NaN are read as missing, scores are cut to 1 (BLEU gives 1.0000000000000004), contents null are empty replies.
- A log names no repeat: conversations of the same instance under the same setting are numbered in order of reading.
- A RECAP log repeats the whole SHARDED conversation. Where that is among the logs read, the record is its continuation.

A log does not hold its instance: that has to come from a dataset, or from what was `told` in all logs of the same instance.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from simulator.record import Call, Judgement, Record, Turn
from tasks.nouns import TURN_CLASSES, Instance, Message, Score, TurnClass
from tasks.rows import PUBLISHED_NAMES

#: kind of conversation in a log -> mode, user policy, interventions.
NAMES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "full": ("full", "full", ()),
    "concat": ("concat", "concat", ()),
    "shuffle-concat": ("shuffle_concat", "shuffle_concat", ()),
    "sharded": ("sharded", "sharded", ()),
    "lazy": ("sharded", "sharded", ()),
    "recap-concat": ("recap", "sharded", ("recap",)),
    "recap-full": ("recap_full", "sharded", ("recap_full",)),
    "snowball": ("snowball", "sharded", ("snowball",)),
    "snowball-stateful": ("snowball_stateful", "sharded", ("snowball_stateful",)),
}
PROTOCOL = "reference"

_TEMPERATURES = re.compile(r"-(?:t(?P<t>[\d.]+)|at(?P<at>[\d.]+)-ut(?P<ut>[\d.]+))$")
_RESTATED = re.compile(r"^\s*Just to reiterate.*?\n\s*Also,\s*", re.DOTALL)
_TIME = "%Y-%m-%d %H:%M:%S"
_EPSILON = 1e-9


class Kind(NamedTuple):
    """What a log's `conv_type` stands for."""

    mode: str
    policy: str
    interventions: tuple[str, ...]
    temperature: float | None
    user_temperature: float | None


def kind(conv_type: str) -> Kind:
    """`sharded-at0.5-ut1.0` is mode `sharded` at these temperatures; a kind we do not know is a mode of its own."""
    found = _TEMPERATURES.search(conv_type)
    name = conv_type[: found.start()] if found else conv_type
    mode = NAMES.get(name, (name.replace("-", "_"), "sharded", ()))
    given = found.groupdict() if found else {}
    at, ut = given.get("t") or given.get("at"), given.get("ut")
    return Kind(*mode, float(at) if at else None, float(ut) if ut else None)


def task_name(name: str) -> str:
    """The task's name of today."""
    return PUBLISHED_NAMES.get(name, "database" if name.startswith("database") else name)


def key(conv_id: str) -> str:
    """The record's key for a log's `conv_id`."""
    return hashlib.sha256(f"reference {conv_id}".encode()).hexdigest()[:32]


def identity(log: dict[str, Any]) -> str:
    """A log's `conv_id`, or a digest of one that has none."""
    return str(log.get("conv_id") or hashlib.sha256(msgspec.json.encode(_plain(log))).hexdigest())


def setting(log: dict[str, Any]) -> tuple[Any, ...]:
    """What has to be equal for two logs to be repeats of each other."""
    return tuple(
        log.get(name) for name in ("task", "task_id", "conv_type", "assistant_model", "user_model", "system_model")
    )


def check(log: dict[str, Any]) -> None:
    """Raises `TypeError` or `KeyError` when a log lacks what nothing can be said without."""
    for name in ("conv_type", "task", "task_id", "assistant_model"):
        if not isinstance(log[name], str):
            raise TypeError(f"{name} is {log[name]!r}, not a text")


def told(log: dict[str, Any]) -> dict[int, str]:
    """The shards a log reveals, by id, in the words of its user."""
    turns = [_turn(exchange) for exchange in _exchanges(log["trace"])]
    return {number: turn.utterance for turn in reversed(turns) for number in turn.reveals}


def fits(instance: Instance, log: dict[str, Any]) -> bool:
    """Whether a conversation was about this very sharding: another one of the same problem may have the same id.

    It has every shard that was revealed, and its first one was said as it stands (or, in one turn, is part of what was said).
    """
    opening = next((_flat(_text(entry)) for entry in log["trace"] if entry["role"] == "user"), "")
    said = _flat(instance.shards[0].text) in opening or _flat(instance.instruction) in opening
    return told(log).keys() <= {shard.id for shard in instance.shards} and said


def record(log: dict[str, Any], instance: Instance, repeat: int = 0, known: Collection[str] = ()) -> Record:
    """The record of one log. Raises `KeyError`, `TypeError`, `ValueError` or `AttributeError` for a log that is none.

    Args:
        repeat: its number among logs of the same `setting`.
        known: the `conv_id`s of all logs read, to find what a RECAP continues.
    """
    what, task, trace = kind(log["conv_type"]), task_name(log["task"]), log["trace"]
    exchanges = list(_exchanges(trace))
    parent = log.get("source_conv_id") if log.get("source_conv_id") in known else None
    inherited = len(exchanges) - 1 if parent else 0
    turns = tuple(_turn(exchange) for exchange in exchanges[inherited:])
    if what.policy != "sharded":
        turns = tuple(
            msgspec.structs.replace(turn, reveals=tuple(shard.id for shard in instance.shards)) for turn in turns
        )
    score = _value(log.get("score"), log.get("is_correct"))
    times = sorted(filter(None, (_time(entry) for entry in trace)))
    return Record(
        key=key(identity(log)),
        parent=key(parent) if parent else None,
        inherited=inherited,
        task=task,
        instance=instance,
        mode=what.mode,
        policy=what.policy,
        interventions=what.interventions,
        repeat=repeat,
        assistant=log["assistant_model"],
        user=_model(log.get("user_model"), "verbatim"),
        judge=_model(log.get("system_model"), PROTOCOL),
        sampling=_sampling(what),
        system="\n".join(_text(entry) for entry in trace if entry["role"] == "system"),
        turns=turns,
        calls=tuple(
            call
            for at, exchange in enumerate(exchanges[inherited:], inherited + 1)
            for call in _calls(exchange, at, log)
        ),
        ended=_ended(trace, score),
        score=score or 0.0,
        correct=bool(log.get("is_correct")) or score == 1.0,
        started=times[0] if times else 0.0,
        seconds=times[-1] - times[0] if times else 0.0,
        provenance={
            "protocol": PROTOCOL,
            "reference": {name: _plain(value) for name, value in log.items() if name != "trace"},
        },
        **_scored_in_other_ways(turns),
    )


def _scored_in_other_ways(turns: tuple[Turn, ...]) -> dict[str, Any]:
    """The first correct attempt, the last attempt, the last turn, and how many attempts there were."""
    judged = [turn.judgement for turn in turns if turn.judgement and turn.judgement.label == "answer_attempt"]
    scores = [judgement.score.value for judgement in judged if judgement.score]
    last = turns[-1].judgement if turns else None
    return {
        "first_correct": next((value for value in scores if value == 1.0), None),
        "last_attempt": scores[-1] if scores else None,
        "last_turn": last.score.value if last and last.score else 0.0,
        "attempts": len(judged),
    }


class Exchange(NamedTuple):
    """What belongs to one user message: the message, what was logged before and after it, and the replies."""

    user: dict[str, Any]
    logs: list[dict[str, Any]]
    replies: list[dict[str, Any]]


#: Entries that stand before the user message they belong to.
_AHEAD = ("hint_revealed", "duplicate_shard_ignored")


def _exchanges(trace: list[dict[str, Any]]) -> Iterator[Exchange]:
    ahead: list[dict[str, Any]] = []
    current: Exchange | None = None
    for entry in trace:
        if entry["role"] == "user":
            if current:
                yield current
            current, ahead = Exchange(entry, ahead, []), []
        elif entry["role"] == "assistant" and current:
            current.replies.append(entry)
        elif entry["role"] == "log":
            (ahead if entry["content"]["type"] in _AHEAD or current is None else current.logs).append(entry)
    if current:
        yield current


def _turn(exchange: Exchange) -> Turn:
    said, entries = _text(exchange.user), [entry["content"] for entry in exchange.logs]
    # Old logs call a shard's id `hint_id`; an id that is no number reveals nothing.
    ids = [e.get("shard_id", e.get("hint_id")) for e in entries if e["type"] in ("shard_revealed", "hint_revealed")]
    repeats = [e.get("shard_id") for e in entries if e["type"] == "duplicate_shard_ignored"]
    replies = [_text(reply) for reply in exchange.replies]
    return Turn(
        said_by="llm" if exchange.user.get("cost_usd") else "verbatim",
        utterance=_RESTATED.sub("", said).strip(),
        messages=(Message("user", said), *(Message("assistant", reply) for reply in replies)),
        reveals=tuple(int(i) for i in ids if isinstance(i, int) or (isinstance(i, str) and i.isdigit())),
        violations=tuple(f"repeat: shard {i}" for i in repeats),
        finish="stop" if any(replies) else "empty",
        judgement=_judgement(entries),
    )


def _judgement(entries: list[dict[str, Any]]) -> Judgement | None:
    label = next((e["response"].get("response_type") for e in entries if e["type"] == "system-verification"), None)
    evaluation = next((e for e in reversed(entries) if e["type"] == "answer-evaluation"), None)
    if label is None and evaluation is None:
        return None
    known: TurnClass = label if label in TURN_CLASSES else "answer_attempt" if evaluation else "discussion"
    if evaluation is None:
        return Judgement(by=PROTOCOL, label=known)
    answer = evaluation.get("exact_answer")
    return Judgement(by=PROTOCOL, label=known, answer=None if answer is None else str(answer), score=_score(evaluation))


def _score(evaluation: dict[str, Any]) -> Score:
    value = _value(evaluation.get("score"), evaluation.get("is_correct"))
    status = "unreadable" if _number(evaluation.get("score")) is None and not evaluation.get("is_correct") else "scored"
    details = {"evaluation_return": _plain(evaluation.get("evaluation_return"))}
    return Score(value or 0.0, value == 1.0, status, details)


# -- parts -----------------------------------------------------------------------------------------------------------------


def _value(score: Any, is_correct: Any) -> float | None:
    """A score in [0, 1]; by `is_correct` where there is none, None where there is neither."""
    if (number := _number(score)) is not None:
        value = min(max(number, 0.0), 1.0)
        return 1.0 if value > 1.0 - _EPSILON else value
    return None if is_correct is None else float(bool(is_correct))


def _number(value: Any) -> float | None:
    """A number that is one: NaN and texts are none."""
    return float(value) if isinstance(value, int | float) and value == value else None


def _plain(value: Any) -> Any:
    """JSON without NaN and infinities."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not abs(value) < float("inf") else value


def _text(entry: dict[str, Any]) -> str:
    return entry["content"] if isinstance(entry.get("content"), str) else ""


def _model(name: str | None, none: str) -> str:
    return none if name in (None, "", "NA") else f"llm:{name}"


def _sampling(what: Kind) -> dict[str, dict[str, Any]]:
    given = {"assistant": what.temperature, "user": what.user_temperature}
    return {role: {"temperature": value} for role, value in given.items() if value is not None}


def _flat(text: str) -> str:
    return " ".join(text.split())


def _ended(trace: list[dict[str, Any]], score: float | None) -> str:
    kinds = [entry["content"]["type"] for entry in trace if entry["role"] == "log"]
    return "turn_cap" if "max_turns_exceeded" in kinds else "solved" if score == 1.0 else "exhausted"


def _calls(exchange: Exchange, number: int, log: dict[str, Any]) -> Iterator[Call]:
    """Calls the log has a cost for: it has none for extractions, and no tokens for any."""
    if exchange.user.get("cost_usd"):
        yield Call(
            role="user", site=f"t{number}", model=str(log.get("user_model")), cost=_number(exchange.user["cost_usd"])
        )
    for reply in exchange.replies:
        yield Call(
            role="assistant", site=f"t{number}", model=log["assistant_model"], cost=_number(reply.get("cost_usd"))
        )
    for entry in exchange.logs:
        if "cost_usd" in entry:
            site = f"t{number}.classify"
            yield Call(role="judge", site=site, model=str(log.get("system_model")), cost=_number(entry["cost_usd"]))


def _time(entry: dict[str, Any]) -> float | None:
    """Unix time of an entry's local time, which the log keeps without its zone: right only in differences."""
    stamp = entry.get("timestamp")
    return datetime.strptime(stamp, _TIME).replace(tzinfo=UTC).timestamp() if isinstance(stamp, str) else None
