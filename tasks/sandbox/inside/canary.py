"""A program like a model's, which the host runs before it trusts a sandbox (`tasks/sandbox/host.py`). Never imported.

One right and one wrong answer show that results come from running the program; `escapes` tries to get out.
"""

import os
import socket
from collections.abc import Callable
from pathlib import Path


def double(number: int) -> int:
    return 2 * number


def double_wrongly(number: int) -> int:
    return 2 * number + 1


def escapes(readable: str, folder: str) -> list[str]:
    """What a program can do here that it must not, in words."""
    attempts: dict[str, Callable[[], object]] = {
        "read a file": lambda: Path(readable).read_bytes(),
        "write a file": lambda: Path(folder, "written").write_text("x"),
        "list a folder": lambda: os.listdir(folder),
        "open a socket": lambda: socket.socket().close(),
        "start a process": lambda: os.fork() or os._exit(0),
        "signal a process": lambda: os.kill(os.getppid() or 1, 0),
        "read the environment": lambda: dict(os.environ)["PATH"],
    }
    return [name for name, attempt in attempts.items() if succeeds(attempt)]


def succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except (OSError, KeyError):
        return False
    return True
