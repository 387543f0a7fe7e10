"""The engine: conversations a second with durable records at zero latency, beside a bare asyncio loop and an empty graph of
the same shape; and our own code's share of a model call.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

import msgspec
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from simulator.calls import Endpoint, Line, Switchboard
from simulator.engine import run as run_engine
from simulator.experiment import Experiment, plan
from simulator.limits import Budget, Gate
from simulator.means import Means
from simulator.models.fake import FakeModel
from tasks.nouns import Instance, Message, Options, Shard

SHARDS, CONVERSATIONS = 6, 300
REPLY = "Let me see. With what you told me so far I make it twelve, but tell me more if there is more. " * 3


def assistant(messages: Sequence[Message], options: Options) -> str:
    """Never right, always an attempt."""
    return f"{REPLY} The answer is 12."


def user(messages: Sequence[Message], options: Options) -> str:
    """Says the first untold shard of the prompt, in its words."""
    untold = re.search(r"^(\d+): (.+)$", messages[-1].content, re.MULTILINE)
    assert untold, messages[-1].content
    return msgspec.json.encode({"shard_id": int(untold[1]), "response": untold[2]}).decode()


def judge(messages: Sequence[Message], options: Options) -> str:
    return '{"response_type": "answer_attempt", "answer": "12"}'


def instances(n: int) -> list[Instance]:
    """Every one has texts of its own, so that nothing is gained by remembering another's."""

    def one(i: int) -> Instance:
        facts = (Shard(k, f"fact {k} of basket {i} is told, {i}{k} plums") for k in range(2, SHARDS + 1))
        shards = (Shard(1, f"How many plums are in basket {i}?"), *facts)
        text = " ".join(shard.text for shard in shards)
        return Instance(id=f"plums-{i}", task="math", shards=shards, instruction=text, target="5")

    return [one(i) for i in range(n)]


def simulate(n: int, **asked: Any) -> tuple[float, int]:
    """Conversations a second with durable records, and calls made."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "plums.jsonl"
        data.write_bytes(b"".join(msgspec.json.encode(instance) + b"\n" for instance in instances(n)))
        models = {name: FakeModel(handler, name) for name, handler in (("a", assistant), ("u", user), ("j", judge))}
        experiment = Experiment(dataset=str(data), modes=("sharded",), assistant=("a",), runs=1, **asked)
        planned = plan(experiment)
        started = time.perf_counter()
        outcome = asyncio.run(run_engine(planned, Path(folder) / "run", Means(models=models)))
        seconds = time.perf_counter() - started
        assert outcome.complete, outcome
        return n / seconds, sum(model.calls for model in models.values())


class _State(TypedDict):
    turns: list[int]


async def _user(state: _State) -> Command[Literal["assistant", "__end__"]]:
    state["turns"].append(len(state["turns"]))
    return Command(goto="assistant" if len(state["turns"]) <= SHARDS else "__end__")


async def _assistant(state: _State) -> None: ...


async def _judge(state: _State) -> Command[Literal["user"]]:
    return Command(goto="user")


def empty_graph(n: int) -> float:
    """Conversations a second of an empty graph of the same shape."""
    builder = StateGraph(_State)
    builder.add_node("user", _user)
    builder.add_node("assistant", _assistant)
    builder.add_node("judge", _judge)
    builder.add_edge(START, "user")
    builder.add_edge("assistant", "judge")
    graph = builder.compile()

    async def many() -> None:
        await asyncio.gather(*(graph.ainvoke({"turns": []}, {"recursion_limit": 99}) for _ in range(n)))

    return n / _timed(many)


def bare_loop(n: int) -> float:
    """Conversations a second of a loop that only awaits the same fake models."""
    a, u, j = FakeModel(assistant), FakeModel(lambda m, o: "fact"), FakeModel(judge)

    async def one() -> None:
        messages: list[Message] = []
        for turn in range(SHARDS):
            if turn:
                await u.call(messages, Options())
            messages.append(Message("user", "fact"))
            messages.extend((await a.call(messages, Options())).messages)
            await j.call(messages, Options())

    async def many() -> None:
        await asyncio.gather(*(one() for _ in range(n)))

    return n / _timed(many)


def microseconds_a_call(n: int = 5000) -> float:
    """Our own code around one model call: key, digest, budget, gate, journal, record of the call."""

    class Nowhere:
        def journal(self, *kept: object) -> None: ...

    async def many() -> None:
        model = FakeModel(lambda m, o: "x", "m")
        board = Switchboard({}, Nowhere(), Budget())
        line = Line(board, "c", {"assistant": Endpoint(model, Gate(8))}, {}, {})
        for _ in range(n):
            await line.ask("assistant", "t1", MESSAGES, Options())

    async def bare() -> None:
        model = FakeModel(lambda m, o: "x", "m")
        for _ in range(n):
            await model.call(MESSAGES, Options())

    return (_timed(many) - _timed(bare)) / n * 1e6


MESSAGES = [Message("user", REPLY), Message("assistant", REPLY)] * 3


def _timed(work: Callable[[], Awaitable[None]]) -> float:
    started = time.perf_counter()
    asyncio.run(work())  # type: ignore[arg-type]
    return time.perf_counter() - started


def run() -> list[tuple[str, str, str]]:
    full, calls = simulate(CONVERSATIONS, user="llm", user_model="u", judge="llm", judge_model="j")
    plain, _ = simulate(CONVERSATIONS)
    graph, loop = empty_graph(CONVERSATIONS), bare_loop(CONVERSATIONS)
    return [
        ("our own code a model call", f"{microseconds_a_call():.0f} µs", ""),
        (
            f"conversations/s, {SHARDS} shards, {calls / CONVERSATIONS:.0f} calls, durable records",
            f"{full:.0f}",
            f"aim 50; {full / graph:.2f} × an empty graph of the same shape ({graph:.0f}), bare asyncio loop {loop:.0f}",
        ),
        (
            f"the same without model user and judge ({SHARDS} calls)",
            f"{plain:.0f}",
            f"{plain / graph:.2f} × the empty graph",
        ),
    ]
