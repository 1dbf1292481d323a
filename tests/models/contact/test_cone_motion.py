"""Newton's step by way of the motion is the one that the equations of all contacts have."""

from __future__ import annotations

import numpy as np
import pytest

from models.contact.cones import add_contact, add_open, add_stuck, begin_step, end_step, make_cones, prepare

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

OPEN, STUCK, OTHER = range(3)


@pytest.mark.parametrize("give", [0.0, 1e-3])
@pytest.mark.parametrize("kinds", [(OTHER, OTHER, STUCK), (OPEN, OTHER, STUCK, OTHER, OPEN, OTHER), (OPEN, OPEN)])
def test_a_step_by_the_motion_is_that_of_the_whole_system(kinds, give):
    rng, speeds, count, damping = np.random.default_rng(len(kinds)), 15, len(kinds), 1e-3
    n, cones = 3 * count, make_cones(8, speeds)
    cones.half[:n], cones.impulse[:n], cones.target[:n] = rng.normal(size=(n, speeds)), rng.normal(size=n), 1.0
    cones.error[:n], cones.velocity[:n], cones.give[0] = rng.normal(size=n), rng.normal(size=n), give
    prepare(cones, count)
    by_impulse, by_velocity, error = np.zeros((n, n)), np.zeros((n, n)), cones.error[:n].copy()
    begin_step(cones)
    for c, kind in enumerate(kinds):
        block = slice(3 * c, 3 * c + 3)
        A, B = rng.normal(size=(2, 3, 3))
        if kind == OPEN:  # r = 0
            A, B, error[block] = np.eye(3), np.zeros((3, 3)), cones.impulse[block]
            add_open(cones, c)
        elif kind == STUCK:  # u = 0
            A, B, error[block] = np.zeros((3, 3)), np.eye(3), cones.velocity[block]
            add_stuck(cones, c, damping)
        else:
            add_contact(cones, c, tuple(A.ravel()), tuple(B.ravel()), damping)
        by_impulse[block, block], by_velocity[block, block] = A, B
    end_step(cones, count)
    gives = give + damping * np.repeat(cones.weight[:count], 3)
    half = cones.half[:n]
    whole = by_impulse + by_velocity @ (half @ half.T + np.diag(gives))
    assert cones.step[:n] == pytest.approx(np.linalg.solve(whole, -error), rel=1e-8, abs=1e-8)
    assert cones.turn == pytest.approx(half.T @ cones.step[:n], rel=1e-8, abs=1e-8)
