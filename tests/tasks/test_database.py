"""The database task: its embedded databases and questions, its wording, and published rows."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from sqlglot import expressions as exp

from tasks.database import DatabaseTask
from tasks.datasets import instance_lines
from tasks.errors import DatasetError
from tasks.nouns import Instance
from tasks.schemas.embedded import NAMES, blueprint, database_file
from tasks.schemas.rows import make_rows

TASK = DatabaseTask()
SHIPPED = TASK.load()
DATA = Path(__file__).parents[2] / "tasks" / "data" / "database.jsonl"


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty cache folder, so that the databases are built here."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


def file_of(instance: Instance) -> Path:
    file = database_file(instance.data["db_id"])
    assert file is not None
    return file


def rows_of(file: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(query).fetchall()


# -- the embedded databases --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_embedded_database(name: str) -> None:
    file = database_file(blueprint(name).db_id)
    assert file is not None
    tables = [table for (table,) in rows_of(file, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    sizes = {table: rows_of(file, f"SELECT COUNT(*) FROM {table}")[0][0] for table in tables}
    related = [table for table in tables if rows_of(file, f"PRAGMA foreign_key_list({table})")]
    assert len(tables) >= 4
    assert len(related) >= len(tables) // 2
    assert sum(sizes.values()) >= 300
    assert min(sizes.values()) > 0
    assert rows_of(file, "PRAGMA foreign_key_check") == []
    assert rows_of(file, "PRAGMA integrity_check") == [("ok",)]


def test_several_processes_build_one_database(tmp_path: Path) -> None:
    db_id = blueprint("vet").db_id
    code = f"from tasks.schemas.embedded import database_file; print(database_file({db_id!r}))"
    builders = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=Path(__file__).parents[2],
            env={"XDG_CACHE_HOME": str(tmp_path), "PATH": ""},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    files = {builder.communicate()[0].strip() for builder in builders}
    assert files == {str(tmp_path / "shardtalk" / "databases" / f"{db_id}.sqlite")}
    assert [path.name for path in (tmp_path / "shardtalk" / "databases").iterdir()] == [f"{db_id}.sqlite"]


def test_an_id_of_other_content_is_unknown() -> None:
    assert database_file("vet-0000000000") is None
    assert database_file("concert_singer") is None


def test_rows_of_a_table() -> None:
    described = {
        "town": {"count": 2, "name": {"join": [["Old", "New"], ["Ford"]]}},
        "shop": {
            "count": 30,
            "town_id": {"row_of": "town"},
            "opened": {"date": ["2024-02-28", "2024-03-01"]},
            "closed": {"days_after": "opened", "days": [1, 1], "missing": 0.5},
            "area": {"number": [1, 2], "step": 0.5},
        },
    }
    made = make_rows(described, seed=1)
    assert made == make_rows(described, seed=1) != make_rows(described, seed=2)
    assert {row["name"] for row in made["town"]} == {"Old Ford", "New Ford"}
    assert [row["shop_id"] for row in made["shop"]] == list(range(1, 31))
    assert {row["area"] for row in made["shop"]} == {1.0, 1.5, 2.0}
    follows = {"2024-02-28": "2024-02-29", "2024-02-29": "2024-03-01", "2024-03-01": "2024-03-02"}
    assert {row["closed"] == follows[row["opened"]] for row in made["shop"] if row["closed"]} == {True}
    assert 0 < sum(row["closed"] is None for row in made["shop"]) < 30


# -- the embedded questions ---------------------------------------------------------------------------------------------


def test_shipped_questions_are_generated() -> None:
    assert "".join(instance_lines(TASK.generate(len(SHIPPED), 0))) == DATA.read_text(encoding="utf-8")


def test_spread() -> None:
    assert len(SHIPPED) >= 24
    assert {len(instance.shards) for instance in SHIPPED} >= {3, 4, 5, 6, 7}
    assert all(3 <= len(instance.shards) <= 9 for instance in SHIPPED)
    difficulties = Counter(instance.strata["difficulty"] for instance in SHIPPED)
    assert set(difficulties) == {"easy", "medium", "hard"}
    assert min(difficulties.values()) >= 10
    assert set(Counter(instance.strata["database"] for instance in SHIPPED).values()) == {16}
    assert len({instance.id for instance in SHIPPED}) == len({instance.target for instance in SHIPPED}) == len(SHIPPED)


def test_fresh_questions() -> None:
    fresh = list(TASK.generate(12, 7))
    assert fresh == list(TASK.generate(12, 7))
    assert fresh[:5] == list(TASK.generate(5, 7))
    assert not {instance.target for instance in fresh} & {instance.target for instance in TASK.generate(12, 8)}


async def test_right_and_wrong_answers() -> None:
    for instance in SHIPPED:
        for reply, value in ((TASK.right_answer(instance), 1.0), (TASK.wrong_answer(instance), 0.0)):
            score = await TASK.score(await TASK.extract(reply, instance) or "", instance)
            assert (score.value, score.status) == (value, "scored")
            assert "undetermined" not in score.details


def ways_to_forget(query: exp.Select) -> Iterator[exp.Select]:
    """The query without one of its facts, for each of them (columns apart: without one the result is another anyway)."""
    where = query.args.get("where")
    conditions = (
        list(where.this.flatten()) if where and isinstance(where.this, exp.And) else [where.this] if where else []
    )
    for forgotten in conditions:
        rest = [one.copy() for one in conditions if one is not forgotten]
        less = query.copy()
        less.set("where", exp.Where(this=exp.and_(*rest)) if rest else None)
        yield less
    for clause in ("distinct", "having", "order", "limit", "group"):
        if query.args.get(clause):
            less = query.copy()
            less.set(clause, None)
            yield less


@pytest.mark.parametrize("instance", SHIPPED, ids=lambda instance: instance.id)
async def test_every_fact_matters(instance: Instance) -> None:
    """Taken apart by a parser, not by the generator: without any one piece the answer is not right any more."""
    query = sqlglot.parse_one(instance.target, dialect="sqlite")
    assert isinstance(query, exp.Select)
    assert rows_of(file_of(instance), instance.target)
    for less in ways_to_forget(query):
        score = await TASK.score(less.sql(dialect="sqlite"), instance)
        assert score.value == 0.0, less.sql()


def values(text: str) -> set[str]:
    return set(re.findall(r"'[^']*'|\b\d[\d.-]*\b|\b[A-Z]\w+(?= |,|\.)", re.sub(r"(^|\. )\w+", "", text)))


@pytest.mark.parametrize("instance", SHIPPED, ids=lambda instance: instance.id)
def test_shards_say_what_the_instruction_says(instance: Instance) -> None:
    intent, *rest = (shard.text for shard in instance.shards)
    assert not re.search(r"\d|'", intent)
    assert values(instance.instruction) == {value for text in rest for value in values(text)}
    gold = sqlglot.parse_one(instance.target, dialect="sqlite")
    said = " ".join(rest)
    wanted = [one for one in gold.find_all(exp.Literal) if one.name not in ("0", "1", "6", "4", "2", "08")]
    assert all(one.name.strip("-%") in said for one in wanted)


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("```sql\nSELECT COUNT(*) FROM visit;\n```", "answer_attempt"),
        ("SELECT COUNT(*)\nFROM visit", "answer_attempt"),
        ("Do you want to see the name of the ship?", "clarification"),
        ("Tables of a database can be joined by their keys.", "discussion"),
        (" ", "missing"),
    ],
)
async def test_classes(reply: str, label: str) -> None:
    assert await TASK.classify(reply, SHIPPED[0]) == label


async def test_right_answers_are_attempts() -> None:
    labels = {await TASK.classify(TASK.right_answer(instance), instance) for instance in SHIPPED}
    assert labels == {"answer_attempt"}


# -- wording -----------------------------------------------------------------------------------------------------------


def test_modes_differ_in_nothing_but_the_disclosure() -> None:
    """Trap 87: the schema and the rules of form are said once, in the system text, whatever the mode."""
    instance = SHIPPED[0]
    schema = instance.data["schema"].strip()
    assert TASK.system(instance).count(schema) == 1
    assert TASK.full(instance) == instance.instruction
    concat = TASK.concat(instance, instance.shards)
    assert concat.splitlines()[1:] == [f"- {shard.text}" for shard in instance.shards]
    assert not re.search("schema|sqlite|create table|```", concat.lower())


# -- published rows ---------------------------------------------------------------------------------------------------


def row(**changes: object) -> dict[str, object]:
    """A row as published."""
    return {
        "task_id": "sharded-Spider/7",
        "task": "database",
        "db_id": "concert_singer",
        "schema_sql": "CREATE TABLE singer (id INTEGER, name TEXT, age INTEGER);",
        "reference_sql": "SELECT name FROM singer WHERE age > 30 ORDER BY age",
        "fully_specified_question": "Show the names of singers older than 30, the youngest first.",
        "spider_difficulty": "medium",
        "shards": [
            {"shard_id": 1, "shard": "names of singers"},
            {"shard_id": 2, "shard": "only those older than 30"},
            {"shard_id": 3, "shard": "the youngest first"},
        ],
    } | changes


Loaded = Callable[..., list[Instance]]


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    def loaded(*rows: dict[str, object]) -> list[Instance]:
        path = tmp_path / "rows.json"
        path.write_text(json.dumps(rows), encoding="utf-8")
        return TASK.load(path)

    return loaded


async def test_published_row(loaded: Loaded, tmp_path: Path) -> None:
    [instance] = loaded(row())
    assert (instance.strata, instance.data["db_id"]) == ({"difficulty": "medium"}, "concert_singer")
    assert instance.data["schema"] in TASK.system(instance)
    assert TASK.full(instance) == "Show the names of singers older than 30, the youngest first."
    file = tmp_path / "databases" / "concert_singer" / "concert_singer.sqlite"
    file.parent.mkdir(parents=True)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executescript(instance.data["schema"])
        connection.executemany("INSERT INTO singer VALUES (?, ?, ?)", [(1, "Ada", 44), (2, "Bo", 31), (3, "Cy", 22)])
    task = DatabaseTask(tmp_path / "databases")
    for reply, value in ((task.right_answer(instance), 1.0), (task.wrong_answer(instance), 0.0)):
        assert (await task.score(await task.extract(reply, instance) or "", instance)).value == value


def test_row_without_a_difficulty(loaded: Loaded) -> None:
    fields = row()
    del fields["spider_difficulty"]
    assert loaded(fields)[0].strata == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"db_id": "../../etc"},
        {"db_id": "a/b"},
        {"db_id": ".."},
        {"db_id": 7},
        {"reference_sql": " "},
        {"reference_sql": "-- nothing"},
        {"reference_sql": None},
        {"fully_specified_question": ""},
        {"schema_sql": ["CREATE TABLE t(a)"]},
    ],
)
def test_row_that_cannot_be_used(loaded: Loaded, changes: dict[str, object]) -> None:
    with pytest.raises(DatasetError, match=rf"rows\.json, row 2, field (?:{next(iter(changes))}|target)"):
        loaded(row(), row(task_id="other", **changes))
