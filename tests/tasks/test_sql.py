"""SQL of a model against a gold query: what counts as the same result, and that nothing can be done but reading."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.database import DatabaseTask
from tasks.nouns import Instance, Score, ScorerFailure, Shard
from tasks.sql import Limits, Table, run
from tasks.sql_gold import difference, expected
from tasks.sql_text import find_query, tidy

SCHEMA = """CREATE TABLE t(id INTEGER, name TEXT, age INTEGER);
INSERT INTO t VALUES (1,'Ann',30),(2,'Bob',40),(3,'Ann',30),(4,NULL,NULL),(5,'',25);"""

Scored = Callable[..., Score]


def make_database(folder: Path, schema: str = SCHEMA, db_id: str = "people", file: str = "people") -> Path:
    path = folder / db_id / f"{file}.sqlite"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(schema)
    return path


def instance(gold: str, db_id: str = "people") -> Instance:
    shards = (Shard(1, "List people."),)
    data = {"db_id": db_id, "schema": SCHEMA}
    return Instance(id="x", task="database", shards=shards, instruction="List people.", target=gold, data=data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("databases")
    make_database(folder)
    return folder


@pytest.fixture(scope="module")
def scored(folder: Path) -> Scored:
    """Scores a prediction against a gold query on the database above, which must be the same afterwards."""
    task = DatabaseTask(folder, Limits(seconds=1.0))
    file = folder / "people" / "people.sqlite"
    before = file.read_bytes()

    def scored(gold: str, prediction: str) -> Score:
        score = asyncio.run(task.score(prediction, instance(gold)))
        assert file.read_bytes() == before
        assert [path.name for path in file.parent.iterdir()] == [file.name]
        return score

    return scored


# -- the same result or not --------------------------------------------------------------------------------------------

BY_AGE = "SELECT id, age FROM t WHERE age IS NOT NULL ORDER BY age"

EQUAL = {
    # SQ-05, arguable: rows with equal sort keys have no order, so none is asked for.
    "SQ-05 ties": (BY_AGE, "SELECT id, age FROM t WHERE age IS NOT NULL ORDER BY age, id DESC"),
    "SQ-06 other columns": ("SELECT id, age FROM t", "SELECT age, id FROM t"),
    "SQ-10 comment inside": ("SELECT id FROM t WHERE id=1", "SELECT id -- the key\nFROM t WHERE id=1"),
    "SQ-11 semicolon": ("SELECT 1", "SELECT 1;"),
    "SQ-11 comment after": ("SELECT 1", "SELECT 1; -- done"),
    "SQ-11 comment before": ("SELECT 1", "-- q\nSELECT 1"),
    "SQ-23 whole float": ("SELECT 1", "SELECT 1.0"),
    "SQ-26 sql": ("SELECT 1", "```sql\nSELECT 1\n```"),
    "SQ-26 SQL": ("SELECT 1", "```SQL\nSELECT 1\n```"),
    "SQ-26 sqlite": ("SELECT 1", "```sqlite\nSELECT 1\n```"),
    "rounding": ("SELECT 0.3", "SELECT 0.1 + 0.2"),
    "no order asked": ("SELECT id FROM t", "SELECT id FROM t ORDER BY id DESC"),
    "inner order is none": ("SELECT id FROM (SELECT id FROM t ORDER BY id)", "SELECT id FROM t ORDER BY id DESC"),
    "order of a window": (
        "SELECT id, COUNT(*) OVER (ORDER BY id) AS n FROM t",
        "SELECT id, COUNT(*) OVER (ORDER BY id) FROM t ORDER BY id DESC",
    ),
    "order by number": ("SELECT name, id FROM t ORDER BY 2", "SELECT id, name FROM t ORDER BY id"),
    "order by alias": ("SELECT age AS years FROM t ORDER BY years", "SELECT age FROM t ORDER BY age"),
    "ties of a distinct": (
        "SELECT DISTINCT name, age FROM t ORDER BY age",
        "SELECT DISTINCT name, age FROM t ORDER BY age, name DESC",
    ),
    "ties of a union": (
        "SELECT age, id FROM t UNION SELECT age, id + 10 FROM t ORDER BY age",
        "SELECT age, id FROM t UNION SELECT age, id + 10 FROM t ORDER BY age, id DESC",
    ),
    "blank lines": ("SELECT id FROM t WHERE name = 'a  b' OR id = 1", "SELECT id\n\nFROM t\n\nWHERE id = 1"),
}

DIFFERENT = {
    # SQ-01, arguable: a bag of rows is what SQL returns; dropping DISTINCT from both sides hides a wrong query.
    "SQ-01 distinct": ("SELECT name FROM t WHERE age=30", "SELECT DISTINCT name FROM t WHERE age=30"),
    "SQ-03 order": ("SELECT id FROM t ORDER\nBY id", "SELECT id FROM t ORDER BY id DESC"),
    "SQ-05 keys": (BY_AGE, "SELECT id, age FROM t WHERE age IS NOT NULL ORDER BY age DESC"),
    "SQ-08 aggregates": ("SELECT MAX(age), COUNT(*) FROM t", "SELECT MIN(age), COUNT(*) FROM t"),
    "SQ-20 small numbers": ("SELECT 0.00001", "SELECT 0.00004"),
    "SQ-21 text": ("SELECT '3.0'", "SELECT '3'"),
    # SQ-23, arguable: a number is not its text; a query that mixes them up compares and sorts wrongly elsewhere.
    "SQ-23 text": ("SELECT 1", "SELECT '1'"),
    # SQ-25, arguable: the number of columns is part of an empty result too, and it is all that can be compared.
    "SQ-25 empty": ("SELECT id FROM t WHERE 0", "SELECT name, age FROM t WHERE 0"),
    "null is not empty text": ("SELECT name FROM t WHERE id = 4", "SELECT name FROM t WHERE id = 5"),
    "blob is not text": ("SELECT 'a'", "SELECT x'61'"),
    "case of text": ("SELECT 'Ann'", "SELECT 'ann'"),
    "one permutation for all rows": ("SELECT 1, 2 UNION ALL SELECT 3, 4", "SELECT 1, 2 UNION ALL SELECT 4, 3"),
    "neighbouring whole numbers": ("SELECT 10000000001", "SELECT 10000000002"),
    "count distinct": ("SELECT COUNT(DISTINCT name) FROM t", "SELECT COUNT(name) FROM t"),
    "literals are not lent": ("SELECT id FROM t WHERE age > 35", "SELECT id FROM t WHERE age > 29"),
    "fewer rows": ("SELECT id FROM t", "SELECT id FROM t LIMIT 4"),
    "more rows": ("SELECT id FROM t", "SELECT a.id FROM t AS a, t AS b"),
    "limit of an order": ("SELECT id FROM t ORDER BY id LIMIT 2", "SELECT id FROM t ORDER BY id DESC LIMIT 2"),
    "ties are not free elsewhere": (BY_AGE, "SELECT id, age FROM t WHERE age IS NOT NULL ORDER BY id"),
}


@pytest.mark.parametrize("case", EQUAL)
def test_equal_results(scored: Scored, case: str) -> None:
    score = scored(*EQUAL[case])
    assert (score.value, score.correct, score.details) == (1.0, True, {})


@pytest.mark.parametrize("case", DIFFERENT)
def test_different_results(scored: Scored, case: str) -> None:
    score = scored(*DIFFERENT[case])
    assert (score.value, score.correct, score.status) == (0.0, False, "scored")
    assert score.details["reason"]


TIE_UNDER_LIMIT = "SELECT age FROM t WHERE age IN (30,40) GROUP BY age ORDER BY COUNT(*) > 0 DESC LIMIT 1"


@pytest.mark.parametrize(("prediction", "value"), [("SELECT 40", 1.0), ("SELECT 30", 1.0), ("SELECT 25", 0.0)])
def test_a_limit_through_ties_leaves_the_choice_open(scored: Scored, prediction: str, value: float) -> None:
    """SQ-18, arguable: any choice among the tied rows is right, and the score says that the gold left it open."""
    score = scored(TIE_UNDER_LIMIT, prediction)
    assert (score.value, score.details["undetermined"]) == (value, True)


def test_a_limit_in_a_subquery_is_noticed(scored: Scored) -> None:
    gold = "SELECT id FROM t WHERE age = (SELECT age FROM t WHERE age IS NOT NULL LIMIT 1)"
    assert scored(gold, gold).details == {"undetermined": True}


def test_limit_with_offset(scored: Scored) -> None:
    gold = "SELECT id FROM t ORDER BY age LIMIT 2 OFFSET 1"  # ages NULL 25 30 30 40: rows 5, then 1 or 3
    answers = {
        ids: scored(gold, f"SELECT {ids[0]} UNION ALL SELECT {ids[1]}").value for ids in ["51", "53", "15", "52"]
    }
    assert answers == {"51": 1.0, "53": 1.0, "15": 0.0, "52": 0.0}


CELLS = st.sampled_from([None, 0, 1, 2, "", "1", "a", 1.5])


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[object, ...]]:
    columns = draw(st.integers(1, 4))
    return draw(st.lists(st.tuples(*[CELLS] * columns), min_size=1, max_size=6))


def literal(cell: object) -> str:
    return "NULL" if cell is None else repr(cell)


def select(rows: Sequence[Sequence[object]]) -> str:
    return " UNION ALL ".join(f"SELECT {', '.join(map(literal, row))}" for row in rows)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=tables(), other=tables(), data=st.data())
def test_bags_up_to_one_permutation(folder: Path, rows: list[object], other: list[object], data: st.DataObject) -> None:
    """Against trying every permutation; half of the time the other table is a shuffled copy."""
    if data.draw(st.booleans()):
        order = data.draw(st.permutations(range(len(rows[0]))))  # type: ignore[arg-type]
        other = data.draw(st.permutations([tuple(row[place] for place in order) for row in rows]))  # type: ignore[index]
    file = folder / "people" / "people.sqlite"
    allowed = expected(file, select(rows), Limits(), (0, 0))  # type: ignore[arg-type]
    found = difference(allowed, run(file, select(other), Limits()))  # type: ignore[arg-type]
    width = len(rows[0])  # type: ignore[arg-type]
    same = len(other[0]) == width and any(  # type: ignore[arg-type]
        Counter(tuple(row[place] for place in order) for row in other) == Counter(rows)  # type: ignore[index]
        for order in itertools.permutations(range(width))
    )
    assert (found is None) == same


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(keys=st.lists(st.integers(0, 3), min_size=1, max_size=8), data=st.data())
def test_ordered_results_are_free_within_ties_alone(folder: Path, keys: list[int], data: st.DataObject) -> None:
    rows = [(key, number) for number, key in enumerate(keys)]
    said = data.draw(st.permutations(rows) | st.just(sorted(rows, key=lambda row: (row[0], -row[1]))))
    file = folder / "people" / "people.sqlite"
    gold = f"SELECT column2 FROM (VALUES {', '.join(map(str, rows))}) ORDER BY column1"
    allowed = expected(file, gold, Limits(), (0, 0))
    found = difference(allowed, Table(("n",), tuple((number,) for _, number in said)))
    assert (found is None) == ([key for key, _ in said] == sorted(keys))


# -- hostile and broken queries --------------------------------------------------------------------------------------

REFUSED = {
    "SQ-14 drop": "DROP TABLE t",
    "SQ-15 delete behind WITH": "WITH old AS (SELECT 5 AS k) DELETE FROM t WHERE id IN (SELECT k FROM old)",
    "SQ-16 attach": "ATTACH DATABASE 'file:made.db' AS x",
    "SQ-16 pragma": "PRAGMA writable_schema=1",
    "pragma as a table": "SELECT * FROM pragma_table_info('t')",
    "extension": "SELECT load_extension('libm.so.6')",
    "temporary table": "CREATE TEMP TABLE x(a)",
    "transaction": "BEGIN",
    "vacuum": "VACUUM INTO 'made.db'",
}


@pytest.mark.parametrize("case", REFUSED)
def test_nothing_but_reading(scored: Scored, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    score = scored("SELECT COUNT(*) FROM t", REFUSED[case])
    assert (score.value, score.status) == (0.0, "error")
    assert "authoriz" in score.details["reason"]
    assert not list(tmp_path.iterdir())
    assert scored("SELECT 5", "SELECT COUNT(*) FROM t").value == 1.0


def test_several_statements(scored: Scored) -> None:
    """SQ-13."""
    score = scored("SELECT 1", "SELECT 1; SELECT 1")
    assert (score.value, score.status, score.details["reason"]) == (0.0, "unreadable", "multiple_statements")


@pytest.mark.parametrize(
    ("prediction", "status"),
    [
        ("", "no_answer"),
        ("-- nothing", "no_answer"),
        ("SELECT nonsense FROM nowhere", "error"),
        ("this is not sql", "error"),
        ("SELECT 1\0", "error"),
        ("SELECT '\ud800'", "error"),
        ("SELECT " + "(" * 3000 + "1" + ")" * 3000, "error"),
        ("SELECT 1" + " + 1" * 60_000, "error"),
        ("WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT COUNT(*) FROM r", "timeout"),
        ("SELECT COUNT(*) FROM t a, t b, t c, t d, t e, t f, t g, t h, t i, t j, t k, t l, t m", "timeout"),
        ("SELECT zeroblob(900000000)", "error"),
    ],
)
def test_what_cannot_run(scored: Scored, prediction: str, status: str) -> None:
    score = scored("SELECT id FROM t", prediction)
    assert (score.value, score.correct, score.status) == (0.0, False, status)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is not watched here")
def test_memory_is_bounded(folder: Path) -> None:
    task = DatabaseTask(folder, Limits(seconds=60.0, memory=50 * 2**20))
    hog = (
        "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT printf('%.90000c', x) FROM r ORDER BY 1"
    )
    assert asyncio.run(task.score(hog, instance("SELECT 1"))).status == "memory"


def test_endless_rows_are_not_fetched(scored: Scored) -> None:
    rows = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x FROM r"
    score = scored("SELECT id FROM t", rows)
    assert (score.status, score.details["reason"]) == ("scored", "more than 6 rows instead of 5")


def test_a_slow_query_holds_up_nobody(folder: Path) -> None:
    endless = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT COUNT(*) FROM r"

    async def both() -> list[str]:
        task, ended = DatabaseTask(folder, Limits(seconds=2.0)), list[str]()

        async def score(prediction: str) -> None:
            ended.append((await task.score(prediction, instance("SELECT 1"))).status)

        await asyncio.gather(*(score(query) for query in [endless, endless, "SELECT 1"]))
        return ended

    assert asyncio.run(both()) == ["scored", "timeout", "timeout"]


# -- faults that are ours -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prediction", ["SELECT 1", "SELECT nonsense FROM nowhere", "DROP TABLE t"])
@pytest.mark.parametrize(
    ("db_id", "gold"),
    [("none", "SELECT 1"), ("no_file", "SELECT 1"), ("empty", "SELECT 1"), ("junk", "SELECT 1")]
    + [("people", gold) for gold in ["SELECT x FROM t", "SELECT FROM", "DELETE FROM t", "", "SELECT 1; SELECT 2"]],
)
def test_our_faults_are_no_scores(folder: Path, db_id: str, gold: str, prediction: str) -> None:
    """SQ-09 and its kin: neither 0 nor 1, but a failure that names the cause."""
    (folder / "no_file").mkdir(exist_ok=True)
    for name, content in {"empty": b"", "junk": b"junk" * 2000}.items():
        (folder / name).mkdir(exist_ok=True)
        (folder / name / f"{name}.sqlite").write_bytes(content)
    with pytest.raises(ScorerFailure, match=r"database|gold"):
        asyncio.run(DatabaseTask(folder).score(prediction, instance(gold, db_id)))


def test_without_a_folder_the_option_is_named() -> None:
    with pytest.raises(ScorerFailure, match="--databases"):
        asyncio.run(DatabaseTask().score("SELECT 1", instance("SELECT 1", "concert_singer")))


def test_a_gold_query_that_never_ends(folder: Path) -> None:
    gold = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x FROM r"
    with pytest.raises(ScorerFailure, match="more than 100 rows"):
        asyncio.run(DatabaseTask(folder, Limits(rows=100)).score("SELECT 1", instance(gold)))


def test_all_databases_of_a_folder_must_agree(tmp_path: Path) -> None:
    make_database(tmp_path, "CREATE TABLE t(a); INSERT INTO t VALUES (1);", "two", "first")
    task, asked = DatabaseTask(tmp_path), instance("SELECT a FROM t", "two")
    assert asyncio.run(task.score("SELECT 1", asked)).correct
    make_database(tmp_path, "CREATE TABLE t(a); INSERT INTO t VALUES (2);", "two", "second")
    assert not asyncio.run(task.score("SELECT 1", asked)).correct
    assert asyncio.run(task.score("SELECT MAX(a) FROM t", asked)).correct


def test_a_changed_database_is_read_anew(tmp_path: Path) -> None:
    make_database(tmp_path, "CREATE TABLE t(a); INSERT INTO t VALUES (1);", "one", "only")
    task, asked = DatabaseTask(tmp_path), instance("SELECT a FROM t", "one")
    assert asyncio.run(task.score("SELECT 1", asked)).correct
    with closing(sqlite3.connect(tmp_path / "one" / "only.sqlite")) as connection, connection:
        connection.execute("INSERT INTO t VALUES (2)")
        connection.execute("CREATE TABLE more(b)")
    assert not asyncio.run(task.score("SELECT 1", asked)).correct


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    make_database(tmp_path, "CREATE TABLE t(a); INSERT INTO t VALUES (CAST(x'E9' AS TEXT)), ('e');", "latin", "latin")
    task = DatabaseTask(tmp_path)
    assert asyncio.run(task.score("SELECT a FROM t", instance("SELECT a FROM t", "latin"))).correct
    assert not asyncio.run(task.score("SELECT 'e' FROM t", instance("SELECT a FROM t", "latin"))).correct


# -- finding the query in a reply ----------------------------------------------------------------------------------

FOUND = {
    "SELECT a FROM b": "SELECT a FROM b",
    "Here it is:\n\nSELECT a\nFROM b\nWHERE c = 'x; y';\n\nIt doesn't sort.": "SELECT a\nFROM b\nWHERE c = 'x; y';",
    "SELECT a FROM b\n\nThis returns all a.": "SELECT a FROM b",
    "SELECT a FROM b\nThis query returns all a.": "SELECT a FROM b",
    "The query is: SELECT a FROM b": "SELECT a FROM b",
    "**Query:** SELECT a FROM b;": "SELECT a FROM b;",
    "1. SELECT a FROM b;": "SELECT a FROM b;",
    "Use `SELECT a FROM b` here.": "SELECT a FROM b",
    "```sql SELECT a FROM b```": "SELECT a FROM b",
    "First:\n```\nSELECT 1;\n```\nBetter:\n```sql\nselect 2\n```\nDone.": "select 2",
    "```python\nrun()\n```\n```sql\n-- all\nWITH x AS (SELECT 1) SELECT 2\n```": "-- all\nWITH x AS (SELECT 1) SELECT 2",
    "select a from b\n\nwhere c\n\norder by d": "select a from b\n\nwhere c\n\norder by d",
    "SELECT x FROM (\nSELECT y FROM z\n) WHERE 1": "SELECT x FROM (\nSELECT y FROM z\n) WHERE 1",
    "SELECT a FROM b\nUNION\nSELECT c FROM d;": "SELECT a FROM b\nUNION\nSELECT c FROM d;",
    "SELECT 1; SELECT 2": "SELECT 1; SELECT 2",
    "SELECT a\nFROM b -- it's\nWHERE c": "SELECT a\nFROM b -- it's\nWHERE c",
    "DROP TABLE t": "DROP TABLE t",
    "Select the singers from the table first. Which year?": None,
    "With this information I can write it. Which columns?": None,
    "Update: I need the name of the column.": None,
    "": None,
}


@pytest.mark.parametrize("reply", FOUND)
def test_query_in_a_reply(reply: str) -> None:
    assert find_query(reply) == FOUND[reply]


@settings(deadline=None)
@given(st.text(alphabet="SELECT FROM;'\"`-/*()\n:with as", max_size=200))
def test_any_text_can_be_searched(text: str) -> None:
    query = find_query(text)
    assert query is None or query in text
    assert tidy(text) in text


@pytest.mark.parametrize("text", ["SELECT (" * 9000, "WITH x (" * 9000, "'" * 70_000, "SELECT ;" * 9000, "/*" * 35_000])
def test_long_tangles_end(text: str) -> None:
    assert tidy(find_query(text) or "") in text
