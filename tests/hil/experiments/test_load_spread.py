"""Spread of wheel loads, settling, step response and static optimum, against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hil.experiments.normal_force.summary import (
    mean_between,
    running_mean,
    settling_time,
    step_response,
)
from models.statics import spread_of

T_S = np.arange(1, 101) * 0.1


def test_spread_is_standard_deviation_over_mean():
    assert spread_of(np.array([100.0, 300.0])) == pytest.approx(0.5)
    assert spread_of(np.array([[200.0] * 6, [0.0, 0.0, 0.0, 200.0, 200.0, 200.0]])) == pytest.approx([0.0, 1.0])


def test_a_mean_takes_the_values_that_end_inside_and_there_may_be_none():
    values = np.arange(100.0)[:, None]
    assert mean_between(T_S, values, 0.15, 0.35) == pytest.approx([1.5])
    assert mean_between(T_S, values, 20.0, 30.0) is None


def test_a_running_mean_reaches_back_over_its_window_as_far_as_there_are_values():
    found = running_mean(T_S, np.arange(100.0)[:, None], window_s=0.45)
    assert found[:4, 0] == pytest.approx([0.0, 0.5, 1.0, 1.5])
    assert found[50, 0] == pytest.approx(np.arange(46.0, 51.0).mean())


def test_an_exponential_settles_after_its_time_constant_times_the_logarithm():
    values = 0.1 + 0.4 * np.exp(-T_S / 0.5)
    assert settling_time(T_S, values, 0.1, 0.03) == pytest.approx(0.5 * math.log(0.4 / 0.03), abs=0.1)


def test_what_leaves_the_band_again_has_not_settled_before():
    values = np.where(T_S < 6.0, 0.1, 0.5)
    values[80:] = 0.1
    assert settling_time(T_S, values, 0.1, 0.03) == pytest.approx(8.1)
    assert settling_time(T_S, np.full(100, 0.2), 0.1, 0.03) is None
    assert settling_time(T_S, np.full(100, math.nan), 0.1, 0.03) is None


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_overshoot_of_a_damped_oscillation_is_that_of_the_textbook(sign):
    """Damping ratio 0.5: exp(-pi zeta / sqrt(1 - zeta^2)) = 16.3 %."""
    t_s, damped = np.arange(1, 4001) * 0.005, math.sqrt(0.75)
    wave = 1.0 - np.exp(-0.5 * t_s) * (np.cos(damped * t_s) + 0.5 / damped * np.sin(damped * t_s))
    found = step_response(t_s, 200.0 + sign * 40.0 * wave, 200.0, 200.0 + sign * 40.0)
    assert found.overshoot == pytest.approx(0.163, abs=1e-3)
    # the envelope exp(-t/2) / sqrt(3/4) is at 10 % then
    assert found.settle_s <= 2.0 * math.log(1.0 / (0.1 * damped))


def test_no_step_has_no_response():
    assert step_response(T_S, np.ones(100), 1.0, 1.0) is None
