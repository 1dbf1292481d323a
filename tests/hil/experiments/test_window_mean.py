"""The interval of a mean holds the true mean as often as it says, also where each value depends on those before."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t

from hil.experiments.summary import student, window_mean


@pytest.mark.slow
@pytest.mark.parametrize(("memory", "count"), [(0.0, 200), (0.9, 400), (0.98, 2000)])
def test_the_interval_holds_the_mean_in_95_of_100_series(memory, count):
    """Autoregressive series of order 1 with mean 3; the standard deviation of a coverage of 95 % in 600 is 0.9 %."""
    random, held = np.random.default_rng(5), 0
    for _ in range(600):
        shocks, values, value = random.standard_normal(count), np.empty(count), random.standard_normal()
        for i, shock in enumerate(shocks):
            value = memory * value + math.sqrt(1.0 - memory**2) * shock
            values[i] = 3.0 + value
        found = window_mean(values)
        held += abs(found.mean - 3.0) <= found.u95
    assert 0.91 <= held / 600 <= 0.995


def test_what_takes_no_account_of_the_memory_would_hold_it_far_less_often():
    random, held = np.random.default_rng(5), 0
    for _ in range(200):
        values = np.convolve(random.standard_normal(449), np.full(50, 1.0 / 50.0), "valid")
        held += abs(values.mean()) <= 1.96 * values.std(ddof=1) / math.sqrt(values.size)
    assert held / 200 < 0.5


def test_a_constant_has_no_interval_and_one_value_an_infinite_one():
    assert window_mean(np.full(50, 2.0))[:2] == (2.0, 0.0)
    assert window_mean(np.array([2.0])).u95 == math.inf
    assert all(map(math.isnan, window_mean(np.zeros(0))))


@pytest.mark.parametrize("freedom", [1, 2, 7, 30, 31, 60, 500])
def test_points_of_student_are_those_of_scipy(freedom):
    assert student(freedom) == pytest.approx(float(t.ppf(0.975, freedom)), abs=6e-4)
