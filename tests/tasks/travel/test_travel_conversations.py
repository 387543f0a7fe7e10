"""Who reads the facts solves every problem in every presentation, through the whole graph; who misses the last does not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from simulator.engine import run
from simulator.experiment import Experiment, plan
from simulator.means import Means
from simulator.models.fake import FakeModel, Handler
from simulator.record import Record
from simulator.store import Store
from tasks.datasets import write_instances
from tasks.nouns import Message, Options, Reply, ToolCall
from tasks.registry import get_task
from tasks.travel.presentations import PRESENTATIONS
from tasks.travel.problems import TRAVEL_TASKS

MODES = (*PRESENTATIONS, "full", "concat", "shuffle_concat", "sharded", "recap", "snowball")


def simulate(task: str, handler: Handler, folder: Path, modes: Sequence[str] = MODES, n: int = 2) -> list[Record]:
    """The records of all modes on `n` fresh instances."""
    folder.mkdir(exist_ok=True)
    dataset = folder / f"{task}.jsonl"
    write_instances(get_task(task).generate(n, seed=11), dataset)
    experiment = Experiment(tasks=(task,), dataset=str(dataset), modes=tuple(modes), assistant=("mine",), runs=1)
    means = Means(models={"mine": FakeModel(handler, name="mine")})
    outcome = asyncio.run(run(plan(experiment), folder / "run", means))
    assert outcome.complete, outcome
    with Store(folder / "run") as store:
        return list(store.records())


@pytest.mark.parametrize("task", TRAVEL_TASKS)
def test_a_reader_of_the_facts_is_right_everywhere(task: str, second: SimpleNamespace, tmp_path: Path) -> None:
    records = simulate(task, lambda messages, options: second.answer(task, messages), tmp_path)
    assert {record.mode for record in records} >= set(MODES)
    wrong = {(record.mode, record.instance.id): record.turns[-1].reply for record in records if record.score != 1.0}
    assert not wrong


@pytest.mark.parametrize("task", TRAVEL_TASKS)
def test_who_ignores_the_last_thing_said_is_not(
    task: str,
    second: SimpleNamespace,
    without_last: Callable[[Sequence[Message]], list[Message]],
    tmp_path: Path,
) -> None:
    def forgetful(messages: Sequence[Message], options: Options) -> str:
        return str(second.answer(task, without_last(messages)))

    modes = ("isolated", "dialogue", "dialogue_no_tools", "full", "sharded")
    records = simulate(task, forgetful, tmp_path, modes, n=8)
    for mode in modes:
        scores = [record.score or 0.0 for record in records if record.mode == mode]
        assert len(scores) == 8
        assert sum(scores) < 8, mode


def caller(reply: str, *calls: ToolCall) -> Handler:
    """Calls these functions at once, then says what they returned and this."""

    def handler(messages: Sequence[Message], options: Options) -> Reply:
        results = [m for m in messages if m.role == "tool" and m.tool_call_id in {call.id for call in calls}]
        if not results:
            return Reply((Message("assistant", "One moment.", tool_calls=calls),), finish="tool_calls")
        return Reply((Message("assistant", " ".join([reply, *(result.content for result in results)])),))

    return handler


def test_an_assistant_can_call_several_functions_at_once(tmp_path: Path) -> None:
    calls = (
        ToolCall("x1", "find_hotels", '{"area": "north"}'),
        ToolCall("x2", "find_hotels", '{"area": "moon"}'),
        ToolCall("x3", "teleport", "{}"),
    )
    (record,) = simulate("travel-hotel", caller("The total is £1.00.", *calls), tmp_path, ("dialogue",), n=1)
    (turn,) = record.turns
    called = [message for message in turn.messages if message.tool_calls][-1]
    assert called.tool_calls == calls
    results = {message.tool_call_id: message.content for message in turn.messages if message.role == "tool"}
    assert '"hotels"' in results["x1"]
    assert "moon" in results["x2"]
    assert "no function 'teleport'" in results["x3"]
    assert turn.reply.startswith("One moment.\nThe total is £1.00.")
    assert record.score == 0.0


def test_what_was_given_is_not_taken_for_the_reply(tmp_path: Path) -> None:
    """The dialogue names trains and prices before the assistant under test says anything."""
    (record,) = simulate(
        "travel-ticket", lambda messages, options: "Which class?", tmp_path, ("dialogue_no_tools",), n=1
    )
    (turn,) = record.turns
    assert turn.reply == "Which class?"
    assert turn.judgement is not None
    assert (turn.judgement.answer, record.score) == (None, 0.0)
    assert turn.judgement.score is not None
    assert turn.judgement.score.status == "no_answer"


def test_an_assistant_that_never_stops_calling_fails_by_its_own_doing(tmp_path: Path) -> None:
    def tireless(messages: Sequence[Message], options: Options) -> Reply:
        call = ToolCall(f"n{len(messages)}", "find_attractions", "{}")
        return Reply((Message("assistant", tool_calls=(call,)),), finish="tool_calls")

    (record,) = simulate("travel-path", tireless, tmp_path, ("dialogue",), n=1)
    assert (record.ended, record.cause, record.score) == ("assistant", "tool_loop", 0.0)


def test_no_functions_are_offered_outside_of_the_dialogues(tmp_path: Path) -> None:
    offered: dict[int, int] = {}

    def note(messages: Sequence[Message], options: Options) -> str:
        offered[len(options.tools)] = offered.get(len(options.tools), 0) + 1
        return "No idea."

    simulate("travel-distance", note, tmp_path, ("isolated", "dialogue_no_tools", "full", "sharded"), n=1)
    assert set(offered) == {0}
    simulate("travel-distance", note, tmp_path / "more", ("dialogue", "dialogue_reduced"), n=1)
    assert set(offered) == {0, 4, 7}
