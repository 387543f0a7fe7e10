"""Files of instances, read and written.

A file is a JSON list or JSON lines (one object a line); in both, a row is either published (`task_id`, `shards`, …) or
one of our instances (`id`, `instruction`, …). Every row is checked, and an error names file, row, field, what was there
and what is allowed (`tasks/rows.py`).
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from tasks.errors import DatasetError
from tasks.nouns import Instance
from tasks.rows import FORMS, Row, RowReader

__all__ = ["Row", "instance_lines", "load_instances", "read_rows", "write_instances"]

# -- reading ----------------------------------------------------------------------------------------------------------


def load_instances(task: RowReader, path: Path) -> list[Instance]:
    """All instances of `task` in a file, in order; rows that name another task are left out. Raises `DatasetError`.

    Blank shards after the first of a published row are dropped (the public maths file has thirteen), unless the task's
    user is scripted: then the shards' texts are not what is said. Several published rows may share an id if they are
    shardings of the same instruction (the public maths file has 263 of one problem): each then gets the id and a digest
    of its content, and the shared id becomes `pair`. Any other repeated id is an error.
    """
    rows = list(read_rows(path))
    own = [row for row in rows if row.belongs_to(task.name)]
    if not own:
        counts = Counter(str(row.fields.get("task")) for row in rows)
        got = ", ".join(f"{count} of {name}" for name, count in counts.items()) or "an empty file"
        raise DatasetError(f"{path}: no rows of the task {task.name}", got=got, allowed=FORMS)
    return _with_unique_ids([(row, row.instance(task)) for row in own])


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file, in order: JSON objects and nothing else. Raises `DatasetError`."""
    text = _read_text(path)
    rows = _list_rows if text.lstrip().startswith("[") else _line_rows
    for row in rows(text, path):
        row.require_plain_json()
        yield row


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path}: not UTF-8 at byte {error.start}", fix="save the file as UTF-8") from error
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read ({error.strerror})", allowed=FORMS) from error


def _list_rows(text: str, path: Path) -> Iterator[Row]:
    for number, value in enumerate(_parse(text, str(path)), start=1):
        yield Row(path, number, value)


def _line_rows(text: str, path: Path) -> Iterator[Row]:
    # Split on \n alone: JSON strings may hold U+2028 and others that splitlines() takes for line ends.
    filled = ((line, piece) for line, piece in enumerate(text.split("\n"), start=1) if piece.strip())
    for number, (line, piece) in enumerate(filled, start=1):
        place = f" (line {line})"
        yield Row(path, number, _parse(piece, f"{path}, row {number}{place}"), place)


def _parse(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        fault, got = (
            f"{error.msg}, line {error.lineno}, column {error.colno}",
            text[max(0, error.pos - 40) : error.pos + 40],
        )
        fix = "the file looks cut off: copy it again" if not text.rstrip().endswith(("]", "}")) else None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, lists nested thousands deep
        fault, got, fix = str(error), text[:80], None
    raise DatasetError(f"{where}: not JSON that can be read ({fault})", got=got or "nothing", allowed=FORMS, fix=fix)


def _with_unique_ids(read: list[tuple[Row, Instance]]) -> list[Instance]:
    by_id: defaultdict[str, list[tuple[Row, Instance]]] = defaultdict(list)
    for row, instance in read:
        by_id[instance.id].append((row, instance))
    for same_id in by_id.values():
        _require_one_problem(same_id)
    copies: Counter[str] = Counter()
    return [_marked(instance, copies) if len(by_id[instance.id]) > 1 else instance for _, instance in read]


def _require_one_problem(same_id: list[tuple[Row, Instance]]) -> None:
    first, problem = same_id[0]
    for row, instance in same_id[1:]:
        if row.ours or instance.instruction != problem.instruction:
            raise row.error(row.id_field, instance.id, "an id of its own", what=f"the same as in row {first.number}")


def _marked(instance: Instance, copies: Counter[str]) -> Instance:
    own_id = f"{instance.id}#{instance.digest()[:8]}"
    copies[own_id] += 1
    if copies[own_id] > 1:  # the very same row again
        own_id += f".{copies[own_id]}"
    return msgspec.structs.replace(instance, id=own_id, pair=instance.pair or instance.id)


# -- writing ----------------------------------------------------------------------------------------------------------


def instance_lines(instances: Iterable[Instance]) -> Iterator[str]:
    """Our own format: one JSON object a line, ending in a newline."""
    encoder = msgspec.json.Encoder()
    return (encoder.encode(instance).decode() + "\n" for instance in instances)


def write_instances(instances: Iterable[Instance], path: Path) -> int:
    """Writes our own format, the whole file or nothing; returns how many. Raises `DatasetError` where it cannot."""
    lines = list(instance_lines(instances))
    special = path.exists() and not path.is_file()  # a pipe or /dev/stdout cannot be replaced
    draft = path if special else path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text("".join(lines), encoding="utf-8", newline="\n")
        if not special:
            draft.replace(path)
    except OSError as error:
        raise DatasetError(f"{path}: cannot be written ({error.strerror})", fix="choose another place") from error
    finally:
        if not special:
            draft.unlink(missing_ok=True)
    return len(lines)
