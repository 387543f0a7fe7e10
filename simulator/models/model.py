"""What the engine sees of a model, and how a name becomes one.

| spec                                        | what answers                                               |
|---------------------------------------------|------------------------------------------------------------|
| `openai:NAME`                               | any OpenAI-compatible endpoint (`--base-url`)              |
| `anthropic:NAME`, `ollama:NAME`, …          | LangChain's chat models (`PACKAGES` in provider.py)        |
| `python:package.module:object`              | a user's chat model, Runnable, LangGraph agent or function |
| `local:smollm2`, `local:PATH.gguf`          | llama.cpp inside the process                               |
| `synthetic:aptitude=0.9,…`                  | an assistant of known aptitude and unreliability           |
| `fake:echo`, `fake:text=…`, `fake:file=PATH`  | scripted replies                                           |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from simulator.errors import ModelError
from simulator.models.access import Access
from simulator.models.fake import make_fake
from simulator.models.local import make_local
from simulator.models.openai import make_openai
from simulator.models.provider import PACKAGES, make_provider
from simulator.models.python_object import make_python
from simulator.models.synthetic import make_synthetic
from tasks.errors import UnknownName
from tasks.nouns import Message, Options, Reply


class Model(Protocol):
    """Something that answers.

    Attributes:
        name: the spec as given, e.g. `openai:gpt-4o-mini`; the identity of the model in records.
    """

    name: str

    async def call(self, messages: Sequence[Message], options: Options) -> Reply:
        """One try, never repeated here. Raises `simulator.errors.CallFailed`, which says whether another may succeed."""
        ...

    async def close(self) -> None:
        """Lets go of sockets and threads. A later call opens them again."""
        ...


#: prefix -> maker(spec, what follows the prefix, access).
MAKERS: dict[str, Callable[[str, str, Access], Model]] = {
    **dict.fromkeys(PACKAGES, make_provider),
    "fake": make_fake,
    "local": make_local,
    "openai": make_openai,
    "python": make_python,
    "synthetic": make_synthetic,
}


def make_model(
    spec: str,
    *,
    base_url: str | None = None,
    api_key_env: str = "OPENAI_API_KEY",
    timeout: float = 600.0,
    prices: Mapping[str, tuple[float, float]] | None = None,
) -> Model:
    """The model of a spec `PREFIX:NAME`. Makes no connection and loads no weights.

    Args:
        base_url, api_key_env: of an OpenAI-compatible endpoint.
        timeout: seconds one call may take.
        prices: spec -> US dollars per million (input, output) tokens, for models the price library does not know.

    Raises:
        UnknownName: no such prefix. ModelError: a package, a key, a file or an object is missing.
    """
    prefix, colon, name = spec.partition(":")
    if not colon or not name:
        raise ModelError("a model is named PREFIX:NAME", got=spec, allowed=", ".join(sorted(MAKERS)), fix=_guess(spec))
    if prefix not in MAKERS:
        raise UnknownName("kind of model", prefix, MAKERS)
    access = Access(base_url=base_url, api_key_env=api_key_env, timeout=timeout, prices=prices or {})
    return MAKERS[prefix](spec, name, access)


def _guess(spec: str) -> str:
    return f"openai:{spec}, if it is served by an OpenAI-compatible endpoint"
