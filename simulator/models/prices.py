"""What a call costs, from the library genai-prices. An unknown price is None, never 0 and never an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeAlias

from genai_prices import Usage as PricedUsage
from genai_prices import calc_price
from genai_prices.types import PriceCalculation, TieredPrices

from tasks.nouns import Usage

#: US dollars of one call, or None.
Price: TypeAlias = Callable[[Usage], float | None]

_MILLION = 1_000_000

#: Prefix of our specs -> id in genai-prices, where they differ.
_PROVIDERS = {
    "azure_ai": "azure",
    "azure_openai": "azure",
    "anthropic_bedrock": "aws",
    "bedrock": "aws",
    "bedrock_converse": "aws",
    "google_anthropic_vertex": "google",
    "google_genai": "google",
    "google_vertexai": "google",
    "mistralai": "mistral",
    "xai": "x-ai",
}


#: Prefixes of models that run in this process: they cost nothing by declaration.
_RUN_HERE = frozenset({"fake", "local", "synthetic"})


def cost(spec: str, usage: Usage) -> float | None:
    """US dollars of `usage` for a spec such as `openai:gpt-4o-mini`, at its provider's own endpoint."""
    return price(spec)(usage)


def price(spec: str, *, base_url: str | None = None, given: Mapping[str, tuple[float, float]] | None = None) -> Price:
    """How to price the calls of one model; looked up once, then a few multiplications a call.

    Args:
        base_url: the endpoint, if it is not the provider's own: its host decides who charges.
        given: the user's own prices, US dollars per million (input, output) tokens, by spec.
    """
    if given and spec in given:
        per_input, per_output = given[spec]
        return _linear(per_input / _MILLION, per_input / _MILLION, per_output / _MILLION)
    if spec.partition(":")[0] in _RUN_HERE:
        return free
    return _listed(spec, base_url)


def free(_: Usage) -> float | None:
    """The price of models that run here: declared, not looked up."""
    return 0.0


def unknown(_: Usage) -> float | None:
    """The price nobody told us."""
    return None


@cache
def _listed(spec: str, base_url: str | None) -> Price:
    prefix, _, model = spec.partition(":")

    def calculate(usage: Usage) -> PriceCalculation:
        tokens = PricedUsage(
            input_tokens=usage.input, output_tokens=usage.output, cache_read_tokens=min(usage.cached, usage.input)
        )
        if base_url is not None:
            return calc_price(tokens, model, provider_api_url=base_url)
        return calc_price(tokens, model, provider_id=_PROVIDERS.get(prefix, prefix))

    try:
        sample = calculate(Usage(input=_MILLION, output=_MILLION))
    except LookupError:
        return unknown
    if _depends(sample):
        return lambda usage: float(calculate(usage).total_price)
    fresh, cached, output = (
        float(calculate(usage).total_price) / _MILLION
        for usage in (
            Usage(input=_MILLION),
            Usage(input=_MILLION, cached=_MILLION),
            Usage(output=_MILLION),
        )
    )
    return _linear(fresh, cached, output)


def _depends(sample: PriceCalculation) -> bool:
    """Whether a token's price depends on the size or the time of the call."""
    tiered = any(isinstance(value, TieredPrices) for value in vars(sample.model_price).values())
    return tiered or isinstance(sample.model.prices, list)


def _linear(fresh: float, cached: float, output: float) -> Price:
    def price_of(usage: Usage) -> float | None:
        known = min(usage.cached, usage.input)
        return (usage.input - known) * fresh + known * cached + usage.output * output

    return price_of
