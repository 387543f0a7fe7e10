"""The published datasets: where they are, what they must be, and how they come into the user's cache.

A file is fetched at a pinned commit and accepted only if its git blob id is the one recorded here, so that what a run says it
used is what it used. A broken download is continued where it stopped; a verified file appears under its name in one step.
"""

from __future__ import annotations

import hashlib
import http.client
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tasks.cache import cache_folder
from tasks.errors import DatasetError, UnknownName

_TRIES = 4
#: Answers of a server that may be another one soon.
_BUSY = frozenset({429, 500, 502, 503, 504})
_TIMEOUT = 30.0
_PIECE = 1 << 16


class RemoteFile(NamedTuple):
    """One published file. `blob`: its git blob id. `tasks`: whose instances it holds."""

    path: str
    blob: str
    tasks: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class Dataset(NamedTuple):
    """A published dataset. `base`: where its files lie, the commit included. `licence` goes to the user."""

    base: str
    licence: str
    files: tuple[RemoteFile, ...]


#: Told while a file arrives: bytes there so far, and in all (None: the server does not say).
Progress: TypeAlias = Callable[[RemoteFile, int, int | None], None]

_SIX_TASKS = ("code", "database", "actions", "math", "data2text", "summary")

DATASETS: Mapping[str, Dataset] = {
    "lost-in-conversation": Dataset(
        base="https://raw.githubusercontent.com/microsoft/lost_in_conversation/ba6b9a2198b4f64bf2133b8a9d9a28ca0f65b1d7",
        licence="MIT and CDLA-Permissive-2.0",
        files=(
            RemoteFile("data/sharded_instructions_600.json", "606cef49f98e20fddcb2afca20c59236937e08c4", _SIX_TASKS),
            RemoteFile("data/sharded_translation.json", "9aa5f947c04c3a61970f725ffeb725b691f46cf9", ("translation",)),
        ),
    ),
}


# -- where ------------------------------------------------------------------------------------------------------------


def dataset(name: str) -> Dataset:
    """The dataset of this name. Raises `UnknownName`."""
    if name not in DATASETS:
        raise UnknownName("published dataset", name, DATASETS)
    return DATASETS[name]


def folder(name: str) -> Path:
    """Where the files of a dataset belong, there or not: `$XDG_CACHE_HOME/shardtalk/data/<name>`. Raises `UnknownName`."""
    dataset(name)
    return cache_folder("data") / name


def published(name: str, task: str | None = None) -> Path:
    """The fetched file of a dataset that holds the instances of `task` (None: its first file).

    Raises `UnknownName`, or `DatasetError` that names the command when the file has not been fetched.
    """
    files = [file for file in dataset(name).files if task is None or task in file.tasks]
    if not files:
        raise DatasetError(
            f"{name} has no instances of the task {task!r}",
            allowed=", ".join(t for file in dataset(name).files for t in file.tasks),
        )
    path = folder(name) / files[0].name
    if not path.is_file():
        raise DatasetError(f"{name} has not been fetched: {path} is not there", fix=f"shardtalk data fetch {name}")
    return path


# -- fetching ---------------------------------------------------------------------------------------------------------


def fetch_all(name: str, progress: Progress, base: str | None = None) -> list[Path]:
    """All files of a dataset, verified, in its folder. `base`: where they lie instead. Raises `UnknownName`, `DatasetError`."""
    found = dataset(name)
    return [fetch(file, base or found.base, folder(name), progress) for file in found.files]


def fetch(file: RemoteFile, base: str, place: Path, progress: Progress, *, pause: float = 1.0) -> Path:
    """One file, verified, in the folder `place`; nothing is loaded if it is there already.

    Args:
        base: where `file.path` starts. `pause`: seconds before the first new try, doubled each time.

    Raises:
        DatasetError: no network, a server that refuses, or a content that is not the published one.
    """
    download = _Download(file, f"{base.rstrip('/')}/{file.path}", place / file.name, progress, pause)
    try:
        place.mkdir(parents=True, exist_ok=True)
        if not download.done():
            download.run()
    except OSError as error:
        raise DatasetError(
            f"{download.target} cannot be written ({error})", fix="make room, or set XDG_CACHE_HOME"
        ) from error
    return download.target


def blob_id(path: Path) -> str:
    """The id git gives a file of this content."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


class _Download:
    """One file on its way: `part` grows beside `target` until it is whole and right."""

    def __init__(self, file: RemoteFile, url: str, target: Path, progress: Progress, pause: float) -> None:
        self.file, self.url, self.target, self.progress, self.pause = file, url, target, progress, pause
        self.part = target.with_name(f"{target.name}.part")

    def done(self) -> bool:
        return self.target.is_file() and blob_id(self.target) == self.file.blob

    def run(self) -> None:
        """A rest of an earlier download that turns out to be of something else costs one fresh start."""
        continued = self.part.exists()
        self.receive_all()
        if continued and blob_id(self.part) != self.file.blob:
            self.part.unlink()
            self.receive_all()
        if (got := blob_id(self.part)) != self.file.blob:
            self.part.unlink()
            raise self.wrong_content(got)
        self.part.replace(self.target)

    def receive_all(self) -> None:
        """Tried again while the connection breaks or the server is busy; without any connection it ends at once."""
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(self.pause * 2 ** (attempt - 1))
            try:
                if self.receive():
                    return
                cause = "the connection was cut"
            except urllib.error.HTTPError as error:
                cause = f"HTTP {error.code} {error.reason}"
                if error.code not in _BUSY:
                    raise self.unreachable(cause) from error
            except urllib.error.URLError as error:
                raise self.unreachable(str(error.reason)) from error
            except (http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError) as error:
                cause = str(error) or type(error).__name__
        raise self.unreachable(f"{cause} ({_TRIES} tries)")

    def receive(self) -> bool:
        """One request for what is missing; False if less came than was announced. What came is kept."""
        there = self.part.stat().st_size if self.part.exists() else 0
        request = urllib.request.Request(self.url, headers={"Range": f"bytes={there}-"} if there else {})
        try:
            response = urllib.request.urlopen(request, timeout=_TIMEOUT)
        except urllib.error.HTTPError as error:
            if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                return True  # nothing is missing; whether it is right is seen by its content
            raise
        with response:
            if response.status != http.client.PARTIAL_CONTENT:
                there = 0  # the server ignores ranges and sends everything
            return self.keep(response, there)

    def keep(self, response: http.client.HTTPResponse, there: int) -> bool:
        """Writes a response after the first `there` bytes; False if it ended before its announced length."""
        announced = response.headers.get("Content-Length")
        total = there + int(announced) if announced else None
        with self.part.open("ab" if there else "wb") as part:
            while piece := response.read(_PIECE):
                part.write(piece)
                there += len(piece)
                self.progress(self.file, there, total)
        return total is None or there >= total

    def unreachable(self, cause: str) -> DatasetError:
        return DatasetError(
            f"{self.url} cannot be fetched",
            got=cause,
            fix=f"run it again where there is a network (it continues where it stopped), or put the file there by hand: "
            f"{self.target}",
        )

    def wrong_content(self, got: str) -> DatasetError:
        return DatasetError(
            f"{self.url} does not give the published content",
            got=f"git blob {got}",
            allowed=f"git blob {self.file.blob}",
            fix=f"look at what the network makes of this address, or put the right file there by hand: {self.target}",
        )
