"""The three tasks by name."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.reliability.entities import EntitiesTask
from tasks.reliability.instruction import InstructionTask
from tasks.reliability.task import ReliabilityTask
from tasks.reliability.tools import ToolsTask

RELIABILITY_TASKS: Mapping[str, type[ReliabilityTask]] = {
    task.name: task for task in (InstructionTask, ToolsTask, EntitiesTask)
}
