"""Traction that depends on the forward speed, Petersen 2012 (4.29): a slip modulus K (v/v_0)^m."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from models.contact.ground import Ground
from models.vehicle import run
from models.wheel import RigidWheel, Soil
from tests.models.conftest import Bench

M, V_0, SLIP_SPEED = 0.6, 0.05, 1e-6
SLOPE = math.radians(-6.0)  # it climbs


def wheel(exponent, speed=V_0):
    return RigidWheel(Bench.radius, 0.15, replace(Bench.soil, slip_modulus_exponent=exponent, slip_modulus_speed=speed))


@pytest.mark.parametrize("forward", [-0.2, 0.01, 0.05, 0.5])
@pytest.mark.parametrize("slip", [-0.4, 0.1, 0.7])
def test_the_torque_is_that_of_the_law_with_the_modulus_of_its_speed(forward, slip):
    """R F_n tan(phi) tanh(s/K_v), of a soil without cohesion."""
    rolling = forward / (1.0 - slip) if slip > 0.0 else forward * (1.0 + slip)
    if forward < 0.0:
        slip = -slip  # of the sign of R omega - v_x
    one = wheel(M)
    upwards, against = one.normal_force(0.02)
    modulus = Bench.soil.slip_modulus * (abs(forward) / V_0) ** M
    torque = Bench.radius * math.hypot(upwards, against) * math.tan(Bench.soil.friction_angle)
    torque *= math.tanh(slip / modulus)
    assert one.moving_forces(0.02, forward, rolling, slip_speed=SLIP_SPEED).torque == pytest.approx(torque, rel=1e-6)


def test_at_the_speed_of_the_modulus_and_without_an_exponent_nothing_changes():
    plain = RigidWheel(Bench.radius, 0.15, Bench.soil)
    for forward in (0.003, 0.05, 0.4):
        known = plain.moving_forces(0.02, forward, 1.3 * forward, 0.01)
        assert wheel(0.0).moving_forces(0.02, forward, 1.3 * forward, 0.01) == known
        assert wheel(M, forward).moving_forces(0.02, forward, 1.3 * forward, 0.01) == known
    assert wheel(M).forces(0.02, 0.3) == plain.forces(0.02, 0.3)


@pytest.mark.slow
def test_a_rover_that_climbs_at_other_speeds_slips_in_the_ratio_of_the_moduli(bench):
    """Each wheel needs the same share of its limit whatever the speed, so s/K_v is the same."""
    slips, speeds = [], []
    for spin in (0.2, 0.8):
        plain = bench.vehicle(slope=SLOPE)
        packed = np.array(wheel(M).parameters)
        climbing = plain._replace(ground=Ground(packed, 2.0, SLIP_SPEED, 0.001, 0.005, by_speed=packed))
        motion = bench.driving(climbing, 6.0, spin)
        slips.append(motion.ground.slip.copy())
        speeds.append(motion.v[0])
    assert min(slips[0]) > 0.05
    assert slips[1] / slips[0] == pytest.approx((speeds[1] / speeds[0]) ** M, rel=5e-3)


@pytest.mark.slow
def test_a_run_with_exponent_zero_is_bit_for_bit_one_without(bench):
    runs = []
    for by_speed in (None, np.array(wheel(0.0).parameters)):
        plain = bench.vehicle(slope=SLOPE)
        motion = bench.resting()
        motion.drives.cut[:], motion.drives.set_speed[:] = 0.0, 0.5
        run(plain._replace(ground=plain.ground._replace(by_speed=by_speed)), motion, 3000, bench.dt)
        runs.append(motion.q.copy())
    assert np.array_equal(*runs)


def test_an_exponent_with_slip_sinkage_or_xus_wheel_is_refused():
    sand = {"friction_angle": 0.5, "rebound": 0.1, "slip_modulus": 0.2, "slip_modulus_exponent": 0.5}
    with pytest.raises(ValueError, match=r"slip_modulus_exponent is .*, allowed with slip_sinkage: 0"):
        Soil(1e6, 1.0, slip_sinkage=1.0, **sand)
    soil = Soil(1e6, 1.0, shear_modulus=0.01, peak_offset=0.4, peak_slope=0.1, **sand)
    with pytest.raises(ValueError, match=r"slip_modulus_exponent is .*, allowed with variant .xu."):
        RigidWheel(0.2, 0.15, soil, "xu")
