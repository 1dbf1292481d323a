"""A wheel on a step, a slope and an edge, against closed forms; static friction; energy is never made.

One wheel on a carriage that its inertia keeps upright (`references.one_wheel`): it moves ahead and up, and turns.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.gravity import GRAVITY_MPS2
from models.terrain import shapes
from references.one_wheel import WheelProperties

pytestmark = pytest.mark.slow  # kernels of their own

RADIUS = 0.125


def settled(corners, friction, x):
    """A wheel whose drive holds it."""
    wheel = WheelProperties(corners, friction, x)
    wheel.run(0.5)
    return wheel


@pytest.mark.parametrize("height", [0.03, 0.06])
@pytest.mark.parametrize(("share", "climbs"), [(0.96, False), (1.03, True)])
def test_a_driven_wheel_climbs_a_step_from_that_friction_on_which_its_angle_asks_for(height, share, climbs):
    """On the edge alone its weight acts upright, so that friction needs tan phi, cos phi = (R - h)/R."""
    least = math.sqrt(2.0 * RADIUS * height - height**2) / (RADIUS - height)
    wheel = settled(shapes.ended(shapes.step(height), "plateau"), share * least, -0.13)
    wheel.drive(0.02)
    wheel.run(12.0)
    assert (wheel.place[1] > height + 0.99 * RADIUS) == climbs
    assert wheel.place[0] < (0.2 if climbs else -0.05)


def test_a_held_wheel_stands_on_a_slope_below_the_limit_of_friction_and_does_not_creep():
    slope = math.radians(20.0)
    corners = shapes.ended(shapes.faces_from([(2.0, slope)]), "plateau")
    wheel = settled(corners, 1.02 * math.tan(slope), 1.0)
    wheel.run(1.0)
    stands = wheel.place
    wheel.run(2.0)
    assert np.hypot(*np.subtract(wheel.place, stands)) < 1e-8


def test_a_held_wheel_slides_down_a_slope_above_that_limit_as_a_block_does():
    slope, friction = math.radians(20.0), 0.25
    corners = shapes.ended(shapes.faces_from([(3.0, slope)]), "plateau")
    wheel = WheelProperties(corners, friction, 2.5)
    wheel.run(0.2)
    before = math.hypot(*wheel.speed)
    wheel.run(0.3)
    gained = math.hypot(*wheel.speed) - before
    expected = 0.3 * GRAVITY_MPS2 * (math.sin(slope) - friction * math.cos(slope))
    assert gained == pytest.approx(expected, rel=0.01)


def test_a_wheel_that_rolls_slowly_over_an_edge_goes_along_the_arc_about_it():
    corners = shapes.ended(shapes.ledge(0.05), "plateau")
    wheel, seen = settled(corners, 1.5, -0.03), []
    wheel.drive(0.05)
    while wheel.place[0] < 0.8 * math.sqrt(RADIUS**2 - (RADIUS - 0.05) ** 2):
        wheel.run(0.02)
        x, z = wheel.place
        if x > 0.0:
            seen.append(math.hypot(x, z))
    assert len(seen) > 20
    assert seen == pytest.approx([RADIUS] * len(seen), abs=2e-4)


@pytest.mark.parametrize("damping", [0.0, 2e3])
def test_no_energy_is_made_by_a_free_wheel_that_drops_bounces_and_rolls_over_edges(damping):
    corners = shapes.ended([*shapes.ledge(0.05), (0.8, 0.02)], "plateau")
    wheel = WheelProperties(corners, 0.5, -0.1, damping=damping, drives=False)
    meter = wheel.meter()
    wheel.state.v[0], wheel.state.v[6] = 0.6, 0.6 / RADIUS
    began = last = meter.read().stored
    farthest = 0.0
    for _ in range(100):
        wheel.run(0.02)
        stored = meter.read().stored
        assert stored < last + 2e-3 * began
        last, farthest = min(last, stored), max(farthest, wheel.place[0])
    assert farthest > 0.3
    assert last < 0.99 * began
