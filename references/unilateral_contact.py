"""Wheels on rigid, level ground by the acceleration-level conditions of Xu 2021, (33)-(42).

Of a wheel that touches: the acceleration of its contact away from the ground is >= 0, the force >= 0, and one of the
two is zero. The accelerations come from `references.axis_chain`, their partial velocities are (38)'s; the
complementarity problem is solved by non-negative least squares of the same convex programme.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

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
