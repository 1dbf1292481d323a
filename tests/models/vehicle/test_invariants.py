"""Quiet while a vehicle drives as it should, and each range is noticed once it was left for long enough."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.validity import (
    DEPTH,
    LIFTED,
    LOADS,
    ROTATION,
    SINKAGE,
    SLID,
    SPEED,
    STOPPED,
    TILT,
    TRAVEL,
    VALIDITIES,
    WITHIN,
)
from models.vehicle.invariants import check_invariants, make_invariants

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

TICK_S = 0.001


class MovingWheel:
    """A Juno, or the rover of another config, that moves at 0.05 m/s, of which a test changes what it likes."""

    def __init__(self, *overrides: str, config: str = "sim_juno") -> None:
        self.rover, self.vehicle, self.state = nominal_rig(load_config(config, overrides)).build()
        self.invariants = make_invariants(self.rover, self.vehicle, self.state)
        self.state.v[0] = 0.05
        self.state.v[5 + self.rover.chain.wheel_body] = 0.05 / self.rover.chain.wheel_radius
        self.look()

    def look(self, seconds: float = TICK_S) -> int:
        for _ in range(round(seconds / TICK_S)):
            check_invariants(self.invariants, TICK_S)
        return int(self.invariants.found[0])


@pytest.fixture
def juno():
    return MovingWheel()


def test_a_rover_that_drives_on_its_wheels_is_within(juno):
    assert juno.look(2.0) == WITHIN


def left_for(moving: MovingWheel, code: int) -> None:
    """It counts once it has lasted for as long as the range says, and no longer once it is over."""
    for_s = VALIDITIES[code].for_s
    assert moving.look(max(for_s - 2 * TICK_S, 0.0)) == WITHIN
    assert moving.look(6 * TICK_S) == code
    assert moving.invariants.found[2] == VALIDITIES[code].limit


def test_a_wheel_deeper_than_half_its_radius_is_outside(juno):
    juno.state.ground.sinkage[2] = 0.51 * juno.rover.chain.wheel_radius[2]
    left_for(juno, SINKAGE)
    assert juno.invariants.found[1] == pytest.approx(0.51)
    juno.state.ground.sinkage[2] *= 0.9
    assert juno.look() == WITHIN


def test_a_wheel_deep_in_firm_ground_is_outside():
    firm = MovingWheel("ground.kind=firm")
    firm.state.ground.sinkage[0] = 0.11 * firm.rover.chain.wheel_radius[0]
    left_for(firm, DEPTH)


def test_a_lifted_wheel_is_outside_and_a_wheel_that_hops_is_not(juno):
    load = juno.state.ground.vertical.copy()
    for _ in range(10):
        juno.state.ground.vertical[:] = [load.sum() / 3] * 3 + [0.0]
        assert juno.look(0.2) == WITHIN
        juno.state.ground.vertical[:] = load
        assert juno.look() == WITHIN
    juno.state.ground.vertical[:] = [load.sum() / 3] * 3 + [0.0]
    left_for(juno, LIFTED)


@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_loads_that_do_not_sum_to_the_weight_are_outside(juno, factor):
    juno.state.ground.vertical[:] *= factor
    assert juno.look(0.2) == WITHIN  # so far acceleration may explain it
    assert juno.look(0.6) == LOADS


def test_a_pull_upwards_is_no_lack_of_load(juno):
    juno.state.pull[2] = 0.5 * juno.invariants.weight
    juno.state.ground.vertical[:] *= 0.5
    assert juno.look(2.0) == WITHIN


@pytest.mark.parametrize("turn", [(0.3, 0.0, 0.0), (0.0, -0.4, 0.0), (0.1, 0.2, 1.0)])
def test_the_pulls_part_along_the_normal_is_that_of_a_rotation(juno, turn):
    rotation = Rotation.from_rotvec(turn)
    juno.state.q[3:7] = rotation.as_quat()
    juno.state.pull[:3] = (300.0, -200.0, 500.0)
    up = float(rotation.apply(juno.state.pull[:3])[2])
    juno.state.ground.vertical[:] *= (juno.invariants.weight - up) / juno.state.ground.vertical.sum()
    juno.look(2.0)
    assert juno.invariants.state[1] < 1e-3


def test_a_rover_that_slides_back_faster_than_half_of_its_wheels_turn_is_outside(juno):
    juno.state.v[0] = -0.024
    assert juno.look(1.0) == WITHIN
    juno.state.v[0] = -0.026
    left_for(juno, TRAVEL)


def test_a_rover_too_fast_and_one_that_tips_over_are_outside(juno):
    juno.state.v[1] = 2.1
    left_for(juno, SPEED)
    juno.state.v[1], juno.state.v[3] = 0.0, 2.1
    assert juno.look() == WITHIN
    left_for(juno, ROTATION)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_joint_at_its_stop_is_outside(juno, side):
    stops = juno.vehicle.stops
    assert stops.speed.size
    end = stops.high[0] if side > 0.0 else stops.low[0]
    juno.state.q[stops.speed[0] + 1] = end - side * 1e-3
    assert juno.look(1.0) == WITHIN
    juno.state.q[stops.speed[0] + 1] = end + side * 1e-3
    left_for(juno, STOPPED)
    assert juno.invariants.found[1] == pytest.approx(math.degrees(1e-3))


def test_a_joint_that_slid_to_its_stop_is_outside():
    lift = MovingWheel(config="sim_lift")
    stops = lift.vehicle.stops
    (slide,) = np.flatnonzero(stops.slides)
    lift.state.q[stops.speed[slide] + 1] = stops.high[slide] - 1e-4
    assert lift.look(1.0) == WITHIN
    lift.state.q[stops.speed[slide] + 1] = stops.high[slide] + 2e-3
    left_for(lift, SLID)
    assert lift.invariants.found[1] == pytest.approx(2.0)


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.6, -0.8, 0.0)])
def test_a_main_body_that_tilts_is_outside_and_one_that_turns_is_not(juno, axis):
    turn = Rotation.from_euler("z", 2.0)
    juno.state.q[3:7] = (turn * Rotation.from_rotvec(np.radians(44.0) * np.array(axis))).as_quat()
    assert juno.look(1.0) == WITHIN
    juno.state.q[3:7] = (turn * Rotation.from_rotvec(np.radians(46.0) * np.array(axis))).as_quat()
    left_for(juno, TILT)
    assert juno.invariants.found[1] == pytest.approx(46.0)


def test_before_the_first_motion_nothing_counts(juno):
    juno.invariants.state[:] = 0.0
    juno.state.v[:] = 0.0
    juno.state.ground.sinkage[:] = 3.0
    assert juno.look(2.0) == WITHIN
    juno.state.v[0] = 0.05
    juno.look()
    left_for(juno, SINKAGE)


def test_without_weight_loads_mean_nothing():
    free = MovingWheel("ground.kind=none")
    assert free.invariants.weight == 0.0
    assert free.look(1.0) == WITHIN


def test_on_a_slope_the_weight_counts_along_its_normal():
    slope = MovingWheel("ground.pitch_deg=20")
    mass = sum(body.mass for body in slope.rover.tree.bodies)
    assert slope.invariants.weight == pytest.approx(mass * 9.81 * math.cos(math.radians(20.0)))
    assert slope.look(1.0) == WITHIN


def test_a_number_that_is_none_is_left_to_the_check_of_finite_values(juno):
    juno.state.ground.vertical[0] = np.nan
    juno.state.v[0] = np.nan
    assert juno.look(1.0) == WITHIN
