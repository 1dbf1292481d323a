"""The recursive axis-chain equations of Xu 2021, (1)-(19), as loops: mass matrix and bias of a rover.

An axis carries at most one body; the base has six, three prismatic and then yaw, pitch and roll. For axis l, over its
closed subtree, (19) with the partial velocities of (18):

    sum_k m_k (dr_k/dq_l)^T r_k'' + (dphi_k/dq_l)^T (J_k phi_k'' + phi_k' x J_k phi_k') - m_k (dr_k/dq_l)^T g
        = force or torque along n_l,

with dr_k/dq_l = n_l (prismatic) or n_l x (r_k - r_l), dphi_k/dq_l = 0 or n_l. Accelerations are linear in those of the
axes, with the same partial velocities as coefficients: what multiplies q_j'' is the mass matrix, the rest the bias.
Nothing here is shared with models.rover but the description of a rover; locked joints are axes that do not move.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from models.rover.tree import Tree

Array = NDArray[np.float64]


class Axes(NamedTuple):
    """Axes in an order in which carriers come first; arrays over them.

    Attributes:
        parent: (n,) carrying axis, -1 for the first.
        prismatic: (n,) 1 for a prismatic axis, 0 for a revolute one.
        origin: (n, 3) in the carrier's frame [m].
        direction: (n, 3) unit vector in the carrier's frame.
        mass: (n,) of the axis's body, 0: none [kg].
        centre: (n, 3) its centre of mass in the axis's frame [m].
        inertia: (n, 3, 3) about that centre, in the axis's frame [kg m^2].
    """

    parent: NDArray[np.int64]
    prismatic: NDArray[np.int64]
    origin: Array
    direction: Array
    mass: Array
    centre: Array
    inertia: Array


def equations(axes: Axes, q: Array, rate: Array, gravity: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Equations (19) of all axes in one pass outwards and one over pairs of axes.

    Written with loops and elementary numpy only, so that numba can compile it as it stands.

    Args:
        axes: of the rover.
        q: (n,) positions [m] or [rad].
        rate: (n,) their rates.
        gravity: (3,) [m/s^2].

    Returns:
        Mass matrix (n, n) and bias (n,); and in world axes, of each axis's frame: place (n, 3), rotation (n, 3, 3), and
        (n, 6) the linear and the angular acceleration with all q'' zero.
    """
    n = axes.parent.size
    place, turn, along = np.zeros((n, 3)), np.zeros((n, 3, 3)), np.zeros((n, 3))
    spin, drift = np.zeros((n, 3)), np.zeros((n, 6))
    M, bias = np.zeros((n, n)), np.zeros(n)
    for l in range(n):  # the source's letter
        k = axes.parent[l]
        up, base, w, a = np.eye(3), np.zeros(3), np.zeros(3), np.zeros(6)
        if k >= 0:
            up, base, w, a = turn[k], place[k], spin[k], drift[k]
        n_l = up @ axes.direction[l]
        lever = up @ axes.origin[l]
        x, y, z = axes.direction[l]
        if axes.prismatic[l]:
            lever = lever + n_l * q[l]
            turn[l], spin[l] = up, w
            drift[l, 3:] = a[3:]
            drift[l, :3] = 2.0 * rate[l] * np.cross(w, n_l)
        else:
            skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
            turn[l] = up @ (np.eye(3) + math.sin(q[l]) * skew + (1.0 - math.cos(q[l])) * (skew @ skew))
            spin[l] = w + n_l * rate[l]
            drift[l, 3:] = a[3:] + rate[l] * np.cross(w, n_l)
        drift[l, :3] += a[:3] + np.cross(a[3:], lever) + np.cross(w, np.cross(w, lever))
        place[l], along[l] = base + lever, n_l
    for k in range(n):
        if axes.mass[k] == 0.0:
            continue
        lever, w, a = turn[k] @ axes.centre[k], spin[k], drift[k]
        r = place[k] + lever
        J = turn[k] @ axes.inertia[k] @ turn[k].T
        force = axes.mass[k] * (a[:3] + np.cross(a[3:], lever) + np.cross(w, np.cross(w, lever)) - gravity)
        torque = J @ a[3:] + np.cross(w, J @ w)
        l = k
        while l >= 0:  # all axes whose closed subtree has the body
            if axes.prismatic[l]:
                moves, turns = along[l], np.zeros(3)
            else:
                moves, turns = np.cross(along[l], r - place[l]), along[l]
            bias[l] += moves @ force + turns @ torque
            inertial, twisting = axes.mass[k] * moves, J @ turns
            j = l
            while j >= 0:
                if axes.prismatic[j]:
                    M[l, j] += inertial @ along[j]
                else:
                    M[l, j] += inertial @ np.cross(along[j], r - place[j]) + twisting @ along[j]
                j = axes.parent[j]
            l = axes.parent[l]
    for l in range(n):
        for j in range(l):
            M[j, l] = M[l, j]
    return M, bias, place, turn, drift


class AxisChain:
    """A rover as a chain of axes, and its equations in the speeds of `models.rover`.

    Args:
        tree: of the rover.
        joint_names: its independent joints, in the order of q and v.
    """

    def __init__(self, tree: Tree, joint_names: tuple[str, ...]) -> None:
        self._names = joint_names
        rows: list[tuple[int, int, Any, Any, float, Any, Any]] = []
        for k in range(6):
            prismatic = k < 3
            direction = np.eye(3)[k if prismatic else 5 - k]  # x y z, then yaw pitch roll
            rows.append((k - 1, int(prismatic), np.zeros(3), direction, 0.0, np.zeros(3), np.eye(3)))
        base = tree.bodies[0]
        rows[5] = (*rows[5][:4], base.mass, np.array(base.com), base.inertia_matrix)
        self.axis_of_body = {base.name: 5}
        self.axis_of_joint: dict[str, int] = {}
        self._locked: dict[int, float] = {}
        waiting = [base.name]
        while waiting:
            carrier = waiting.pop()
            for joint in tree.children(carrier):
                body, here = tree.body[joint.child], len(rows)
                rows.append((self.axis_of_body[carrier], 0, np.array(joint.origin), np.array(joint.axis),
                             body.mass, np.array(body.com), body.inertia_matrix))  # fmt: skip
                self.axis_of_body[joint.child] = self.axis_of_joint[joint.name] = here
                if joint.locked_at is not None:
                    self._locked[here] = joint.locked_at
                waiting.append(joint.child)
        parent, prismatics, origin, direction, mass, centre, inertia = zip(*rows, strict=True)
        self.axes = Axes(np.array(parent), np.array(prismatics), np.array(origin), np.array(direction),
                         np.array(mass), np.array(centre), np.array(inertia))  # fmt: skip
        # rates of all axes from the base's six and those of the independent joints
        self.spread = np.zeros((len(rows), 6 + len(joint_names)))
        self.spread[:6, :6] = np.eye(6)
        for k, name in enumerate(joint_names):
            self.spread[self.axis_of_joint[name], 6 + k] = 1.0
        self._offset = np.zeros(len(rows))
        for coupling in tree.couplings:
            self._offset[self.axis_of_joint[coupling.joint]] = coupling.offset
            for source, ratio in coupling.sources:
                self.spread[self.axis_of_joint[coupling.joint], 6 + joint_names.index(source)] = ratio

    def coordinates(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """Positions and rates of all axes; and the matrix that gives the base's speeds v[:6] from its axes' rates."""
        rotation = Rotation.from_quat(q[3:7])
        yaw, pitch, roll = rotation.as_euler("ZYX")
        R = rotation.as_matrix()
        # directions of the base's revolute axes: yaw about z, then pitch, then roll
        after_yaw = Rotation.from_euler("z", yaw)
        directions = np.column_stack([(0.0, 0.0, 1.0), after_yaw.apply((0.0, 1.0, 0.0)), R @ (1.0, 0.0, 0.0)])
        S = np.zeros((6, 6))
        S[:3, :3], S[3:, 3:] = R.T, R.T @ directions
        own = np.concatenate([q[:3], (yaw, pitch, roll), q[7:]])
        rates = np.concatenate([np.linalg.solve(S, v[:6]), v[6:]])
        everything = self.spread @ own + self._offset
        for axis, angle in self._locked.items():
            everything[axis] = angle
        return everything, self.spread @ rates, S

    def dynamics(self, q: Array, v: Array, gravity: tuple[float, float, float]) -> tuple[Array, Array]:
        """Mass matrix (nv, nv) and bias (nv,), as `models.rover.Rover` has them."""
        position, rate, S = self.coordinates(q, v)
        M, bias, _, _, drift = equations(self.axes, position, rate, np.array(gravity))
        M, bias = self.spread.T @ M @ self.spread, self.spread.T @ bias
        # from rates of the base's axes to its speeds in its own axes: v' = S q'' + s
        back = np.eye(len(bias))
        back[:6, :6] = np.linalg.inv(S)
        s = np.zeros(len(bias))
        R = S[:3, :3].T
        s[:3], s[3:6] = -np.cross(v[3:6], v[:3]), R.T @ drift[5, 3:]
        return back.T @ M @ back, back.T @ (bias - M @ back @ s)
