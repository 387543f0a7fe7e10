"""Helpers for the tests of models: one call, over real HTTP where there is an endpoint."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from simulator.models.model import Model, make_model
from tasks.nouns import Message, Options, Reply

Ask: TypeAlias = Callable[..., Awaitable[Reply]]


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key or URL of whoever runs the tests gets into them."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def question() -> list[Message]:
    return [Message("system", "Be brief."), Message("user", "How much is 6 times 7?")]


@pytest.fixture
async def model(server: Any) -> AsyncIterator[Model]:
    """Our client at the loopback server."""
    made = make_model("openai:assistant", base_url=server.url, timeout=5.0)
    yield made
    await made.close()


@pytest.fixture
def ask(model: Model, question: list[Message]) -> Ask:
    """One call of `model`, with these options."""

    async def one(**options: Any) -> Reply:
        return await model.call(question, Options(**options))

    return one
