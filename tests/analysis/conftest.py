"""Records written by the real `Writer`, made small: what the tests of analysis read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from simulator.record import Call, Judgement, Record, Turn
from simulator.writer import Writer
from tasks.nouns import Instance, Message, Score, Shard, Usage

MakeStore = Callable[..., Path]


def instance(name: str = "i0", *, task: str = "math", shards: int = 4, **more: Any) -> Instance:
    pieces = tuple(Shard(k, f"shard {k} of {name}") for k in range(1, shards + 1))
    return Instance(id=name, task=task, shards=pieces, instruction=f"all of {name}", target="42", **more)


def turn(
    number: int,
    answer: str | None = None,
    score: float | None = None,
    *,
    label: str | None = None,
    reply: str | None = None,
    reveals: tuple[int, ...] | None = None,
    status: str = "scored",
    details: dict[str, Any] | None = None,
    **more: Any,
) -> Turn:
    """A turn that reveals shard `number`; with `answer` and `score` it is an answer attempt."""
    said = more.pop("utterance", f"shard {number}")
    text = reply if reply is not None else (f"The answer is {answer}." if answer is not None else "What else?")
    judged = Judgement(
        by="rules",
        label=label or ("clarification" if answer is None else "answer_attempt"),  # type: ignore[arg-type]
        answer=answer,
        score=None if score is None else Score(score, score == 1.0, status, details or {}),
    )
    return Turn(
        said_by=more.pop("said_by", "verbatim"),
        utterance=said,
        messages=(Message("user", said), Message("assistant", text)),
        reveals=(number,) if reveals is None else reveals,
        judgement=judged,
        **more,
    )


def call(role: str = "assistant", cost: float | None = 0.001, **more: Any) -> Call:
    return Call(role=role, site="t1", model="m", usage=Usage(input=100, output=20), cost=cost, **more)


def record(
    name: str = "i0",
    repeat: int = 0,
    score: float | None = 1.0,
    *,
    mode: str = "sharded",
    assistant: str = "model-a",
    task: str = "math",
    turns: Iterable[Turn] | None = None,
    shards: int = 4,
    strata: dict[str, Any] | None = None,
    **more: Any,
) -> Record:
    """One conversation; without `turns` it has a single one with one attempt of the given score."""
    if turns is None:
        turns = (turn(1, "42" if score == 1.0 else "7", score),) if score is not None else ()
    turns = tuple(turns)
    attempts = [t.judgement for t in turns if t.judgement and t.judgement.label == "answer_attempt"]
    values = [a.score.value for a in attempts if a.score]
    regular = {
        "policy": "full" if mode == "full" else "sharded",
        "ended": "solved" if score == 1.0 else "exhausted",
        "correct": None if score is None else score == 1.0,
        "first_correct": next((v for v in values if v == 1.0), None),
        "last_attempt": values[-1] if values else None,
        "last_turn": values[-1] if values else 0.0,
        "attempts": len(attempts),
        "calls": (call(),),
        "sampling": {"assistant": {"temperature": 1.0}},
        "provenance": {"protocol": "1", "seed": 0},
    }
    key = more.pop("key", None)
    identity = repr((name, repeat, mode, assistant, task, more.get("interventions"), more.get("sampling")))
    return Record(
        key=key or hashlib.sha256(identity.encode()).hexdigest()[:20],
        task=task,
        instance=instance(name, task=task, shards=shards, strata=strata or {}),
        mode=mode,
        repeat=repeat,
        assistant=assistant,
        turns=turns,
        score=score,
        **{**regular, **more},
    )


@pytest.fixture(name="make_record")
def make_record_fixture() -> Callable[..., Record]:
    return record


@pytest.fixture(name="make_turn")
def make_turn_fixture() -> Callable[..., Turn]:
    return turn


@pytest.fixture
def make_store(tmp_path: Path) -> MakeStore:
    """Writes records into a run and gives its folder."""

    def write(records: Iterable[Record], name: str = "run") -> Path:
        with Writer(tmp_path / name) as writer:
            for item in records:
                writer.finish(item)
        return tmp_path / name

    return write
