"""Files: instructions to be sharded, and what became of them.

A folder holds `sharded.jsonl`, the accepted ones, ready for `shardtalk run --dataset`, and `pending.jsonl`, those refused or
to be looked at. Each item is an `Instance` whose `provenance` says how it came about.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from sharding.nouns import Objection
from sharding.pipeline import Status
from tasks.datasets import read_rows, write_instances
from tasks.errors import DatasetError
from tasks.nouns import Instance, Shard
from tasks.registry import TASKS, get_task
from tasks.rows import Row

SHARDED, PENDING = "sharded.jsonl", "pending.jsonl"


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person did to an item: decided, or edited its shards (then what was known of them before goes here)."""

    decision: Literal["accept", "refuse"] | None = None
    comment: str = ""
    at: str = ""
    before: tuple[str, ...] = ()
    verification: dict[str, Any] | None = None


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """How an item came about.

    Attributes:
        source: file and id of the instruction. `model`: who sharded; `assistant`: who was simulated, None for nobody.
        prompts: digests of the templates, by name. `segments`: what each shard was made from; empty after an edit.
        objections: what still speaks against it; `repaired`: what spoke against earlier tries.
        verification: the figures. `cost`: calls, tokens and dollars of its sharding, simulations aside.
        texts: the shards as they were made, or last accepted: an edit is what differs from them.
    """

    status: Status
    source: dict[str, str]
    model: str
    assistant: str | None
    texts: tuple[str, ...]
    prompts: dict[str, str] = {}
    versions: dict[str, str] = {}
    segments: tuple[str, ...] = ()
    objections: tuple[Objection, ...] = ()
    repaired: tuple[Objection, ...] = ()
    verification: dict[str, Any] | None = None
    cost: dict[str, Any] = {}
    history: tuple[Change, ...] = ()


def provenance(item: Instance) -> Provenance:
    """How an item came about. Raises `DatasetError` for one that this package did not make."""
    try:
        return msgspec.convert(item.provenance, Provenance)
    except msgspec.ValidationError as error:
        raise DatasetError(f"{item.id}: it was not made by `shardtalk shard`", got=str(error)) from error


def with_provenance(item: Instance, made: Provenance) -> Instance:
    """The item with this provenance."""
    return msgspec.structs.replace(item, provenance=msgspec.to_builtins(made))


def texts(item: Instance) -> tuple[str, ...]:
    """The texts of its shards."""
    return tuple(shard.text for shard in item.shards)


# -- instructions to be sharded ---------------------------------------------------------------------------------------------


def read_instructions(source: str, task: str | None) -> list[Instance]:
    """The instructions of a file, or the embedded ones of a task, as instances of one shard; shards they may have are ignored.

    Rows are published ones or ours, both without need of shards; `task` names the task of rows that do not. Repetitions of
    an instruction are left out. Raises `DatasetError`.
    """
    found: dict[tuple[str, str], Instance] = {}
    for instance in (
        _embedded(source) if source in TASKS else (_instruction(row, task) for row in read_rows(Path(source)))
    ):
        whole = msgspec.structs.replace(instance, shards=(Shard(1, instance.instruction),), variants={}, provenance={})
        found.setdefault((instance.task, instance.instruction), whole)
    by_id: dict[str, Instance] = {}
    for instance in found.values():
        if by_id.setdefault(instance.id, instance) is not instance:
            raise DatasetError(f"{source}: two instructions have one id", got=instance.id, allowed="ids of their own")
    return list(by_id.values())


def _embedded(name: str) -> list[Instance]:
    task = get_task(name)
    if not task.sharding_hints:
        raise DatasetError("the instructions of this task are no texts that could be cut", got=name)
    return task.load()


def _instruction(row: Row, named: str | None) -> Instance:
    task = get_task(row.read("task", str, named) if named else row.text("task"))
    if not task.sharding_hints:
        raise row.error("task", task.name, "a task whose instructions are texts that can be cut")
    whole = {"id": 1, "shard_id": 1, "text": "?", "shard": "?"}
    return Row(row.path, row.number, {**row.fields, "task": task.name, "shards": [whole]}, row.line).instance(task)


def read_sharded(path: Path) -> list[Instance]:
    """All instances of a sharded file, of whatever tasks whose instructions are texts. Raises `DatasetError`."""
    tasks = {(task := get_task(row.text("task"))).name: task for row in read_rows(path)}
    fit = [task for task in tasks.values() if task.sharding_hints]
    if not fit:
        raise DatasetError(f"{path}: no instructions that are texts", got=", ".join(tasks) or "an empty file")
    return [instance for task in fit for instance in task.load(path)]


# -- what became of them ----------------------------------------------------------------------------------------------------


def read_items(folder: Path) -> list[Instance]:
    """The items of a folder, accepted ones first; none where there are no files yet."""
    files = (folder / SHARDED, folder / PENDING)
    return [row.instance(get_task(row.text("task"))) for file in files if file.exists() for row in read_rows(file)]


def write_items(folder: Path, items: Sequence[Instance]) -> None:
    """Writes both files, each whole or not at all."""
    accepted = [item for item in items if provenance(item).status == "accepted"]
    write_instances(accepted, folder / SHARDED)
    write_instances([item for item in items if item not in accepted], folder / PENDING)
