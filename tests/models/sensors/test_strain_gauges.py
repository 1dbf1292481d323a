"""Strain gauges on the links of the obstacle's frame, against the true force of a plant and statics worked out here."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.plant import Plant
from models.sensors.load_sensors import DRAWBAR, FRAME

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

MS = 1_000_000
ERRORS = "errors: {zero: 0, drift_per_min: 0, gain: 0}"
SHORT = ("trial.start_distance_m=0.01", "trial.ramp_s=0.1", "ground.kind=firm", "telemetry.endpoint=''")
STARBOARD = 1


def sensors(gauges: str = "", *settings: str):
    """The nominal rig of a config with quiet gauges of 0.01 V/N."""
    quiet = f"loads={{strain_gauges: {{noise_V: 0, bandwidth_hz: 500, {gauges}}}, bits: 32, {ERRORS}}}"
    return nominal_rig(load_config("sim_impact", [*SHORT, quiet, *settings]))


def impact(rig, until_ms: int = 600):
    """Readings [V], and of the starboard wheel force [N], place along the plate [m] and friction [N], each 1 ms."""
    plant = Plant(rig, np.random.default_rng(1))
    plant.set_drives((0.4,) * 6, False)
    state, ground_truth = plant._state.obstacle, []
    for t in range(1, until_ms + 1):
        plant.advance(t * MS)
        if plant.hit_ns is not None:
            plant.set_drives((0.0,) * 6, True)
        ground_truth.append((state.force[STARBOARD], state.point[STARBOARD, 1], state.drag[STARBOARD]))
    volts = np.zeros((plant.load_sampling.samples, 1))
    plant.load_sampling.copy_samples(0, volts)
    return volts[1:, 0], np.array(ground_truth)


def rear_compression(beta: float, force: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Of both rear links, by moments about the front foot: plate from the origin, rear link from its top down."""
    top = 0.5 * np.array([math.cos(beta), math.sin(beta)])
    foot = np.array([top[0] + math.sqrt(0.605**2 - top[1] ** 2), 0.0])
    towards_top = (top - foot) / 0.605
    return along * force / (top[0] * towards_top[1] - top[1] * towards_top[0])


@pytest.mark.parametrize("angle", [40, 60, 90])
def test_reading_is_the_compression_of_both_rear_links_by_statics(angle):
    volts, ground_truth = impact(sensors("", f"trial.angle_deg={angle}"))
    wanted = rear_compression(math.radians(angle), ground_truth[:, 0], ground_truth[:, 1])
    assert ground_truth[:, 0].max() > 50.0
    # a low-pass of 500 Hz takes 0.3 ms, in which the force changes by 2 N
    np.testing.assert_allclose(100.0 * volts, wanted, atol=0.01 * wanted.max())
    assert 100.0 * volts.max() == pytest.approx(wanted.max(), rel=2e-4)


def test_bottom_links_read_what_pushes_forward_less_the_rear_link_and_friction_too():
    rig = sensors("link: bottom", "obstacle.friction=0.3")
    volts, ground_truth = impact(rig)
    beta, (force, along, drag) = math.radians(60.0), ground_truth.T
    alpha = math.asin(0.5 * math.sin(beta) / 0.605)
    wanted = force * math.sin(beta) + drag * math.cos(beta)
    wanted -= rear_compression(beta, force, along) * math.cos(alpha)
    assert np.abs(drag).max() > 1.0
    assert 100.0 * volts.max() == pytest.approx(wanted.max(), rel=2e-3)


def test_the_channel_is_coupled_to_dc_and_returns_to_its_offset_where_a_piezo_swings_negative():
    volts, ground_truth = impact(sensors("", "loads.calibration={frame: {offset_V: 0.5}}"))
    after = np.flatnonzero(ground_truth[:, 0] > 0.0)[-1] + 5
    assert after < len(volts) - 20
    np.testing.assert_allclose(volts[after:], 0.5, atol=1e-6)
    np.testing.assert_allclose(volts[:20], 0.5, atol=1e-6)


def test_offset_drift_and_gain_are_those_of_the_sensor():
    rig = sensors()
    nominal, _ = impact(rig)
    other = rig.loads._replace(bias=np.array([0.2]), drift=np.array([-0.1]), gain=1.1 * rig.loads.gain)
    volts, _ = impact(replace(rig, loads=other))
    t_s = np.arange(1, len(volts) + 1) * 1e-3
    np.testing.assert_allclose(volts, 1.1 * nominal + 0.2 - 0.1 * t_s, atol=1e-6)


def test_bandwidth_delays_by_its_time_constant_and_keeps_the_impulse():
    rig = sensors()
    slow, open_ = (impact(replace(rig, loads=rig.loads._replace(bandwidth=hz)))[0] for hz in (5.0, 1e9))
    t_s = np.arange(len(slow)) * 1e-3
    delay_s = t_s @ slow / slow.sum() - t_s @ open_ / open_.sum()
    assert delay_s == pytest.approx(1.0 / (2.0 * math.pi * 5.0), abs=0.6e-3)  # a sample holds for 1 ms
    assert slow.sum() == pytest.approx(open_.sum(), rel=1e-3)


def test_one_gain_error_scales_the_whole_bridge():
    loads = sensors("link: bottom").loads
    many = [loads.perturbed(0.0, 0.0, 0.03, 0.05, np.random.default_rng(seed)) for seed in range(300)]
    scales = np.array([one.gain[0, :3] / loads.gain[0, :3] for one in many])
    np.testing.assert_allclose(scales, np.repeat(scales[:, :1], 3, axis=1))
    assert scales[:, 0].std() == pytest.approx(0.03, rel=0.15)
    assert not np.array([one.gain[0, 3:] for one in many]).any()


def test_legs_and_load_cell_read_the_same_with_gauges_beside_them():
    quiet = f"loads={{leg_sensors: {{noise_V: 0}}, load_cell: {{noise_V: 0}}, {ERRORS[:-1]}, cross_talk: 0}}"
    rig = nominal_rig(load_config("sim_impact", [*SHORT, quiet + "}"]))
    both = nominal_rig(load_config("sim_impact", [*SHORT, f"{quiet}, strain_gauges: {{noise_V: 0}}}}"]))
    assert both.loads.wheel.tolist() == [*rig.loads.wheel.tolist(), FRAME]
    assert rig.loads.wheel[-1] == DRAWBAR
    readings = []
    for one in (rig, both):
        plant = Plant(one, np.random.default_rng(1))
        plant.set_drives((0.4,) * 6, False)
        for t in range(1, 301):
            plant.advance(t * MS)
        volts = np.zeros((plant.load_sampling.samples, plant.load_sampling.channels))
        plant.load_sampling.copy_samples(0, volts)
        readings.append(volts)
    np.testing.assert_array_equal(readings[0], readings[1][:, :-1])
    assert np.ptp(readings[1][:, -1]) > 0.1
