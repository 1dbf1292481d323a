"""The whole step: standing still, speed over step size, slopes after a cut, and an impact with the plate."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.impact import effective_kinetic_energy
from models.vehicle import run

DT = 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("change", [{}, {"gear_friction": 0.0, "coast_damping": 0.0}, {"brakes_on_cut": 1.0}])
@pytest.mark.parametrize("powered", [False, True])
@pytest.mark.parametrize("slip_speed", [0.02, 0.001])
def test_from_standstill_nothing_grows(bench, change, powered, slip_speed):
    """The slower slip speed makes traction 2e5 N s/m steep: far too stiff for an explicit step of 0.1 ms."""
    where, motion = bench.vehicle(drive=bench.drive._replace(**change), slip_speed=slip_speed), bench.resting()
    motion.drives.cut[:] = float(not powered)
    motion.v[:] = 1e-5 * np.random.default_rng(2).normal(size=bench.rover.nv)
    largest = []
    for _ in range(10):
        run(where, motion, 2000, DT)
        largest.append(np.abs(motion.v).max())
    assert max(largest) < 1e-4
    assert max(largest[5:]) <= max(largest[:5])


def test_a_settled_rover_stays_where_it_is_for_ten_seconds(bench):
    motion = bench.resting()
    run(bench.vehicle(), motion, 100000, DT)
    assert np.abs(motion.q - bench.settled.q).max() < 1e-6
    assert np.abs(motion.v).max() < 1e-10


@pytest.mark.parametrize("seconds", [0.05, 1.0])
def test_halving_the_step_hardly_changes_the_forward_speed(bench, seconds):
    coarse = bench.driving(bench.vehicle(), seconds, dt=1e-4).v[0]
    fine = bench.driving(bench.vehicle(), seconds, dt=5e-5).v[0]
    assert coarse > 0.01
    assert coarse == pytest.approx(fine, rel=0.01)


def test_a_driven_rover_reaches_its_set_speed_less_the_slip_and_keeps_its_course(bench):
    motion = bench.driving(bench.vehicle(), 3.0)
    assert motion.v[bench.axles] == pytest.approx(0.4, rel=1e-3)
    assert motion.v[0] == pytest.approx(0.4 * bench.radius * (1.0 - motion.ground.slip.mean()), rel=0.01)
    assert np.abs(motion.q[[1, 3, 5]]).max() < 1e-6


def test_unequal_sides_turn_the_rover_towards_the_slower(bench):
    motion = bench.resting()
    motion.drives.cut[:] = 0.0
    motion.drives.set_speed[:] = [0.6 if name.endswith("left") else 0.2 for name in bench.rover.wheel_names]
    run(bench.vehicle(), motion, 10000, DT)
    assert motion.v[5] < -0.01  # left wheels faster: to starboard, a negative yaw rate


def test_on_a_slope_brakes_hold_back_what_coasts_away(bench):
    speeds = []
    for brakes in (0.0, 1.0):
        drive = bench.drive._replace(brakes_on_cut=brakes, gear_friction=0.0)
        motion = bench.resting()
        run(bench.vehicle(drive=drive, slope=math.radians(25.0)), motion, 20000, DT)
        speeds.append(motion.v[0])
    assert 0.0 < speeds[1] < 0.2 * speeds[0]


@pytest.fixture(scope="module")
def impacts(bench):
    """Results of one impact at 60 degrees, drives cut at first touch, at two step sizes."""
    found = {}
    for dt in (1e-4, 5e-5):
        foot = 0.5349 + bench.settled.q[0] + bench.radius * math.tan(math.radians(30.0)) + 0.03
        where = bench.vehicle(angle_deg=60.0, foot=foot, drive=bench.free)
        motion = bench.driving(where, 0.2, speed=0.49, dt=dt)
        while motion.obstacle.force.max() == 0.0:
            run(where, motion, 1, dt)
        motion.drives.cut[:] = 1.0
        M, J = bench.rover.mass_matrix(motion.q), bench.rover.impact_jacobian(motion.q, math.radians(60.0))
        spent = effective_kinetic_energy(M, J, motion.v)
        speed, peak, levels = motion.v[0], 0.0, [bench.energy(motion)]
        for _ in range(400):
            run(where, motion, round(1e-3 / dt), dt)
            peak = max(peak, motion.obstacle.force.sum())
            levels.append(bench.energy(motion))
        found[dt] = speed, peak, np.array(levels), spent, motion
    return found


def test_an_impact_at_the_published_speed_is_of_the_published_size(impacts):
    speed, peak, *_ = impacts[1e-4]
    assert speed == pytest.approx(0.07, rel=0.1)
    assert 150.0 < peak < 310.0  # thesis: about 210 N over both wheels at 60 degrees


def test_effective_kinetic_energy_bounds_the_free_impacts_peak_force_from_two_springs(impacts):
    """sqrt(2 T_c k) over two springs of 55 kN/m, without losses and drive power meanwhile."""
    _, peak, _, spent, _ = impacts[1e-4]
    assert peak == pytest.approx(math.sqrt(2.0 * spent * 2.0 * 5.5e4), rel=0.3)


def test_both_front_wheels_hit_alike(impacts):
    motion = impacts[1e-4][-1]
    assert motion.obstacle.gap[0] == pytest.approx(motion.obstacle.gap[1], abs=1e-9)
    assert motion.obstacle.point[0, 0] == pytest.approx(-motion.obstacle.point[1, 0], abs=1e-9)


def test_halving_the_step_hardly_changes_the_peak_force(impacts):
    assert impacts[1e-4][1] == pytest.approx(impacts[5e-5][1], rel=0.01)


@pytest.mark.parametrize("dt", [1e-4, 5e-5])
def test_after_the_cut_an_impact_only_loses_energy(impacts, dt):
    levels = impacts[dt][2]
    assert levels[0] - levels[-1] > 0.01
    assert np.diff(levels).max() < 0.01 * (levels[0] - levels[-1])
