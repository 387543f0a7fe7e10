"""The embedded databases as files. Each is built at its first use from the SQL text and the generated rows.

A file's name holds a digest of all that is in it. So a build is never out of date, two processes that build at the same
time build the same, and an instance names exactly the data it was made for.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import tempfile
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from tasks.cache import cache_folder
from tasks.schemas.rows import make_rows

#: The embedded databases. A new one is two files of this name, and its name here.
NAMES = ("harbour", "vet", "festival", "huts")


class Blueprint(msgspec.Struct, frozen=True):
    """All that makes one database, and what can be asked of it.

    Attributes:
        db_id: its name and a digest of its content, e.g. `harbour-1f0c62ab94`.
        schema: the CREATE TABLE statements. `inserts`: a statement for each table, with its rows.
        subjects: what questions are made of (`questions.Subject` as plain data).
    """

    db_id: str
    schema: str
    inserts: tuple[tuple[str, list[tuple[Any, ...]]], ...]
    subjects: tuple[dict[str, Any], ...]


@cache
def blueprint(name: str) -> Blueprint:
    """The blueprint of one of `NAMES`."""
    folder = resources.files("tasks.schemas")
    schema = (folder / f"{name}.sql").read_text(encoding="utf-8")
    described = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
    tables = make_rows(described["rows"], described["seed"])
    inserts = tuple(
        (f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", [tuple(row.values()) for row in rows])
        for table, rows in tables.items()
    )
    digest = hashlib.sha256(json.dumps([schema, inserts]).encode()).hexdigest()
    return Blueprint(f"{name}-{digest[:10]}", schema, inserts, tuple(described["subjects"]))


def database_file(db_id: str) -> Path | None:
    """The file of an embedded database, built if it is not there yet; None if no embedded database has this id."""
    name = db_id.partition("-")[0]
    if name not in NAMES or blueprint(name).db_id != db_id:
        return None
    return file_of(blueprint(name))


def file_of(plan: Blueprint) -> Path:
    """The file of a database in the user's cache folder, built if it is not there yet. Raises `OSError` if it cannot be."""
    file = cache_folder("databases") / f"{plan.db_id}.sqlite"
    if not file.exists():
        _build(plan, file)
    return file


def _build(plan: Blueprint, file: Path) -> None:
    """Builds aside and moves into place, so that no process ever sees half a database."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=file.parent, prefix=f".{file.stem}-")
    os.close(handle)
    try:
        with contextlib.closing(sqlite3.connect(draft)) as connection, connection:
            connection.executescript(plan.schema)
            for statement, rows in plan.inserts:
                connection.executemany(statement, rows)
        os.replace(draft, file)
    finally:
        Path(draft).unlink(missing_ok=True)
