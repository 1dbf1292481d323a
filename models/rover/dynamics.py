"""Dynamics kernels of a reduced rover, with every spatial quantity in the base frame.

With all bodies written in base axes at the base origin, composite inertias are plain sums and no transform is needed
between bodies (the composite-rigid-body and recursive Newton-Euler algorithms in common coordinates, Featherstone 2008
ch. 5-6). Spatial motion is (linear, angular), spatial force (force, moment about the base origin), both linear first
as the generalised velocity is. Locks and couplings only change the arrays of `Chain`, never this code: what is filled
here is the mass matrix and bias of all joints that turn, and models.rover.factor folds the coupled ones. Closed loops
(models.rover.loops) are closed when the bodies are placed, and their rate is part of the bias.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.factor import SpatialVector, add_to_base, base_of, plus, put_base, put_block
from models.rover.loops import ROUNDS, Loops, accelerate, close_once
from models.rover.reduction import Chain


class Workspace(NamedTuple):
    """Scratch arrays of one rover, made once so that no kernel allocates.

    All are over tree speeds (models.rover.reduction.Chain).

    Attributes:
        base: (3, 3) world axes from base axes.
        turn: (bodies, 3, 3) base axes from body axes; not stored for round bodies, which are the same at any angle.
        place: (bodies, 3) body origin in base axes [m]. Of the base, turn is 1 and place 0, once and for all.
        screw: (bodies, 6) joint motion axis, linear part first; row 0 unused.
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


def make_work(chain: Chain) -> Workspace:
    """Allocate the scratch arrays for a rover."""
    n, speeds = chain.parent.size, chain.speed_parent.size
    turn = np.zeros((n, 3, 3))
    turn[0] = np.eye(3)
    return Workspace(
        np.eye(3), turn, np.zeros((n, 3)), np.zeros((n, 6)), np.zeros((n, 10)), np.zeros((n, 6)),
        np.zeros((n, 6)), np.zeros((n, 6)), np.zeros((speeds, speeds)), np.zeros(speeds), np.zeros(speeds),
        np.zeros(speeds), np.zeros(speeds + 1), np.zeros(speeds),
    )  # fmt: skip


@kernel
def place_bodies(chain: Chain, q: FloatArray, work: Workspace) -> None:
    """Fill base, turn, place, screw and inertia for the configuration q (speeds + 1,) of all joints that turn.

    Closed loops are closed: the dependent angles of q are corrected, and their ratios set. Where a loop cannot close,
    the angles become NaN.
    """
    _place_open(chain, q, work)
    _close(chain.loops, chain, q, work)


@kernel
def _close(loops: Loops | None, chain: Chain, q: FloatArray, work: Workspace) -> None:
    if loops is not None:
        for _ in range(ROUNDS):
            if close_once(loops, chain.parent, q, work.turn, work.place, work.screw, chain.ratio):
                return
            _place_open(chain, q, work)
        for d in loops.dependent:
            q[1 + d] = np.nan
        _place_open(chain, q, work)


@kernel
def _place_open(chain: Chain, q: FloatArray, work: Workspace) -> None:
    """Place the bodies by the angles that q has."""
    x, y, z, w = q[3], q[4], q[5], q[6]
    base = work.base
    base[0, 0], base[0, 1], base[0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)
    base[1, 0], base[1, 1], base[1, 2] = 2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)
    base[2, 0], base[2, 1], base[2, 2] = 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)
    for a in range(10):
        work.inertia[0, a] = chain.base_inertia[a]
    for i in range(1, chain.parent.size):
        _place_axis(chain, i, work)
        angle = _slide(chain.slides, i, q[6 + i], work)
        if chain.spin_inertia[i] == 0.0:
            _turn_body(chain, i, angle, work)
            _body_inertia(chain, i, work)


@kernel
def _place_axis(chain: Chain, i: int, work: Workspace) -> None:
    """Place and screw of body i, whatever its joint angle."""
    parent = chain.parent[i]
    up, o, axis = work.turn[parent], chain.origin[i], chain.carried_axis[i]
    x, y, z = work.place[parent, 0] + o[0], work.place[parent, 1] + o[1], work.place[parent, 2] + o[2]
    a, b, c = axis[0], axis[1], axis[2]
    if parent > 0:
        x = work.place[parent, 0] + up[0, 0] * o[0] + up[0, 1] * o[1] + up[0, 2] * o[2]
        y = work.place[parent, 1] + up[1, 0] * o[0] + up[1, 1] * o[1] + up[1, 2] * o[2]
        z = work.place[parent, 2] + up[2, 0] * o[0] + up[2, 1] * o[1] + up[2, 2] * o[2]
        a = up[0, 0] * axis[0] + up[0, 1] * axis[1] + up[0, 2] * axis[2]
        b = up[1, 0] * axis[0] + up[1, 1] * axis[1] + up[1, 2] * axis[2]
        c = up[2, 0] * axis[0] + up[2, 1] * axis[1] + up[2, 2] * axis[2]
    work.place[i, 0], work.place[i, 1], work.place[i, 2] = x, y, z
    put_base(work.screw[i], (y * c - z * b, z * a - x * c, x * b - y * a, a, b, c))


@kernel
def _slide(slides: IntArray | None, i: int, coordinate: float, work: Workspace) -> float:
    """The angle [rad] of body i's joint; one that slides has none, and moves the body along its axis."""
    if slides is None:
        return coordinate
    if slides[i] == 1:
        place, screw = work.place[i], work.screw[i]
        x, y, z = screw[3], screw[4], screw[5]
        place[0] += coordinate * x
        place[1] += coordinate * y
        place[2] += coordinate * z
        put_base(screw, (x, y, z, 0.0, 0.0, 0.0))
        return 0.0
    return coordinate


@kernel
def _turn_body(chain: Chain, i: int, angle: float, work: Workspace) -> None:
    """Base axes from body axes of body i at its joint angle [rad], by Rodrigues' formula."""
    parent, turn = chain.parent[i], work.turn[i]
    up, at_zero, sideways, inwards = work.turn[parent], chain.rotation[i], chain.sideways[i], chain.inwards[i]
    s, c = np.sin(angle), np.cos(angle)
    t = 1.0 - c
    for b in range(3):
        x = at_zero[0, b] + s * sideways[0, b] + t * inwards[0, b]
        y = at_zero[1, b] + s * sideways[1, b] + t * inwards[1, b]
        z = at_zero[2, b] + s * sideways[2, b] + t * inwards[2, b]
        if parent == 0:
            turn[0, b], turn[1, b], turn[2, b] = x, y, z
        else:
            turn[0, b] = up[0, 0] * x + up[0, 1] * y + up[0, 2] * z
            turn[1, b] = up[1, 0] * x + up[1, 1] * y + up[1, 2] * z
            turn[2, b] = up[2, 0] * x + up[2, 1] * y + up[2, 2] * z


@kernel
def _body_inertia(chain: Chain, i: int, work: Workspace) -> None:
    """Inertia of body i about the base origin, in base axes."""
    m, com, own, turn, p = chain.mass[i], chain.com[i], chain.inertia[i], work.turn[i], work.place[i]
    out = work.inertia[i]
    cx = p[0] + turn[0, 0] * com[0] + turn[0, 1] * com[1] + turn[0, 2] * com[2]
    cy = p[1] + turn[1, 0] * com[0] + turn[1, 1] * com[1] + turn[1, 2] * com[2]
    cz = p[2] + turn[2, 0] * com[0] + turn[2, 1] * com[1] + turn[2, 2] * com[2]
    xx, xy, xz = m * (cy * cy + cz * cz), -m * cx * cy, -m * cx * cz
    yy, yz, zz = m * (cx * cx + cz * cz), -m * cy * cz, m * (cx * cx + cy * cy)
    for a in range(3):
        # one column of turn @ own, times the same column of turn
        x = turn[0, 0] * own[0, a] + turn[0, 1] * own[1, a] + turn[0, 2] * own[2, a]
        y = turn[1, 0] * own[0, a] + turn[1, 1] * own[1, a] + turn[1, 2] * own[2, a]
        z = turn[2, 0] * own[0, a] + turn[2, 1] * own[1, a] + turn[2, 2] * own[2, a]
        xx, xy, xz = xx + x * turn[0, a], xy + x * turn[1, a], xz + x * turn[2, a]
        yy, yz, zz = yy + y * turn[1, a], yz + y * turn[2, a], zz + z * turn[2, a]
    out[0], out[1], out[2], out[3] = m, m * cx, m * cy, m * cz
    out[4], out[5], out[6], out[7], out[8], out[9] = xx, xy, xz, yy, yz, zz


@kernel
def momentum(inertia: FloatArray, motion: SpatialVector) -> SpatialVector:
    """Spatial momentum of an inertia (10,) moving with a spatial motion."""
    m, hx, hy, hz = inertia[0], inertia[1], inertia[2], inertia[3]
    vx, vy, vz, wx, wy, wz = motion
    return (
        m * vx + wy * hz - wz * hy,
        m * vy + wz * hx - wx * hz,
        m * vz + wx * hy - wy * hx,
        hy * vz - hz * vy + inertia[4] * wx + inertia[5] * wy + inertia[6] * wz,
        hz * vx - hx * vz + inertia[5] * wx + inertia[7] * wy + inertia[8] * wz,
        hx * vy - hy * vx + inertia[6] * wx + inertia[8] * wy + inertia[9] * wz,
    )


@kernel
def power(motion: FloatArray, force: SpatialVector) -> float:
    """Spatial motion (6,) times spatial force."""
    linear = motion[0] * force[0] + motion[1] * force[1] + motion[2] * force[2]
    return linear + motion[3] * force[3] + motion[4] * force[4] + motion[5] * force[5]


@kernel
def fill_bias(chain: Chain, v: FloatArray, gravity: FloatArray, work: Workspace) -> None:
    """Write the bias force (Coriolis, centrifugal, gravity [m/s^2, world]) into work.rhs; needs place_bodies.

    With closed loops, M dN/dt v is part of it (Cyril 1993 (21)); v must keep the loops. Leaves work.twist filled.
    """
    n = chain.parent.size
    base = work.base
    for a in range(3):
        work.twist[0, a], work.twist[0, 3 + a] = v[a], v[3 + a]
        # upward acceleration of the base has the effect of gravity
        work.drift[0, a] = -(base[0, a] * gravity[0] + base[1, a] * gravity[1] + base[2, a] * gravity[2])
        work.drift[0, 3 + a] = 0.0
    for i in range(1, n):
        parent, speed, s = chain.parent[i], v[5 + i], base_of(work.screw[i])
        t = plus(base_of(work.twist[parent]), speed, s)
        put_base(work.twist[i], t)
        if chain.spin_inertia[i] > 0.0:
            continue
        # the motion cross product t x s
        swept = (
            t[4] * s[2] - t[5] * s[1] + t[1] * s[5] - t[2] * s[4],
            t[5] * s[0] - t[3] * s[2] + t[2] * s[3] - t[0] * s[5],
            t[3] * s[1] - t[4] * s[0] + t[0] * s[4] - t[1] * s[3],
            t[4] * s[5] - t[5] * s[4],
            t[5] * s[3] - t[3] * s[5],
            t[3] * s[4] - t[4] * s[3],
        )
        put_base(work.drift[i], plus(base_of(work.drift[parent]), speed, swept))
    accelerate(
        chain.loops, chain.parent, chain.spin_inertia, work.turn, work.place, work.screw, work.twist, work.drift,
        work.load,
    )  # fmt: skip
    for i in range(n):
        if chain.spin_inertia[i] > 0.0:
            continue
        t = base_of(work.twist[i])
        f, h = momentum(work.inertia[i], base_of(work.drift[i])), momentum(work.inertia[i], t)
        out = work.load[i]
        out[0] = f[0] + t[4] * h[2] - t[5] * h[1]
        out[1] = f[1] + t[5] * h[0] - t[3] * h[2]
        out[2] = f[2] + t[3] * h[1] - t[4] * h[0]
        out[3] = f[3] + t[4] * h[5] - t[5] * h[4] + t[1] * h[2] - t[2] * h[1]
        out[4] = f[4] + t[5] * h[3] - t[3] * h[5] + t[2] * h[0] - t[0] * h[2]
        out[5] = f[5] + t[3] * h[4] - t[4] * h[3] + t[0] * h[1] - t[1] * h[0]
    for i in range(n - 1, 0, -1):
        s, up = work.screw[i], work.load[chain.parent[i]]
        if chain.spin_inertia[i] > 0.0:
            # its spin momentum turns with the carrier, and is constant along its axis
            d, t, h = work.drift[chain.parent[i]], work.twist[chain.parent[i]], chain.spin_inertia[i] * v[5 + i]
            work.rhs[5 + i] = chain.spin_inertia[i] * (s[3] * d[3] + s[4] * d[4] + s[5] * d[5])
            up[3] += h * (t[4] * s[5] - t[5] * s[4])
            up[4] += h * (t[5] * s[3] - t[3] * s[5])
            up[5] += h * (t[3] * s[4] - t[4] * s[3])
            continue
        f = base_of(work.load[i])
        work.rhs[5 + i] = power(s, f)
        add_to_base(up, 1.0, f)
    for a in range(6):
        work.rhs[a] = work.load[0, a]


@kernel
def fill_mass_matrix(chain: Chain, work: Workspace) -> None:
    """Write the mass matrix into the lower triangle of work.mass_matrix; turns work.inertia into composites."""
    M, coupled = work.mass_matrix, chain.dependent.size > 0
    for i in range(chain.parent.size - 1, 0, -1):
        if chain.spin_inertia[i] == 0.0:
            for a in range(10):
                work.inertia[chain.parent[i], a] += work.inertia[i, a]
    for i in range(1, chain.parent.size):
        spin, screw = chain.spin_inertia[i], work.screw[i]
        f = (0.0, 0.0, 0.0, spin * screw[3], spin * screw[4], spin * screw[5])
        if spin == 0.0:
            f = momentum(work.inertia[i], base_of(screw))
        put_base(M[5 + i], f)
        if coupled:  # folding fills in between paths
            for j in range(6, 5 + i):
                M[5 + i, j] = 0.0
        j = i
        while j > 0:
            M[5 + i, 5 + j] = power(work.screw[j], f)
            j = chain.parent[j]
    J = work.inertia[0]
    m, hx, hy, hz = J[0], J[1], J[2], J[3]
    put_block(
        M,
        (
            m,
            0.0, m,
            0.0, 0.0, m,
            0.0, -hz, hy, J[4],
            hz, 0.0, -hx, J[5], J[7],
            -hy, hx, 0.0, J[6], J[8], J[9],
        ),
    )  # fmt: skip
