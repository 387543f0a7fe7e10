"""Every error a user can meet, from the bottom layer up: what happened, the value seen, what is allowed, what to do.

    ShardtalkError
    ├── DatasetError          a file of instances cannot be read, or one of its rows is wrong
    ├── UnknownName           a task, mode, model, … that does not exist; names the close matches
    ├── PromptError           a template lacks a variable or was given one too many
    └── …                     the simulator's own branches: simulator/errors.py

An error that depends on what a *model* wrote is never raised to the user: bad model text becomes a `Score` or a
recorded failure.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ShardtalkError(Exception):
    """A problem the user can act on. The command line prints it without a traceback and exits non-zero.

    Args:
        what: what happened, one sentence.
        got: the value seen, if there is one.
        allowed: what would have been accepted.
        fix: what to do now.
    """

    exit_code = 2

    def __init__(self, what: str, *, got: object = None, allowed: str | None = None, fix: str | None = None) -> None:
        self.what, self.got, self.allowed, self.fix = what, got, allowed, fix
        parts = [what]
        if got is not None:
            shown = got if isinstance(got, str) else repr(got)
            parts.append(f"  got:     {shown if len(shown) <= 200 else shown[:197] + '...'}")
        if allowed is not None:
            parts.append(f"  allowed: {allowed}")
        if fix is not None:
            parts.append(f"  fix:     {fix}")
        super().__init__("\n".join(parts))


class DatasetError(ShardtalkError):
    """A dataset cannot be read. Names file, row and field."""


#: Names that an error lists; of more it gives the first few.
LISTED = 24


class UnknownName(ShardtalkError):
    """A name that is in no registry."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, fix: str | None = None) -> None:
        names = sorted(known)
        close = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
        guess = f"did you mean {' or '.join(close)}?" if close else None
        more = [f"… {len(names) - LISTED} more"] if len(names) > LISTED else []
        allowed = ", ".join([*names[:LISTED], *more])
        super().__init__(f"there is no {kind} named {name!r}", allowed=allowed, fix=guess or fix)


class PromptError(ShardtalkError):
    """A prompt template was filled with too few or too many variables: a fault of the code, found at once."""
