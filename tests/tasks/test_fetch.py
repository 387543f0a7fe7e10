"""Fetching published data from a server that cuts, lies, ignores ranges, or is not there."""

from __future__ import annotations

import re
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from tasks import fetch as fetching
from tasks.errors import DatasetError, UnknownName
from tasks.fetch import Dataset, RemoteFile, blob_id, fetch, folder, published
from tasks.fetch_commands import data

CONTENT = bytes(range(256)) * 1200  # more than one piece
BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
NAME = "lost-in-conversation"


class Server:
    """A file server over loopback. `faults` are used up one a request; then it behaves."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.faults: list[Callable[[BaseHTTPRequestHandler, bytes], None]] = []
        self.ranges = True
        self.asked: list[tuple[str, str | None]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/pinned"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        asked = request.headers.get("Range")
        self.asked.append((request.path, asked))
        content = self.files.get(request.path)
        if content is None:
            request.send_error(404)
        elif self.faults:
            self.faults.pop(0)(request, content)
        elif asked and self.ranges:
            start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1])  # type: ignore[index]
            self.give(request, content, start)
        else:
            send(request, 200, content)

    def give(self, request: BaseHTTPRequestHandler, content: bytes, start: int) -> None:
        if start >= len(content):
            request.send_error(416)
        else:
            send(request, 206, content[start:])


def send(request: BaseHTTPRequestHandler, status: int, body: bytes, announced: int | None = None) -> None:
    request.send_response(status)
    request.send_header("Content-Length", str(len(body) if announced is None else announced))
    request.end_headers()
    request.wfile.write(body)


def cut_at(size: int) -> Callable[[BaseHTTPRequestHandler, bytes], None]:
    """The connection ends after `size` bytes of what was announced."""
    return lambda request, content: send(request, 200, content[:size], announced=len(content))


def busy(request: BaseHTTPRequestHandler, content: bytes) -> None:
    request.send_error(503)


def no_length(request: BaseHTTPRequestHandler, content: bytes) -> None:
    request.send_response(200)
    request.end_headers()
    request.wfile.write(content)


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is asked without any proxy of the surroundings."""
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    thread = threading.Thread(target=running.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.http.shutdown()
    running.http.server_close()
    thread.join()


def git_blob(content: bytes) -> str:
    """The id as git itself computes it."""
    done = subprocess.run(["git", "hash-object", "--stdin"], input=content, capture_output=True, check=True)
    return done.stdout.decode().strip()


@pytest.fixture(scope="session")
def file() -> RemoteFile:
    return RemoteFile("data/rows.json", git_blob(CONTENT), ("math",))


@pytest.fixture
def get(server: Server, file: RemoteFile, tmp_path: Path) -> Callable[[], bytes]:
    """Fetches the file once and gives its content, read from its place."""
    server.files["/pinned/data/rows.json"] = CONTENT

    def run() -> bytes:
        return fetch(file, server.url, tmp_path / "cache", lambda *_: None, pause=0.0).read_bytes()

    return run


def part(folder: Path) -> Path:
    return folder / "cache" / "rows.json.part"


# -- one file ---------------------------------------------------------------------------------------------------------


def test_blob_id_is_gits(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "some").write_bytes(CONTENT)
    assert blob_id(tmp_path / "empty") == BLOB
    assert blob_id(tmp_path / "some") == git_blob(CONTENT)


def test_fetched_once(server: Server, get: Callable[[], bytes], tmp_path: Path) -> None:
    assert get() == CONTENT
    assert get() == CONTENT
    assert server.asked == [("/pinned/data/rows.json", None)]
    assert [p.name for p in (tmp_path / "cache").iterdir()] == ["rows.json"]


def test_cut_connection_is_continued(server: Server, get: Callable[[], bytes]) -> None:
    server.faults = [cut_at(100_000)]
    assert get() == CONTENT
    assert [asked for _, asked in server.asked] == [None, "bytes=100000-"]


def test_continued_by_a_later_command(server: Server, get: Callable[[], bytes], tmp_path: Path) -> None:
    server.faults = [cut_at(70_000), busy, busy, busy]
    with pytest.raises(DatasetError, match="continues where it stopped"):
        get()
    assert part(tmp_path).read_bytes() == CONTENT[:70_000]
    assert not (tmp_path / "cache" / "rows.json").exists()
    assert get() == CONTENT
    assert server.asked[-1][1] == "bytes=70000-"


def test_server_without_ranges(server: Server, get: Callable[[], bytes]) -> None:
    server.faults, server.ranges = [cut_at(1000)], False
    assert get() == CONTENT


def test_server_that_says_no_length(server: Server, get: Callable[[], bytes]) -> None:
    server.faults = [no_length]
    assert get() == CONTENT


@pytest.mark.parametrize("rest", [b"of another file", CONTENT + b"too long", b"x" * len(CONTENT)])
def test_rest_of_something_else_is_replaced(get: Callable[[], bytes], tmp_path: Path, rest: bytes) -> None:
    part(tmp_path).parent.mkdir()
    part(tmp_path).write_bytes(rest)
    assert get() == CONTENT


def test_whole_rest_only_has_to_be_verified(server: Server, get: Callable[[], bytes], tmp_path: Path) -> None:
    part(tmp_path).parent.mkdir()
    part(tmp_path).write_bytes(CONTENT)
    assert get() == CONTENT
    assert len(server.asked) == 1


def test_wrong_content_is_refused(server: Server, get: Callable[[], bytes], tmp_path: Path) -> None:
    server.files["/pinned/data/rows.json"] = b"<html>please log in</html>"
    with pytest.raises(DatasetError, match="does not give the published content") as raised:
        get()
    assert git_blob(b"<html>please log in</html>") in str(raised.value)
    assert list((tmp_path / "cache").iterdir()) == []


def test_wrong_file_put_there_by_hand_is_replaced(get: Callable[[], bytes], tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "rows.json").write_bytes(b"[]")
    assert get() == CONTENT


def test_missing_file_is_not_tried_again(server: Server, get: Callable[[], bytes]) -> None:
    server.files.clear()
    with pytest.raises(DatasetError, match="HTTP 404"):
        get()
    assert len(server.asked) == 1


def test_busy_server_is_tried_again(server: Server, get: Callable[[], bytes]) -> None:
    server.faults = [busy, busy]
    assert get() == CONTENT


def test_no_network_says_what_to_do(file: RemoteFile, tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(DatasetError) as raised:
            fetch(file, nowhere, tmp_path, lambda *_: None)
    assert f"{nowhere}/data/rows.json" in str(raised.value)
    assert f"put the file there by hand: {tmp_path / 'rows.json'}" in str(raised.value)


def test_place_that_cannot_be_written(server: Server, file: RemoteFile, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DatasetError, match="cannot be written"):
        fetch(file, server.url, tmp_path / "file", lambda *_: None)


def test_progress_reaches_the_end(server: Server, file: RemoteFile, tmp_path: Path) -> None:
    server.files["/pinned/data/rows.json"] = CONTENT
    server.faults = [cut_at(100_000)]
    told: list[tuple[int, int | None]] = []
    fetch(file, server.url, tmp_path, lambda _, there, total: told.append((there, total)), pause=0.0)
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert {total for _, total in told} == {len(CONTENT)}
    assert [there for there, _ in told] == sorted({there for there, _ in told})


# -- the dataset, and the command line --------------------------------------------------------------------------------


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "shardtalk" / "data" / NAME


def shardtalk(*arguments: str, **environment: str) -> tuple[str, str]:
    """What `shardtalk data …` prints; an error of ours is raised as it is."""
    done = CliRunner().invoke(data, arguments, env=environment)
    if done.exception:
        raise done.exception
    return done.stdout, done.stderr


def test_what_is_pinned() -> None:
    dataset = fetching.DATASETS[NAME]
    assert dataset.base.endswith("/microsoft/lost_in_conversation/ba6b9a2198b4f64bf2133b8a9d9a28ca0f65b1d7")
    assert [(f.name, f.blob) for f in dataset.files] == [
        ("sharded_instructions_600.json", "606cef49f98e20fddcb2afca20c59236937e08c4"),
        ("sharded_translation.json", "9aa5f947c04c3a61970f725ffeb725b691f46cf9"),
    ]


REAL = Path(__file__).parents[2] / "../shared/data/sharded_translation.json"


@pytest.mark.skipif(not REAL.is_file(), reason="the published translations are not here")
def test_pinned_translation_is_the_one_we_know() -> None:
    assert blob_id(REAL) == fetching.DATASETS[NAME].files[1].blob


def test_published_names_the_command(cache: Path) -> None:
    for task, name in [(None, "instructions_600"), ("math", "instructions_600"), ("translation", "translation")]:
        with pytest.raises(DatasetError, match=f"shardtalk data fetch {NAME}") as raised:
            published(NAME, task)
        assert str(cache / f"sharded_{name}.json") in str(raised.value)
    with pytest.raises(UnknownName, match=f"did you mean {NAME}"):
        published("lost-in-conversations")
    with pytest.raises(DatasetError, match="no instances of the task 'poetry'"):
        published(NAME, "poetry")


def test_cache_without_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert folder(NAME) == tmp_path / ".cache" / "shardtalk" / "data" / NAME


def test_fetch_and_path(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = {"data/a.json": b"[1]", "data/b.json": b"[2]" * 1000}
    files = tuple(
        RemoteFile(path, git_blob(text), (task,))
        for (path, text), task in zip(contents.items(), ("math", "translation"), strict=True)
    )
    monkeypatch.setattr(fetching, "DATASETS", {NAME: Dataset("http://unused.invalid", "MIT", files)})
    server.files = {f"/pinned/{path}": text for path, text in contents.items()}
    with pytest.raises(DatasetError, match=f"shardtalk data fetch {NAME}"):
        shardtalk("path", NAME)
    paths = f"{cache / 'a.json'}\n{cache / 'b.json'}\n"
    out, err = shardtalk("fetch", NAME, SHARDTALK_DATA_URL=server.url)
    assert out == paths
    assert "b.json" in err  # its bar
    assert "MIT" in err
    assert shardtalk("path", NAME)[0] == paths
    assert published(NAME, "translation").read_bytes() == contents["data/b.json"]
    shardtalk("fetch", NAME, SHARDTALK_DATA_URL=server.url)
    assert len(server.asked) == 2


def test_unknown_dataset(cache: Path) -> None:
    for command in ("fetch", "path"):
        with pytest.raises(UnknownName, match=NAME):
            shardtalk(command, "lost-in-translation")
