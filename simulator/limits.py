"""Limits: how many calls one endpoint gets at once and a minute, and when a budget is used up.

`Gate` adapts: it grows while that brings more replies a second, shrinks when the server says it is too much, and stays shut
as long as the server asked for. Pure bookkeeping on the event loop's clock; it makes no call itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Mapping

import msgspec

from simulator.errors import CallFailed, Halt
from simulator.means import Means
from simulator.models.model import Model
from tasks.nouns import Reply

#: Calls at once a gate starts with; how it grows at first and later; how it shrinks when the server is overrun, or struggles.
START, DOUBLE, GROW, CUT, EASE = 16, 2.0, 1.05, 0.7, 0.9
#: Growth is kept if replies a second rose by this share; else the gate waits so many rounds before it tries again.
HELPED, PATIENCE = 1.03, 20
#: Tokens of a call nobody has seen yet.
FIRST_GUESS = 500.0

#: Failures that say "less", by how much; a lost connection may be either side's.
_SHRINKS = {"rate_limit": CUT, "server": EASE, "timeout": EASE, "connection": EASE}


class Pace:
    """Lets through so many units a minute, evenly, with at most a second's worth at once."""

    def __init__(self, per_minute: float, clock: Callable[[], float]) -> None:
        self._seconds_each, self._clock = 60.0 / per_minute, clock
        self._full_at = clock()
        self._burst = max(1.0, self._seconds_each)

    def delay(self, units: float) -> float:
        """Books the units and says how many seconds to wait before using them."""
        now = self._clock()
        start = max(now, self._full_at)
        self._full_at = start + units * self._seconds_each
        return max(0.0, start - self._burst - now) if start > now else 0.0

    def correct(self, units: float) -> None:
        """Books what was used beyond the guess, or gives back what was not."""
        self._full_at += units * self._seconds_each


class Gate:
    """The way to one endpoint.

    Args:
        most: calls at once, never exceeded.
        rpm, tpm: requests and tokens a minute, None for no limit.
        clock: seconds, monotonic.

    Attributes:
        answered: the endpoint has given a reply.
    """

    def __init__(
        self,
        most: int,
        rpm: float | None = None,
        tpm: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.most, self._clock = most, clock
        self.limit = float(min(most, START))
        self.under_way = 0
        self.answered = False
        self.shut_until = 0.0
        self._requests = Pace(rpm, clock) if rpm else None
        self._tokens = Pace(tpm, clock) if tpm else None
        self._tokens_a_call = FIRST_GUESS
        self._places: deque[asyncio.Future[None]] = deque()
        self._halting = asyncio.Event()
        self._why = ""
        self._last_cut = -1.0
        self._growth = _Growth(clock)

    async def enter(self) -> float:
        """Returns when a call may start, with the time it did. Raises `Halt` when the run is being stopped."""
        await self._sleep(self._paced())
        while True:
            self._raise_if_halted()
            if (shut := self.shut_until - self._clock()) > 0:
                await self._sleep(shut)
            elif self.under_way < int(self.limit):
                self.under_way += 1
                return self._clock()
            else:
                self._growth.saturated = True
                await self._place()

    def _paced(self) -> float:
        """Seconds to wait for the sake of the limits a minute."""
        requests = self._requests.delay(1) if self._requests else 0.0
        tokens = self._tokens.delay(self._tokens_a_call) if self._tokens else 0.0
        return max(requests, tokens)

    def leave(self, entered: float, reply: Reply | None, failure: CallFailed | None) -> None:
        """The call that entered then is over."""
        self.under_way -= 1
        if reply is not None:
            self._learn(reply)
        elif failure is not None and failure.cause in _SHRINKS:
            self._shrink(entered, failure)
        self._wake()

    def halt(self, why: str) -> None:
        """Nobody enters any more; those who wait are told."""
        self._why = why
        self._halting.set()
        self._wake()

    def _raise_if_halted(self) -> None:
        if self._halting.is_set():
            raise Halt(self._why)

    def _learn(self, reply: Reply) -> None:
        self.answered = True
        used = reply.usage.input + reply.usage.output
        if self._tokens:
            self._tokens.correct(used - self._tokens_a_call)
        self._tokens_a_call += 0.1 * (used - self._tokens_a_call)
        self.limit = min(float(self.most), self._growth.after_success(self.limit))

    def _shrink(self, entered: float, failure: CallFailed) -> None:
        """Once for all calls that were under way at the same time: they failed for the same reason."""
        now = self._clock()
        if failure.after is not None:
            self.shut_until = max(self.shut_until, now + failure.after)
        if entered > self._last_cut:
            self._last_cut = now
            self.limit = max(1.0, self.limit * _SHRINKS[failure.cause])
            self._growth.after_failure()

    async def _sleep(self, seconds: float) -> None:
        """Sleeps so long, or until the run is stopped."""
        if seconds > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._halting.wait(), seconds)

    async def _place(self) -> None:
        """Waits until a place may be free."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._places.append(place)
        try:
            await place
        finally:
            if not place.done() or place.cancelled():
                self._places.remove(place)

    def _wake(self) -> None:
        free = len(self._places) if self._halting.is_set() else int(self.limit) - self.under_way
        for _ in range(min(free, len(self._places))):
            place = self._places.popleft()
            if not place.done():
                place.set_result(None)


class _Growth:
    """Decides round by round (as many replies as there are places) whether more places bring more replies a second."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.saturated = False
        self._fast, self._best, self._before, self._patience = True, 0.0, 0.0, 0
        self._replies, self._since = 0, clock()

    def after_success(self, limit: float) -> float:
        """The limit from now on."""
        self._replies += 1
        if self._replies < limit:
            return limit
        rate, saturated = self._end_round()
        if not saturated:
            return limit
        if self._patience:
            self._patience -= 1
            self._best = rate if self._patience == 0 else self._best
            return limit
        if rate > self._best * HELPED or self._best == 0.0:
            self._best, self._before = rate, limit
            return limit * DOUBLE if self._fast else max(limit + 1, limit * GROW)
        self._fast, self._patience = False, PATIENCE
        return self._before or limit

    def after_failure(self) -> None:
        """The server said less: what was measured before no longer holds."""
        self._fast, self._best, self._before, self._patience = False, 0.0, 0.0, 1
        self._end_round()

    def _end_round(self) -> tuple[float, bool]:
        now, replies, saturated = self._clock(), self._replies, self.saturated
        rate = replies / max(1e-6, now - self._since)
        self._replies, self._since, self.saturated = 0, now, False
        return rate, saturated


class Budget(msgspec.Struct):
    """What a run may still spend, over all roles. Calls under way are reckoned with at the mean of those before.

    Attributes:
        usd, tokens, until: limits, None for none; `until` is Unix time.
        spent_usd, spent_tokens: so far, earlier sessions included.
    """

    usd: float | None = None
    tokens: int | None = None
    until: float | None = None
    spent_usd: float = 0.0
    spent_tokens: int = 0
    _calls: int = 0
    _usd_now: float = 0.0
    _tokens_now: int = 0
    _under_way: int = 0

    def admit(self) -> str | None:
        """Books a call; or says which budget it would break."""
        ahead = (self._under_way + 1) / max(1, self._calls)
        if self.usd is not None and self.spent_usd + ahead * self._usd_now > self.usd:
            return f"budget of ${self.usd:g} used up"
        if self.tokens is not None and self.spent_tokens + ahead * self._tokens_now > self.tokens:
            return f"budget of {self.tokens:,} tokens used up"
        if self.until is not None and time.time() >= self.until:
            return "budget of hours used up"
        self._under_way += 1
        return None

    def settle(self, reply: Reply | None) -> None:
        """The call has ended, with a reply or without one."""
        self._under_way -= 1
        if reply is None:
            return
        usd, tokens = reply.cost or 0.0, reply.usage.input + reply.usage.output
        self._calls += 1
        self._usd_now += usd
        self._tokens_now += tokens
        self.spent_usd += usd
        self.spent_tokens += tokens

    def share(self, n: int) -> Budget:
        """One of `n` equal shares of what is left."""
        return Budget(
            usd=None if self.usd is None else max(0.0, self.usd - self.spent_usd) / n,
            tokens=None if self.tokens is None else max(0, self.tokens - self.spent_tokens) // n,
            until=self.until,
        )


def make_gate(model: Model, means: Means) -> Gate:
    """The gate before a model, with the limits the user set for it. A model that runs here says itself how much it can do."""

    def limit(limits: Mapping[str, float]) -> float | None:
        return limits.get(model.name, limits.get("*"))

    most = min(means.max_concurrency, getattr(model, "slots", means.max_concurrency))
    return Gate(most, limit(means.rpm), limit(means.tpm))
