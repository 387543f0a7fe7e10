"""The database task: a question about a database becomes one SQL query.

Protocol as in "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025, App. C and I; data from Spider's validation
set); wording and scoring are our own. The query is run and its result compared with what the gold query allows
(`tasks/sql.py`, `tasks/sql_gold.py`); no value of the gold query is ever lent to the prediction. The shipped questions
and their databases are made by `tasks/schemas`, so that anybody can make fresh ones that no model has seen.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from tasks.classify import classify_reply
from tasks.errors import DatasetError
from tasks.nouns import Ask, Instance, Score, ScorerFailure, Shard, TurnClass
from tasks.off_loop import off_loop
from tasks.prompts import prompt
from tasks.rows import Row
from tasks.schemas.embedded import database_file
from tasks.schemas.questions import generate
from tasks.sql import Limits, QueryFailed, run
from tasks.sql_gold import difference, expected
from tasks.sql_text import find_query, tidy
from tasks.task import Setup, Task


class DatabaseTask(Task):
    """Text to SQL; a query is right if it returns what the gold query allows, on every database of the instance.

    Args:
        databases: folder of databases in Spider's layout, `DIR/<db_id>/*.sqlite`. Embedded ones need none.
        limits: of one query.

    Attributes:
        columns_in_order: whether columns must stand in the gold query's order. Users name columns in any order (and shards
            arrive in any order), so any one order of the columns is accepted, as in Spider's own evaluation.
    """

    name = "database"
    summary = "questions to a database, answered by one SQL query"
    scoring = "same result as the gold query: 1 or 0"
    answer_form = "one SQL query (SQLite); only the query itself"
    extraction = "rules"
    prompts = ("database/system", "database/full", "database/concat")
    sharding_hints = "database/sharding"
    columns_in_order: ClassVar[bool] = False

    def __init__(self, databases: Path | None = None, limits: Limits | None = None) -> None:
        self.databases, self.limits = databases, limits or Limits()

    @classmethod
    def made(cls, setup: Setup) -> DatabaseTask:
        """Raises `DatasetError` when the folder of databases is not there."""
        if setup.databases is None:
            return cls()
        folder = Path(setup.databases)
        if not folder.is_dir():
            raise DatasetError(
                "there is no such folder of databases", got=str(folder), allowed="DIR/<db_id>/<db_id>.sqlite"
            )
        return cls(databases=folder)

    # -- instances ------------------------------------------------------------------------------------------------

    def read_row(self, row: Row) -> Instance:
        """A row of sharded Spider: `db_id`, `schema_sql`, `reference_sql`, `fully_specified_question`."""
        difficulty = row.fields.get("spider_difficulty")
        return Instance(
            id=row.id,
            task=self.name,
            shards=row.shards,
            instruction=row.text("fully_specified_question"),
            target=row.text("reference_sql"),
            strata={"difficulty": difficulty} if isinstance(difficulty, str) else {},
            data={"db_id": row.text("db_id"), "schema": row.text("schema_sql")},
        )

    def check(self, instance: Instance, row: Row) -> None:
        """A gold query, and the name of a database that is a mere name."""
        if not isinstance(instance.target, str) or not tidy(instance.target):
            raise row.error("target", instance.target, "an SQL query")
        for field in ("db_id", "schema"):
            if not isinstance(instance.data.get(field), str):
                raise row.error(f"data.{field}", instance.data.get(field), "a text")
        if not re.fullmatch(r"\w[\w .-]*", instance.data["db_id"]):
            raise row.error("data.db_id" if row.ours else "db_id", instance.data["db_id"], "the name of a folder")

    def generate(self, n: int, seed: int) -> Iterator[Instance]:
        """Questions to the embedded databases, all databases and shapes in turn."""
        return generate(n, seed)

    # -- wording --------------------------------------------------------------------------------------------------

    def system(self, instance: Instance) -> str:
        """The schema and all rules of form, once and in every mode."""
        return prompt("tasks", "database/system").fill(schema=instance.data["schema"].strip())

    def full(self, instance: Instance) -> str:
        """The whole question."""
        return prompt("tasks", "database/full").fill(instruction=instance.instruction)

    def concat(self, instance: Instance, shards: Sequence[Shard]) -> str:
        """The shards as bullets."""
        return prompt("tasks", "database/concat").fill(shards="\n".join(f"- {shard.text}" for shard in shards))

    # -- answers --------------------------------------------------------------------------------------------------

    async def classify(self, reply: str, instance: Instance) -> TurnClass:
        """By the generic rules, given whether the reply has a query."""
        return classify_reply(reply, has_answer=await self.extract(reply, instance) is not None)

    async def extract(self, reply: str, instance: Instance) -> str | None:
        """The last query of the reply, as written there."""
        return await off_loop(find_query, reply)

    async def score(self, answer: str, instance: Instance, ask: Ask | None = None) -> Score:
        """1 if the query returns what the gold query allows on every database, else 0. Runs in a thread of its own.

        Raises `ScorerFailure` if there is no database to ask, or the gold query fails on it.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._compare, answer, instance)

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        # Not the loop's own pool: a few endless queries would hold up everything else that uses that one.
        return ThreadPoolExecutor(max_workers=16, thread_name_prefix="shardtalk-sql")

    def _compare(self, answer: str, instance: Instance) -> Score:
        statement, undetermined = tidy(answer), False
        for file in self._files(instance.data["db_id"]):
            allowed = expected(file, instance.target, self.limits, _version(file))
            undetermined |= allowed.undetermined
            # More rows than the gold query returns are never right, so no more are fetched.
            limits = msgspec.structs.replace(self.limits, rows=len(allowed.blocks) + 1)
            try:
                table = run(file, statement, limits)
            except QueryFailed as failure:
                return Score(0.0, False, failure.status, _details(str(failure), undetermined))
            if reason := difference(allowed, table, columns_in_order=self.columns_in_order):
                return Score(0.0, False, details=_details(reason, undetermined))
        return Score(1.0, True, details=_details(None, undetermined))

    def _files(self, db_id: str) -> list[Path]:
        try:
            if embedded := database_file(db_id):
                return [embedded]
        except OSError as error:
            raise ScorerFailure(f"the embedded database {db_id} cannot be built: {error}") from error
        if self.databases is None:
            raise ScorerFailure(f"no database {db_id}: give the folder that holds it with --databases")
        files = sorted((self.databases / db_id).glob("*.sqlite"))
        if not files:
            raise ScorerFailure(f"no database {db_id}: no .sqlite file in {self.databases / db_id}")
        return files

    # -- trust ----------------------------------------------------------------------------------------------------

    def right_answer(self, instance: Instance) -> str:
        """The gold query in a fence, after a sentence."""
        return f"This query returns what you asked for:\n\n```sql\n{instance.target};\n```"

    def wrong_answer(self, instance: Instance) -> str:
        """The gold query with a column too many."""
        return f"```sql\nSELECT 1 AS one_more, gold.* FROM ({tidy(instance.target)}) AS gold;\n```"


def _version(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError as error:
        raise ScorerFailure(f"{file} cannot be read: {error}") from error
    return found.st_size, found.st_mtime_ns


def _details(reason: str | None, undetermined: bool) -> dict[str, Any]:
    """What a reader needs: why the query is wrong, and whether the gold query leaves its own result open."""
    return {
        **({"reason": reason[:300]} if reason else {}),
        **({"undetermined": True} if undetermined else {}),
    }
