"""The reduced rovers against free bodies joined by constraints: the RCP's 28 bodies, 168 speeds (MacMahon App. B)."""

from __future__ import annotations

import numpy as np
import pytest

from models.impact import effective_kinetic_energy
from models.rover import rcp

SEEDS = range(3)


def close(ours, theirs) -> bool:
    return np.abs(ours - theirs).max() <= 1e-9 * max(1.0, np.abs(theirs).max())


def test_the_rcp_has_168_speeds_and_153_independent_constraints(loose):
    bodies, *_ = loose(rcp(), 0)
    assert bodies.constraints.shape == (153, 168)  # 27 revolutes of five rows, 18 locks of one
    assert np.linalg.matrix_rank(bodies.constraints) == 153


@pytest.mark.slow
def test_as_many_independent_constraints_as_the_reduction_takes_speeds(any_rover, loose):
    bodies, *_ = loose(any_rover, 1)
    rows, size = bodies.constraints.shape
    assert np.linalg.matrix_rank(bodies.constraints) == rows == size - any_rover.nv


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_reduced_speeds_keep_every_constraint_and_come_back(any_rover, loose, seed):
    bodies, _, v, _ = loose(any_rover, seed)
    assert np.abs(bodies.constraints @ bodies.N).max() <= 1e-12
    assert bodies.reduced_speeds(bodies.speeds) == pytest.approx(v, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_mass_matrix_is_that_of_the_loose_bodies_through_the_orthogonal_complement(any_rover, loose, seed):
    bodies, q, *_ = loose(any_rover, seed)
    assert close(any_rover.mass_matrix(q), bodies.N.T @ bodies.M @ bodies.N)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_accelerations_are_those_of_the_constrained_bodies(any_rover, loose, seed):
    bodies, q, v, random = loose(any_rover, seed)
    tau, wrenches = 10.0 * random.normal(size=any_rover.nv), 50.0 * random.normal(size=(len(any_rover.wheel_names), 6))
    gravity = 9.81 * random.normal(size=3)
    theirs = bodies.reduced_accelerations(bodies.accelerations(tau, wrenches, gravity))
    assert close(any_rover.forward_dynamics(q, v, tau, wrenches, gravity), theirs)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_speeds_after_a_plastic_impact_are_those_of_the_constrained_bodies(any_rover, loose, seed):
    """Ours by the impulse on reduced speeds; theirs by the least change that keeps joints and ends the approach."""
    bodies, q, v, random = loose(any_rover, seed)
    angle = random.uniform(0.2, np.pi / 2)
    rows = np.vstack([bodies.constraints, bodies.approach(angle)])
    after = bodies.reduced_speeds(bodies.least(bodies.speeds, rows, np.zeros(len(rows))))
    M, J = any_rover.mass_matrix(q), any_rover.impact_jacobian(q, angle)
    mobility = np.linalg.solve(M, J.T)
    assert np.abs(J @ v).max() > 0.1
    assert close(v - mobility @ np.linalg.solve(J @ mobility, J @ v), after)


def dependent_energy(bodies, gamma, angle: float) -> float:
    """T_c of MacMahon 2016 (5.25) on dependent speeds, the inverse replaced by a least-norm solve."""
    rows = np.vstack([gamma, bodies.approach(angle)])
    impulse = np.concatenate([np.zeros(len(gamma)), bodies.approach(angle) @ bodies.speeds])
    change = bodies.least(np.zeros(bodies.size), rows, impulse)
    return 0.5 * change @ bodies.M @ change


@pytest.mark.slow
@pytest.mark.parametrize("angle_deg", [30.0, 90.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_effective_kinetic_energy_is_that_of_5_25_on_dependent_speeds(any_rover, loose, seed, angle_deg):
    bodies, q, v, _ = loose(any_rover, seed)
    angle = np.radians(angle_deg)
    ours = effective_kinetic_energy(any_rover.mass_matrix(q), any_rover.impact_jacobian(q, angle), v)
    assert ours > 1e-3
    assert ours == pytest.approx(dependent_energy(bodies, bodies.constraints, angle), rel=1e-9)


def test_redundant_rows_as_macmahon_has_them_change_nothing(loose):
    """Three rows a lock, as some of MacMahon's: 36 rows too many, for which the inverse of (5.25) does not exist."""
    rover = rcp()
    bodies, q, v, _ = loose(rover, 5)
    locks = [joint for joint in rover.tree.joints if joint.locked_at is not None]
    more = [bodies.relative(joint, bodies.turn[joint.parent][:, k]) for joint in locks for k in (0, 2)]
    gamma = np.vstack([bodies.constraints, more])
    assert len(gamma) == 153 + 36
    assert np.linalg.matrix_rank(gamma) == 153
    ours = effective_kinetic_energy(rover.mass_matrix(q), rover.impact_jacobian(q, 1.0), v)
    assert ours == pytest.approx(dependent_energy(bodies, gamma, 1.0), rel=1e-9)
