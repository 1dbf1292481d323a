"""An instrument that cannot be believed is noticed by its innovations, and left out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from models.observer.model import (
    BY_ROW,
    FATE,
    FROZEN,
    IMU,
    JOINTS,
    LEFT_OUT,
    MEAN,
    MOTION,
    NEWEST,
    ONE_SIDED,
    REJECTED,
    SPEED,
    STATES,
    USED,
    WAS_REJECTED,
    WAS_USED,
)
from tests.models.observer.straight_drive import STEP_NS, Filter, row_at
from tests.models.observer.true_readings import imu_reading, joints_reading, pose_reading

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

NONE = np.zeros(STATES)
Spoil = Callable[[np.ndarray, int], np.ndarray]


def drive(role: int, steps: int, spoil: Spoil = lambda value, _: value) -> Filter:
    """Steps with a reading each; `spoil` gets a reading and its number."""
    tested, random = Filter(), np.random.default_rng(7)
    o = tested.observer
    for number in range(steps):
        t_ns = tested.t_ns + STEP_NS
        row = row_at(t_ns * 1e-9)
        if role == MOTION:
            value = pose_reading(o, row, NONE)
            value[:3] += 5e-4 * random.standard_normal(3)
        elif role == IMU:
            value = imu_reading(o, row, NONE) + np.repeat([0.05, 0.003], 3) * random.standard_normal(6)
        else:
            value = joints_reading(o, row, np.zeros(3)) + 1e-3 * random.standard_normal(3)
        tested.take(t_ns, role, spoil(value, number))
        tested.step()
    return tested


def frozen_from(start: int) -> Spoil:
    kept: list[np.ndarray] = []

    def spoil(value: np.ndarray, number: int) -> np.ndarray:
        if number == start:
            kept.append(value)
        return kept[0] if kept else value

    return spoil


@pytest.mark.parametrize("role", [MOTION, IMU, JOINTS])
def test_good_readings_are_used_and_their_innovation_is_about_one(role):
    source = drive(role, 400).observer.now.source[role]
    assert source[[REJECTED, LEFT_OUT]].tolist() == [0.0, 0.0]
    assert source[USED] == 400.0
    assert source[FATE] == WAS_USED
    assert 0.4 < source[MEAN] < 1.4


def test_one_wrong_reading_is_rejected_and_changes_nothing():
    def wrong(value, number):
        return value + np.array([0.3, *[0.0] * 6]) * (number == 99)

    good, spoilt = drive(MOTION, 99), drive(MOTION, 100, wrong)
    source = spoilt.observer.now.source[MOTION]
    assert source[FATE] == WAS_REJECTED
    assert source[NEWEST] > 1000.0
    assert source[LEFT_OUT] == 0.0
    good.step()
    np.testing.assert_array_equal(good.observer.now.x, spoilt.observer.now.x)
    np.testing.assert_array_equal(good.observer.now.P, spoilt.observer.now.P)


def test_a_place_that_jumps_is_left_out_after_ten_readings():
    def slipped(value, number):
        return value + np.array([0.02, *[0.0] * 6]) * (number >= 100)

    assert drive(MOTION, 109, slipped).observer.now.source[MOTION, LEFT_OUT] == 0.0
    source = drive(MOTION, 130, slipped).observer.now.source[MOTION]
    assert source[LEFT_OUT] == BY_ROW
    assert source[USED] == 100.0


@pytest.mark.parametrize(("role", "within"), [(IMU, 20), (JOINTS, 20)])
def test_a_frozen_instrument_is_left_out_though_its_values_fit(role, within):
    source = drive(role, 100 + within, frozen_from(100)).observer.now.source[role]
    assert source[LEFT_OUT] == FROZEN


def test_equal_readings_of_a_rover_that_stands_are_no_fault():
    from models.observer.ring import begin, close_step

    tested = Filter()
    o, standing = tested.observer, row_at(0.0, speed=0.0, slip=0.0)
    begin(o, 0, standing)
    for node in range(1, 60):
        tested.take(node * STEP_NS, JOINTS, joints_reading(o, standing, np.zeros(3)))
        close_step(o, node * STEP_NS, standing)
    assert o.now.source[JOINTS, LEFT_OUT] == 0.0
    assert o.now.source[JOINTS, USED] == 59.0


def test_a_place_that_drifts_is_left_out_by_the_sign_of_its_innovations_and_its_speed_forgotten():
    def drifting(value, number):
        return value + np.array([1e-4 * max(number - 200, 0), *[0.0] * 6])  # 20 mm/s, of 70

    o = drive(MOTION, 400, drifting).observer
    assert o.now.source[MOTION, LEFT_OUT] in (ONE_SIDED, BY_ROW)
    assert o.now.source[MOTION, USED] < 300.0
    if o.now.source[MOTION, LEFT_OUT] == ONE_SIDED:
        assert abs(o.now.x[SPEED]) < 1e-6
        assert o.now.P[SPEED, SPEED] >= o.start[SPEED]


@pytest.mark.parametrize("axes", [(0, 2), (1, 2)])
def test_swapped_axes_of_an_inertial_unit_are_noticed_where_gravity_is_one_of_them(axes):
    def swapped(value, number):
        out = value.copy()
        if number >= 50:
            out[list(axes)] = value[list(reversed(axes))]
        return out

    source = drive(IMU, 70, swapped).observer.now.source[IMU]
    assert source[LEFT_OUT] == BY_ROW
    assert source[USED] == 50.0
