"""Translation of a German text that is transcribed live: chunk by chunk, the whole of it again each turn.

Source: "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025, App. on translation), there on documents of WMT 2019.
An instance: `instruction` is the German document, each shard one chunk of it, `target` the list of its translations.
"""

from __future__ import annotations

from collections.abc import Sequence

from tasks.bleu import BleuTask
from tasks.nouns import Instance, Shard
from tasks.prompts import prompt
from tasks.rows import Row


class TranslationTask(BleuTask):
    """German to English, document by document."""

    name = "translation"
    summary = "translate a German text that arrives in chunks, the whole of it each turn"
    scoring = "BLEU of the whole document"
    answer_form = "the English translation of the whole text, without comment"
    prompts = ("translation/system", "translation/full", "translation/concat", "translation/first", "translation/next")

    def read_row(self, row: Row) -> Instance:
        """A published row: `document_de`, `document_en`, and the chunks as shards."""
        return Instance(
            id=row.id,
            task=self.name,
            shards=row.shards,
            instruction=row.text("document_de"),
            target=[row.text("document_en")],
            strata={"chunks": len(row.shards)},
        )

    def system(self, instance: Instance) -> str:
        """The system text."""
        return prompt("tasks", "translation/system").fill()

    def full(self, instance: Instance) -> str:
        """The whole document."""
        return prompt("tasks", "translation/full").fill(document=instance.instruction)

    def concat(self, instance: Instance, shards: Sequence[Shard]) -> str:
        """All chunks, numbered."""
        chunks = "\n\n".join(f"Chunk {i}:\n{s.text}" for i, s in enumerate(shards, 1))
        return prompt("tasks", "translation/concat").fill(chunks=chunks)

    def say(self, instance: Instance, turn: int) -> str:
        """The next chunk; the first turn explains how the text will come."""
        chunk = instance.shards[turn].text
        if turn == 0:
            return prompt("tasks", "translation/first").fill(chunk=chunk)
        return prompt("tasks", "translation/next").fill(number=str(turn + 1), chunk=chunk)
