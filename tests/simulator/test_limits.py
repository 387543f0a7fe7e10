"""Gates, paces and budgets, on a clock of the test's own; and pauses that never undercut what the server said."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.calls import LONGEST_WAIT, pause
from simulator.errors import CallFailed, Halt
from simulator.limits import START, Budget, Gate, Pace
from tasks.nouns import Message, Reply, Usage


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def reply(tokens: int = 10, cost: float | None = None) -> Reply:
    return Reply((Message("assistant", "x"),), usage=Usage(input=tokens, output=0), cost=cost)


@given(after=st.one_of(st.none(), st.floats(0, 3600)), tries=st.integers(0, 12), seed=st.integers())
def test_a_pause_is_never_shorter_than_told_and_never_the_same(after, tries, seed):
    waits = {pause(tries, after, f"{seed}/{k}") for k in range(20)}
    assert min(waits) >= (min(LONGEST_WAIT, 2.0**tries) if after is None else after)
    assert len(waits) > 1  # RL-06: 20 clients do not wake together
    assert max(waits) <= (after or 0) + 1.5 * LONGEST_WAIT + 1


@settings(deadline=None)
@given(rpm=st.sampled_from([6, 60, 600, 6000]), n=st.integers(2, 400))
def test_a_pace_keeps_its_rate(rpm, n):
    """However fast calls come, no more start in any minute than the limit, a second's burst aside."""
    clock = Clock()
    pace = Pace(rpm, clock)
    starts = [clock.now + pace.delay(1) for _ in range(n)]
    assert starts == sorted(starts)
    burst = max(1.0, rpm / 60)
    for i, start in enumerate(starts):
        within = sum(1 for other in starts[i:] if other < start + 60)
        assert within <= rpm + burst + 1


def test_a_pace_books_what_was_really_used():
    clock = Clock()
    pace = Pace(6000, clock)  # 100 tokens a second
    pace.delay(100)
    pace.correct(900)  # it took 1000
    assert pace.delay(100) == pytest.approx(9.0)


async def enters(gate: Gate) -> bool:
    """Whether a place is free right now."""
    waiting = asyncio.create_task(gate.enter())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    if waiting.done():
        return True
    waiting.cancel()
    return False


async def test_no_more_calls_at_once_than_there_are_places():
    gate = Gate(3, clock=Clock())
    entered = [await gate.enter() for _ in range(3)]
    assert not await enters(gate)
    gate.leave(entered[0], reply(), None)
    assert await enters(gate)


async def saturate(gate: Gate, clock: Clock, rounds: int, throughput: float) -> None:
    """Keeps all places busy; so many replies a second come back whatever the number of places."""
    for _ in range(rounds):
        entered = [await gate.enter() for _ in range(int(gate.limit) - gate.under_way)]
        waiting = asyncio.create_task(gate.enter())
        await asyncio.sleep(0)
        for start in entered:
            clock.now += 1 / min(throughput, len(entered) / 0.1)
            gate.leave(start, reply(), None)
        start = await waiting
        gate.leave(start, reply(), None)


async def test_places_grow_while_that_helps_and_not_beyond():
    clock = Clock()
    gate = Gate(10_000, clock=clock)
    await saturate(gate, clock, rounds=12, throughput=400)  # 0.1 s a call: 40 places are all the server can use
    assert START < gate.limit <= 80


async def test_places_grow_to_the_most():
    clock = Clock()
    gate = Gate(100, clock=clock)
    await saturate(gate, clock, rounds=12, throughput=1e9)
    assert gate.limit == 100


async def test_an_overrun_server_gets_less_once_an_episode_and_nothing_until_it_said():
    clock = Clock()
    gate = Gate(64, clock=clock)
    entered = [await gate.enter() for _ in range(int(gate.limit))]
    before = gate.limit
    for start in entered[:8]:  # eight calls of the same moment are told the same thing
        clock.now = 1.0
        gate.leave(start, None, CallFailed("rate_limit", retry=True, after=30.0))
    assert before * 0.6 < gate.limit < before
    for start in entered[8:]:
        gate.leave(start, reply(), None)
    assert not await enters(gate)
    clock.now = 31.0
    assert await enters(gate)


async def test_who_waits_is_told_when_the_run_stops():
    gate = Gate(1, clock=Clock())
    await gate.enter()
    waiting = asyncio.create_task(gate.enter())
    await asyncio.sleep(0)
    gate.halt("interrupted")
    with pytest.raises(Halt, match="interrupted"):
        await waiting


def test_a_budget_reckons_with_the_calls_under_way():
    budget = Budget(usd=1.0, spent_usd=0.5)
    assert budget.admit() is None
    budget.settle(reply(cost=0.2))
    assert budget.admit() is None  # 0.7 and one of about 0.2 under way
    assert budget.admit() is not None  # a second one might break it
    budget.settle(reply(cost=0.2))
    assert budget.admit() is not None
    assert budget.spent_usd == pytest.approx(0.9)


def test_an_unpriced_reply_costs_no_dollars_but_tokens():
    budget = Budget(tokens=100)
    budget.admit()
    budget.settle(reply(tokens=60, cost=None))
    assert budget.spent_tokens == 60
    assert "100 tokens" in str(budget.admit())
