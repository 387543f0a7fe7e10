"""Many conversations: over HTTP at 50 ms latency beside ChatOpenAI and a thread pool, many in flight, and a large store.

The server is a process of its own on this machine and plays all parties. `SHARDTALK_BENCH_SCALE` (default 0.05) scales the
sizes: 1 is 200,000 conversations in one store.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from tests.bench.http import serving

ROOT = Path(__file__).parents[2]
SCALE = float(os.environ.get("SHARDTALK_BENCH_SCALE", "0.05"))
LATENCY, SHARDS = 0.05, 6
PARTIES = f"{ROOT / 'tests' / 'server' / 'parties.py'}:speak"
OURS = ("openai:assistant", "openai:user", "openai:judge")
CHAT = ("python:chat:assistant", "python:chat:user", "python:chat:judge")

#: The same engine, with every call through ChatOpenAI.
CHAT_OPENAI = """
from langchain_openai import ChatOpenAI
def chat(name):
    return ChatOpenAI(model=name, base_url={url!r}, api_key="none", max_retries=0)
assistant, user, judge = chat("assistant"), chat("user"), chat("judge")
"""

#: A pool of threads over the `openai` client, one conversation a thread; nothing is kept. `same` makes the calls ours makes;
#: `published` those of the published protocol: user and judge are shown all shards and the whole conversation each time, and
#: an attempt is extracted by a call of its own.
THREAD_POOL = """
import json, sys, time
from concurrent.futures import ThreadPoolExecutor
from openai import OpenAI
client = OpenAI(base_url={url!r}, api_key="none", max_retries=0)
shards = [f"Basket number {{k}} holds {{k}}{{k}} plums." for k in range({shards})]
def call(model, messages):
    return client.chat.completions.create(model=model, messages=messages).choices[0].message.content
def ask(model, text):
    return json.loads(call(model, [{{"role": "user", "content": text}}]))
def same(_):
    messages = [{{"role": "system", "content": "You solve problems."}}]
    for turn, shard in enumerate(shards):
        if turn:
            ask("user", "Untold facts:\\n2: " + shard)
        messages.append({{"role": "user", "content": shard}})
        messages.append({{"role": "assistant", "content": call("assistant", messages)}})
        ask("judge", messages[-1]["content"])
    return {calls}
def published(_):
    calls, messages = 0, [{{"role": "system", "content": "You solve problems."}}]
    for turn, shard in enumerate(shards):
        shown = "".join(f"{{m['role']}}: {{m['content']}}\\n" for m in messages[1:]) + "\\n".join(shards)
        if turn:
            ask("user", RULES + shown + "\\nUntold facts:\\n2: " + shard)
        messages.append({{"role": "user", "content": shard}})
        reply = call("assistant", messages)
        messages.append({{"role": "assistant", "content": reply}})
        quoted = '\\n' + '"' * 3 + reply + '"' * 3
        attempt = ask("judge", RULES + shown + quoted)["response_type"] == "answer_attempt"
        if attempt:
            ask("judge", RULES + shown + quoted)
        calls += 2 + bool(turn) + attempt
    return calls
RULES = "These are the rules you have to keep to in what you say next. " * 40
started = time.perf_counter()
with ThreadPoolExecutor(100) as pool:
    calls = sum(pool.map(globals()[sys.argv[2]], range(int(sys.argv[1]))))
print(time.perf_counter() - started, calls)
"""


def run() -> list[tuple[str, str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        return [*_over_http(place), *_in_flight(place), *_large_store(place)]


# -- over HTTP -------------------------------------------------------------------------------------------------------------


def _over_http(place: Path) -> Iterator[tuple[str, str, str]]:
    n, few = 1000, 200
    _plums(place / "plums.jsonl", n)
    with serving("--latency", str(LATENCY), "--handler", PARTIES) as url:
        (place / "chat.py").write_text(CHAT_OPENAI.format(url=url))
        (place / "pool.py").write_text(THREAD_POOL.format(url=url, shards=SHARDS, calls=3 * SHARDS - 1))
        ours = _simulate(place, n, url, OURS, max_concurrency=400)
        others = {
            "the same engine on ChatOpenAI": _simulate(place, few, url, CHAT, max_concurrency=400),
            "threads over the openai client in two processes, the same calls": _pool(place, 2 * few, "same"),
            "the same threads, the published protocol": _pool(place, 2 * few, "published"),
        }
        steady = {most: _simulate(place, 10 * most, url, OURS, max_concurrency=most).steady for most in (20, 40)}
    what = f"conversations/s at {LATENCY * 1e3:.0f} ms, two workers, durable, {3 * SHARDS - 1} calls each"
    yield (what, f"{ours.conversations:.0f}", f"{ours.calls:,.0f} calls/s")
    for name, other in others.items():
        conversations, calls = ours.conversations / other.conversations, ours.calls / other.calls
        ratio = f"ours {conversations:.1f} × the conversations, {calls:.1f} × the calls; aim 3.5"
        yield (f"… {name}", f"{other.conversations:.0f}", ratio)
    for most, rate in steady.items():
        asked = most / LATENCY
        yield (
            f"calls/s with {most} conversations at once",
            f"{rate:.0f}",
            f"{rate / asked:.2f} of {asked:.0f}; aim 0.9",
        )


class Rates(NamedTuple):
    """Conversations and calls a second after start-up; calls a second in the middle three fifths, when all places are taken."""

    conversations: float
    calls: float
    steady: float = 0.0


def _simulate(place: Path, n: int, url: str, models: tuple[str, str, str], max_concurrency: int) -> Rates:
    assistant, user, judge = models
    command = f"""
import asyncio, time
from pathlib import Path
from simulator.engine import run
from simulator.experiment import Experiment, plan
from simulator.means import Means
from simulator.models.access import Access

at = []
class Clock:
    def planned(self, total, settled): pass
    def called(self, role, reply): at.append(time.perf_counter())
    def stored(self, record): pass

if __name__ == "__main__":
    experiment = Experiment(dataset="plums.jsonl", limit={n}, modes=("sharded",), runs=1, assistant=({assistant!r},),
        user="llm", user_model={user!r}, judge="llm", judge_model={judge!r})
    means = Means(access={{"assistant": Access(base_url={url!r})}}, workers=2, max_concurrency={max_concurrency})
    outcome = asyncio.run(run(plan(experiment), Path({tempfile.mkdtemp(dir=place)!r}), means, Clock()))
    assert outcome.complete, outcome
    seconds, k = time.perf_counter() - at[0], len(at)
    print({n} / seconds, k / seconds, 0.6 * k / (at[int(0.8 * k)] - at[int(0.2 * k)]))
"""
    script = place / "simulate.py"
    script.write_text(command)
    return Rates(*map(float, _python(place, str(script)).split()))


def _pool(place: Path, n: int, protocol: str) -> Rates:
    command = [sys.executable, "pool.py", str(n // 2), protocol]
    both = [subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate()[0].split() for process in both]
    seconds = max(float(taken) for taken, _ in said)
    return Rates(n / seconds, sum(int(calls) for _, calls in said) / seconds)


# -- many in flight, large stores ----------------------------------------------------------------------------------------------


def _in_flight(place: Path) -> Iterator[tuple[str, str, str]]:
    """2,000 conversations, each waiting for a reply at the same time."""
    script = """
import asyncio, resource
from pathlib import Path
from simulator.engine import run
from simulator.experiment import Experiment, plan
from simulator.means import Means
from simulator.models.fake import FakeModel

async def slowly(messages, options):
    await asyncio.sleep(5)
    return "Which one?"

experiment = Experiment(dataset="plums.jsonl", limit=400, modes=("sharded",), runs=5, assistant=("a",))
model = FakeModel(slowly, "a")
means = Means(models={"a": model}, max_concurrency=2000)
async def main():
    task = asyncio.create_task(run(plan(experiment), Path("flight"), means))
    while model.calls < 2000:
        await asyncio.sleep(0.1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
import simulator.limits
simulator.limits.START = 2000
asyncio.run(main())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
    yield ("2,000 conversations in flight", f"{float(_python(place, '-c', script)):.0f} MB", "aim: under 600 MB")


LARGE = """
import asyncio, resource, sys
from pathlib import Path
from simulator.engine import run
from simulator.experiment import Experiment, plan
from simulator.means import Means
from simulator.models.fake import FakeModel
n = int(sys.argv[1])
experiment = Experiment(dataset="plums.jsonl", limit=100, modes=("full",), runs=n // 100, assistant=("a",))
text = "Let me think about what you asked for. " * 60
means = Means(models={"a": FakeModel(lambda m, o: text, "a")})
outcome = asyncio.run(run(plan(experiment), Path(sys.argv[2]), means))
assert outcome.complete
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def _large_store(place: Path) -> Iterator[tuple[str, str, str]]:
    large, small = int(200_000 * SCALE), int(20_000 * SCALE)
    started = time.perf_counter()
    peak = float(_python(place, "-c", LARGE, str(large), "large"))
    seconds = time.perf_counter() - started
    before = float(_python(place, "-c", LARGE, str(small), "small"))
    yield (
        f"peak memory of {large:,} conversations in one run",
        f"{peak:.0f} MB",
        f"{peak / before:.2f} × that of {small:,}; aim 1.1",
    )
    yield (f"the same run, FULL, durable, {large / seconds:.0f} conversations/s", f"{seconds:.0f} s", "")
    command = [sys.executable, "-m", "simulator", "status", "large"]
    yield (
        "status of that store",
        f"{_seconds(place, command) - _seconds(place, [sys.executable, '-m', 'simulator']):.2f} s",
        "aim 1 s",
    )
    again = _seconds(place, [sys.executable, "-c", LARGE, str(large), "large"])
    yield ("the same run again, with nothing owed", f"{again:.1f} s", "aim 3 s for 200,000 until the first call")


# -- parts ----------------------------------------------------------------------------------------------------


def _plums(file: Path, n: int) -> None:
    """Instances of which each has texts of its own."""

    def row(i: int) -> dict[str, object]:
        facts = [{"id": k, "text": f"Basket number {k} of row {i} holds {i}{k} plums."} for k in range(2, SHARDS + 1)]
        shards = [{"id": 1, "text": f"How many plums are there in row {i}?"}, *facts]
        text = " ".join(str(shard["text"]) for shard in shards)
        return {"id": f"p{i}", "task": "math", "shards": shards, "instruction": text, "target": "5"}

    file.write_bytes(b"".join(msgspec.json.encode(row(i)) + b"\n" for i in range(n)))


def _python(place: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{place}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _seconds(place: Path, command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, cwd=place, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False)
    return time.perf_counter() - started
