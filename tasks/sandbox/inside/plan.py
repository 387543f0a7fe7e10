"""`Plan`: how one fork server is to be walled in; written by the host, read by everything inside."""

from __future__ import annotations

from typing import NamedTuple

#: Where an evaluation finds its own folder, which is also its working directory.
SCRATCH = "/scratch"


class Plan(NamedTuple):
    """One fork server.

    Attributes:
        python: the command that starts Python (its first word is the interpreter's real path).
        readable: files and folders of the Python installation and the system's shared libraries, as absolute paths.
        links: (path, target) of symbolic links that lead to them (`/lib` on a merged `/usr`).
        bubblewrap: path of `bwrap`, where it builds the walls.
        namespaces: there are walls: every evaluation gets user, process and mount namespaces and a scratch folder of its own.
        landlock: there are none; the fork server gives up all files but `readable` instead.
        uid: what root becomes before anything else; None for anybody else.
        syscall_filter: the seccomp program as hexadecimal text; empty where there is none.
    """

    python: tuple[str, ...]
    readable: tuple[str, ...]
    links: tuple[tuple[str, str], ...] = ()
    bubblewrap: str | None = None
    namespaces: bool = False
    landlock: bool = False
    uid: int | None = None
    syscall_filter: str = ""
