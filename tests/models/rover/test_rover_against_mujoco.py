"""Every reduced rover against MuJoCo, a second engine, from our URDF with a floating joint put before its base.

MuJoCo's free joint has its linear velocity in world axes, ours in base axes: v_theirs = T v_ours, T = diag(R, 1, ...).
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from .conftest import skip_without_wheels

mujoco = pytest.importorskip("mujoco", reason="MuJoCo, the second reference engine, is not installed")

TOLERANCE = 1e-9
SEEDS = range(3)
WORLD = """<mujoco><compiler fusestatic="false" discardvisual="true"/></mujoco>
<link name="world"/>
<joint name="flying" type="floating"><parent link="world"/><child link="{}"/></joint>"""


class Engine:
    """A rover in MuJoCo, with its speeds in the order of ours."""

    def __init__(self, case) -> None:
        self.case, rover = case, case.rover
        head, body = rover.urdf().split(">", 1)
        self.model = mujoco.MjModel.from_xml_string(f"{head}>{WORLD.format(rover.tree.bodies[0].name)}{body}")
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        self.data = mujoco.MjData(self.model)
        joints = [self.model.joint(name) for name in rover.tree_joint_names]
        self.angles = [int(joint.qposadr[0]) for joint in joints]
        self.speeds = [*range(6), *(int(joint.dofadr[0]) for joint in joints)]
        assert self.model.nv == len(self.speeds)

    def compute(self, q, v, gravity=(0.0, 0.0, 0.0), wrenches=None):
        """Mass matrix of all joints that turn, and bias less the wrenches' part, in our speeds."""
        model, data, R = self.model, self.data, Rotation.from_quat(q[3:7]).as_matrix()
        T = np.eye(model.nv)
        T[:3, :3] = R
        model.opt.gravity[:] = gravity
        data.qpos[:3], data.qpos[3:7], data.qpos[self.angles] = q[:3], q[[6, 3, 4, 5]], q[7:]
        data.qvel[self.speeds] = T @ v
        pushes = np.zeros((len(self.case.rover.wheel_names), 6)) if wrenches is None else wrenches
        for name, wrench in zip(self.case.rover.wheel_names, pushes, strict=True):
            data.xfrc_applied[model.body(f"{name}_wheel").id] = wrench
        mujoco.mj_forward(model, data)
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        M = M[np.ix_(self.speeds, self.speeds)]
        left_over = -data.qfrc_smooth[self.speeds]  # bias less the wrenches' part
        # acceleration of the world velocity R v is R (dv/dt + w x v)
        turning = np.zeros(model.nv)
        turning[:3] = R @ np.cross(v[3:6], v[:3])
        return T.T @ M @ T, T.T @ (left_over + M @ turning)


@pytest.fixture(scope="session")
def engine(case):
    return Engine(case)


def close(ours, theirs) -> bool:
    return np.abs(ours - theirs).max() <= TOLERANCE * max(1.0, np.abs(theirs).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_mass_matrix_equals_mujocos(case, engine, seed):
    q, v, *_ = case.state(seed)
    M, _ = engine.compute(case.unlocked(q), case.N @ v)
    assert close(case.rover.mass_matrix(q), case.N.T @ M @ case.N)


@pytest.mark.parametrize("seed", SEEDS)
def test_bias_equals_mujocos_under_any_gravity(case, engine, seed):
    q, v, _, _, gravity = case.state(seed)
    _, bias = engine.compute(case.unlocked(q), case.N @ v, gravity)
    assert close(case.rover.bias(q, v, gravity), case.N.T @ bias)


@pytest.mark.parametrize("seed", SEEDS)
def test_forward_dynamics_with_wheel_wrenches_equals_mujocos(case, engine, seed):
    q, v, tau, wrenches, gravity = case.state(seed)
    M, left_over = engine.compute(case.unlocked(q), case.N @ v, gravity, wrenches)
    theirs = np.linalg.solve(case.N.T @ M @ case.N, tau - case.N.T @ left_over)
    assert close(case.rover.forward_dynamics(q, v, tau, wrenches, gravity), theirs)


@pytest.mark.parametrize("seed", SEEDS)
def test_wheel_positions_and_contact_jacobians_equal_mujocos(case, engine, seed):
    skip_without_wheels(case)
    q, v, *_ = case.state(seed)
    engine.compute(case.unlocked(q), case.N @ v)
    R, direction = Rotation.from_quat(q[3:7]).as_matrix(), np.array([np.sin(1.0), 0.0, -np.cos(1.0)])
    places, rows = [], []
    for name in case.rover.wheel_names:
        body = engine.model.body(f"{name}_wheel").id
        places.append(engine.data.xpos[body].copy())
        row = np.zeros((3, engine.model.nv))
        mujoco.mj_jac(engine.model, engine.data, row, None, engine.data.xpos[body], body)
        row = direction @ row[:, engine.speeds]
        row[:3] = row[:3] @ R
        rows.append(row @ case.N)
    assert close(case.rover.wheel_positions(q), np.array(places))
    assert close(case.rover.impact_jacobian(q, 1.0, case.rover.wheel_names), np.array(rows))
