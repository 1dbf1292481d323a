"""Points, directions and forces on a placed rover (after `place_bodies`)."""

from __future__ import annotations

import numpy as np

from models.kernels.compiled import FloatArray, kernel
from models.rover.dynamics import Workspace
from models.rover.reduction import Chain

Direction = tuple[float, float, float]


@kernel
def to_base(work: Workspace, x: float, y: float, z: float) -> tuple[float, float, float]:
    """A world direction in base axes."""
    b = work.base
    return (
        b[0, 0] * x + b[1, 0] * y + b[2, 0] * z,
        b[0, 1] * x + b[1, 1] * y + b[2, 1] * z,
        b[0, 2] * x + b[1, 2] * y + b[2, 2] * z,
    )


@kernel
def to_world(work: Workspace, x: float, y: float, z: float) -> tuple[float, float, float]:
    """A base-axes direction in world axes."""
    b = work.base
    return (
        b[0, 0] * x + b[0, 1] * y + b[0, 2] * z,
        b[1, 0] * x + b[1, 1] * y + b[1, 2] * z,
        b[2, 0] * x + b[2, 1] * y + b[2, 2] * z,
    )


@kernel
def body_position(q: FloatArray, work: Workspace, body: int) -> tuple[float, float, float]:
    """World position [m] of a body's origin (for a wheel: its centre)."""
    p = work.place[body]
    x, y, z = to_world(work, p[0], p[1], p[2])
    return q[0] + x, q[1] + y, q[2] + z


@kernel
def body_velocity(work: Workspace, body: int) -> tuple[float, float, float]:
    """World velocity [m/s] of a body's origin; needs work.twist (fill_bias)."""
    p, t = work.place[body], work.twist[body]
    return to_world(
        work,
        t[0] + t[4] * p[2] - t[5] * p[1],
        t[1] + t[5] * p[0] - t[3] * p[2],
        t[2] + t[3] * p[1] - t[4] * p[0],
    )


@kernel
def body_spin(work: Workspace, body: int) -> tuple[float, float, float]:
    """World angular velocity [rad/s] of a body; needs work.twist (fill_bias)."""
    t = work.twist[body]
    return to_world(work, t[3], t[4], t[5])


@kernel
def axle(work: Workspace, body: int) -> tuple[float, float, float]:
    """World direction of a body's joint axis; a wheel's points to port, so forward spin is positive."""
    s = work.screw[body]
    return to_world(work, s[3], s[4], s[5])


@kernel
def x_axis(chain: Chain, q: FloatArray, work: Workspace, body: int) -> tuple[float, float, float]:
    """World direction of a body's x axis at its joint angle, also for a body without stored work.turn."""
    up, fixed = work.turn[chain.parent[body]], chain.rotation[body]
    ax, ay, az = chain.axis[body, 0], chain.axis[body, 1], chain.axis[body, 2]
    s, c = np.sin(q[6 + body]), np.cos(q[6 + body])
    # first column of rotation(axis, angle)
    rx, ry, rz = c + (1.0 - c) * ax * ax, (1.0 - c) * ax * ay + s * az, (1.0 - c) * ax * az - s * ay
    fx = fixed[0, 0] * rx + fixed[0, 1] * ry + fixed[0, 2] * rz
    fy = fixed[1, 0] * rx + fixed[1, 1] * ry + fixed[1, 2] * rz
    fz = fixed[2, 0] * rx + fixed[2, 1] * ry + fixed[2, 2] * rz
    return to_world(
        work,
        up[0, 0] * fx + up[0, 1] * fy + up[0, 2] * fz,
        up[1, 0] * fx + up[1, 1] * fy + up[1, 2] * fz,
        up[2, 0] * fx + up[2, 1] * fy + up[2, 2] * fz,
    )


@kernel
def project(
    chain: Chain,
    work: Workspace,
    body: int,
    force: tuple[float, float, float],
    moment: tuple[float, float, float],
    arm: tuple[float, float, float],
    row: FloatArray,
) -> None:
    """Generalised force (speeds,) of a force and moment on a body, into `row`.

    For a unit force this is also the Jacobian row: the speed of that point of the body in that direction. Only speeds
    on the body's path to the base are written; the force does not act on others.

    Args:
        chain: the rover.
        work: placed.
        body: which body the force acts on.
        force: [N] world axes.
        moment: [N m] world axes, about the point of application.
        arm: [m] world axes, from the body's origin to the point of application.
        row: (speeds,) overwritten on the path.
    """
    f = to_base(work, force[0], force[1], force[2])
    nx, ny, nz = to_base(work, moment[0], moment[1], moment[2])
    ax, ay, az = to_base(work, arm[0], arm[1], arm[2])
    p = work.place[body]
    px, py, pz = cross((ax + p[0], ay + p[1], az + p[2]), f)
    spread_wrench(chain, work, body, f, (nx + px, ny + py, nz + pz), row)


@kernel
def spread_wrench(
    chain: Chain,
    work: Workspace,
    body: int,
    force: tuple[float, float, float],
    moment: tuple[float, float, float],
    row: FloatArray,
) -> None:
    """`project`, with force and moment in base axes and the moment about the base origin."""
    fx, fy, fz = force
    nx, ny, nz = moment
    row[0], row[1], row[2], row[3], row[4], row[5] = fx, fy, fz, nx, ny, nz
    i = body
    while i > 0:
        s = work.screw[i]
        row[5 + i] = s[0] * fx + s[1] * fy + s[2] * fz + s[3] * nx + s[4] * ny + s[5] * nz
        i = chain.parent[i]


@kernel
def vector(row: FloatArray, start: int) -> tuple[float, float, float]:
    """Three numbers of an array."""
    return row[start], row[start + 1], row[start + 2]


@kernel
def cross(a: tuple[float, float, float], b: tuple[float, float, float]) -> tuple[float, float, float]:
    """Vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def dot(a: tuple[float, float, float], b: tuple[float, float, float]) -> float:
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def approach_row(chain: Chain, work: Workspace, body: int, angle: float, row: FloatArray) -> None:
    """Jacobian row (speeds,) of a wheel's approach to a plane at angle [rad], MacMahon 2016 (3.24); all written."""
    approach_along(chain, work, body, (np.sin(angle), 0.0, -np.cos(angle)), row)


@kernel
def approach_along(chain: Chain, work: Workspace, body: int, direction: Direction, row: FloatArray) -> None:
    """The same in any direction (world), a unit vector towards the plane."""
    for a in range(row.size):
        row[a] = 0.0
    none = (0.0, 0.0, 0.0)
    project(chain, work, body, direction, none, none, row)
