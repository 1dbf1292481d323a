"""A wheel that stands on the tips of its grousers or the rim between them, against the geometry of its outline."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.gravity import GRAVITY_MPS2
from models.terrain import shapes
from references.one_wheel import STIFFNESS, WheelProperties

pytestmark = pytest.mark.slow  # kernels of their own

LEVEL = [(-5.0, 0.0), (5.0, 0.0)]
# Many grousers: tips alone touch. Few low ones: the rim does before the next tip.
WHEELS = {"tips": (12, 0.01), "tips and rim": (8, 0.004)}


def turned(wheel):
    return float(wheel.state.q[-1])


@pytest.mark.parametrize("flat", [True, False], ids=["plane", "profile"])
@pytest.mark.parametrize("grousers", WHEELS.values(), ids=WHEELS)
def test_a_wheel_is_as_deep_as_its_deepest_tip_or_its_rim(grousers, flat):
    wheel = WheelProperties(LEVEL, 0.8, 0.0, grousers=grousers, flat=flat)
    radius, (count, height), seen = wheel.radius_m, grousers, set()
    wheel.run(0.2)
    wheel.drive(0.05)
    for _ in range(400):
        wheel.run(0.01)
        low, angle = wheel.place[1], turned(wheel)
        wheel.run(1e-4)  # a step, which looks at where the wheel was before it
        tips = -radius * np.cos(angle + 2.0 * math.pi * np.arange(count) / count)
        deepest = min(float(tips.min()), height - radius)
        assert wheel.state.ground.sinkage[0] == pytest.approx(max(-deepest - low, 0.0), abs=1e-9)
        seen.add("rim" if height - radius < tips.min() else "tip")
    assert seen == ({"tip", "rim"} if grousers is WHEELS["tips and rim"] else {"tip"})


@pytest.mark.parametrize("flat", [True, False], ids=["plane", "profile"])
def test_on_tips_a_wheel_rolls_as_far_as_the_polygon_through_them(flat):
    count, height = WHEELS["tips"]
    wheel = WheelProperties(LEVEL, 0.8, -2.0, grousers=(count, height), flat=flat)
    wheel.run(0.2)
    wheel.drive(0.03)
    wheel.run(1.0)
    start, before = wheel.place[0], turned(wheel)
    wheel.run(25.0)
    turns = (turned(wheel) - before) / (2.0 * math.pi)
    polygon = 2.0 * count * wheel.radius_m * math.sin(math.pi / count)
    assert wheel.place[0] - start == pytest.approx(turns * polygon, rel=3e-3)


@pytest.mark.parametrize("flat", [True, False], ids=["plane", "profile"])
def test_a_standing_wheel_bears_its_weight_on_two_tips_or_one(flat):
    wheel = WheelProperties(LEVEL, 0.8, 0.0, grousers=(12, 0.01), flat=flat)
    wheel.run(0.5)
    weight = wheel.mass_kg * GRAVITY_MPS2
    assert wheel.push[1] == pytest.approx(weight, rel=1e-6)
    assert wheel.state.ground.sinkage[0] == pytest.approx(weight / STIFFNESS, rel=1e-4)  # grouser 0 stands upright


@pytest.mark.parametrize("flat", [True, False], ids=["plane", "profile"])
@pytest.mark.parametrize("grousers", WHEELS.values(), ids=WHEELS)
def test_energy_is_not_gained_over_a_turn_of_a_free_wheel(grousers, flat):
    wheel = WheelProperties(LEVEL, 0.8, -3.0, grousers=grousers, flat=flat, drives=False)
    wheel.run(0.2)
    speed = 1.0
    wheel.state.v[0], wheel.state.v[-1] = speed, speed / wheel.radius_m
    moment, energies = wheel.turning * wheel.mass_kg * wheel.radius_m**2, []
    for _ in range(400):
        wheel.run(2e-3)
        ahead, up = wheel.speed
        kinetic = 0.5 * wheel.mass_kg * (ahead**2 + up**2) + 0.5 * moment * float(wheel.state.v[-1]) ** 2
        energies.append(kinetic + wheel.mass_kg * GRAVITY_MPS2 * wheel.place[1])
    pitch = 2.0 * math.pi * wheel.radius_m / grousers[0]
    each = max(round(pitch / speed / 2e-3), 1)
    tops = [max(energies[i : i + each]) for i in range(0, len(energies) - each, each)]
    assert np.diff(tops).max() < 1e-3 * energies[0]
    assert energies[-1] < energies[0]


@pytest.mark.parametrize("flat", [True, False], ids=["plane", "profile"])
def test_friction_holds_a_wheel_on_its_tips_on_a_slope(flat):
    pitch = math.radians(12.0)
    wheel = WheelProperties(LEVEL, 1.1 * math.tan(pitch), 0.0, grousers=(12, 0.01), flat=flat, pitch=pitch)
    wheel.run(2.0)
    stands = wheel.place
    wheel.run(1.0)
    assert np.hypot(*np.subtract(wheel.place, stands)) < 1e-7
    slides = WheelProperties(LEVEL, 0.9 * math.tan(pitch), 0.0, grousers=(12, 0.01), flat=flat, pitch=pitch)
    slides.run(1.0)
    assert slides.place[0] < -0.01


def gap_to_step(x, z, height):
    """Distance of a point from level ground with a step at x = 0, below 0 inside."""
    if x >= 0.0:
        return z - height if z >= height else -min(x, height - z)
    return min(z, math.hypot(x, z - height) if z > height else -x)


def test_over_a_step_neither_tips_nor_rim_are_in_it_and_one_of_them_touches():
    height, (count, tall) = 0.04, (16, 0.008)
    wheel = WheelProperties(shapes.ended(shapes.step(height), "plateau"), 1.2, -0.2, grousers=(count, tall))
    radius, gaps, touching = wheel.radius_m, [], set()
    wheel.run(0.2)
    wheel.drive(0.05)
    for _ in range(800):
        wheel.run(0.01)
        x, z = wheel.place
        angles = turned(wheel) + 2.0 * math.pi * np.arange(count) / count
        tips = [gap_to_step(x - radius * math.sin(at), z - radius * math.cos(at), height) for at in angles.tolist()]
        rim = gap_to_step(x, z, height) - radius + tall
        gaps.append(min(*tips, rim))
        touching.add("rim" if rim < min(tips) else "tip")
    assert wheel.place[0] > 0.05
    assert touching == {"rim", "tip"}
    assert np.min(gaps) > -4e-4
    assert np.mean(np.abs(gaps) < 4e-4) > 0.95


def test_without_grousers_it_is_a_circle_to_the_bit():
    plain, none = (WheelProperties(LEVEL, 0.8, 0.0, grousers=given) for given in (None, (0, 0.0)))
    for wheel in (plain, none):
        wheel.run(0.1)
        wheel.drive(0.05)
        wheel.run(1.0)
    np.testing.assert_array_equal(plain.state.q, none.state.q)
