"""The profile of a simulated position loop: within its speed and accelerations, and exactly to its target."""

import math

import numpy as np
import pytest

from drivers.sim.protocol.servo_faults import PositionProfile

STEP_S, SPEED, UP, DOWN = 0.002, 1000.0, 8000.0, 4000.0


def moved(profile, steps=2000):
    """Positions and speeds until it stands, and after each step."""
    found = []
    for _ in range(steps):
        goes_on = profile.advance(STEP_S)
        found.append((profile.position, profile.speed))
        if not goes_on:
            return np.array(found).T
    raise AssertionError("it never arrives")


@pytest.mark.parametrize("target", [5.0, -700.0, 3000.0])
def test_a_move_ends_at_its_target_within_speed_and_accelerations(target):
    profile = PositionProfile()
    profile.start(0.0)
    profile.go(target, SPEED, UP, DOWN)
    position, speed = moved(profile)
    assert position[-1] == target
    assert np.abs(speed).max() <= SPEED
    changes = np.diff(np.abs(speed[:-1]), prepend=0.0) / STEP_S
    assert changes.max() <= UP * (1 + 1e-9)
    assert changes.min() >= -DOWN * (1 + 1e-9)


def test_a_target_behind_a_moving_set_point_is_gone_back_to():
    profile = PositionProfile()
    profile.start(0.0)
    profile.go(3000.0, SPEED, UP, DOWN)
    for _ in range(200):
        profile.advance(STEP_S)
    before = profile.speed
    profile.go(0.0, SPEED, UP, DOWN)
    profile.advance(STEP_S)
    assert profile.speed == pytest.approx(before - DOWN * STEP_S)
    assert moved(profile)[0][-1] == 0.0


def test_without_accelerations_it_moves_at_its_speed_at_once():
    profile = PositionProfile()
    profile.start(10.0)
    profile.go(12.0, SPEED, math.inf, math.inf)
    assert profile.advance(0.001)
    assert profile.speed == SPEED
    assert moved(profile)[0][-1] == 12.0
