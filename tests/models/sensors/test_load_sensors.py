"""Leg sensors and the load cell against statics of a plant at rest, worked out here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.plant import Plant
from models.sensors.load_sensors import DRAWBAR, LoadSensors
from models.vehicle.loads import Drawbar

MS = 1_000_000
WHEELS = 4
FULL = np.array([1000.0] * 3 + [100.0] * 3)
JUNO = nominal_rig(load_config("sim_juno"))


def sensors(**changes) -> LoadSensors:
    """All six axes of each leg of a Juno and its load cell: 10 V at full scale, without noise."""
    wheel = np.append(np.repeat(np.arange(WHEELS), 6), DRAWBAR)
    axis = np.append(np.tile(np.arange(6), WHEELS), 0)
    gain = np.where(np.arange(6) == axis[:, None], 10.0 / FULL, 0.0)
    nothing = np.zeros(len(wheel))
    made = LoadSensors(
        wheel, axis, FULL, gain, nothing, nothing, nothing, nothing + 10.0, nothing + 1e-6, 0.3, 0.0, 1000
    )
    return made._replace(**changes)


def loads(given: LoadSensors, t_ns: int = 100 * MS, **parameters) -> np.ndarray:
    """(samples, wheels, 6) [N, N m] of a plant at rest, and (samples,) of its load cell [N]."""
    plant = Plant(replace(JUNO, loads=given, **parameters), np.random.default_rng(1))
    for t in range(MS, t_ns + 1, MS):
        plant.advance(t)
    volts = np.zeros((plant.load_sampling.samples, plant.load_sampling.channels))
    plant.load_sampling.copy_samples(0, volts)
    return (volts[:, :-1].reshape(-1, WHEELS, 6) / 10.0 * FULL), volts[:, -1] * 100.0


def test_normal_forces_add_up_to_the_weight_and_balance_about_the_centre_of_mass():
    wrench, _ = loads(sensors())
    rover, _, state = JUNO.build()
    mass = rover.mass_matrix(rover.own_configuration(state.q))
    weight = 9.81 * mass[0, 0]
    normal = wrench[-1, :, 2]
    assert normal.sum() == pytest.approx(weight, rel=2e-3)
    places = rover.wheel_positions(rover.own_configuration(state.q))
    centre_x = -mass[2, 4] / mass[0, 0]  # of the coupling of the base's vertical and pitch speeds
    assert normal @ places[:, 0] / normal.sum() == pytest.approx(centre_x + state.q[0], abs=3e-3)


def test_moments_are_those_of_the_contact_forces_about_a_sensor_at_its_height():
    wrench, _ = loads(sensors(), drawbar=Drawbar((-200.0, 0.0, 0.0), (0.0, 0.0, 0.3)))
    force, moment = wrench[-1, :, :3], wrench[-1, :, 3:]
    contact = np.array([0.0, 0.0, -0.3])
    np.testing.assert_allclose(moment, np.cross(contact, force), atol=1e-3)
    assert np.abs(force[:, 0]).max() > 10.0  # the drawbar loads the wheels lengthwise


def test_the_load_cell_reads_the_force_that_pulls_back():
    _, pull = loads(sensors(), drawbar=Drawbar((-150.0, 0.0, 0.0)))
    assert pull == pytest.approx(np.full(len(pull), 150.0), abs=1e-3)


def test_a_lifted_rover_shows_bias_and_drift_alone():
    bias, drift = np.linspace(-1.0, 1.0, 25), np.linspace(2.0, -2.0, 25)
    plant = Plant(replace(JUNO, loads=sensors(bias=bias, drift=drift, lifted=0.05)), np.random.default_rng(1))
    for t in range(1, 101):
        plant.advance(t * MS)
    volts = np.zeros((101, 25))
    plant.load_sampling.copy_samples(0, volts)
    np.testing.assert_allclose(volts[:50], bias + drift * np.arange(50)[:, None] * 1e-3, atol=1e-6)
    assert (volts[60, 2:24:6] - bias[2:24:6]).min() > 5.0


def test_a_reading_ends_at_full_scale_and_has_whole_counts():
    small = sensors(range=np.full(25, 2.0), step=np.full(25, 0.25))
    plant = Plant(replace(JUNO, loads=small), np.random.default_rng(1))
    plant.advance(20 * MS)
    volts = np.zeros((1, 25))
    plant.load_sampling.copy_samples(plant.load_sampling.samples - 1, volts)
    assert volts[0, 2] == 2.0
    np.testing.assert_array_equal(volts % 0.25, 0.0)


def test_samples_are_counted_and_old_ones_refused():
    plant = Plant(replace(JUNO, loads=sensors()), np.random.default_rng(1))
    plant.advance(10 * MS)
    assert plant.load_sampling.samples == 11  # at 0, 1, ... 10 ms
    plant.load_sampling.samples += 5000
    with pytest.raises(OverflowError, match="sample 0 is gone"):
        plant.load_sampling.copy_samples(0, np.zeros((1, 25)))


def test_perturbed_sensors_differ_by_what_is_asked_and_the_same_for_a_seed():
    zero, drift, gain, talk = 0.01, 0.002, 0.03, 0.05
    one, other = (sensors().perturbed(zero, drift, gain, talk, np.random.default_rng(3)) for _ in range(2))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)
    many = [sensors().perturbed(zero, drift, gain, talk, np.random.default_rng(seed)) for seed in range(200)]
    nominal = sensors()
    own = nominal.gain > 0.0
    assert np.std([m.bias for m in many]) == pytest.approx(zero * 10.0, rel=0.05)
    assert np.std([m.drift for m in many]) == pytest.approx(drift * 10.0 / 60.0, rel=0.05)
    assert np.std([m.gain[own] / nominal.gain[own] for m in many]) == pytest.approx(gain, rel=0.05)
    others = (nominal.wheel[:, None] != DRAWBAR) & ~own
    at_full = np.array([(m.gain * FULL / 10.0)[others] for m in many])
    assert np.std(at_full) == pytest.approx(talk, rel=0.05)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"wheel": np.full(25, 4)}, "wheel is .* allowed: -2 to 3"),
        ({"noise": np.zeros(3)}, "noise has shape"),
        ({"rate_hz": 0}, "rate_hz"),
        ({"bias": np.full(25, np.nan)}, "bias"),
    ],
)
def test_sensors_that_no_rover_can_have_are_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        Plant(replace(JUNO, loads=sensors(**changes)), np.random.default_rng(1))
