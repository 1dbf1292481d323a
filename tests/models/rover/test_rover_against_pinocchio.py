"""The reduced rover against Pinocchio, which reads the model from our URDF alone."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

from models.rover import Rover, rcp

TOLERANCE = 1e-9
SEEDS = range(20)


@pytest.fixture(scope="module")
def rover() -> Rover:
    return rcp(added_mass=22.7)


@pytest.fixture(scope="module")
def peer(rover: Rover):
    model = pinocchio.buildModelFromXML(rover.urdf(), pinocchio.JointModelFreeFlyer())
    return model, model.createData()


def random_state(rover: Rover, seed: int):
    random = np.random.default_rng(seed)
    q = random.normal(size=rover.nq)
    q[3:7] /= np.linalg.norm(q[3:7])
    return q, random.normal(size=rover.nv), random.normal(size=rover.nv) * 10.0, random


def to_pinocchio(model, rover: Rover, q):
    """Pinocchio stores an endless (URDF 'continuous') joint as cosine and sine; ours keeps the angle."""
    out = pinocchio.neutral(model)
    out[:7] = q[:7]
    for name, angle in zip(rover.joint_names, q[7:], strict=True):
        joint = model.joints[model.getJointId(name)]
        if joint.nq == 2:
            out[joint.idx_q : joint.idx_q + 2] = np.cos(angle), np.sin(angle)
        else:
            out[joint.idx_q] = angle
    return out


def close(ours, theirs) -> bool:
    return np.abs(ours - theirs).max() <= TOLERANCE * max(1.0, np.abs(theirs).max())


def test_joint_order_is_the_order_in_which_pinocchio_reads_the_urdf(rover, peer):
    model, _ = peer
    assert tuple(model.names[2:]) == rover.joint_names
    assert model.nv == rover.nv == 15


@pytest.mark.parametrize("seed", SEEDS)
def test_mass_matrix_equals_pinocchios(rover, peer, seed):
    model, data = peer
    q, *_ = random_state(rover, seed)
    theirs = pinocchio.crba(model, data, to_pinocchio(model, rover, q))
    theirs = np.triu(theirs) + np.triu(theirs, 1).T
    assert close(rover.mass_matrix(q), theirs)


@pytest.mark.parametrize("seed", SEEDS)
def test_bias_equals_pinocchios_under_any_gravity(rover, peer, seed):
    model, data = peer
    q, v, _, random = random_state(rover, seed)
    gravity = random.normal(size=3) * 9.81
    model.gravity.linear = gravity
    theirs = pinocchio.nonLinearEffects(model, data, to_pinocchio(model, rover, q), v)
    assert close(rover.bias(q, v, gravity), theirs)


@pytest.mark.parametrize("seed", SEEDS)
def test_forward_dynamics_with_wheel_wrenches_equals_pinocchios(rover, peer, seed):
    model, data = peer
    q, v, tau, random = random_state(rover, seed)
    wrenches = random.normal(size=(6, 6)) * 100.0
    model.gravity.linear = np.array([0.0, 0.0, -9.81])
    theirs_q = to_pinocchio(model, rover, q)
    pinocchio.framesForwardKinematics(model, data, theirs_q)
    forces = pinocchio.StdVec_Force([pinocchio.Force.Zero() for _ in range(model.njoints)])
    for name, wrench in zip(rover.wheel_names, wrenches, strict=True):
        joint = model.getJointId(f"{name}_drive")
        turn = data.oMi[joint].rotation.T
        forces[joint] = pinocchio.Force(turn @ wrench[:3], turn @ wrench[3:])
    theirs = pinocchio.aba(model, data, theirs_q, v, tau, forces)
    ours = rover.forward_dynamics(q, v, tau, wrenches)
    assert close(ours, theirs)


@pytest.mark.parametrize("seed", SEEDS)
def test_impact_jacobian_is_the_approach_speed_of_the_wheel_centres(rover, peer, seed):
    model, data = peer
    q, v, _, random = random_state(rover, seed)
    angle = random.uniform(0.1, np.pi / 2)
    pinocchio.forwardKinematics(model, data, to_pinocchio(model, rover, q), v)
    direction = np.array([np.sin(angle), 0.0, -np.cos(angle)])
    theirs = [
        direction
        @ pinocchio.getVelocity(model, data, model.getJointId(f"{name}_drive"), pinocchio.LOCAL_WORLD_ALIGNED).linear
        for name in ("front_left", "front_right")
    ]
    assert close(rover.impact_jacobian(q, angle) @ v, np.array(theirs))


@pytest.mark.parametrize("seed", SEEDS)
def test_wheel_positions_equal_pinocchios(rover, peer, seed):
    model, data = peer
    q, *_ = random_state(rover, seed)
    pinocchio.forwardKinematics(model, data, to_pinocchio(model, rover, q))
    theirs = [data.oMi[model.getJointId(f"{name}_drive")].translation for name in rover.wheel_names]
    assert close(rover.wheel_positions(q), np.array(theirs))
