"""Calls a second over loopback HTTP: our client beside LangChain's ChatOpenAI, in the same run, against the same server.

The server is a process of its own. Both are given the same conversation and as many calls in flight as each does best
with; the rounds take turns, and the medians are compared.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from simulator.models.model import make_model
from tasks.nouns import Message, Options

_SERVER = Path(__file__).parents[1] / "server" / "loopback.py"
_AIM = 8.0
_ROUNDS = 3
_SYSTEM, _USER = "You are a helpful assistant.", "How many eggs are left if 3 of 16 are eaten for breakfast?"


@contextlib.contextmanager
def serving(*options: str) -> Iterator[str]:
    """The base URL of a loopback server in a process of its own; `options` as on its command line."""
    process = subprocess.Popen([sys.executable, str(_SERVER), *options], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


async def calls_per_second(call: Callable[[], Awaitable[object]], calls: int, in_flight: int) -> float:
    """`calls` calls, `in_flight` of them at a time."""
    left = iter(range(calls))

    async def worker() -> None:
        for _ in left:
            await call()

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(in_flight)))
    return calls / (time.perf_counter() - started)


async def _measure(url: str) -> tuple[float, float]:
    """Medians of (ours, ChatOpenAI's)."""
    model = make_model("openai:assistant", base_url=url)
    asked, options = [Message("system", _SYSTEM), Message("user", _USER)], Options(temperature=1.0, max_tokens=100)
    chat = ChatOpenAI(
        model="assistant",
        base_url=url,
        api_key=SecretStr("none"),
        max_retries=0,
        temperature=1.0,
        max_completion_tokens=100,
    )
    heard = [SystemMessage(_SYSTEM), HumanMessage(_USER)]
    ours, theirs = [], []
    for _ in range(_ROUNDS):
        ours.append(await calls_per_second(lambda: model.call(asked, options), 3000, 64))
        theirs.append(await calls_per_second(lambda: chat.ainvoke(heard), 200, 16))
    await model.close()
    return statistics.median(ours), statistics.median(theirs)


def run() -> list[tuple[str, str, str]]:
    """Rows of (what, value, ratio and aim)."""
    with serving() as url:
        ours, theirs = asyncio.run(_measure(url))
    return [
        (
            "calls/s over loopback HTTP, our client",
            f"{ours:,.0f}",
            f"{ours / theirs:.1f} x ChatOpenAI (aim: {_AIM:g} x)",
        ),
        ("calls/s over loopback HTTP, ChatOpenAI", f"{theirs:,.0f}", ""),
    ]
