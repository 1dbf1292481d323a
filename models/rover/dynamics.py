"""Dynamics kernels of a reduced rover: every spatial quantity in one frame, the base's own.

With all bodies written in base axes at the base origin, composite inertias are plain sums and no transform is needed
between bodies (the composite-rigid-body and recursive Newton-Euler algorithms in common coordinates, Featherstone 2008
ch. 5-6). Spatial motion is (linear, angular), spatial force (force, moment about the base origin), both linear first
as the generalised velocity is. Locks and couplings only change the arrays of `Chain`, never this code: what is filled
here is the mass matrix and bias of all joints that turn, and models.rover.factor folds the coupled ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.compiled import FloatArray, kernel
from models.rover.reduction import Chain


class Work(NamedTuple):
    """Scratch arrays of one rover, made once so that no kernel allocates.

    All are over tree speeds (models.rover.reduction.Chain).

    Attributes:
        base: (3, 3) world axes from base axes.
        turn: (bodies, 3, 3) base axes from body axes; not kept for round bodies, which are the same at any angle.
        place: (bodies, 3) body origin in base axes [m].
        screw: (bodies, 6) joint motion axis; row 0 unused.
        inertia: (bodies, 10) mass, first moment (3), moments xx xy xz yy yz zz about the base origin.
        twist: (bodies, 6) spatial velocity.
        drift: (bodies, 6) spatial acceleration at zero joint acceleration.
        load: (bodies, 6) spatial force.
        mass_matrix: (speeds, speeds) of which the kernels fill and factor the lower triangle.
        rhs: (speeds,) right-hand side and solution.
        row: (speeds,) one Jacobian row.
        other_row: (speeds,) another.
        q: (speeds + 1,) configuration of all joints that turn, for callers that hold independent ones only.
        v: (speeds,) their velocity, likewise.
    """

    base: FloatArray
    turn: FloatArray
    place: FloatArray
    screw: FloatArray
    inertia: FloatArray
    twist: FloatArray
    drift: FloatArray
    load: FloatArray
    mass_matrix: FloatArray
    rhs: FloatArray
    row: FloatArray
    other_row: FloatArray
    q: FloatArray
    v: FloatArray


def make_work(chain: Chain) -> Work:
    """Allocate the scratch arrays for a rover."""
    n, speeds = chain.parent.size, chain.speed_parent.size
    return Work(
        np.eye(3), np.zeros((n, 3, 3)), np.zeros((n, 3)), np.zeros((n, 6)), np.zeros((n, 10)), np.zeros((n, 6)),
        np.zeros((n, 6)), np.zeros((n, 6)), np.zeros((speeds, speeds)), np.zeros(speeds), np.zeros(speeds),
        np.zeros(speeds), np.zeros(speeds + 1), np.zeros(speeds),
    )  # fmt: skip


@kernel
def place_bodies(chain: Chain, q: FloatArray, work: Work) -> None:
    """Fill base, turn, place, screw and inertia for the configuration q (speeds + 1,) of all joints that turn."""
    x, y, z, w = q[3], q[4], q[5], q[6]
    base = work.base
    base[0, 0], base[0, 1], base[0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)
    base[1, 0], base[1, 1], base[1, 2] = 2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)
    base[2, 0], base[2, 1], base[2, 2] = 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)
    for i in range(chain.parent.size):
        turn = work.turn[i]
        if i == 0:
            for a in range(3):
                for b in range(3):
                    turn[a, b] = 1.0 if a == b else 0.0
                work.place[0, a] = 0.0
        elif chain.spin_inertia[i] > 0.0:
            _place_round(chain, i, work)
            continue
        else:
            _place_on_parent(chain, i, q[6 + i], work)
        _body_inertia(chain, i, work)


@kernel
def _place_on_parent(chain: Chain, i: int, angle: float, work: Work) -> None:
    """Pose and screw of body i at its joint angle [rad]."""
    parent = chain.parent[i]
    up, turn, fixed = work.turn[parent], work.turn[i], chain.rotation[i]
    ax, ay, az = chain.axis[i, 0], chain.axis[i, 1], chain.axis[i, 2]
    s, c = np.sin(angle), np.cos(angle)
    t = 1.0 - c
    # Rodrigues, row by row of (up @ fixed) @ rotation(axis, angle)
    for a in range(3):
        f0 = up[a, 0] * fixed[0, 0] + up[a, 1] * fixed[1, 0] + up[a, 2] * fixed[2, 0]
        f1 = up[a, 0] * fixed[0, 1] + up[a, 1] * fixed[1, 1] + up[a, 2] * fixed[2, 1]
        f2 = up[a, 0] * fixed[0, 2] + up[a, 1] * fixed[1, 2] + up[a, 2] * fixed[2, 2]
        along = f0 * ax + f1 * ay + f2 * az
        work.screw[i, 3 + a] = along
        turn[a, 0] = c * f0 + t * along * ax + s * (f1 * az - f2 * ay)
        turn[a, 1] = c * f1 + t * along * ay + s * (f2 * ax - f0 * az)
        turn[a, 2] = c * f2 + t * along * az + s * (f0 * ay - f1 * ax)
        o = chain.origin[i]
        work.place[i, a] = work.place[parent, a] + up[a, 0] * o[0] + up[a, 1] * o[1] + up[a, 2] * o[2]
    p, screw = work.place[i], work.screw[i]
    screw[0] = p[1] * screw[5] - p[2] * screw[4]
    screw[1] = p[2] * screw[3] - p[0] * screw[5]
    screw[2] = p[0] * screw[4] - p[1] * screw[3]


@kernel
def _place_round(chain: Chain, i: int, work: Work) -> None:
    """Place and screw of a round body, whatever its joint angle; it has no turn and no inertia of its own."""
    parent = chain.parent[i]
    up, fixed, o, axis = work.turn[parent], chain.rotation[i], chain.origin[i], chain.axis[i]
    p, screw = work.place[i], work.screw[i]
    x = fixed[0, 0] * axis[0] + fixed[0, 1] * axis[1] + fixed[0, 2] * axis[2]
    y = fixed[1, 0] * axis[0] + fixed[1, 1] * axis[1] + fixed[1, 2] * axis[2]
    z = fixed[2, 0] * axis[0] + fixed[2, 1] * axis[1] + fixed[2, 2] * axis[2]
    for a in range(3):
        p[a] = work.place[parent, a] + up[a, 0] * o[0] + up[a, 1] * o[1] + up[a, 2] * o[2]
        screw[3 + a] = up[a, 0] * x + up[a, 1] * y + up[a, 2] * z
    screw[0] = p[1] * screw[5] - p[2] * screw[4]
    screw[1] = p[2] * screw[3] - p[0] * screw[5]
    screw[2] = p[0] * screw[4] - p[1] * screw[3]


@kernel
def _body_inertia(chain: Chain, i: int, work: Work) -> None:
    """Inertia of body i about the base origin, in base axes."""
    m, com, own, turn, p = chain.mass[i], chain.com[i], chain.inertia[i], work.turn[i], work.place[i]
    out = work.inertia[i]
    cx = p[0] + turn[0, 0] * com[0] + turn[0, 1] * com[1] + turn[0, 2] * com[2]
    cy = p[1] + turn[1, 0] * com[0] + turn[1, 1] * com[1] + turn[1, 2] * com[2]
    cz = p[2] + turn[2, 0] * com[0] + turn[2, 1] * com[1] + turn[2, 2] * com[2]
    out[0], out[1], out[2], out[3] = m, m * cx, m * cy, m * cz
    slot = 4
    for a in range(3):
        r0 = turn[a, 0] * own[0, 0] + turn[a, 1] * own[1, 0] + turn[a, 2] * own[2, 0]
        r1 = turn[a, 0] * own[0, 1] + turn[a, 1] * own[1, 1] + turn[a, 2] * own[2, 1]
        r2 = turn[a, 0] * own[0, 2] + turn[a, 1] * own[1, 2] + turn[a, 2] * own[2, 2]
        for b in range(a, 3):
            out[slot] = r0 * turn[b, 0] + r1 * turn[b, 1] + r2 * turn[b, 2]
            slot += 1
    out[4] += m * (cy * cy + cz * cz)
    out[5] -= m * cx * cy
    out[6] -= m * cx * cz
    out[7] += m * (cx * cx + cz * cz)
    out[8] -= m * cy * cz
    out[9] += m * (cx * cx + cy * cy)


@kernel
def momentum(inertia: FloatArray, motion: FloatArray, out: FloatArray) -> None:
    """Spatial momentum (6,) of an inertia (10,) moving with motion (6,); writes `out`."""
    m, hx, hy, hz = inertia[0], inertia[1], inertia[2], inertia[3]
    vx, vy, vz, wx, wy, wz = motion[0], motion[1], motion[2], motion[3], motion[4], motion[5]
    out[0] = m * vx + wy * hz - wz * hy
    out[1] = m * vy + wz * hx - wx * hz
    out[2] = m * vz + wx * hy - wy * hx
    out[3] = hy * vz - hz * vy + inertia[4] * wx + inertia[5] * wy + inertia[6] * wz
    out[4] = hz * vx - hx * vz + inertia[5] * wx + inertia[7] * wy + inertia[8] * wz
    out[5] = hx * vy - hy * vx + inertia[6] * wx + inertia[8] * wy + inertia[9] * wz


@kernel
def fill_bias(chain: Chain, v: FloatArray, gravity: FloatArray, work: Work) -> None:
    """Put the bias force (Coriolis, centrifugal, gravity [m/s^2, world]) into work.rhs; needs place_bodies.

    Leaves work.twist filled.
    """
    n = chain.parent.size
    base = work.base
    for a in range(3):
        work.twist[0, a], work.twist[0, 3 + a] = v[a], v[3 + a]
        # a base that accelerates upwards feels what gravity would do
        work.drift[0, a] = -(base[0, a] * gravity[0] + base[1, a] * gravity[1] + base[2, a] * gravity[2])
        work.drift[0, 3 + a] = 0.0
    for i in range(1, n):
        parent, speed = chain.parent[i], v[5 + i]
        t, s, d = work.twist[i], work.screw[i], work.drift[i]
        for a in range(6):
            t[a] = work.twist[parent, a] + s[a] * speed
        if chain.spin_inertia[i] > 0.0:
            continue
        up = work.drift[parent]
        d[0] = up[0] + speed * (t[4] * s[2] - t[5] * s[1] + t[1] * s[5] - t[2] * s[4])
        d[1] = up[1] + speed * (t[5] * s[0] - t[3] * s[2] + t[2] * s[3] - t[0] * s[5])
        d[2] = up[2] + speed * (t[3] * s[1] - t[4] * s[0] + t[0] * s[4] - t[1] * s[3])
        d[3] = up[3] + speed * (t[4] * s[5] - t[5] * s[4])
        d[4] = up[4] + speed * (t[5] * s[3] - t[3] * s[5])
        d[5] = up[5] + speed * (t[3] * s[4] - t[4] * s[3])
    for i in range(n):
        if chain.spin_inertia[i] > 0.0:
            continue
        t, f, h = work.twist[i], work.load[i], work.row
        momentum(work.inertia[i], work.drift[i], f)
        momentum(work.inertia[i], t, h)
        f[0] += t[4] * h[2] - t[5] * h[1]
        f[1] += t[5] * h[0] - t[3] * h[2]
        f[2] += t[3] * h[1] - t[4] * h[0]
        f[3] += t[4] * h[5] - t[5] * h[4] + t[1] * h[2] - t[2] * h[1]
        f[4] += t[5] * h[3] - t[3] * h[5] + t[2] * h[0] - t[0] * h[2]
        f[5] += t[3] * h[4] - t[4] * h[3] + t[0] * h[1] - t[1] * h[0]
    for i in range(n - 1, 0, -1):
        s, f, up = work.screw[i], work.load[i], work.load[chain.parent[i]]
        if chain.spin_inertia[i] > 0.0:
            # its spin momentum turns with the carrier, and stays as it is along its own axis
            d, t, h = work.drift[chain.parent[i]], work.twist[chain.parent[i]], chain.spin_inertia[i] * v[5 + i]
            work.rhs[5 + i] = chain.spin_inertia[i] * (s[3] * d[3] + s[4] * d[4] + s[5] * d[5])
            up[3] += h * (t[4] * s[5] - t[5] * s[4])
            up[4] += h * (t[5] * s[3] - t[3] * s[5])
            up[5] += h * (t[3] * s[4] - t[4] * s[3])
            continue
        work.rhs[5 + i] = s[0] * f[0] + s[1] * f[1] + s[2] * f[2] + s[3] * f[3] + s[4] * f[4] + s[5] * f[5]
        for a in range(6):
            up[a] += f[a]
    for a in range(6):
        work.rhs[a] = work.load[0, a]


@kernel
def fill_mass_matrix(chain: Chain, work: Work) -> None:
    """Put the mass matrix into the lower triangle of work.mass_matrix; turns work.inertia into composites."""
    M, f = work.mass_matrix, work.row
    for i in range(chain.parent.size - 1, 0, -1):
        if chain.spin_inertia[i] == 0.0:
            for a in range(10):
                work.inertia[chain.parent[i], a] += work.inertia[i, a]
    for i in range(1, chain.parent.size):
        spin = chain.spin_inertia[i]
        if spin > 0.0:
            f[0] = f[1] = f[2] = 0.0
            for a in range(3, 6):
                f[a] = spin * work.screw[i, a]
        else:
            momentum(work.inertia[i], work.screw[i], f)
        for j in range(6, 5 + i):
            M[5 + i, j] = 0.0
        j = i
        while j > 0:
            s = work.screw[j]
            M[5 + i, 5 + j] = s[0] * f[0] + s[1] * f[1] + s[2] * f[2] + s[3] * f[3] + s[4] * f[4] + s[5] * f[5]
            j = chain.parent[j]
        for a in range(6):
            M[5 + i, a] = f[a]
    m, hx, hy, hz = work.inertia[0, 0], work.inertia[0, 1], work.inertia[0, 2], work.inertia[0, 3]
    for a in range(6):
        for b in range(a + 1):
            M[a, b] = 0.0
    M[0, 0], M[1, 1], M[2, 2] = m, m, m
    M[3, 1], M[3, 2] = -hz, hy
    M[4, 0], M[4, 2] = hz, -hx
    M[5, 0], M[5, 1] = -hy, hx
    J = work.inertia[0]
    M[3, 3], M[4, 3], M[4, 4], M[5, 3], M[5, 4], M[5, 5] = J[4], J[5], J[7], J[6], J[8], J[9]
