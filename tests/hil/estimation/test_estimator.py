"""From volts to an impact and forces: bias, detection, droop, peaks, load point, and samples that are not finite."""

from __future__ import annotations

import math
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy.signal import bilinear, lfilter

from drivers.messages import DaqBlock, DriveSample, ValveSample
from hil.config import load_config
from hil.config.rig import Rig
from hil.estimation.channels import BAD, COUNT, Channels, digest, make_channel_state
from hil.estimation.estimator import Estimator, channel_parameters
from hil.messages.stages import Estimate, Samples
from models.kernels.bound import BoundArguments
from models.sensors.piezo import Piezo, make_piezo_state, sample

ZERO_SPEEDS = (0.0,) * 6  # the speeds of six wheels

RATE = 10_000
ZERO = 2000  # samples of bias, 0.2 s
# practically no droop: the correction within these tests is some millinewtons
CONFIG = load_config("sim_impact", [f"daq.rate_hz={RATE}", "daq.droop_s=1000"])
VOLT_PER_NEWTON = 11.24e-3
PLACE = np.array([(0.0, 0.0508), (0.0508, -0.0508), (-0.0508, -0.0508)])
CENTROID = PLACE.mean(axis=0)
THRESHOLD, CONSECUTIVE = 10.0, 3


def times_ns(count):
    return np.arange(count, dtype=np.int64) * 1_000_000_000 // RATE


def take_in(estimator: Estimator, volts, cuts=()) -> list[Estimate]:
    """Process `volts` (n, 3), the first sample at time 0, with one tick for each block between `cuts`."""
    stamps, estimates, nothing = times_ns(len(volts)), [], ValveSample(0, 0, ((0.0, 0.0), (0.0, 0.0)), -1)
    for number, (a, b) in enumerate(pairwise([0, *cuts, len(volts)])):
        block = DaqBlock(number, stamps[a:b], volts[a:b], (False,) * 3)
        samples = Samples(int(stamps[b - 1]), (block,), 0, block.sequence, DriveSample(0, 0, ZERO_SPEEDS, -1), nothing)
        estimates.append(estimator.estimate(samples))
    return estimates


def after_zeroing(forces_N):
    """Samples without load for zeroing, then forces (n,), shared equally, or (n, 3) [N]; in volts."""
    forces = np.asarray(forces_N, dtype=float)
    if forces.ndim == 1:
        forces = np.outer(forces, np.full(3, 1.0 / 3.0))
    return np.vstack([np.zeros((ZERO, 3)), forces * VOLT_PER_NEWTON])


def everything(estimator: Estimator, last: Estimate):
    known = (last.zeroed, last.bias_V, last.noise_V, last.saturated, last.impact_ns, last.force_N)
    return repr((*known, estimator.peaks_N, estimator.contact_duration_s, estimator.load_points_m))


def test_bias_and_noise_are_the_mean_and_deviation_of_the_zeroing_samples_alone():
    volts = np.random.default_rng(4).normal((0.02, -0.01, 1.5), (0.003, 0.0005, 0.1), (ZERO + 500, 3))
    (estimate,) = take_in(Estimator(Rig(CONFIG)), volts)
    assert estimate.zeroed
    np.testing.assert_allclose(estimate.bias_V, volts[:ZERO].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(estimate.noise_V, volts[:ZERO].std(axis=0, ddof=1), rtol=1e-9)


def test_a_tick_without_a_block_has_the_newest_speeds_and_all_else_as_before():
    estimator = Estimator(Rig(CONFIG))
    volts = after_zeroing([30.0] * 10)
    volts[-1, 0] = math.nan
    (last,) = take_in(estimator, volts)
    assert not last.finite
    for speeds in ((0.0,) * 6, (-0.0,) * 6, (0.1,) * 6):
        drives = DriveSample(1, 0, speeds, -1)
        later = estimator.estimate(Samples(0, (), 0, 0, drives, ValveSample(0, 0, ((0.0, 0.0),) * 2, -1)))
        assert later == replace(last, finite=True, wheel_speed_radps=speeds)
        assert [math.copysign(1.0, speed) for speed in later.wheel_speed_radps] == [
            math.copysign(1.0, speed) for speed in speeds
        ]


def test_a_large_bias_does_not_drown_the_noise():
    """A running sum of squares would lose it."""
    volts = 4.0 + np.random.default_rng(4).normal(0.0, 1e-7, (ZERO + 1, 3))
    (estimate,) = take_in(Estimator(Rig(CONFIG)), volts)
    np.testing.assert_allclose(estimate.noise_V, volts[:ZERO].std(axis=0, ddof=1), rtol=1e-5)


def test_nothing_is_detected_and_no_force_is_given_before_zeroing_is_done():
    (estimate,) = take_in(Estimator(Rig(CONFIG)), np.full((ZERO, 3), 1.0))
    assert not estimate.zeroed
    assert estimate.impact_ns is None
    assert estimate.force_N == (0.0, 0.0, 0.0)


def test_forces_are_counted_from_the_bias():
    volts = after_zeroing([30.0] * 5) + np.array([0.03, -0.02, 0.01])
    (estimate,) = take_in(Estimator(Rig(CONFIG)), volts)
    assert estimate.force_N == pytest.approx((10.0, 10.0, 10.0), rel=1e-3)


def first_long_run(forces) -> int | None:
    """Independent of the detector: index of the first of CONSECUTIVE forces over the threshold."""
    for over, run in groupby(enumerate(forces), key=lambda item: item[1] >= THRESHOLD):
        indices = [index for index, _ in run]
        if over and len(indices) >= CONSECUTIVE:
            return indices[0]
    return None


levels = st.lists(st.sampled_from([0.0, 9.0, 11.0, 80.0]), min_size=1, max_size=60)


@pytest.mark.slow
@settings(deadline=None)
@given(levels, st.data())
def test_the_impact_is_at_the_first_sample_of_the_first_long_enough_run_however_blocks_are_cut(forces, data):
    volts = after_zeroing(forces)
    cuts = sorted(data.draw(st.sets(st.integers(ZERO - 5, len(volts) - 1), max_size=20)))
    last = take_in(Estimator(Rig(CONFIG)), volts, cuts)[-1]
    first = first_long_run(forces)
    assert last.impact_ns == (None if first is None else times_ns(ZERO + first + 1)[-1])


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.data())
def test_the_same_samples_cut_into_any_blocks_give_the_same_result(seed, data):
    random = np.random.default_rng(seed)
    bumps = np.repeat(random.choice([0.0, 5.0, 12.0, 100.0], size=(12, 3)), 25, axis=0)
    volts = after_zeroing(bumps) + random.normal(0.0, 0.001, (ZERO + 300, 3))
    volts[random.integers(0, len(volts), 10), random.integers(0, 3, 10)] = np.nan
    cuts = sorted(data.draw(st.sets(st.integers(1, len(volts) - 1), max_size=40)))
    whole, split = Estimator(Rig(CONFIG)), Estimator(Rig(CONFIG))
    at_once, in_parts = take_in(whole, volts), take_in(split, volts, cuts)
    assert everything(split, in_parts[-1]) == everything(whole, at_once[-1])
    assert all(part.finite for part in in_parts) == at_once[-1].finite


@pytest.mark.parametrize("spike_N", [11.0, 300.0])
@pytest.mark.parametrize("length", [1, CONSECUTIVE - 1])
def test_a_spike_shorter_than_asked_for_is_no_impact(spike_N, length):
    forces = np.zeros(200)
    for start in (20, 60, 61 + length):
        forces[start : start + length] = spike_N
    (estimate,) = take_in(Estimator(Rig(CONFIG)), after_zeroing(forces))
    assert estimate.impact_ns is None


def test_the_first_impact_stays_the_impact():
    forces = np.repeat([0.0, 50.0, 0.0, 90.0], 40)
    assert take_in(Estimator(Rig(CONFIG)), after_zeroing(forces))[-1].impact_ns == times_ns(ZERO + 41)[-1]


def half_sine(peak_N: float, seconds: float, after_s: float):
    t = np.arange(round((seconds + after_s) * RATE)) / RATE
    return np.where(t < seconds, peak_N * np.sin(math.pi * t / seconds), 0.0)


@pytest.mark.parametrize("droop_s", [0.05, 0.5])
def test_droop_correction_inverts_an_ac_coupling_to_one_percent(droop_s):
    """tau s / (tau s + 1), made discrete with the bilinear transform: another method than that of the plant."""
    load = half_sine(100.0, 0.2, 0.1)
    seen = lfilter(*bilinear([droop_s, 0.0], [droop_s, 1.0], RATE), load)
    assert np.abs(seen - load).max() > 20.0  # there is something to correct
    corrected = forces_of(droop_s, np.outer(seen, [0.5, 0.3, 0.2]) * VOLT_PER_NEWTON)
    np.testing.assert_allclose(corrected, np.outer(load, [0.5, 0.3, 0.2]), atol=1.0)


def test_droop_correction_inverts_the_plants_channel_to_one_percent():
    load, volts = half_sine(100.0, 0.2, 0.1), np.zeros((3000, 3))
    gains = np.full(3, VOLT_PER_NEWTON)
    droops = np.full(3, 0.05)
    piezo, state = Piezo(PLACE, gains, np.zeros(3), np.zeros(3), 5.0, 1e-9, droops, 20.0, 0.05, 0.0), make_piezo_state()
    for i, force in enumerate(load):
        sample(piezo, state, force, *CENTROID, 1.0 / RATE, np.zeros(3), volts[i])
    np.testing.assert_allclose(forces_of(0.05, volts).sum(axis=1), load, atol=1.0)


def forces_of(droop_s: float, volts):
    """Corrected force (n, 3) after each of the samples that follow the zeroing."""
    estimator = Estimator(Rig(load_config("sim_impact", [f"daq.rate_hz={RATE}", f"daq.droop_s={droop_s}"])))
    volts = np.vstack([np.zeros((ZERO, 3)), volts])
    return np.array([e.force_N for e in take_in(estimator, volts, range(ZERO, len(volts)))[1:]])


@pytest.mark.parametrize("channel", range(3))
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_sample_that_is_not_finite_is_left_out_and_counted(channel, bad):
    parameters = channel_parameters(Rig(CONFIG))
    clean = np.random.default_rng(1).normal(0.0, 0.1, (ZERO + 100, 3))
    at = [3, ZERO + 2, ZERO + 2, len(clean)]  # while zeroing, twice in a row after it, at the end
    spoilt = np.insert(clean, at, 0.1, axis=0)
    bad_rows = np.array(at) + np.arange(len(at))
    spoilt[bad_rows, channel] = bad
    stamps = times_ns(len(spoilt))
    with_bad, without = make_channel_state(3), make_channel_state(3)
    point = np.zeros(2)
    digest(BoundArguments(Channels(parameters, with_bad, point)), stamps, spoilt)
    digest(BoundArguments(Channels(parameters, without, point)), np.delete(stamps, bad_rows), clean)
    assert with_bad.whole[BAD] == len(at)
    assert with_bad.whole[COUNT] == len(clean)
    with_bad.whole[BAD] = 0
    for ours, theirs in zip(with_bad[:-2], without[:-2], strict=True):  # the bad sample ends a run of equal samples
        np.testing.assert_array_equal(ours, theirs)


def trailing(column) -> int:
    """Number of newest samples that are equal, counted in the simplest way."""
    _, newest = next(groupby(column[::-1]))
    return len(list(newest))


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from([0.0, 0.1, -0.1])] * 3), min_size=1, max_size=40), st.data())
def test_still_is_how_many_newest_samples_are_equal_whatever_the_blocks(rows, data):
    volts = np.array(rows)
    cuts = sorted({end for end in data.draw(st.lists(st.integers(1, 40), max_size=5)) if end < len(volts)})
    estimates = take_in(Estimator(Rig(CONFIG)), volts, cuts)
    for end, estimate in zip([*cuts, len(volts)], estimates, strict=True):
        assert estimate.still == tuple(trailing(volts[:end, channel].tolist()) for channel in range(3))


@pytest.mark.parametrize("volts", [5.0, -4.99, math.nan, math.inf])
def test_a_channel_at_full_scale_or_without_a_number_is_not_still(volts):
    stuck = np.full((50, 3), 0.1)
    stuck[:, 1] = volts
    (estimate,) = take_in(Estimator(Rig(CONFIG)), stuck)
    assert estimate.still == (50, 0, 50)


def test_finite_is_false_in_the_tick_of_the_bad_sample_and_only_then():
    volts = after_zeroing(np.zeros(30))
    volts[ZERO + 15, 1] = np.nan
    estimates = take_in(Estimator(Rig(CONFIG)), volts, (ZERO + 10, ZERO + 20))
    assert [estimate.finite for estimate in estimates] == [True, False, True]


@pytest.mark.parametrize("channel", range(3))
@pytest.mark.parametrize(("volts", "flagged"), [(4.95, True), (-4.95, True), (4.94, False), (-4.94, False)])
def test_a_channel_at_99_percent_of_its_range_is_saturated_from_then_on(channel, volts, flagged):
    stream = after_zeroing(np.zeros(30))
    stream[ZERO + 12, channel] = volts
    estimates = take_in(Estimator(Rig(CONFIG)), stream, (ZERO + 10, ZERO + 20))
    assert [estimate.saturated for estimate in estimates] == [False, flagged, flagged]


@pytest.mark.parametrize("point", [(0.0, 0.0), (0.01, -0.02), (-0.02, -0.04), tuple(CENTROID)])
def test_the_load_point_of_a_known_split_is_found(point):
    split = np.linalg.solve(np.vstack([PLACE.T, np.ones(3)]), [*point, 1.0])
    estimator = Estimator(Rig(CONFIG))
    (estimate,) = take_in(estimator, after_zeroing(np.outer([0.0, 90.0, 100.0, 95.0, 95.0], split)))
    wanted = pytest.approx(tuple(np.array(point) - CENTROID), abs=1e-6)
    assert estimate.load_point_m == wanted
    assert estimator.load_points_m == (wanted, wanted)


def test_load_points_of_the_detection_and_of_the_peak_are_kept_apart():
    forces = [(60.0, 0.0, 0.0)] * 10 + [(0.0, 120.0, 0.0)] * 2 + [(0.0, 0.0, 70.0)] * 10
    estimator = Estimator(Rig(CONFIG))
    take_in(estimator, after_zeroing(forces))
    first, peak = estimator.load_points_m
    assert first == pytest.approx(PLACE[0] - CENTROID, abs=1e-4)
    assert peak == pytest.approx(PLACE[1] - CENTROID, abs=1e-4)


def test_an_unloaded_plate_has_no_load_point():
    (estimate,) = take_in(Estimator(Rig(CONFIG)), after_zeroing([9.0] * 10))
    assert all(map(math.isnan, estimate.load_point_m))


def test_contact_lasts_from_the_first_sample_over_the_threshold_to_the_first_that_stays_under_it():
    forces = np.concatenate([np.zeros(20), np.full(100, 80.0), np.zeros(4), np.full(50, 40.0), np.zeros(100)])
    estimator = Estimator(Rig(CONFIG))
    take_in(estimator, after_zeroing(forces))
    assert estimator.contact_duration_s == pytest.approx(154 / RATE)  # 4 samples in between are too short for an end


def test_contact_that_has_not_ended_has_no_duration():
    estimator = Estimator(Rig(CONFIG))
    take_in(estimator, after_zeroing([80.0] * 100 + [0.0] * (5 * CONSECUTIVE - 1)))
    assert estimator.contact_duration_s is None


def test_peaks_are_of_each_channel_of_the_sum_and_of_the_sum_after_the_release():
    forces = np.zeros((400, 3))
    forces[10:60] = (20.0, 30.0, 0.0)
    forces[30] = (60.0, 10.0, 5.0)  # largest sum, 75
    forces[40] = (0.0, 0.0, 50.0)
    forces[200:250] = (10.0, 20.0, 15.0)  # again
    estimator = Estimator(Rig(CONFIG))
    take_in(estimator, after_zeroing(forces))
    assert estimator.peaks_N == pytest.approx((60.0, 30.0, 50.0, 75.0, 45.0), rel=1e-3)


def test_a_single_contact_has_no_second_hit():
    estimator = Estimator(Rig(CONFIG))
    take_in(estimator, after_zeroing([0.0] * 20 + [80.0] * 100 + [0.0] * 200))
    assert estimator.peaks_N[4] == pytest.approx(0.0, abs=0.1)
