"""The sheet on which a person says what an answer was really worth, and how it is read back.

The sheet shows what was asked, what is right and what was answered, but not what the judge made of it: a person who sees the
verdict tends to agree with it. One row a conversation, at most one an instance and group as long as there are enough.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from analysis.errors import AnalysisError
from analysis.measures import grouping, scored
from simulator.record import Record, Turn
from simulator.store import Store

COLUMNS = (
    "key", "task", "mode", "assistant", "instance", "instruction", "target", "reply", "answer", "human_score", "comment"
)  # fmt: skip
_YES_NO = {"yes": 1.0, "y": 1.0, "true": 1.0, "right": 1.0, "no": 0.0, "n": 0.0, "false": 0.0, "wrong": 0.0}
#: What makes a spreadsheet take a cell for a formula; model text must not be run by one.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def drawn(frame: pd.DataFrame, n: int, seed: int, by: Sequence[str] | None = None) -> list[str]:
    """Keys of `n` scored conversations of every group, of as many instances as possible; the same for the same seed."""
    by = grouping(frame) if by is None else list(by)
    kept = scored(frame).sort_values("key")
    kept = kept.assign(_draw=[random.Random(f"{seed} {key}").random() for key in kept["key"]]).sort_values("_draw")
    kept["_turn"] = kept.groupby([*by, "instance"], dropna=False, observed=True).cumcount()
    chosen = kept.sort_values(["_turn", "_draw"]).groupby(by, dropna=False, observed=True).head(n)
    return sorted(chosen["key"], key=lambda key: random.Random(f"{seed} order {key}").random())


def sheet(store: Store, keys: Sequence[str]) -> Iterator[dict[str, str]]:
    """One row of `COLUMNS` for each conversation, the last two empty."""
    for key in keys:
        yield {name: _inert(text) for name, text in _row(store.record(key)).items()}


def write(rows: Iterator[dict[str, str]], path: Path) -> int:
    """Writes a sheet any spreadsheet opens (CSV, UTF-8 with its mark). Returns how many rows."""
    count = 0
    with path.open("x", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for count, row in enumerate(rows, 1):  # noqa: B007 - the last count is the number of rows
            writer.writerow(row)
    return count


def labels(path: Path) -> pd.DataFrame:
    """`key` and `human_score` of the rows that were filled in. A score is a number from 0 to 1, or yes or no.

    Raises `AnalysisError`, naming file, row and cell, for anything else, a key twice, or nothing filled in.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        if missing := {"key", "human_score"} - set(reader.fieldnames or ()):
            raise AnalysisError(f"{path} is no labelling sheet", got=f"no column {' and '.join(sorted(missing))}")
        found = {}
        for number, row in enumerate(reader, 2):
            if not (text := (row["human_score"] or "").strip().lower()):
                continue
            if row["key"] in found:
                raise AnalysisError(f"{path}, row {number}: this conversation is labelled twice", got=row["key"])
            found[row["key"]] = _score(text, f"{path}, row {number}")
    if not found:
        raise AnalysisError(
            f"nothing is filled in in {path}", fix="write 0 to 1, or yes or no, into the column human_score"
        )
    return pd.DataFrame({"key": list(found), "human_score": list(found.values())})


# -- parts -----------------------------------------------------------------------------------------------------------------


def _row(record: Record) -> dict[str, str]:
    turn = _deciding(record)
    instance, target = record.instance, record.instance.target
    return {
        "key": record.key,
        "task": record.task,
        "mode": record.mode,
        "assistant": record.assistant,
        "instance": instance.id,
        "instruction": instance.instruction or "\n".join(shard.text for shard in instance.shards),
        "target": target if isinstance(target, str) else msgspec.json.encode(target).decode(),
        "reply": turn.reply if turn else "",
        "answer": (turn.judgement.answer or "") if turn and turn.judgement else "",
        "human_score": "",
        "comment": "",
    }


def _deciding(record: Record) -> Turn | None:
    """The turn of the last attempt, which decided the score; without any attempt the last turn."""
    attempts = [turn for turn in record.turns if turn.judgement and turn.judgement.label == "answer_attempt"]
    return attempts[-1] if attempts else (record.turns[-1] if record.turns else None)


def _inert(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def _score(text: str, where: str) -> Any:
    try:
        value = _YES_NO[text] if text in _YES_NO else float(text.replace(",", "."))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise AnalysisError(f"{where}: this is no score", got=text, allowed="0 to 1, yes or no")
    return value
