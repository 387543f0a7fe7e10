"""The tasks by name. A new task is one line here."""

from __future__ import annotations

from tasks.errors import UnknownName
from tasks.math import MathTask
from tasks.rows import PUBLISHED_NAMES
from tasks.task import Task

TASKS: dict[str, type[Task]] = {
    "math": MathTask,
}


def get_task(name: str) -> Task:
    """The task of this name, or of a name the published files gave it. Raises `UnknownName`."""
    key = name.strip().lower()
    key = PUBLISHED_NAMES.get(key, key)
    if key not in TASKS:
        raise UnknownName("task", name, TASKS)
    return TASKS[key]()
