"""Everything an endpoint can do wrong, over real HTTP, and what each is called. Cases RL-03, RL-05, RL-08, PR-03, PR-05."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from simulator.errors import CallFailed
from simulator.models.model import make_model
from tasks.nouns import Options

#: fault -> (cause, retry, stop_run)
FAILURES = {
    "rate_limited": ("rate_limit", True, False),
    "quota": ("quota", False, True),  # RL-05
    "server_error": ("server", True, False),
    "unavailable": ("server", True, False),
    "bad_key": ("auth", False, True),  # RL-08
    "missing_model": ("bad_request", False, True),
    "bad_request": ("bad_request", False, False),  # RL-08
    "context_exceeded": ("context_exceeded", False, False),
    "reset": ("connection", True, False),
    "half_body": ("connection", True, False),
    "invalid_json": ("malformed", True, False),
    "wrong_type": ("malformed", True, False),
}

#: fault -> (text, finish)
REPLIES = {
    "no_choices": ("", "empty"),  # PR-03
    "empty": ("", "empty"),
    "null": ("", "empty"),
    "refusal": ("I can't help with that.", "stop"),
    "filtered_prompt": ("", "content_filter"),  # PR-05: an outcome that is recorded, not an error
    "filtered_reply": ("", "content_filter"),
    "cut_short": ("The answer is 42.", "length"),
    "no_usage": ("The answer is 42.", "stop"),
    "slow_drip": ("The answer is 42.", "stop"),
    "late": ("The answer is 42.", "stop"),
}


@pytest.mark.parametrize("fault", FAILURES)
async def test_failures_are_named_and_never_tried_again_here(ask, server, loopback, fault) -> None:
    server.plan = lambda number, body: loopback.FAULTS[fault]()
    with pytest.raises(CallFailed) as failed:
        await ask(max_tokens=10)
    problem = failed.value
    assert (problem.cause, problem.retry, problem.stop_run) == FAILURES[fault], problem.detail
    assert server.count == 1
    server.plan = ()
    assert (await ask()).text == "The answer is 42."  # the client is as good as new


@pytest.mark.parametrize("fault", REPLIES)
async def test_odd_answers_are_replies(ask, server, loopback, fault) -> None:
    server.plan = [loopback.FAULTS[fault]()]
    reply = await ask()
    assert (reply.text, reply.finish) == REPLIES[fault]
    assert len(reply.messages) == 1


def test_every_fault_of_the_server_is_covered(loopback) -> None:
    assert set(loopback.FAULTS) - {"rate_limited_seconds", "rate_limited_date"} == {*FAILURES, *REPLIES}


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        (lambda: "7", 7, 7),
        (lambda: "0.5", 0.5, 0.5),
        (lambda: formatdate(time.time() + 30, usegmt=True), 27, 31),
        (lambda: str(int(time.time()) + 30), 27, 31),  # RL-03: some servers send an epoch time
        (lambda: str((int(time.time()) + 30) * 1000), 27, 31),
        (lambda: formatdate(time.time() - 30, usegmt=True), 0, 0),
    ],
    ids=["seconds", "fraction", "date", "epoch", "epoch in ms", "past"],
)
async def test_retry_after(ask, server, loopback, header, least, most) -> None:
    server.plan = [loopback.rate_limited(header())]
    with pytest.raises(CallFailed) as failed:
        await ask()
    assert least <= failed.value.after <= most


async def test_no_or_unreadable_retry_after(ask, server, loopback) -> None:
    for told in (None, "soon", "nan", "", "-"):
        server.plan = [loopback.rate_limited(told)]
        with pytest.raises(CallFailed) as failed:
            await ask()
        assert failed.value.after is None
        assert failed.value.retry


async def test_a_call_that_takes_too_long(server, loopback, question) -> None:
    model = make_model("openai:assistant", base_url=server.url, timeout=0.3)
    for slow in (loopback.Answer(delay=5.0), loopback.Answer(drip=5.0)):
        server.plan = [slow]
        with pytest.raises(CallFailed) as failed:
            await model.call(question, Options())
        assert (failed.value.cause, failed.value.retry) == ("timeout", True)
    await model.close()


async def test_nobody_listens(loopback, question) -> None:
    with loopback.Threaded(loopback.Loopback()) as server:
        url = server.url
    model = make_model("openai:assistant", base_url=url)
    with pytest.raises(CallFailed, match=r"refused|connect") as failed:
        await model.call(question, Options())
    assert (failed.value.cause, failed.value.retry, failed.value.stop_run) == ("connection", True, False)
    await model.close()


async def test_what_speaks_no_http(ask, server, loopback) -> None:
    loopback_http = loopback._http
    loopback._http = lambda answer, raw: b"SSH-2.0-OpenSSH_9.9\r\n\r\n"
    try:
        with pytest.raises(CallFailed) as failed:
            await ask()
    finally:
        loopback._http = loopback_http
    assert (failed.value.cause, failed.value.retry) == ("malformed", True)


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        (b"[]", "malformed"),
        (b"{}", "malformed"),
        (b'{"choices": null}', "malformed"),
        (b"[" * 100_000, "malformed"),
        (b'{"error": {"message": "Provider returned error", "code": 502}}', "server"),
        (b'{"error": {"message": "slow down", "code": 429}}', "rate_limit"),
        (b'{"choices": [{"error": {"message": "upstream", "code": 502}}]}', "server"),
    ],
)
async def test_a_200_that_is_none(ask, server, loopback, body, cause) -> None:
    server.plan = [loopback.Answer(body=body)]
    with pytest.raises(CallFailed) as failed:
        await ask()
    assert (failed.value.cause, failed.value.retry) == (cause, True)


async def test_an_endpoint_that_moved_is_not_followed(ask, server, loopback) -> None:
    server.plan = [loopback.Answer(status=301, headers={"Location": "https://elsewhere.example/v1"}, body=b"")]
    with pytest.raises(CallFailed, match=r"elsewhere\.example") as failed:
        await ask()
    assert failed.value.stop_run


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "boom", "type": "x"}},
        {"error": "boom"},
        {"detail": "boom"},
        {"message": "boom", "code": 400, "object": "error"},
        b"boom",
        b"\xff boom",
    ],
)
async def test_the_message_of_the_server_is_kept_whatever_its_shape(ask, server, loopback, body) -> None:
    server.plan = [loopback.Answer(status=400, body=body)]
    with pytest.raises(CallFailed, match="boom"):
        await ask()


async def test_a_key_repeated_by_the_server_is_not_kept(server, loopback, question, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-123")
    server.plan = [loopback.error(401, "Incorrect API key provided: sk-secret-123.")]
    model = make_model("openai:assistant", base_url=server.url)
    with pytest.raises(CallFailed) as failed:
        await model.call(question, Options())
    await model.close()
    assert "sk-secret-123" not in str(failed.value)
    assert "***" in failed.value.detail
