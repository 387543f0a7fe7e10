"""The figures of a running simulation: rates and the time left, in runs of thousands a second and of one in ten minutes."""

from __future__ import annotations

import time

import pytest

from simulator.tally import ENOUGH, WINDOW, Rate, Tally, per
from simulator.writer import Writer


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("each", "shown"), [(0.001, "calls/s"), (0.5, "2.0 calls/s"), (20.0, "3.0 calls/min"), (600.0, "0.1 calls/min")]
)
def test_a_steady_rate_is_told_whatever_it_is(each, shown):
    clock = Clock()
    rate = Rate(clock)
    for _ in range(200):
        clock.now += each
        rate.event()
    assert rate.per_second == pytest.approx(1 / each, rel=0.1)
    assert per(rate.per_second, "calls").endswith(shown)


def test_a_rate_follows_what_happens_now_where_enough_does():
    clock = Clock()
    rate = Rate(clock)
    assert rate.per_second == 0.0
    for _ in range(100):
        clock.now += 1.0
        rate.event()
    for _ in range(400):
        clock.now += 0.1
        rate.event()
    assert rate.per_second == pytest.approx(10, rel=0.1)
    clock.now += 2 * WINDOW
    assert rate.per_second == pytest.approx(500 / (clock.now - 100), rel=0.1)  # too few of late


def test_a_slow_run_knows_how_long_it_will_take(make_record_like):
    clock = Clock()
    tally = Tally()
    tally._done = Rate(clock)
    tally.planned(25, 5)
    for _ in range(ENOUGH // 2):
        clock.now += 60.0
        tally.stored(make_record_like(final=True))
    assert tally.left == pytest.approx(15 * 60)
    assert "1.0 conversations/min" in tally.line()
    assert "15:00 left" in tally.line()


@pytest.fixture
def make_record_like():
    class Like:
        failed = False

        def __init__(self, final: bool) -> None:
            self.final = final

    return Like


@pytest.mark.parametrize(("ago", "shown"), [(0.0, True), (3600.0, False)])
def test_another_terminal_reads_the_rates_of_a_run_that_works(exit_code, tmp_path, capsys, monkeypatch, ago, shown):
    tally = Tally()
    tally.planned(100, 40)
    tally.retries.update(rate_limit=3)
    with Writer(tmp_path / "run") as writer:
        told = {"conversations_per_second": 0.5, "calls_per_second": 8.25, "seconds_left": 120}
        writer.progress({"planned": 100, "owed": 60, "stopped": "", **tally.state(), **told})
    now = time.time() + ago
    monkeypatch.setattr("simulator.shown.time.time", lambda: now)
    assert exit_code("status", tmp_path / "run") == 0
    told = capsys.readouterr().out
    assert "60 of 100 owed" in told
    assert "tried again: rate_limit 3" in told
    assert ("30.0 conversations/min · 8.2 calls/s · 2:00 left" in told) is shown
