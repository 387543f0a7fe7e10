"""Questions to the embedded databases: an instruction, its shards and its gold query, put together from facts.

A question is a shape (a list, a count, some figures, groups) and facts: a column, a condition, an ordering, … Each fact is
one shard and one piece of the gold query, so that leaving a fact out is leaving a piece of the query out. A question is
kept only if every fact matters: without any one of them the query returns something else.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from tasks.errors import DatasetError
from tasks.nouns import Instance, Shard
from tasks.schemas.embedded import NAMES, Blueprint, blueprint, file_of
from tasks.sql import Limits, QueryFailed, run
from tasks.sql_gold import Expected, difference, expected

Kind: TypeAlias = Literal["group", "column", "measure", "once", "condition", "having", "distinct", "order", "limit"]


class Fact(msgspec.Struct, frozen=True):
    """One thing the user wants: its piece of the query, its shard, and its words inside the whole instruction."""

    kind: Kind
    sql: str
    shard: str
    words: str


# -- what can be asked, as the TOML files say it --------------------------------------------------------------------


class Term(msgspec.Struct, frozen=True):
    """Something that can be shown. `kind` decides how rows are sorted by it; a `plain` one is no sort key."""

    say: str
    sql: str
    kind: Literal["text", "number", "date", "plain"] = "number"


class Condition(msgspec.Struct, frozen=True):
    """A condition with holes `{0}`, `{1}`, and the values (or lists of values) that may fill them."""

    say: str
    sql: str
    values: tuple[Any, ...] = ((),)


class Join(msgspec.Struct, frozen=True):
    """A join of a table that is needed where its alias occurs. All are many to one, so a join never multiplies rows."""

    sql: str
    needs: str | None = None


class Subject(msgspec.Struct, frozen=True, rename={"table": "from"}):
    """What a question is about: one table with what it refers to.

    Attributes:
        many: its plural. `counted`: its key. `once`: what may be counted only once.
        joins: by alias; a text stands for a join that needs no other.
    """

    many: str
    counted: str
    table: str
    joins: dict[str, Join | str]
    columns: tuple[Term, ...]
    groups: tuple[Term, ...]
    once: tuple[Term, ...]
    measures: tuple[Term, ...]
    conditions: tuple[Condition, ...]


# -- facts -----------------------------------------------------------------------------------------------------------

_DIRECTIONS = {
    "number": (("smallest first", "ASC"), ("largest first", "DESC")),
    "date": (("earliest first", "ASC"), ("latest first", "DESC")),
    "text": (("from A to Z", "ASC"), ("from Z to A", "DESC")),
}


def _shown(rng: random.Random, kind: Literal["column", "measure"], term: Term) -> Fact:
    shard = rng.choice(["Show {}.", "I want to see {}.", "One column of the result is {}."])
    return Fact(kind, term.sql, shard.format(term.say), term.say)


def _conditions(rng: random.Random, subject: Subject, at_least: int, at_most: int) -> list[Fact]:
    chosen = rng.sample(subject.conditions, rng.randint(at_least, at_most))
    return [_condition(rng, subject, condition) for condition in chosen]


def _condition(rng: random.Random, subject: Subject, condition: Condition) -> Fact:
    value = rng.choice(condition.values)
    values = value if isinstance(value, list | tuple) else (value,)
    say = condition.say.format(*values)
    shard = rng.choice(["Leave out {} unless {}.", "Take only {} where {}.", "It is only about {} where {}."])
    return Fact("condition", condition.sql.format(*values), shard.format(subject.many, say), f"where {say}")


def _having(rng: random.Random, subject: Subject) -> Fact:
    least = rng.randint(2, 6)
    words = f"groups with fewer than {least} of these {subject.many}"
    return Fact("having", f"COUNT(*) >= {least}", f"Leave out {words}.", f"leave out {words}")


def _order(rng: random.Random, terms: Sequence[Term]) -> Fact:
    term = rng.choice(terms)
    say, direction = rng.choice(_DIRECTIONS[term.kind])
    words = f"sort by {term.say}, {say}"
    return Fact("order", f"{term.sql} {direction}", f"S{words[1:]}.", words)


def _limit(rng: random.Random) -> Fact:
    rows = rng.randint(2, 8)
    return Fact("limit", str(rows), f"Only the first {rows} rows are needed.", f"give only the first {rows} rows")


def _distinct() -> Fact:
    return Fact("distinct", "DISTINCT", "No two rows of the result may be equal.", "show equal rows only once")


def _sorted(rng: random.Random, terms: Sequence[Term], often: float) -> list[Fact]:
    """An ordering, or an ordering and a limit, or neither."""
    keys = [term for term in terms if term.kind != "plain"]
    if not keys or rng.random() > often:
        return []
    return [_order(rng, keys), *([_limit(rng)] if rng.random() < 0.5 else [])]


# -- shapes ----------------------------------------------------------------------------------------------------------


def _list(rng: random.Random, subject: Subject) -> list[Fact]:
    columns = rng.sample(subject.columns, rng.randint(1, 3))
    shown = [_shown(rng, "column", column) for column in columns]
    distinct = [_distinct()] if rng.random() < 0.3 else []
    order = _sorted(rng, columns if distinct else subject.columns, 0.7)
    return [*shown, *_conditions(rng, subject, 1, 3), *distinct, *order]


def _count(rng: random.Random, subject: Subject) -> list[Fact]:
    once = rng.choice(subject.once)
    words = f"count each {once.say} only once"
    counted_once = Fact("once", f"COUNT(DISTINCT {once.sql})", f"C{words[1:]}.", words)
    return [*_conditions(rng, subject, 2, 4), *([counted_once] if rng.random() < 0.5 else [])]


def _figures(rng: random.Random, subject: Subject) -> list[Fact]:
    measures = rng.sample(subject.measures, rng.randint(1, 3))
    return [*(_shown(rng, "measure", measure) for measure in measures), *_conditions(rng, subject, 1, 3)]


def _groups(rng: random.Random, subject: Subject) -> list[Fact]:
    group = rng.choice(subject.groups)
    measures = rng.sample(subject.measures, rng.randint(1, 2))
    name = f"There is one row for each {group.say}, and it shows the {group.say}."
    having = [_having(rng, subject)] if rng.random() < 0.4 else []
    return [
        Fact("group", group.sql, name, group.say),
        *(_shown(rng, "measure", measure) for measure in measures),
        *_conditions(rng, subject, 0, 2),
        *having,
        *_sorted(rng, measures, 0.6),
    ]


class Shape(msgspec.Struct, frozen=True):
    """One kind of question.

    Attributes:
        facts: draws its facts. `intent`: its first shard. `opening`: how its instruction begins.
        default: what it shows where no fact says so. `figures`: a 0 or NULL in the result would give the answer away.
        least_rows: a result with fewer is no good.
    """

    facts: Callable[[random.Random, Subject], list[Fact]]
    intent: str
    opening: str
    default: str = "*"
    figures: bool = True
    least_rows: int = 1


SHAPES: dict[str, Shape] = {
    "list": Shape(
        _list,
        intent="Write a query that lists {many}.",
        opening="Write a query that lists {shown} of all {many}",
        figures=False,
    ),
    "count": Shape(
        _count,
        intent="Write a query that counts {many}.",
        opening="Write a query that counts all {many}",
        default="COUNT(*)",
    ),
    "figures": Shape(
        _figures,
        intent="Write a query that works out figures about {many}.",
        opening="Write a query that works out {shown} for all {many}",
        default="COUNT(*)",
    ),
    "groups": Shape(
        _groups,
        intent="Write a query that compares groups of {many}.",
        opening="Write a query with one row for each {group} that shows {shown} for all {many}",
        least_rows=2,
    ),
}


# -- from facts to a query, and to an instruction ----------------------------------------------------------------------


def query(subject: Subject, shape: Shape, facts: Sequence[Fact]) -> str:
    """The SQL of these facts, be they all or some."""

    def pieces(*kinds: Kind) -> list[str]:
        return [fact.sql for fact in facts if fact.kind in kinds]

    shown = pieces("group", "column", "measure", "once") or [shape.default]
    clauses = [f"SELECT {'DISTINCT ' if pieces('distinct') else ''}{', '.join(shown)}"]
    clauses += [f"FROM {' '.join([subject.table, *_joins(subject, facts)])}"]
    for keyword, kind, glue in _CLAUSES:
        if found := pieces(kind):
            clauses.append(f"{keyword} {glue.join(found)}")
    return " ".join(clauses)


_CLAUSES: tuple[tuple[str, Kind, str], ...] = (
    ("WHERE", "condition", " AND "),
    ("GROUP BY", "group", ", "),
    ("HAVING", "having", " AND "),
    ("ORDER BY", "order", ", "),
    ("LIMIT", "limit", ""),
)


def _joins(subject: Subject, facts: Sequence[Fact]) -> list[str]:
    """The joins whose tables these facts mention, after those they need themselves."""
    mentioned = {alias for fact in facts for alias in re.findall(r"\b(\w+)\.\w", fact.sql)}
    joins = {alias: join if isinstance(join, Join) else Join(join) for alias, join in subject.joins.items()}
    needed = {join.needs for alias, join in joins.items() if alias in mentioned}
    return [join.sql for alias, join in joins.items() if alias in mentioned | needed]


def instruction(subject: Subject, shape: Shape, facts: Sequence[Fact]) -> str:
    """The same facts as one text."""

    def words(*kinds: Kind) -> list[str]:
        return [fact.words for fact in facts if fact.kind in kinds]

    groups = words("group")
    shown = _enumerated([*(f"the {group}" for group in groups), *words("column", "measure")])
    opening = shape.opening.format(many=subject.many, shown=shown, group="".join(groups))
    asked = [" ".join([opening, *([_enumerated(words("condition"))] if words("condition") else [])])]
    rest = words("once", "having", "distinct", "order", "limit")
    return ". ".join([*asked, *(text[0].upper() + text[1:] for text in rest)]) + "."


def _enumerated(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


# -- instances ---------------------------------------------------------------------------------------------------------

_LIMITS = Limits(seconds=5.0, rows=2_000)
_MOST_ROWS = 25
#: One draw in three is good; so many in vain mean that all questions of a shape have been asked.
_MOST_DRAWS = 5_000


def generate(n: int, seed: int) -> Iterator[Instance]:
    """`n` questions, databases and shapes in turn, no query twice; the same for the same seed in any process."""
    asked: set[str] = set()
    for number in range(n):
        rng = random.Random(f"database/{seed}/{number}")
        database = NAMES[number % len(NAMES)]
        shape = list(SHAPES)[number // len(NAMES) % len(SHAPES)]
        instance = _instance(rng, database, shape, f"database/{seed}/{number:04}", asked)
        asked.add(instance.target)
        yield instance


def _instance(rng: random.Random, database: str, shape_name: str, id: str, asked: set[str]) -> Instance:
    plan, shape = blueprint(database), SHAPES[shape_name]
    subject, facts = _question(rng, plan, shape, asked)
    gold = query(subject, shape, facts)
    texts = [shape.intent.format(many=subject.many), *(fact.shard for fact in facts)]
    return Instance(
        id=id,
        task="database",
        shards=tuple(Shard(number, text) for number, text in enumerate(texts, start=1)),
        instruction=instruction(subject, shape, facts),
        target=gold,
        facts={"shape": shape_name, "shards": [{"kind": fact.kind, "sql": fact.sql} for fact in facts]},
        strata={"difficulty": _difficulty(gold, facts), "database": database, "shape": shape_name},
        data={"db_id": plan.db_id, "schema": plan.schema},
    )


def _question(rng: random.Random, plan: Blueprint, shape: Shape, asked: set[str]) -> tuple[Subject, list[Fact]]:
    subjects, file = msgspec.convert(plan.subjects, tuple[Subject, ...]), file_of(plan)
    for _ in range(_MOST_DRAWS):
        subject = rng.choice(subjects)
        facts = shape.facts(rng, subject)
        fresh = 2 <= len(facts) <= 8 and query(subject, shape, facts) not in asked
        if fresh and _is_good(file, subject, shape, facts):
            return subject, facts
    raise DatasetError(f"no more different questions to {plan.db_id}", fix="ask for fewer instances")


def _is_good(file: Path, subject: Subject, shape: Shape, facts: Sequence[Fact]) -> bool:
    """Whether the answer is one, is not trivial, and changes whichever fact is left out."""
    gold = query(subject, shape, facts)
    table = run(file, gold, _LIMITS)
    hollow = shape.figures and any(cell in (None, 0) for row in table.rows for cell in row)
    doubles = len(set(table.rows)) < len(table.rows)
    if hollow or doubles or not shape.least_rows <= len(table.rows) <= _MOST_ROWS:
        return False
    allowed = expected(file, gold, _LIMITS, (0, 0))
    if allowed.undetermined:
        return False
    return all(_matters(file, allowed, query(subject, shape, [*facts[:i], *facts[i + 1 :]])) for i in range(len(facts)))


def _matters(file: Path, allowed: Expected, without: str) -> bool:
    try:
        return difference(allowed, run(file, without, _LIMITS)) is not None
    except QueryFailed:
        return True


def _difficulty(gold: str, facts: Sequence[Fact]) -> str:
    """By the number of things beyond one table and plain conditions, in the spirit of Spider's levels."""
    kinds = {fact.kind for fact in facts}
    points = (
        gold.count(" JOIN ") + 2 * gold.count("(SELECT") + len(kinds & {"group", "having", "distinct", "once", "order"})
    )
    return "easy" if points <= 1 else "medium" if points <= 3 else "hard"
