"""The system calls the sandbox needs and Python 3.11 does not have, one plain function each.

Every function raises `OSError` with the name of the call. Numbers above 423 are the same on all architectures.
Sources: man pages unshare(2), mount(2), mount_setattr(2), capset(2), seccomp(2), landlock(7), user_namespaces(7).
"""

from __future__ import annotations

import ctypes
import os
import struct
import time
from collections.abc import Iterable
from functools import cache

NEW_MOUNTS, NEW_CGROUP, NEW_HOSTNAME, NEW_IPC = 0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000
NEW_USERS, NEW_PROCESSES, NEW_NETWORK = 0x1000_0000, 0x2000_0000, 0x4000_0000

READ_ONLY, NO_SUID, NO_DEVICES, NO_EXEC = 1, 2, 4, 8
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x4_0000
_DETACH = 2

_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}
_MOUNT_SETATTR = 442
_LANDLOCK_CREATE, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT = 444, 445, 446


class _MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


class _FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, call: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
    return result


# -- namespaces and mounts --------------------------------------------------------------------------------------------


def unshare(namespaces: int) -> None:
    """Leaves the given namespaces for new ones (the process namespace: for the next child)."""
    _check(_libc().unshare(namespaces), "unshare")


def unshare_users(namespaces: int) -> None:
    """Into a new user namespace, in which this process keeps its own ids and has every capability, and other new ones."""
    uid, gid = os.geteuid(), os.getegid()
    unshare(NEW_USERS | namespaces)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{uid} {uid} 1")
    _write("/proc/self/gid_map", f"{gid} {gid} 1")


def _write(path: str, text: str) -> None:
    with open(path, "wb") as file:  # after the user changed, no codec could be imported any more
        file.write(text.encode())


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """mount(2)."""
    words = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    _check(_libc().mount(*words, ctypes.c_ulong(flags), options.encode()), f"mount {target}")


def bind(source: str, target: str) -> None:
    """Shows a file or folder, with all that is mounted below it, in a second place."""
    mount(source, target, None, _BIND | _RECURSIVE)


def keep_mounts_private() -> None:
    """Nothing mounted from now on is seen outside this mount namespace."""
    mount("none", "/", None, _RECURSIVE | _PRIVATE)


def make_read_only(target: str, *, recursive: bool = True) -> None:
    """Adds read-only, no set-uid and no devices to a mount, and to those below it (Linux 5.12)."""
    attributes = _MountAttributes(READ_ONLY | NO_SUID | NO_DEVICES, 0, 0, 0)
    at_fdcwd, at_recursive = -100, 0x8000
    flags = at_recursive if recursive else 0
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _syscall("mount_setattr", _MOUNT_SETATTR, at_fdcwd, os.fsencode(target), flags, ctypes.byref(attributes), size)


def enter_root(root: str) -> None:
    """Makes `root` the root folder and forgets the old one."""
    bind(root, root)  # a mount inherited from outside cannot become a root; a fresh one of the same folder can
    os.chdir(root)
    _syscall("pivot_root", _PIVOT_ROOT[os.uname().machine], b".", b".")
    _check(_libc().umount2(b".", _DETACH), "umount2")
    os.chdir("/")


def _syscall(call: str, *arguments: object) -> int:
    number, *rest = arguments
    return _check(_libc().syscall(ctypes.c_long(number), *rest), call)  # type: ignore[arg-type]


# -- what a process may do --------------------------------------------------------------------------------------------


def _control(call: str, option: int, *arguments: object) -> None:
    values = [*arguments, 0, 0, 0, 0][:4]
    _check(_libc().prctl(option, *(ctypes.c_ulong(v) if isinstance(v, int) else v for v in values)), call)


def go_first_when_memory_ends() -> None:
    """Makes this process, and what it forks, the first the kernel ends when the machine runs out of memory."""
    _write("/proc/self/oom_score_adj", "1000")


def die_with_parent() -> None:
    """SIGKILL when the parent ends (PR_SET_PDEATHSIG)."""
    _control("prctl(PDEATHSIG)", 1, 9)


def set_dumpable() -> None:
    """Gives /proc/self back to this process after it changed its user id (PR_SET_DUMPABLE)."""
    _control("prctl(DUMPABLE)", 4, 1)


def drop_capabilities() -> None:
    """No capability now, none by executing anything later."""
    version_3 = 0x2008_0522
    header = (ctypes.c_uint32 * 2)(version_3, 0)
    none = (ctypes.c_uint32 * 6)()
    _check(_libc().capset(header, none), "capset")
    _control("prctl(NO_NEW_PRIVS)", 38, 1)


def filter_syscalls(program: bytes) -> None:
    """Installs a seccomp program (struct sock_filter, 8 bytes an instruction) for good. Needs no new privileges."""
    wanted = _FilterProgram(len(program) // 8, program)
    _control("prctl(SECCOMP)", 22, 2, ctypes.byref(wanted))


def landlock_version() -> int:
    """The kernel's Landlock version, 0 where it has none."""
    version_flag = 1
    result: int = _libc().syscall(ctypes.c_long(_LANDLOCK_CREATE), None, ctypes.c_size_t(0), version_flag)
    return max(0, result)


def allow_only_reading(paths: Iterable[str]) -> None:
    """Gives up every file but those below `paths`, which can be read and executed, for good (Landlock).

    Changing mode, owner or times of a file is outside what Landlock rules; the seccomp program refuses that.
    """
    execute, read_file, read_folder = 1 << 0, 1 << 2, 1 << 3
    rights = {1: 13, 2: 14, 3: 15, 4: 15}.get(landlock_version(), 16)  # how many rights this version knows
    handled = ctypes.c_uint64((1 << rights) - 1)
    rules = _syscall("landlock_create_ruleset", _LANDLOCK_CREATE, ctypes.byref(handled), ctypes.c_size_t(8), 0)
    for path in paths:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        allowed = execute | read_file | (read_folder if os.path.isdir(path) else 0)
        _syscall("landlock_add_rule", _LANDLOCK_ADD_RULE, rules, 1, struct.pack("=Qi", allowed, place), 0)
        os.close(place)
    _control("prctl(NO_NEW_PRIVS)", 38, 1)
    _syscall("landlock_restrict_self", _LANDLOCK_RESTRICT, rules, 0)
    os.close(rules)


# -- clocks -----------------------------------------------------------------------------------------------------------


def cpu_seconds(pid: int) -> float:
    """CPU time a process has used so far, all threads together, its children not."""
    return time.clock_gettime((~pid << 3) | 2)  # clock_getcpuclockid(3): the id encodes the process
