"""Summaries of documents that arrive over turns, every point with its sources.

Source: "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025, section 4) on "Summary of a Haystack" (Laban et al.
2024): the value is the mean over insights of coverage × citation F1 of the point that covers the insight.

An instance: `instruction` is the query; each shard's text is the documents it discloses; `data` holds `topic`,
`documents` (the numbers shown) and `insights` (`tasks.coverage.Insight`). FULL, CONCAT and SHARDED say the same request;
only the documents come at once, in chunks, or turn by turn, and each is shown once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tasks.citations import Bullet, bullets, citation_f1, trimmed
from tasks.coverage import Coverage, Insight, by_model, by_rules
from tasks.haystacks import haystacks
from tasks.nouns import Ask, Instance, Score, Shard
from tasks.off_loop import off_loop
from tasks.prompts import prompt
from tasks.rows import Row
from tasks.task import Task

#: Words a summary may have; what is over is cut (`tasks.citations.trimmed`).
WORDS = 300
_TOLERANCE = 1e-9


class SummaryTask(Task):
    """Summarise what the documents say on a query, one insight a point, with citations."""

    name = "summary"
    summary = "summarise documents that arrive over turns, every point with its sources"
    scoring = "coverage × citation F1, mean over insights"
    needs = "a judge model (by key facts without one)"
    answer_form = "a list of bullet points, each with the numbers of its documents in brackets"
    modes = ("full", "concat", "sharded")
    scripted_user = True
    answers_every_turn = True
    extraction = "rules"
    scored_on_last_turn = True
    binary = False
    prompts = ("summary/system", "summary/request", "summary/more", "summary/judge", "summary/judge_again")

    def read_row(self, row: Row) -> Instance:
        """A published row: `documents`, `insights` with their references, and shards that say which documents they show."""
        shown = _shown(row)
        return Instance(
            id=row.id,
            task=self.name,
            shards=tuple(Shard(shard, "\n\n".join(map(_rendered, documents))) for shard, documents in shown.items()),
            instruction=row.text("query"),
            strata={"domain": row.read("domain", str, "")},
            data={
                "topic": row.text("topic"),
                "documents": [d.document_index for documents in shown.values() for d in documents],
                "insights": _published_insights(row, shown),
            },
        )

    def check(self, instance: Instance, row: Row) -> None:
        """Raises where there is no insight to cover, or one without a source among the documents shown."""
        shown = set(instance.data.get("documents", ()))
        if row.ours:
            row.read("data", _Data)
        insights = _insights(instance)
        if not insights or not all(i.documents and shown.issuperset(i.documents) for i in insights):
            raise row.error("insights", [i.documents for i in insights], "insights with documents that are shown")

    def generate(self, n: int, seed: int) -> Iterator[Instance]:
        """`n` small haystacks, made from insights with key facts."""
        return haystacks(n, seed)

    # -- wording --------------------------------------------------------------------------------------------------

    def system(self, instance: Instance) -> str:
        """The system text."""
        return prompt("tasks", "summary/system").fill()

    def full(self, instance: Instance) -> str:
        """The request with all documents."""
        return self._request(instance, "\n\n".join(s.text for s in instance.shards))

    def concat(self, instance: Instance, shards: Sequence[Shard]) -> str:
        """The request with the documents in chunks."""
        return self._request(instance, "\n\n".join(f"Chunk {i}:\n\n{s.text}" for i, s in enumerate(shards, 1)))

    def say(self, instance: Instance, turn: int) -> str:
        """The request with the first documents; then only the documents found since."""
        documents = instance.shards[turn].text
        return prompt("tasks", "summary/more").fill(documents=documents) if turn else self._request(instance, documents)

    def _request(self, instance: Instance, documents: str) -> str:
        return prompt("tasks", "summary/request").fill(
            topic=str(instance.data["topic"]),
            query=instance.instruction,
            documents=documents,
            points=str(len(instance.data["insights"])),
            words=str(WORDS),
        )

    # -- answers --------------------------------------------------------------------------------------------------

    async def extract(self, reply: str, instance: Instance) -> str | None:
        """The whole reply; what is no point is left out when it is scored."""
        return reply.strip() or None

    async def score(self, answer: str, instance: Instance, ask: Ask | None = None) -> Score:
        """Coverage by the judge model behind `ask` (by key facts without one) × citation F1, mean over insights."""
        insights = _insights(instance)
        points, kept = trimmed(await off_loop(bullets, answer, instance.data["documents"]), WORDS)
        if not points:
            return Score(0.0, correct=False, status="no_answer")
        found = await by_model(insights, points, ask) if ask else by_rules(insights, points)
        rows = [_joint(insight, coverage, points) for insight, coverage in zip(insights, found, strict=True)]
        value = min(1.0, _mean([row["joint"] for row in rows]))
        return Score(
            value,
            correct=value >= 1 - _TOLERANCE,
            details={
                "judge": "model" if ask else "rules",
                "points": len(points),
                "kept": round(kept, 4),
                **_means(rows),
                "insights": rows,
            },
        )

    # -- trust ----------------------------------------------------------------------------------------------------

    def right_answer(self, instance: Instance) -> str:
        """Every insight as a point with its documents."""
        return "\n".join(_points(_insights(instance)))

    def wrong_answer(self, instance: Instance) -> str:
        """The same, but the last point names no source."""
        *cited, last = _insights(instance)
        return "\n".join([*_points(cited), f"- {last.text}"])


class _Data(msgspec.Struct):
    """`Instance.data` of this task."""

    topic: str
    documents: list[int]
    insights: list[Insight]


def _insights(instance: Instance) -> list[Insight]:
    return msgspec.convert(instance.data["insights"], list[Insight])


def _joint(insight: Insight, coverage: Coverage, points: Sequence[Bullet]) -> dict[str, Any]:
    """What one insight earned; coverage by a point that does not exist earns nothing."""
    cited = points[coverage.bullet - 1].cited if coverage.bullet else frozenset()
    precision, recall, f1 = citation_f1(cited, insight.documents)
    return {
        "coverage": coverage.worth,
        "bullet": coverage.bullet,
        "bad_bullet": bool(coverage.worth) and coverage.bullet is None,
        "cited": sorted(cited),
        "precision": precision,
        "recall": recall,
        "citation": f1,
        "joint": coverage.worth * f1,
    }


def _means(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Coverage over all insights, citations over the covered ones (0 where none is)."""
    covered = [row for row in rows if row["coverage"]]
    means = {"coverage": _mean([row["coverage"] for row in rows])}
    return means | {key: _mean([row[key] for row in covered]) for key in ("citation", "precision", "recall")}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _points(insights: Sequence[Insight]) -> list[str]:
    return [f"- {i.text} " + "".join(f"[{d}]" for d in i.documents) for i in insights]


# -- the published form -----------------------------------------------------------------------------------------------


class _Document(msgspec.Struct):
    document_index: int
    document_text: str


class _Chunk(msgspec.Struct):
    shard_id: int
    doc_idxs: list[int]


class _Finding(msgspec.Struct):
    insight_id: str | int
    insight: str


def _shown(row: Row) -> dict[int, list[_Document]]:
    """The documents each shard shows for the first time, by id of the shard."""
    documents = row.read("documents", list[_Document])
    chunks = row.read("shards", list[_Chunk])
    by_number = _by_number(row, documents, {i for chunk in chunks for i in chunk.doc_idxs})
    shown: dict[int, list[_Document]] = {}
    seen: set[int] = set()
    for chunk in chunks:
        fresh = [i for i in dict.fromkeys(chunk.doc_idxs) if i not in seen]
        shown[chunk.shard_id] = [by_number[i] for i in fresh]
        seen.update(fresh)
    return shown


def _by_number(row: Row, documents: Sequence[_Document], used: Collection[int]) -> dict[int, _Document]:
    """What `doc_idxs` stand for: the documents' own numbers where all of them are such, else places in the list."""
    for numbering in ({d.document_index: d for d in documents}, dict(enumerate(documents))):
        if numbering.keys() >= set(used):
            return numbering
    raise row.error("shards.doc_idxs", sorted(used), "document_index values, or places in the list of documents")


def _published_insights(row: Row, shown: Mapping[int, Sequence[_Document]]) -> list[dict[str, Any]]:
    """The insights with the sources that are shown; the published references name documents that are not."""
    numbers = {d.document_index for documents in shown.values() for d in documents}
    references = row.read("insightid2ref_citations", dict[str, list[int]])
    sources = {
        i.insight: sorted(numbers & set(references.get(str(i.insight_id), ())))
        for i in row.read("insights", list[_Finding])
    }
    return [{"text": text, "documents": documents} for text, documents in sources.items() if documents]


def _rendered(document: _Document) -> str:
    return f"Document {document.document_index}:\n{document.document_text}"
