"""Margins of the outer loop, against a frequency response by brute force and against the loop itself over time."""

from __future__ import annotations

import cmath
import math
from collections import deque

import numpy as np
import pytest

from hil.config import load_config
from hil.config.rig import Rig
from hil.config.schema.experiments import TorqueLoop
from hil.control.following import OuterLoop, TorqueLine, TorquePid, loop_margins, torque_margins
from hil.experiments.follow.experiment import LEAST_GAIN, LEAST_PHASE_DEG, delay_s, margins_at

CASES = [(0.3, 3.0, 0.1, 0.06, 1.0), (0.0, 2.0, 0.2, 0.3, 0.7), (0.6, 8.0, 0.05, 0.02, 1.0), (0.3, 3.0, 0.0, 0.2, 1.0)]


def by_frequency(gain, integral_per_s, lag_s, delay, share):
    """Phase margin [degrees], its frequency, and gain margin, from the open loop's response on a fine grid."""
    w = np.geomspace(1e-2, 3e3, 2_000_000)
    s = 1j * w
    response = share * (gain + integral_per_s / s) * np.exp(-s * delay) / (1.0 + lag_s * s)
    crossing = int(np.argmax(np.abs(response) < 1.0))
    phase = np.unwrap(np.angle(response))
    phase += -math.pi / 2 - phase[0] + math.radians(math.degrees(cmath.phase(response[0])) + 90.0)
    turned = int(np.argmax(phase < -math.pi))
    return 180.0 + math.degrees(phase[crossing]), w[crossing], 1.0 / abs(response[turned])


@pytest.mark.slow
@pytest.mark.parametrize(("gain", "integral_per_s", "lag_s", "delay", "share"), CASES)
def test_margins_are_those_of_the_frequency_response(gain, integral_per_s, lag_s, delay, share):
    found = loop_margins(gain, integral_per_s, lag_s, delay, share)
    phase_deg, crossover, gain_margin = by_frequency(gain, integral_per_s, lag_s, delay, share)
    assert found.phase_deg == pytest.approx(phase_deg, abs=0.02)
    assert found.crossover_radps == pytest.approx(crossover, rel=1e-4)
    assert found.gain == pytest.approx(gain_margin, rel=1e-3)


def swing(gain, integral_per_s, lag_s, delay, seconds=60.0, period_s=0.001):
    """Largest deviation from the wanted value in the last fifth, over that of the second, of the loop over time."""
    loop = OuterLoop(gain, integral_per_s, period_s, math.inf)
    late, state, deviations = deque([10.0] * max(round(delay / period_s), 1)), 10.0, []
    for _ in range(round(seconds / period_s)):  # far from the least output, 0: there it is linear
        state += period_s / (lag_s + period_s) * (late.popleft() - state)
        deviation = 0.001 - 0.7 * (state - 10.0)
        late.append(loop.step(10.0, deviation, math.inf))
        deviations.append(abs(deviation))
    fifth = len(deviations) // 5
    return max(deviations[-fifth:]) / max(deviations[fifth : 2 * fifth])


@pytest.mark.parametrize(("gain", "integral_per_s", "lag_s", "delay"), [(0.3, 3.0, 0.1, 0.06), (0.5, 2.0, 0.2, 0.3)])
def test_the_loop_over_time_is_stable_up_to_its_delay_margin_and_not_beyond(gain, integral_per_s, lag_s, delay):
    """Independent of the frequency response: the controller itself, with a lag and a delay, step by step."""
    margin_s = loop_margins(gain, integral_per_s, lag_s, delay, 0.7).delay_s
    assert swing(gain, integral_per_s, lag_s, delay + 0.93 * margin_s) < 0.9
    assert swing(gain, integral_per_s, lag_s, delay + 1.07 * margin_s) > 1.1


@pytest.mark.parametrize(
    ("delay_ms", "rate_hz", "phase_deg", "gain"), [(5, 100, 87, 33), (50, 20, 73, 5.2), (200, 20, 47, 2.1)]
)
def test_the_shipped_gains_have_the_margins_of_the_page(delay_ms, rate_hz, phase_deg, gain):
    config = load_config("sim_follow", [f"motion.delay_ms={delay_ms}", f"motion.rate_hz={rate_hz}"])
    margins = margins_at(Rig(config), delay_s(config))
    assert margins.phase_deg == pytest.approx(phase_deg, abs=0.5)
    assert margins.gain == pytest.approx(gain, rel=0.03)
    assert margins.phase_deg > LEAST_PHASE_DEG
    assert margins.gain > LEAST_GAIN


def test_half_a_second_is_too_much_for_the_shipped_gains():
    slow = load_config("sim_follow", ["motion.delay_ms=500", "motion.stale_ms=2000"])
    assert margins_at(Rig(slow), delay_s(slow)).phase_deg < LEAST_PHASE_DEG


def test_margins_of_a_proportional_loop_on_the_torque_of_an_inertia_are_those_of_the_closed_form():
    line = TorqueLine(inertia=2.0, slope=300.0, speed_delay_s=0.0, lag_s=0.0, delay_s=0.02)
    found = torque_margins(40.0, 0.0, 0.0, 0.02, line)
    crossover = 40.0 / 2.0  # |P / (J w)| = 1
    assert found.crossover_radps == pytest.approx(crossover, rel=5e-3)
    assert found.phase_deg == pytest.approx(90.0 - math.degrees(0.02 * crossover), abs=0.2)
    assert found.gain == pytest.approx(math.pi / 2.0 / 0.02 / crossover, rel=5e-3)


def swing_on_torque(gains, line, seconds=12.0, period_s=0.001):
    """As `swing`: the controller itself on an inertia whose motor is made up for with a late speed."""
    loop = TorquePid(gains, period_s)
    late = deque([0.01] * max(round(line.delay_s / period_s), 1))
    own = deque([0.01] * max(round(line.speed_delay_s / period_s), 1))
    speed, seen, deviations = 0.01, 0.01, []
    for _ in range(round(seconds / period_s)):
        torque = loop.step(0.0, late.popleft(), -math.inf, math.inf)
        speed += period_s * (torque + line.slope * (own.popleft() - speed)) / line.inertia
        seen += period_s / (line.lag_s + period_s) * (speed - seen)
        late.append(seen)
        own.append(speed)
        deviations.append(abs(speed))
    fifth = len(deviations) // 5
    return max(deviations[-fifth:]) / max(deviations[fifth : 2 * fifth])


def test_the_loop_on_torque_over_time_is_stable_up_to_its_delay_margin_and_not_beyond():
    gains = TorqueLoop(gain=30.0, integral_gain=15.0, derivative_gain=2.0, limit_Nm=1e4)
    line = TorqueLine(inertia=13.0, slope=500.0, speed_delay_s=0.001, lag_s=0.1, delay_s=0.106)
    margin_s = torque_margins(30.0, 15.0, 2.0, gains.filter_s, line).delay_s
    assert 0.2 < margin_s < 0.6
    stable, unstable = (line._replace(delay_s=line.delay_s + share * margin_s) for share in (0.9, 1.1))
    assert swing_on_torque(gains, stable) < 0.9
    assert swing_on_torque(gains, unstable) > 1.1
