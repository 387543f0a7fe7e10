"""Fixtures every part shares: the loopback server."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from simulator.cli import main


def _load(name: str, file: Path) -> ModuleType:
    """A helper module by its path: tests are no package (`--import-mode=importlib`)."""
    if name not in sys.modules:
        module = sys.modules[name] = ModuleType(name)
        SourceFileLoader(name, str(file)).exec_module(module)
    return sys.modules[name]


@pytest.fixture
def exit_code() -> Callable[..., object]:
    """Runs the command line in this process; its exit code."""

    def run(*arguments: object) -> object:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        return ended.value.code

    return run


@pytest.fixture(scope="session")
def loopback() -> ModuleType:
    """The module `tests/server/loopback.py`: `Answer`, `FAULTS`, `error`, `rate_limited`, `random_faults`, `Loopback`, …"""
    return _load("loopback", Path(__file__).parent / "server" / "loopback.py")


@pytest.fixture
def server(loopback: ModuleType) -> Iterator[Any]:
    """A running `Loopback` in a thread of its own; set its `handler`, `plan` (starts with the next request), `latency`."""
    with loopback.Threaded(loopback.Loopback()) as running:
        yield running
