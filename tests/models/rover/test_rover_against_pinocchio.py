"""Every reduced rover against Pinocchio, which reads the model from our URDF alone.

A coupling cannot be in the URDF: Pinocchio's rover has all joints that turn, and its matrices are taken through the
natural orthogonal complement N that the tests write down themselves.
"""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

from .conftest import skip_without_wheels

TOLERANCE = 1e-9
SEEDS = range(6)


@pytest.fixture(scope="session")
def peer(case, as_peer):
    return as_peer(case.rover)


def close(ours, theirs) -> bool:
    return np.abs(ours - theirs).max() <= TOLERANCE * max(1.0, np.abs(theirs).max())


def test_joint_order_is_the_order_in_which_pinocchio_reads_the_urdf(case, peer):
    names = tuple(peer.model.names[2:])
    assert names == case.rover.tree_joint_names
    assert peer.model.nv == 6 + len(names)
    assert case.rover.joint_names == tuple(name for name in names if name in case.rover.joint_names)
    assert case.rover.nv == case.rover.nq - 1 == case.N.shape[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_mass_matrix_equals_pinocchios(case, peer, seed):
    q, *_ = case.state(seed)
    assert close(case.rover.mass_matrix(q), case.N.T @ peer.mass_matrix(case.unlocked(q)) @ case.N)


@pytest.mark.parametrize("seed", SEEDS)
def test_bias_equals_pinocchios_under_any_gravity(case, peer, seed):
    q, v, _, _, gravity = case.state(seed)
    peer.model.gravity.linear = gravity
    theirs = pinocchio.nonLinearEffects(peer.model, peer.data, peer.q(case.unlocked(q)), case.N @ v)
    assert close(case.rover.bias(q, v, gravity), case.N.T @ theirs)


@pytest.mark.parametrize("seed", SEEDS)
def test_forward_dynamics_with_wheel_wrenches_equals_pinocchios(case, peer, seed):
    q, v, tau, wrenches, gravity = case.state(seed)
    model, data, all_q, all_v = peer.model, peer.data, peer.q(case.unlocked(q)), case.N @ v
    model.gravity.linear = gravity
    pinocchio.framesForwardKinematics(model, data, all_q)
    forces = pinocchio.StdVec_Force([pinocchio.Force.Zero() for _ in range(model.njoints)])
    for name, wrench in zip(case.rover.wheel_names, wrenches, strict=True):
        joint = model.getJointId(f"{name}_drive")
        turn = data.oMi[joint].rotation.T
        forces[joint] = pinocchio.Force(turn @ wrench[:3], turn @ wrench[3:])
    if case.coupled:
        left_over = pinocchio.rnea(model, data, all_q, all_v, np.zeros(model.nv), forces)
        M = case.N.T @ peer.mass_matrix(case.unlocked(q)) @ case.N
        theirs = np.linalg.solve(M, tau - case.N.T @ left_over)
    else:
        theirs = pinocchio.aba(model, data, all_q, all_v, tau, forces)
    assert close(case.rover.forward_dynamics(q, v, tau, wrenches, gravity), theirs)


@pytest.mark.parametrize("seed", SEEDS)
def test_contact_jacobians_give_the_approach_speeds_of_all_wheel_centres(case, peer, seed):
    skip_without_wheels(case)
    q, *_ = case.state(seed)
    angle = np.random.default_rng(seed).uniform(0.1, np.pi / 2)
    pinocchio.computeJointJacobians(peer.model, peer.data, peer.q(case.unlocked(q)))
    direction = np.array([np.sin(angle), 0.0, -np.cos(angle)])
    theirs = [
        direction
        @ pinocchio.getJointJacobian(
            peer.model, peer.data, peer.model.getJointId(f"{name}_drive"), pinocchio.LOCAL_WORLD_ALIGNED
        )[:3]
        @ case.N
        for name in case.rover.wheel_names
    ]
    assert close(case.rover.impact_jacobian(q, angle, case.rover.wheel_names), np.array(theirs))


@pytest.mark.parametrize("seed", SEEDS)
def test_wheel_positions_equal_pinocchios(case, peer, seed):
    skip_without_wheels(case)
    q, *_ = case.state(seed)
    pinocchio.forwardKinematics(peer.model, peer.data, peer.q(case.unlocked(q)))
    theirs = [peer.data.oMi[peer.model.getJointId(f"{name}_drive")].translation for name in case.rover.wheel_names]
    assert close(case.rover.wheel_positions(q), np.array(theirs))
