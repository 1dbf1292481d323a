"""Instruments of motion on a plant: what they read against the state, by another calculation, and their faults."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hil.config import load_config
from hil.config.rig import Rig
from models.gravity import EARTH_GRAVITY
from models.plant.instruments import KEPT, InstrumentOnRig, InstrumentParameters
from models.plant.motion_history import BY_WHEEL, SPEED, TIME, YAW, turns
from models.plant.plant import Plant

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

MS = 1_000_000
TURNS = (0.1, -0.2, 0.7)


@pytest.fixture(scope="module")
def driven():
    """A plant that has started to drive, and noted nothing yet."""
    rig = Rig(load_config("sim_impact", ["motion={measures: pose}", "plant.veer.heading_deg=10"]))
    plant = Plant(rig.simulated, np.random.default_rng(3))
    plant.set_drives((0.4,) * 6, False)
    for tick in range(1, 1001):
        plant.advance(tick * MS)
    return plant


def matrix(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Turned by yaw about z, then pitch about y, then roll about x, written out."""
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a), math.sin(a)) for a in (roll, pitch, yaw))
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


def of_quaternion(x: float, y: float, z: float, w: float) -> np.ndarray:
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def on_rig(plant: Plant, measures: str, channels: int, **settings) -> InstrumentOnRig:
    given = InstrumentParameters(measures, 1000.0, settings.pop("noise", (0.0,) * channels), **settings)
    return InstrumentOnRig(given, plant.rover, plant._state, np.random.default_rng(5))


def reading(instrument: InstrumentOnRig, t_ns: int = 2 * MS) -> tuple[float, ...]:
    instrument.take(t_ns)
    return instrument.since(0)[-1][2]


def test_a_pose_is_that_of_the_measured_point_and_body_in_the_axes_of_the_instrument(driven):
    point, origin, body = (0.1, 0.2, 0.3), (1.0, -2.0, 0.5), (0.3, 0.0, -0.1)
    value = reading(on_rig(driven, "pose", 6, point=point, origin=origin, turn=TURNS, body_turn=body))
    q = driven._state.q
    base, room = of_quaternion(*q[3:7]), matrix(*TURNS)
    assert value[:3] == pytest.approx(room.T @ (q[:3] + base @ np.array(point) - np.array(origin)), abs=1e-12)
    assert of_quaternion(*value[3:]) == pytest.approx(room.T @ base @ matrix(*body), abs=1e-12)
    position = reading(on_rig(driven, "position", 3, point=point, origin=origin, turn=TURNS))
    assert position == pytest.approx(value[:3], abs=1e-12)


def test_a_distance_grows_along_its_direction(driven):
    value = reading(on_rig(driven, "distance", 1, origin=(3.0, 0.0, 0.0), direction=(-1.0, 0.0, 0.0)))
    assert value == pytest.approx((3.0 - driven._state.q[0],), abs=1e-12)


def test_joints_are_read_with_their_zero_and_sign(driven):
    name = driven.rover.tree_joint_names[-1]
    angle = float(driven._state.q[7 + len(driven.rover.tree_joint_names) - 1])
    value = reading(on_rig(driven, "joints", 1, joints=(name,), zero=(0.5,), sign=(-1.0,)))
    assert value == pytest.approx((0.5 - angle,), abs=1e-12)


def test_the_turn_of_a_wheel_is_the_integral_of_its_speed_with_its_zero_and_sign():
    rig = Rig(load_config("sim_impact", ["wheel.grousers=22", "wheel.grouser_offset_deg=3", "ground.kind=firm"]))
    plant = Plant(rig.simulated, np.random.default_rng(3))
    encoder = on_rig(plant, "joints", 2, joints=("front_right", "left_bogie"), zero=(0.25, 0.0), sign=(-1.0, 1.0))
    plant.set_drives((0.9,) * 6, False)
    turned, before = 0.0, 0.0
    for tick in range(1, 601):
        plant.advance(tick * MS)
        speed = float(plant.wheel_speed[1])
        turned, before = turned + 0.5e-3 * (before + speed), speed
    assert turned > 0.2  # one pitch is 0.286 rad
    seen = 0.25 - reading(encoder, 600 * MS)[0]
    assert seen == pytest.approx(turned, abs=1e-3)


def test_a_unit_at_rest_reads_gravity_upwards_and_no_turn():
    rig = Rig(load_config("sim_slope", ["ground.pitch_deg=12", "imu={}"]))
    plant = Plant(replace(rig.simulated, instruments={}), np.random.default_rng(3))
    unit = on_rig(plant, "imu", 6)
    value = reading(unit)
    base = of_quaternion(*plant._state.q[3:7])
    assert value[:3] == pytest.approx(-base.T @ np.array(EARTH_GRAVITY), abs=1e-9)
    assert value[3:] == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)


def test_specific_force_is_the_change_of_the_points_velocity_less_gravity(driven):
    unit = on_rig(driven, "imu", 6, point=(0.2, 0.0, 0.4))
    base = of_quaternion(*driven._state.q[3:7])

    def velocity():
        v = driven._state.v
        return of_quaternion(*driven._state.q[3:7]) @ (v[:3] + np.cross(v[3:6], (0.2, 0.0, 0.4)))

    before, began_ns = velocity(), driven.t_ns
    unit._before_ns = began_ns
    driven.advance(began_ns + 5 * MS)
    base = of_quaternion(*driven._state.q[3:7])
    value = reading(unit, driven.t_ns)
    assert value[:3] == pytest.approx(base.T @ ((velocity() - before) / 5e-3 - np.array(EARTH_GRAVITY)), abs=1e-9)


def test_each_reading_has_the_time_of_its_state_and_its_number():
    rig = Rig(load_config("sim_impact", ["motion={measures: distance, rate_hz: 100}"]))
    plant = Plant(rig.simulated, np.random.default_rng(3))
    for tick in range(1, 101):
        plant.advance(tick * MS)
    numbers, times, _ = zip(*plant.instruments["motion"].since(0), strict=True)
    assert numbers == tuple(range(1, 11))
    assert times == tuple(number * 10 * MS for number in numbers)
    assert [one[0] for one in plant.instruments["motion"].since(8)] == [9, 10]


def test_old_readings_are_dropped(driven):
    instrument = on_rig(driven, "distance", 1)
    for tick in range(1, 2 * KEPT + 1):
        instrument.take(tick * MS)
    assert [one[0] for one in instrument.since(0)] == list(range(KEPT + 1, 2 * KEPT + 1))


def test_noise_has_the_configured_deviation_and_drop_outs_their_share(driven):
    instrument = on_rig(driven, "distance", 1, noise=(0.01,), drop_outs=0.3)
    values = []
    for tick in range(1, 2001):
        instrument.take(tick * MS)
        values += [value[0] for number, _, value in instrument.since(0) if number == tick]
    assert np.std(values) == pytest.approx(0.01, rel=0.1)
    assert len(values) == pytest.approx(1400, abs=80)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("frozen", lambda good, before, late: before),
        ("jump", lambda good, before, late: (good[0] + 0.2, *good[1:])),
        ("biased", lambda good, before, late: (good[0] + 0.2 * late, *good[1:])),
        ("swapped", lambda good, before, late: (good[1], good[0], good[2])),
    ],
)
def test_a_fault_begins_at_its_time(driven, fault, expected):
    how = {"fault": fault, "fault_at": 0.01, "fault_size": 0.2}
    instrument = on_rig(driven, "position", 3, noise=(0.01,) * 3, **how)
    good = on_rig(driven, "position", 3, noise=(0.01,) * 3)
    for tick in range(1, 21):
        instrument.take(tick * MS)
        good.take(tick * MS)
    spoilt, right = ([one[2] for one in each.since(0)] for each in (instrument, good))
    assert spoilt[:9] == right[:9]
    assert spoilt[19] == pytest.approx(expected(right[19], right[8], 0.01))
    assert spoilt[19] != right[19]


def test_the_truth_of_the_motion_is_noted(driven):
    rows = driven.motion
    assert rows[:, TIME] == pytest.approx(np.arange(1, 11) * 0.1)
    assert rows.shape[1] == BY_WHEEL + 12
    assert rows[-1, SPEED] > 0.0
    assert rows[-1, YAW] == pytest.approx(math.radians(10), abs=1e-3)


def test_turns_are_those_of_the_matrix():
    roll, pitch, yaw = 0.2, -0.3, 1.1
    half = matrix(roll, pitch, yaw)
    w = math.sqrt(1.0 + half.trace()) / 2.0
    x, y, z = (half[2, 1] - half[1, 2], half[0, 2] - half[2, 0], half[1, 0] - half[0, 1]) / np.array(4.0 * w)
    assert turns(np.array([0.0, 0.0, 0.0, x, y, z, w])) == pytest.approx((roll, pitch, yaw))


def test_instruments_change_nothing_of_the_plant():
    plants = []
    for overrides in ([], ["motion={measures: pose}", "imu={}", "joints={}"]):
        plant = Plant(Rig(load_config("sim_impact", overrides)).simulated, np.random.default_rng(3))
        plant.set_drives((0.4,) * 6, False)
        for tick in range(1, 201):
            plant.advance(tick * MS)
        plants.append(plant)
    bare, measured = plants
    assert (bare._state.q == measured._state.q).all()
    assert (bare._log.volts == measured._log.volts).all()
