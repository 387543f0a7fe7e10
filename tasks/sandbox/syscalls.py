"""The seccomp program: which system calls a candidate is refused, compiled by libseccomp for the machine at hand.

A list of refusals rather than of permissions, since it is one wall of several and Python versions differ in what they call.
It is what makes one evaluation one process: no other program, no child (threads are fine), hence nothing that outlives it
and no memory beyond its own limit. Debian: `libseccomp2`, there wherever apt or systemd is.
"""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache

#: Refused with "operation not permitted".
REFUSED = {
    "processes": "fork vfork execve execveat",
    "signals": "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open pidfd_send_signal pidfd_getfd",
    "other processes": "ptrace process_vm_readv process_vm_writev kcmp migrate_pages move_pages process_madvise"
    " setpriority ioprio_set sched_setaffinity sched_setscheduler sched_setparam sched_setattr",
    "network": "socket connect bind listen accept accept4",
    "memory out of the limit": "memfd_create shmget semget msgget mq_open io_uring_setup io_uring_enter io_uring_register",
    "files without opening them": "truncate chmod fchmod fchmodat chown fchown lchown fchownat setxattr lsetxattr fsetxattr"
    " utime utimes futimesat utimensat name_to_handle_at open_by_handle_at",
    "new worlds": "unshare setns mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick swapon"
    " swapoff quotactl",
    "the kernel": "bpf perf_event_open userfaultfd keyctl add_key request_key init_module finit_module delete_module kexec_load"
    " kexec_file_load reboot personality seccomp acct settimeofday clock_settime adjtimex clock_adjtime syslog",
}

_ALLOW, _REFUSE = 0x7FFF_0000, 0x0005_0000
_NOT_EQUAL, _MASKED_EQUAL = 1, 7
_CLONE_THREAD = 0x1_0000


class _Comparison(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("operator", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


@cache
def filter_program() -> bytes:
    """The compiled program (struct sock_filter, 8 bytes an instruction). Raises `OSError` where libseccomp is missing."""
    library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    library.seccomp_init.restype = ctypes.c_void_p
    program = ctypes.c_void_p(library.seccomp_init(_ALLOW))
    try:
        for name in " ".join(REFUSED.values()).split():
            _refuse(library, program, name)
        _refuse(
            library, program, "clone3", error=errno.ENOSYS
        )  # its flags are in memory; the C library then uses clone
        _refuse(library, program, "clone", _Comparison(0, _MASKED_EQUAL, _CLONE_THREAD, 0))
        _refuse(library, program, "prlimit64", _Comparison(0, _NOT_EQUAL, 0, 0))  # the limits of another process
        return _export(library, program)
    finally:
        library.seccomp_release(program)


def _refuse(
    library: ctypes.CDLL, program: ctypes.c_void_p, name: str, *when: _Comparison, error: int = errno.EPERM
) -> None:
    number = library.seccomp_syscall_resolve_name(name.encode())
    conditions = (_Comparison * len(when))(*when)
    result = library.seccomp_rule_add_array(program, _REFUSE | error, number, len(when), conditions)
    if number == -1 or result < 0:
        raise OSError(-result, f"libseccomp is too old for {name}: {os.strerror(-result)}")


def _export(library: ctypes.CDLL, program: ctypes.c_void_p) -> bytes:
    with open(os.memfd_create("filter"), "rb") as file:
        library.seccomp_export_bpf(program, file.fileno())
        file.seek(0)
        return file.read()
