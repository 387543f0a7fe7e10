"""From a store of 200,000 conversations and 1.2 million turns to frames, tables and the whole report.

The store is written by the real writer in small and multiplied in SQL: keys, instances and assistants differ, sizes are real.
Memory is measured in a process of its own, which has read nothing else.
"""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import analysis
from analysis import failure_modes, measures
from analysis.commands import draw
from analysis.page import page
from analysis.report import report
from analysis.sections import sections
from simulator.record import Call, Judgement, Record, Turn
from simulator.store import FILE
from simulator.writer import Writer
from tasks.nouns import Instance, Message, Score, Shard, Usage

CONVERSATIONS, TURNS = 200_000, 1_200_000
_COPIES = 100
_MODES = {"full": 1, "concat": 1, "sharded": 9, "recap": 9, "snowball": 10}
_INSTANCES, _RUNS = 40, 10

Row = tuple[str, str, str]


def run() -> Iterator[Row]:
    """Rows of what was done, how long it took, and how long it may take."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder)
        count, turns = _make(store)
        size = f"{count:,} conversations, {turns:,} turns, {(store / FILE).stat().st_size / 1e6:,.0f} MB on disk"
        yield "store", size, f"{CONVERSATIONS:,} and {TURNS:,}"
        yield _memory(store)
        frame, row = _timed("conversation frame", lambda: analysis.conversations(store), "< 3 s")
        yield row
        said, row = _timed("turn frame", lambda: analysis.turns(store), "< 10 s")
        yield row
        yield _timed("measures of every group", lambda: measures.summary(frame), "")[1]
        for mode in (failure_modes.premature_attempts, failure_modes.answer_changes, failure_modes.reliance):
            yield _timed(mode.__name__.replace("_", " "), lambda mode=mode: mode(said), "")[1]
        yield _timed("report, 2,000 resamples, figure", lambda: _report(store), "< 30 s")[1]
        yield _timed("report as a page, failure modes included", lambda: _page(store), "")[1]
        yield from _shares(store)


def _report(store: Path) -> None:
    draw(report(store), store)


def _page(store: Path) -> str:
    made = report(store)
    return page(made, sections(store, made))


def _timed(what: str, work: Callable[[], object], aim: str) -> tuple[object, Row]:
    wall, own = time.perf_counter(), time.process_time()
    result = work()
    wall, own = time.perf_counter() - wall, time.process_time() - own
    return result, (what, f"{wall:.2f} s ({own:.2f} s of CPU)", aim)


_MEMORY = """
import resource, sys, analysis
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before = peak()
frame = analysis.conversations(sys.argv[1])
print(f"{peak() - before:.0f} MB more at most, {peak():.0f} MB with the libraries")
"""


def _memory(store: Path) -> Row:
    done = subprocess.run([sys.executable, "-c", _MEMORY, str(store)], capture_output=True, text=True, check=True)
    return "conversation frame, memory", done.stdout.strip(), "< 600 MB"


def _shares(store: Path) -> Iterator[Row]:
    """What dominates: fetching the same cells from SQLite and doing nothing with them."""
    connection = sqlite3.connect(store / FILE)
    for table in ("conversations", "turns"):
        names = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})") if name != "payload"]
        query = f"SELECT {', '.join(names)} FROM {table}"
        yield _timed(
            f"of it, fetching {table} from SQLite", lambda query=query: _drain(connection, query), "the floor"
        )[1]
    connection.close()


def _drain(connection: sqlite3.Connection, query: str) -> None:
    cursor = connection.execute(query)
    while cursor.fetchmany(20_000):
        pass


# -- the store -------------------------------------------------------------------------------------------------------------


def _make(folder: Path) -> tuple[int, int]:
    rng = random.Random(0)
    with Writer(folder) as writer:
        for instance in range(_INSTANCES):
            for mode, turns in _MODES.items():
                for repeat in range(_RUNS):
                    writer.finish(_record(rng, f"sharded-GSM8K/{instance}", mode, turns, repeat))
    connection = sqlite3.connect(folder / FILE)
    with connection:
        _multiply(connection)
    counts = [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("conversations", "turns")]
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return counts[0], counts[1]


def _multiply(connection: sqlite3.Connection) -> None:
    """`_COPIES` of every row: 20 instances and 5 assistants for each one there is."""
    own = connection.execute("SELECT count(*) FROM conversations").fetchone()[0]
    changed = {
        "id": f"c.id + {own} * n.n", "key": "c.key || n.n", "instance": "c.instance || '-' || (n.n % 20)",
        "assistant": "c.assistant || '-' || (n.n / 20)", "conversation": f"c.conversation + {own} * n.n",
    }  # fmt: skip
    connection.execute(
        "CREATE TEMP TABLE n AS WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n "
        f"WHERE n < {_COPIES - 1}) SELECT n FROM n"
    )
    for table in ("conversations", "turns"):
        names = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
        cells = ", ".join(changed.get(name, f'c."{name}"') for name in names)
        rows = f"SELECT {cells} FROM n CROSS JOIN (SELECT * FROM {table}) c ORDER BY n.n, c.rowid"
        connection.execute(f"INSERT INTO {table} {rows.replace('c.rowid', '1')}")


def _record(rng: random.Random, name: str, mode: str, turns: int, repeat: int) -> Record:
    shards = tuple(Shard(k, f"shard {k} of {name}") for k in range(1, turns + 1))
    said = tuple(_turn(rng, k) for k in range(1, turns + 1))
    score = float(rng.random() < 0.5)
    return Record(
        key=f"{rng.getrandbits(128):032x}", task="math", mode=mode, policy=mode, repeat=repeat, assistant="openai:model",
        instance=Instance(id=name, task="math", shards=shards, instruction="", strata={"tier": repeat % 4}),
        turns=said, score=score, correct=score == 1.0, ended="exhausted", attempts=turns,
        sampling={"assistant": {"temperature": 1.0}}, provenance={"protocol": "1", "seed": 0},
        calls=tuple(Call(role="assistant", site="t", model="m", usage=Usage(300, 80), cost=1e-4) for _ in said),
    )  # fmt: skip


def _turn(rng: random.Random, number: int) -> Turn:
    reply = " ".join(str(rng.random()) for _ in range(30))
    answer, value = str(rng.randrange(100)), float(rng.random() < 0.3)
    judged = Judgement(by="rules", label="answer_attempt", answer=answer, score=Score(value, value == 1.0))
    messages = (Message("user", f"shard {number}"), Message("assistant", reply))
    judgement = judged if rng.random() < 0.6 else Judgement(by="rules", label="clarification")
    return Turn(said_by="llm", utterance=f"shard {number}", messages=messages, reveals=(number,), judgement=judgement)
