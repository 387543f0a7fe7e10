"""The nouns of the sandbox: a `Program` to run, its `Limits`, and what came out, an `Outcome` a test."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

#: How one test ended. `value` and `printed` are answers, to be compared by whoever knows the right one; the rest are the
#: program's own failures. `not_run`: others had used up the time.
Kind: TypeAlias = Literal["value", "printed", "raised", "timed_out", "memory", "not_run"]


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A model's program.

    Attributes:
        code: Python source. `preamble`: source that is run before it, in the same namespace.
        entry: `function` or `Class.method` to call; None runs the whole as a script on standard input.
    """

    code: str
    preamble: str = ""
    entry: str | None = None


class Call(msgspec.Struct, frozen=True):
    """One test of a function: the positional arguments, JSON types only."""

    args: tuple[Any, ...]


class Feed(msgspec.Struct, frozen=True):
    """One test of a script: what it reads from standard input."""

    stdin: str


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a program may use.

    Attributes:
        cpu: seconds of CPU time for loading and for each test. CPU time, not wall time, so that a busy machine does not
            change a score; 6 s as in the evaluator of the published tests.
        wall: seconds in all for the same, for a program that sleeps; None is twice `cpu` and two more.
        memory: bytes of address space. `output`: bytes it may print, and answer, an evaluation.
    """

    cpu: float = 6.0
    wall: float | None = None
    memory: int = 1 << 30
    output: int = 4 << 20

    @property
    def wall_seconds(self) -> float:
        """`wall`, or what follows from `cpu`."""
        return 2 * self.cpu + 2 if self.wall is None else self.wall


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one test ended.

    Attributes:
        value: what the function returned (Python types as `values.read` makes them), or the text a script printed.
        detail: the exception or the limit, for a reader; written by the program, so hostile.
    """

    kind: Kind
    value: Any = None
    detail: str = ""
