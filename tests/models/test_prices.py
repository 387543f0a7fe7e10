"""What calls cost: computed from published prices by hand."""

from __future__ import annotations

import itertools

import pytest
from genai_prices import Usage as PricedUsage
from genai_prices import calc_price
from genai_prices.data import providers
from genai_prices.types import TieredPrices

from simulator.models import prices
from tasks.nouns import Usage

USAGE = Usage(input=1000, output=100, cached=400)
OPENAI, OPENROUTER = "https://api.openai.com/v1", "https://openrouter.ai/api/v1"


def test_a_known_price() -> None:
    # gpt-4o-mini: $0.15 a million tokens in, $0.075 where cached, $0.60 out.
    dollars = prices.cost("openai:gpt-4o-mini", USAGE)
    assert dollars == pytest.approx((600 * 0.15 + 400 * 0.075 + 100 * 0.60) / 1e6)


@pytest.mark.parametrize(
    "spec",
    [
        "openai:no-such-model",
        "nobody:gpt-4o",
        "python:a.b:c",
        "openai:",
        "",
        "anthropic:gpt-4o-mini-x",
    ],
)
def test_an_unknown_price_is_none(spec) -> None:
    assert prices.cost(spec, USAGE) is None


@pytest.mark.parametrize(
    ("spec", "base_url", "known"),
    [
        ("openai:gpt-4o-mini", OPENAI, True),
        ("openai:openai/gpt-4o-mini", OPENROUTER, True),
        (
            "openai:gpt-4o-mini",
            "http://localhost:8000/v1",
            False,
        ),  # a server of one's own may call anything gpt-4o-mini
        ("openai:gpt-4o-mini", "https://gateway.example/v1", False),
    ],
)
def test_the_endpoint_decides_who_charges(spec, base_url, known) -> None:
    assert (prices.price(spec, base_url=base_url)(USAGE) is not None) == known


def test_a_given_price_wins() -> None:
    price = prices.price("openai:gpt-4o-mini", base_url=OPENAI, given={"openai:gpt-4o-mini": (1.0, 2.0)})
    assert price(USAGE) == pytest.approx((1000 * 1.0 + 100 * 2.0) / 1e6)


@pytest.mark.parametrize(
    "spec", ["anthropic:claude-sonnet-4-5", "google_genai:gemini-2.5-pro", "mistralai:mistral-large-latest"]
)
def test_langchains_prefixes_are_known_providers(spec) -> None:
    assert prices.cost(spec, USAGE) > 0


@pytest.mark.parametrize("spec", ["local:smollm2", "fake:echo", "synthetic:aptitude=0.9"])
def test_what_runs_here_is_free_by_declaration(spec) -> None:
    assert prices.cost(spec, USAGE) == 0.0


def library_price(provider: str, model: str, usage: Usage) -> float | None:
    tokens = PricedUsage(input_tokens=usage.input, output_tokens=usage.output, cache_read_tokens=usage.cached)
    try:
        return float(calc_price(tokens, model, provider_id=provider).total_price)
    except LookupError:
        return None


def test_the_quick_way_agrees_with_the_library_for_every_model_it_prices() -> None:
    chosen = {"openai", "anthropic", "google", "groq", "deepseek", "x-ai"}
    models = [(p.id, m.id) for p in providers if p.id in chosen for m in p.models]
    usages = [Usage(input=700, output=30), Usage(input=300_000, output=900, cached=100_000), Usage()]
    priced = 0
    for (provider, model), usage in itertools.product(models, usages):
        ours, theirs = prices.cost(f"{provider}:{model}", usage), library_price(provider, model, usage)
        assert ours == (theirs if theirs is None else pytest.approx(theirs)), (provider, model)
        priced += theirs is not None
    assert priced > 200


def test_a_tiered_model_is_among_them() -> None:
    calculation = calc_price(PricedUsage(input_tokens=1, output_tokens=1), "gemini-2.5-pro", provider_id="google")
    assert any(isinstance(value, TieredPrices) for value in vars(calculation.model_price).values())
