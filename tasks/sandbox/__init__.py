"""The sandbox: programs written by models run here, and nowhere else (docs in `host.py`, `isolation.py`, `inside/`)."""

from tasks.sandbox.errors import IsolationRefused, SandboxFailure
from tasks.sandbox.host import Sandbox, shared
from tasks.sandbox.isolation import Isolation
from tasks.sandbox.program import Call, Feed, Limits, Outcome, Program
from tasks.sandbox.values import Other

__all__ = [
    "Call",
    "Feed",
    "Isolation",
    "IsolationRefused",
    "Limits",
    "Other",
    "Outcome",
    "Program",
    "Sandbox",
    "SandboxFailure",
    "shared",
]
