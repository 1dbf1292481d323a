"""A bumper pair: each sensor bears the force of its wheel, in a channel like any other."""

from __future__ import annotations

import numpy as np
import pytest

from models.sensors.piezo import Piezo, make_piezo_state, sample, sample_pair

DT = 1.0 / 30e3  # s
SENSITIVITY = np.array([0.011, 0.012])  # V/N
PAIR = Piezo(
    place=np.full((2, 2), np.nan),
    sensitivity=SENSITIVITY,
    bias=np.zeros(2),
    noise=np.zeros(2),
    range=5.0,
    step=1e-12,
    droop_time=np.full(2, 0.05),
    ring_frequency=20.0,
    ring_damping=0.05,
    ring_share=0.2,
)


def record(piezo: Piezo, forces, noise=None):
    """Readings (samples, 2) [V] under forces (samples, 2) [N]."""
    out, state = np.zeros((len(forces), 2)), make_piezo_state(2)
    noise = np.zeros((len(forces), 2)) if noise is None else noise
    for k, (left, right) in enumerate(forces):
        sample_pair(piezo, state, left, right, DT, noise[k], out[k])
    return out


def pulses():
    """A hit of the left wheel, and 20 ms later a heavier one of the right [N]."""
    t = DT * np.arange(3000)
    return np.column_stack([100.0 * np.sin(np.pi * t / 0.05).clip(0.0), 150.0 * np.sin(np.pi * (t - 0.02) / 0.05)])


@pytest.mark.parametrize("wheel", [0, 1])
def test_a_sensor_reads_its_own_wheel_and_nothing_of_the_other(wheel):
    forces = pulses()
    alone = np.zeros_like(forces)
    alone[:, wheel] = forces[:, wheel]
    together, apart = record(PAIR, forces), record(PAIR, alone)
    np.testing.assert_array_equal(together[:, wheel], apart[:, wheel])
    assert np.all(apart[:, 1 - wheel] == 0.0)
    assert np.abs(together[:, 1 - wheel]).max() > 0.5


@pytest.mark.parametrize("wheel", [0, 1])
def test_its_channel_droops_and_rings_as_a_triangles_sensor_does_that_bears_all(wheel):
    place = np.array([[0.0, 0.05], [0.05, -0.05], [-0.05, -0.05]])
    like = PAIR._replace(place=place, sensitivity=np.full(3, SENSITIVITY[wheel]), bias=np.zeros(3), noise=np.zeros(3))
    forces, state, seen = pulses(), make_piezo_state(), np.zeros((3000, 3))
    for k, force in enumerate(forces[:, wheel]):
        sample(like, state, force, *place[1], DT, np.zeros(3), seen[k])
    np.testing.assert_allclose(record(PAIR, forces)[:, wheel], seen[:, 1], atol=1e-9)


def test_bias_and_noise_are_each_channels_own():
    noise = np.random.default_rng(2).standard_normal((4000, 2))
    piezo = PAIR._replace(bias=np.array([0.1, -0.2]), noise=np.array([0.01, 0.03]))
    readings = record(piezo, np.zeros((4000, 2)), noise)
    assert readings.mean(axis=0) == pytest.approx([0.1, -0.2], abs=3e-3)
    assert readings.std(axis=0) == pytest.approx([0.01, 0.03], rel=0.05)


@pytest.mark.parametrize("channels", [0, 1, 4])
def test_other_numbers_of_channels_are_refused(channels):
    with pytest.raises(ValueError, match=f"channels: found {channels}, allowed: 3"):
        make_piezo_state(channels)
