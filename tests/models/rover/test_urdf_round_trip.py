"""Every rover written as a URDF and read again is the same; MuJoCo and Pinocchio read the same rover from the file."""

from __future__ import annotations

import math
from pathlib import Path

import mujoco
import numpy as np
import pinocchio
import pytest
from scipy.spatial.transform import Rotation

import hil
from models.rover import PRESETS, parametric
from models.rover.from_links import rover_of
from models.rover.rover import Rover
from models.rover.tree import Coupling
from models.rover.urdf import to_urdf
from models.rover.urdf_reader import read_urdf

EXAMPLE = (Path(hil.__path__[0]).parent / "rig_configs" / "rovers" / "four_wheel_rocker.urdf").read_text(
    encoding="utf-8"
)
# a URDF cannot state closed loops
OPEN = {name: one for name, one in PRESETS.items() if not one.tree().closures}
TREES = {
    **{name: one.tree().with_locks(dict.fromkeys(one.rig_locks(), 0.0)) for name, one in OPEN.items()},
    "parametric walking": parametric(walking_angle=math.radians(20.0)).tree,
    "steering at the rear": PRESETS["exomars"].tree().with_locks({"steering": 0.0, "rear_left_steering": None}),
    "tilted": PRESETS["juno"].tree().with_locks({"tilt": 0.2}),
}


def state(rover, seed=3):
    random = np.random.default_rng(seed)
    q = random.normal(size=rover.nq)
    q[3:7] = Rotation.from_rotvec(random.normal(size=3)).as_quat()
    return q, random.normal(size=rover.nv)


def close(ours, theirs, tolerance):
    return np.abs(ours - theirs).max() <= tolerance * max(1.0, np.abs(theirs).max())


# a rover that is read has a pair of wheels in front
@pytest.mark.parametrize("name", [name for name, tree in TREES.items() if not tree.guided])
def test_a_rover_written_and_read_again_moves_as_before(name):
    before = Rover(TREES[name])
    after = Rover(rover_of(read_urdf(to_urdf(before.tree, whole=True))).tree)
    assert (after.joint_names, after.wheel_names) == (before.joint_names, before.wheel_names)
    assert after.tree.couplings == before.tree.couplings
    assert [wheel.radius for wheel in after.tree.wheels] == [wheel.radius for wheel in before.tree.wheels]
    assert {one.name: one.stops for one in after.tree.joints} == {
        one.name: one.stops if one.locked_at is None else None for one in before.tree.joints
    }
    q, v = state(before)
    assert close(after.mass_matrix(q), before.mass_matrix(q), 1e-12)
    assert close(after.bias(q, v), before.bias(q, v), 1e-12)
    assert close(after.impact_jacobian(q, 1.0), before.impact_jacobian(q, 1.0), 1e-12)


@pytest.mark.parametrize("name", list(OPEN))
def test_mujoco_opens_the_file_with_a_shape_for_every_body_and_has_the_same_mass_matrix(name):
    rover = Rover(TREES[name])
    text = to_urdf(rover.tree, whole=True)
    assert text.count("<collision") == text.count("<visual") == text.count("<link")
    M, _ = in_mujoco(text, rover.tree.bodies[0].name, rover, *state(rover))
    q, _ = state(rover)
    assert close(rover.mass_matrix(q), M, 1e-9)


@pytest.mark.parametrize("name", list(OPEN))
def test_pinocchio_opens_the_file_and_has_the_same_mass_matrix_and_bias(name):
    rover = Rover(TREES[name])
    q, v = state(rover)
    M, bias = in_pinocchio(to_urdf(rover.tree, whole=True), rover, q, v)
    assert close(rover.mass_matrix(q), M, 1e-9)
    assert close(rover.bias(q, v), bias, 1e-9)


def test_a_file_by_somebody_else_is_the_rover_that_other_engines_read_from_it():
    rover = Rover(rover_of(read_urdf(EXAMPLE)).tree)
    turned = {"fr_axle": -1.0, "rr_axle": -1.0}  # axles to starboard in the file
    q, v = state(rover)
    # 1.5708 is no right angle to them
    text = EXAMPLE.replace("1.5708", repr(math.pi / 2.0))
    M, bias = in_pinocchio(text, rover, q, v, turned)
    assert close(rover.mass_matrix(q), M, 1e-9)
    assert close(rover.bias(q, v), bias, 1e-9)
    M, _ = in_mujoco(text, "base_footprint", rover, q, v, turned)
    assert close(rover.mass_matrix(q), M, 1e-9)


def test_a_joint_that_follows_two_cannot_be_written():
    tree = PRESETS["rcp"].tree()
    tied = type(tree)(
        tree.name,
        tree.bodies,
        tree.joints,
        tree.wheels,
        (Coupling("rear_bogie", (("left_bogie", 0.5), ("right_bogie", -0.5))),),
    )
    with pytest.raises(ValueError, match="rear_bogie follows left_bogie, right_bogie, allowed in a URDF: one joint"):
        to_urdf(tied, whole=True)


def all_joints(rover, turned):
    """Complement N of the couplings, and signs of axles that a file has the other way round."""
    N = np.array([rover.tree_speeds(one) for one in np.eye(rover.nv)]).T
    signs = np.array([1.0] * 6 + [(turned or {}).get(name, 1.0) for name in rover.tree_joint_names])
    return signs[:, None] * N, signs


def in_pinocchio(text, rover, q, v, turned=None):
    """Mass matrix and bias of the independent speeds."""
    N, signs = all_joints(rover, turned)
    model = pinocchio.buildModelFromXML(text, pinocchio.JointModelFreeFlyer())
    data = model.createData()
    theirs, place = pinocchio.neutral(model), [*range(6)]
    whole = rover.tree_configuration(q)
    theirs[:7] = q[:7]
    for name, angle, sign in zip(rover.tree_joint_names, whole[7:], signs[6:], strict=True):
        joint = model.joints[model.getJointId(name)]
        at = sign * angle
        theirs[joint.idx_q : joint.idx_q + joint.nq] = (np.cos(at), np.sin(at)) if joint.nq == 2 else (at,)
        place.append(joint.idx_v)
    speeds = np.zeros(model.nv)
    speeds[place] = N @ v
    upper = np.triu(pinocchio.crba(model, data, theirs))
    M = (upper + np.triu(upper, 1).T)[np.ix_(place, place)]
    model.gravity.linear = np.array([0.0, 0.0, -9.81])
    return N.T @ M @ N, N.T @ pinocchio.nonLinearEffects(model, data, theirs, speeds)[place]


def in_mujoco(text, base, rover, q, v, turned=None):
    """Mass matrix of the independent speeds; MuJoCo's free joint has its linear velocity in world axes."""
    head, body = text[text.index("<robot") :].split(">", 1)
    world = '<mujoco><compiler fusestatic="true" discardvisual="true"/></mujoco><link name="world"/>'
    world += f'<joint name="flying" type="floating"><parent link="world"/><child link="{base}"/></joint>'
    body = body.replace('<geometry><mesh filename="package://four_wheel_rocker/rocker.dae"/></geometry>', "")
    body = body.replace("<visual>\n      \n    </visual>", "")
    model = mujoco.MjModel.from_xml_string(f"{head}>{world}{body}")
    data = mujoco.MjData(model)
    N, signs = all_joints(rover, turned)
    joints = [model.joint(name) for name in rover.tree_joint_names]
    place = [*range(6), *(int(joint.dofadr[0]) for joint in joints)]
    whole = rover.tree_configuration(q)
    data.qpos[:3], data.qpos[3:7] = q[:3], q[[6, 3, 4, 5]]
    data.qpos[[int(joint.qposadr[0]) for joint in joints]] = signs[6:] * whole[7:]
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    T = np.eye(model.nv)
    T[:3, :3] = Rotation.from_quat(q[3:7]).as_matrix()
    return N.T @ T.T @ M[np.ix_(place, place)] @ T @ N, None
