"""What a task is: the one interface between a benchmark and the simulation.

A task knows its instances, its wording, and how an answer is found and scored. It knows no mode, no graph and no engine;
facts that differ between tasks are declared here as attributes, so nobody ever compares a task's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec

from tasks.classify import classify_reply
from tasks.datasets import load_instances
from tasks.nouns import Ask, Instance, Message, Score, Script, Shard, ToolCall, TurnClass
from tasks.rows import Row

_DATA = Path(__file__).parent / "data"


class Setup(msgspec.Struct, frozen=True):
    """What a user may set of a task; each task takes what concerns it (`Task.made`).

    Attributes:
        native_tools: functions are given to the model as native tools, and its tool calls are its answer (actions).
        databases: folder of `<db_id>/<db_id>.sqlite` files (database); None: the embedded ones.
        require_isolation: the least isolation under which a model's program is run (code); None: the task's own minimum.
    """

    native_tools: bool = False
    databases: str | None = None
    require_isolation: str | None = None


class Task:
    """Base of all tasks; every method below that raises `NotImplementedError` is to be written.

    Attributes:
        name: as in `--tasks`. `summary`: one line for `shardtalk tasks list`. `scoring`: how a value comes about, a few words.
        needs: what it needs beyond Python (`nothing`, `bubblewrap`, `a judge model`, …).
        answer_form: what an answer looks like, for a judge model ("one number; may be negative, a decimal or a fraction").
        temperature, max_tokens: defaults of the assistant.
        modes: the modes `--modes` defaults to.
        scripted_user: the user's turns come from `say`, not from a user policy with shards.
        answers_every_turn: every non-empty reply is an answer attempt; nothing needs to classify it.
        extraction: who finds the answer in an attempt when a model judges: `model` (the judge's own span of the reply) or
            `rules` (`extract` on the whole reply, after the judge's label: code, queries, whole-reply answers).
        tool_calls_are_answers: tool calls of the model are its answer and nobody executes them.
        scored_on_last_turn: earlier attempts are recorded but not scored.
        binary: values are 0 or 1 (decides which statistics apply).
        presentations: modes of its own, each a `script`; `--modes` takes their names beside the general ones.
        compare_to: mode -> the mode it is meant to be compared with (an ablation and what it was taken from).
        prompts: names of the templates it uses, part of the identity of a run.
        sharding_hints: template that tells a model how this task's instructions are cut and worded (`shardtalk shard`); empty
            where an instruction is no text that could be cut.
        embedded: file of the shipped instances; None means `data/<name>.jsonl` beside this module.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    scoring: ClassVar[str]
    needs: ClassVar[str] = "nothing"
    answer_form: ClassVar[str]
    temperature: ClassVar[float] = 1.0
    max_tokens: ClassVar[int] = 1000
    modes: ClassVar[tuple[str, ...]] = ("full", "concat", "sharded", "recap", "snowball")
    scripted_user: ClassVar[bool] = False
    answers_every_turn: ClassVar[bool] = False
    extraction: ClassVar[Literal["model", "rules"]] = "model"
    tool_calls_are_answers: ClassVar[bool] = False
    scored_on_last_turn: ClassVar[bool] = False
    binary: ClassVar[bool] = True
    presentations: ClassVar[tuple[str, ...]] = ()
    compare_to: ClassVar[Mapping[str, str]] = {}
    prompts: ClassVar[tuple[str, ...]] = ()
    sharding_hints: ClassVar[str] = ""
    embedded: ClassVar[Path | None] = None

    @classmethod
    def made(cls, setup: Setup) -> Task:
        """The task as the user set it up. Raises `ShardtalkError` for a setting that cannot be."""
        return cls()

    def identity(self) -> dict[str, Any]:
        """What the setup changes in what is asked, for the identity of a run; JSON types."""
        return {}

    # -- instances ------------------------------------------------------------------------------------------------

    def load(self, path: Path | None = None) -> list[Instance]:
        """The embedded instances, or those of a file (published JSON list or our JSON lines). Raises `DatasetError`."""
        return load_instances(self, path or self.embedded or _DATA / f"{self.name}.jsonl")

    def read_row(self, row: Row) -> Instance:
        """One row of the published dataset as an instance: which fields become instruction, target and data.

        `row.id` and `row.shards` are read and checked already; `row.read(field, type)` and `row.text(field)` check the
        rest. Raises `row.error(…)` where a value cannot be used.
        """
        raise NotImplementedError

    def check(self, instance: Instance, row: Row) -> None:
        """Raises `row.error(field, …)` where an instance, of either format, cannot be scored (an unreadable target, …)."""

    def generate(self, n: int, seed: int) -> Iterator[Instance]:
        """`n` fresh instances, the same for the same seed in any process; empty where a task has no generator."""
        return iter(())

    # -- wording --------------------------------------------------------------------------------------------------

    def system(self, instance: Instance) -> str:
        """The system text, equal in every mode."""
        raise NotImplementedError

    def full(self, instance: Instance) -> str:
        """The one user message of FULL."""
        raise NotImplementedError

    def concat(self, instance: Instance, shards: Sequence[Shard]) -> str:
        """The one user message of CONCAT: these shards in this order, said at once."""
        raise NotImplementedError

    def say(self, instance: Instance, turn: int) -> str:
        """A scripted user's text of turn `turn` (from 0), which reveals shard `turn`."""
        raise NotImplementedError

    def script(self, instance: Instance, presentation: str) -> Script:
        """One of the task's own presentations of an instance, written out; never asked of a task without any."""
        raise NotImplementedError

    # -- tools ----------------------------------------------------------------------------------------------------

    def tools(self, instance: Instance) -> Sequence[Mapping[str, Any]]:
        """OpenAI-style schemas of the functions the assistant may call in the general modes; none for most tasks."""
        return ()

    async def use_tool(self, instance: Instance, call: ToolCall) -> Message:
        """The tool message that answers a call. An error of the call is a result too, never an exception."""
        raise NotImplementedError

    def called(self, calls: Sequence[ToolCall]) -> str:
        """Tool calls as the text that `extract` reads, for tasks whose `tool_calls_are_answers`."""
        raise NotImplementedError

    # -- answers --------------------------------------------------------------------------------------------------

    async def classify(self, reply: str, instance: Instance) -> TurnClass:
        """The class of a reply by rules, without a model: an attempt if `extract` finds an answer, else by generic rules."""
        found = await self.extract(reply, instance)
        return "answer_attempt" if found is not None else classify_reply(reply, has_answer=False)

    async def extract(self, reply: str, instance: Instance) -> str | None:
        """The answer in a reply by rules, as text that `score` reads; None where there is none."""
        raise NotImplementedError

    async def score(self, answer: str, instance: Instance, ask: Ask | None = None) -> Score:
        """The value of an answer. Bad model text is a score of 0 with a status; a fault of ours raises `ScorerFailure`."""
        raise NotImplementedError

    def review(self, score: Score, turns: Sequence[tuple[str, str]], instance: Instance) -> Score:
        """The score of the last turn in view of all of the conversation: most tasks have nothing to add to its details.

        `turns` are what the user said and what the assistant replied, in order, the scored turn last.
        """
        return score

    # -- trust ----------------------------------------------------------------------------------------------------

    def right_answer(self, instance: Instance) -> str:
        """A reply a perfect assistant could give: extracted and scored it must reach 1.0."""
        raise NotImplementedError

    def wrong_answer(self, instance: Instance) -> str:
        """A reply in the right form that must score below 1."""
        raise NotImplementedError
