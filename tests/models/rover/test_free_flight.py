"""A rover without contact: its equations of motion conserve energy and momentum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from models.rover import rcp
from models.rover.rover import Rover

DURATION = 1.0
NOTHING = (0.0, 0.0, 0.0)
EARTH = (0.0, 0.0, -9.81)
ROVER = rcp(added_mass=22.7)


@pytest.fixture(scope="module")
def peer(as_peer):
    return as_peer(ROVER)


def tumbling():
    """A rover high above the ground, turning about all axes with bogies and wheels moving."""
    random = np.random.default_rng(7)
    q, v = ROVER.neutral(), np.zeros(ROVER.nv)
    q[:3] = 1.0, -2.0, 10.0
    q[3:7] = Rotation.from_rotvec([0.3, -0.5, 0.8]).as_quat()
    q[7:] = random.normal(size=ROVER.nq - 7)
    v[:3], v[3:6], v[6:] = (0.5, -0.3, 0.2), (0.7, 0.4, -0.6), random.normal(size=ROVER.nv - 6)
    return q, v


def fly(rover: Rover, q, v, gravity, tau=None):
    """Integrates with scipy, the kinematics of the free-flyer written here independently of models.vehicle."""

    def rate(_t, state):
        at, speed = state[: rover.nq].copy(), state[rover.nq :]
        at[3:7] /= np.linalg.norm(at[3:7])
        x, y, z, w = at[3:7]
        wx, wy, wz = speed[3:6]
        turning = 0.5 * np.array(
            [
                w * wx + y * wz - z * wy,
                w * wy + z * wx - x * wz,
                w * wz + x * wy - y * wx,
                -x * wx - y * wy - z * wz,
            ]
        )
        going = Rotation.from_quat(at[3:7]).apply(speed[:3])
        force = np.zeros(rover.nv) if tau is None else tau
        acceleration = rover.forward_dynamics(at, speed, force, gravity=gravity)
        return np.concatenate([going, turning, speed[6:], acceleration])

    found = solve_ivp(
        rate, (0.0, DURATION), np.concatenate([q, v]), method="DOP853", rtol=1e-12, atol=1e-13, dense_output=True
    )
    assert found.success
    states = found.sol(np.linspace(0.0, DURATION, 11)).T
    return [(state[: rover.nq], state[rover.nq :]) for state in states]


def test_without_gravity_energy_and_both_momenta_are_kept(peer):
    q, v = tumbling()
    path = fly(ROVER, q, v, NOTHING)
    energy = [peer.energy(*state) for state in path]
    momentum = np.array([peer.momentum(*state) for state in path])
    assert np.abs(path[-1][1] - v).max() > 0.1  # it does tumble
    assert np.ptp(energy) <= 1e-8 * energy[0]
    assert np.ptp(momentum[:, :3], axis=0).max() <= 1e-8 * np.linalg.norm(momentum[0, :3])
    assert np.ptp(momentum[:, 3:], axis=0).max() <= 1e-8 * np.linalg.norm(momentum[0, 3:])


def test_with_gravity_total_energy_is_kept_and_momentum_falls_with_the_weight(peer):
    q, v = tumbling()
    path = fly(ROVER, q, v, EARTH)
    energy = np.array([peer.energy(*state, gravity=EARTH) for state in path])
    assert np.ptp(energy) <= 1e-8 * abs(energy[0])
    change = peer.momentum(*path[-1])[:3] - peer.momentum(*path[0])[:3]
    weight = (120.0 + 22.7) * np.array(EARTH)
    assert np.abs(change - weight * DURATION).max() <= 1e-8 * np.abs(weight).max()


def test_joint_torques_do_work_but_change_no_momentum(peer):
    q, v = tumbling()
    tau = np.zeros(ROVER.nv)
    tau[6:] = np.linspace(-2.0, 3.0, ROVER.nv - 6)
    first, *_, last = fly(ROVER, q, v, NOTHING, tau)
    work = tau[6:] @ (last[0][7:] - first[0][7:])
    assert abs(work) > 1.0
    assert peer.energy(*last) - peer.energy(*first) == pytest.approx(work, rel=1e-8)
    assert peer.momentum(*last) == pytest.approx(peer.momentum(*first), rel=1e-8, abs=1e-8)


def states():
    number = st.floats(-10.0, 10.0)
    turn = arrays(float, 3, elements=st.floats(-3.0, 3.0))
    return st.tuples(
        arrays(float, ROVER.nq, elements=number), turn, *(arrays(float, ROVER.nv, elements=number) for _ in range(2))
    ).map(lambda s: (np.concatenate([s[0][:3], Rotation.from_rotvec(s[1]).as_quat(), s[0][7:]]), s[2], s[3]))


@settings(deadline=None, max_examples=60)
@given(states())
def test_mass_matrix_is_symmetric_and_positive_definite(state):
    M = ROVER.mass_matrix(state[0])
    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 1e-3  # the least inertia is a wheel about its axle, 0.06 kg m^2


@settings(deadline=None, max_examples=60)
@given(states())
def test_inverse_dynamics_of_forward_dynamics_is_the_identity(state):
    q, v, tau = state
    acceleration = ROVER.forward_dynamics(q, v, tau)
    back = ROVER.mass_matrix(q) @ acceleration + ROVER.bias(q, v)
    # what cancels is as large as M's largest part times the acceleration
    assert np.abs(back - tau).max() <= 1e-9 * max(1.0, np.abs(acceleration).max() * 200.0)
