"""Our own client for OpenAI-compatible endpoints: vLLM, Ollama, llama.cpp, OpenRouter, OpenAI.

`OpenAIModel` is what the engine calls: the body is built straight from our messages, and one call costs a fraction of a
millisecond. `OpenAIChat` is the same client with LangChain's face, for agents and chains.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import aiohttp
import msgspec
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr, SecretStr
from yarl import URL

from simulator.errors import ModelError
from simulator.models import prices, wire
from simulator.models.access import Access
from simulator.models.connections import Connection
from simulator.models.failures import from_exception, from_http, malformed, read_error
from simulator.models.langchain_messages import from_langchain, to_ai_message
from simulator.models.said import filtered
from tasks.nouns import Message, Options, Reply

OPENAI_URL = "https://api.openai.com/v1"
_CONNECT_SECONDS = 30.0


class OpenAIModel:
    """One model at one endpoint.

    Args:
        model: as the endpoint knows it.
        base_url: up to and including `/v1`. `key`: sent as a bearer token, where there is one.
        timeout: seconds one try may take, the last byte included.
        name: the spec it is known by (`openai:MODEL` by default). `price`: of its tokens (unknown by default).

    Attributes:
        dialect: what the model has been seen to refuse; a sampling parameter in `dialect.refused` was not sent.

    Raises:
        ModelError: the base URL is no web address.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = OPENAI_URL,
        key: str | None = None,
        timeout: float = 600.0,
        name: str | None = None,
        price: prices.Price = prices.unknown,
    ) -> None:
        self.name = name or f"openai:{model}"
        self.dialect = wire.Dialect()
        self._model, self._key, self._price = model, key, price
        self._url = _checked_url(base_url)
        self._headers = {"Content-Type": "application/json"}
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key}"
        self._timeout = aiohttp.ClientTimeout(total=timeout, sock_connect=_CONNECT_SECONDS)
        self._connection = Connection(base_url)

    @property
    def refused(self) -> frozenset[str]:
        """Sampling parameters the model has been seen to refuse, which are not sent any more."""
        return self.dialect.refused

    async def call(self, messages: Sequence[Message], options: Options) -> Reply:
        """One try (a 400 that only names a parameter the model does not know does not count). Raises `CallFailed`."""
        started = time.perf_counter()
        body = wire.request(self._model, messages, options, self.dialect)
        answer = await self._post(body)
        while answer.status == 400:
            self.dialect.learn(read_error(answer.body))
            reworded = wire.request(self._model, messages, options, self.dialect)
            if reworded == body:
                break
            body, answer = reworded, await self._post(reworded)
        reply = self._read(answer, messages)
        return msgspec.structs.replace(reply, cost=self._price(reply.usage), seconds=time.perf_counter() - started)

    async def close(self) -> None:
        """Closes the sockets, unless another model uses them."""
        await self._connection.close()

    async def _post(self, body: dict[str, Any]) -> _Answer:
        try:
            async with self._connection.session().post(
                self._url,
                data=msgspec.json.encode(body),
                headers=self._headers,
                timeout=self._timeout,
                proxy=self._connection.proxy,
                allow_redirects=False,
            ) as response:
                raw = await response.read()
        except aiohttp.ClientResponseError as problem:
            raise malformed(f"no HTTP: {problem}") from problem
        except (aiohttp.ClientError, OSError) as problem:  # timeouts are OSErrors
            raise from_exception(problem) from problem
        if response.status < 300:
            return _Answer(response.status, {}, _json(raw))
        headers = {name.lower(): value for name, value in response.headers.items()}
        return _Answer(response.status, headers, _json_or_text(raw, self._key))

    def _read(self, answer: _Answer, asked: Sequence[Message]) -> Reply:
        if answer.status < 300:
            return wire.read(answer.body, self.name, asked)
        failure = from_http(answer.status, answer.headers, answer.body)
        if failure.cause == "content_filter":
            return filtered(self.name)
        raise failure


class _Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: Any


def _json(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise malformed(f"the answer is no JSON ({problem}): {raw[:200]!r}") from problem


def _json_or_text(raw: bytes, key: str | None) -> Any:
    """The body of a failed call. Some servers repeat the key in it; it must not get into records."""
    text = raw.decode(errors="replace")
    if key is not None:
        text = text.replace(key, "***")
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _checked_url(base: str) -> URL:
    try:
        url = URL(base)
    except ValueError:
        url = URL()
    if url.scheme not in ("http", "https") or not url.host:
        raise ModelError(
            "the base URL is no web address", got=base, allowed="http(s)://host[:port]/v1", fix="correct --base-url"
        )
    return url / "chat/completions"


class OpenAIChat(BaseChatModel):
    """The same client with LangChain's face, for the agents and chains of users: `OpenAIChat(model="…", base_url="…")`.

    Asynchronous only. `aclose` closes its sockets.
    """

    model: str
    base_url: str = OPENAI_URL
    api_key: SecretStr | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    timeout: float = 600.0
    _client: OpenAIModel = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Makes the client; it opens no socket yet."""
        key = self.api_key.get_secret_value() if self.api_key else None
        self._client = OpenAIModel(self.model, base_url=self.base_url, key=key, timeout=self.timeout)

    @property
    def _llm_type(self) -> str:
        return "shardtalk-openai"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        """Offers tools; which one to take is the model's choice."""
        if tool_choice not in (None, "auto"):
            raise NotImplementedError("OpenAIChat leaves the choice of a tool to the model: tool_choice is `auto`")
        return self.bind(tools=tuple(convert_to_openai_tool(tool) for tool in tools), **kwargs)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if stop:
            raise NotImplementedError("OpenAIChat has no stop sequences")
        settings = {"temperature": self.temperature, "max_tokens": self.max_tokens, "seed": self.seed, **kwargs}
        reply = await self._client.call(from_langchain(messages), Options(**settings))
        return ChatResult(generations=[ChatGeneration(message=to_ai_message(reply))])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("OpenAIChat answers only asynchronously: use `await chat.ainvoke(…)`")

    async def aclose(self) -> None:
        """Closes the sockets."""
        await self._client.close()


def make_openai(spec: str, model: str, access: Access) -> OpenAIModel:
    """`openai:NAME`; `OPENAI_BASE_URL` stands in for a base URL, as in OpenAI's own library.

    Raises:
        ModelError: OpenAI's own endpoint is meant and no key is set.
    """
    base_url = access.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    key = os.environ.get(access.api_key_env) or None
    if key is None and URL(base_url).host == URL(OPENAI_URL).host:
        raise ModelError(
            f"{spec}: no API key",
            allowed=f"the key in the environment variable {access.api_key_env}",
            fix=f"export {access.api_key_env}=…, or --base-url for a server of your own",
        )
    price = prices.price(spec, base_url=base_url, given=access.prices)
    return OpenAIModel(model, base_url=base_url, key=key, timeout=access.timeout, name=spec, price=price)
