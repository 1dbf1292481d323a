"""Closed loops of a rover: joints whose angles follow from others because a rod with ball ends ties two bodies.

A loop is cut at a ball joint: a point of one body stays on a point of another (`LoopClosure`), three equations for
three dependent joints. With r the distance of the points in base axes and J its derivative by the joints' angles,

    r(q) = 0,    J_d v_d + J_i v_i = 0,    J_d a_d + J_i a_i + s = 0,

where s is the relative acceleration of the points at no acceleration of a joint. So v_d = N(q) v_i with
N = -J_d^-1 J_i, and a_d = N a_i + g with g = -J_d^-1 s, which is the rate of N times v_i: the term of Cyril 1993 (19)
that a constant N does not have.

The angles are found by Newton's method in every placing, from where they were, so they do not drift. N is stored where
the constant ratios of couplings are (models.rover.reduction.Chain.ratio), and nothing else needs to know that it
changes. The base's speeds do not enter a loop: both points are carried by the same base.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray, IntArray, kernel
from models.kernels.elimination import solve_in_place

PER_LOOP = 3
# A placing is repeated until no angle moves by more than this [rad]; none moves farther in one round than _FARTHEST.
CLOSED = 1e-11
_FARTHEST = 0.3
ROUNDS = 40


class Loops(NamedTuple):
    """The loops of one rover, and scratch: its numbers are those of the configuration that was placed last.

    Attributes:
        body: (loops, 2) reduced bodies whose points coincide.
        point: (loops, 2, 3) those points [m] in the bodies' frames.
        dependent: (3 loops,) tree speeds that follow.
        source: (sources,) independent tree speeds from which they follow.
        column: (speeds,) column of a tree speed in `slope`; -1: it is in no loop.
        first_term: place in `Chain.ratio` of the first dependent's ratio to the first source; then row by row.
        slope: (3 loops, dependents + sources) derivative of the distances by the joints' angles.
        matrix: (3 loops, 3 loops) scratch of a solution.
        right: (3 loops, sources + 1) its right-hand sides.
        acceleration: (speeds,) of dependent joints while no independent one accelerates [rad/s^2]; 0 for others.
    """

    body: IntArray
    point: FloatArray
    dependent: IntArray
    source: IntArray
    column: IntArray
    first_term: int
    slope: FloatArray
    matrix: FloatArray
    right: FloatArray
    acceleration: FloatArray


def make_loops(
    body: IntArray, point: FloatArray, dependent: IntArray, source: IntArray, first_term: int, speeds: int
) -> Loops:
    """Allocate the loops of a rover of so many tree speeds."""
    column = np.full(speeds, -1, dtype=np.int64)
    column[dependent], column[source] = np.arange(dependent.size), dependent.size + np.arange(source.size)
    n, m = dependent.size, source.size
    return Loops(
        body, point, dependent, source, column, first_term, np.zeros((n, n + m)), np.zeros((n, n)),
        np.zeros((n, m + 1)), np.zeros(speeds),
    )  # fmt: skip


@kernel
def close_once(
    loops: Loops,
    parent: IntArray,
    q: FloatArray,
    turn: FloatArray,
    place: FloatArray,
    screw: FloatArray,
    ratio: FloatArray,
) -> bool:
    """One round of Newton's method on the dependent angles of q, for the bodies as placed; writes N into `ratio`.

    Returns:
        Whether the angles moved by less than CLOSED, so that the bodies stand where q says.
    """
    n, m = loops.dependent.size, loops.source.size
    _fill_slope(loops, parent, turn, place, screw)
    for i in range(n):
        for s in range(m):
            loops.right[i, s] = -loops.slope[i, n + s]
    for k in range(loops.body.shape[0]):
        a, b = point_of(loops, k, 0, turn, place), point_of(loops, k, 1, turn, place)
        i = PER_LOOP * k
        loops.right[i, m], loops.right[i + 1, m], loops.right[i + 2, m] = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    _solve(loops)
    farthest = 0.0
    for i in range(n):
        for s in range(m):
            ratio[loops.first_term + i * m + s] = loops.right[i, s]
        move = min(max(loops.right[i, m], -_FARTHEST), _FARTHEST)
        q[1 + loops.dependent[i]] += move
        farthest = max(farthest, abs(move))
    return farthest <= CLOSED  # false for NaN


@kernel
def point_of(loops: Loops, loop: int, end: int, turn: FloatArray, place: FloatArray) -> tuple[float, float, float]:
    """The point of a loop on one of its two bodies [m], base axes, from the base's origin."""
    body, p = loops.body[loop, end], loops.point[loop, end]
    t = turn[body]
    return (
        place[body, 0] + t[0, 0] * p[0] + t[0, 1] * p[1] + t[0, 2] * p[2],
        place[body, 1] + t[1, 0] * p[0] + t[1, 1] * p[1] + t[1, 2] * p[2],
        place[body, 2] + t[2, 0] * p[0] + t[2, 1] * p[1] + t[2, 2] * p[2],
    )


@kernel
def _fill_slope(loops: Loops, parent: IntArray, turn: FloatArray, place: FloatArray, screw: FloatArray) -> None:
    """Derivative of (first point - second point) by the angles of the loops' joints."""
    slope = loops.slope
    for i in range(slope.shape[0]):
        for j in range(slope.shape[1]):
            slope[i, j] = 0.0
    for k in range(loops.body.shape[0]):
        for end in range(2):
            x, y, z = point_of(loops, k, end, turn, place)
            sign = 1.0 if end == 0 else -1.0
            body = loops.body[k, end]
            while body > 0:
                s, j, i = screw[body], loops.column[5 + body], PER_LOOP * k
                if j >= 0:
                    slope[i, j] += sign * (s[0] + s[4] * z - s[5] * y)
                    slope[i + 1, j] += sign * (s[1] + s[5] * x - s[3] * z)
                    slope[i + 2, j] += sign * (s[2] + s[3] * y - s[4] * x)
                body = parent[body]


@kernel
def _solve(loops: Loops) -> None:
    """Replace `right` by J_d^-1 times it."""
    n = loops.dependent.size
    for i in range(n):
        for j in range(n):
            loops.matrix[i, j] = loops.slope[i, j]
    solve_in_place(loops.matrix, loops.right)


@kernel
def accelerate(
    loops: Loops | None,
    parent: IntArray,
    spin_inertia: FloatArray,
    turn: FloatArray,
    place: FloatArray,
    screw: FloatArray,
    twist: FloatArray,
    drift: FloatArray,
    scratch: FloatArray,
) -> None:
    """Add to `drift` (bodies, 6) what the dependent joints accelerate while no independent one does: g of the module.

    For the bodies as placed by `close_once`, and their twist. `scratch` (bodies, 6) is overwritten. Round bodies
    (`spin_inertia` above 0) themselves have no drift.
    """
    if loops is not None:
        n, m = loops.dependent.size, loops.source.size
        for i in range(n):
            for s in range(m + 1):
                loops.right[i, s] = 0.0
        for k in range(loops.body.shape[0]):
            first = _acceleration_of(loops, k, 0, turn, place, twist, drift)
            second = _acceleration_of(loops, k, 1, turn, place, twist, drift)
            for a in range(PER_LOOP):
                loops.right[PER_LOOP * k + a, m] = second[a] - first[a]
        _solve(loops)
        for i in range(n):
            loops.acceleration[loops.dependent[i]] = loops.right[i, m]
        for a in range(6):
            scratch[0, a] = 0.0
        for body in range(1, parent.size):
            if spin_inertia[body] > 0.0:
                continue
            for a in range(6):
                added = scratch[parent[body], a] + loops.acceleration[5 + body] * screw[body, a]
                scratch[body, a] = added
                drift[body, a] += added


@kernel
def _acceleration_of(
    loops: Loops, loop: int, end: int, turn: FloatArray, place: FloatArray, twist: FloatArray, drift: FloatArray
) -> tuple[float, float, float]:
    """Acceleration [m/s^2] of a loop's point while no joint accelerates; gravity's part is the same at both ends."""
    x, y, z = point_of(loops, loop, end, turn, place)
    t, d = twist[loops.body[loop, end]], drift[loops.body[loop, end]]
    u, v, w = t[0] + t[4] * z - t[5] * y, t[1] + t[5] * x - t[3] * z, t[2] + t[3] * y - t[4] * x
    return (
        d[0] + d[4] * z - d[5] * y + t[4] * w - t[5] * v,
        d[1] + d[5] * x - d[3] * z + t[5] * u - t[3] * w,
        d[2] + d[3] * y - d[4] * x + t[3] * v - t[4] * u,
    )


@kernel
def add_acceleration(loops: Loops | None, x: FloatArray) -> None:
    """Make accelerations N a_i of all joints that turn the whole ones, N a_i + g; needs `accelerate`."""
    if loops is not None:
        for d in loops.dependent:
            x[d] += loops.acceleration[d]
