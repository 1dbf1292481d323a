"""A small quadratic program with bounds of its unknowns and soft limits of combinations of them.

To be minimised is x'H x / 2 + f'x with H positive definite, over lower <= x <= upper, and limits of A x that may be
exceeded at a cost. A dual active-set method (Goldfarb and Idnani 1983) finds the exact solution: each step adds the
limit that is violated most, or drops one whose multiplier would change its sign. The bounds are independent of each
other and the soft limits add to the diagonal, so each system of equations to be solved is positive definite.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray, IntArray, kernel
from models.kernels.elimination import solve_in_place

# A limit counts as violated from here on, in units of the unknowns and of A x; rounding is far below.
_VIOLATED = 1e-8
# Steps for each limit, after which there is no answer. A program needs one or two for each limit that binds.
_MOST_STEPS = 10


class QuadraticProgram(NamedTuple):
    """Arrays of a program: n unknowns; m limits, the bounds of the unknowns first, then those of the rows of A.

    Attributes:
        softness: at a multiplier y the limit of a row a is exceeded by softness * y * a' H^-1 a.
        H: (n, n) positive definite.
        f: (n,).
        A: (m - n, n).
        lower: (m,); that of a row of A may be -inf.
        upper: (m,) not below `lower`; that of a row of A may be inf.
        x: (n,) the solution.
        multiplier: (m,) above 0 where an upper limit pushes, below 0 where a lower one does, else 0.
        square: (n, n) scratch: H, eliminated.
        response: (n, m + 1) scratch: H^-1 times the unit vectors, the rows of A, and -f.
        gain: (m, m) scratch: what each multiplier [column] takes off the value of each limit.
        free: (m,) scratch: values of x and A x without limits.
        side: (m,) scratch: 1 where the upper limit binds, -1 where the lower one does, else 0.
        binding: (m,) scratch: the limits that bind, in its first places.
        system: (m, m) scratch: their gains, eliminated.
        wanted: (m, 1) scratch: their multipliers.
    """

    softness: float
    H: FloatArray
    f: FloatArray
    A: FloatArray
    lower: FloatArray
    upper: FloatArray
    x: FloatArray
    multiplier: FloatArray
    square: FloatArray
    response: FloatArray
    gain: FloatArray
    free: FloatArray
    side: IntArray
    binding: IntArray
    system: FloatArray
    wanted: FloatArray


def make_quadratic_program(unknowns: int, rows: int, softness: float) -> QuadraticProgram:
    """Allocate a program, with zeros everywhere."""
    n, m = unknowns, unknowns + rows
    return QuadraticProgram(
        softness, np.zeros((n, n)), np.zeros(n), np.zeros((rows, n)), np.zeros(m), np.zeros(m), np.zeros(n),
        np.zeros(m), np.zeros((n, n)), np.zeros((n, m + 1)), np.zeros((m, m)), np.zeros(m),
        np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64), np.zeros((m, m)), np.zeros((m, 1)),
    )  # fmt: skip


@kernel
def solve_quadratic_program(p: QuadraticProgram) -> bool:
    """Fill x and the multipliers; whether there is an answer: no if an array has a NaN or bounds exclude each other."""
    m, count = p.lower.size, 0
    for i in range(m):
        p.multiplier[i], p.side[i] = 0.0, 0
        if not p.lower[i] <= p.upper[i]:
            return False
    _respond(p)
    for _ in range(_MOST_STEPS * m):
        dropped = _approach(p, count)
        if dropped >= 0:
            count -= 1
            p.side[p.binding[dropped]] = 0
            for k in range(dropped, count):
                p.binding[k] = p.binding[k + 1]
            continue
        worst, side = _most_violated(p, count)
        if side == 0:
            return _finish(p, count)
        p.binding[count], p.side[worst] = worst, side
        count += 1
    return False


@kernel
def _respond(p: QuadraticProgram) -> None:
    """What x and the limits' values are without limits, and how each multiplier changes them."""
    n, m = p.f.size, p.lower.size
    for i in range(n):
        for j in range(n):
            p.square[i, j] = p.H[i, j]
            p.response[i, j] = 1.0 if i == j else 0.0
        for row in range(m - n):
            p.response[i, n + row] = p.A[row, i]
        p.response[i, m] = -p.f[i]
    solve_in_place(p.square, p.response)
    for i in range(m):
        for k in range(m + 1):
            value = 0.0
            if i < n:
                value = p.response[i, k]
            else:
                for j in range(n):
                    value += p.A[i - n, j] * p.response[j, k]
            if k == m:
                p.free[i] = value
            else:
                p.gain[i, k] = value * (1.0 + p.softness) if i == k >= n else value


@kernel
def _approach(p: QuadraticProgram, count: int) -> int:
    """Set the multipliers that hold the binding limits, or go until one becomes 0. Returns its place, or -1."""
    for k in range(count):
        i = p.binding[k]
        p.wanted[k, 0] = p.free[i] - (p.upper[i] if p.side[i] > 0 else p.lower[i])
        for j in range(count):
            p.system[k, j] = p.gain[i, p.binding[j]]
    solve_in_place(p.system[:count, :count], p.wanted[:count])
    part, first = 1.0, -1
    for k in range(count):
        i = p.binding[k]
        if p.wanted[k, 0] * p.side[i] < 0.0:
            reached = p.multiplier[i] / (p.multiplier[i] - p.wanted[k, 0])
            if reached < part:
                part, first = reached, k
    for k in range(count):
        i = p.binding[k]
        p.multiplier[i] += part * (p.wanted[k, 0] - p.multiplier[i])
    if first >= 0:
        p.multiplier[p.binding[first]] = 0.0
    return first


@kernel
def _most_violated(p: QuadraticProgram, count: int) -> tuple[int, int]:
    """The limit that is violated most, and its side, as in `side`; side 0: none is."""
    most, worst, side = _VIOLATED, 0, 0
    for i in range(p.lower.size):
        if p.side[i] == 0:
            value = p.free[i]
            for k in range(count):
                value -= p.gain[i, p.binding[k]] * p.multiplier[p.binding[k]]
            if value - p.upper[i] > most:
                most, worst, side = value - p.upper[i], i, 1
            if p.lower[i] - value > most:
                most, worst, side = p.lower[i] - value, i, -1
    return worst, side


@kernel
def _finish(p: QuadraticProgram, count: int) -> bool:
    """Fill x from the multipliers, within its bounds to the last bit; whether all that limits apply to is finite."""
    total, m = 0.0, p.lower.size
    for i in range(p.f.size):
        value = p.response[i, m]
        for k in range(count):
            value -= p.response[i, p.binding[k]] * p.multiplier[p.binding[k]]
        if p.side[i] == 0:
            p.x[i] = min(max(value, p.lower[i]), p.upper[i])
        else:
            p.x[i] = p.upper[i] if p.side[i] > 0 else p.lower[i]
        total += value
    for i in range(m):
        total += p.free[i]
    return math.isfinite(total)
