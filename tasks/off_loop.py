"""Work on a model's text that must not hold up other conversations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

#: Characters of text on which work takes a few milliseconds; below that a thread costs more than it saves.
_LONG = 8_000


async def off_loop(work: Callable[Concatenate[str, P], T], text: str, *rest: P.args, **more: P.kwargs) -> T:
    """`work(text, …)`, in a thread of its own when the text is long (no answer is, but what models write is not bounded)."""
    if len(text) < _LONG:
        return work(text, *rest, **more)
    return await asyncio.to_thread(work, text, *rest, **more)
