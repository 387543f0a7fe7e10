"""What the tests of sharding share: a model that shards as told, well or badly, a solver that knows the facts, a browser."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from simulator.repeats import content, coverage
from tasks.nouns import Instance
from tasks.registry import get_task


def instructions() -> list[Instance]:
    """Embedded word problems whose facts are a sentence each, so that their right sharding is known."""
    fit = [one for one in get_task("math").load() if len(sentences(one.instruction)) == len(one.shards) > 3]
    return fit[:6]


def sentences(text: str) -> list[str]:
    return [sentence.rstrip(".?") for sentence in re.split(r"(?<=[.?])\s+", text)]


def right(instance: Instance) -> dict[str, Any]:
    """What a perfect sharder says at each step."""
    pieces = sentences(instance.instruction)
    last = len(pieces)
    worded = [{"piece": (number - 1) or last, "text": shard.text} for number, shard in enumerate(instance.shards, 1)]
    return {
        "pieces": {"pieces": pieces, "request": last},
        "shards": {"shards": worded},
        "coverage": {"complete": True, "missing": ""},
    }


class Sharder:
    """All models behind one server: `sharder` shards each instruction with the habit it is given, `solver` solves.

    Attributes:
        habits: instance id -> function of (step, what a perfect sharder says, number of the try from 0); what it returns is
            said: a text as it is, anything else as JSON.
    """

    def __init__(self, instances: list[Instance]) -> None:
        self.instances = instances
        self.habits: dict[str, Callable[[str, Any, int], Any]] = {}

    def __call__(self, body: Mapping[str, Any]) -> str:
        messages = [str(message["content"]) for message in body["messages"]]
        if body["model"] == "solver":
            return self.solve(messages[-1])
        instance = next(one for one in self.instances if any(one.instruction in message for message in messages[1:]))
        step = (
            "pieces"
            if "smallest pieces" in messages[0]
            else "shards"
            if "numbered pieces" in messages[0]
            else "coverage"
        )
        habit = self.habits.get(instance.id, lambda step, said, tries: said)
        said = habit(step, right(instance)[step], sum("cannot be used yet" in message for message in messages))
        return said if isinstance(said, str) else json.dumps(said)

    def solve(self, asked: str) -> str:
        """Right if it was told everything, in whatever order."""
        told = content(asked)
        instance = next((one for one in self.instances if coverage(content(one.instruction), told) > 0.99), None)
        return f"The answer is {instance.target}." if instance else "The answer is 987654321."


@pytest.fixture
def problems() -> list[Instance]:
    return instructions()


@pytest.fixture
def sharder(server: Any, problems: list[Instance]) -> Sharder:
    """A well-behaved sharder and solver behind the loopback server."""
    server.handler = Sharder(problems)
    return server.handler


# -- a browser ------------------------------------------------------------------------------------------------------------


class Page:
    """A page in a headless Chromium, spoken to over its debugging protocol: clicks and keys are those of a person."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._numbers = socket, itertools.count(1)
        self.problems: list[str] = []

    async def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            told = await self._socket.receive_json(timeout=30)
            if told.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.problems.append(json.dumps(told["params"]))
            if told.get("id") == number:
                assert "error" not in told, told
                return dict(told["result"])

    async def open(self, file: Path, downloads: Path) -> None:
        for domain in ("Page", "Runtime", "Log"):
            await self.send(f"{domain}.enable")
        await self.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
        await self.send("Page.navigate", url=file.as_uri())
        await self.until(f"location.href === {json.dumps(file.as_uri())} && document.readyState === 'complete'")

    async def reload(self) -> None:
        """Returns when the page is there anew: the old one answers for a while after it was told to go."""
        await self.value("window.old = true")
        await self.send("Page.reload")
        await self.until("!window.old && document.readyState === 'complete'")

    async def value(self, script: str) -> Any:
        return (await self.send("Runtime.evaluate", expression=script, returnByValue=True))["result"].get("value")

    async def until(self, script: str) -> None:
        for _ in range(200):
            if await self.value(script):
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"never true: {script}")

    async def click(self, element: str) -> None:
        """Clicks in the middle of an element, given by a script, as a mouse does."""
        middle = f"""(() => {{ const e = {element}; e.scrollIntoView({{block: 'center'}});
            const box = e.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"""
        x, y = await self.value(middle)
        for kind in ("mousePressed", "mouseReleased"):
            await self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def type(self, text: str) -> None:
        await self.send("Input.insertText", text=text)


@contextlib.asynccontextmanager
async def chromium(folder: Path) -> Any:
    command = [
        shutil.which("chromium") or "chromium",
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
    ]
    command += ["--remote-debugging-port=0", f"--user-data-dir={folder}", "--remote-allow-origins=*", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port = folder / "DevToolsActivePort"
        for _ in range(600):
            if port.exists() and port.read_text().strip():
                break
            await asyncio.sleep(0.1)
        address = f"http://127.0.0.1:{port.read_text().split()[0]}/json/list"
        async with aiohttp.ClientSession() as session:
            async with session.get(address) as reply:
                targets = await reply.json(content_type=None)
            page = next(target for target in targets if target["type"] == "page")
            async with session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                yield Page(socket)
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture
def browser(tmp_path: Path) -> Callable[[], Any]:
    """Opens a Chromium; the test is skipped where there is none."""
    if shutil.which("chromium") is None:
        pytest.skip("there is no chromium here")
    return lambda: chromium(tmp_path / "profile")
