"""Runs a model's program and says what came out. The only module that shares a process with a model's text.

Whatever happens here is believed by nobody: the process is locked down before the text is compiled, it knows inputs but no
expected values, and each line it writes is a claim about one test that the host compares with the truth.

A line is a JSON list: `["loaded"]` or the failure to load, then one line a test: `["value", …]`, `["ended"]` (a program that
reads standard input), `["raised", text]` or `["memory", text]`.
"""

from __future__ import annotations

import bisect
import builtins
import collections
import contextlib
import copy
import functools
import heapq
import importlib
import itertools
import json
import math
import operator
import os
import re
import resource
import string
import sys
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

from tasks.sandbox.inside.kernel import die_with_parent, drop_capabilities, filter_syscalls
from tasks.sandbox.inside.plan import Plan

_FILE = "<program>"
_RECURSION = 50_000  # as the judge of the published tests has it
_PROCESSES = 32  # the program, its warden and their threads
_OPEN_FILES = 64
_FILE_BYTES = 16 << 20
_DECIMAL_BITS = 8192  # longer integers are written in base 16: Python refuses decimals beyond 4300 digits
_DEEPEST = 200  # lists within lists

_OPEN_MODULES = (typing, math, itertools, functools, heapq, bisect, collections)  # later ones win
_MODULES = (*_OPEN_MODULES, copy, json, operator, os, re, string, sys)
_MODULES_IF_NAMED = ("datetime", "decimal", "enum", "fractions", "random", "statistics")  # slow to fork with


def _public(module: types.ModuleType) -> Iterator[str]:
    names: list[str] = getattr(module, "__all__", None) or [name for name in dir(module) if name[0] != "_"]
    return (name for name in names if not hasattr(builtins, name))


#: What a program finds without importing it, as on the sites the published tests come from: common modules, and the public
#: names of a few, except where they would hide a builtin.
PRELUDE: dict[str, Any] = {name: getattr(module, name) for module in _OPEN_MODULES for name in _public(module)} | {
    module.__name__: module for module in _MODULES
}


# -- the process ------------------------------------------------------------------------------------------------------


def lock_down(plan: Plan, memory: int, seconds: int) -> None:
    """Limits first, then capabilities, then system calls: from here on nothing can be widened again."""
    limits = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: seconds,  # only a net below the warden's clock
        resource.RLIMIT_FSIZE: _FILE_BYTES,
        resource.RLIMIT_NOFILE: _OPEN_FILES,
        resource.RLIMIT_CORE: 0,
    }
    if plan.namespaces:  # elsewhere it would count everything else this user runs
        limits[resource.RLIMIT_NPROC] = _PROCESSES
    for limit, value in limits.items():
        resource.setrlimit(limit, (value, value))
    die_with_parent()
    drop_capabilities()
    if plan.syscall_filter:
        filter_syscalls(bytes.fromhex(plan.syscall_filter))


# -- the program ------------------------------------------------------------------------------------------------------


def run(program: dict[str, Any], tests: list[dict[str, Any]], write: Callable[[str], None]) -> None:
    """Loads the program and passes it through the tests, in order; one `write` for loading and one for each test."""
    os.environ.clear()
    sys.argv[:] = [_FILE]
    sys.setrecursionlimit(_RECURSION)
    if program["entry"] is None:
        write(_line(lambda: ["loaded"]))
        write(_line(lambda: _run_as_script(program)))
        return
    module = types.ModuleType("program")
    loaded = _line(lambda: _load(program, module))
    write(loaded)
    if loaded != _line(lambda: ["loaded"]):
        return
    for test in tests:
        write(_line(lambda args=test["args"]: ["value", _plain(_call(module, program["entry"], args))]))  # type: ignore[misc]


def _line(action: Callable[[], list[Any]]) -> str:
    """What an action gave, or how it failed."""
    try:
        return json.dumps(action())
    except MemoryError:
        return json.dumps(["memory", "more than the program may have"])
    except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt are failures of the program as well
        return json.dumps(["raised", _describe(error)])


def _describe(error: BaseException) -> str:
    try:
        text = f"{type(error).__name__}: {error}"[:500]
    except BaseException:  # noqa: BLE001 - the text of an exception is the model's code too
        text = "an exception that cannot be printed"
    lines, trace = [], error.__traceback__
    while trace:
        lines += [trace.tb_lineno] if trace.tb_frame.f_code.co_filename == _FILE else []
        trace = trace.tb_next
    return f"{text} (line {lines[-1]})" if lines else text


def _load(program: dict[str, Any], module: types.ModuleType) -> list[Any]:
    sys.modules[module.__name__] = module  # dataclasses, pickle and typing look themselves up
    module.__dict__.update(PRELUDE)
    named = [name for name in _MODULES_IF_NAMED if name in program["preamble"] + program["code"]]
    module.__dict__.update((name, importlib.import_module(name)) for name in named)
    if "random" in named:
        module.random.seed(0)  # a program's luck does not change from run to run
    for text in (program["preamble"], program["code"]):
        exec(compile(text, _FILE, "exec", dont_inherit=True), module.__dict__)
    return ["loaded"]


def _call(module: types.ModuleType, entry: str, args: list[Any]) -> Any:
    """Calls `function` or, on a fresh object, `Class.method`; a coroutine is run to its end."""
    *owner, name = entry.split(".")
    place: Any = getattr(module, owner[0])() if owner else module
    result = getattr(place, name)(*args)
    if isinstance(result, types.CoroutineType):
        import asyncio

        return asyncio.run(result)
    return result


def _run_as_script(program: dict[str, Any]) -> list[Any]:
    """As `python program.py` would: the name is `__main__`, exiting is a regular end, threads are waited for."""
    with contextlib.suppress(SystemExit):
        _load(program, types.ModuleType("__main__"))
    if threading := sys.modules.get("threading"):
        for thread in set(threading.enumerate()) - {threading.main_thread()}:
            if not thread.daemon:
                thread.join()
    sys.stdout.flush()
    return ["ended"]


# -- values -----------------------------------------------------------------------------------------------------------


def _plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON that keeps its Python type; `tasks/sandbox/values.py` reads it.

    None, truth values, numbers and texts stand for themselves (a subclass for its plain value, whatever its methods say);
    all else is a list that starts with a mark.
    """
    if depth > _DEEPEST:
        raise ValueError(f"the value is nested more than {_DEEPEST} deep")
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        number = int.__index__(value)
        return number if number.bit_length() <= _DECIMAL_BITS else ["int", hex(number)]
    if isinstance(value, float):
        real = float.__pos__(value)
        return real if math.isfinite(real) else ["float", repr(real)]
    if isinstance(value, dict):
        return ["dict", *([_plain(key, depth + 1), _plain(item, depth + 1)] for key, item in dict.items(value))]
    for kind, mark in ((list, "list"), (tuple, "tuple"), (set | frozenset, "set")):
        if isinstance(value, kind):
            return [mark, *(_plain(item, depth + 1) for item in value)]
    return ["other", type(value).__name__[:80]]
