"""What was said, for the few analyses that need words: read from whole conversations, so slower than `frames`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pandas as pd

from analysis import frames
from simulator.record import Record
from tasks import citations as cited

#: The heading a document carries in the user's text.
_HEADING = re.compile(r"^Document (\d{1,6})\b", re.MULTILINE)


def texts(source: frames.Source) -> pd.DataFrame:
    """One row a turn: `key`, `turn`, `utterance`, `reply`, and the guard's `violations`, a line each (`rule: detail`)."""
    with frames.opened(source) as store:
        rows = [
            (record.key, number, turn.utterance, turn.reply, "\n".join(turn.violations))
            for record in store.records()
            for number, turn in enumerate(record.turns, record.inherited + 1)
        ]
    frame = pd.DataFrame(rows, columns=["key", "turn", "utterance", "reply", "violations"])
    return frame.astype({"key": "str", "turn": "Int64", "utterance": "str", "reply": "str", "violations": "str"})


def documented(source: frames.Source) -> list[str]:
    """The tasks of a run whose instances hold documents, by the first conversation of each."""
    with frames.opened(source) as store:
        tasks = [task for (task,) in store.connection.execute("SELECT DISTINCT task FROM conversations ORDER BY task")]
        firsts = [next(store.records("task = ?", (task,)), None) for task in tasks]
    return [record.task for record in firsts if record is not None and record.instance.data.get("documents")]


def citations(source: frames.Source) -> pd.DataFrame:
    """One row a citation in a reply of a conversation in which documents arrive over several turns.

    Columns: `key`, `task`, `instance`, `mode`, `assistant`, `repeat`; `turn`; `document`; `introduced`, the turn whose text
    first showed the document (missing where it had not been shown yet).
    """
    with frames.opened(source) as store:
        rows = [
            row
            for task in documented(store)
            for record in store.records("turns > 1 AND task = ?", (task,))
            for row in _citations(record)
        ]
    labels = ["key", "task", "instance", "mode", "assistant", "repeat"]
    frame = pd.DataFrame(rows, columns=[*labels, "turn", "document", "introduced"])
    return frame.astype(
        dict.fromkeys(labels[:5], "str") | dict.fromkeys(["repeat", "turn", "document", "introduced"], "Int64")
    )


def _citations(record: Record) -> Iterator[tuple[Any, ...]]:
    documents = record.instance.data.get("documents") or ()
    introduced: dict[int, int] = {}
    for number, turn in enumerate(record.turns, record.inherited + 1):
        for document in map(int, _HEADING.findall(turn.utterance)):
            introduced.setdefault(document, number)
        for document in sorted(cited.citations(turn.reply, documents)) if documents else ():
            labels = (record.key, record.task, record.instance.id, record.mode, record.assistant, record.repeat)
            yield (*labels, number, document, introduced.get(document))
