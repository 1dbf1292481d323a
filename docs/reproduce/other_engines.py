"""MuJoCo and Pinocchio as readers of our exports: their mass matrix and forces, in our independent speeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import mujoco
import numpy as np
import pinocchio
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from models.gravity import EARTH_GRAVITY
from models.rover.rover import Rover

FloatArray = NDArray[np.float64]


class Forces(NamedTuple):
    """Mass matrix (nv, nv), and force of gravity (nv,) and of Coriolis and centrifugal accelerations (nv,)."""

    mass_matrix: FloatArray
    gravity: FloatArray
    coriolis: FloatArray


def of_ours(rover: Rover, q: FloatArray, v: FloatArray) -> Forces:
    """Of the rover itself."""
    weight = rover.bias(q, np.zeros(rover.nv))
    return Forces(rover.mass_matrix(q), weight, rover.bias(q, v) - weight)


def difference(ours: Forces, theirs: Forces) -> Forces:
    """Largest difference of each, as a share of its largest entry."""
    pairs = zip(ours, theirs, strict=True)
    return Forces(*(np.abs(one - other).max() / np.abs(other).max() for one, other in pairs))


def random_state(rover: Rover, seed: int) -> tuple[FloatArray, FloatArray]:
    """A configuration (nq,) and velocity (nv,): angles about 1 rad, speeds about 1 m/s and 1 rad/s."""
    random = np.random.default_rng(seed)
    q = random.normal(size=rover.nq)
    q[3:7] = Rotation.from_rotvec(random.normal(size=3)).as_quat()
    return q, random.normal(size=rover.nv)


def _complement(rover: Rover, turned: Mapping[str, float] | None) -> tuple[FloatArray, FloatArray]:
    """N of the couplings, and signs of axles that a file has the other way round."""
    N = np.array([rover.tree_speeds(one) for one in np.eye(rover.nv)]).T
    signs = np.array([1.0] * 6 + [(turned or {}).get(name, 1.0) for name in rover.tree_joint_names])
    return signs[:, None] * N, signs


def in_pinocchio(
    text: str, rover: Rover, q: FloatArray, v: FloatArray, turned: Mapping[str, float] | None = None
) -> Forces:
    """As Pinocchio reads the URDF `text`; `turned`: sign of each axle that the file has the other way round."""
    N, signs = _complement(rover, turned)
    model = pinocchio.buildModelFromXML(text, pinocchio.JointModelFreeFlyer())
    data = model.createData()
    theirs, place = pinocchio.neutral(model), [*range(6)]
    theirs[:7] = q[:7]
    for name, angle, sign in zip(rover.tree_joint_names, rover.tree_configuration(q)[7:], signs[6:], strict=True):
        joint = model.joints[model.getJointId(name)]
        at = sign * angle
        theirs[joint.idx_q : joint.idx_q + joint.nq] = (np.cos(at), np.sin(at)) if joint.nq == 2 else (at,)
        place.append(joint.idx_v)
    upper = np.triu(pinocchio.crba(model, data, theirs))
    M = (upper + np.triu(upper, 1).T)[np.ix_(place, place)]
    speeds = np.zeros(model.nv)
    speeds[place] = N @ v
    model.gravity.linear = np.array(EARTH_GRAVITY)
    still, moving = (
        N.T @ pinocchio.nonLinearEffects(model, data, theirs, at)[place] for at in (np.zeros(model.nv), speeds)
    )
    return Forces(N.T @ M @ N, still, moving - still)


def in_mujoco(
    text: str, rover: Rover, q: FloatArray, v: FloatArray, turned: Mapping[str, float] | None = None, base: str = ""
) -> Forces:
    """As MuJoCo reads the URDF `text`, whose first link is `base`; else that of our tree.

    Its free joint has its linear velocity in world axes, ours in base axes: theirs = T ours, T = diag(R, 1, ...).
    """
    N, signs = _complement(rover, turned)
    head, body = text[text.index("<robot") :].split(">", 1)
    world = '<mujoco><compiler fusestatic="true" discardvisual="true"/></mujoco><link name="world"/>'
    world += '<joint name="flying" type="floating"><parent link="world"/>'
    world += f'<child link="{base or rover.tree.bodies[0].name}"/></joint>'
    model = mujoco.MjModel.from_xml_string(f"{head}>{world}{body}")
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    model.opt.gravity[:] = EARTH_GRAVITY
    data = mujoco.MjData(model)
    joints = [model.joint(name) for name in rover.tree_joint_names]
    place = [*range(6), *(int(joint.dofadr[0]) for joint in joints)]
    T, R = np.eye(model.nv), Rotation.from_quat(q[3:7]).as_matrix()
    T[:3, :3] = R
    data.qpos[:3], data.qpos[3:7] = q[:3], q[[6, 3, 4, 5]]
    data.qpos[[int(joint.qposadr[0]) for joint in joints]] = signs[6:] * rover.tree_configuration(q)[7:]
    bias = []
    for speeds in (np.zeros(model.nv), T @ N @ v):
        data.qvel[place] = speeds
        mujoco.mj_forward(model, data)
        bias.append(data.qfrc_bias[place].copy())
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    M = M[np.ix_(place, place)]
    # the rate of the world velocity R v is R (dv/dt + w x v)
    turning = np.zeros(model.nv)
    turning[:3] = R @ np.cross(v[3:6], v[:3])
    return Forces(N.T @ T.T @ M @ T @ N, N.T @ T.T @ bias[0], N.T @ T.T @ (bias[1] - bias[0] + M @ turning))
