"""What went wrong with a call, in one vocabulary (`CallFailed`) for HTTP answers and for the exceptions of every SDK.

Pure: status, headers, body or an exception in, a `CallFailed` out. Nothing is retried here.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from simulator.errors import CallFailed

_DETAIL = 500

#: Statuses that mean one thing whatever the body says.
_CAUSES: dict[int, dict[str, Any]] = {
    401: {"cause": "auth", "stop_run": True},
    402: {"cause": "quota", "stop_run": True},
    403: {"cause": "auth", "stop_run": True},
    404: {"cause": "bad_request", "stop_run": True},
    405: {"cause": "bad_request", "stop_run": True},
    408: {"cause": "timeout", "retry": True},
    409: {"cause": "server", "retry": True},
    410: {"cause": "bad_request", "stop_run": True},
    425: {"cause": "server", "retry": True},
    429: {"cause": "rate_limit", "retry": True},
    501: {"cause": "bad_request", "stop_run": True},
}

#: A 429 with one of these codes is no rate limit: nothing will be served until somebody pays. (Google words plain rate
#: limits as "exceeded your current quota", so only codes count, never words.)
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})

#: The provider refused the prompt for what it says.
_FILTER_CODES = frozenset(
    {"content_filter", "content_policy_violation", "responsibleaipolicyviolation", "data_inspection_failed"}
)

#: LangChain's Azure model raises a bare ValueError for a filtered reply, OpenAI's library an exception of its own.
_FILTERED = re.compile(r"content filter being triggered|rejected by the content filter", re.IGNORECASE)

_CONTEXT_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"})
_CONTEXT_WORDS = re.compile(
    r"maximum context|context (?:length|window|size)|(?:prompt|input) is too long|too many (?:input )?tokens"
    r"|exceeds? the (?:maximum|max|limit)[^.]{0,40} tokens|input token count",
    re.IGNORECASE,
)

#: Exceptions of Python and of SDKs (httpx, requests, botocore, …) by the name of a class in their ancestry, the narrower
#: first: a timeout is also a connection error almost everywhere.
_EXCEPTIONS: dict[str, str] = {
    "TimeoutError": "timeout",
    "TimeoutException": "timeout",
    "Timeout": "timeout",
    "APITimeoutError": "timeout",
    "DeadlineExceeded": "timeout",
    "ClientPayloadError": "connection",
    "ClientResponseError": "malformed",
    "JSONDecodeError": "malformed",
    "DecodeError": "malformed",
    "ClientConnectionError": "connection",
    "TransportError": "connection",
    "APIConnectionError": "connection",
    "EndpointConnectionError": "connection",
    "OSError": "connection",
}


class ErrorBody(msgspec.Struct, frozen=True):
    """What an endpoint says about a failed call, whichever of the usual shapes it uses."""

    message: str = ""
    codes: frozenset[str] = frozenset()
    param: str = ""
    flagged: bool = False


def read_error(body: Any) -> ErrorBody:
    """From the JSON or the text of an answer: `{"error": {…}}`, `{"error": "…"}`, `{"detail": …}`, `{"message": …}`, text."""
    if not isinstance(body, Mapping):
        return ErrorBody(message=str(body or ""))
    error = body.get("error", body)
    if not isinstance(error, Mapping):
        return ErrorBody(message=str(error))
    inner, metadata = error.get("innererror"), error.get("metadata")
    codes = [error.get("code"), error.get("type"), error.get("status")]
    codes += [inner.get("code")] if isinstance(inner, Mapping) else []
    return ErrorBody(
        message=str(error.get("message") or error.get("detail") or error),
        codes=frozenset(str(code).lower() for code in codes if code is not None),
        param=str(error.get("param") or ""),
        flagged=isinstance(metadata, Mapping) and "flagged_input" in metadata,
    )


def from_http(status: int, headers: Mapping[str, str], body: Any) -> CallFailed:
    """What an HTTP answer that is not 2xx means. `body` is parsed JSON, or text. Headers are looked up in lower case."""
    error = read_error(body)
    detail = f"HTTP {status}: {error.message}"[:_DETAIL]
    after = retry_after(headers)
    if error.codes & _FILTER_CODES or error.flagged:
        return CallFailed("content_filter", detail)
    if status == 429 and error.codes & _QUOTA_CODES:
        return CallFailed("quota", detail, stop_run=True)
    if status in _CAUSES:
        return CallFailed(**_CAUSES[status], detail=detail, after=after)
    if status >= 500:
        return CallFailed("server", detail, retry=True, after=after)
    if error.codes & _CONTEXT_CODES or _CONTEXT_WORDS.search(error.message):
        return CallFailed("context_exceeded", detail)
    if 300 <= status < 400:
        moved = headers.get("location", "elsewhere")
        return CallFailed("bad_request", f"HTTP {status}: the endpoint moved to {moved}", stop_run=True)
    return CallFailed("bad_request", detail)


def from_exception(problem: Exception) -> CallFailed:
    """What an exception of an SDK, of a transport or of a user's own object means: the outermost of its causes we know."""
    for one in _chain(problem):
        if isinstance(one, CallFailed):
            return one
        status = _status(one)
        if status is not None:
            return from_http(status, _headers(one), _body(one))
        ancestry = {kind.__name__ for kind in type(one).__mro__}
        cause = next((cause for name, cause in _EXCEPTIONS.items() if name in ancestry), None)
        if cause is not None:
            return CallFailed(cause, _named(problem), retry=True)
    cause = "content_filter" if _FILTERED.search(str(problem)) else "unexpected"
    return CallFailed(cause, _named(problem))


def malformed(what: str) -> CallFailed:
    """The endpoint answered, but not in its own protocol. Asking again usually helps."""
    return CallFailed("malformed", what[:_DETAIL], retry=True)


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds the server told us to wait, or None: seconds, an HTTP date, or (some servers) an epoch time.

    Numbers from a billion up are epochs: read as seconds they would sleep for decades.
    """
    now = time.time() if now is None else now
    if milliseconds := _number(headers.get("retry-after-ms")):
        return milliseconds / 1000
    told = headers.get("retry-after")
    if told is None:
        return None
    seconds = _number(told)
    if seconds is None:
        return _until(told, now)
    if seconds >= 1e12:
        seconds /= 1000
    return max(0.0, seconds - now if seconds >= 1e9 else seconds)


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _until(date: str, now: float) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now)


def _named(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"[:_DETAIL]


def _chain(problem: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = problem
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _status(problem: BaseException) -> int | None:
    """`status_code` (openai, anthropic, requests, …), `status` (aiohttp), `code` (google); or inside a response (botocore)."""
    response = getattr(problem, "response", None)
    if isinstance(response, Mapping):
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        return status if isinstance(status, int) else None
    places = ((problem, "status_code"), (response, "status_code"), (problem, "status"), (problem, "code"))
    found = (getattr(holder, name, None) for holder, name in places)
    return next((int(value) for value in found if isinstance(value, int) and 300 <= value < 600), None)


def _headers(problem: BaseException) -> dict[str, str]:
    response = getattr(problem, "response", None)
    if isinstance(response, Mapping):
        headers = response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    else:
        headers = getattr(response, "headers", None) or {}
    return {str(name).lower(): str(value) for name, value in headers.items()}


def _body(problem: BaseException) -> Any:
    response = getattr(problem, "response", None)
    if isinstance(response, Mapping):
        error = response.get("Error", {})
        return {"message": error.get("Message"), "code": error.get("Code")}
    body = getattr(problem, "body", None)
    return body if isinstance(body, Mapping) else str(problem)
