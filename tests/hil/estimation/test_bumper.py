"""Two bumpers instead of a triangle: each is evaluated alone, and there is no load point."""

from __future__ import annotations

import math

import numpy as np
import pytest

from drivers.messages import DaqBlock, DriveSample, ValveSample
from hil.config import load_config
from hil.config.rig import Rig
from hil.estimation.estimator import Estimator
from hil.messages.stages import Samples

ZERO_SPEEDS = (0.0,) * 6  # the speeds of six wheels

RATE, ZERO = 10_000, 2000  # [Hz], samples of bias
THRESHOLD = 10.0  # N
SETTINGS = [f"daq.rate_hz={RATE}", "daq.block_ms=2", "daq.droop_s=1000"]
CONFIGS = {"triangle": load_config("sim_impact", SETTINGS), "bumper": load_config("bumper", SETTINGS)}


def estimate(layout: str, forces_N):
    """Estimator and its estimate after forces (n, channels) [N] that follow the zeroing."""
    config = CONFIGS[layout]
    volts = np.asarray(forces_N, dtype=float) * np.array(config.sensitivities_mVpN) * 1e-3
    volts = np.vstack([np.zeros((ZERO, volts.shape[1])), volts])
    stamps = np.arange(len(volts), dtype=np.int64) * 1_000_000_000 // RATE
    block = DaqBlock(1, stamps, volts, (False,) * volts.shape[1])
    valves = ValveSample(0, 0, ((0.0, 0.0), (0.0, 0.0)), -1)
    estimator = Estimator(Rig(config))
    samples = Samples(int(stamps[-1]), (block,), 0, 1, DriveSample(0, 0, ZERO_SPEEDS, -1), valves)
    return estimator, estimator.estimate(samples)


def at_ns(sample: int) -> int:
    return (ZERO + sample) * 1_000_000_000 // RATE


@pytest.mark.parametrize("wheel", [0, 1])
def test_one_bumper_over_the_threshold_is_an_impact(wheel):
    forces = np.zeros((50, 2))
    forces[20:, wheel] = 1.1 * THRESHOLD
    assert estimate("bumper", forces)[1].impact_ns == at_ns(20)
    forces[20:, wheel] = 0.9 * THRESHOLD
    assert estimate("bumper", forces)[1].impact_ns is None


@pytest.mark.parametrize("wheel", [0, 1])
def test_a_reading_that_swings_below_zero_hides_no_hit_of_the_other(wheel):
    forces = np.zeros((50, 2))
    forces[:, 1 - wheel] = -5.0 * THRESHOLD
    forces[20:, wheel] = 1.1 * THRESHOLD
    assert estimate("bumper", forces)[1].impact_ns == at_ns(20)


def test_what_adds_up_is_an_impact_of_a_triangle_and_none_of_bumpers():
    assert estimate("triangle", np.full((50, 3), 0.6 * THRESHOLD))[1].impact_ns == at_ns(0)
    assert estimate("bumper", np.full((50, 2), 0.6 * THRESHOLD))[1].impact_ns is None


def test_peaks_are_those_of_each_bumper_and_of_their_sum():
    forces = np.zeros((60, 2))
    forces[10:30, 0], forces[20:40, 1] = 40.0, 70.0
    estimator, last = estimate("bumper", forces)
    assert estimator.peaks_N == pytest.approx((40.0, 70.0, 110.0, 0.0), abs=0.2)
    assert len(last.force_N) == len(last.bias_V) == len(last.noise_V) == 2


def test_contact_lasts_until_both_bumpers_are_free():
    forces = np.zeros((100, 2))
    forces[10:30, 0], forces[20:50, 1] = 40.0, 12.0
    forces[30:, 0] = -8.0  # the negative reading of one must not hide the contact of the other
    estimator, _ = estimate("bumper", forces)
    assert estimator.contact_duration_s == pytest.approx(40 / RATE)


def test_bumpers_have_no_load_point():
    estimator, last = estimate("bumper", np.full((50, 2), 100.0))
    assert all(map(math.isnan, last.load_point_m))
    assert all(math.isnan(value) for point in estimator.load_points_m for value in point)


def test_a_sample_of_one_bumper_that_is_no_number_leaves_out_both():
    forces = np.zeros((50, 2))
    forces[10:13, 0], forces[10:13, 1] = 100.0, np.nan
    estimator, last = estimate("bumper", forces)
    assert not last.finite
    assert last.impact_ns is None
    assert estimator.peaks_N == (0.0, 0.0, 0.0, 0.0)
