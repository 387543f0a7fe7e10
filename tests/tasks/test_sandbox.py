"""The sandbox as a task uses it, and an attack suite: each program tries one thing, and nothing outside has changed.

Every attack runs at every level this machine reaches; case ids (SB-…) are those of the shared cases. What the host does
around programs (opening, closing, dying) is in `test_sandbox_host.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import pytest_asyncio

from tasks.sandbox import (
    Call,
    Feed,
    Isolation,
    IsolationRefused,
    Limits,
    Outcome,
    Program,
    Sandbox,
    host,
    isolation,
)

ROOT = Path(__file__).parents[2]
ADD = Program(code="def add(a, b):\n    return a + b", entry="add")
QUICK = Limits(cpu=2.0, wall=30.0)
WALLED = [Isolation.BUBBLEWRAP, Isolation.NAMESPACES, Isolation.LANDLOCK]
UNREADABLE = Outcome("raised", detail="the program wrote an unreadable result")

real_plan = isolation.plan


def only(level: Isolation) -> Callable[[Isolation, int], isolation.Plan]:
    """A machine on which no other level can be had."""

    def plan(asked: Isolation, number: int) -> isolation.Plan:
        if asked is not level:
            raise isolation.Unavailable("not in this test")
        return real_plan(asked, number)

    return plan


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=WALLED, ids=lambda level: level.label)
async def sandbox(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    """One sandbox a level, for all attacks, so that each also shows that those before it left no trace."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHARDTALK_TEST_SECRET", "secret")
        patch.setattr(host, "plan", only(request.param))
        sandbox = Sandbox(request.param, servers=1)
        try:
            await sandbox.open()
        except IsolationRefused as refusal:
            pytest.skip(str(refusal.got))
        yield sandbox
        await sandbox.aclose()


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A folder anybody may write to, with a file anybody may write to; afterwards nothing in it has changed."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o777)
    file = tmp_path / "file"
    file.write_text("untouched")
    file.chmod(0o666)
    before = file.stat()
    yield tmp_path
    after = file.stat()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert file.read_text() == "untouched"
    assert (after.st_mode, after.st_uid, after.st_mtime_ns) == (before.st_mode, before.st_uid, before.st_mtime_ns)


async def attack(sandbox: Sandbox, code: str, *args: Any, limits: Limits = QUICK) -> Outcome:
    """Runs `attack(*args)` of a program, then shows that the sandbox still works for others."""
    (outcome,) = await sandbox.run(Program(code=dedent(code), entry="attack"), [Call(args)], limits)
    assert await sandbox.run(ADD, [Call((2, 3))]) == [Outcome("value", 5)]
    return outcome


async def only_servers_are_left(sandbox: Sandbox) -> bool:
    """What was told to end is given a moment."""
    processes_of_a_server = {Isolation.BUBBLEWRAP: 2, Isolation.NAMESPACES: 2, Isolation.LANDLOCK: 1}
    wanted = processes_of_a_server[await sandbox.open()]
    for _ in range(200):
        if len(tree(*sandbox.pids)) == wanted:
            return True
        await asyncio.sleep(0.02)
    return False


def tree(*roots: int) -> set[int]:
    """These processes and all below them that have not ended."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            state, parent, *_ = (folder / "stat").read_text().rpartition(") ")[2].split()
            parents |= {int(folder.name): int(parent)} if state != "Z" else {}
    found = set(roots) & parents.keys()
    while grown := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= grown
    return found


pytestmark = pytest.mark.asyncio(loop_scope="module")

#: Put before the programs that try a list of things: which of them succeed.
TRY = """
import ctypes, os, signal, socket
libc = ctypes.CDLL(None)

def successes(attempts):
    done = []
    for name, attempt in attempts.items():
        try:
            attempt()
            done.append(name)
        except OSError:
            pass
    return done
"""


# -- what a program can see -------------------------------------------------------------------------------------------


async def test_the_environment_is_empty(sandbox: Sandbox) -> None:
    code = """
        import ctypes, os
        def attack():
            getenv = ctypes.CDLL(None).getenv
            getenv.restype = ctypes.c_void_p
            return [dict(os.environ), getenv(b"SHARDTALK_TEST_SECRET"), getenv(b"PATH")]
    """
    assert (await attack(sandbox, code)).value == [{}, None, None]


async def test_no_file_outside_the_python_installation_can_be_read(sandbox: Sandbox, outside: Path) -> None:
    code = TRY + dedent("""
        def attack(paths):
            return successes({path: lambda path=path: open(path, "rb").read(1) for path in paths})
    """)
    ours = [outside / "file", ROOT / "pyproject.toml", f"/proc/{os.getpid()}/environ", Path.home() / ".bashrc"]
    systems = [
        "/etc/passwd",
        "/etc/hostname",
        "/proc/self/environ",
        "/proc/1/environ",
        "/proc/self/mem",
        "/dev/mem",
        "/dev/vda",
    ]
    assert (await attack(sandbox, code, [*map(str, ours), *systems])).value == []


async def test_no_folder_outside_can_be_listed(sandbox: Sandbox, outside: Path) -> None:
    code = """
        import os
        def attack(folders):
            seen = []
            for folder in folders:
                try:
                    seen += os.listdir(folder)
                except OSError:
                    pass
            return seen
    """
    folders = [str(outside), str(ROOT), "/home", "/etc", "/proc", "/sys", "/dev/shm", "/var"]
    assert (await attack(sandbox, code, folders)).value == []


async def test_the_root_folder_holds_python_and_a_scratch_folder(sandbox: Sandbox) -> None:
    if await sandbox.open() is Isolation.LANDLOCK:
        pytest.skip("has the whole file system, but can open little of it")
    code = """
        import os
        def attack():
            return [os.listdir("/"), os.getcwd(), os.listdir("."), os.listdir("/dev")]
    """
    root, cwd, scratch, devices = (await attack(sandbox, code)).value
    plan = isolation.plan(Isolation.NAMESPACES, 0)
    python = {Path(path).parts[1] for path in [*plan.readable, *(path for path, _ in plan.links)]}
    assert set(root) == python | {"dev", "proc", "scratch"}
    assert (cwd, scratch, devices) == ("/scratch", [], ["null"])


# -- what a program can change ----------------------------------------------------------------------------------------


async def test_nothing_outside_can_be_written(sandbox: Sandbox, outside: Path) -> None:
    code = TRY + dedent("""
        def attack(folder, roots):
            file, new = folder + "/file", folder + "/new"
            return successes({
                "write": lambda: open(file, "w"), "append": lambda: open(file, "a"), "create": lambda: open(new, "w"),
                "mkdir": lambda: os.mkdir(new), "unlink": lambda: os.unlink(file), "rename": lambda: os.rename(file, new),
                "link": lambda: os.link(file, new), "symlink": lambda: os.symlink(file, new), "fifo": lambda: os.mkfifo(new),
                "chmod": lambda: os.chmod(file, 0o777), "chown": lambda: os.chown(file, 1, 1),
                "utime": lambda: os.utime(file, (1, 1)), "truncate": lambda: os.truncate(file, 0),
                "xattr": lambda: os.setxattr(file, "user.a", b"b"),
                **{root: lambda root=root: open(root + "/shardtalk-was-here", "w") for root in roots},
            })
    """)
    roots = [
        "",
        "/usr/lib",
        "/tmp",
        "/var/tmp",
        "/dev/shm",
        "/run",
        "/proc",
        "/dev",
        os.path.dirname(os.__file__),
        str(ROOT),
    ]
    assert (await attack(sandbox, code, str(outside), roots)).value == []
    assert not [root for root in roots if Path(root, "shardtalk-was-here").exists()]


async def test_the_scratch_folder_is_small_and_new_each_time(sandbox: Sandbox) -> None:
    if await sandbox.open() is Isolation.LANDLOCK:
        pytest.skip("has none")
    code = """
        import os
        def attack():
            before, size = os.listdir("."), 0
            try:
                for number in range(1000):
                    with open(f"file{number}", "wb") as file:
                        size += file.write(b"x" * 1_000_000)
            except OSError:
                pass
            return [before, size]
    """
    for _ in range(2):
        before, size = (await attack(sandbox, code)).value
        assert before == []
        assert 10_000_000 < size < 20_000_000


async def test_no_socket_can_be_opened(sandbox: Sandbox) -> None:
    code = TRY + dedent("""
        def attack(port):
            families = (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK, socket.AF_PACKET, socket.AF_VSOCK)
            kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW)
            by_hand = {"x86_64": 41, "aarch64": 198}[os.uname().machine]
            return [
                successes({f"{f} {k}": lambda f=f, k=k: socket.socket(f, k).close() for f in families for k in kinds}),
                successes({"connect": lambda: socket.create_connection(("127.0.0.1", port), 1)}),
                libc.syscall(by_hand, 2, 1, 0),
            ]
    """)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        assert (await attack(sandbox, code, server.getsockname()[1])).value == [[], [], -1]
        with pytest.raises(BlockingIOError):
            server.accept()


async def test_no_other_process_can_be_signalled_or_traced(sandbox: Sandbox) -> None:
    code = TRY + dedent("""
        def attack(victim):
            pids = [victim, os.getppid(), -1, 0, 1, 2, 3, 4, 5]
            trace = 16
            return [
                successes({f"{pid}": lambda pid=pid: os.kill(pid, signal.SIGKILL) for pid in pids}),
                successes({"slow down": lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)}),
                [pid for pid in pids if libc.ptrace(trace, pid, 0, 0) == 0],
            ]
    """)
    victim = subprocess.Popen(["sleep", "60"])
    try:
        assert (await attack(sandbox, code, victim.pid)).value == [[], [], []]
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()


async def test_no_privilege_can_be_had(sandbox: Sandbox) -> None:
    code = TRY + dedent("""
        def attack():
            new_users = 0x10000000
            return [
                successes({"groups": lambda: os.setgroups([0]), "chroot": lambda: os.chroot("/")}),
                [libc.unshare(new_users), libc.mount(b"none", b"/proc", b"tmpfs", 0, None), libc.umount2(b"/proc", 2)],
            ]
    """)
    assert (await attack(sandbox, code)).value == [[], [-1, -1, -1]]


# -- what a program can use up ----------------------------------------------------------------------------------------

LOOPS = {
    "SB-05: swallows every exception": """
        def attack():
            while True:
                try:
                    while True: pass
                except BaseException:
                    continue
    """,
    "sleeps": """
        import time
        def attack():
            time.sleep(1000)
    """,
    "in C code": """
        def attack():
            return sum(range(10 ** 13))
    """,
    "in a regular expression": """
        import re
        def attack():
            return re.match("(a+)+$", "a" * 60 + "b") is None
    """,
    "ignores signals": """
        import signal
        def attack():
            for number in range(1, 65):
                try: signal.signal(number, signal.SIG_IGN)
                except (OSError, ValueError): pass
            while True: pass
    """,
    "while loading": """
        while True: pass
        def attack(): pass
    """,
    "in a thread it waits for": """
        import threading
        def loop():
            while True: pass
        def attack():
            thread = threading.Thread(target=loop)
            thread.start()
            thread.join()
    """,
    "after closing all descriptors": """
        import os
        def attack():
            os.closerange(0, 100)
            while True: pass
    """,
    "in a thread its first thread left behind": """
        import ctypes, os, threading
        def loop():
            while True: pass
        def attack():
            threading.Thread(target=loop).start()
            ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
    """,
}


@pytest.mark.parametrize("code", LOOPS.values(), ids=LOOPS.keys())
async def test_the_time_limit_ends_it(sandbox: Sandbox, code: str) -> None:
    outcome = await attack(sandbox, code, limits=Limits(cpu=0.2, wall=0.4))
    assert (outcome.kind, outcome.detail) == ("timed_out", "more than 0.2 s of CPU time or 0.4 s in all")
    assert await only_servers_are_left(sandbox)


async def test_lines_buy_no_time(sandbox: Sandbox) -> None:
    """Each answer starts the clocks again, but there are only as many answers as tests."""
    code = """
        import os, time
        def attack():
            while True:
                os.write(3, b"[]\\n")
                time.sleep(0.05)
    """
    assert await attack(sandbox, code, limits=Limits(cpu=0.2, wall=0.4)) == UNREADABLE
    assert await only_servers_are_left(sandbox)


CHILDREN = {
    "SB-06: a long sleep": """
        import subprocess, sys
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        def attack():
            return 0
    """,
    "SB-08: a fork bomb": """
        import os
        while True:
            os.fork()
        def attack():
            return 0
    """,
    "two forks away": """
        import os, time
        def attack():
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    time.sleep(60)
            return 0
    """,
    "multiprocessing": """
        import multiprocessing, time
        def attack():
            multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,)).start()
            return 0
    """,
    "by hand": """
        import ctypes
        def attack():
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.fork() < 0:
                raise OSError(ctypes.get_errno(), "fork")
            return 0
    """,
    "another program": """
        import os, sys
        def attack():
            os.execv(sys.executable, [sys.executable, "-c", "0"])
    """,
}


@pytest.mark.parametrize("code", CHILDREN.values(), ids=CHILDREN.keys())
async def test_no_process_can_be_started(sandbox: Sandbox, code: str) -> None:
    outcome = await attack(sandbox, code)
    assert outcome.kind == "raised"
    assert outcome.detail.startswith("PermissionError: [Errno 1]")
    assert await only_servers_are_left(sandbox)


async def test_threads_are_few(sandbox: Sandbox) -> None:
    code = """
        import threading, time
        def attack():
            started = 0
            try:
                while started < 2000:
                    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
                    started += 1
            except RuntimeError:
                pass
            return started
    """
    # Without namespaces threads cannot be counted apart, but their stacks use up the address space.
    most = 200 if await sandbox.open() is Isolation.LANDLOCK else 32
    assert 1 <= (await attack(sandbox, code)).value <= most


MEMORY = {
    "SB-22: one string": """
        def attack():
            return len("a" * (16 * 1024 ** 3))
    """,
    "bit by bit": """
        def attack():
            held = []
            while True:
                held.append(bytearray(1 << 20))
    """,
    "mapped": """
        import mmap
        def attack():
            held = []
            try:
                while True:
                    held.append(mmap.mmap(-1, 1 << 26))
            except OSError as error:
                raise MemoryError from error
    """,
    "while loading": """
        held = "a" * (16 * 1024 ** 3)
        def attack():
            return 0
    """,
    "in writing down its result": """
        def attack():
            return ["a" * 1000] * 10 ** 6
    """,
}


@pytest.mark.parametrize("code", MEMORY.values(), ids=MEMORY.keys())
async def test_the_memory_limit_ends_it(sandbox: Sandbox, code: str) -> None:
    outcome = await attack(sandbox, code, limits=Limits(cpu=10.0, memory=256 << 20))
    assert outcome.kind == "memory"


async def test_a_program_may_use_the_memory_it_is_given(sandbox: Sandbox) -> None:
    code = """
        def attack():
            return len(bytearray(100 << 20))
    """
    assert (await attack(sandbox, code, limits=Limits(memory=256 << 20))).value == 100 << 20


async def test_sb_18_a_function_that_prints_without_bound_is_graded_normally(sandbox: Sandbox) -> None:
    """Arguable: what a function prints is nobody's concern, so it goes nowhere and costs only the program's own time."""
    code = """
        for _ in range(300000):
            print("x" * 1000)
        def attack():
            return 1
    """
    assert (await attack(sandbox, code, limits=Limits(cpu=20))).value == 1


@pytest.mark.parametrize(
    ("program", "test"),
    [
        (Program(code="while True: print('x' * 1000)"), Feed("")),
        (Program(code="def attack():\n    return 'x' * 10 ** 7", entry="attack"), Call(())),
        (Program(code="import os\ndef attack():\n    while True: os.write(3, b'x' * 1000)", entry="attack"), Call(())),
    ],
    ids=["printed by a script", "returned", "written to the descriptor for results"],
)
async def test_output_without_bound_is_stopped(sandbox: Sandbox, program: Program, test: Any) -> None:
    (outcome,) = await sandbox.run(program, [test], Limits(output=100_000))
    assert outcome == Outcome("raised", detail="more than 100000 bytes of output")


# -- faking a pass ----------------------------------------------------------------------------------------------------


async def test_sb_01_an_object_that_equals_everything_is_read_as_what_it_is(sandbox: Sandbox) -> None:
    code = """
        class E(int):
            def __eq__(self, other): return True
            def __ne__(self, other): return False
            def __index__(self): return 5
            __hash__ = int.__hash__
            __int__ = __repr__ = __str__ = __index__
        class S(str):
            def __eq__(self, other): return True
            __hash__ = str.__hash__
        class Pretender:
            def __eq__(self, other): return True
            __class__ = dict
        def attack(kind):
            return {"plain": [E(0), S("a"), [E(1)], {S("k"): E(2)}], "pretender": Pretender()}[kind]
    """
    value = (await attack(sandbox, code, "plain")).value
    assert value == [0, "a", [1], {"k": 2}]
    assert [type(part) for part in value] == [int, str, list, dict]
    assert (await attack(sandbox, code, "pretender")).kind == "raised"


ENDINGS = {
    "SB-02: exits at once": (
        "import os\ndef attack():\n    os._exit(0)",
        "the program ended with exit code 0 before it answered",
    ),
    "SB-02: exits while loading": ("import sys\nsys.exit(0)\ndef attack(): pass", "SystemExit: 0 (line 2)"),
    "exits": ("import sys\ndef attack():\n    sys.exit(0)", "SystemExit: 0 (line 3)"),
    "exits at once while loading": (
        "import os\nos._exit(0)\ndef attack(): pass",
        "the program ended with exit code 0 before it answered",
    ),
    "crashes": (
        "import ctypes\ndef attack():\n    ctypes.string_at(0)",
        "the program was killed by signal 11 before it answered",
    ),
    "interrupts": ("def attack():\n    raise KeyboardInterrupt('me')", "KeyboardInterrupt: me (line 2)"),
    "raises what cannot be printed": (
        "class E(Exception):\n    def __str__(self): raise ValueError\ndef attack():\n    raise E",
        "an exception that cannot be printed (line 4)",
    ),
    "lacks the function": ("x = 1", "AttributeError: module 'program' has no attribute 'attack'"),
    "returns a cycle": (
        "def attack():\n    a = []\n    a.append(a)\n    return a",
        "ValueError: the value is nested more than 200 deep",
    ),
    "recurses for ever": (
        "def attack():\n    return attack()",
        "RecursionError: maximum recursion depth exceeded (line 2)",
    ),
}


@pytest.mark.parametrize(("code", "detail"), ENDINGS.values(), ids=ENDINGS.keys())
async def test_an_early_end_is_a_failure(sandbox: Sandbox, code: str, detail: str) -> None:
    outcome = await attack(sandbox, code)
    assert (outcome.kind, outcome.value) == ("raised", None)
    assert outcome.detail == detail


async def test_sb_03_what_it_prints_is_not_a_verdict(sandbox: Sandbox) -> None:
    code = """
        print("PASSED 5/5")
        print('{"passed": true}')
        def attack():
            return 0
    """
    assert await attack(sandbox, code) == Outcome("value", 0)


async def test_patched_builtins_do_not_outlive_it(sandbox: Sandbox) -> None:
    code = """
        import builtins, json, os, sys
        builtins.isinstance = lambda a, b: True
        json.dumps = lambda *args, **options: '["value", 5]'
        sys.modules["json"] = None
        os.write = lambda descriptor, data: len(data)
        def attack():
            return 4
    """
    assert (await attack(sandbox, code)).kind == "raised"  # it kept its own result from being written


async def test_writing_to_every_descriptor_makes_claims_at_best(sandbox: Sandbox) -> None:
    """It can claim "4" without computing it, which is no more than returning 4, and nothing else counts as an answer."""
    code = """
        import os
        def attack(forged):
            for descriptor in range(3, 256):
                try:
                    os.write(descriptor, forged.encode())
                except OSError:
                    pass
            os._exit(0)
    """
    forged = "".join(f"{line}\n" for line in [json.dumps(["value", 4]), "rubbish", '["passed"]', '["loaded"]'] * 3)
    outcomes = await sandbox.run(Program(code=dedent(code), entry="attack"), [Call((forged,))] * 3, QUICK)
    assert outcomes == [Outcome("value", 4), UNREADABLE, UNREADABLE]
    assert await sandbox.run(ADD, [Call((2, 3))]) == [Outcome("value", 5)]


async def test_half_a_line_is_no_answer(sandbox: Sandbox) -> None:
    code = """
        import os
        def attack():
            os.write(3, b'["value", 5]')
            os._exit(0)
    """
    assert (await attack(sandbox, code)).kind == "raised"


# -- several programs, several tests ----------------------------------------------------------------------------------


async def test_programs_do_not_see_each_other(sandbox: Sandbox) -> None:
    code = """
        import os, time
        def attack(name):
            try:
                open(name, "w").close()
            except OSError:
                pass
            time.sleep(0.2)
            seen = []
            for folder in (".", "/proc", "/scratch", "/dev/shm"):
                try:
                    seen += os.listdir(folder)
                except OSError:
                    pass
            return [sorted(set(seen) - {name}), os.getpid()]
    """
    runs = [sandbox.run(Program(code=dedent(code), entry="attack"), [Call((name,))]) for name in ("one", "two")]
    results = [outcome.value for (outcome,) in await asyncio.gather(*runs)]
    assert [seen for seen, _ in results] == [[], []]
    if await sandbox.open() is not Isolation.LANDLOCK:
        assert [pid for _, pid in results] == [2, 2]  # after its warden, in a process namespace of its own


async def test_a_bad_test_does_not_take_the_others_with_it(sandbox: Sandbox) -> None:
    code = """
        import os
        seen = []
        def attack(x):
            seen.append(x)
            if x == 1: os._exit(3)
            if x == 3: raise ValueError(x)
            while x == 4: pass
            return [x, len(seen)]
    """
    program = Program(code=dedent(code), entry="attack")
    outcomes = await sandbox.run(program, [Call((x,)) for x in range(6)], Limits(cpu=0.5))
    assert [outcome.kind for outcome in outcomes] == ["value", "raised", "value", "raised", "timed_out", "not_run"]
    assert [outcomes[0].value, outcomes[2].value] == [[0, 1], [2, 1]]  # the second process began anew


async def test_after_a_timeout_the_remaining_tests_share_the_time_of_one(sandbox: Sandbox) -> None:
    program = Program(code="def attack(x):\n    while x: pass\n    return x", entry="attack")
    outcomes = await sandbox.run(program, [Call((x,)) for x in (0, 1, 0, 0, 1, 0, 1)], Limits(cpu=0.4))
    kinds = [outcome.kind for outcome in outcomes]
    assert kinds == ["value", "timed_out", "value", "value", "timed_out", "not_run", "not_run"]


# -- honest programs --------------------------------------------------------------------------------------------------

HONEST: dict[str, tuple[str, tuple[Any, ...], Any]] = {
    "SB-13: recursion": (
        """
        def attack(n):
            return n if n < 2 else attack(n - 1) + attack(n - 2)
        """,
        (6,),
        8,
    ),
    "SB-13: helpers and comprehensions": (
        """
        FACTOR = 2
        def helper(x):
            return x * FACTOR
        def attack(n):
            return [helper(i) for i in range(n)]
        """,
        (3,),
        [0, 2, 4],
    ),
    "SB-16: nested tuples": (
        """
        def attack():
            return (1, [2, (3, 4)])
        """,
        (),
        (1, [2, (3, 4)]),
    ),
    "deep recursion": (
        """
        def attack(n):
            return 0 if n == 0 else 1 + attack(n - 1)
        """,
        (20_000,),
        20_000,
    ),
    "dataclass": (
        """
        from dataclasses import dataclass
        @dataclass
        class Point:
            x: int
        def attack(n):
            return Point(n).x
        """,
        (3,),
        3,
    ),
    "names it did not import": (
        """
        def attack(n: List[int]) -> Optional[int]:
            return Counter(n).most_common(1)[0][0] + gcd(4, 6) + math.floor(1.5)
        """,
        ([2, 2, 3],),
        5,
    ),
    "builtins are not hidden": (
        """
        def attack():
            return [pow(2, 3, 5), sum([1, 2]), max(1, 2), round(2.5), open.__name__]
        """,
        (),
        [3, 3, 2, 2, "open"],
    ),
    "asynchronous": (
        """
        import asyncio
        async def attack(n):
            await asyncio.sleep(0)
            return n + 1
        """,
        (1,),
        2,
    ),
    "threads": (
        """
        from concurrent.futures import ThreadPoolExecutor
        def attack(n):
            with ThreadPoolExecutor(4) as pool:
                return list(pool.map(abs, n))
        """,
        ([-1, 2],),
        [1, 2],
    ),
    "changes its arguments": (
        """
        def attack(n):
            n.clear()
            return n
        """,
        ([1],),
        [],
    ),
    "XC-13: method of a class": (
        """
        class Solution:
            def __init__(self):
                self.memo = {}
            def attack(self, n):
                return self.memo.get(n, n)
        """,
        (3,),
        3,
    ),
    "standard library": (
        """
        import decimal, fractions, textwrap, zoneinfo, unicodedata, sqlite3, hashlib, xml.etree.ElementTree, zlib, bz2, lzma
        def attack():
            return hashlib.md5(b"").hexdigest()[:4]
        """,
        (),
        "d41d",
    ),
}


@pytest.mark.parametrize(("code", "args", "value"), HONEST.values(), ids=HONEST.keys())
async def test_an_honest_program_runs(sandbox: Sandbox, code: str, args: tuple[Any, ...], value: Any) -> None:
    entry = "Solution.attack" if "class Solution" in code else "attack"
    (outcome,) = await sandbox.run(Program(code=dedent(code), entry=entry), [Call(args)])
    assert (outcome.detail, outcome.value) == ("", value)


SCRIPTS = {
    "XC-18: the main guard": (
        """
        def main():
            print(int(input()) * 2)

        if __name__ == "__main__":
            main()
        """,
        "4\n",
        "8\n",
    ),
    "sys.stdin": ("import sys\nprint(sum(map(int, sys.stdin.read().split())))", "1 2\n3\n", "6\n"),
    "descriptors": ("import os\nos.write(1, os.read(0, 10).upper())", "abc", "ABC"),
    "open(0)": ("print(*reversed(open(0).read().split()))", "a b c", "c b a\n"),
    "exits": ("import sys\nprint(1)\nsys.exit(0)", "", "1\n"),
    "a thread with a big stack": (
        """
        import threading
        threading.stack_size(1 << 27)
        threading.Thread(target=lambda: print(input())).start()
        """,
        "x",
        "x\n",
    ),
    "not ASCII": ("print(input()[::-1])", "äß€", "€ßä\n"),
    "more than a pipe holds": (
        "print(len(input()))\nprint('y' * 300000)",
        "x" * 300_000,
        "300000\n" + "y" * 300_000 + "\n",
    ),
}


@pytest.mark.parametrize(("code", "stdin", "stdout"), SCRIPTS.values(), ids=SCRIPTS.keys())
async def test_a_script_reads_and_prints(sandbox: Sandbox, code: str, stdin: str, stdout: str) -> None:
    assert await sandbox.run(Program(code=dedent(code)), [Feed(stdin)]) == [Outcome("printed", stdout)]


async def test_each_run_of_a_script_is_its_own(sandbox: Sandbox) -> None:
    code = """
        number = input()
        if number == "x":
            raise ValueError(number)
        print(number)
        import sys
        sys.stdin.close()
        sys.setrecursionlimit(100)
    """
    outcomes = await sandbox.run(Program(code=dedent(code)), [Feed("1"), Feed("x"), Feed(""), Feed("2")])
    assert outcomes == [
        Outcome("printed", "1\n"),
        Outcome("raised", detail="ValueError: x (line 4)"),
        Outcome("raised", detail="EOFError: EOF when reading a line (line 2)"),
        Outcome("printed", "2\n"),
    ]
