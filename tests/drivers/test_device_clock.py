"""The clock of a device mapped to the time of the run, against a linear program over all arrivals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from drivers.device_clock import WINDOW_S, DeviceClock

TICK_HZ = 1e7
BEGAN_NS = 5 * 10**9


def arrivals(ppm, seconds, late_ms=1.0, seed=1):
    """Ticks of messages 100 times a second, and when they arrive [ns]; at least 0.2 ms late."""
    chance = np.random.default_rng(seed)
    sent_s = np.arange(0.0, seconds, 0.01)
    late_s = 2e-4 + chance.exponential(late_ms * 1e-3, len(sent_s))
    ticks = np.rint(sent_s * (1.0 + ppm * 1e-6) * TICK_HZ)
    return ticks, BEGAN_NS + np.rint((sent_s + late_s) * 1e9).astype(np.int64)


def observed(ticks, arrived_ns):
    clock = DeviceClock(TICK_HZ)
    for tick, arrived in zip(ticks, arrived_ns, strict=True):
        clock.observe(float(tick), int(arrived))
    return clock


def at(clock, tick):
    return clock.base_ns + clock.since_base_ns(tick)


@pytest.mark.parametrize("ppm", [-100.0, 0.0, 100.0])
def test_it_is_the_line_below_all_arrivals_that_is_closest_to_them(ppm):
    """Moon, Skelly and Towsley 1999, (7): the least sum of what lies above the line."""
    ticks, arrived_ns = arrivals(ppm, 25.0)
    clock = observed(ticks, arrived_ns)
    used = ticks > ticks[-1] - WINDOW_S * TICK_HZ
    x, y = (ticks[used] - ticks[-1]) / TICK_HZ, (arrived_ns[used] - arrived_ns[-1]) * 1e-9
    found = linprog([-np.sum(x), -len(x)], A_ub=np.stack([x, np.ones_like(x)], 1), b_ub=y, bounds=[(None, None)] * 2)
    rate, late_s = found.x
    assert at(clock, ticks[-1]) - arrived_ns[-1] == pytest.approx(late_s * 1e9, abs=50_000)
    assert 1e9 / TICK_HZ + clock.skew == pytest.approx(rate * 1e9 / TICK_HZ, rel=1e-5)


@pytest.mark.parametrize("ppm", [-100.0, 100.0])
def test_a_drifting_clock_is_followed_within_its_least_delay(ppm):
    ticks, arrived_ns = arrivals(ppm, 30.0)
    clock = observed(ticks, arrived_ns)
    sent_ns = BEGAN_NS + ticks[-1] / TICK_HZ / (1.0 + ppm * 1e-6) * 1e9
    assert 200_000 - 20_000 < at(clock, ticks[-1]) - sent_ns < 200_000 + 50_000
    assert clock.skew * TICK_HZ / 1e9 == pytest.approx(-ppm * 1e-6, abs=10e-6)


def test_a_longer_least_delay_is_followed_after_the_window():
    ticks, arrived_ns = arrivals(0.0, 40.0, late_ms=0.1)
    arrived_ns = np.where(ticks > 15 * TICK_HZ, arrived_ns + 3_000_000, arrived_ns)
    clock = observed(ticks, arrived_ns)
    sent_ns = BEGAN_NS + ticks[-1] / TICK_HZ * 1e9
    assert at(clock, ticks[-1]) - sent_ns == pytest.approx(3_200_000, abs=100_000)


def test_a_shorter_delay_is_followed_at_once():
    ticks, arrived_ns = arrivals(0.0, 1.0)
    late = arrived_ns + 3_000_000
    clock = observed(ticks, np.where(ticks == ticks[-1], arrived_ns, late))
    assert at(clock, ticks[-1]) <= arrived_ns[-1]
