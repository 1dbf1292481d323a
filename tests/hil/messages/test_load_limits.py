"""Limits of the wheels' loads that make no sense are refused, all at once, with the numbers."""

from __future__ import annotations

import pytest

from hil.messages.loads import LoadLimits, limit_errors

WHEELS = ("front_left", "front_right", "rear_left", "rear_right")


def test_limits_that_exclude_the_present_loads_are_refused_with_every_number():
    low, high = limit_errors(LoadLimits(least_load_N=50.0, most_load_N=300.0), (40.0, 200.0, 320.0, 200.0), WHEELS)
    assert low.startswith("front_left bears 40 N to begin with, below least_load_N, 50 N")
    assert high.startswith("rear_left bears 320 N to begin with, above most_load_N, 300 N")


def test_limits_around_the_present_loads_pass():
    assert limit_errors(LoadLimits(least_load_N=20.0, most_load_N=400.0), (100.0, 200.0, 320.0, 200.0), WHEELS) == []


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (LoadLimits(least_load_N=250.0), "allowed: 0 to below the mean load of the wheels, 200 N"),
        (LoadLimits(most_load_N=150.0), "allowed: above the mean load of the wheels, 200 N"),
        (LoadLimits(torque_Nm=0.0), "torque_Nm is 0, allowed: above 0"),
        (LoadLimits(slew_Nmps=float("nan")), "slew_Nmps is nan, allowed: above 0"),
    ],
)
def test_impossible_limits_are_refused(limits, message):
    assert any(message in sentence for sentence in limit_errors(limits, (200.0,) * 4, WHEELS))
