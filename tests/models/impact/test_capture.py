"""Capture of a payload: momentum is kept, no energy is made, and other ways to the same speeds agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from models.impact import Payload, capture, mass_matrix_with
from models.rover import Body, Rover
from models.rover.arm_names import EFFECTOR, JOINTS
from models.rover.body_points import body_point
from models.rover.space_arm import SpaceArm, holding

ARM = SpaceArm(spacecraft_mass=2000.0, spacecraft_size=(3.0, 2.0, 2.0))
ROVER = ARM.build()
LOAD = Body("payload", 300.0, (0.1, -0.2, 0.3), (90.0, 120.0, 80.0), products=(5.0, -4.0, 3.0))
SEAT = (ARM.wrist_length, 0.4, 0.1)
NUMBERS = arrays(float, ROVER.nv + 6, elements=st.floats(-1.0, 1.0))


def cross(r):
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


class Meeting:
    """The arm in some posture, its end effector at the payload."""

    def __init__(self):
        self.q = ROVER.neutral()
        self.q[:7] = 1.0, 2.0, -3.0, *Rotation.from_rotvec([0.3, -0.4, 0.8]).as_quat()
        for name, angle in zip(JOINTS, (0.7, -1.1, 0.5), strict=True):
            self.q[7 + ROVER.joint_names.index(name)] = angle
        self.q[7 + ROVER.joint_names.index("upper_1_bend")] = 0.05
        self.point = body_point(ROVER, self.q, EFFECTOR, ARM.contact)
        turn = self.point.rotation
        self.centre = body_point(ROVER, self.q, EFFECTOR, np.array(SEAT) + LOAD.com).place
        inertia = turn @ LOAD.inertia_matrix @ turn.T
        self.payload = Payload(LOAD.mass, inertia, self.centre - self.point.place)
        self.M = ROVER.mass_matrix(self.q)

    def momentum(self, v, payload_velocity):
        """Linear, and angular about the world's origin: summed over all bodies, each by its own mass and inertia."""
        linear, angular = np.zeros(3), np.zeros(3)
        for body in ROVER.tree.bodies:
            at = body_point(ROVER, self.q, body.name, body.com)
            own = at.jacobian @ v
            inertia = at.rotation @ body.inertia_matrix @ at.rotation.T
            linear += body.mass * own[:3]
            angular += np.cross(at.place, body.mass * own[:3]) + inertia @ own[3:]
        linear += LOAD.mass * payload_velocity[:3]
        angular += np.cross(self.centre, LOAD.mass * payload_velocity[:3]) + self.payload.inertia @ payload_velocity[3:]
        return np.concatenate([linear, angular])

    def energy(self, v, payload_velocity):
        return 0.5 * v @ self.M @ v + 0.5 * payload_velocity @ self.payload.mass_matrix @ payload_velocity


AT = Meeting()


def test_a_held_payload_moves_with_the_end_effector():
    v, other = np.linspace(-1.0, 1.0, ROVER.nv), np.linspace(0.5, -0.2, 6)
    found = capture(AT.M, AT.point.jacobian, v, AT.payload, other)
    end = AT.point.jacobian @ found.velocity
    assert found.payload_velocity[3:] == pytest.approx(end[3:], abs=1e-12)
    assert found.payload_velocity[:3] == pytest.approx(end[:3] + np.cross(end[3:], AT.payload.place), abs=1e-12)


def test_it_is_cyrils_solution_whose_matrix_is_symmetric_with_the_mended_sign_only():
    v, other = np.linspace(-1.0, 1.0, ROVER.nv), np.linspace(0.5, -0.2, 6)
    J, R, M_p = AT.point.jacobian, cross(AT.payload.place), AT.payload.mass_matrix
    A = np.eye(6)
    A[3:, :3] = -R
    G = {}
    for sign in (-1.0, 1.0):
        held = np.vstack([J[:3] + sign * R @ J[3:], J[3:]])
        G[sign] = J.T @ np.linalg.inv(A) @ M_p @ held + AT.M
    H = J.T @ np.linalg.inv(A) @ M_p @ other + AT.M @ v
    assert G[-1.0] == pytest.approx(G[-1.0].T, abs=1e-9 * np.abs(G[-1.0]).max())
    assert np.abs(G[1.0] - G[1.0].T).max() > 1e-3 * np.abs(G[1.0]).max()  # as printed
    assert np.linalg.solve(G[-1.0], H) == pytest.approx(
        capture(AT.M, J, v, AT.payload, other).velocity, rel=1e-9, abs=1e-9
    )


def test_its_mass_matrix_with_the_payload_is_that_of_a_tree_that_has_it():
    held = Rover(holding(ARM.tree(), LOAD, SEAT))
    found = mass_matrix_with(AT.M, AT.point.jacobian, AT.payload)
    # the tree's base speeds are in base axes, as the Jacobian's columns are
    assert held.mass_matrix(AT.q) == pytest.approx(found, abs=1e-11 * np.abs(found).max())


@pytest.mark.parametrize("restitution", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("rows", [3, 6])
@given(NUMBERS)
@settings(deadline=None, max_examples=4)
def test_momentum_is_kept_and_the_energy_lost_is_what_is_missing(rows, restitution, numbers):
    v, other = numbers[:-6], numbers[-6:]
    found = capture(AT.M, AT.point.jacobian, v, AT.payload, other, restitution=restitution, directions=rows)
    before, after = AT.momentum(v, other), AT.momentum(found.velocity, found.payload_velocity)
    assert after == pytest.approx(before, abs=1e-9 * 4000.0)
    first, last = AT.energy(v, other), AT.energy(found.velocity, found.payload_velocity)
    assert first - last == pytest.approx(found.energy_lost, abs=1e-9 * max(first, 1.0))
    assert found.energy_lost >= 0.0


@given(NUMBERS, st.floats(0.0, 1.0))
@settings(deadline=None, max_examples=10)
def test_one_large_solution_with_the_constraint_gives_the_same(numbers, restitution):
    """Both bodies' speeds and the impulse as unknowns of one system (KKT)."""
    v, other, n = numbers[:-6], numbers[-6:], ROVER.nv
    J, R = AT.point.jacobian, cross(AT.payload.place)
    of_payload = np.block([[np.eye(3), R], [np.zeros((3, 3)), np.eye(3)]])  # its speeds to those of the contact
    whole = np.zeros((n + 12, n + 12))
    whole[:n, :n], whole[n : n + 6, n : n + 6] = AT.M, AT.payload.mass_matrix
    whole[n + 6 :, :n], whole[n + 6 :, n : n + 6] = J, -of_payload
    whole[:n, n + 6 :], whole[n : n + 6, n + 6 :] = -J.T, of_payload.T
    relative = J @ v - of_payload @ other
    right = np.concatenate([AT.M @ v, AT.payload.mass_matrix @ other, -restitution * relative])
    solved = np.linalg.solve(whole, right)
    found = capture(AT.M, J, v, AT.payload, other, restitution=restitution)
    assert found.velocity == pytest.approx(solved[:n], abs=1e-8)
    assert found.payload_velocity == pytest.approx(solved[n : n + 6], abs=1e-8)
    assert found.impulse == pytest.approx(solved[n + 6 :], abs=1e-6)


def test_two_bodies_that_lock_together_turn_as_one_about_their_common_centre():
    """Closed form: two discs in a plane, that meet off their centres."""
    m, I, M_p, I_p = 5.0, 2.0, 3.0, 0.7
    arm, place = np.array([0.4, 0.3, 0.0]), np.array([0.5, -0.2, 0.0])  # body to contact, contact to payload
    v, other = np.array([0.2, -0.1, 0, 0, 0, 0.6]), np.array([-0.8, 0.5, 0, 0, 0, -1.1])
    mass = np.diag([m, m, m, 1.0, 1.0, I])
    J = np.block([[np.eye(3), -cross(arm)], [np.zeros((3, 3)), np.eye(3)]])
    found = capture(mass, J, v, Payload(M_p, np.diag([1.0, 1.0, I_p]), place), other)
    between = arm + place
    centre = (m * v[:3] + M_p * other[:3]) / (m + M_p)
    reduced = m * M_p / (m + M_p)
    spin = I * v[5] + I_p * other[5] + reduced * np.cross(between, other[:3] - v[:3])[2]
    omega = spin / (I + I_p + reduced * between @ between)
    assert found.velocity[5] == pytest.approx(omega, rel=1e-12)
    assert found.payload_velocity[5] == pytest.approx(omega, rel=1e-12)
    moved = np.cross([0.0, 0.0, omega], between)
    assert found.velocity[:3] == pytest.approx(centre - M_p / (m + M_p) * moved, abs=1e-12)
    assert found.payload_velocity[:3] == pytest.approx(centre + m / (m + M_p) * moved, abs=1e-12)


def test_without_the_base_translation_linear_momentum_is_not_kept():
    """As (1)-(2) of the paper have it: the reason for the six speeds of the base."""
    v, other = np.zeros(ROVER.nv), np.array([0.25, 0.1, 0.0, 0.0, 0.0, 0.0])
    turning = slice(3, None)
    found = capture(AT.M[turning, turning], AT.point.jacobian[:, turning], v[turning], AT.payload, other)
    after = AT.momentum(np.concatenate([np.zeros(3), found.velocity]), found.payload_velocity)
    assert np.abs(after[:3] - AT.momentum(v, other)[:3]).max() > 1.0
    free = capture(AT.M, AT.point.jacobian, v, AT.payload, other)
    assert free.energy_lost < found.energy_lost


def test_a_partial_capture_leaves_what_it_does_not_hold():
    """Held along one line only: the other directions of the impulse are zero, and a pin transmits no moment."""
    v, other = np.linspace(-1.0, 1.0, ROVER.nv), np.linspace(0.5, -0.2, 6)
    line = np.array([[0.6, 0.0, 0.8, 0.0, 0.0, 0.0]])
    found = capture(AT.M, AT.point.jacobian, v, AT.payload, other, directions=line)
    assert np.cross(found.impulse[:3], line[0, :3]) == pytest.approx(np.zeros(3), abs=1e-10)
    assert found.impulse[3:] == pytest.approx(np.zeros(3))
    end = AT.point.jacobian @ found.velocity - AT.payload.contact.T @ found.payload_velocity
    assert line[0] @ end == pytest.approx(0.0, abs=1e-12)
    pin = capture(AT.M, AT.point.jacobian, v, AT.payload, other, directions=3)
    held = capture(AT.M, AT.point.jacobian, v, AT.payload, other)
    assert found.energy_lost < pin.energy_lost < held.energy_lost
    assert pin.impulse[3:] == pytest.approx(np.zeros(3))


def test_a_latch_and_then_a_rigid_hold_end_as_both_at_once():
    """The speeds after it, and the energy that both lose together."""
    v, other = np.linspace(-1.0, 1.0, ROVER.nv), np.linspace(0.5, -0.2, 6)
    latched = capture(AT.M, AT.point.jacobian, v, AT.payload, other, directions=3)
    rigid = capture(AT.M, AT.point.jacobian, latched.velocity, AT.payload, latched.payload_velocity)
    at_once = capture(AT.M, AT.point.jacobian, v, AT.payload, other)
    assert rigid.velocity == pytest.approx(at_once.velocity, abs=1e-10)
    assert latched.energy_lost + rigid.energy_lost == pytest.approx(at_once.energy_lost, rel=1e-10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"restitution": 1.1}, r"restitution is 1\.1, allowed: a finite number in \[0, 1\]"),
        ({"directions": 4}, r"directions is 4, allowed: 3, 6, or rows"),
        ({"directions": np.ones((2, 6))}, r"allowed: rows that do not depend on each other"),
        ({"directions": np.ones(6)}, r"directions has shape \(6,\), needed"),
        ({"jacobian": np.ones((5, 6))}, r"jacobian has shape \(5, 6\), needed: \(6, 6\)"),
        ({"mass_matrix": -np.eye(6)}, r"mass_matrix is not positive definite"),
        ({"mass_matrix": np.triu(np.ones((6, 6)))}, r"mass_matrix is not symmetric"),
    ],
)
def test_bad_input_is_refused(change, message):
    good = {"mass_matrix": np.eye(6), "jacobian": np.eye(6), "velocity": np.zeros(6), "payload_velocity": np.ones(6)}
    with pytest.raises(ValueError, match=message):
        capture(**{**good, "payload": Payload(1.0, np.eye(3), np.zeros(3)), **change})
