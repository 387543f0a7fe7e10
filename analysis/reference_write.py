"""Records become logs of the reference implementation, so that scripts written for those keep working.

Folders, files, fields and trace entries are the reference's; see `reference_read` for the format. What it has no place for
stays behind (violations, what an intervention changed, tokens), and what we do not know is left out rather than made up (times
of single messages). A record that came from a log keeps that log's own fields.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any

from analysis.reference_read import NAMES
from simulator.record import Call, Record, Turn

_KINDS = {(mode, policy, interventions): kind for kind, (mode, policy, interventions) in reversed(NAMES.items())}
_UNSAFE = re.compile(r'[<>:"/\\|?*]')


def path(log: dict[str, Any]) -> PurePosixPath:
    """Where a log lies: `{task}/{conv_type}/{conv_type}_{task}_{model}.jsonl`; the model's name comes from the record only."""
    kind, task, model = (_UNSAFE.sub("_", str(log[name])) for name in ("conv_type", "task", "assistant_model"))
    return PurePosixPath(task, kind, f"{kind}_{task}_{model}.jsonl")


def log(record: Record, parent: Callable[[str], Record]) -> dict[str, Any]:
    """The record as a log.

    Args:
        parent: gives the record of a key; asked for what a conversation continues.
    """
    line = [record]
    while line[0].parent:
        line.insert(0, parent(line[0].parent))
    known: dict[str, Any] = record.provenance.get("reference", {})
    made: dict[str, Any] = {
        "conv_id": _conv_id(record),
        "conv_type": _conv_type(record),
        "task": record.task,
        "task_id": record.instance.id,
        "dataset_fn": f"sharded_{record.task}.json",
        "assistant_model": record.assistant,
        "system_model": _model(record.judge),
        "user_model": _model(record.user),
        "git_version": "",
        "trace": list(_trace(line)),
        "is_correct": record.correct,
        "score": record.score,
    }
    if len(line) > 1:
        made |= {"source_conv_id": _conv_id(line[-2]), "source_is_correct": line[-2].correct}
    return made | known


# -- parts -----------------------------------------------------------------------------------------------------------------


def _conv_id(record: Record) -> str:
    """24 hexadecimal digits, as the reference's ids have."""
    known = record.provenance.get("reference", {}).get("conv_id")
    return str(known) if known else hashlib.sha256(record.key.encode()).hexdigest()[:24]


def _conv_type(record: Record) -> str:
    """The reference's name of a mode, with its suffix where a temperature is not 1."""
    name = _KINDS.get((record.mode, record.policy, record.interventions), record.mode.replace("_", "-"))
    given = [record.sampling.get(role, {}).get("temperature") for role in ("assistant", "user")]
    at, ut = (1.0 if temperature is None else float(temperature) for temperature in given)
    if (at, ut) == (1.0, 1.0):
        return name
    return f"{name}-at{at}-ut{ut}" if record.policy == "sharded" else f"{name}-t{at}"


def _model(name: str) -> str:
    return name.partition(":")[2] if ":" in name else "NA"


def _trace(line: list[Record]) -> Iterator[dict[str, Any]]:
    if line[0].system:
        yield {"role": "system", "content": line[0].system}
    for record in line:
        for number, turn in enumerate(record.turns, record.inherited + 1):
            costs = {call.role: call for call in record.calls if call.site.split(".")[0] == f"t{number}"}
            yield from _exchange(record, turn, costs)
    if line[-1].correct:
        yield _log({"type": "conversation-completed", "is_correct": True})


def _exchange(record: Record, turn: Turn, costs: dict[str, Call]) -> Iterator[dict[str, Any]]:
    """One turn. SNOWBALL logs name the shard before the user's message, all others after it; single-turn modes name none."""
    sharded, hinted = record.policy == "sharded", any("snowball" in name for name in record.interventions)
    kind = "hint_revealed" if hinted else "shard_revealed"
    revealed = [_log({"type": kind, "shard_id": number}) for number in turn.reveals] if sharded else []
    said = [message for message in turn.messages if message.role in ("user", "assistant")]
    for message in said:
        entry = {"role": message.role, "content": message.content, **_cost(costs.get(message.role))}
        first = message.role == "user" and message.content == next(m.content for m in said if m.role == "user")
        around = revealed if first else []
        yield from (*around, entry) if hinted else (entry, *around)
    yield from _judged(turn, costs.get("judge"), sharded)


def _judged(turn: Turn, call: Call | None, sharded: bool) -> Iterator[dict[str, Any]]:
    judgement = turn.judgement
    if judgement is None:
        return
    if sharded:
        yield _log({"type": "system-verification", "response": {"response_type": judgement.label}}) | _cost(call)
    if score := judgement.score:
        ours = {"is_correct": score.correct, "score": score.value}
        returned = score.details.get("evaluation_return") or ours
        verdict = {"is_correct": returned.get("is_correct"), "score": returned.get("score")}
        answer = judgement.answer or ""
        yield _log({"type": "answer-evaluation", "exact_answer": answer, **verdict, "evaluation_return": returned})


def _log(content: dict[str, Any]) -> dict[str, Any]:
    return {"role": "log", "content": content}


def _cost(call: Call | None) -> dict[str, float]:
    return {"cost_usd": call.cost} if call is not None and call.cost is not None else {}
