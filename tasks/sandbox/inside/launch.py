"""Builds the walls around a fork server, then becomes it. Runs outside, as the user who runs shardtalk.

Order matters. A limit on processes does not bind root, not even under another id inside a user namespace, so root first
shows the Python installation in a place that others can reach (it may lie under /root) and becomes an ordinary user; only
then are the namespaces made, by bubblewrap or by ourselves.
"""

from __future__ import annotations

import os

from tasks.sandbox.inside.kernel import (
    NEW_CGROUP,
    NEW_HOSTNAME,
    NEW_IPC,
    NEW_MOUNTS,
    NEW_NETWORK,
    NEW_PROCESSES,
    NO_DEVICES,
    NO_EXEC,
    NO_SUID,
    bind,
    die_with_parent,
    enter_root,
    keep_mounts_private,
    make_read_only,
    mount,
    set_dumpable,
    unshare,
    unshare_users,
)
from tasks.sandbox.inside.plan import SCRATCH, Plan

#: Where the new root folder is put together; covered in our own mount namespace only, so nobody else sees it.
_TREE = "/tmp"


def launch(plan: Plan, command: list[str]) -> None:
    """Becomes `command` behind the walls of the plan; never returns."""
    planted = plan.namespaces and plan.uid is not None
    if planted:
        unshare(NEW_MOUNTS)
        keep_mounts_private()
        _plant(plan)
        _become(plan.uid or 0)
    if plan.bubblewrap:
        os.execv(plan.bubblewrap, [*_bubblewrap(plan, planted), "--", *command])
    if plan.namespaces:
        _enter_namespaces(plan, planted)
    os.execv(command[0], command)


def _become(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    set_dumpable()


def _plant(plan: Plan) -> None:
    """Puts the new root folder together at `_TREE`: the readable files, two folders to be mounted on, /dev/null."""
    wanted = [*plan.readable, "/dev/null"]
    places = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in wanted}  # some may lie below _TREE
    mount("tmpfs", _TREE, "tmpfs", NO_SUID, "mode=755,size=1m")
    for path, place in places.items():
        _show(f"/proc/self/fd/{place}", _TREE + path)
        os.close(place)
        if path != "/dev/null":
            make_read_only(_TREE + path)
    for path, target in plan.links:
        os.symlink(target, _TREE + path)
    for folder in ("/proc", SCRATCH):
        os.mkdir(_TREE + folder)


def _show(source: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC))
    bind(source, target)


def _bubblewrap(plan: Plan, planted: bool) -> list[str]:
    if planted:
        files = ["--ro-bind", _TREE, "/"]
    else:
        files = [word for path in plan.readable for word in ("--ro-bind", path, path)]
        files += [word for path, target in plan.links for word in ("--symlink", target, path)]
        files += ["--dir", SCRATCH]
    # Without a first process of bubblewrap's own, which would outlive the one the host waits for.
    walls = ["--unshare-all", "--as-pid-1", "--die-with-parent", "--new-session", "--hostname", "sandbox"]
    devices = ["--proc", "/proc", "--dev-bind", "/dev/null", "/dev/null"]
    return [plan.bubblewrap or "bwrap", *walls, *files, *devices, "--remount-ro", "/", "--chdir", "/"]


def _enter_namespaces(plan: Plan, planted: bool) -> None:
    """What bubblewrap does, for machines without it: the caller goes on as first process of a new world."""
    unshare_users(NEW_MOUNTS | NEW_PROCESSES | NEW_NETWORK | NEW_IPC | NEW_HOSTNAME | NEW_CGROUP)
    first = os.fork()
    if first:  # stay outside, to be what the host waits for
        os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]) & 0xFF)
    die_with_parent()
    if not planted:
        _plant(plan)
    mount("proc", _TREE + "/proc", "proc", NO_SUID | NO_DEVICES | NO_EXEC)  # refused once the old one is out of sight
    enter_root(_TREE)
    make_read_only("/", recursive=False)
