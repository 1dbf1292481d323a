"""The whole rover on soil: rest, drive, slide, coast downhill and hit the plate, against statics and conservation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from models.actuators.drive import Drive
from models.contact.ground import Ground
from models.contact.obstacle import Obstacle
from models.rover import rcp
from models.step import Motion, Vehicle, make_motion, run
from models.wheel import RigidWheel, Soil

DT = 1e-4
RADIUS = 0.175
ROVER = rcp(added_mass=22.7, wheel_width=0.15)
MASS, G = 142.7, 9.81
# Juno's first run (Petersen 2012, Table 6.1), friction angle assumed
SOIL = Soil(2.07e5, 0.583, friction_angle=math.radians(30.0), rebound=0.0674, slip_modulus=0.689)
WHEEL = RigidWheel(RADIUS, 0.15, SOIL)
DRIVE = Drive(
    gain=200.0, integral_gain=2000.0, torque_limit=40.0, gear_friction=0.5, friction_speed=0.02,
    coast_damping=0.5, brake_damping=40.0, brakes_on_cut=0.0,
)  # fmt: skip
NOTHING_LOST = DRIVE._replace(gear_friction=0.0, coast_damping=0.0)
FAR = 1e6
AXLES = [6 + i for i, name in enumerate(ROVER.joint_names) if name.endswith("_drive")]


def vehicle(*, damping=2.0, slip_speed=0.02, drive=DRIVE, angle_deg=90.0, foot=FAR, friction=0.0, slope=0.0) -> Vehicle:
    return Vehicle(
        ROVER.chain,
        Ground(np.array(WHEEL.parameters), damping, slip_speed),
        drive,
        Obstacle(math.radians(angle_deg), foot, 5.5e4, 1.0, 0.9, friction, 0.005),
        G * np.array([math.sin(slope), 0.0, -math.cos(slope)]),
    )


def order_of_wheels(values):
    """Values by joint order, (front_left ...), as wheel_names has them."""
    names = [ROVER.joint_names[i - 6].removesuffix("_drive") for i in AXLES]
    return np.array([values[names.index(name)] for name in ROVER.wheel_names])


@pytest.fixture(scope="module")
def settled():
    """Configuration after two seconds of sinking in, drives cut."""
    motion = make_motion(ROVER)
    run(vehicle(), motion, 20000, DT)
    return motion


def resting(settled: Motion) -> Motion:
    motion = make_motion(ROVER)
    motion.q[:] = settled.q
    return motion


def driving(settled: Motion, where: Vehicle, seconds: float, speed: float = 0.4, dt: float = DT) -> Motion:
    motion = resting(settled)
    motion.drives.cut[:] = 0.0
    motion.drives.set_speed[:] = speed
    run(where, motion, round(seconds / dt), dt)
    return motion


def test_at_rest_the_soil_bears_the_weight(settled):
    assert settled.ground.vertical.sum() == pytest.approx(MASS * G, rel=1e-6)
    assert np.abs(settled.v).max() < 1e-6


@pytest.mark.parametrize("bogie_torque", [0.0, 40.0])
def test_at_rest_each_wheel_bears_what_statics_give_it(bogie_torque):
    """Six loads from heave, roll, pitch and three bogies; gravity's generalised force is checked by Pinocchio."""
    motion = make_motion(ROVER)
    motion.torque[6 + ROVER.joint_names.index("left_bogie")] = bogie_torque
    run(vehicle(), motion, 30000, DT)
    lift = ROVER.impact_jacobian(motion.q, math.pi, ROVER.wheel_names)  # vertical speeds of the wheel centres
    needed = ROVER.bias(motion.q, np.zeros(ROVER.nv)) - motion.torque
    loads, *_ = np.linalg.lstsq(lift.T, needed, rcond=None)
    assert motion.ground.vertical == pytest.approx(loads, rel=1e-3)
    more = loads[ROVER.wheel_names.index("front_left")] - loads[ROVER.wheel_names.index("middle_left")]
    assert more == pytest.approx(2.0 * bogie_torque / 0.5349, abs=3.0)  # a couple over the bogie's length


def test_at_rest_each_wheel_has_sunk_until_the_soil_bears_its_load(settled):
    for load, sinkage in zip(settled.ground.vertical, settled.ground.sinkage, strict=True):
        root = brentq(lambda z, load=load: WHEEL.normal_force(z)[0] - load, 0.0, RADIUS, xtol=1e-14)
        assert sinkage == pytest.approx(root, rel=1e-8)
    heights = RADIUS - ROVER.wheel_positions(settled.q)[:, 2]
    assert settled.ground.sinkage == pytest.approx(heights, abs=1e-8)


@pytest.mark.parametrize("drive", [DRIVE, NOTHING_LOST, DRIVE._replace(brakes_on_cut=1.0)])
@pytest.mark.parametrize("powered", [False, True])
def test_from_standstill_nothing_grows(settled, drive, powered):
    where, motion = vehicle(drive=drive), resting(settled)
    motion.drives.cut[:] = float(not powered)
    motion.v[:] = 1e-5 * np.random.default_rng(2).normal(size=ROVER.nv)
    largest = []
    for _ in range(10):
        run(where, motion, 2000, DT)
        largest.append(np.abs(motion.v).max())
    assert max(largest) < 1e-4
    assert max(largest[5:]) <= max(largest[:5])


def test_a_wheel_in_the_air_feels_no_soil():
    motion = make_motion(ROVER)
    motion.q[2] = 0.01
    run(vehicle(drive=NOTHING_LOST), motion, 100, DT)
    assert not motion.ground.vertical.any()
    assert motion.v[2] == pytest.approx(-G * 0.01, rel=1e-9)
    assert np.abs(np.delete(motion.v, 2)).max() < 1e-9


@pytest.mark.parametrize("axle_torque", [20.0, -6.0])
def test_a_driven_rovers_wheel_forces_are_the_wheel_models_own(settled, axle_torque):
    """Driving and braking slip, both well above slip_speed; no damping, so the static law must come back exactly."""
    where, motion = vehicle(damping=0.0, slip_speed=1e-7, drive=NOTHING_LOST), resting(settled)
    motion.v[0], motion.v[AXLES] = 0.5, 0.5 / RADIUS
    motion.torque[AXLES] = axle_torque
    run(where, motion, 500, DT)
    assert motion.v[0] > 0.05
    assert np.sign(motion.ground.slip) == pytest.approx(np.sign(axle_torque))
    assert np.abs(motion.ground.slip).min() > 0.05
    pull, vertical, _ = WHEEL.forces(motion.ground.sinkage, motion.ground.slip)
    assert motion.ground.pull == pytest.approx(pull, rel=1e-9)
    assert motion.ground.vertical == pytest.approx(vertical, rel=1e-9)


def test_slip_is_that_of_axle_and_ground_speed(settled):
    motion = driving(settled, vehicle(slip_speed=1e-7), 4.0)
    before = motion.v.copy()
    run(vehicle(slip_speed=1e-7), motion, 1, DT)
    rolling = RADIUS * order_of_wheels(before[AXLES])
    assert motion.ground.slip == pytest.approx(1.0 - before[0] / rolling, abs=1e-3)


def test_at_steady_speed_the_motors_torque_is_the_soils_and_the_pulls_cancel(settled):
    motion = driving(settled, vehicle(slip_speed=1e-7, drive=NOTHING_LOST), 4.0)
    _, _, torque = WHEEL.forces(motion.ground.sinkage, motion.ground.slip)
    assert motion.drives.torque == pytest.approx(torque, rel=1e-3)
    assert torque.min() > 0.5
    compaction = WHEEL.normal_force(motion.ground.sinkage)[1].sum()
    assert abs(motion.ground.pull.sum()) < 1e-3 * compaction


def test_forward_momentum_changes_by_the_sum_of_the_pulls(settled, as_peer):
    peer, where = as_peer(ROVER), vehicle()
    motion = driving(settled, where, 0.02)
    before, impulse = peer.momentum(motion.q, motion.v)[0], 0.0
    for _ in range(1000):
        run(where, motion, 1, DT)
        impulse += motion.ground.pull.sum() * DT
    change = peer.momentum(motion.q, motion.v)[0] - before
    assert change > 1.0
    assert change == pytest.approx(impulse, rel=0.02)


def soil_energy(sinkage) -> float:
    """Energy the static vertical law has stored under all wheels [J], by quadrature."""
    return sum(quad(lambda z: WHEEL.normal_force(z)[0], 0.0, z)[0] for z in sinkage)


def plate_energy(motion: Motion) -> float:
    return float(0.5 * 5.5e4 * np.sum(np.maximum(-motion.obstacle.gap, 0.0) ** 2))


def energy(peer, motion: Motion) -> float:
    """Kinetic, potential and stored energy [J]; sinkage and gap taken anew from the configuration."""
    sinkage = RADIUS - ROVER.wheel_positions(motion.q)[:, 2]
    return peer.energy(motion.q, motion.v, gravity=(0.0, 0.0, -G)) + soil_energy(sinkage) + plate_energy(motion)


def test_motor_work_becomes_energy_and_what_slip_and_compaction_take(settled, as_peer):
    """Losses worked out from RigidWheel, sinkage and speeds alone; damping and gear friction off."""
    peer, where = as_peer(ROVER), vehicle(damping=0.0, slip_speed=1e-3, drive=NOTHING_LOST)
    motion = driving(settled, where, 0.05, speed=0.0)
    motion.drives.set_speed[:] = 0.4
    start, work, lost = energy(peer, motion), 0.0, 0.0
    for _ in range(5000):
        old, wound = motion.v.copy(), motion.drives.wound.copy()
        run(where, motion, 1, DT)
        # torque as it acted, gain on the new speed; both power sums at mid-step speeds
        axle = order_of_wheels(motion.v[AXLES])
        acted = DRIVE.gain * (0.4 - axle) + wound
        limited = np.abs(motion.drives.torque) == DRIVE.torque_limit
        acted[limited] = motion.drives.torque[limited]
        middle = 0.5 * (axle + order_of_wheels(old[AXLES]))
        work += DT * acted @ middle
        pull, _, torque = WHEEL.forces(motion.ground.sinkage, motion.ground.slip)
        lost += DT * (torque @ middle - 0.5 * (old[0] + motion.v[0]) * pull.sum())
    gained = energy(peer, motion) - start
    assert gained > 0.1
    assert lost > 0.1
    assert work == pytest.approx(gained + lost, rel=0.05)


def test_traction_only_takes_energy(settled, as_peer):
    """Drives off and nothing lost in them: whatever the start, the soil never gives more than it stored."""
    peer, where = as_peer(ROVER), vehicle(drive=NOTHING_LOST)
    for seed in range(5):
        random = np.random.default_rng(seed)
        motion = resting(settled)
        motion.v[[0, 1, 5]] = 0.3 * random.normal(size=3)
        motion.v[AXLES] = 2.0 * random.normal(size=6)
        levels = [energy(peer, motion)]
        for _ in range(20):
            run(where, motion, 200, DT)
            levels.append(energy(peer, motion))
        assert levels[0] - levels[-1] > 0.5
        assert np.diff(levels).max() < 1e-3 * (levels[0] - levels[-1])


def test_sideways_sliding_is_stopped_by_the_shear_limit(settled, as_peer):
    peer, where, motion = as_peer(ROVER), vehicle(), resting(settled)
    motion.v[1] = 0.2
    before = peer.momentum(motion.q, motion.v)[1]
    run(where, motion, 1, 1e-6)
    rate = (peer.momentum(motion.q, motion.v)[1] - before) / 1e-6
    # slide 0.2 m/s over slip_speed is far up the tanh: the limit F_n tan(phi), F_n = V where nothing rolls forward
    compression = np.hypot(*WHEEL.normal_force(settled.ground.sinkage))
    assert rate == pytest.approx(-compression.sum() * math.tan(SOIL.friction_angle), rel=1e-3)
    run(where, motion, 5000, DT)
    assert abs(motion.v[1]) < 1e-3
    # by hand v^2 / (2 mu g), the rover's rolling aside
    assert 0.0 < motion.q[1] < 2.0 * 0.2**2 / (2.0 * math.tan(SOIL.friction_angle) * G)


def test_halving_the_step_hardly_changes_the_forward_speed(settled):
    for seconds in (0.05, 1.0):
        coarse = driving(settled, vehicle(), seconds, dt=1e-4).v[0]
        fine = driving(settled, vehicle(), seconds, dt=5e-5).v[0]
        assert coarse > 0.01
        assert coarse == pytest.approx(fine, rel=0.01)


def test_coasting_downhill_by_hand(settled):
    """Free wheels: (m + 6 I/R^2) dv/dt = m g sin(slope) - compaction, slip being small."""
    slope = math.radians(25.0)
    where, motion = vehicle(slip_speed=1e-3, drive=NOTHING_LOST, slope=slope), resting(settled)
    run(where, motion, 10000, DT)
    before, resistance = motion.v[0], 0.0
    for _ in range(2000):
        run(where, motion, 1, DT)
        resistance += WHEEL.normal_force(motion.ground.sinkage)[1].sum() / 2000
    rolling_mass = MASS + 6 * 0.5 * 4.0
    by_hand = (MASS * G * math.sin(slope) - resistance) / rolling_mass
    assert by_hand > 0.2
    assert (motion.v[0] - before) / 0.2 == pytest.approx(by_hand, rel=0.03)


def test_on_a_slope_brakes_hold_back_what_coasts_away(settled):
    speeds = []
    for brakes in (0.0, 1.0):
        where = vehicle(drive=DRIVE._replace(brakes_on_cut=brakes, gear_friction=0.0), slope=math.radians(25.0))
        motion = resting(settled)
        run(where, motion, 20000, DT)
        speeds.append(motion.v[0])
    assert speeds[1] < 0.2 * speeds[0]


@pytest.fixture(scope="module")
def impacts(settled, as_peer):
    """Peak force, impact speed and energies after the cut of one impact at 60 degrees, at two step sizes."""
    peer, found = as_peer(ROVER), {}
    for dt in (1e-4, 5e-5):
        foot = 0.5349 + settled.q[0] + RADIUS * math.tan(math.radians(30.0)) + 0.03
        where = vehicle(angle_deg=60.0, foot=foot, drive=NOTHING_LOST)
        motion = driving(settled, where, 0.2, speed=0.49, dt=dt)
        while motion.obstacle.force.max() == 0.0:
            run(where, motion, 1, dt)
        motion.drives.cut[:] = 1.0
        speed, peak, levels = motion.v[0], 0.0, [energy(peer, motion)]
        for _ in range(400):
            run(where, motion, round(1e-3 / dt), dt)
            peak = max(peak, motion.obstacle.force.sum())
            levels.append(energy(peer, motion))
        found[dt] = speed, peak, np.array(levels)
    return found


def test_an_impact_is_of_the_published_size(impacts):
    speed, peak, _ = impacts[1e-4]
    assert speed == pytest.approx(0.07, rel=0.15)
    assert 100.0 < peak < 310.0  # thesis: about 210 N over both wheels at 60 degrees


def test_halving_the_step_hardly_changes_the_peak_force(impacts):
    assert impacts[1e-4][1] == pytest.approx(impacts[5e-5][1], rel=0.01)


def test_after_the_cut_an_impact_only_loses_energy(impacts):
    for _, _, levels in impacts.values():
        assert levels[0] - levels[-1] > 0.01
        assert np.diff(levels).max() < 0.01 * (levels[0] - levels[-1])
