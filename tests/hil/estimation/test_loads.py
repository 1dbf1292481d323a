"""Wheel loads from readings: calibration, zero, low-pass, and what is left out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from drivers.messages import DaqBlock, DriveSample, ValveSample
from hil.config import load_config
from hil.config.rig import Rig
from hil.config.rig_setup import nominal_gain
from hil.estimation.estimator import Estimator
from hil.messages.stages import Estimate, Samples

MS = 1_000_000
TALK = (np.eye(6) * 0.0 + 0.05 * np.arange(36).reshape(6, 6) / 36.0).tolist()
SIX = "loads={leg_sensors: {axes: [fx, fy, fz, mx, my, mz]}, load_cell: {}}"


def estimator(*overrides: str):
    return Estimator(Rig(config := load_config("sim_juno", list(overrides)))), config


def take(made: Estimator, volts: np.ndarray, first: int = 0, sequence: int = 1, t_ns: int | None = None) -> Estimate:
    """The estimate after a block of samples 1 ms apart."""
    stamps = (first + np.arange(len(volts))) * MS
    block = DaqBlock(sequence, stamps.astype(np.int64), volts, (False,) * volts.shape[1])
    drives, valves = DriveSample(0, 0, (0.0,) * 4, -1), ValveSample(0, 0, (), -1)
    t_ns = int(stamps[-1]) if t_ns is None else t_ns
    return made.estimate(Samples(t_ns, (), 0, 0, drives, valves, load_blocks=(block,), load_sequence=sequence))


def test_cross_talk_of_all_axes_is_undone():
    made, config = estimator(SIX, f"loads.leg_sensors.cross_talk={TALK}")
    gain = nominal_gain(config.loads, config.loads.leg_sensors, "V")
    wrench = np.random.default_rng(2).normal(size=(4, 6)) * [100, 100, 400, 20, 20, 20]
    volts = np.append((wrench @ gain.T).ravel(), 1.5)
    found = take(made, np.tile(volts, (3, 1)))
    assert found.wheel_load_N == pytest.approx(wrench[:, 2])
    assert found.pull_N == pytest.approx((150.0,))


def test_a_calibration_replaces_full_scale_and_takes_its_offset_off():
    sheet = "loads.calibration={front_left_fz: {offset_V: 0.5, load_per_V: [80]}, pull: {load_per_V: [20]}}"
    made, _ = estimator("loads={leg_sensors: {}, load_cell: {}}", sheet)
    found = take(made, np.array([[1.5, 1.0, 1.0, 1.0, 2.0]]))
    assert found.wheel_load_N == pytest.approx((80.0, 100.0, 100.0, 100.0))
    assert found.pull_N == pytest.approx((40.0,))


def test_channels_are_zeroed_while_the_rover_is_lifted_and_no_sooner_trusted_than_settled():
    made, _ = estimator("loads={leg_sensors: {}, lifted_s: 0.1, filter_hz: 50}")
    hanging = np.array([0.3, -0.2, 0.1, 0.0])
    noise = 0.01 * np.random.default_rng(1).normal(size=(100, 4))
    lifted = take(made, hanging + noise)
    assert not lifted.zeroed
    assert all(map(math.isnan, lifted.wheel_load_N))
    standing = take(made, np.tile(hanging + 5.0, (10, 1)), first=100, sequence=2)
    assert not standing.zeroed
    standing = take(made, np.tile(hanging + 5.0, (10, 1)), first=110, sequence=3)
    assert standing.zeroed
    assert standing.wheel_load_N == pytest.approx((500.0,) * 4, abs=0.5)


def test_a_step_of_the_load_comes_through_the_low_pass_as_the_first_order_answer():
    made, _ = estimator("loads={leg_sensors: {}, filter_hz: 5}")
    take(made, np.zeros((10, 4)))
    found = take(made, np.ones((32, 4)), first=10, sequence=2)
    assert found.wheel_load_N == pytest.approx((100.0 * (1.0 - math.exp(-2.0 * math.pi * 5.0 * 0.032)),) * 4)


def test_a_sample_that_is_not_finite_is_left_out_and_told_once():
    made, _ = estimator("loads={leg_sensors: {}}")
    volts = np.ones((5, 4))
    volts[2, 1] = np.nan
    found = take(made, volts)
    assert found.loads is not None
    assert not found.loads.finite
    assert found.wheel_load_N == pytest.approx((100.0,) * 4)
    after = made.estimate(Samples(6 * MS, (), 0, 0, DriveSample(0, 0, (0.0,) * 4, -1), ValveSample(0, 0, (), -1)))
    assert after.loads is not None
    assert after.loads.finite


def test_equal_samples_are_counted_over_blocks_and_full_scale_is_not_frozen():
    made, _ = estimator("loads={leg_sensors: {}}")
    volts = np.tile([1.0, 2.0, 3.0, 10.0], (5, 1))
    volts[3, 1] = 2.1
    take(made, volts)
    found = take(made, np.tile([1.0, 2.0, 4.0, 10.0], (5, 1)), first=5, sequence=2)
    assert found.loads is not None
    assert found.loads.still == (10, 6, 5, 0)
    assert found.loads.saturated


def test_a_reset_forgets_every_sample():
    made, _ = estimator("loads={leg_sensors: {}, filter_hz: 5}")
    take(made, np.full((50, 4), 3.0))
    made.reset()
    found = take(made, np.ones((1, 4)))
    assert found.wheel_load_N == pytest.approx((100.0,) * 4)
    assert found.loads is not None
    assert found.loads.still == (1,) * 4
