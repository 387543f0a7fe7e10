"""First process of an evaluation: starts the candidate, watches the clock, collects what it claims, ends everything.

Trusted, unlike what it watches: it parses the host's request, but of the candidate's bytes it only counts the line ends.
Inside a process namespace it cannot be signalled or traced by the candidate (it keeps capabilities the candidate lost), and
its own end is the end of every process there.

The protocol with the host: a length (4 bytes, network order) and a JSON request; back comes one JSON list a line, one line a
test, then the end of the stream. The host hanging up means stop. Seconds hold for loading and for each test; once something
has gone wrong, all the remaining tests together get as much as one.
"""

from __future__ import annotations

import json
import math
import os
import select
import signal
import socket
import struct
import time
from typing import Any, NamedTuple, NoReturn

from tasks.sandbox.inside.candidate import lock_down, run
from tasks.sandbox.inside.kernel import cpu_seconds
from tasks.sandbox.inside.plan import Plan

_LOADED = b'["loaded"]'
_CLAIMS = 3  # the candidate's descriptor for what it claims


class Allowance(NamedTuple):
    """What an evaluation may use: seconds of CPU and of wall time a step, bytes of memory, bytes of output."""

    cpu: float
    wall: float
    memory: int
    output: int


def guard(connection: int, plan: Plan) -> None:
    """Serves one request and returns; the caller ends the process, and with it whatever is left."""
    with socket.socket(fileno=connection) as host:
        length = struct.unpack("!I", host.recv(4, socket.MSG_WAITALL))[0]
        request = json.loads(host.recv(length, socket.MSG_WAITALL))
        evaluation = Evaluation(plan, host, request["program"], request["tests"], Allowance(**request["allowance"]))
        host.sendall(b"".join(line + b"\n" for line in evaluation.results()))


class Evaluation:
    """One program and its tests."""

    def __init__(
        self,
        plan: Plan,
        host: socket.socket,
        program: dict[str, Any],
        tests: list[dict[str, Any]],
        allowance: Allowance,
    ) -> None:
        self.plan, self.host, self.program, self.tests, self.allowance = plan, host, program, tests, allowance
        self.is_script = program["entry"] is None
        self.troubled = False
        self.cpu, self.wall, self.output = allowance.cpu, allowance.wall, allowance.output

    def results(self) -> list[bytes]:
        """One line a test."""
        done: list[bytes] = []
        while len(done) < len(self.tests):
            if min(self.cpu, self.wall) <= 0:
                done += [b'["not_run"]'] * (len(self.tests) - len(done))
            else:
                done += self._run_from(len(done))
        return done

    def _run_from(self, first: int) -> list[bytes]:
        """Runs a fresh candidate: all tests from `first` on, or this one if each needs a process of its own."""
        tests = self.tests[first : first + 1] if self.is_script else self.tests[first:]
        child = self._start(tests)
        child.watch(self.cpu, self.wall, steps=1 if self.troubled else 1 + len(tests))
        self.output -= child.written
        if self.troubled:
            self.cpu, self.wall = self.cpu - child.used_cpu, self.wall - child.used_wall
        loaded, *lines = child.lines or [child.end]
        if loaded != _LOADED:
            return [loaded] * (len(self.tests) - first)
        if self.is_script and lines == [b'["ended"]']:
            lines = [json.dumps(["printed", child.printed.decode(errors="replace")]).encode()]
        if len(lines) < len(tests):
            self.troubled = True
            lines.append(child.end)
        return lines[: len(tests)]

    def _start(self, tests: list[dict[str, Any]]) -> Candidate:
        claims, printed = os.pipe(), os.pipe()
        given = os.memfd_create("stdin") if self.is_script else os.dup(0)
        if self.is_script:
            with open(given, "wb", closefd=False) as file:
                file.write(tests[0]["stdin"].encode())
            os.lseek(given, 0, os.SEEK_SET)
        pid = os.fork()
        if not pid:
            self._become_candidate(given, printed[1] if self.is_script else 1, claims[1], tests)
        for descriptor in (given, claims[1], printed[1]):
            os.close(descriptor)
        return Candidate(pid, claims[0], printed[0], self.host, self.output)

    def _become_candidate(self, given: int, printed: int, claims: int, tests: list[dict[str, Any]]) -> NoReturn:
        """Keeps four descriptors (in, out, nowhere, claims) and runs the model's text."""
        code = 70
        try:
            os.dup2(1, 2)  # descriptor 1 leads to /dev/null
            os.dup2(given, 0)
            os.dup2(printed, 1)
            os.dup2(claims, _CLAIMS)
            os.closerange(_CLAIMS + 1, 1 << 20)
            seconds = math.ceil(self.allowance.cpu * (len(tests) + 1)) + 1
            lock_down(self.plan, self.allowance.memory, seconds)
            run(self.program, tests, _claim)
            code = 0
        finally:
            os._exit(code)


def _claim(line: str) -> None:
    data = line.encode() + b"\n"
    while data:
        data = data[os.write(_CLAIMS, data) :]


class Candidate:
    """The process that runs the model's text, seen from outside.

    Attributes:
        end: how it ended, as a line; empty while it runs.
        used_cpu, used_wall: seconds.
    """

    def __init__(self, pid: int, claims: int, printed: int, host: socket.socket, most: int) -> None:
        self.pid, self.host, self.most = pid, host.fileno(), most
        self.handle = os.pidfd_open(pid)
        self.claims, self.output = claims, printed
        self.streams = {claims: bytearray(), printed: bytearray()}
        self.poller = select.poll()
        for readable in (self.handle, claims, printed):
            self.poller.register(readable, select.POLLIN)
        self.poller.register(self.host, 0)  # a hang-up is always told
        self.claimed = 0
        self.end = b""
        self.used_cpu = self.used_wall = 0.0

    @property
    def lines(self) -> list[bytes]:
        """What it has claimed."""
        return bytes(self.streams[self.claims]).split(b"\n")[:-1]

    @property
    def printed(self) -> bytes:
        """What a script wrote to standard output."""
        return bytes(self.streams[self.output])

    @property
    def written(self) -> int:
        """Bytes, on both streams."""
        return sum(map(len, self.streams.values()))

    def watch(self, cpu: float, wall: float, steps: int) -> None:
        """Returns when the process has ended, by itself or by us. Each line ends a step and starts the clocks again, but
        only for so many steps: more lines buy no time."""
        began = step_wall = time.monotonic()
        step_cpu, claimed = 0.0, 0
        while not self.end:
            self.used_cpu, now = cpu_seconds(self.pid), time.monotonic()
            if claimed < self.claimed < steps:
                claimed, step_cpu, step_wall = self.claimed, self.used_cpu, now
            left = min(cpu - (self.used_cpu - step_cpu), wall - (now - step_wall))
            if left <= 0:
                self._kill(["timed_out", f"more than {cpu:g} s of CPU time or {wall:g} s in all"])
                break
            for descriptor, _ in self.poller.poll(math.ceil(left * 1000)):
                self._notice(descriptor)
        self.used_wall = time.monotonic() - began
        for descriptor in (self.handle, self.claims, self.output):
            os.close(descriptor)

    def _notice(self, descriptor: int) -> None:
        if self.end:
            return
        if descriptor == self.handle:
            self._ended()
        elif descriptor == self.host:
            os._exit(0)  # nobody wants to know any more; everything goes with this process
        elif not self._read(descriptor):
            self.poller.unregister(descriptor)

    def _read(self, descriptor: int) -> bool:
        """Takes what is there; False at the end of the stream."""
        data = os.read(descriptor, 1 << 16)
        stream = self.streams[descriptor]
        stream += data
        self.claimed += data.count(b"\n") if descriptor == self.claims else 0
        if self.written > self.most and not self.end:
            self._kill(["raised", f"more than {self.most} bytes of output"])
        return bool(data)

    def _ended(self) -> None:
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if code == -signal.SIGKILL:
            self._say(["memory", "killed by the kernel"])
        else:
            how = f"ended with exit code {code}" if code >= 0 else f"was killed by signal {-code}"
            self._say(["raised", f"the program {how} before it answered"])
        for descriptor in self.streams:
            self._drain(descriptor)

    def _drain(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)  # where processes are not counted, one of them may still hold the other end
        try:
            while self.written <= self.most and self._read(descriptor):
                pass
        except BlockingIOError:
            pass

    def _kill(self, end: list[str]) -> None:
        self._say(end)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def _say(self, end: list[str]) -> None:
        self.end = json.dumps(end).encode()
