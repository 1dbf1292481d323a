"""The peak by strain gauges: of pulses whose peak is known, with offset, drift and noise."""

import numpy as np
import pytest

from hil.signals.impact import strain_peak
from hil.signals.traces import half_width

IMPACT_S, PEAK_N, RATE_HZ = 2.0, 100.0, 1000


def pulse(length_s=0.1, peak_N=PEAK_N, times=1):
    """A half sine that begins at the impact: times [ns] and force [N]."""
    t_s = np.arange(0.0, 4.0, 1.0 / RATE_HZ)
    phase = (t_s - IMPACT_S) / length_s
    force = peak_N * np.where((phase > 0.0) & (phase < times), np.abs(np.sin(np.pi * phase)), 0.0)
    return np.rint(t_s * 1e9).astype(np.int64), force


def found(t_ns, force, *, bandwidth_hz=200.0, relative_u95=0.0):
    return strain_peak(
        t_ns, force, round(IMPACT_S * 1e9) + 3_000_000, bandwidth_hz=bandwidth_hz, relative_u95=relative_u95
    )


@pytest.mark.parametrize("length_s", [0.05, 0.1, 0.4])
def test_peak_is_that_of_the_force_whatever_the_offset(length_s):
    t_ns, force = pulse(length_s)
    assert found(t_ns, force + 300.0).value == pytest.approx(PEAK_N, rel=2e-3)
    assert found(t_ns, force - 300.0).value == pytest.approx(PEAK_N, rel=2e-3)


def test_drift_since_the_impact_alone_is_left_in():
    t_ns, force = pulse()
    assert found(t_ns, force + 5.0 * t_ns * 1e-9).value == pytest.approx(PEAK_N + 5.0 * 0.65, abs=0.2)


def test_interval_holds_the_peak_of_95_noisy_channels_of_100():
    t_ns, force = pulse()
    random, inside, values = np.random.default_rng(3), 0, []
    for _ in range(300):
        gain = 1.0 + 0.02 / 1.96 * random.standard_normal()
        one = found(t_ns, gain * force + 10.0 * random.standard_normal(len(force)), relative_u95=0.02)
        values.append(one.value)
        inside += abs(one.value - PEAK_N) <= half_width(one.standard)
    assert inside >= 0.93 * 300
    assert np.mean(values) == pytest.approx(PEAK_N, abs=2.0)
    assert np.std(values) < 6.0  # of 10 N a sample


def test_what_the_low_pass_takes_off_the_peak_is_added_back():
    t_ns, force = pulse(0.1)
    passed, share = np.zeros(len(force)), 1.0 - np.exp(-2.0 * np.pi * 40.0 / RATE_HZ)
    for n in range(1, len(force)):
        passed[n] = passed[n - 1] + share * (force[n] - passed[n - 1])
    assert passed.max() < 0.995 * PEAK_N
    one = found(t_ns, passed, bandwidth_hz=40.0)
    assert one.value == pytest.approx(PEAK_N, rel=3e-3)
    assert abs(one.value - PEAK_N) <= half_width(one.standard)


def test_the_largest_of_two_hits_counts():
    t_ns, force = pulse(0.1, times=2)
    force[t_ns > round((IMPACT_S + 0.1) * 1e9)] *= 0.7
    assert found(t_ns, force).value == pytest.approx(PEAK_N, rel=2e-3)


@pytest.mark.parametrize(
    "case",
    ["shorter than the samples resolve", "shorter than the amplifier", "in the noise", "not a number", "too early"],
)
def test_a_peak_that_the_channel_does_not_show_is_none(case):
    t_ns, force = pulse(0.01 if case.startswith("shorter than the samples") else 0.1)
    if case == "in the noise":
        force += 300.0 * np.random.default_rng(1).standard_normal(len(force))
    if case == "not a number":
        force[1500] = np.nan
    if case == "too early":
        t_ns, force = t_ns[1950:], force[1950:]
    assert found(t_ns, force, bandwidth_hz=20.0 if case.endswith("amplifier") else 200.0) is None
