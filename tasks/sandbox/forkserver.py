"""`ForkServer`: one warm process behind the walls, seen from the host; started, spoken to, ended."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import subprocess
import tempfile
from importlib import resources

from tasks.sandbox.inside.plan import Plan

_PACKAGE = "tasks.sandbox.inside"
_LAUNCHING = ("plan", "kernel", "launch")
_SERVING = ("plan", "kernel", "candidate", "warden", "forkserver")

#: Reads modules and plan from a descriptor: nothing of ours has to be a file inside the sandbox.
_BOOT = f"""
import json, os, socket, sys, types
step, control, given = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
payload = json.loads(os.pread(given, os.fstat(given).st_size, 0))
for name, source in payload[step]:
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(source, name, "exec"), module.__dict__)
from {_PACKAGE}.plan import Plan
plan = Plan(**payload["plan"])
if step == "launch":
    command = [*plan.python, "-c", sys.argv[4], "serve", *sys.argv[2:4], ""]
    sys.modules["{_PACKAGE}.launch"].launch(plan, command)
else:
    os.close(given)
    sys.modules["{_PACKAGE}.forkserver"].serve(plan, socket.socket(fileno=control))
"""


class ForkServer:
    """Started at once, ready soon after: what is sent before it is ready waits in the socket.

    Attributes:
        busy: how many evaluations it has in hand.
    """

    def __init__(self, plan: Plan) -> None:
        self.busy = 0
        self._control, theirs = socket.socketpair()
        self._control.setblocking(False)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        with theirs, tempfile.TemporaryFile() as payload:
            payload.write(_payload(plan))
            payload.flush()
            passed = (theirs.fileno(), payload.fileno())
            self._process = subprocess.Popen(
                [*plan.python, "-c", _BOOT, "launch", *map(str, passed), _BOOT],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=passed,
                env={"PYTHONHASHSEED": "0"},  # the order of a set does not change from run to run
                cwd="/",
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        """It has not ended yet."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Of the outermost process, in the host's process namespace."""
        return self._process.pid

    def complaint(self) -> str:
        """The last line it wrote to standard error."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    async def evaluate(self, request: bytes, seconds: float) -> bytes:
        """What a fresh warden answers; empty or cut off where it or the server died or took longer than it may."""
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        reply = bytearray()
        self.busy += 1
        try:
            with theirs:
                socket.send_fds(self._control, [b"."], [theirs.fileno()])
            ours.setblocking(False)
            async with asyncio.timeout(seconds):
                await loop.sock_sendall(ours, struct.pack("!I", len(request)) + request)
                while data := await loop.sock_recv(ours, 1 << 18):
                    reply += data
        except ConnectionError:
            pass  # the reply is incomplete, which is what the caller looks at
        except (TimeoutError, BlockingIOError):
            self._process.kill()  # it takes nothing any more, or its warden should have answered by now
        finally:
            self.busy -= 1
            ours.close()  # hanging up ends the evaluation where it has not ended
        return bytes(reply)

    async def may_be_dying(self) -> None:
        """Gives a process that was killed the moment it needs until it counts as dead."""
        for _ in range(50):
            if not self.alive:
                return
            await asyncio.sleep(0.01)

    def hang_up(self) -> None:
        """Tells it to end, and all it runs with it."""
        self._control.close()

    def end(self) -> None:
        """Hangs up and waits; none of its processes is left afterwards."""
        self.hang_up()
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()


def _payload(plan: Plan) -> bytes:
    folder = resources.files(_PACKAGE)

    def sources(names: tuple[str, ...]) -> list[tuple[str, str]]:
        return [(f"{_PACKAGE}.{name}", (folder / f"{name}.py").read_text(encoding="utf-8")) for name in names]

    return json.dumps({"plan": plan._asdict(), "launch": sources(_LAUNCHING), "serve": sources(_SERVING)}).encode()
