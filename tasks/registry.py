"""The tasks by name. A new task is one line here."""

from __future__ import annotations

from tasks.actions import ActionsTask
from tasks.code import CodeTask
from tasks.data2text import Data2TextTask
from tasks.database import DatabaseTask
from tasks.errors import UnknownName
from tasks.math import MathTask
from tasks.reliability.registered import RELIABILITY_TASKS
from tasks.rows import PUBLISHED_NAMES
from tasks.summary import SummaryTask
from tasks.task import Setup, Task
from tasks.translation import TranslationTask
from tasks.travel.problems import TRAVEL_TASKS

TASKS: dict[str, type[Task]] = {
    "code": CodeTask,
    "database": DatabaseTask,
    "actions": ActionsTask,
    "math": MathTask,
    "data2text": Data2TextTask,
    "summary": SummaryTask,
    "translation": TranslationTask,
    **TRAVEL_TASKS,
    **RELIABILITY_TASKS,
}


def get_task(name: str, setup: Setup = Setup()) -> Task:  # noqa: B008 - frozen
    """The task of this name, or of a name the published files gave it. Raises `UnknownName`."""
    key = name.strip().lower()
    key = PUBLISHED_NAMES.get(key, key)
    if key not in TASKS:
        raise UnknownName("task", name, TASKS)
    return TASKS[key].made(setup)
