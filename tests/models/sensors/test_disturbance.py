"""Disturbances of the force sensors: their strength and frequency against closed forms, and none where none is set."""

from __future__ import annotations

import numpy as np
import pytest

from models.sensors.disturbance import disturb, make_disturbance
from models.sensors.piezo import Piezo, make_piezo_state, sample, sample_pair

pytestmark = pytest.mark.slow

RATE = 30_000
DT = 1.0 / RATE
PIEZO = Piezo(
    np.array([[0.0, 0.05], [0.05, -0.05], [-0.05, -0.05]]), np.full(3, 0.01), np.zeros(3), np.zeros(3), 5.0, 1e-12,
    np.full(3, 1e9), 20.0, 0.05, 0.0,
)  # fmt: skip


def run(seconds: float, *, axle_speed: float = 0.4, touched: bool = False, seed: int = 1, **given):
    """Forces [N] and volts (n, 3) of each sample."""
    disturbance = make_disturbance(3, **given)
    count = round(seconds * RATE)
    noise = np.random.default_rng(seed).standard_normal((count, 3))
    force, volts = np.zeros((2, count, 3))
    for k in range(count):
        disturb(disturbance, k * DT, DT, axle_speed, touched, noise[k])
        force[k], volts[k] = disturbance.force, disturbance.volts
    return force, volts


def strongest_hz(signal) -> float:
    spectrum = np.abs(np.fft.rfft(signal - signal.mean()))
    return float(np.fft.rfftfreq(signal.size, DT)[spectrum.argmax()])


def test_hum_has_its_amplitude_and_frequency_on_every_channel():
    force, volts = run(1.0, hum=0.003, hum_frequency=50.0)
    assert not force.any()
    for channel in volts.T:
        assert channel.std() * np.sqrt(2.0) == pytest.approx(0.003, rel=1e-6)
        assert strongest_hz(channel) == 50.0


def test_vibration_of_the_run_up_has_its_root_mean_square_and_frequency():
    force, volts = run(20.0, run_up_force=2.0, run_up_frequency=30.0, run_up_speed=0.4)
    assert not volts.any()
    # a resonance of 10 % damping: some 190 independent values a channel and second
    assert force[RATE:].std(axis=0) == pytest.approx([2.0] * 3, rel=0.1)
    power = (np.abs(np.fft.rfft(force[:, 0])) ** 2).cumsum()
    hz = np.fft.rfftfreq(len(force), DT)
    half = hz[np.searchsorted(power, 0.5 * power[-1])]
    assert half == pytest.approx(30.0, rel=0.1)
    assert abs(np.corrcoef(force.T)[0, 1]) < 0.2  # each sensor has a vibration of its own


@pytest.mark.parametrize(("speed", "share"), [(0.0, 0.0), (0.2, 0.5), (-0.4, 1.0)])
def test_vibration_of_the_run_up_is_in_proportion_to_the_speed_of_the_wheels(speed, share):
    full, _ = run(0.5, run_up_force=2.0, run_up_speed=0.4)
    force, _ = run(0.5, run_up_force=2.0, run_up_speed=0.4, axle_speed=speed)
    np.testing.assert_allclose(force, share * full, rtol=1e-12)


def test_footsteps_come_at_their_rate_and_decay():
    force, _ = run(2.0, footstep_force=5.0, footsteps=2.0, footstep_frequency=15.0)
    steps = force[:, 0].reshape(4, -1)
    np.testing.assert_allclose(steps, np.tile(steps[0], (4, 1)), atol=1e-9)
    t = DT * np.arange(steps.shape[1])
    omega = 2.0 * np.pi * 15.0
    np.testing.assert_allclose(steps[0], 5.0 * np.exp(-0.1 * omega * t) * np.sin(omega * t), atol=1e-9)


def test_a_zero_shift_appears_with_the_first_touch():
    shift = np.array([0.0, 0.2, 0.0])
    _, before = run(0.01, zero_shift=shift)
    _, after = run(0.01, zero_shift=shift, touched=True)
    assert not before.any()
    np.testing.assert_array_equal(after, np.tile(shift, (len(after), 1)))


def test_a_load_that_ends_leaves_the_structure_ringing_at_its_frequency():
    disturbance = make_disturbance(3, structure_share=0.3, structure_frequency=50.0, structure_damping=0.01)
    state, out = make_piezo_state(), np.zeros((RATE, 3))
    for k in range(RATE):
        sample(PIEZO, state, 100.0 if k < 2700 else 0.0, 0.0, 0.0, DT, np.zeros(3), out[k], disturbance)
    newtons = out[2700:].sum(axis=1) / 0.01
    assert strongest_hz(newtons) == pytest.approx(50.0, abs=1.5)
    # 4.5 periods after the load came the structure stands at its far turning point
    turning = 100.0 * (1.0 + np.exp(-0.01 * 2.0 * np.pi * 50.0 * 0.09))
    assert np.abs(newtons).max() == pytest.approx(0.3 * turning, rel=0.01)


def test_without_strength_a_disturbance_changes_no_reading():
    quiet, load = make_disturbance(3), 80.0 * np.sin(np.linspace(0.0, np.pi, 2000))
    pair = PIEZO._replace(**{name: getattr(PIEZO, name)[:2] for name in ("sensitivity", "bias", "noise", "droop_time")})
    for piezo, both in ((PIEZO, sample), (pair, sample_pair)):
        channels = len(piezo.sensitivity)
        states, outs = [make_piezo_state(channels) for _ in range(2)], np.zeros((2, channels))
        still = quiet if channels == 3 else make_disturbance(2)
        for force in load:
            for state, out, given in zip(states, outs, (None, still), strict=True):
                places = (force, 0.01, 0.02) if channels == 3 else (force, 0.5 * force)
                both(piezo, state, *places, DT, np.zeros(channels), out, given)
            np.testing.assert_allclose(outs[1], outs[0], atol=1e-11)


def test_what_is_out_of_range_is_refused_all_at_once():
    with pytest.raises(ValueError, match=r"hum is -1\.0.*run_up_speed is 0\.0.*zero_shift has shape"):
        make_disturbance(3, hum=-1.0, run_up_speed=0.0, zero_shift=np.zeros(2))
