"""Fixtures every part shares: the loopback server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def _load(name: str, file: Path) -> ModuleType:
    """A helper module by its path: tests are no package (`--import-mode=importlib`)."""
    if name not in sys.modules:
        module = sys.modules[name] = ModuleType(name)
        SourceFileLoader(name, str(file)).exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def loopback() -> ModuleType:
    """The module `tests/server/loopback.py`: `Answer`, `FAULTS`, `error`, `rate_limited`, `random_faults`, `Loopback`, …"""
    return _load("loopback", Path(__file__).parent / "server" / "loopback.py")


@pytest.fixture
def server(loopback: ModuleType) -> Iterator[Any]:
    """A running `Loopback` in a thread of its own; set its `handler`, `plan` (starts with the next request), `latency`."""
    with loopback.Threaded(loopback.Loopback()) as running:
        yield running
