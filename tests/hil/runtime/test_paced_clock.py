"""Virtual time that keeps to the pace of the wall clock."""

from __future__ import annotations

import pytest

from hil.runtime.loop import CATCH_UP_NS, PacedClock

PERIOD_NS = 1_000_000


class Rig:
    def advance(self, t_ns):
        self.t_ns = t_ns


class Host:
    """A clock that each tick moves on by what it takes."""

    def __init__(self):
        self.t_ns = 5_000_000_000

    def now_ns(self):
        return self.t_ns

    def sleep(self, seconds):
        self.t_ns += round(seconds * 1e9)


@pytest.fixture
def host():
    return Host()


@pytest.fixture
def clock(host):
    return PacedClock(Rig(), 1000, host)


def begins(clock, host, count, took_ns=100_000):
    """When each tick began on the wall clock [ns], and what time it is of."""
    ticks = []
    for _ in range(count):
        tick = clock.next()
        ticks.append((host.t_ns, tick.t_ns))
        host.t_ns += took_ns
    return ticks


def test_no_tick_begins_before_its_time(clock, host):
    ticks = begins(clock, host, 100)
    first_ns, _ = ticks[0]
    assert [wall_ns - first_ns for wall_ns, _ in ticks] == [number * PERIOD_NS for number in range(100)]
    assert [t_ns for _, t_ns in ticks] == [number * PERIOD_NS for number in range(1, 101)]


def test_ticks_that_were_a_little_late_are_made_up_for(clock, host):
    (first_ns, _), *_ = begins(clock, host, 10)
    host.t_ns += CATCH_UP_NS // 2
    wall_ns, t_ns = begins(clock, host, 100)[-1]
    assert wall_ns - first_ns == t_ns - PERIOD_NS


def test_after_a_long_stall_virtual_time_does_not_hurry(clock, host):
    begins(clock, host, 10)
    host.t_ns += 10_000_000_000
    stalled_ns = host.t_ns
    wall_ns, t_ns = begins(clock, host, 1000)[-1]
    assert wall_ns - stalled_ns == t_ns - 11 * PERIOD_NS - CATCH_UP_NS
