"""Where the models hold, and the longest steps: against simulation and quadrature."""

from __future__ import annotations

import numpy as np
import pytest

from models.validity import (
    CODES,
    VALIDITIES,
    WITHIN,
    bekker_stiffness,
    longest_explicit_step,
    longest_implicit_step,
    power_law_slope,
)
from references import wheel_stresses


def moved(mass: float, stiffness: float, damping: float, dt: float, steps: int = 4000) -> float:
    """Largest distance [m] from rest of a mass on an explicit spring and damper, 1 m at the start."""
    x, v, largest = 1.0, 0.0, 1.0
    for _ in range(steps):
        v -= dt * (stiffness * x + damping * v) / mass
        x += dt * v
        largest = max(largest, abs(x))
    return largest


@pytest.mark.parametrize("damping", [1.0, 50.0, 5e3])
@pytest.mark.parametrize("stiffness", [1.0, 1e4, 1e7])
def test_a_spring_and_damper_stay_bounded_below_the_longest_explicit_step_and_not_above(stiffness, damping):
    mass = 4.0
    longest = longest_explicit_step(mass, stiffness, damping)
    assert moved(mass, stiffness, damping, 0.98 * longest) < 20.0
    assert moved(mass, stiffness, damping, 1.02 * longest, steps=1000) > 1e6


def rests(load: float, stiffness: float, dt: float) -> bool:
    """Whether a mass stands on an implicit spring that lets go of it, with Python's own arithmetic."""
    mass, depth, v = load / 9.81, 2.0 * load / stiffness, 0.0
    forces = []
    for _ in range(4000):
        force = max(stiffness * depth, 0.0)
        later = force + dt * stiffness * v
        grip = dt * dt * stiffness if force > 0.0 and later > 0.0 else 0.0
        v += dt * (9.81 * mass - (later if grip else 0.0)) / (mass + grip)
        depth += dt * v
        forces.append(force)
    return bool(np.allclose(forces[-200:], load, rtol=0.01))


@pytest.mark.parametrize("stiffness", [1e6, 1e8, 1e10])
def test_a_load_rests_on_an_implicit_spring_at_its_longest_step(stiffness):
    assert rests(230.0, stiffness, longest_implicit_step(230.0, stiffness, 9.81))


def test_the_slope_of_a_power_law_is_that_of_a_difference():
    k, p, z = 3e6, 1.25, 0.004
    force = k * z**p
    difference = (k * (z + 1e-8) ** p - k * (z - 1e-8) ** p) / 2e-8
    assert power_law_slope(k, p, force) == pytest.approx(difference, rel=1e-6)


@pytest.mark.parametrize("exponent", [0.3, 0.75, 1.0, 1.75])
def test_bekkers_stiffness_is_that_of_quadrature_for_small_sinkage(exponent):
    radius, width, z = 0.175, 0.15, 1e-5
    half = 0.5 * wheel_stresses.hypervolume(radius, width, exponent, z)
    assert bekker_stiffness(radius, width, exponent, 0.0) * z ** (exponent + 0.5) == pytest.approx(half, rel=1e-3)
    assert bekker_stiffness(radius, width, exponent, 1.0) == 2.0 * bekker_stiffness(radius, width, exponent, 0.0)


def test_every_range_says_what_it_is_why_and_which_keys_decide_it():
    assert sorted(VALIDITIES) == list(range(WITHIN + 1, CODES))
    for code, one in VALIDITIES.items():
        assert one.code == code
        assert one.name
        assert one.why
        assert one.keys
        assert one.for_s >= 0.0
        assert one.unit in one.allowed()
