"""Naming failures without a network: waiting times, words for a full context, exceptions of SDKs."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx
import openai
import pytest
import requests
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.errors import CallFailed
from simulator.models.failures import from_exception, from_http, retry_after

REQUEST = httpx.Request("POST", "http://localhost/v1/chat/completions")


def test_a_date_is_read_as_a_date() -> None:  # RL-01
    now = datetime(2026, 10, 21, 7, 28, tzinfo=UTC).timestamp()
    assert retry_after({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, now) == 30


def test_an_epoch_is_not_slept_for_decades() -> None:  # RL-03: from a billion on, a number is a moment
    assert retry_after({"retry-after": "1795852110"}, 1795852080) == 30


def test_a_day_and_more_is_still_seconds() -> None:
    assert retry_after({"retry-after": "90000"}, 0) == 90000


def test_milliseconds_are_read() -> None:
    assert retry_after({"retry-after-ms": "1500", "retry-after": "2"}) == 1.5


@given(st.text(max_size=40))
@settings(deadline=None)
def test_no_header_breaks_it_or_makes_us_wait_less_than_nothing(text) -> None:
    waited = retry_after({"retry-after": text})
    assert waited is None or waited >= 0


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"message": "too long", "code": "context_length_exceeded"}}),
        (400, {"error": {"message": "This model's maximum context length is 4096 tokens.", "code": 400}}),  # vLLM
        (400, {"error": {"message": "request exceeds", "type": "exceed_context_size_error"}}),  # llama.cpp
        (400, {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}}),  # Anthropic
        (400, {"error": {"message": "The input token count (2000000) exceeds the maximum number of tokens"}}),  # Google
        (413, "Input is too long for requested model."),  # Bedrock
    ],
)
def test_a_full_context(status, body) -> None:
    failure = from_http(status, {}, body)
    assert (failure.cause, failure.retry, failure.stop_run) == ("context_exceeded", False, False)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"message": "filtered", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),  # Azure
        (400, {"error": {"message": "no", "code": "content_policy_violation"}}),
        (403, {"error": {"message": "flagged", "code": 403, "metadata": {"flagged_input": "…"}}}),  # OpenRouter
    ],
)
def test_a_filtered_prompt(status, body) -> None:
    assert from_http(status, {}, body).cause == "content_filter"


def test_googles_wording_of_a_rate_limit_is_no_quota() -> None:
    body = {
        "error": {"message": "You exceeded your current quota, please check your plan.", "status": "RESOURCE_EXHAUSTED"}
    }
    failure = from_http(429, {"retry-after": "3"}, body)
    assert (failure.cause, failure.retry, failure.after, failure.stop_run) == ("rate_limit", True, 3, False)


class BotocoreError(Exception):
    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.response = {
            "Error": {"Code": code, "Message": "slow"},
            "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": {"Retry-After": "4"}},
        }


class GoogleError(Exception):
    code = 503


def openai_error(kind: type[openai.APIStatusError], status: int, **body: str) -> openai.APIStatusError:
    response = httpx.Response(status, request=REQUEST, headers={"Retry-After": "5"})
    return kind("said", response=response, body=body)


def requests_response(status: int) -> requests.Response:
    response = requests.Response()
    response.status_code = status
    response.headers["Retry-After"] = "6"
    return response


def caused(outer: Exception, inner: Exception) -> Exception:
    outer.__cause__ = inner
    return outer


@pytest.mark.parametrize(
    ("problem", "cause", "retry", "after"),
    [
        (openai_error(openai.RateLimitError, 429), "rate_limit", True, 5),
        (openai_error(openai.RateLimitError, 429, code="insufficient_quota"), "quota", False, None),
        (openai_error(openai.BadRequestError, 400, code="content_filter"), "content_filter", False, None),
        (openai_error(openai.InternalServerError, 500), "server", True, 5),
        (openai.APITimeoutError(request=REQUEST), "timeout", True, None),
        (caused(openai.APIConnectionError(request=REQUEST), httpx.ConnectError("no")), "connection", True, None),
        (httpx.ReadTimeout("slow"), "timeout", True, None),
        (httpx.RemoteProtocolError("incomplete"), "connection", True, None),
        (BotocoreError(429, "ThrottlingException"), "rate_limit", True, 4),
        (GoogleError("unavailable"), "server", True, None),
        (TimeoutError(), "timeout", True, None),
        (ConnectionResetError("gone"), "connection", True, None),
        (requests.HTTPError("no", response=requests_response(503)), "server", True, 6),
        (caused(RuntimeError("agent"), openai_error(openai.RateLimitError, 429)), "rate_limit", True, 5),
        (CallFailed("auth", stop_run=True), "auth", False, None),
        (openai.ContentFilterFinishReasonError(), "content_filter", False, None),
        (ZeroDivisionError("a bug"), "unexpected", False, None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_exceptions_of_sdks(problem, cause, retry, after) -> None:
    failure = from_exception(problem)
    assert (failure.cause, failure.retry, failure.after) == (cause, retry, after)


def test_an_unexpected_exception_keeps_its_name() -> None:
    assert from_exception(ZeroDivisionError("a bug")).detail == "ZeroDivisionError: a bug"
