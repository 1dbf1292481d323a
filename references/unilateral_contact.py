"""Wheels on rigid, level ground by the acceleration-level conditions of Xu 2021, (33)-(42).

Of a wheel that touches: the acceleration of its contact away from the ground is >= 0, the force >= 0, and one of the
two is zero. The accelerations come from `references.axis_chain`, their partial velocities are (38)'s; the
complementarity problem is solved by non-negative least squares of the same convex programme.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.spatial.transform import Rotation

from references.axis_chain import AxisChain, equations

Array = NDArray[np.float64]


def normal_rows(chain: AxisChain, bodies: list[str], q: Array, v: Array) -> tuple[Array, Array, Array]:
    """Of wheel centres over level ground: height (wheels,), rows (wheels, nv) of its rate, and its drift (wheels,).

    The height's second derivative is row times acceleration plus drift.
    """
    position, rate, S = chain.coordinates(q, v)
    _, _, place, turn, drift = equations(chain.axes, position, rate, np.zeros(3))
    rows, n = np.zeros((len(bodies), position.size)), len(v)
    for i, name in enumerate(bodies):
        centre = chain.axis_of_body[name]
        axis = centre
        while axis >= 0:
            carrier = chain.axes.parent[axis]
            up = turn[carrier] if carrier >= 0 else np.eye(3)
            along = up @ chain.axes.direction[axis]
            moves = along if chain.axes.prismatic[axis] else np.cross(along, place[centre] - place[axis])
            rows[i, axis] = moves[2]
            axis = carrier
    rows = rows @ chain.spread
    back = np.eye(n)
    back[:6, :6] = np.linalg.inv(S)
    s = np.zeros(n)
    s[:3], s[3:6] = -np.cross(v[3:6], v[:3]), S[:3, :3] @ drift[5, 3:]
    centres = [chain.axis_of_body[name] for name in bodies]
    return place[centres, 2], rows @ back, drift[centres, 2] - rows @ back @ s


def accelerations(
    chain: AxisChain, touching: list[str], q: Array, v: Array, tau: Array, gravity: tuple[float, float, float]
) -> tuple[Array, Array]:
    """Acceleration (nv,) and the forces (touching,) [N] of the wheels' bodies that touch."""
    M, bias = chain.dynamics(q, v, gravity)
    free = np.linalg.solve(M, tau - bias)
    _, rows, drift = normal_rows(chain, touching, q, v)
    # forces f >= 0 with rows (free + M^-1 rows^T f) + drift >= 0 and f . that = 0: least squares |L^-1 (tau - bias +
    # rows^T f)| shifted by the drift, whose normal equations are these
    A = rows @ np.linalg.solve(M, rows.T)
    b = rows @ free + drift
    root = np.linalg.cholesky(A)
    force, _ = nnls(root.T, np.linalg.solve(root, -b))
    return free + np.linalg.solve(M, rows.T @ force), force


def motion(
    chain: AxisChain,
    wheels: dict[str, float],
    q: Array,
    v: Array,
    tau: Array,
    gravity: tuple[float, float, float],
    seconds: float,
    steps: int,
) -> tuple[Array, Array]:
    """Configuration and velocity after a time, by steps of Runge and Kutta's fourth order; no wheel may touch down.

    Args:
        chain: of the rover.
        wheels: radius [m] by name of the wheel's body.
        q: at the start (nq,).
        v: at the start (nv,).
        tau: constant generalised force (nv,).
        gravity: [m/s^2].
        seconds: time.
        steps: so many.
    """
    h, radius, bodies = seconds / steps, np.array(list(wheels.values())), list(wheels)

    def rates(q: Array, v: Array, touching: list[str]) -> tuple[Array, Array]:
        unit = q[3:7] / np.linalg.norm(q[3:7])
        x, y, z, w = unit
        wx, wy, wz = v[3:6]
        turn = 0.5 * np.array(
            [w * wx + y * wz - z * wy, w * wy + z * wx - x * wz, w * wz + x * wy - y * wx, -x * wx - y * wy - z * wz]
        )
        moved = np.concatenate([Rotation.from_quat(unit).apply(v[:3]), turn, v[6:]])
        return moved, accelerations(chain, touching, np.concatenate([q[:3], unit, q[7:]]), v, tau, gravity)[0]

    for _ in range(steps):
        height, rows, _ = normal_rows(chain, bodies, q, v)
        closed = (height - radius < 1e-7) & (rows @ v < 1e-6)
        touching = [name for name, here in zip(bodies, closed, strict=True) if here]
        a = rates(q, v, touching)
        b = rates(q + 0.5 * h * a[0], v + 0.5 * h * a[1], touching)
        c = rates(q + 0.5 * h * b[0], v + 0.5 * h * b[1], touching)
        d = rates(q + h * c[0], v + h * c[1], touching)
        q = q + h / 6.0 * (a[0] + 2.0 * b[0] + 2.0 * c[0] + d[0])
        v = v + h / 6.0 * (a[1] + 2.0 * b[1] + 2.0 * c[1] + d[1])
        q[3:7] /= np.linalg.norm(q[3:7])
    return q, v
