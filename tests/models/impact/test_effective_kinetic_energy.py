"""Effective kinetic energy against its impulse problem, and its curve over the obstacle's angle."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import null_space

from models.impact import effective_kinetic_energy, operational_inertia, pair_energy, projectors
from models.rover import rcp
from models.rover.dynamics import make_work

ROVER = rcp()
SPEED = 0.07  # m/s, MacMahon 2016


def problem(seed: int, nv: int, contacts: int):
    """A random positive definite mass matrix, independent rows and a velocity."""
    random = np.random.default_rng(seed)
    root = random.normal(size=(nv, nv))
    return root @ root.T + nv * np.eye(nv), random.normal(size=(contacts, nv)), random.normal(size=nv)


def problems():
    shape = st.integers(1, 12).flatmap(lambda nv: st.tuples(st.just(nv), st.integers(1, nv)))
    return st.tuples(st.integers(0, 10**6), shape).map(lambda drawn: problem(drawn[0], *drawn[1]))


def energy_lost_in_a_plastic_impact(M, J, v) -> float:
    """Solves [M -J^T; J 0] [v_after; impulse] = [M v; 0] and takes the difference of the kinetic energies."""
    nv, contacts = M.shape[0], J.shape[0]
    kkt = np.block([[M, -J.T], [J, np.zeros((contacts, contacts))]])
    after = np.linalg.solve(kkt, np.concatenate([M @ v, np.zeros(contacts)]))[:nv]
    assert np.abs(J @ after).max() < 1e-9
    return 0.5 * (v @ M @ v - after @ M @ after)


@settings(deadline=None)
@given(problems())
def test_it_is_the_energy_a_perfectly_plastic_impact_takes(drawn):
    M, J, v = drawn
    assert effective_kinetic_energy(M, J, v) == pytest.approx(energy_lost_in_a_plastic_impact(M, J, v), abs=1e-8)


@settings(deadline=None)
@given(problems())
def test_it_is_what_the_best_motion_without_approach_cannot_hold(drawn):
    """The null space of J holds the admissible motions; T_c is the least kinetic energy of v minus any of them."""
    M, J, v = drawn
    Z = null_space(J)
    left = v - Z @ np.linalg.solve(Z.T @ M @ Z, Z.T @ M @ v) if Z.size else v
    assert effective_kinetic_energy(M, J, v) == pytest.approx(0.5 * left @ M @ left, abs=1e-8)


@settings(deadline=None)
@given(problems())
def test_operational_inertia_is_the_decoupled_block_of_the_whole_mass_matrix(drawn):
    """(3.13)-(3.21): in the coordinates of interest, and any that are mass-orthogonal to them, W is block diagonal."""
    M, A, v = drawn
    G_inverse = np.linalg.inv(np.vstack([A, null_space(A).T @ M]))
    W = G_inverse.T @ M @ G_inverse
    inertia = operational_inertia(M, A)
    assert inertia == pytest.approx(W[: len(A), : len(A)], rel=1e-6, abs=1e-8)
    assert W[len(A) :, : len(A)] == pytest.approx(0.0, abs=1e-6)
    assert 0.5 * (A @ v) @ inertia @ (A @ v) == pytest.approx(effective_kinetic_energy(M, A, v), rel=1e-6, abs=1e-8)


def test_operational_inertia_of_a_drifting_rover_is_its_mass():
    """Forces through the centre of mass move a rover that nothing holds as one body."""
    q = ROVER.neutral()
    M = ROVER.mass_matrix(q)
    momentum = M[:3] / M[0, 0]  # speeds of the centre of mass, as the base's speeds have the axes of the ground
    assert operational_inertia(M, momentum) == pytest.approx(M[0, 0] * np.eye(3), abs=1e-6)


def test_operational_inertia_refuses_dependent_rows():
    with pytest.raises(ValueError, match="2 rows, of which 1 are independent"):
        operational_inertia(np.eye(3), [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]])


@settings(deadline=None)
@given(problems())
def test_it_lies_between_zero_and_the_kinetic_energy(drawn):
    M, J, v = drawn
    # where J is square the two are equal, to the rounding of two solves with a random, ill-conditioned J
    assert 0.0 <= effective_kinetic_energy(M, J, v) <= 0.5 * v @ M @ v * (1.0 + 1e-8)


@settings(deadline=None)
@given(problems())
def test_with_as_many_contacts_as_speeds_it_is_all_the_kinetic_energy(drawn):
    M, _, v = drawn
    J = np.random.default_rng(0).normal(size=M.shape)
    assert effective_kinetic_energy(M, J, v) == pytest.approx(0.5 * v @ M @ v, rel=1e-6)


@settings(deadline=None)
@given(problems(), st.integers(0, 10**6))
def test_other_coordinates_and_other_contact_scales_give_the_same_number(drawn, seed):
    """v = A w, and rows mixed by an invertible B: neither is a change of the impact."""
    M, J, v = drawn
    random = np.random.default_rng(seed)
    A = random.normal(size=M.shape) + 4.0 * np.eye(v.size) * math.sqrt(v.size)
    B = random.normal(size=(len(J), len(J))) + 4.0 * np.eye(len(J)) * math.sqrt(len(J))
    there = effective_kinetic_energy(A.T @ M @ A, B @ J @ A, np.linalg.solve(A, v))
    assert there == pytest.approx(effective_kinetic_energy(M, J, v), rel=1e-8, abs=1e-10)


@settings(deadline=None)
@given(problems())
def test_a_further_contact_never_lowers_it(drawn):
    M, J, v = drawn
    less = effective_kinetic_energy(M, J[:-1], v)
    assert less <= effective_kinetic_energy(M, J, v) * (1.0 + 1e-9) + 1e-12


def test_a_point_mass_by_hand():
    # 3 kg at (4, 2) m/s against a plane of normal (0.6, 0.8): approach 4 m/s, 1/2 3 16 = 24 J
    assert effective_kinetic_energy(3.0 * np.eye(2), [[0.6, 0.8]], [4.0, 2.0]) == pytest.approx(24.0)


def test_no_contact_takes_nothing():
    assert effective_kinetic_energy(np.eye(3), np.zeros((0, 3)), np.ones(3)) == 0.0


def rolling():
    v = np.zeros(ROVER.nv)
    v[0] = SPEED
    for i, name in enumerate(ROVER.joint_names):
        if name.endswith("_drive"):
            v[6 + i] = SPEED / 0.175
    return v


def energy_over(angles_deg):
    q = ROVER.neutral()
    M = ROVER.mass_matrix(q)
    return np.array(
        [effective_kinetic_energy(M, ROVER.impact_jacobian(q, math.radians(a)), rolling()) for a in angles_deg]
    )


def test_rcp_at_constant_speed_has_one_interior_peak():
    angles = np.arange(10.0, 90.5, 1.0)
    energy = energy_over(angles)
    rising = np.diff(energy) > 0.0
    peak = int(np.argmax(energy))
    assert rising[:peak].all()
    assert not rising[peak:].any()
    assert 0 < peak < len(angles) - 1  # where it is follows from the masses, which were chosen near it
    assert energy[peak] == pytest.approx(0.20, rel=0.05)  # PHYSICS: 0.20 J at 120 kg


@pytest.mark.parametrize("angle_deg", [15.0, 60.0, 90.0])
def test_rcps_curve_is_the_energy_a_plastic_impact_of_both_front_wheels_takes(angle_deg):
    q = ROVER.neutral()
    M, J = ROVER.mass_matrix(q), ROVER.impact_jacobian(q, math.radians(angle_deg))
    assert energy_over([angle_deg])[0] == pytest.approx(energy_lost_in_a_plastic_impact(M, J, rolling()), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_kernel_for_both_front_wheels_gives_the_same_number_in_any_state(seed):
    random = np.random.default_rng(seed)
    q, v, angle = random.normal(size=ROVER.nq), random.normal(size=ROVER.nv), random.uniform(0.1, math.pi / 2)
    q[3:7] /= np.linalg.norm(q[3:7])
    expected = effective_kinetic_energy(ROVER.mass_matrix(q), ROVER.impact_jacobian(q, angle), v)
    rows = np.full((2, ROVER.nv), np.nan)
    assert pair_energy(ROVER.chain, q, v, angle, rows, make_work(ROVER.chain)) == pytest.approx(expected, rel=1e-9)
    assert rows == pytest.approx(ROVER.impact_jacobian(q, angle), abs=1e-12)


def test_it_grows_with_the_square_of_the_speed():
    M, J, v = problem(3, 8, 2)
    assert effective_kinetic_energy(M, J, 3.0 * v) == pytest.approx(9.0 * effective_kinetic_energy(M, J, v))


@settings(deadline=None)
@given(problems(), st.floats(0.1, 10.0), st.sampled_from([-1.0, 1.0]))
def test_redundant_rows_count_once(drawn, scale, sign):
    M, J, v = drawn
    rows = np.vstack([J, sign * scale * J.sum(axis=0), np.zeros(len(v)), J[:1]])
    assert effective_kinetic_energy(M, rows, v) == pytest.approx(effective_kinetic_energy(M, J, v), rel=1e-7, abs=1e-9)


def test_the_same_wheel_twice_is_that_wheel():
    q, v = ROVER.neutral(), rolling()
    once, twice = (ROVER.impact_jacobian(q, 1.0, ("front_left",) * n) for n in (1, 2))
    M = ROVER.mass_matrix(q)
    assert effective_kinetic_energy(M, twice, v) == pytest.approx(effective_kinetic_energy(M, once, v), rel=1e-12)


def test_rows_at_a_small_angle_are_still_two():
    """1e-4 rad apart, they span a plane; a cut-off that treats them as one would lose half the energy."""
    rows = [[1.0, 0.0, 0.0], [1.0, 1e-4, 0.0]]
    assert effective_kinetic_energy(np.eye(3), rows, [1.0, 1.0, 1.0]) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.slow
@settings(deadline=None)
@given(problems())
def test_projectors_are_orthogonal_in_the_mass_metric_and_split_the_energy(drawn):
    """(3.28)-(3.29): P P = P, P_c + P_a = 1, P_c^T M P_a = 0, J P_a = 0."""
    M, J, v = drawn
    constrained, admissible = projectors(M, np.vstack([J, J.sum(axis=0)]))
    size = np.abs(constrained).max()
    assert constrained @ constrained == pytest.approx(constrained, abs=1e-8 * size)
    assert constrained + admissible == pytest.approx(np.eye(len(v)))
    assert constrained.T @ M @ admissible == pytest.approx(0.0, abs=1e-8 * size * np.abs(M).max())
    assert J @ admissible == pytest.approx(0.0, abs=1e-8 * size)
    part = constrained @ v
    assert 0.5 * part @ M @ part == pytest.approx(effective_kinetic_energy(M, J, v), rel=1e-8, abs=1e-10)


def test_projectors_of_independent_rows_are_those_of_the_formula():
    M, J, _ = problem(5, 9, 3)
    by_formula = np.linalg.solve(M, J.T) @ np.linalg.solve(J @ np.linalg.solve(M, J.T), J)
    assert projectors(M, J)[0] == pytest.approx(by_formula, abs=1e-10)


@pytest.mark.parametrize(
    ("M", "J", "v"),
    [
        (np.eye(3), np.ones((1, 2)), np.ones(3)),
        (np.eye(3), np.ones(3), np.ones(3)),
        (np.eye(3), np.ones((1, 3)), np.ones(2)),
        (np.ones((3, 2)), np.ones((1, 2)), np.ones(2)),
    ],
)
def test_shapes_that_do_not_fit_are_refused(M, J, v):
    with pytest.raises(ValueError, match=r"shapes .* do not fit: needed \(nv, nv\)"):
        effective_kinetic_energy(M, J, v)


@pytest.mark.parametrize("which", range(3))
def test_a_number_that_is_not_finite_is_refused(which):
    arguments = [np.eye(2), np.ones((1, 2)), np.ones(2)]
    arguments[which].flat[0] = np.nan
    with pytest.raises(ValueError, match="holds values that are not finite"):
        effective_kinetic_energy(*arguments)


def test_a_matrix_that_is_no_mass_matrix_is_refused():
    with pytest.raises(ValueError, match="mass_matrix is not positive definite"):
        effective_kinetic_energy(np.diag([1.0, -1.0]), [[1.0, 0.0]], np.ones(2))
    with pytest.raises(ValueError, match="mass_matrix is not symmetric"):
        effective_kinetic_energy([[2.0, 1.0], [0.0, 2.0]], [[1.0, 0.0]], np.ones(2))
