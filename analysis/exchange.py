"""Runs from elsewhere, and runs for elsewhere: logs of the reference implementation and our own JSON lines are imported; a run
is exported as JSON lines (whole records), Parquet (typed columns with nested turns) or reference logs.

Readers never write to what they read. A last line that was torn off is left out and counted; lines end with a line feed only,
since a JSON text may hold other characters that look like line ends.
"""

from __future__ import annotations

import gzip
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from analysis import reference_read, reference_write
from analysis.errors import AnalysisError
from simulator.columns import CONVERSATION_COLUMNS, TURN_COLUMNS, Column, turn_rows
from simulator.record import Record
from simulator.store import Store
from simulator.writer import Writer
from tasks.datasets import read_rows
from tasks.nouns import Instance, Shard
from tasks.registry import TASKS, get_task

_BATCH = 2_000
_FORMS = "JSON lines: reference logs, or records as `shardtalk export --format jsonl` writes them"


class Imported(NamedTuple):
    """How many conversations are new, how many were there before, and what could not be read (`file:line: why`)."""

    new: int
    known: int
    unread: list[str]


def import_logs(source: Path, run: Path, dataset: Path | None = None) -> Imported:
    """Brings a log file, or all `.jsonl` and `.jsonl.gz` below a folder, into a run; made if needed, extended if there.

    Args:
        dataset: a file of instances, to give imported conversations their instruction, target and shards.

    Raises `AnalysisError` when nothing there is a log; the run is not made then.
    """
    unread: list[str] = []
    found = _records(_files(source), _instances(dataset) if dataset else {}, unread)
    if (first := next(found, None)) is None:
        raise AnalysisError("nothing there is a log", got=unread[0] if unread else str(source), allowed=_FORMS)
    new = known = 0
    with Writer(run) as writer:
        for record in itertools.chain([first], found):
            if writer.settled([record.key]):
                known += 1
            else:
                writer.finish(record)
                new += 1
        if new:
            writer.add_experiment({"imported": source.name})
    return Imported(new, known, unread)


def export_jsonl(run: Path, out: Path) -> int:
    """Writes every record as one line of JSON (gzip for `.gz`). Returns how many."""
    encode, count = msgspec.json.Encoder().encode, 0
    with Store(run) as store, _created(out) as file:
        for count, record in enumerate(store.records(), 1):  # noqa: B007 - the last count is the number of records
            file.write(encode(record) + b"\n")
    return count


def export_parquet(run: Path, out: Path) -> int:
    """Writes a row a conversation: the columns of `frames.conversations`, then `said`, a list of turns, each with its columns,
    `utterance` and `reply`. Returns how many.
    """
    schema = _fields(CONVERSATION_COLUMNS).append(pa.field("said", pa.list_(pa.struct(list(_fields(_SAID_COLUMNS))))))
    count = 0
    with Store(run) as store, _created(out) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        records = store.records()
        while batch := [_row(record) for record in itertools.islice(records, _BATCH)]:
            writer.write_table(pa.Table.from_pylist(batch, schema))
            count += len(batch)
    return count


def export_reference(run: Path, out: Path) -> int:
    """Writes the folders of the reference's logs below `out`, final conversations only. Returns how many."""
    if out.exists() and any(out.iterdir()):
        raise AnalysisError("this folder is not empty", got=str(out), fix="give another --out")
    files: dict[Path, BinaryIO] = {}
    count = 0
    with Store(run) as store, ExitStack() as opened:
        for count, record in enumerate(store.records("final"), 1):  # noqa: B007 - as above
            log = reference_write.log(record, store.record)
            path = out / reference_write.path(log)
            if path not in files:
                path.parent.mkdir(parents=True, exist_ok=True)
                files[path] = opened.enter_context(path.open("xb"))
            files[path].write(json.dumps(log, allow_nan=False).encode() + b"\n")
    return count


EXPORTS: dict[str, Callable[[Path, Path], int]] = {
    "jsonl": export_jsonl,
    "parquet": export_parquet,
    "reference": export_reference,
}


# -- reading ---------------------------------------------------------------------------------------------------------------


def _files(source: Path) -> list[Path]:
    """The log files, parts of one log in the order of their numbers (`__2` before `__10`)."""
    if not source.exists():
        raise AnalysisError("there is no such file or folder", got=str(source))
    found = [source] if source.is_file() else [p for p in source.rglob("*") if p.name.endswith((".jsonl", ".jsonl.gz"))]
    return sorted(
        found, key=lambda path: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", str(path))]
    )


def _records(files: list[Path], instances: Mapping[tuple[str, str], Instance], unread: list[str]) -> Iterator[Record]:
    """What the lines hold, in order; all are read once before, see `_Survey`."""
    survey = _Survey(instances)
    for where, line in _lines(files, unread):
        with _named(where, unread):
            survey.add(where, line)
    seen: Counter[tuple[object, ...]] = Counter()
    for where, line in _lines(files, []):
        with _named(where, unread):
            if "trace" not in line:
                yield msgspec.convert(line, Record)
            elif survey.last.get(reference_read.identity(line)) == where:
                setting = reference_read.setting(line)
                yield reference_read.record(line, survey.instance(line), seen[setting], survey.last.keys())
                seen[setting] += 1


@contextmanager
def _named(where: str, unread: list[str]) -> Iterator[None]:
    """A line that is no conversation is kept by its place and left out; msgspec's errors are ValueErrors."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        unread.append(f"{where}: no conversation ({type(error).__name__}: {error})")


class _Survey:
    """What has to be known of all logs before the first becomes a record.

    Where the last log with an id stands, since that one counts; which logs there are, since RECAP continues one; and every
    shard of an instance that any log reveals, since a log does not hold its instance.
    """

    def __init__(self, instances: Mapping[tuple[str, str], Instance]) -> None:
        self.last: dict[str, str] = {}
        self._given = instances
        self._told: dict[tuple[object, ...], dict[int, str]] = {}

    def add(self, where: str, log: dict[str, Any]) -> None:
        if "trace" in log:
            reference_read.check(log)
            shards = self._told.setdefault(self._problem(log), {})
            for number, text in reference_read.told(log).items():
                shards.setdefault(number, text)
            self.last[reference_read.identity(log)] = where

    def instance(self, log: dict[str, Any]) -> Instance:
        """The dataset's instance where the conversation was about it, else the shards that were told, in a user's words."""
        task = reference_read.task_name(log["task"])
        given = self._given.get((task, log["task_id"]))
        if given is not None and reference_read.fits(given, log):
            return given
        shards = tuple(Shard(number, text) for number, text in sorted(self._told[self._problem(log)].items()))
        return Instance(id=log["task_id"], task=task, shards=shards, instruction="")

    def _problem(self, log: dict[str, Any]) -> tuple[object, ...]:
        return log["task"], log["task_id"], log.get("dataset_fn")


def _lines(files: list[Path], unread: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every line that is a JSON object, with its place; NaN is read as null."""
    for path in files:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                try:
                    line = json.loads(raw, parse_constant=lambda name: None) if raw.strip() else None
                except ValueError:
                    line = ...
                if isinstance(line, dict):
                    yield f"{path.name}:{number}", line
                elif line is not None:
                    torn = "torn off" if not raw.endswith(b"\n") else "no JSON object"
                    unread.append(f"{path.name}:{number}: {torn}")


def _instances(dataset: Path) -> dict[tuple[str, str], Instance]:
    """The instances of every task in a file."""
    found: dict[tuple[str, str], Instance] = {}
    for name in sorted(
        {reference_read.task_name(str(row.fields.get("task"))) for row in read_rows(dataset)} & TASKS.keys()
    ):
        for instance in get_task(name).load(dataset):
            found[name, instance.id] = instance
    return found


# -- writing ---------------------------------------------------------------------------------------------------------------

_SAID_COLUMNS = (
    *TURN_COLUMNS,
    Column("utterance", "text", lambda t: t.turn.utterance, "what the user said"),
    Column("reply", "text", lambda t: t.turn.reply, "what the assistant said"),
)
_ARROW = {"text": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}


def _fields(columns: Sequence[Column]) -> pa.Schema:
    return pa.schema([pa.field(c.name, _ARROW[c.kind], metadata={"meaning": c.meaning}) for c in columns])


def _row(record: Record) -> dict[str, Any]:
    said = [{column.name: column.value(turn) for column in _SAID_COLUMNS} for turn in turn_rows(record)]
    return {column.name: column.value(record) for column in CONVERSATION_COLUMNS} | {"said": said}


@contextmanager
def _created(out: Path) -> Iterator[BinaryIO]:
    """A new file, there only when it is whole. Raises `AnalysisError` when it exists."""
    if out.exists():
        raise AnalysisError("this file is already there", got=str(out), fix="give another --out")
    part = out.with_name(out.name + ".part")
    part.parent.mkdir(parents=True, exist_ok=True)
    try:
        with gzip.open(part, "wb") if out.suffix == ".gz" else part.open("wb") as file:
            yield cast(BinaryIO, file)
        part.rename(out)
    finally:
        part.unlink(missing_ok=True)
