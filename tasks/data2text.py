"""One sentence about the highlighted cells of a table.

Source: "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025, App. on tasks) on ToTTo (Parikh et al. 2020). The user
reveals the plain table, then which cells count, where the table comes from, and sentences of the wanted kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tasks.bleu import BleuTask
from tasks.nouns import Instance, Shard
from tasks.prompts import prompt
from tasks.rows import Row
from tasks.tables import described_tables


class Data2TextTask(BleuTask):
    """A table, described in one sentence."""

    name = "data2text"
    summary = "describe the highlighted cells of a table in one sentence"
    scoring = "BLEU, several references"
    answer_form = "one sentence of plain text"
    prompts = ("data2text/system", "data2text/concat", "data2text/published")

    def read_row(self, row: Row) -> Instance:
        """A published row: tables in HTML, `metadata`, `fewshot_descriptions`, `references`; shards are said as they stand."""
        metadata = row.read("metadata", dict[str, object], {})
        return Instance(
            id=row.id,
            task=self.name,
            shards=row.shards,
            instruction=prompt("tasks", "data2text/published").fill(
                table=row.text("table_highlighted_html"),
                context="\n".join(f"{key}: {value}" for key, value in metadata.items()),
                examples=row.read("fewshot_descriptions", str, ""),
            ),
            target=row.read("references", list[str]),
        )

    def generate(self, n: int, seed: int) -> Iterator[Instance]:
        """`n` tables of invented facts with sentences about them."""
        return described_tables(n, seed)

    def system(self, instance: Instance) -> str:
        """The system text."""
        return prompt("tasks", "data2text/system").fill()

    def full(self, instance: Instance) -> str:
        """The whole instruction: the table with its marked cells, its context and the examples."""
        return instance.instruction

    def concat(self, instance: Instance, shards: Sequence[Shard]) -> str:
        """All shards at once. They hold tables and lists, so they stand as paragraphs, not as bullets."""
        return prompt("tasks", "data2text/concat").fill(shards="\n\n".join(s.text for s in shards))
