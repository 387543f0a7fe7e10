"""Where records live: one SQLite file (WAL) in the run folder. Append only in effect, one writer, many readers.

Tables: `experiments` (what made the run), `conversations` and `turns` (typed columns, see `columns`; the whole conversation
is the compressed JSON in `payload`), and `journal` (paid replies of conversations that have not ended; they go with their
conversation's record in one transaction). A conversation that was owed again has several rows; the view `latest` has one a key.

`Store` reads and never writes. `Writer` is the only one to write: a thread that commits what it was given in groups, so a
reply is on disk within `GROUP_SECONDS` of its arrival and nobody waits for the disk.
"""

from __future__ import annotations

import fcntl
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

import msgspec
import zstandard

from simulator.columns import CONVERSATION_COLUMNS, KINDS, TURN_COLUMNS, Column, turn_rows
from simulator.errors import StoreError
from simulator.record import OWED_AGAIN, SCHEMA_VERSION, Record
from tasks.nouns import Reply

FILE = "store.sqlite"
GROUP_SECONDS = 0.05
#: A conversation that failed so often through no fault of the assistant is parked: counted, not tried again.
MAX_TRIES = 3


def _ddl(columns: Iterable[Column]) -> str:
    return ", ".join(f'"{c.name}" {KINDS[c.kind][0]}' for c in columns)


SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE experiments (id INTEGER PRIMARY KEY, added REAL, experiment TEXT);
CREATE TABLE conversations (id INTEGER PRIMARY KEY, {_ddl(CONVERSATION_COLUMNS)}, payload BLOB);
CREATE INDEX conversations_key ON conversations (key, final);
CREATE TABLE turns (conversation INTEGER, {_ddl(TURN_COLUMNS)});
CREATE INDEX turns_conversation ON turns (conversation);
CREATE TABLE journal (call TEXT PRIMARY KEY, conversation TEXT, request TEXT, reply BLOB, counted INTEGER) WITHOUT ROWID;
CREATE INDEX journal_conversation ON journal (conversation);
CREATE TABLE progress (id INTEGER PRIMARY KEY, progress TEXT);
CREATE VIEW latest AS SELECT * FROM conversations WHERE id IN (SELECT max(id) FROM conversations GROUP BY key);
INSERT INTO meta VALUES ('schema', '{SCHEMA_VERSION}');
"""


class Journalled(msgspec.Struct, frozen=True):
    """A paid reply.

    Attributes:
        request: digest of the request it answered (a changed request is not replayed).
        counted: an earlier record of the conversation, a failed one, already holds its cost.
    """

    request: str
    reply: Reply
    counted: bool


class Store:
    """The read side of a run. Opening it imports no graph and no model library; readers never block the writer."""

    def __init__(self, run: Path | str) -> None:
        """Raises `StoreError` when there is no run, or one of another schema."""
        self.run = Path(run)
        self.path = _store_file(self.run)
        if not self.path.exists():
            raise StoreError(
                "there is no run here",
                got=str(run),
                allowed="a folder made by `shardtalk run --out`",
                fix="check the path",
            )
        self.connection = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, check_same_thread=False)
        self.connection.execute("PRAGMA query_only = 1")
        try:
            _check_schema(self.connection, self.path)
        except StoreError:
            self.connection.close()
            raise

    def experiments(self) -> list[dict[str, Any]]:
        """The experiments that made this run, oldest first, as plain dicts."""
        rows = self.connection.execute("SELECT experiment FROM experiments ORDER BY id")
        return [msgspec.json.decode(text) for (text,) in rows]

    def progress(self) -> dict[str, Any] | None:
        """What the engine last said of how far it is; `at` says when."""
        row = self.connection.execute("SELECT progress FROM progress").fetchone()
        return dict(msgspec.json.decode(row[0])) if row else None

    def record(self, key: str) -> Record:
        """The latest record of a conversation; a unique beginning of its key will do. Raises `StoreError`."""
        rows = self.connection.execute(
            "SELECT key, payload FROM latest WHERE key >= ? AND key < ? ORDER BY key LIMIT 2", (key, key + "\x7f")
        ).fetchall()
        if len(rows) != 1:
            problem = "several conversations begin with this key" if rows else "there is no conversation with this key"
            raise StoreError(problem, got=key, fix="`shardtalk show RUN` lists the keys")
        return _unpack(rows[0][1])

    def records(self, where: str = "1", parameters: tuple[Any, ...] = ()) -> Iterator[Record]:
        """Latest records that fulfil an SQL condition on `CONVERSATION_COLUMNS`, in the order they were stored."""
        for (payload,) in self.connection.execute(f"SELECT payload FROM latest WHERE {where} ORDER BY id", parameters):
            yield _unpack(payload)

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


class Writer:
    """The one writer of a run. Use as a context manager; leaving it commits what is queued.

    Raises `StoreError` at the next call when the disk refused something: a run that cannot be kept must not go on paying.
    """

    def __init__(self, run: Path | str) -> None:
        """Makes the folder and the store if needed. Raises `StoreError` when another process writes here."""
        self.run = Path(run)
        self.path = _store_file(self.run)
        self._lock = _lock(self.run)
        try:
            self._connection = _create_or_open(self.path)
        except BaseException:
            self._lock.close()
            raise
        self._queue: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="store-writer", daemon=True)
        self._reading = sqlite3.connect(self.path, check_same_thread=False)
        self._reading.execute("PRAGMA query_only = 1")
        self._thread.start()

    # -- writing ----------------------------------------------------------------------------------------------------

    def add_experiment(self, experiment: Mapping[str, Any]) -> None:
        """Keeps the description of what is about to run."""
        self._put(_AddExperiment(msgspec.json.encode(experiment).decode(), time.time()))

    def progress(self, progress: Mapping[str, Any]) -> None:
        """Says how far the engine is, for `shardtalk status`; the latest word replaces the one before."""
        self._put(_Progress(msgspec.json.encode({"at": time.time(), **progress}).decode()))

    def journal(self, conversation: str, call: str, request: str, reply: Reply) -> None:
        """Keeps a paid reply until its conversation is stored."""
        self._put(_Journal(conversation, call, request, reply))

    def finish(self, record: Record, forget: str | None = None) -> None:
        """Stores a conversation. A final one takes its journal with it; a failed one leaves it, to continue from there,
        but for the calls whose keys begin with `forget`: replies that made it fail would make it fail again.
        """
        self._put(_Finish(record, forget))

    def flush(self) -> None:
        """Returns when everything given so far is on disk."""
        done = threading.Event()
        self._put(_Flush(done))
        while not done.wait(0.2):
            self._raise_if_broken()
        self._raise_if_broken()

    def close(self) -> None:
        """Commits, checkpoints and gives the run free."""
        self._queue.put(_Stop())
        self._thread.join()
        self._reading.close()
        self._connection.close()
        self._lock.close()
        self._raise_if_broken()

    # -- reading what was written before --------------------------------------------------------------------------------

    def experiments(self) -> list[dict[str, Any]]:
        """See `Store.experiments`."""
        rows = self._reading.execute("SELECT experiment FROM experiments ORDER BY id")
        return [msgspec.json.decode(text) for (text,) in rows]

    def settled(self, keys: list[str]) -> dict[str, bool]:
        """Which of these need no more work: True where a final record exists, False where it was parked after `MAX_TRIES`."""
        marks = ",".join("?" * len(keys))
        rows = self._reading.execute(
            f"SELECT key, max(final), sum(ended IN ({_OWED_BY_WORK})) FROM conversations WHERE key IN ({marks}) GROUP BY key",
            keys,
        )
        return {key: bool(final) for key, final, tries in rows if final or tries >= MAX_TRIES}

    def journalled(self, conversation: str) -> dict[str, Journalled]:
        """Paid replies of a conversation that was interrupted, by call key."""
        rows = self._reading.execute(
            "SELECT call, request, reply, counted FROM journal WHERE conversation = ?", (conversation,)
        )
        return {call: Journalled(request, _decode_reply(blob), bool(counted)) for call, request, blob, counted in rows}

    def spent(self) -> tuple[float, int]:
        """US dollars and tokens of all calls so far, of conversations under way too; unpriced calls count no dollars."""
        usd, tokens = self._reading.execute("SELECT total(spent), total(spent_tokens) FROM conversations").fetchone()
        for (blob,) in self._reading.execute("SELECT reply FROM journal WHERE NOT counted"):
            reply = _decode_reply(blob)
            usd, tokens = usd + (reply.cost or 0.0), tokens + reply.usage.input + reply.usage.output
        return usd, int(tokens)

    def record(self, key: str) -> Record | None:
        """The final record of a conversation, if there is one."""
        row = self._reading.execute(
            "SELECT payload FROM conversations WHERE key = ? AND final ORDER BY id DESC LIMIT 1", (key,)
        ).fetchone()
        return _unpack(row[0]) if row else None

    # -- the thread -----------------------------------------------------------------------------------------------------

    def _put(self, job: _Job) -> None:
        self._raise_if_broken()
        self._queue.put(job)

    def _raise_if_broken(self) -> None:
        if self._error is not None:
            raise StoreError(
                "the store cannot be written",
                got=str(self._error),
                fix="free the disk, then give the same command again",
            ) from self._error

    def _work(self) -> None:
        while True:
            batch = self._gather()
            try:
                _commit(self._connection, batch)
            except Exception as error:  # noqa: BLE001 - handed to the caller by _raise_if_broken
                self._error = error
            for job in batch:
                if isinstance(job, _Flush):
                    job.done.set()
            if isinstance(batch[-1], _Stop) or self._error is not None:
                return

    def _gather(self) -> list[_Job]:
        """The first job and all that come within the group's time; a flush or stop ends the group at once."""
        batch = [self._queue.get()]
        until = time.monotonic() + GROUP_SECONDS
        while not isinstance(batch[-1], _Flush | _Stop):
            try:
                batch.append(self._queue.get(timeout=max(0.0, until - time.monotonic())))
            except queue.Empty:
                break
        return batch

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


# -- jobs of the writer ------------------------------------------------------------------------------------------------


class _Job(msgspec.Struct, frozen=True):
    """Something the writer's thread does within a transaction."""

    def run(self, connection: sqlite3.Connection) -> None:
        """Nothing, for the jobs that only steer the thread."""


class _Flush(_Job, frozen=True):
    done: threading.Event


class _Stop(_Job, frozen=True):
    pass


class _AddExperiment(_Job, frozen=True):
    experiment: str
    added: float

    def run(self, connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO experiments (added, experiment) VALUES (?, ?)", (self.added, self.experiment))


class _Progress(_Job, frozen=True):
    progress: str

    def run(self, connection: sqlite3.Connection) -> None:
        connection.execute("INSERT OR REPLACE INTO progress VALUES (1, ?)", (self.progress,))


class _Journal(_Job, frozen=True):
    conversation: str
    call: str
    request: str
    reply: Reply

    def run(self, connection: sqlite3.Connection) -> None:
        row = (self.call, self.conversation, self.request, _json.encode(self.reply))
        connection.execute("INSERT OR REPLACE INTO journal VALUES (?, ?, ?, ?, 0)", row)


class _Finish(_Job, frozen=True):
    record: Record
    forget: str | None

    def run(self, connection: sqlite3.Connection) -> None:
        record = self.record
        row = [column.value(record) for column in CONVERSATION_COLUMNS]
        cursor = connection.execute(_INSERT_CONVERSATION, (*row, _pack(record)))
        turns = [(cursor.lastrowid, *(c.value(t) for c in TURN_COLUMNS)) for t in turn_rows(record)]
        connection.executemany(_INSERT_TURN, turns)
        if record.final:
            # `key~…`: the same conversation, judged again.
            connection.execute(
                "DELETE FROM journal WHERE conversation >= ? AND conversation < ?", (record.key, record.key + "\x7f")
            )
            return
        connection.execute("UPDATE journal SET counted = 1 WHERE conversation = ?", (record.key,))
        if self.forget:
            past = self.forget + "\x7f"
            connection.execute("DELETE FROM journal WHERE call >= ? AND call < ?", (self.forget, past))


def _commit(connection: sqlite3.Connection, batch: list[_Job]) -> None:
    """One transaction. Replies whose conversation ended within the same batch never reach the journal."""
    ended = {job.record.key for job in batch if isinstance(job, _Finish) and job.record.final}
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for job in batch:
            if not (isinstance(job, _Journal) and job.conversation in ended):
                job.run(connection)


# -- small parts ---------------------------------------------------------------------------------------------------------

_json = msgspec.json.Encoder()
_decode_record = msgspec.json.Decoder(Record).decode
_decode_reply = msgspec.json.Decoder(Reply).decode
_INSERT_CONVERSATION = f"""INSERT INTO conversations ({", ".join(f'"{c.name}"' for c in CONVERSATION_COLUMNS)}, payload)
VALUES ({", ".join("?" * (len(CONVERSATION_COLUMNS) + 1))})"""
_INSERT_TURN = f"INSERT INTO turns VALUES ({', '.join('?' * (len(TURN_COLUMNS) + 1))})"
#: A stop for the budget's sake is no try: nothing was attempted in vain.
_OWED_BY_WORK = ", ".join(f"'{party}'" for party in OWED_AGAIN if party != "budget")


def _pack(record: Record) -> bytes:
    return zstandard.ZstdCompressor(level=3).compress(_json.encode(record))


def _unpack(payload: bytes) -> Record:
    return _decode_record(zstandard.ZstdDecompressor().decompress(payload))


def _store_file(run: Path) -> Path:
    return run if run.suffix == ".sqlite" else run / FILE


def _lock(run: Path) -> TextIO:
    """Holds the run for this process; the lock goes with the process, however it ends."""
    run.mkdir(parents=True, exist_ok=True)
    file = (run / "writer.lock").open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        file.close()
        raise StoreError(
            "another process is writing to this run",
            got=f"{run} (process {holder})",
            fix="wait for it, or use another --out",
        ) from None
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


def _create_or_open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            connection.executescript(f"BEGIN; {SCHEMA} COMMIT;")
        _check_schema(connection, path)
    except sqlite3.DatabaseError:
        connection.close()
        raise _other_schema(path, "unknown") from None
    except StoreError:
        connection.close()
        raise
    return connection


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    try:
        row = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
    except sqlite3.DatabaseError:
        row = None
    if row is None or row[0] != str(SCHEMA_VERSION):
        raise _other_schema(path, row[0] if row else "unknown")


def _other_schema(path: Path, schema: str) -> StoreError:
    return StoreError(
        "this store was made by another version of shardtalk, or is none",
        got=f"{path}: schema {schema}",
        allowed=f"schema {SCHEMA_VERSION}",
        fix="use another --out, or the version that made it",
    )
