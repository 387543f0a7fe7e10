"""The one writer of a run: a thread that commits what it was given in groups, so a reply is on disk within `GROUP_SECONDS`
of its arrival and nobody waits for the disk. What the engine has to read as it writes (owed, paid, settled) is here too.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

import msgspec

from simulator.columns import CONVERSATION_COLUMNS, TURN_COLUMNS, turn_rows
from simulator.errors import StoreError
from simulator.record import OWED_AGAIN, Journalled, Record
from simulator.store import SCHEMA, VERSION, check_schema, other_schema, pack, store_file, unpack
from tasks.nouns import Reply

GROUP_SECONDS = 0.05
#: Jobs that may wait for the disk.
WAITING = 500
#: A conversation that failed so often through no fault of the assistant is parked: counted, not tried again.
MAX_TRIES = 3
#: File systems whose locks and shared memory SQLite cannot rely on.
NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "fuse.sshfs", "glusterfs"})

_encode = msgspec.json.Encoder().encode
_decode_reply = msgspec.json.Decoder(Reply).decode
_INSERT_CONVERSATION = f"""INSERT INTO conversations ({", ".join(f'"{c.name}"' for c in CONVERSATION_COLUMNS)}, payload)
VALUES ({", ".join("?" * (len(CONVERSATION_COLUMNS) + 1))})"""
_INSERT_TURN = f"INSERT INTO turns VALUES ({', '.join('?' * (len(TURN_COLUMNS) + 1))})"
#: A stop for the budget's sake is no try: nothing was attempted in vain.
_OWED_BY_WORK = ", ".join(f"'{party}'" for party in OWED_AGAIN if party != "budget")


class Writer:
    """The one writer of a run. Use as a context manager; leaving it commits what is queued.

    Raises `StoreError` at the next call when the disk refused something: a run that cannot be kept must not go on paying.
    """

    def __init__(self, run: Path | str) -> None:
        """Makes the folder and the store if needed. Raises `StoreError` when another process writes here."""
        self.run = Path(run)
        self.path = store_file(self.run)
        self._lock = _lock(self.run)
        try:
            self._connection = _create_or_open(self.path)
        except BaseException:
            self._lock.close()
            raise
        self._queue: queue.Queue[_Job] = queue.Queue(WAITING)
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
        self._offer(_Stop())
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
        return unpack(row[0]) if row else None

    # -- the thread -----------------------------------------------------------------------------------------------------

    def _put(self, job: _Job) -> None:
        self._raise_if_broken()
        self._offer(job)

    def _offer(self, job: _Job) -> None:
        """Waits for room: whoever is faster than the disk is slowed down to it, and memory stays as it is."""
        while self._thread.is_alive():
            with contextlib.suppress(queue.Full):
                self._queue.put(job, timeout=0.2)
                return

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
        row = (self.call, self.conversation, self.request, _encode(self.reply))
        connection.execute("INSERT OR REPLACE INTO journal VALUES (?, ?, ?, ?, 0)", row)


class _Finish(_Job, frozen=True):
    record: Record
    forget: str | None

    def run(self, connection: sqlite3.Connection) -> None:
        record = self.record
        row = [column.value(record) for column in CONVERSATION_COLUMNS]
        cursor = connection.execute(_INSERT_CONVERSATION, (*row, pack(record)))
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


# -- opening ------------------------------------------------------------------------------------------------------------


def _lock(run: Path) -> TextIO:
    """Holds the run for this process; the lock goes with the process, however it ends."""
    run.mkdir(parents=True, exist_ok=True)
    if (kind := file_system(run)) in NETWORK:
        raise StoreError(
            "a run cannot be kept on a network file system: its locks do not hold, and paid replies could be lost",
            got=f"{run} ({kind})",
            fix="choose an --out on a disk of this machine, and copy the run afterwards",
        )
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
            connection.executescript(f"BEGIN; {SCHEMA} INSERT INTO meta VALUES ('schema', '{VERSION}'); COMMIT;")
        check_schema(connection, path)
    except sqlite3.DatabaseError:
        connection.close()
        raise other_schema(path, "unknown") from None
    except StoreError:
        connection.close()
        raise
    return connection


def file_system(folder: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """The kind of file system a folder lies on, as Linux names it; empty where that cannot be told."""
    if not mounts.exists():
        return ""
    place, kind = folder.resolve(), ""
    longest = 0
    for line in mounts.read_text().splitlines():
        _, point, name, *_ = line.split()
        root = Path(point.replace("\\040", " "))
        if (place == root or root in place.parents) and len(root.parts) >= longest:
            longest, kind = len(root.parts), name
    return kind
