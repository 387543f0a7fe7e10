"""What the logs of the reference implementation recorded turn by turn: labels of replies, and user turns that repeat.

Log format: microsoft/lost_in_conversation and its forks, a JSON line a conversation with a `trace` of messages and log
entries. Read here is only what a judge or the guard can be compared with; whole conversations become records in
`analysis/reference_read.py`.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO, cast

import msgspec

from tasks.errors import DatasetError
from tasks.nouns import TURN_CLASSES, Instance, Shard, TurnClass


class Labelled(msgspec.Struct, frozen=True):
    """One reply with its recorded label.

    Attributes:
        task: the log's name of it. `assistant`: the model that replied.
        instance: a stand-in made of what was said, since a log does not hold its instance.
    """

    task: str
    assistant: str
    instance: Instance
    reply: str
    label: TurnClass


class UserTurn(msgspec.Struct, frozen=True):
    """One user turn after the first.

    Attributes:
        text: what was said, without a recap around it. `said`: what had been said before, in order.
        repeat: whether the log calls it a repeat of a revealed shard; None where it does not say.
    """

    task: str
    assistant: str
    text: str
    said: tuple[str, ...]
    repeat: bool | None


def log_files(paths: Iterable[Path]) -> list[Path]:
    """The log files among files and folders (`*.jsonl`, `*.jsonl.gz`, at any depth). Raises `DatasetError` if there is none."""
    found: list[Path] = []
    for path in paths:
        found += sorted(p for p in path.rglob("*.jsonl*") if p.suffix in (".jsonl", ".gz")) if path.is_dir() else [path]
    if not found:
        raise DatasetError(
            "no logs found", got=", ".join(map(str, paths)), allowed="*.jsonl or *.jsonl.gz, or folders of them"
        )
    return found


def read_logs(path: Path) -> Iterator[dict[str, Any]]:
    """The conversations of one file. Raises `DatasetError` with file and row."""
    try:
        with _opened(path) as lines:
            for row, line in enumerate(lines, 1):
                if line.strip():
                    yield _log(line, path, row)
    except (OSError, EOFError, UnicodeDecodeError) as problem:
        raise DatasetError(f"{path}: cannot be read: {problem}") from problem


def _opened(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return cast(TextIO, gzip.open(path, "rt", encoding="utf-8"))
    return path.open(encoding="utf-8")


def _log(line: str, path: Path, row: int) -> dict[str, Any]:
    try:
        log = json.loads(line)
    except ValueError as problem:
        raise DatasetError(f"{path}, row {row}: not JSON: {problem}") from problem
    if not isinstance(log, dict) or not isinstance(log.get("trace"), list) or "task" not in log:
        raise DatasetError(
            f"{path}, row {row}: not a log of a conversation", allowed='an object with "task" and "trace"'
        )
    return log


def labelled_replies(log: dict[str, Any]) -> Iterator[Labelled]:
    """The replies of one conversation that were classified."""
    system, reply = "", ""
    said: list[str] = []
    for entry in log["trace"]:
        content = entry.get("content")
        match entry.get("role"):
            case "system":
                system = content or ""
            case "user":
                said.append(_utterance(content or ""))
            case "assistant":
                reply = content or ""
            case "log" if isinstance(content, dict) and content.get("type") == "system-verification":
                label = (content.get("response") or {}).get("response_type")
                if label in TURN_CLASSES:
                    yield Labelled(
                        log["task"], log.get("assistant_model", ""), _stand_in(log, system, said), reply, label
                    )


def user_turns(log: dict[str, Any]) -> Iterator[UserTurn]:
    """The user turns of one conversation; the mark of a repeat stands before its turn (or not at all)."""
    said: list[str] = []
    repeat: bool | None = None
    for entry in log["trace"]:
        content = entry.get("content")
        if entry.get("role") == "log" and isinstance(content, dict):
            repeat = {"duplicate_shard_ignored": True, "hint_revealed": False}.get(content.get("type", ""), repeat)
        elif entry.get("role") == "user":
            text = _utterance(content or "")
            if said:
                yield UserTurn(log["task"], log.get("assistant_model", ""), text, tuple(said), repeat)
            said.append(text)
            repeat = None


def _utterance(content: str) -> str:
    """What is new in a SNOWBALL turn (`Just to reiterate, … Also, …`); other turns are new as a whole."""
    recap, also, new = content.rpartition("\n\nAlso,\n\n")
    return new.strip() if also and recap.startswith("Just to reiterate") else content.strip()


def _stand_in(log: dict[str, Any], system: str, said: Sequence[str]) -> Instance:
    functions = re.findall(r"""['"]name['"]: ['"]([^'"]+)['"]""", system)
    return Instance(
        id=str(log.get("task_id", "")),
        task=log["task"],
        shards=tuple(Shard(number, text) for number, text in enumerate(said or [""], 1)),
        instruction="\n".join(said),
        data={"functions": [{"name": name} for name in functions]} if functions else {},
    )
