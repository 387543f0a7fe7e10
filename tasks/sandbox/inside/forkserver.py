"""The warm process behind the walls: imports once, then forks one warden an evaluation.

Little is imported, since each module makes each of the three forks of an evaluation slower (0.4 ms with nothing; `random`
and `threading` cost as much again, for what they do in every child).

It reads nothing a model wrote: a byte on the control socket carries a descriptor, the descriptor goes to a fresh child, and
the child speaks to the host alone. The end of the control socket (the host closed it, or died) is its own end, and with
it, since it is or hangs on the first process of its process namespace, the end of everything inside.

Every evaluation has user, process and mount namespaces of its own. An ordinary user may nest them (no capability of the
outer ones is kept), processes and threads are counted per namespace, so one evaluation cannot use up another's, and the
first process in it cannot be signalled from within.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys

from tasks.sandbox.inside.kernel import (
    NEW_MOUNTS,
    NEW_PROCESSES,
    NO_DEVICES,
    NO_EXEC,
    NO_SUID,
    READ_ONLY,
    allow_only_reading,
    die_with_parent,
    drop_capabilities,
    go_first_when_memory_ends,
    mount,
    unshare_users,
)
from tasks.sandbox.inside.plan import SCRATCH, Plan
from tasks.sandbox.inside.warden import guard

_SCRATCH_SIZE = "size=16m,nr_inodes=256,mode=700"


def serve(plan: Plan, control: socket.socket) -> None:
    """Forks a warden for every descriptor that arrives, until the host is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
    go_first_when_memory_ends()
    if plan.landlock:
        allow_only_reading(plan.readable)
    if not plan.namespaces:
        drop_capabilities()
    gc.collect()
    gc.freeze()  # collections in children do not touch, and so do not copy, what is shared
    while True:
        byte, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not byte:
            return
        _fork_warden(plan, control, descriptors[0])
        os.close(descriptors[0])


def _fork_warden(plan: Plan, control: socket.socket, connection: int) -> None:
    if os.fork():
        return
    try:
        control.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if plan.namespaces:
            _enter_own_namespaces()
        else:
            die_with_parent()
        guard(connection, plan)
        os._exit(0)
    except BaseException:  # noqa: BLE001 - the host sees the closed connection and this text
        sys.excepthook(*sys.exc_info())
        os._exit(1)


def _enter_own_namespaces() -> None:
    """The caller goes on as first process of a world of its own, with a scratch folder and without /proc."""
    unshare_users(NEW_MOUNTS | NEW_PROCESSES)
    mount("scratch", SCRATCH, "tmpfs", NO_SUID | NO_DEVICES, _SCRATCH_SIZE)
    mount("none", "/proc", "tmpfs", READ_ONLY | NO_SUID | NO_DEVICES | NO_EXEC, "size=4k,nr_inodes=2,mode=000")
    os.chdir(SCRATCH)
    if os.fork():
        os._exit(0)
