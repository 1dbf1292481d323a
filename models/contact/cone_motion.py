"""Newton's step of all contacts at once, found by the motion that it makes.

Contact c has three equations f(r, u) = 0, with u = h y + give r + q and the motion y = sum of h^T r, where h are its
three rows of `half`. Linearised with A = df/dr and B = df/du,

    dr = -(A + give B)^-1 (f + B h dy),   (1 + sum of h^T (A + give B)^-1 B h) dy = -sum of h^T (A + give B)^-1 f.

So a system of as many unknowns as there are speeds is solved, however many contacts there are. To `give` a damping is
added here: it keeps a step regular where impulses are not unique, and changes no solution.
"""

from __future__ import annotations

from models.contact.cones import AXES, Cones
from models.kernels.compiled import kernel, separate_kernel

# Elements of a 3 by 3 matrix, row by row.
Matrix = tuple[float, float, float, float, float, float, float, float, float]


@kernel
def begin_step(cones: Cones) -> None:
    """Begin a step; then each contact is added once."""
    for a in range(cones.turn.size):
        for b in range(cones.turn.size):
            cones.matrix[a, b] = 0.0
        cones.matrix[a, a] = 1.0
        cones.turn[a] = 0.0


@kernel
def add_open(cones: Cones, c: int) -> None:
    """Add a contact whose impulse is to be zero."""
    i, r, half = AXES * c, cones.impulse, cones.half
    cones.step[i], cones.step[i + 1], cones.step[i + 2] = -r[i], -r[i + 1], -r[i + 2]
    for a in range(cones.turn.size):
        cones.row[i, a] = cones.row[i + 1, a] = cones.row[i + 2, a] = 0.0
        cones.turn[a] -= half[i, a] * r[i] + half[i + 1, a] * r[i + 1] + half[i + 2, a] * r[i + 2]


@kernel
def add_stuck(cones: Cones, c: int, damping: float) -> None:
    """Add a contact whose velocity is to be zero.

    Args:
        cones: cones.velocity filled.
        c: the contact.
        damping: [of its weight].
    """
    i, u, half = AXES * c, cones.velocity, cones.half
    over = 1.0 / (cones.give[0] + damping * cones.weight[c])
    cones.step[i], cones.step[i + 1], cones.step[i + 2] = -over * u[i], -over * u[i + 1], -over * u[i + 2]
    for a in range(cones.turn.size):
        x, y, z = half[i, a], half[i + 1, a], half[i + 2, a]
        cones.row[i, a], cones.row[i + 1, a], cones.row[i + 2, a] = over * x, over * y, over * z
        cones.turn[a] -= over * (x * u[i] + y * u[i + 1] + z * u[i + 2])
    _add_to_matrix(cones, i)


@kernel
def add_contact(cones: Cones, c: int, by_impulse: Matrix, by_velocity: Matrix, damping: float) -> None:
    """Add a contact that has its own equations.

    Args:
        cones: cones.error filled.
        c: the contact.
        by_impulse: A [1/kg].
        by_velocity: B.
        damping: [of its weight].
    """
    i, f, half, B = AXES * c, cones.error, cones.half, by_velocity
    g = cones.give[0] + damping * cones.weight[c]
    A = _inverse((
        by_impulse[0] + g * B[0], by_impulse[1] + g * B[1], by_impulse[2] + g * B[2],
        by_impulse[3] + g * B[3], by_impulse[4] + g * B[4], by_impulse[5] + g * B[5],
        by_impulse[6] + g * B[6], by_impulse[7] + g * B[7], by_impulse[8] + g * B[8],
    ))  # fmt: skip
    D = _product(A, B)
    p = A[0] * f[i] + A[1] * f[i + 1] + A[2] * f[i + 2]
    s = A[3] * f[i] + A[4] * f[i + 1] + A[5] * f[i + 2]
    t = A[6] * f[i] + A[7] * f[i + 1] + A[8] * f[i + 2]
    cones.step[i], cones.step[i + 1], cones.step[i + 2] = -p, -s, -t
    for a in range(cones.turn.size):
        x, y, z = half[i, a], half[i + 1, a], half[i + 2, a]
        cones.row[i, a] = D[0] * x + D[1] * y + D[2] * z
        cones.row[i + 1, a] = D[3] * x + D[4] * y + D[5] * z
        cones.row[i + 2, a] = D[6] * x + D[7] * y + D[8] * z
        cones.turn[a] -= x * p + y * s + z * t
    _add_to_matrix(cones, i)


@kernel
def _add_to_matrix(cones: Cones, i: int) -> None:
    half, row = cones.half, cones.row
    for a in range(cones.turn.size):
        x, y, z = half[i, a], half[i + 1, a], half[i + 2, a]
        for b in range(cones.turn.size):
            cones.matrix[a, b] += x * row[i, b] + y * row[i + 1, b] + z * row[i + 2, b]


@separate_kernel
def end_step(cones: Cones, count: int) -> None:
    """Solve for the motion by elimination, and leave the step of the impulses in cones.step."""
    M, d, n = cones.matrix, cones.turn, cones.turn.size
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(M[i, k]) > abs(M[best, k]):
                best = i
        if best != k:
            for j in range(k, n):
                M[k, j], M[best, j] = M[best, j], M[k, j]
            d[k], d[best] = d[best], d[k]
        over = 1.0 / M[k, k]
        for i in range(k + 1, n):
            share = M[i, k] * over
            for j in range(k + 1, n):
                M[i, j] -= share * M[k, j]
            d[i] -= share * d[k]
    for i in range(n - 1, -1, -1):
        total = d[i]
        for j in range(i + 1, n):
            total -= M[i, j] * d[j]
        d[i] = total / M[i, i]
    for i in range(AXES * count):
        total = cones.step[i]
        for a in range(n):
            total -= cones.row[i, a] * d[a]
        cones.step[i] = total


@kernel
def _inverse(m: Matrix) -> Matrix:
    a, b, c, d, e, f, g, h, i = m
    A, B, C = e * i - f * h, f * g - d * i, d * h - e * g
    over = 1.0 / (a * A + b * B + c * C)
    return (
        over * A, over * (c * h - b * i), over * (b * f - c * e),
        over * B, over * (a * i - c * g), over * (c * d - a * f),
        over * C, over * (b * g - a * h), over * (a * e - b * d),
    )  # fmt: skip


@kernel
def _product(m: Matrix, n: Matrix) -> Matrix:
    return (
        m[0] * n[0] + m[1] * n[3] + m[2] * n[6], m[0] * n[1] + m[1] * n[4] + m[2] * n[7],
        m[0] * n[2] + m[1] * n[5] + m[2] * n[8], m[3] * n[0] + m[4] * n[3] + m[5] * n[6],
        m[3] * n[1] + m[4] * n[4] + m[5] * n[7], m[3] * n[2] + m[4] * n[5] + m[5] * n[8],
        m[6] * n[0] + m[7] * n[3] + m[8] * n[6], m[6] * n[1] + m[7] * n[4] + m[8] * n[7],
        m[6] * n[2] + m[7] * n[5] + m[8] * n[8],
    )  # fmt: skip
