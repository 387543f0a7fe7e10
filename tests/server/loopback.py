"""An OpenAI-compatible server on this machine that answers as told and misbehaves as told.

In tests it runs in a thread (fixture `server`); for benches in a process of its own:

    python tests/server/loopback.py --port 0 --latency 0.05 --fault reset=0.02 --fault rate_limited=0.02

It prints its base URL on the first line and serves until it is terminated. Plain asyncio streams of bytes, no framework:
several thousand requests a second, and a connection can be cut anywhere.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import runpy
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from functools import partial
from typing import Any, TypeAlias

import msgspec

Body: TypeAlias = dict[str, Any]
#: Turns the body of a request into what is said: a text, or the fields of an assistant message.
Handler: TypeAlias = Callable[[Body], "str | Mapping[str, Any]"]


# -- how a request is answered ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """One way to answer. By default: what the handler says, as a well-formed completion.

    Attributes:
        body: sent instead of a completion (a dict goes as JSON). `message`, `choice`, `completion`: fields that replace
            those of the completion; None removes `usage` and the like.
        delay: seconds before anything is sent. `drip`: seconds over which the body is spread.
        cut: share of the whole answer after which the connection is cut; None sends all.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | Body | None = None
    message: Mapping[str, Any] = field(default_factory=dict)
    choice: Mapping[str, Any] = field(default_factory=dict)
    completion: Mapping[str, Any] = field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0
    cut: float | None = None


def error(status: int, message: str, headers: Mapping[str, str] | None = None, **fields: Any) -> Answer:
    """An error as OpenAI words it."""
    return Answer(status=status, headers=headers or {}, body={"error": {"message": message, **fields}})


def rate_limited(after: str | None = None) -> Answer:
    """A 429, with `Retry-After` where one is given (seconds, an HTTP date or an epoch, as text)."""
    headers = {} if after is None else {"Retry-After": after}
    return error(429, "Rate limit reached", headers, code="rate_limit_exceeded", type="requests")


#: Every way to fail, by name; what depends on the clock is made at the moment it is sent.
FAULTS: dict[str, Callable[[], Answer]] = {
    "rate_limited": rate_limited,
    "rate_limited_seconds": lambda: rate_limited("1"),
    "rate_limited_date": lambda: rate_limited(formatdate(time.time() + 1, usegmt=True)),
    "quota": lambda: error(429, "You exceeded your current quota", code="insufficient_quota"),
    "server_error": lambda: error(500, "The server had an error"),
    "unavailable": lambda: Answer(status=503, body=b"<html>upstream unavailable</html>"),
    "bad_key": lambda: error(401, "Incorrect API key provided", code="invalid_api_key"),
    "missing_model": lambda: error(404, "The model does not exist", code="model_not_found"),
    "bad_request": lambda: error(400, "messages: field required", type="invalid_request_error"),
    "context_exceeded": lambda: error(400, "Too long", code="context_length_exceeded"),
    "reset": lambda: Answer(cut=0.0),
    "half_body": lambda: Answer(cut=0.6),
    "invalid_json": lambda: Answer(body=b'{"choices": [{"message": {"content": "twelve'),
    "wrong_type": lambda: Answer(body=b"<html>hello</html>", headers={"Content-Type": "text/html"}),
    "no_choices": lambda: Answer(body={"choices": []}),
    "empty": lambda: Answer(message={"content": ""}),
    "null": lambda: Answer(message={"content": None}),
    "refusal": lambda: Answer(message={"content": None, "refusal": "I can't help with that."}),
    "filtered_prompt": lambda: error(400, "The response was filtered", code="content_filter", param="prompt"),
    "filtered_reply": lambda: Answer(message={"content": None}, choice={"finish_reason": "content_filter"}),
    "cut_short": lambda: Answer(choice={"finish_reason": "length"}),
    "no_usage": lambda: Answer(completion={"usage": None}),
    "slow_drip": lambda: Answer(drip=0.5),
    "late": lambda: Answer(delay=0.5),
}

#: Answers for the next requests in order (then none is special), or a function of (number of the request from 0, body).
Plan: TypeAlias = Sequence[Answer | None] | Callable[[int, Body], Answer | None]


def random_faults(shares: Mapping[str, float], seed: int = 0) -> Callable[[int, Body], Answer | None]:
    """A plan in which each request fails in one of the named ways with its share as probability."""
    names = [*shares, ""]
    weights = [*shares.values(), 1.0 - sum(shares.values())]

    def plan(number: int, body: Body) -> Answer | None:
        name = random.Random(f"{seed}/{number}").choices(names, weights)[0]
        return FAULTS[name]() if name else None

    return plan


# -- what is said ---------------------------------------------------------------------------------------------------------


def by_role(body: Body) -> str | Mapping[str, Any]:
    """Answers as `user…`, `judge…` or anything else (the assistant), told by the name of the model."""
    role = next((role for role in ROLES if str(body["model"]).startswith(role)), "assistant")
    return ROLES[role](body)


def fill(schema: Mapping[str, Any]) -> Any:
    """The plainest value that follows a JSON schema."""
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return fill(schema["anyOf"][0])
    kind = schema.get("type", "object")
    if kind == "object":
        return {name: fill(part) for name, part in schema.get("properties", {}).items()}
    return {"string": "text", "integer": 1, "number": 1.0, "boolean": True, "array": []}.get(kind)


def _structured(body: Body) -> str:
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    return msgspec.json.encode(fill(schema)).decode() if schema else "The answer is 42."


ROLES: dict[str, Handler] = {"user": _structured, "judge": _structured, "assistant": _structured}


# -- the server -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    body: Body


class Loopback:
    """The server. `handler`, `plan` and `latency` may be changed while it runs.

    Attributes:
        url: the base URL, once started. `requests`: the latest ones. `count`: all so far, `models` by model name.
        open, most_open: requests being answered now, and at most.
        connections: how many connections were ever made.
    """

    def __init__(
        self, handler: Handler = by_role, plan: Plan = (), latency: float = 0.0, remember: int = 10_000
    ) -> None:
        self.handler, self.latency = handler, latency
        self.requests: deque[Request] = deque(maxlen=remember)
        self.models: Counter[str] = Counter()
        self.url = ""
        self.count = self.open = self.most_open = self.connections = 0
        self._live: set[asyncio.Transport] = set()
        self._planned_from = 0
        self._plan: Plan = plan

    @property
    def plan(self) -> Plan:
        return self._plan

    @plan.setter
    def plan(self, plan: Plan) -> None:
        """A list starts with the next request."""
        self._plan, self._planned_from = plan, self.count

    async def start(self, port: int = 0) -> None:
        """Listens on 127.0.0.1; port 0 takes a free one."""
        self._server = await asyncio.get_running_loop().create_server(partial(_Connection, self), "127.0.0.1", port)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def stop(self) -> None:
        """Stops listening and cuts what is open."""
        self._server.close()
        for transport in list(self._live):
            transport.abort()
        await self._server.wait_closed()

    def answer(self, request: Request) -> tuple[Answer, bytes]:
        """How one request is answered: its plan, and the whole answer as bytes."""
        answer = self._planned(request.body) or Answer()
        self.requests.append(request)
        self.models[str(request.body.get("model"))] += 1
        self.count += 1
        content = answer.body if answer.body is not None else self._completion(answer, request.body)
        raw = content if isinstance(content, bytes) else msgspec.json.encode(content)
        return replace(answer, delay=answer.delay + self.latency), _http(answer, raw)

    def _planned(self, body: Body) -> Answer | None:
        number = self.count - self._planned_from
        if callable(self._plan):
            return self._plan(number, body)
        return self._plan[number] if number < len(self._plan) else None

    def _completion(self, answer: Answer, body: Body) -> Body:
        said = self.handler(body)
        message = {"role": "assistant", **({"content": said} if isinstance(said, str) else said), **answer.message}
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish, **answer.choice}
        asked = sum(len(str(m.get("content"))) for m in body.get("messages", ())) // 4
        told = len(str(message.get("content") or "")) // 4
        usage = {"prompt_tokens": asked, "completion_tokens": told, "total_tokens": asked + told}
        whole = {"id": f"chat-{self.count}", "object": "chat.completion", "created": 0, "model": body.get("model")}
        whole |= {"choices": [choice], "usage": {**usage, "prompt_tokens_details": None}, **answer.completion}
        return {key: value for key, value in whole.items() if value is not None}


def _http(answer: Answer, raw: bytes) -> bytes:
    headers = {"Content-Type": "application/json", **answer.headers, "Content-Length": str(len(raw))}
    head = f"HTTP/1.1 {answer.status} Told\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return head.encode() + b"\r\n" + raw


class _Connection(asyncio.Protocol):
    """One keep-alive connection; requests come one after the other."""

    def __init__(self, server: Loopback) -> None:
        self.server = server
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.server.connections += 1
        self.server._live.add(transport)

    def connection_lost(self, problem: Exception | None) -> None:
        self.server._live.discard(self.transport)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, rest = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", 0))
        if len(rest) < length:
            return
        self.buffer = rest[length:]
        path = first.split(" ")[1]
        body = msgspec.json.decode(rest[:length]) if length else {}
        self._reply(*self.server.answer(Request(path, headers, body)))

    def _reply(self, answer: Answer, whole: bytes) -> None:
        self.server.open += 1
        self.server.most_open = max(self.server.most_open, self.server.open)
        if not answer.delay:
            self._send(answer, whole)
        else:
            asyncio.get_running_loop().call_later(answer.delay, self._send, answer, whole)

    def _send(self, answer: Answer, whole: bytes) -> None:
        self.server.open -= 1
        if self.transport.is_closing():
            return
        if answer.cut is not None:
            self._cut(whole[: int(len(whole) * answer.cut)])
        elif answer.drip:
            self._drip(whole, answer.drip)
        else:
            self.transport.write(whole)

    def _cut(self, part: bytes) -> None:
        """A part, then a clean end of the connection; nothing at all is a reset."""
        if part:
            self.transport.write(part)
            self.transport.close()
        else:
            self.transport.abort()

    def _drip(self, whole: bytes, seconds: float, steps: int = 10) -> None:
        size = -(-len(whole) // steps)
        loop = asyncio.get_running_loop()
        for i in range(steps):
            loop.call_later(seconds * i / steps, self.transport.write, whole[i * size : (i + 1) * size])


class Threaded:
    """Runs a server in a thread with a loop of its own, until the `with` block ends."""

    def __init__(self, server: Loopback) -> None:
        self.server = server
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="loopback", daemon=True)

    def __enter__(self) -> Loopback:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.server.start(), self._loop).result(10)
        return self.server

    def __exit__(self, *exception: object) -> None:
        asyncio.run_coroutine_threadsafe(self.server.stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


# -- in a process of its own -----------------------------------------------------------------------------------------------


def _handler(place: str) -> Handler:
    """`FILE.py:NAME`."""
    file, _, name = place.rpartition(":")
    handler: Handler = runpy.run_path(file)[name]
    return handler


def _share(text: str) -> tuple[str, float]:
    name, _, share = text.partition("=")
    if name not in FAULTS:
        raise argparse.ArgumentTypeError(f"no fault {name!r}; there are {', '.join(FAULTS)}")
    return name, float(share)


async def _serve(options: argparse.Namespace) -> None:
    plan = random_faults(dict(options.fault), options.seed) if options.fault else ()
    server = Loopback(options.handler, plan, options.latency, remember=0)
    await server.start(options.port)
    print(server.url, flush=True)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
    await server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description="An OpenAI-compatible server that answers and misbehaves as told.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument(
        "--fault", type=_share, action="append", default=[], metavar="NAME=SHARE", help="may be repeated"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the faults")
    parser.add_argument("--handler", type=_handler, default=by_role, metavar="FILE.py:NAME", help="what is said")
    asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
