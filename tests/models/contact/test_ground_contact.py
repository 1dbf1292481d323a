"""A rover's wheels on soil against statics, RigidWheel's own forces, momentum and energy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from models.vehicle import make_vehicle_state, run

DT = 1e-4


def test_at_rest_the_soil_bears_the_weight(bench):
    assert bench.settled.ground.vertical.sum() == pytest.approx(bench.mass * bench.g, rel=1e-6)
    assert np.abs(bench.settled.v).max() < 1e-6


@pytest.mark.parametrize("bogie_torque", [0.0, 40.0])
def test_at_rest_each_wheel_bears_what_statics_give_it(bench, bogie_torque):
    """Six loads from heave, roll, pitch and three bogies; gravity's generalised force is checked by Pinocchio."""
    motion = make_vehicle_state(bench.rover)
    motion.torque[6 + bench.rover.joint_names.index("left_bogie")] = bogie_torque
    run(bench.vehicle(shear=10.0), motion, 30000, DT)  # sheared soil would push the wheels apart or together
    lift = bench.rover.impact_jacobian(motion.q, math.pi, bench.rover.wheel_names)  # vertical speeds of wheel centres
    needed = bench.rover.bias(motion.q, np.zeros(bench.rover.nv)) - motion.torque
    loads, *_ = np.linalg.lstsq(lift.T, needed, rcond=None)
    assert motion.ground.vertical == pytest.approx(loads, rel=1e-3)
    front, middle = (bench.rover.wheel_names.index(name) for name in ("front_left", "middle_left"))
    # a couple over the bogie's length; the bogie's own tilt adds some newtons
    assert loads[front] - loads[middle] == pytest.approx(2.0 * bogie_torque / 0.5349, abs=10.0)


def test_at_rest_each_wheel_has_sunk_until_the_soil_bears_its_load(bench):
    for load, sinkage in zip(bench.settled.ground.vertical, bench.settled.ground.sinkage, strict=True):
        root = brentq(lambda z, load=load: bench.wheel.normal_force(z)[0] - load, 0.0, bench.radius, xtol=1e-14)
        assert sinkage == pytest.approx(root, rel=1e-8)


def test_sinkage_is_how_far_the_rim_is_below_the_ground(bench):
    assert bench.settled.ground.sinkage == pytest.approx(bench.sinkage(bench.settled), abs=1e-8)
    assert bench.settled.ground.sinkage.min() > 0.01


def test_a_wheel_in_the_air_feels_no_soil(bench):
    motion = make_vehicle_state(bench.rover)
    motion.q[2] = 0.01
    run(bench.vehicle(drive=bench.free), motion, 100, DT)
    assert not motion.ground.vertical.any()
    assert motion.v[2] == pytest.approx(-bench.g * 0.01, rel=1e-9)
    assert np.abs(np.delete(motion.v, 2)).max() < 1e-9


@pytest.mark.parametrize("axle_torque", [20.0, -6.0])
def test_a_driven_rovers_wheel_forces_are_the_wheel_models_own(bench, axle_torque):
    """Driving and braking slip, both well above slip_speed; no damping, so the static law must come back exactly."""
    where = bench.vehicle(damping=0.0, slip_speed=1e-7, shear=1e-9, drive=bench.free)
    motion = bench.resting()
    motion.v[0], motion.v[bench.axles] = 0.5, 0.5 / bench.radius
    motion.torque[bench.axles] = axle_torque
    run(where, motion, 500, DT)
    assert motion.v[0] > 0.05
    assert np.sign(motion.ground.slip) == pytest.approx(np.sign(axle_torque))
    assert np.abs(motion.ground.slip).min() > 0.05
    pull, vertical, _ = bench.wheel.forces(motion.ground.sinkage, motion.ground.slip)
    assert motion.ground.pull == pytest.approx(pull, rel=1e-9)
    assert motion.ground.vertical == pytest.approx(vertical, rel=1e-9)


def test_slip_is_that_of_axle_and_ground_speed(bench):
    where = bench.vehicle(slip_speed=1e-7)
    motion = bench.driving(where, 4.0)
    before = motion.v.copy()
    run(where, motion, 1, DT)
    rolling = bench.radius * before[bench.axles]
    assert motion.ground.slip == pytest.approx(1.0 - before[0] / rolling, abs=1e-3)
    assert motion.ground.slip.min() > 0.1


def test_at_steady_speed_the_motors_torque_is_the_soils_and_the_pulls_cancel(bench):
    motion = bench.driving(bench.vehicle(slip_speed=1e-7, drive=bench.free), 4.0)
    _, _, torque = bench.wheel.forces(motion.ground.sinkage, motion.ground.slip)
    assert motion.drives.torque == pytest.approx(torque, rel=1e-3)
    assert torque.min() > 0.5
    compaction = bench.wheel.normal_force(motion.ground.sinkage)[1].sum()
    assert abs(motion.ground.pull.sum()) < 1e-3 * compaction


def test_forward_momentum_changes_by_the_sum_of_the_pulls(bench):
    where = bench.vehicle()
    motion = bench.driving(where, 0.02)
    before, impulse = bench.momentum(motion)[0], 0.0
    for _ in range(1000):
        run(where, motion, 1, DT)
        impulse += motion.ground.pull.sum() * DT
    change = bench.momentum(motion)[0] - before
    assert change > 1.0
    assert change == pytest.approx(impulse, rel=0.02)


@pytest.mark.slow
def test_motor_work_becomes_energy_and_what_slip_and_compaction_take(bench):
    """Losses worked out from RigidWheel, sinkage and speeds alone; damping and gear friction off."""
    where = bench.vehicle(damping=0.0, slip_speed=1e-3, drive=bench.free)
    motion = bench.driving(where, 0.05, speed=0.0)
    motion.drives.set_speed[:] = 0.4
    start, work, lost = bench.energy(motion), 0.0, 0.0
    for _ in range(5000):
        old, wound = motion.v.copy(), motion.drives.wound.copy()
        run(where, motion, 1, DT)
        axle, middle = motion.v[bench.axles], 0.5 * (motion.v + old)[bench.axles]
        # the torque as it acted: proportional part on the new speed, unless at the limit
        acted = bench.drive.gain * (0.4 - axle) + wound
        limited = np.abs(motion.drives.torque) == bench.drive.torque_limit
        acted[limited] = motion.drives.torque[limited]
        work += DT * acted @ middle
        pull, _, torque = bench.wheel.forces(motion.ground.sinkage, motion.ground.slip)
        lost += DT * (torque @ middle - 0.5 * (old[0] + motion.v[0]) * pull.sum())
    gained = bench.energy(motion) - start
    assert gained > 0.1
    assert lost > 0.1
    assert work == pytest.approx(gained + lost, rel=0.05)


def test_soil_only_takes_energy(bench):
    """Drives off and without losses: from any start, the soil never returns more energy than it stored."""
    where = bench.vehicle(drive=bench.free)
    for seed in range(5):
        random = np.random.default_rng(seed)
        motion = bench.resting()
        motion.v[[0, 1, 5]] = 0.3 * random.normal(size=3)
        motion.v[bench.axles] = 2.0 * random.normal(size=6)
        levels = [bench.energy(motion)]
        for _ in range(20):
            run(where, motion, 200, DT)
            levels.append(bench.energy(motion))
        assert levels[0] - levels[-1] > 0.5
        assert np.diff(levels).max() < 1e-3 * (levels[0] - levels[-1])


def test_sideways_sliding_is_stopped_by_the_shear_limit(bench):
    where, motion = bench.vehicle(shear=1e-9), bench.resting()
    motion.v[1] = 0.2
    before = bench.momentum(motion)[1]
    run(where, motion, 1, 1e-6)
    rate = (bench.momentum(motion)[1] - before) / 1e-6
    # sliding without rolling is far up the tanh: the limit is F_n tan(phi)
    compression = np.hypot(*bench.wheel.normal_force(bench.sinkage(bench.settled))).sum()
    grip = math.tan(bench.soil.friction_angle)
    assert rate == pytest.approx(-compression * grip, rel=1e-3)
    run(where, motion, 5000, DT)
    assert abs(motion.v[1]) < 1e-3
    # by hand v^2 / (2 mu g); the rover leans over on its way
    assert 0.0 < motion.q[1] < 2.0 * 0.2**2 / (2.0 * grip * bench.g)


def test_leaning_over_about_the_contacts_is_not_sliding(bench):
    """The base's origin lies at the contacts' height, so a roll rate alone leaves every contact where it is."""
    where, motion = bench.vehicle(drive=bench.free), bench.resting()
    motion.v[3] = 0.5
    before = bench.momentum(motion)[1]
    run(where, motion, 1, 1e-6)
    assert abs(bench.momentum(motion)[1] - before) / 1e-6 < 0.01 * bench.mass * bench.g


@pytest.mark.parametrize("sideways", [0.02, 0.04, 0.06])
def test_soil_gives_no_energy_to_a_rover_that_leans_and_slides(bench, sideways):
    where, motion = bench.vehicle(damping=0.0, drive=bench.free), bench.resting()
    motion.v[3], motion.v[1] = 0.5, sideways
    before = bench.energy(motion)
    run(where, motion, 10, 1e-6)
    assert bench.energy(motion) < before


def test_coasting_downhill_by_hand(bench):
    """Free wheels: (m + 6 I/R^2) dv/dt = m g sin(slope) - compaction, slip being small."""
    slope = math.radians(25.0)
    where, motion = bench.vehicle(slip_speed=1e-3, drive=bench.free, slope=slope), bench.resting()
    run(where, motion, 10000, DT)
    before, resistance = motion.v[0], 0.0
    for _ in range(2000):
        run(where, motion, 1, DT)
        resistance += bench.wheel.normal_force(motion.ground.sinkage)[1].sum() / 2000
    rolling_mass = bench.mass + 6 * 0.5 * 4.0
    by_hand = (bench.mass * bench.g * math.sin(slope) - resistance) / rolling_mass
    assert by_hand > 0.2
    assert (motion.v[0] - before) / 0.2 == pytest.approx(by_hand, rel=0.03)


def parked(bench, slope_deg):
    """A rover whose drives hold their axles, two seconds after it was put on a slope, and the soil and drives there."""
    rigid = bench.drive._replace(gain=1e4, integral_gain=1e6, torque_limit=1e4)
    where, motion = bench.vehicle(slope=math.radians(slope_deg), drive=rigid), bench.resting()
    motion.drives.cut[:] = 0.0
    run(where, motion, 20000, DT)
    return where, motion


@pytest.mark.slow
@pytest.mark.parametrize("slope_deg", [-20, 10, 20, 25])
def test_a_parked_rover_creeps_less_than_a_millimetre_in_a_minute(bench, slope_deg):
    where, motion = parked(bench, slope_deg)
    before = motion.q[:3].copy()
    run(where, motion, 600_000, DT)
    assert np.abs(motion.q[:3] - before).max() < 1e-3
    assert np.abs(motion.v).max() < 1e-6
    downhill = bench.mass * bench.g * math.sin(math.radians(slope_deg))
    assert motion.ground.pull.sum() == pytest.approx(-downhill, rel=1e-6)  # held, not only slow


def test_over_the_friction_angle_it_slides(bench):
    where, motion = parked(bench, 33)
    before = motion.q[0]
    run(where, motion, 10_000, DT)
    assert motion.q[0] - before > 0.1


@pytest.mark.slow
def test_traction_does_not_jump_where_wheels_stop_and_turn_back(bench):
    where = bench.vehicle()
    motion = bench.driving(where, 1.0, speed=0.3)
    limit = math.tan(bench.soil.friction_angle) * motion.ground.vertical.min()
    pulls = []
    for step in range(20_000):
        motion.drives.set_speed[:] = 0.3 * math.cos(step * math.pi / 5000)
        run(where, motion, 1, DT)
        pulls.append(motion.ground.pull.copy())
    speeds = np.diff(pulls, axis=0)
    assert np.ptp(pulls) > 0.2 * limit
    assert np.abs(speeds).max() < 0.02 * limit


def test_soil_that_a_wheel_has_left_forgets_its_shear(bench):
    _, motion = parked(bench, 15)
    assert np.abs(motion.ground.shear[:, 0]).min() > 1e-4
    motion.q[2] += 0.05
    run(bench.vehicle(), motion, 1, DT)
    assert not motion.ground.shear.any()
