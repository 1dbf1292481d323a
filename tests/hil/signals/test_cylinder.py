"""Pressure steps, and the line through their loads, against numbers chosen here."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from hil.signals.calibration_fits import CalibrationError, Step, fit_steps, joint_torques_Nm, pressure_steps

RATE = 1000.0


def stairs(levels_Pa, each_s=1.0, time_s=0.05, noise_Pa=0.0) -> np.ndarray:
    """A pressure that approaches each level exponentially."""
    found, now = [], 0.0
    for level in levels_Pa:
        t = np.arange(round(each_s * RATE)) / RATE
        found.append(level + (now - level) * np.exp(-t / time_s))
        now = level
    wave = np.concatenate(found)
    return wave + noise_Pa * np.random.default_rng(1).normal(size=wave.size)


def test_each_level_that_is_held_is_a_step():
    levels = [0.0, 50e3, 100e3, 150e3, 100e3]
    steps = pressure_steps(stairs(levels, noise_Pa=200.0), RATE)
    assert [step.pressure_Pa for step in steps] == pytest.approx(levels, abs=300.0)
    assert all(0 <= step.first < step.end <= 5000 for step in steps)
    assert all(one.end <= other.first for one, other in pairwise(steps))


def test_a_level_that_is_held_too_briefly_is_none_and_a_ramp_has_none():
    assert [round(step.pressure_Pa) for step in pressure_steps(stairs([0.0, 80e3], each_s=0.3), RATE)] == []
    assert pressure_steps(np.linspace(0.0, 200e3, 5000), RATE) == []
    assert pressure_steps(np.zeros(0), RATE) == []


def test_the_slope_is_that_of_the_loads_with_an_interval_that_holds_it():
    pressures, area = np.array([0.0, 40e3, 80e3, 120e3, 160e3, 200e3]), 1.14e-3
    steps = [Step(0, 1, pressure) for pressure in pressures]
    covered = 0
    for seed in range(300):
        noise = 2.0 * np.random.default_rng(seed).normal(size=len(pressures))
        fit = fit_steps(steps, (area * pressures - 6.0 + noise).tolist())
        covered += abs(fit.slope.value - area) <= fit.slope.u95
        assert fit.offset == pytest.approx(-6.0, abs=8.0)
    assert covered / 300 == pytest.approx(0.95, abs=0.04)


@pytest.mark.parametrize(
    ("pressures", "loads", "words"),
    [
        ([0.0, 100e3], [0.0, 100.0], "2 steady pressures .* 3 or more"),
        ([0.0, 5e3, 10e3], [0.0, 5.0, 10.0], "from 0.0 to 10.0 kPa"),
        ([0.0, 50e3, 100e3], [0.0, 90.0, 80.0], "95 % interval"),
        ([0.0, 50e3, 100e3], [7.0, 7.0, 7.0], "95 % interval"),
    ],
)
def test_data_that_give_no_slope_are_refused(pressures, loads, words):
    with pytest.raises(CalibrationError, match=words):
        fit_steps([Step(0, 1, pressure) for pressure in pressures], loads)


def test_torque_is_the_virtual_work_of_the_measured_loads():
    loads = np.repeat([[200.0, 100.0, 50.0], [240.0, 60.0, 50.0]], 100, axis=0)
    steps = [Step(0, 100, 0.0), Step(100, 200, 1e5)]
    rest, pushed = joint_torques_Nm(steps, loads, np.array([-0.25, 0.25, 0.0]))
    assert pushed - rest == pytest.approx(0.25 * 40.0 + 0.25 * 40.0)
