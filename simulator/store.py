"""Where records live: one SQLite file (WAL) in the run folder. Append only in effect, one writer, many readers.

Tables: `experiments` (what made the run), `conversations` and `turns` (typed columns, see `columns`; the whole conversation
is the compressed JSON in `payload`), and `journal` (paid replies of conversations that have not ended; they go with their
conversation's record in one transaction). A conversation that was owed again has several rows; the view `latest` has one a key.

`Store` reads and never writes; opening it imports no graph and no model library. Who writes: `writer`.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import zstandard

from simulator.columns import CONVERSATION_COLUMNS, KINDS, TURN_COLUMNS, Column
from simulator.errors import StoreError
from simulator.record import SCHEMA_VERSION, Record

FILE = "store.sqlite"


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
"""
#: Of records and of the tables: a store that differs in either is another one.
VERSION = f"{SCHEMA_VERSION}.{hashlib.sha256(SCHEMA.encode()).hexdigest()[:8]}"


class Store:
    """The read side of a run. Opening it imports no graph and no model library; readers never block the writer."""

    def __init__(self, run: Path | str) -> None:
        """Raises `StoreError` when there is no run, or one of another schema."""
        self.run = Path(run)
        self.path = store_file(self.run)
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
            check_schema(self.connection, self.path)
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
        return unpack(rows[0][1])

    def records(self, where: str = "1", parameters: tuple[Any, ...] = ()) -> Iterator[Record]:
        """Latest records that fulfil an SQL condition on `CONVERSATION_COLUMNS`, in the order they were stored."""
        for (payload,) in self.connection.execute(f"SELECT payload FROM latest WHERE {where} ORDER BY id", parameters):
            yield unpack(payload)

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


# -- small parts ---------------------------------------------------------------------------------------------------------

_encode = msgspec.json.Encoder().encode
_decode_record = msgspec.json.Decoder(Record).decode


def pack(record: Record) -> bytes:
    """A record as it lies in `payload`."""
    return zstandard.ZstdCompressor(level=3).compress(_encode(record))


def unpack(payload: bytes) -> Record:
    """The record of a `payload`."""
    return _decode_record(zstandard.ZstdDecompressor().decompress(payload))


def store_file(run: Path) -> Path:
    """The file of a run's folder; the file itself will do."""
    return run if run.suffix == ".sqlite" else run / FILE


def check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Raises `StoreError` for a store this code cannot read."""
    try:
        row = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
    except sqlite3.DatabaseError:
        row = None
    if row is None or row[0] != VERSION:
        raise other_schema(path, row[0] if row else "unknown")


def other_schema(path: Path, schema: str) -> StoreError:
    """The error of a store of that schema."""
    return StoreError(
        "this store was made by another version of shardtalk, or is none",
        got=f"{path}: schema {schema}",
        allowed=f"schema {VERSION}",
        fix="use another --out, or the version that made it",
    )
