"""`Row`: one object of a dataset file, read so that every complaint says where.

It knows the two row forms (published, ours) and the published shards with their older spellings; what the other fields
of a published row mean is said by `Task.read_row`. Files are the business of `tasks/datasets.py`.

Source of the published form: the reference data of "LLMs Get Lost In Multi-Turn Conversation" (Laban et al. 2025) and
of its earlier versions, which said `shard_text`, `initial_query` with `hints`, or `lazy` with `hints`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import msgspec

from tasks.errors import DatasetError
from tasks.nouns import Instance, Shard

T = TypeVar("T")

#: Names of tasks in published files and logs, old and new.
PUBLISHED_NAMES: dict[str, str] = {
    "python": "code",
    "humaneval": "code",
    "lcb": "code",
    "apis": "actions",
    "wmt": "translation",
    "totto": "data2text",
}

#: The containers a dataset file may be.
FORMS = "a JSON list of objects, or one JSON object per line"

_REQUIRED: Any = object()


class RowReader(Protocol):
    """What reading needs of a task; `tasks.task.Task` has it."""

    name: ClassVar[str]
    scripted_user: ClassVar[bool]

    def read_row(self, row: Row) -> Instance: ...

    def check(self, instance: Instance, row: Row) -> None: ...


class Row:
    """One object of a dataset file.

    Attributes:
        path, number: the file, and the row in it from 1 (blank lines not counted).
        fields: the JSON object as it stands.
    """

    def __init__(self, path: Path, number: int, value: Any, line: str = "") -> None:
        self.path, self.number, self.line = path, number, line
        if not isinstance(value, dict):
            raise DatasetError(f"{self.place}: not an object", got=repr(value), allowed=FORMS)
        self.fields: dict[str, Any] = value

    @property
    def place(self) -> str:
        """File and row, as error messages name them."""
        return f"{self.path}, row {self.number}{self.line}"

    @property
    def ours(self) -> bool:
        """Written by `write_instances` rather than published."""
        return "instruction" in self.fields and "task_id" not in self.fields

    @property
    def id_field(self) -> str:
        """The field that holds the id."""
        return "id" if self.ours else "task_id"

    @property
    def id(self) -> str:
        """The id, a text that is not blank."""
        return self.text(self.id_field)

    @property
    def shards(self) -> tuple[Shard, ...]:
        """The shards of a published row in any of its spellings, in order, the intent first."""
        return _published_shards(self)

    def belongs_to(self, task: str) -> bool:
        """Whether the row names this task, or none (older files hold one task and do not say which)."""
        named = self.read("task", str, task)
        return PUBLISHED_NAMES.get(named, named) == task

    # -- checked access -------------------------------------------------------------------------------------------

    def read(self, field: str, type: type[T], default: T = _REQUIRED) -> T:
        """The value of a field, checked against a type (`str`, `list[str]`, `dict[str, int]`, a msgspec struct, …).

        Raises `DatasetError` for a value of another type, and for a missing field if there is no default.
        """
        if field not in self.fields:
            if default is _REQUIRED:
                raise self.error(field, "no such field", _in_words(type), what="missing")
            return default
        try:
            return msgspec.convert(self.fields[field], type)
        except msgspec.ValidationError as error:
            raise self._misfit(error, self.fields[field], field) from error

    def text(self, field: str, default: str = _REQUIRED) -> str:
        """The value of a field that is a text with something in it (a default is returned as it stands)."""
        value = self.read(field, str, default)
        if value is not default and not value.strip():
            raise self.error(field, value, "a text that is not blank")
        return value

    def error(self, field: str, got: object, allowed: str, *, what: str = "cannot be used") -> DatasetError:
        """The error to raise about a field, which may be a path such as `shards[2].shard`."""
        shown = got if isinstance(got, str) and got.strip() else repr(got)
        return DatasetError(f"{self.place}, field {field}: {what}", got=shown, allowed=allowed)

    # -- the whole row --------------------------------------------------------------------------------------------

    def instance(self, task: RowReader) -> Instance:
        """The row as an instance of `task`, checked."""
        instance = self._own_instance() if self.ours else task.read_row(self)
        instance = self._with_good_shards(instance, blank_allowed=task.scripted_user)
        task.check(instance, self)
        return instance

    def require_plain_json(self) -> None:
        """Raises `DatasetError` on what Python's reader lets through: NaN, Infinity, half a surrogate pair."""
        for path, fault in _faults(self.fields, ""):
            raise self.error(path.lstrip(".") or "(a field name)", fault, "finite numbers and valid Unicode")

    def _own_instance(self) -> Instance:
        try:
            instance = msgspec.convert(self.fields, Instance)
        except msgspec.ValidationError as error:
            raise self._misfit(error, self.fields) from error
        self.text("id")
        self.text("instruction")
        return instance

    def _with_good_shards(self, instance: Instance, *, blank_allowed: bool) -> Instance:
        id_field, text_field = ("id", "text") if self.ours else ("shard_id", "shard")
        shards = instance.shards
        if not shards:
            raise self.error("shards", [], "at least one shard")
        if double := _first_double([shard.id for shard in shards]):
            raise self.error(f"shards[{double}].{id_field}", shards[double].id, "an id no other shard of the row has")
        if blank_allowed:
            return instance
        for index, shard in enumerate(shards):
            if not shard.text.strip() and (self.ours or index == 0):
                raise self.error(f"shards[{index}].{text_field}", shard.text, "a text that is not blank")
        return msgspec.structs.replace(instance, shards=tuple(shard for shard in shards if shard.text.strip()))

    def _misfit(self, error: msgspec.ValidationError, value: Any, field: str = "") -> DatasetError:
        # msgspec says "Expected `str`, got `int` - at `$.shards[2].text`".
        what, _, path = str(error).partition(" - at ")
        steps = path.strip("`").removeprefix("$")
        return self.error((field + steps).lstrip(".") or "(row)", _at(value, steps), what, what="not of the right type")


# -- shards in their published spellings ------------------------------------------------------------------------------


def _published_shards(row: Row) -> tuple[Shard, ...]:
    if "shards" in row.fields:
        return tuple(_shard(row, *piece) for piece in _pieces(row, "shards"))
    return _hints(Row(row.path, row.number, {**row.fields, **row.read("lazy", dict[str, Any], {})}, row.line))


def _hints(row: Row) -> tuple[Shard, ...]:
    if "hints" not in row.fields:
        raise row.error("shards", "no such field", "a list of {shard_id, shard}", what="missing")
    hints = [_piece_text(row, *piece, ("hint",)) for piece in _pieces(row, "hints")]
    # The intent has no id in this form and hints count from 0 or from 1, so all are numbered anew.
    return tuple(Shard(number, text) for number, text in enumerate([row.text("initial_query"), *hints], start=1))


def _pieces(row: Row, field: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, piece in enumerate(row.read(field, list[dict[str, Any]])):
        yield f"{field}[{index}]", piece


def _shard(row: Row, path: str, piece: dict[str, Any]) -> Shard:
    number = piece.get("shard_id")
    if not isinstance(number, int) or isinstance(number, bool):
        raise row.error(f"{path}.shard_id", number, "an integer")
    return Shard(number, _piece_text(row, path, piece, ("shard", "shard_text")))


def _piece_text(row: Row, path: str, piece: dict[str, Any], names: Sequence[str]) -> str:
    name = next((name for name in names if name in piece), names[0])
    if not isinstance(piece.get(name), str):
        raise row.error(f"{path}.{name}", piece.get(name), "a text")
    return str(piece[name])


# -- small parts ------------------------------------------------------------------------------------------------------


def _first_double(ids: Iterable[int]) -> int | None:
    """Index of the first id that came before; never 0, so that it can be tested for truth."""
    seen: set[int] = set()
    for index, value in enumerate(ids):
        if value in seen:
            return index
        seen.add(value)
    return None


def _faults(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _faults(key, path)
            yield from _faults(item, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _faults(item, f"{path}[{index}]")
    elif isinstance(value, float) and not math.isfinite(value):
        yield path, repr(value)
    elif isinstance(value, str) and re.search("[\ud800-\udfff]", value):
        yield path, ascii(value)


def _at(value: Any, steps: str) -> Any:
    """What stands at `.shards[2].text` of a value; None where there is nothing."""
    for key, index in re.findall(r"\.(\w+)|\[(\d+)\]", steps):
        try:
            value = value[key or int(index)]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _in_words(type: Any) -> str:
    return {str: "a text", int: "an integer", float: "a number"}.get(type, f"a value of type {type}")
