"""From a name to a model, and what a wrong name gets."""

from __future__ import annotations

import pytest

from simulator.errors import ModelError
from simulator.models.model import MAKERS, make_model
from tasks.errors import ShardtalkError, UnknownName


@pytest.mark.parametrize("spec", ["fake:echo", "synthetic:aptitude=0.8", "openai:qwen2.5:0.5b", "python:json:dumps"])
def test_the_spec_is_the_name(spec) -> None:
    assert make_model(spec, base_url="http://127.0.0.1:1/v1").name == spec


def test_an_unknown_prefix_names_the_close_ones() -> None:
    with pytest.raises(UnknownName, match="did you mean anthropic"):
        make_model("antropic:claude")


@pytest.mark.parametrize("spec", ["gpt-4o", "openai:", ":x", ""])
def test_a_spec_has_two_parts(spec) -> None:
    with pytest.raises(ShardtalkError):
        make_model(spec)


def test_a_bare_name_is_explained() -> None:
    with pytest.raises(ModelError, match="openai:gpt-4o"):
        make_model("gpt-4o")


def test_every_kind_of_the_readme_is_there() -> None:
    assert {"openai", "anthropic", "google_genai", "ollama", "python", "local", "fake", "synthetic"} <= set(MAKERS)
