"""Faults and disturbances of the simulated rig's force sensors, from the config to the recorded samples."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hil.config import ConfigError, load_config
from hil.config.model_parameters import nominal_rig, spread
from hil.config.rig import Rig
from hil.estimation.estimator import channel_parameters
from hil.signals.traces import removed_by_coupling
from hil.simulator.simulated_rig import build_plant
from models.plant import Plant

pytestmark = pytest.mark.slow

S = 1_000_000_000
SHORT = ["trial.start_distance_m=0.02", "plant.spread.start_m=0"]
DRIVING = (0.4,) * 6


def volts_of(*settings: str, seconds: float = 0.6):
    """All samples (n, channels) [V] of a rig that drives into the obstacle without a cut, and the plant."""
    plant = build_plant(Rig(load_config("sim_impact", [*SHORT, *settings])))
    plant.set_drives(DRIVING, False)
    found = []
    for tick in range(1, round(seconds * 100) + 1):
        first = plant.samples
        plant.advance(tick * S // 100)
        found.append(np.zeros((plant.samples - first, plant.channels)))
        plant.copy_samples(first, found[-1])
    return np.vstack(found), plant


@pytest.fixture(scope="module")
def good():
    return volts_of()[0]


def test_a_dead_sensor_shows_its_noise_and_nothing_else(good):
    volts, plant = volts_of("daq.channels.1.fault=dead")
    np.testing.assert_array_equal(volts[:, [0, 2]], good[:, [0, 2]])
    noise, step = plant.parameters.piezo.noise[1], plant.parameters.piezo.step
    assert np.abs(volts[:, 1]).max() < 6.0 * noise + step
    assert good[:, 1].max() > 50.0 * noise


def test_a_saturated_sensor_is_at_full_scale_under_load_and_quiet_before(good):
    volts, plant = volts_of("daq.channels.0.fault=saturated")
    hit = plant.hit_ns * 30_000 // S
    assert volts[hit - 3000 : hit - 10, 0].max() < 0.005
    assert volts[:, 0].max() >= 0.999 * plant.parameters.piezo.range
    np.testing.assert_array_equal(volts[:, 1:], good[:, 1:])


def test_an_offset_comes_with_the_first_touch(good):
    volts, plant = volts_of("daq.channels.2.fault=offset")
    hit = plant.hit_ns * 30_000 // S
    np.testing.assert_allclose(volts[: hit - 10], good[: hit - 10], atol=0.005)
    shift = (volts - good)[hit + 10 :].mean(axis=0)
    assert shift == pytest.approx([0.0, 0.0, 0.2], abs=0.001)


def test_each_channel_has_its_own_time_constant_in_plant_and_estimator():
    config = load_config("sim_impact", ["daq.channels.1.droop_s=0.05"])
    assert nominal_rig(config).piezo.droop_time.tolist() == [0.5, 0.05, 0.5]
    assert channel_parameters(Rig(config)).droop * config.daq.rate_hz == pytest.approx([2.0, 20.0, 2.0])


def coupled(kind, *settings):
    sensors = ("top", "lower_left", "lower_right")
    inputs = [f"{{sensor: {name}, channel: cDAQ1Mod1/ai{at}, kind: {kind}}}" for at, name in enumerate(sensors)]
    sheets = [
        f"{name}: {{serial: a, sensitivity_mVpN: 11, sensitivity_mVpVpN: 2, sensitivity_pCpN: 4}}" for name in sensors
    ]
    return [
        f"devices.daq={{driver: ni, inputs: [{', '.join(inputs)}], calibration: {{{', '.join(sheets)}}}}}",
        *settings,
    ]


@pytest.mark.parametrize(
    ("kind", "droops"), [("iepe_force", True), ("charge", True), ("voltage", False), ("bridge", False)]
)
def test_only_what_is_coupled_ac_droops_in_the_plant_and_is_corrected_by_estimator_and_report(kind, droops):
    config = load_config("sim_wire", coupled(kind))
    share = channel_parameters(Rig(config)).droop * config.daq.rate_hz
    held_s = 10.0  # by then a channel that droops reads nothing of a force that stands
    assert (held_s / nominal_rig(config).piezo.droop_time < 1e-6).all() != droops
    assert (share * held_s < 1e-6).all() != droops
    reading = np.ones((1000, 3))
    assert (removed_by_coupling(reading, 1000.0, np.array(config.droops_s)) < 1e-6).all() != droops


@pytest.mark.parametrize("kind", ["voltage", "bridge"])
def test_a_time_constant_of_an_input_that_is_coupled_dc_is_refused(kind):
    with pytest.raises(ConfigError, match=rf"droop_s 0\.05 of lower_left; allowed: null: its input is {kind}, which"):
        load_config("sim_wire", coupled(kind, "daq.channels.1.droop_s=0.05"))
    with pytest.raises(ConfigError, match=rf"top\.droop_s: found 0\.4; allowed: null: its input is {kind}"):
        load_config("sim_wire", coupled(kind, "devices.daq.calibration.top.droop_s=0.4"))


def test_the_rigs_time_constants_deviate_only_if_asked_to_and_then_change_nothing_else():
    rigs = load_config("sim_impact"), load_config("sim_impact", ["plant.spread.droop=0.1"])
    plain, given = (
        nominal_rig(rigs[1]).perturbed(spread(one.plant, one.loads), np.random.default_rng(3)) for one in rigs
    )
    assert plain.piezo.droop_time.tolist() == [0.5] * 3
    off = given.piezo.droop_time / 0.5 - 1.0
    assert (off != 0.0).all()
    assert np.abs(off).max() < 0.4
    np.testing.assert_array_equal(given.piezo.sensitivity, plain.piezo.sensitivity)
    assert (given.start_distance, given.alignment) == (plain.start_distance, plain.alignment)


@pytest.mark.soak
def test_a_seed_gives_one_vibration_and_another_seed_another():
    settings = ["plant.vibration.mains_V=0.01", "plant.vibration.run_up_N=1", "plant.vibration.footsteps_N=1"]
    (one, _), (same, _) = (volts_of(*settings, seconds=0.1) for _ in range(2))
    other, _ = volts_of(*settings, "seed=2", seconds=0.1)
    np.testing.assert_array_equal(one, same)
    assert (one != other).mean() > 0.9


def test_bumpers_vibrate_while_the_wheels_turn_and_are_quiet_before():
    config = load_config("bumper", ["rig=simulated", "clock=lockstep", "plant.vibration.run_up_N=2", *SHORT])
    still, moving = build_plant(Rig(config)), build_plant(Rig(config))
    moving.set_drives(DRIVING, False)
    newton_per_volt = 1.0 / still.parameters.piezo.sensitivity
    seen = []
    for plant in (still, moving):
        plant.advance(S // 10)
        volts = np.zeros((4000, 2))
        plant.copy_samples(plant.samples - 4000, volts)
        assert plant.hit_ns is None
        seen.append((volts * newton_per_volt).std(axis=0))
    assert seen[0].max() < 0.1
    assert (seen[1] > 0.5).all()


def test_a_plant_without_disturbance_draws_no_numbers_for_one():
    parameters = nominal_rig(load_config("sim_impact"))
    assert parameters.disturbance is None
    hummed = nominal_rig(load_config("sim_impact", ["plant.vibration.mains_V=0.01"]))
    assert hummed.disturbance is not None
    plants = [
        Plant(one, np.random.default_rng(5)) for one in (parameters, dataclasses.replace(hummed, disturbance=None))
    ]
    volts = np.zeros((2, 300, 3))
    for plant, out in zip(plants, volts, strict=True):
        plant.advance(S // 100)
        plant.copy_samples(0, out)
    np.testing.assert_array_equal(volts[0], volts[1])
