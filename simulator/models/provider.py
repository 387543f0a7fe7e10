"""Every provider we have no client of our own for: LangChain's chat models, made by `init_chat_model`."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, TypeVar

import msgspec
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from pydantic import BaseModel

from simulator.errors import ModelError
from simulator.models import prices, wire
from simulator.models.access import Access
from simulator.models.failures import from_exception
from simulator.models.langchain_messages import reply_of, to_langchain
from simulator.models.said import filtered
from tasks.nouns import Message, Options, Reply

T = TypeVar("T")

#: Prefix -> the package that brings it.
PACKAGES = {
    "anthropic": "langchain-anthropic",
    "anthropic_bedrock": "langchain-aws",
    "azure_ai": "langchain-azure-ai",
    "azure_openai": "langchain-openai",
    "baseten": "langchain-baseten",
    "bedrock": "langchain-aws",
    "bedrock_converse": "langchain-aws",
    "cohere": "langchain-cohere",
    "deepseek": "langchain-deepseek",
    "fireworks": "langchain-fireworks",
    "google_anthropic_vertex": "langchain-google-vertexai",
    "google_genai": "langchain-google-genai",
    "google_vertexai": "langchain-google-vertexai",
    "groq": "langchain-groq",
    "huggingface": "langchain-huggingface",
    "ibm": "langchain-ibm",
    "litellm": "langchain-litellm",
    "mistralai": "langchain-mistralai",
    "nvidia": "langchain-nvidia-ai-endpoints",
    "ollama": "langchain-ollama",
    "openrouter": "langchain-openrouter",
    "perplexity": "langchain-perplexity",
    "together": "langchain-together",
    "upstage": "langchain-upstage",
    "xai": "langchain-xai",
}

#: What we want to set -> the names chat models have for it. The first one a class declares is used; a class that declares
#: none goes without.
_FIELDS = {
    "temperature": ("temperature",),
    "max_tokens": ("max_tokens", "max_output_tokens", "num_predict", "max_new_tokens"),
    "seed": ("seed",),
    "logprobs": ("logprobs",),
    "max_retries": ("max_retries",),
    "timeout": ("timeout", "request_timeout", "default_request_timeout"),
    "base_url": ("base_url", "openai_api_base", "anthropic_api_url", "azure_endpoint"),
}


async def isolated(call: Coroutine[Any, Any, T], seconds: float) -> T:
    """Runs a LangChain call in a context of its own: no config, callback or thread of the graph that asks reaches it."""
    async with asyncio.timeout(seconds):
        return await asyncio.create_task(call, context=contextvars.Context())


class ChatModel:
    """A LangChain chat model. It keeps its own configuration; what `Options` says is set on a copy for each call."""

    def __init__(self, name: str, chat: BaseChatModel, *, timeout: float, price: prices.Price) -> None:
        self.name = name
        self._chat, self._timeout, self._price = chat, timeout, price

    async def call(self, messages: Sequence[Message], options: Options) -> Reply:
        """One try. Raises `CallFailed`."""
        started = time.perf_counter()
        try:
            reply = await self._ask(messages, options)
        except Exception as problem:  # noqa: BLE001 -- every SDK has its own; failures.py tells them apart
            reply = _from_problem(problem, self.name, messages)
        return msgspec.structs.replace(reply, cost=self._price(reply.usage), seconds=time.perf_counter() - started)

    async def close(self) -> None:
        """LangChain closes its clients itself."""

    async def _ask(self, messages: Sequence[Message], options: Options) -> Reply:
        chat = self._chat.model_copy(update=_settings(type(self._chat), _sampling(options)))
        bound: Runnable[LanguageModelInput, AIMessage] = chat
        if options.tools:
            bound = chat.bind_tools([dict(tool) for tool in options.tools])
        heard = to_langchain(messages)
        if options.schema is None:
            answers: Sequence[BaseMessage] = [await isolated(bound.ainvoke(heard), self._timeout)]
        else:
            answers = [await isolated(_structured(chat, options.schema, heard), self._timeout)]
        return reply_of(answers, self.name, messages)


async def _structured(chat: BaseChatModel, schema: Any, heard: list[BaseMessage]) -> BaseMessage:
    """A reply that follows `schema`, whose text is the JSON, by whatever way the provider has for it."""
    titled = {"title": "reply", "description": "The reply.", **schema}
    try:
        shaped = chat.with_structured_output(titled, include_raw=True)
    except NotImplementedError:  # the prompt asks for the form as well
        return await chat.ainvoke(heard)
    answer: Any = await shaped.ainvoke(heard)
    raw: AIMessage = answer["raw"]
    if answer["parsed"] is None:
        return raw
    text = msgspec.json.encode(answer["parsed"]).decode()
    return raw.model_copy(update={"content": text, "tool_calls": [], "invalid_tool_calls": []})


def _from_problem(problem: Exception, model: str, asked: Sequence[Message]) -> Reply:
    """The reply hidden in an exception (OpenAI's library raises when structured output was cut short), or `CallFailed`."""
    completion = getattr(problem, "completion", None)
    if isinstance(completion, BaseModel):
        return wire.read(completion.model_dump(), model, asked)
    failure = from_exception(problem)
    if failure.cause == "content_filter":
        return filtered(model)
    raise failure from problem


def _sampling(options: Options) -> dict[str, Any]:
    wanted = {
        "temperature": options.temperature,
        "max_tokens": options.max_tokens,
        "seed": options.seed,
        "logprobs": options.logprobs or None,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _settings(kind: type[BaseChatModel], wanted: dict[str, Any]) -> dict[str, Any]:
    """`wanted` under the names that `kind` has for it."""
    found = {name: _declared(kind, _FIELDS[name]) for name in wanted}
    return {field: wanted[name] for name, field in found.items() if field is not None}


def _declared(kind: type[BaseChatModel], names: Iterable[str]) -> str | None:
    """The field of `kind` that goes by one of these names, as a field or as its alias."""
    fields = kind.model_fields
    aliases = {info.alias: field for field, info in fields.items() if info.alias}
    return next(
        (name if name in fields else aliases[name] for name in names if name in fields or name in aliases), None
    )


def make_provider(spec: str, model: str, access: Access) -> ChatModel:
    """`PREFIX:NAME` of any provider in `PACKAGES`; its own retries are switched off.

    Raises:
        ModelError: its package is missing, or it refuses to be made (most often: no key in the environment).
    """
    from langchain.chat_models import init_chat_model  # half a second

    prefix = spec.partition(":")[0]
    try:
        plain = init_chat_model(model, model_provider=prefix)
        wanted: dict[str, Any] = {"max_retries": 0, "timeout": access.timeout}
        if access.base_url is not None:
            wanted["base_url"] = access.base_url
        chat = init_chat_model(model, model_provider=prefix, **_settings(type(plain), wanted))
    except ImportError as problem:
        fix = f"pip install {PACKAGES[prefix]}"
        raise ModelError(f"{spec} needs a package that is not installed: {problem}", fix=fix) from problem
    except Exception as problem:
        raise ModelError(
            f"{spec} cannot be made: {problem}", fix=f"set the key {PACKAGES[prefix]} asks for in the environment"
        ) from problem
    price = prices.price(spec, base_url=access.base_url, given=access.prices)
    return ChatModel(spec, chat, timeout=access.timeout, price=price)
