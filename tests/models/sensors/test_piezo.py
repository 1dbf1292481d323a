"""The piezo triangle: shares by moments, droop and ring by their closed forms, and the converter's limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.sensors.piezo import Piezo, make_piezo_state, sample, shares_of

RATE = 30e3  # Hz, the rig's
DT = 1.0 / RATE
TRIANGLE = np.array([[0.0, 0.0508], [0.0508, -0.0508], [-0.0508, -0.0508]])
SENSITIVITY = 11.24e-3  # V/N, PCB 208C02
DROOP = 0.5  # s
QUIET = Piezo(
    place=TRIANGLE,
    sensitivity=np.full(3, SENSITIVITY),
    bias=np.zeros(3),
    noise=np.zeros(3),
    range=5.0,
    step=1e-12,
    droop_time=np.full(3, DROOP),
    ring_frequency=20.0,
    ring_damping=0.05,
    ring_share=0.0,
)
INSIDE = st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0))


def record(piezo: Piezo, force, across: float = 0.0, up: float = 0.0, noise=None):
    """Readings (samples, 3) [V] under a force [N] at every sample."""
    force = np.asarray(force, dtype=float)
    out = np.zeros((force.size, 3))
    noise = np.zeros((force.size, 3)) if noise is None else noise
    state = make_piezo_state()
    for k in range(force.size):
        sample(piezo, state, force[k], across, up, DT, noise[k], out[k])
    return out


def newtons(readings):
    return readings.sum(axis=1) / SENSITIVITY


def test_at_mid_height_the_top_sensor_bears_half_and_each_lower_one_a_quarter():
    assert shares_of(TRIANGLE, 0.0, 0.0) == pytest.approx([0.5, 0.25, 0.25], abs=1e-15)
    assert record(QUIET, [100.0])[0] / SENSITIVITY == pytest.approx([50.0, 25.0, 25.0], rel=1e-3)


@pytest.mark.parametrize("sensor", range(3))
def test_a_load_on_one_sensor_is_borne_by_it_alone(sensor):
    assert shares_of(TRIANGLE, *TRIANGLE[sensor]) == pytest.approx(np.eye(3)[sensor], abs=1e-15)


@settings(deadline=None)
@given(INSIDE)
def test_inside_the_triangle_forces_and_moments_balance(corner):
    a, b = corner if sum(corner) <= 1.0 else (1.0 - corner[0], 1.0 - corner[1])
    point = TRIANGLE[0] + a * (TRIANGLE[1] - TRIANGLE[0]) + b * (TRIANGLE[2] - TRIANGLE[0])
    shares = shares_of(TRIANGLE, *point)
    assert shares.sum() == pytest.approx(1.0)
    assert shares @ TRIANGLE == pytest.approx(point, abs=1e-12)
    readings = record(QUIET, [100.0], *point)[0]
    assert readings == pytest.approx(100.0 * SENSITIVITY * shares * (1.0 - DT / DROOP), abs=1e-9)


@settings(deadline=None)
@given(st.floats(-0.3, 0.3), st.floats(-0.3, 0.3))
def test_a_sensor_the_plate_lifts_off_reads_nothing_and_none_reads_a_pull(across, up):
    shares = shares_of(TRIANGLE, across, up)
    readings = record(QUIET, [100.0], across, up)[0]
    assert np.all(readings >= 0.0)
    assert np.all(readings[shares < 0.0] == 0.0)
    assert newtons(readings[None])[0] == pytest.approx(100.0 * (1.0 - DT / DROOP), rel=1e-9)


def test_above_the_triangle_all_the_load_is_on_the_top_sensor():
    assert record(QUIET, [100.0], 0.0, 0.1)[0] / SENSITIVITY == pytest.approx([100.0, 0.0, 0.0], rel=1e-3)


def test_a_steady_load_droops_with_the_time_constant():
    readings = newtons(record(QUIET, np.full(30000, 100.0)))
    t = DT * np.arange(1, readings.size + 1)
    assert np.abs(readings - 100.0 * np.exp(-t / DROOP)).max() < 0.01
    assert readings[14999] == pytest.approx(100.0 / math.e, rel=1e-3)


def test_after_release_the_reading_swings_negative_by_what_had_drooped_and_comes_back():
    hold, wait = 0.25, 0.5
    force = np.zeros(round((hold + wait) * RATE))
    force[: round(hold * RATE)] = 100.0
    readings = newtons(record(QUIET, force))
    swing = -100.0 * (1.0 - math.exp(-hold / DROOP))
    assert readings[round(hold * RATE)] == pytest.approx(swing, rel=1e-3)
    assert readings[-1] == pytest.approx(swing * math.exp(-wait / DROOP), rel=1e-3)


def test_a_short_hits_peak_is_read_as_it_is():
    t = DT * np.arange(300)  # a half sine of 10 ms
    force = 200.0 * np.sin(np.pi * t / 0.01)
    assert newtons(record(QUIET, force)).max() == pytest.approx(200.0, rel=0.02)


def ringing(share: float, seconds: float = 2.0):
    """What the shield adds to a step of 100 N [N], the droop made too slow to matter."""
    piezo = QUIET._replace(ring_share=share, droop_time=np.full(3, 1e6), ring_damping=0.02)
    return newtons(record(piezo, np.full(round(seconds * RATE), 100.0))) - 100.0


def test_the_shield_rings_at_20_hertz():
    spectrum = np.abs(np.fft.rfft(ringing(0.3) * np.hanning(60000)))
    frequency = np.fft.rfftfreq(60000, DT)
    assert frequency[10 + np.argmax(spectrum[10:])] == pytest.approx(20.0, abs=0.5)


def test_the_ring_is_the_step_response_of_a_damped_oscillator():
    zeta, omega = 0.02, 2.0 * math.pi * 20.0
    damped = omega * math.sqrt(1.0 - zeta**2)
    t = DT * np.arange(1, 60001)
    exact = -np.exp(-zeta * omega * t) * (np.cos(damped * t) + zeta * omega / damped * np.sin(damped * t))
    assert np.abs(ringing(0.3) - 30.0 * exact).max() < 0.01 * 30.0
    assert np.abs(ringing(0.0, 0.1)).max() < 1e-4


@pytest.mark.parametrize(("force", "limit"), [(5000.0, 5.0), (-5000.0, -5.0)])
def test_readings_clip_at_full_scale_either_way(force, limit):
    readings = record(QUIET, [force])[0]
    assert readings == pytest.approx([limit] * 3, abs=1e-9)


def test_a_converters_ends_are_whole_counts():
    readings = record(QUIET._replace(step=10.0 / 2**16), [5000.0, -5000.0])
    assert readings == pytest.approx(np.array([[5.0] * 3, [-5.0] * 3]), abs=0.0)


def test_readings_are_whole_counts_and_at_most_half_a_count_off():
    step = 10.0 / 2**12
    force = np.linspace(0.0, 300.0, 1000)
    fine, coarse = record(QUIET, force), record(QUIET._replace(step=step), force)
    counts = coarse / step
    assert np.abs(counts - np.round(counts)).max() < 1e-6
    assert np.abs(coarse - fine).max() <= 0.5 * step * (1.0 + 1e-6)
    assert np.unique(coarse[:, 0]).size > 500


def test_bias_and_noise_come_after_the_coupling():
    piezo = QUIET._replace(bias=np.array([0.1, -0.2, 0.3]), noise=np.array([0.01, 0.02, 0.03]))
    draws = np.random.default_rng(5).normal(size=(15000, 3))
    readings = record(piezo, np.zeros(15000), noise=draws)
    assert np.abs(readings - (piezo.bias + piezo.noise * draws)).max() < 1e-9


def test_each_channel_has_its_own_sensitivity():
    piezo = QUIET._replace(sensitivity=np.array([1e-3, 2e-3, 4e-3]))
    assert record(piezo, [100.0])[0] == pytest.approx([0.05, 0.05, 0.1], rel=1e-3)


def test_no_load_reads_nothing():
    assert not record(QUIET, np.zeros(100), 0.01, 0.01).any()
