"""How models are reached. Nothing in here is part of a model's identity: the same model behind another URL is the same."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Access(msgspec.Struct, frozen=True):
    """What a user says about reaching models.

    Attributes:
        base_url: of an OpenAI-compatible endpoint, up to and including `/v1`.
        api_key_env: name of the environment variable that holds the key of that endpoint.
        timeout: seconds one call may take, the last byte of its answer included.
        prices: model name as given -> US dollars per million (input, output) tokens; wins over the price library.
    """

    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    timeout: float = 600.0
    prices: Mapping[str, tuple[float, float]] = {}
