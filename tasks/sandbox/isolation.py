"""`Isolation`: how strongly a model's program is walled in, and how each level is built on this machine.

A level is named by what it guarantees. Which one a machine reaches is not guessed from versions: the host starts each level,
strongest first, and has a program inside try to get out (`tasks/sandbox/host.py`).
"""

from __future__ import annotations

import enum
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache

from tasks.errors import UnknownName
from tasks.sandbox.inside.kernel import landlock_version
from tasks.sandbox.inside.plan import Plan
from tasks.sandbox.syscalls import filter_program


class Isolation(enum.IntEnum):
    """Levels in order of strength; each keeps what the lower ones promise."""

    LIMITS = 1
    """A process of its own with an empty environment, time, memory and output limited, and expected values out of reach:
    a program cannot fake a pass or hang. It can read, write and talk to the network as the user can."""
    LANDLOCK = 2
    """It also cannot open a file outside the Python installation, write anywhere, open a socket, start or signal a
    process (Landlock and seccomp; needs no privileges). It can still learn that a file exists, and its size."""
    NAMESPACES = 3
    """It also sees nothing else: its root folder holds the Python installation and a scratch folder, there are no other
    processes and no network, and threads are counted. The namespaces are made by ourselves."""
    BUBBLEWRAP = 4
    """The same, the outer walls built by bubblewrap, which many eyes have read."""

    @property
    def label(self) -> str:
        """As in scores and on the command line."""
        return self.name.lower()

    @classmethod
    def named(cls, label: str) -> Isolation:
        """The level of this name. Raises `UnknownName`."""
        by_label = {level.label: level for level in cls}
        if label.lower() not in by_label:
            raise UnknownName("isolation level", label, by_label)
        return by_label[label.lower()]


class Unavailable(Exception):
    """A level cannot be built here; the text says why."""


def plan(level: Isolation, number: int) -> Plan:
    """How fork server `number` of this level is made. Raises `Unavailable` where a part of it is missing."""
    if sys.platform != "linux":
        raise Unavailable("the sandbox needs Linux")
    bubblewrap = shutil.which("bwrap") if level is Isolation.BUBBLEWRAP else None
    if level is Isolation.BUBBLEWRAP and not bubblewrap:
        raise Unavailable("bwrap is not installed")
    if level is Isolation.LANDLOCK and not landlock_version():
        raise Unavailable("this kernel has no Landlock")
    walls = level >= Isolation.NAMESPACES
    return Plan(
        python=_python(),
        readable=tuple(_readable()),
        links=tuple(_links()),
        bubblewrap=bubblewrap,
        namespaces=walls,
        landlock=level is Isolation.LANDLOCK,
        uid=_spare_uid(number) if walls else None,
        syscall_filter=_syscall_filter(level).hex(),
    )


def _syscall_filter(level: Isolation) -> bytes:
    try:
        return filter_program()
    except OSError as error:
        if level is Isolation.LIMITS:
            return b""
        raise Unavailable(f"no seccomp: {error}") from error


def _spare_uid(number: int) -> int | None:
    """What root becomes: an id nothing else runs under, from the range systemd hands out to services while they run.

    None for anybody else, and for the root of a user namespace that has no other ids (usually an ordinary user outside).
    """
    first, size = 61184, 4336
    uid = first + (os.getpid() * 64 + number) % size
    with open("/proc/self/uid_map", encoding="ascii") as file:
        ranges = [[int(word) for word in line.split()] for line in file]
    exists = any(start <= uid < start + length for start, _, length in ranges)
    return uid if os.geteuid() == 0 and exists else None


# -- the Python installation ------------------------------------------------------------------------------------------


def _python() -> tuple[str, ...]:
    """The interpreter this process runs on, without site packages and settings of the user; a virtual environment is left
    aside. Programs may use the standard library, as the published tests expect; nothing installed beyond it."""
    interpreter = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    return (interpreter, "-s", "-S", "-P", "-B", "-X", "utf8")


@cache
def _readable() -> list[str]:
    base = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix, "installed_base": sys.base_prefix}
    paths = [_python()[0], *(sysconfig.get_path(name, vars=base) for name in ("stdlib", "platstdlib"))]
    library = os.path.join(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "")
    shared = sys.base_prefix in (
        "/usr",
        "/usr/local",
    )  # with the rest of the system; elsewhere all libraries are Python's
    paths += [library, *_system_libraries(), *([] if shared else [os.path.join(sys.base_prefix, "lib")])]
    return _without_nested(path for path in paths if os.path.exists(path) and os.path.isabs(path))


def _system_libraries() -> Iterator[str]:
    """Where the dynamic loader and the C library are; Debian keeps them apart from all else, others do not."""
    triplet = sysconfig.get_config_var("MULTIARCH") or ""
    for folder in ("/lib", "/lib64", "/usr/lib", "/usr/lib64"):
        own = os.path.join(folder, triplet)
        if not os.path.islink(folder):
            yield own if triplet and os.path.isdir(own) else folder


def _links() -> Iterator[tuple[str, str]]:
    for path in ("/lib", "/lib64"):
        if os.path.islink(path):
            yield path, os.readlink(path)


def _without_nested(paths: Iterator[str]) -> list[str]:
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not any(path.startswith(folder + "/") for folder in kept):
            kept.append(path)
    return kept
