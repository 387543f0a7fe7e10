"""Running one SQL query that a model wrote, so that it can read one database and do nothing else.

The file is opened read-only, an authorizer refuses all but reading, and time, memory and rows are bounded. What came out
is compared in `tasks.sql_gold`. Everything here blocks; callers run it in a thread (SQLite lets go of the GIL).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from tasks.nouns import ScorerFailure

Cell: TypeAlias = int | float | str | bytes | None
Row: TypeAlias = tuple[Cell, ...]


class Limits(msgspec.Struct, frozen=True):
    """What one query may use.

    Attributes:
        seconds: wall time. `memory`: bytes by which this process may grow meanwhile (checked where `/proc` exists).
        rows: rows that are fetched; one more makes the table `truncated`.
        text: bytes of the longest value a query may read or build.
    """

    seconds: float = 10.0
    memory: int = 256 * 1024 * 1024
    rows: int = 50_000
    text: int = 200_000


class Table(msgspec.Struct, frozen=True):
    """What a query returned: names of its columns, and rows of `Cell`s in the order they came."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    truncated: bool = False


class QueryFailed(Exception):
    """A query that returned no table. `status` as in `tasks.nouns.Score`; the text says why."""

    def __init__(self, status: Literal["no_answer", "unreadable", "timeout", "memory", "error"], why: str) -> None:
        self.status = status
        super().__init__(why)


def run(database: Path, statement: str, limits: Limits, *, reverse: bool = False) -> Table:
    """The table one statement returns.

    Args:
        database: an SQLite file; it is never changed, and nothing is written beside it.
        reverse: visit rows the other way round where the statement leaves their order open.

    Raises:
        QueryFailed: the statement is none, several, refused, wrong, or takes more than `limits`.
        ScorerFailure: the file cannot be opened.
    """
    with contextlib.closing(_open(database, limits, reverse)) as connection:
        watch = _Watch(limits)
        connection.set_progress_handler(watch, _TICK)
        with _named(watch):
            cursor = connection.execute(statement)
            if cursor.description is None:
                raise QueryFailed("no_answer", "there is no statement")
            rows = cursor.fetchmany(limits.rows + 1)
    names = tuple(column[0] for column in cursor.description)
    return Table(names, tuple(rows[: limits.rows]), truncated=len(rows) > limits.rows)


#: Virtual machine instructions between two looks at the clock: about 0.3 ms.
_TICK = 10_000
#: A single instruction cannot be stopped, so none may take long.
_BOUNDS = {sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000, sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000}


def _open(database: Path, limits: Limits, reverse: bool) -> sqlite3.Connection:
    address = f"{database.resolve().as_uri()}?mode=ro&immutable=1"
    try:
        connection = sqlite3.connect(address, uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise ScorerFailure(f"{database} cannot be opened: {error}") from error
    connection.text_factory = _text
    for category, bound in _BOUNDS.items():
        connection.setlimit(category, bound)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.text)
    connection.execute("PRAGMA temp_store = MEMORY")  # else a large sort writes to the disk
    if reverse:
        connection.execute("PRAGMA reverse_unordered_selects = ON")
    connection.set_authorizer(_authorize)
    return connection


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="backslashreplace")  # some public databases hold Latin-1


_READING = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE},
)
#: Functions that load code, or show addresses.
_DENIED = frozenset({"load_extension", "fts3_tokenizer"})


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    allowed = action in _READING and not (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _DENIED)
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


class _Watch:
    """Looks at clock and memory while a query runs; a true answer stops it. `stopped` says why."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.deadline = time.monotonic() + limits.seconds
        self.ceiling = _resident() + limits.memory
        self.stopped: Literal["timeout", "memory"] | None = None

    def __call__(self) -> bool:
        if time.monotonic() > self.deadline:
            self.stopped = "timeout"
        elif _resident() > self.ceiling:
            self.stopped = "memory"
        return self.stopped is not None

    @property
    def why(self) -> str:
        bounds = {"timeout": f"{self.limits.seconds:g} s", "memory": f"{self.limits.memory // 2**20} MB"}
        return f"stopped after more than {bounds[self.stopped]}" if self.stopped else ""


def _resident() -> int:
    """Bytes this process holds in memory; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


@contextlib.contextmanager
def _named(watch: _Watch) -> Iterator[None]:
    """Turns what SQLite raises about a statement into `QueryFailed`."""
    try:
        yield
    except MemoryError:
        raise QueryFailed("memory", "out of memory") from None
    except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError, ValueError) as error:
        if watch.stopped:
            raise QueryFailed(watch.stopped, watch.why) from None
        several = "one statement" in str(error)  # a Warning up to Python 3.10, a ProgrammingError since
        raise QueryFailed(
            "unreadable" if several else "error", "multiple_statements" if several else str(error)
        ) from None
