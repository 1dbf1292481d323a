"""Readings of instruments in ticks, and their place in the rig's axes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hil.config import load_config
from hil.config.device_parameters import instrument_parameters
from hil.messages.signals import tick_dtype
from hil.signals.alignment import (
    Readings,
    base_turned,
    independent_values,
    innovation_bound,
    new_readings,
    place_in_rig,
    speed_of,
)
from models.plant.instruments import InstrumentOnRig
from models.rover import rcp

PLACE_M, TURNS_DEG = (0.4, -0.1, 0.02), (3.0, -5.0, 12.0)
MOUNTED = "turn_deg: [10, -20, 130], body_turn_deg: [5, 6, -40], origin_m: [2, 1, 0.3], point_m: [0.2, -0.1, 0.5]"


def read_by_the_rig(settings):
    """What the simulated rig reads, without noise to speak of, of a rover that stands there; and the section."""
    config = load_config("sim_impact", [f"motion={{noise_m: 1.0e-6, noise_deg: 0.001, {settings}}}"])
    rover = rcp()
    q = rover.neutral()
    q[:3], q[3:7] = PLACE_M, Rotation.from_euler("xyz", TURNS_DEG, degrees=True).as_quat()
    state = type("State", (), {"q": q, "v": np.zeros(rover.nv)})
    one = InstrumentOnRig(
        instrument_parameters(config.instruments, config.encoders)["motion"], rover, state, np.random.default_rng(1)
    )
    one.take(20_000_000)
    ((_, t_ns, value),) = one.since(0)
    return Readings(np.array([t_ns * 1e-9]), np.array([value]), np.array([0])), config.motion


def test_the_place_of_the_base_is_where_the_simulated_rig_has_it():
    readings, section = read_by_the_rig(f"measures: pose, {MOUNTED}")
    np.testing.assert_allclose(place_in_rig(readings, section)[0], PLACE_M, atol=1e-4)
    np.testing.assert_allclose(base_turned(readings, section).as_euler("xyz", degrees=True)[0], TURNS_DEG, atol=0.01)


def test_a_position_is_that_of_a_base_that_has_not_turned():
    readings, section = read_by_the_rig("measures: position, turn_deg: [10, -20, 130], point_m: [0, 0, 0]")
    np.testing.assert_allclose(place_in_rig(readings, section)[0], PLACE_M, atol=1e-4)


def test_a_distance_tells_the_way_ahead_only():
    readings, section = read_by_the_rig(
        "measures: distance, direction: [-1, 0, 0], origin_m: [3, 0, 0], point_m: [0, 0, 0]"
    )
    ahead, across, up = place_in_rig(readings, section)[0]
    assert ahead == pytest.approx(PLACE_M[0], abs=1e-4)
    assert np.isnan([across, up]).all()


def test_a_reading_that_is_not_finite_gives_a_place_that_is_not_finite_and_no_error():
    readings, section = read_by_the_rig(f"measures: pose, {MOUNTED}")
    lost = readings._replace(values=np.full((2, 7), np.nan))
    assert np.isnan(place_in_rig(lost, section)).all()


def test_each_reading_is_found_once_and_none_before_the_first():
    layout = load_config("sim_impact", ["joints={encoders: [{joint: left_bogie}]}"]).layout
    tick = np.zeros(8, tick_dtype(layout))
    tick["joints_t_ns"] = [-1, -1, 5, 5, 5, 25, 25, 45]
    tick["joints_reading"][:, 0] = [np.nan, np.nan, 1, 1, 1, 2, 2, 2]
    found = new_readings(tick, "joints")
    assert found.rows.tolist() == [2, 5, 7]
    assert found.values[:, 0].tolist() == [1.0, 2.0, 2.0]
    np.testing.assert_allclose(found.t_s, [5e-9, 25e-9, 45e-9])


def test_a_speed_is_the_slope_of_the_places_around_it():
    t_s = np.arange(0.0, 2.0, 0.01)
    speed = speed_of(t_s, 0.3 + 0.07 * t_s, 0.2)
    np.testing.assert_allclose(speed, 0.07, atol=1e-12)
    gap = np.where(np.arange(len(t_s)) == 100, np.nan, 0.3 + 0.07 * t_s)
    lost = np.isnan(speed_of(t_s, gap, 0.2))
    assert np.flatnonzero(lost).tolist() == list(range(90, 111))


def test_a_bound_leaves_out_one_good_reading_in_ten_thousand():
    squares = np.random.default_rng(2).chisquare(3, 400_000) / 3
    assert np.mean(squares > innovation_bound(3)) == pytest.approx(1e-4, rel=0.5)


@pytest.mark.parametrize(
    ("role", "section", "number"),
    [
        ("motion", "{measures: pose}", 6),  # a quaternion's four numbers are three turns
        ("motion", "{measures: position}", 3),
        ("imu", "{}", 6),
        ("joints", "{encoders: [{joint: left_bogie}, {joint: rear_bogie}, {joint: front_right}]}", 2),
    ],
)
def test_a_turn_of_a_wheel_is_no_value_that_a_source_has(role, section, number):
    assert independent_values(load_config("sim_impact", [f"{role}={section}"]).layout, role) == number
