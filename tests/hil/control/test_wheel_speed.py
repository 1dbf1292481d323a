"""Wheel speeds make up for the slip that the twin predicts, between none and a largest one."""

from __future__ import annotations

import math

import pytest

from hil.control.wheel_speed import LARGEST_SLIP, SMOOTHING_S, WheelSpeed
from hil.messages.stages import Goal, Prediction

RADIUS_M, SPEED_MPS = 0.2, 0.1
ZERO = (0.0,) * 6


def settled(slip, ticks=3, **goal):
    """The slip that is made up for after some ticks as long as the smoothing."""
    controller = WheelSpeed((RADIUS_M,) * 6, SMOOTHING_S)
    prediction = Prediction(ZERO, ZERO, slip, 0.0, 0.0, math.inf, True)
    for _ in range(ticks):
        speeds = controller.control(Goal(2, False, SPEED_MPS, **goal), None, None, prediction).speed_radps
    assert speeds == (speeds[0],) * 6
    return 1.0 - SPEED_MPS / RADIUS_M / speeds[0]


@pytest.mark.parametrize(
    ("mean", "made_up"),
    [
        (-1.0, 0.0),
        (-1e-3, 0.0),
        (0.0, 0.0),
        (1e-3, 1e-3),
        (0.3, 0.3),
        (0.599, 0.599),
        (0.6, 0.6),
        (0.601, 0.6),
        (1, 0.6),
    ],
)
def test_the_mean_slip_is_made_up_for_from_none_to_the_largest(mean, made_up):
    assert LARGEST_SLIP == 0.6
    spread = (0.05, -0.05, 0.02, -0.02, 0.0, 0.0)
    assert settled(tuple(mean + one for one in spread)) == pytest.approx(made_up, abs=1e-12)


def test_wheels_that_push_on_the_obstacle_are_not_made_faster_for_their_slip():
    assert settled((0.5,) * 6, pushing=True) == 0.0


def test_slip_is_smoothed_over_its_time():
    controller = WheelSpeed((RADIUS_M,) * 6, 0.25 * SMOOTHING_S)
    prediction = Prediction(ZERO, ZERO, (0.4,) * 6, 0.0, 0.0, math.inf, True)
    goal = Goal(2, False, SPEED_MPS)
    slips = [1.0 - 0.5 / controller.control(goal, None, None, prediction).speed_radps[0] for _ in range(2)]
    assert slips == pytest.approx([0.1, 0.175])


def test_a_cut_has_no_speeds():
    prediction = Prediction(ZERO, ZERO, ZERO, 0.0, 0.0, math.inf, True)
    found = WheelSpeed((RADIUS_M,) * 6, SMOOTHING_S).control(Goal(2, True, SPEED_MPS), None, None, prediction)
    assert (found.cut, found.speed_radps) == (True, ())
