"""A reading that comes late is applied where it belongs: bit for bit as if it had come in time."""

from __future__ import annotations

import numpy as np
import pytest

from models.observer.model import BIAS_YAW, DROPPED, IMU, JOINTS, MOTION, STATES, USED
from models.observer.ring import begin, close_step, refresh, shake
from tests.models.observer.straight_drive import STEP_NS, Filter, observer, row_at
from tests.models.observer.true_readings import imu_reading, joints_reading, pose_reading

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

STEPS = 60
RATES = {MOTION: 10_000_000, IMU: 3_000_000, JOINTS: 14_000_000}  # periods [ns]
DELAYS = {MOTION: 47_000_000, IMU: 4_000_000, JOINTS: 21_000_000}


def readings() -> list[tuple[int, int, np.ndarray]]:
    """Of a rover with a deviation, and one wrong one."""
    o, random = Filter().observer, np.random.default_rng(3)
    x = 0.5 * np.sqrt(o.start) * random.standard_normal(STATES)
    out = []
    for role, period_ns in RATES.items():
        for t_ns in range(period_ns, STEPS * STEP_NS, period_ns):
            row = row_at(t_ns * 1e-9)
            if role == MOTION:
                value = pose_reading(o, row, x)
                value[:3] += 5e-4 * random.standard_normal(3)
            elif role == IMU:
                value = imu_reading(o, row, x) + np.repeat([0.05, 0.003], 3) * random.standard_normal(6)
            else:
                value = joints_reading(o, row, np.full(3, 1e-3)) + 1e-3 * random.standard_normal(3)
            out.append((t_ns, role, value))
    out[10][2][0] += 0.3
    return out


def run(delayed: bool, impact_ns: int | None = None) -> Filter:
    """A filter that gets them as they come, at last all of them."""
    tested, to_come = Filter(), readings()
    for _ in range(STEPS + 12):
        now_ns = tested.t_ns + STEP_NS
        arrived = [one for one in to_come if one[0] + (DELAYS[one[1]] if delayed else 0) <= now_ns]
        to_come = [one for one in to_come if one[0] + (DELAYS[one[1]] if delayed else 0) > now_ns]
        for t_ns, role, value in arrived:
            tested.take(t_ns, role, value)
        if impact_ns is not None and (now_ns - STEP_NS <= impact_ns + (8_000_000 if delayed else 0) < now_ns):
            shake(tested.observer, impact_ns, 0.07)
        tested.step()
    refresh(tested.observer)
    assert not to_come
    return tested


def assert_equal(one: Filter, other: Filter) -> None:
    for a, b in zip(one.observer.now, other.observer.now, strict=True):
        np.testing.assert_array_equal(a, b)


def test_late_readings_give_the_filter_that_had_them_in_order_bit_for_bit():
    in_order, late = run(delayed=False), run(delayed=True)
    assert in_order.observer.now.source[MOTION, USED] > 20
    assert late.observer.ring.mark[DROPPED] == 0
    assert_equal(in_order, late)


@pytest.mark.parametrize("newest_first", [False, True])
def test_the_order_of_arrival_within_a_tick_does_not_matter(newest_first):
    each = sorted(readings(), key=lambda one: one[0], reverse=newest_first)
    tested, in_order = Filter(), Filter()
    tested.step(30)
    for t_ns, role, value in each:
        if t_ns <= tested.t_ns:
            tested.take(t_ns, role, value)
    refresh(tested.observer)
    for _ in range(30):
        for t_ns, role, value in each:
            if in_order.t_ns < t_ns <= in_order.t_ns + STEP_NS:
                in_order.take(t_ns, role, value)
        in_order.step()
    assert_equal(tested, in_order)


def test_a_reading_older_than_the_filter_remembers_is_dropped_and_counted():
    tested = Filter()
    tested.step(60)
    before = tested.observer.now.x.copy()
    tested.take(STEP_NS, MOTION, pose_reading(tested.observer, row_at(0.005), np.full(STATES, 1e-3)))
    refresh(tested.observer)
    assert tested.observer.ring.mark[DROPPED] == 1
    np.testing.assert_array_equal(tested.observer.now.x, before)


def test_nothing_drifts_while_the_twin_stands():
    o, standing = observer(), row_at(0.0, speed=0.0, slip=0.0)
    begin(o, 0, standing)
    before = np.diag(o.now.P).copy()
    for node in range(1, 400):
        close_step(o, node * STEP_NS, standing)
    assert np.abs(o.now.x).max() == 0.0
    grown = np.diag(o.now.P) - before
    assert np.abs(grown[:BIAS_YAW]).max() == 0.0
    assert grown[BIAS_YAW:].min() > 0.0  # offsets wander with time, not with the way
