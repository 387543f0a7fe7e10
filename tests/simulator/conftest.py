"""What the simulator's tests share: a small dataset, assistants that are plain functions, and one way to run them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from simulator.engine import Outcome, run
from simulator.experiment import Experiment, plan
from simulator.means import Means
from simulator.models.fake import FakeModel, Handler
from simulator.record import Record
from simulator.store import Store
from tasks.nouns import Instance, Message, Options, Shard


def apples(index: int, shards: int = 4) -> Instance:
    """A problem whose target is the sum of the numbers in its later shards."""
    facts = [10 * index + k for k in range(1, shards)]
    texts = [
        "How many apples are there in all?",
        *(f"Basket {name} holds {n} apples." for name, n in zip("ABCDEFGH", facts, strict=False)),
    ]
    return Instance(
        id=f"apples-{index}",
        task="math",
        shards=tuple(Shard(k, text) for k, text in enumerate(texts, 1)),
        instruction=" ".join([*texts[1:], texts[0]]),
        target=str(sum(facts)),
    )


def write(path: Path, instances: Sequence[Instance]) -> Path:
    """A dataset file of ours."""
    path.write_bytes(b"".join(msgspec.json.encode(instance) + b"\n" for instance in instances))
    return path


def solver(messages: Sequence[Message], options: Options) -> str:
    """Adds up all the baskets it has been told of, and says so each time."""
    text = " ".join(message.content for message in messages if message.role == "user")
    baskets = {word: int(number) for word, number in _baskets(text)}
    return f"The answer is {sum(baskets.values())}." if baskets else "Which baskets are there?"


def _baskets(text: str) -> list[tuple[str, str]]:
    words = text.replace(".", " ").split()
    return [(words[i + 1], words[i + 3]) for i, word in enumerate(words) if word == "Basket"]


class Simulation:
    """Runs an experiment on a handler and reads back what was stored."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model: FakeModel | None = None

    def __call__(
        self,
        handler: Handler = solver,
        *,
        run_as: str = "run",
        instances: Sequence[Instance] | None = None,
        **asked: Any,
    ) -> list[Record]:
        """Records in the order of their keys."""
        self.outcome = self.run(handler, run_as=run_as, instances=instances, **asked)
        return self.records(run_as)

    def run(
        self,
        handler: Handler = solver,
        *,
        run_as: str = "run",
        instances: Sequence[Instance] | None = None,
        means: dict[str, Any] | None = None,
        watcher: Any = None,
        **asked: Any,
    ) -> Outcome:
        dataset = write(self.folder / "data.jsonl", instances or [apples(1), apples(2, 6)])
        experiment = Experiment(**{"assistant": ("mine",), "dataset": str(dataset), "runs": 2, **asked})
        self.model = FakeModel(handler, name="mine")
        models = {"mine": self.model, **(means or {}).pop("models", {})}
        settings = Means(models=models, **(means or {}))
        return asyncio.run(run(plan(experiment), self.folder / run_as, settings, watcher))

    def records(self, run_as: str = "run") -> list[Record]:
        with Store(self.folder / run_as) as store:
            return sorted(store.records(), key=lambda record: record.key)


def timeless(record: Record) -> Any:
    """A record without what the clock decides."""
    plain = msgspec.to_builtins(record)
    plain.pop("started", None)
    plain.pop("seconds", None)
    for call in plain.get("calls", ()):
        call.pop("seconds", None)
        call.pop("replayed", None)
    return plain


@pytest.fixture
def simulate(tmp_path: Path) -> Simulation:
    return Simulation(tmp_path)


@pytest.fixture
def without_time() -> Callable[[Record], Any]:
    return timeless


@pytest.fixture
def make_apples() -> Callable[..., Instance]:
    return apples


@pytest.fixture
def adder() -> Handler:
    return solver
