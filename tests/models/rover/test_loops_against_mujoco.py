"""Juno's closed loops against MuJoCo, whose model has its rods as `connect` constraints, from our MJCF.

MuJoCo holds such constraints softly, so its own motion is not compared: from it are mass matrix, bias and the Jacobian
of the constraints, and the accelerations follow by Lagrange multipliers. Its free joint has its linear velocity in
world axes, ours in base axes: v_theirs = T v_ours, T = diag(R, 1, ...).
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.spatial.transform import Rotation

from models.rover import juno_exact
from models.rover.mjcf import to_mjcf

pytestmark = pytest.mark.slow  # compiles kernels that no other quick test needs

mujoco = pytest.importorskip("mujoco", reason="MuJoCo, the second reference engine, is not installed")

ROVERS = {
    "9 speeds": {},
    "13 speeds, the thesis's": {"chains": False, "locks": {"spin": None}},
    "tilting": {"locks": {"tilt": None}},
    "tilted": {"tilt_angle": 0.2},
}


class Engine:
    """A rover in MuJoCo in one state of ours, its speeds in the order of ours."""

    def __init__(self, rover, q, v, gravity) -> None:
        self.model = mujoco.MjModel.from_xml_string(to_mjcf(rover.tree))
        self.data = mujoco.MjData(self.model)
        off = mujoco.mjtDisableBit
        self.model.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_LIMIT
        self.model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
        self.model.opt.gravity[:] = gravity
        joints = [self.model.joint(name) for name in rover.tree_joint_names]
        self.speeds = [*range(6), *(int(joint.dofadr[0]) for joint in joints)]
        R, nv = Rotation.from_quat(q[3:7]).as_matrix(), self.model.nv
        self.T = np.eye(nv)
        self.T[:3, :3] = R
        at, self.v = rover.tree_configuration(q), self.T @ rover.tree_speeds(v, q)
        self.data.qpos[:3], self.data.qpos[3:7] = at[:3], at[[6, 3, 4, 5]]
        self.data.qpos[[int(joint.qposadr[0]) for joint in joints]] = at[7:]
        self.data.qvel[self.speeds] = self.v
        self.J, self.apart = self._constraints()
        M = np.zeros((nv, nv))
        mujoco.mj_fullM(self.model, self.data, M)
        self.M, self.bias = M[np.ix_(self.speeds, self.speeds)], self.data.qfrc_bias[self.speeds].copy()
        self.base_turns = np.cross(v[3:6], v[:3])

    def _constraints(self):
        mujoco.mj_forward(self.model, self.data)
        rows = slice(0, self.data.ne)
        return self.data.efc_J.reshape(-1, self.model.nv)[rows][:, self.speeds].copy(), self.data.efc_pos[rows].copy()

    def accelerations(self, force):
        """Of all joints, in our speeds, by Lagrange multipliers; the Jacobian's rate is a central difference."""
        here, ends, step = self.data.qpos.copy(), [], 1e-6
        for way in (step, -step):
            self.data.qpos[:] = here
            mujoco.mj_integratePos(self.model, self.data.qpos, self.data.qvel, way)
            ends.append(self._constraints()[0])
        rate, (rows, nv) = (ends[0] - ends[1]) / (2.0 * step), self.J.shape
        left = np.block([[self.M, self.J.T], [self.J, np.zeros((rows, rows))]])
        right = np.concatenate([np.linalg.solve(self.T.T, force) - self.bias, -rate @ self.v])
        found = np.linalg.solve(self.T, np.linalg.lstsq(left, right)[0][:nv])
        found[:3] -= self.base_turns
        return found


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", list(ROVERS))
def test_loops_masses_and_accelerations_equal_mujocos(name, seed):
    rover, random = juno_exact(**ROVERS[name]), np.random.default_rng(seed)
    q, v, tau = random.normal(size=rover.nq), random.normal(size=rover.nv), 10.0 * random.normal(size=rover.nv)
    q[3:7] = Rotation.from_rotvec(random.normal(size=3)).as_quat()
    q[7 + rover.joint_names.index("left_rocker")] = random.uniform(-0.4, 0.4)
    gravity = 9.81 * random.normal(size=3)
    engine = Engine(rover, q, v, gravity)
    assert np.abs(engine.apart).max() <= 1e-10  # its rods' ends meet where ours do
    assert np.abs(engine.J @ engine.v).max() <= 1e-9
    N = null_space(engine.J @ engine.T, rcond=1e-9)
    N = N @ np.linalg.inv(N[rover.chain.independent])
    M = N.T @ engine.T.T @ engine.M @ engine.T @ N
    assert N.shape[1] == rover.nv
    assert np.abs(rover.mass_matrix(q) - M).max() <= 1e-9 * np.abs(M).max()
    force = np.zeros(engine.model.nv)
    force[rover.chain.independent] = tau
    theirs = engine.accelerations(force)[rover.chain.independent]
    assert np.abs(rover.forward_dynamics(q, v, tau, None, gravity) - theirs).max() <= 1e-8 * np.abs(theirs).max()
