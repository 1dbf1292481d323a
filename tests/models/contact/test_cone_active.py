"""Wheels that stick in directions that nearly contradict one another: contacts that give way are solved."""

from __future__ import annotations

import numpy as np
import pytest

from models.contact.cone_solver import solve_cones
from models.contact.cones import make_cones

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

TOLERANCE, WARM, GIVING = 1e-10, 0, 1


def two_feet(angle, give, start):
    """A body of 1 kg that neither turns nor is turned, on two feet whose tangents differ by an angle."""
    cones = make_cones(18, 3)
    for c, turned in enumerate((0.0, angle)):
        cones.half[3 * c] = 0.0, 0.0, 1.0
        cones.half[3 * c + 1] = np.cos(turned), np.sin(turned), 0.0
        cones.half[3 * c + 2] = -np.sin(turned), np.cos(turned), 0.0
    v = np.array([1e-3, 2e-3, -0.01])
    cones.target[:6], cones.friction[:2], cones.give[0] = cones.half[:6] @ v, 0.5, give
    cones.impulse[:6] = start
    residual, method = solve_cones(cones, 2, TOLERANCE)
    return v + cones.half[:6].T @ cones.impulse[:6], residual, method


@pytest.mark.parametrize("start", [1e-3, -5.0])
def test_feet_that_stick_are_found_from_any_impulses_of_the_step_before(start):
    v, residual, method = two_feet(1e-7, 1e-6, start)
    assert residual <= TOLERANCE
    assert method in (WARM, GIVING)
    assert np.abs(v).max() < 1e-7  # 1e-6 times an impulse of 0.01 N s


def test_contacts_that_give_have_the_least_impulses_of_those_that_hold():
    """Two feet in line share what one could bear."""
    cones = make_cones(18, 3)
    for c in range(2):
        cones.half[3 * c : 3 * c + 3] = np.roll(np.eye(3), 1, axis=0)
    cones.target[:6], cones.friction[:2], cones.give[0] = np.tile([-1.0, 0.1, 0.0], 2), 0.5, 1e-6
    cones.impulse[0] = 1.0
    residual, _ = solve_cones(cones, 2, TOLERANCE)
    assert residual <= TOLERANCE
    assert cones.impulse[:6] == pytest.approx([0.5, -0.05, 0.0] * 2, abs=1e-5)
