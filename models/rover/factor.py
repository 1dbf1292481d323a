"""Factorisation of the mass matrix along the tree: only speeds on a common path to the base have entries.

M = L^T D L with L sparse as M is (Featherstone 2008, ch. 6.5); no fill-in, about 400 multiply-adds at 15 speeds.
L has ones on its diagonal, so the diagonal stores 1/D: no roots, and one quotient per speed.

Vectors and matrices are in tree speeds. Couplings enter here and nowhere else: `factorise` folds the rows of dependent
speeds into their sources (N^T M N, Cyril 1993 (21)), and a solve is N (N^T M N)^-1 N^T, so what comes out keeps every
coupling, and a force on a dependent joint acts on its sources.

The base's 6 x 6 block of a mass matrix, held as 21 numbers so that a processor keeps it in registers.

Every speed of a rover adds to this block. In memory each addition would load and store it, and each load would wait for
the store before.
"""

from __future__ import annotations

import numpy as np

from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.loops import Loops
from models.rover.reduction import Chain

# Speeds of the base: every path ends with them.
BASE = 6

SpatialVector = tuple[float, float, float, float, float, float]
# Lower triangle, row by row.
Block = tuple[
    float, float, float, float, float, float, float,
    float, float, float, float, float, float, float,
    float, float, float, float, float, float, float,
]  # fmt: skip


@kernel
def base_of(row: FloatArray) -> SpatialVector:
    """The base's part of a row (speeds,), as numbers, which writes to arrays cannot change."""
    return row[0], row[1], row[2], row[3], row[4], row[5]


@kernel
def block_of(M: FloatArray) -> Block:
    """The block of M (speeds, speeds)."""
    return (
        M[0, 0],
        M[1, 0], M[1, 1],
        M[2, 0], M[2, 1], M[2, 2],
        M[3, 0], M[3, 1], M[3, 2], M[3, 3],
        M[4, 0], M[4, 1], M[4, 2], M[4, 3], M[4, 4],
        M[5, 0], M[5, 1], M[5, 2], M[5, 3], M[5, 4], M[5, 5],
    )  # fmt: skip


@kernel
def put_block(M: FloatArray, block: Block) -> None:
    """Write a block into the lower triangle of M (speeds, speeds)."""
    M[0, 0] = block[0]
    M[1, 0], M[1, 1] = block[1], block[2]
    M[2, 0], M[2, 1], M[2, 2] = block[3], block[4], block[5]
    M[3, 0], M[3, 1], M[3, 2], M[3, 3] = block[6], block[7], block[8], block[9]
    M[4, 0], M[4, 1], M[4, 2], M[4, 3], M[4, 4] = block[10], block[11], block[12], block[13], block[14]
    M[5, 0], M[5, 1], M[5, 2], M[5, 3], M[5, 4], M[5, 5] = (
        block[15], block[16], block[17], block[18], block[19], block[20]
    )  # fmt: skip


@kernel
def add_square(block: Block, scale: float, x: SpatialVector) -> Block:
    """The block plus scale x x^T."""
    a, b, c, d, e, f = x
    sb, sc, sd, se, sf = scale * b, scale * c, scale * d, scale * e, scale * f
    return (
        block[0] + scale * a * a,
        block[1] + sb * a, block[2] + sb * b,
        block[3] + sc * a, block[4] + sc * b, block[5] + sc * c,
        block[6] + sd * a, block[7] + sd * b, block[8] + sd * c, block[9] + sd * d,
        block[10] + se * a, block[11] + se * b, block[12] + se * c, block[13] + se * d, block[14] + se * e,
        block[15] + sf * a, block[16] + sf * b, block[17] + sf * c, block[18] + sf * d, block[19] + sf * e,
        block[20] + sf * f,
    )  # fmt: skip


@kernel
def factor_of(block: Block) -> Block:
    """L of block = L^T D L, with 1/D in the place of its ones."""
    # each step eliminates one row and column; unused rows below are not computed
    five = 1.0 / block[20]
    e = add_square(block, -five, (block[15], block[16], block[17], block[18], block[19], 0.0))
    four = 1.0 / e[14]
    d = add_square(e, -four, (e[10], e[11], e[12], e[13], 0.0, 0.0))
    three = 1.0 / d[9]
    c = add_square(d, -three, (d[6], d[7], d[8], 0.0, 0.0, 0.0))
    two = 1.0 / c[5]
    b = add_square(c, -two, (c[3], c[4], 0.0, 0.0, 0.0, 0.0))
    one = 1.0 / b[2]
    return (
        1.0 / (b[0] - one * b[1] * b[1]),
        b[1] * one, one,
        c[3] * two, c[4] * two, two,
        d[6] * three, d[7] * three, d[8] * three, three,
        e[10] * four, e[11] * four, e[12] * four, e[13] * four, four,
        block[15] * five, block[16] * five, block[17] * five, block[18] * five, block[19] * five, five,
    )  # fmt: skip


@kernel
def plus(x: SpatialVector, scale: float, y: SpatialVector) -> SpatialVector:
    """The sum x + scale y."""
    return (
        x[0] + scale * y[0], x[1] + scale * y[1], x[2] + scale * y[2],
        x[3] + scale * y[3], x[4] + scale * y[4], x[5] + scale * y[5],
    )  # fmt: skip


@kernel
def put_base(row: FloatArray, x: SpatialVector) -> None:
    """Write the base's part of a row (speeds,)."""
    row[0], row[1], row[2], row[3], row[4], row[5] = x


@kernel
def back(factor: Block, x: SpatialVector) -> SpatialVector:
    """The solution y of L^T y = x."""
    a, b, c, d, e, f = x
    e -= factor[19] * f
    d -= factor[18] * f + factor[13] * e
    c -= factor[17] * f + factor[12] * e + factor[8] * d
    b -= factor[16] * f + factor[11] * e + factor[7] * d + factor[4] * c
    a -= factor[15] * f + factor[10] * e + factor[6] * d + factor[3] * c + factor[1] * b
    return a, b, c, d, e, f


@kernel
def forth(factor: Block, y: SpatialVector) -> SpatialVector:
    """The solution x of D^-1 L x = y, with 1/D in the place of L's ones."""
    a = y[0] * factor[0]
    b = y[1] * factor[2] - factor[1] * a
    c = y[2] * factor[5] - (factor[3] * a + factor[4] * b)
    d = y[3] * factor[9] - (factor[6] * a + factor[7] * b + factor[8] * c)
    e = y[4] * factor[14] - (factor[10] * a + factor[11] * b + factor[12] * c + factor[13] * d)
    f = y[5] * factor[20] - (factor[15] * a + factor[16] * b + factor[17] * c + factor[18] * d + factor[19] * e)
    return a, b, c, d, e, f


@kernel
def add_to_base(row: FloatArray, scale: float, part: SpatialVector) -> None:
    """Add scale * part to the base's part of a row (speeds,)."""
    row[0] += scale * part[0]
    row[1] += scale * part[1]
    row[2] += scale * part[2]
    row[3] += scale * part[3]
    row[4] += scale * part[4]
    row[5] += scale * part[5]


@kernel
def factorise(chain: Chain, M: FloatArray) -> None:
    """Replace the lower triangle of M (speeds, speeds) by the factor L of N^T M N, and its diagonal by 1/D."""
    fold_inertia(chain, M)
    parent, block = chain.elimination_parent, block_of(M)
    for k in range(parent.size - 1, BASE - 1, -1):
        inverse = 1.0 / M[k, k]
        base = base_of(M[k])
        i = parent[k]
        while i >= BASE:
            share = M[k, i] * inverse
            j = i
            while j >= BASE:
                M[i, j] -= share * M[k, j]
                j = parent[j]
            add_to_base(M[i], -share, base)
            M[k, i] = share  # no earlier speed reads it
            i = parent[i]
        block = add_square(block, -inverse, base)
        for i in range(BASE):
            M[k, i] = base[i] * inverse
        M[k, k] = inverse
    put_block(M, factor_of(block))


@kernel
def hold_speed(M: FloatArray, rhs: FloatArray, a: int) -> None:
    """Let the solution keep a speed of the base as it is: its force is borne, and it has no inertia in common.

    Args:
        M: mass matrix (speeds, speeds), of which the lower triangle counts, before `factorise`.
        rhs: forces (speeds,).
        a: the speed.
    """
    for j in range(a):
        M[a, j] = 0.0
    for i in range(a + 1, rhs.size):
        M[i, a] = 0.0
    M[a, a], rhs[a] = 1.0, 0.0


@kernel
def fold_inertia(chain: Chain, M: FloatArray) -> None:
    """Add ratio times a dependent speed's row and column to those of each source, then decouple that speed."""
    for term in range(chain.dependent.size):
        d, s, ratio = chain.dependent[term], chain.source[term], chain.ratio[term]
        M[s, s] += ratio * (2.0 * M[max(s, d), min(s, d)] + ratio * M[d, d])
        for j in range(chain.speed_parent.size):
            if j != s:
                M[max(s, j), min(s, j)] += ratio * M[max(d, j), min(d, j)]
    for d in chain.dependent:
        M[d, d] = 1.0
        for j in range(BASE):
            M[d, j] = 0.0


@kernel
def fold(chain: Chain, x: FloatArray) -> None:
    """Replace the force or Jacobian row x (speeds,) by N^T x, zero for dependent speeds."""
    for term in range(chain.dependent.size):
        x[chain.source[term]] += chain.ratio[term] * x[chain.dependent[term]]
    for d in chain.dependent:
        x[d] = 0.0


@kernel
def follow(chain: Chain, x: FloatArray) -> None:
    """Replace the dependent speeds of x (speeds,) by their couplings to the independent ones: N x."""
    for d in chain.dependent:
        x[d] = 0.0
    for term in range(chain.dependent.size):
        x[chain.dependent[term]] += chain.ratio[term] * x[chain.source[term]]


@kernel
def follow_loops(loops: Loops | None, chain: Chain, x: FloatArray) -> None:
    """`follow` for a rover whose N has changed since x was computed: that of one with closed loops."""
    if loops is not None:
        follow(chain, x)


@kernel
def _back(chain: Chain, L: FloatArray, x: FloatArray) -> None:
    """Replace x (speeds,) by the solution of L^T y = N^T x."""
    fold(chain, x)
    parent, base = chain.elimination_parent, base_of(x)
    for i in range(parent.size - 1, BASE - 1, -1):
        known = x[i]
        base = plus(base, -known, base_of(L[i]))
        j = parent[i]
        while j >= BASE:
            x[j] -= L[i, j] * known
            j = parent[j]
    put_base(x, back(block_of(L), base))


@kernel
def half_solve(chain: Chain, L: FloatArray, x: FloatArray) -> None:
    """Replace x (speeds,) by y with y . y = x^T N (N^T M N)^-1 N^T x: the solution of L^T D^(1/2) y = N^T x."""
    _back(chain, L, x)
    for i in range(x.size):
        x[i] *= np.sqrt(L[i, i])


@kernel
def solve(chain: Chain, L: FloatArray, x: FloatArray) -> None:
    """Replace x (speeds,) by N (N^T M N)^-1 N^T x, which is M^-1 x without couplings."""
    _back(chain, L, x)
    parent = chain.elimination_parent
    base = forth(block_of(L), base_of(x))
    for i in range(BASE, parent.size):
        part = base_of(L[i])
        total = x[i] * L[i, i]
        total -= part[0] * base[0] + part[1] * base[1] + part[2] * base[2]
        total -= part[3] * base[3] + part[4] * base[4] + part[5] * base[5]
        j = parent[i]
        while j >= BASE:
            total -= L[i, j] * x[j]
            j = parent[j]
        x[i] = total
    put_base(x, base)
    follow(chain, x)


@kernel
def add_damping(speed_parent: IntArray, M: FloatArray, row: FloatArray, start: int, coefficient: float) -> None:
    """Add coefficient * row^T row to the lower triangle of M, for a row with entries on the path of speed `start`."""
    base = base_of(row)
    i = start
    while i >= BASE:
        scaled = coefficient * row[i]
        j = i
        while j >= BASE:
            M[i, j] += scaled * row[j]
            j = speed_parent[j]
        add_to_base(M[i], scaled, base)
        i = speed_parent[i]
    put_block(M, add_square(block_of(M), coefficient, base))


@kernel
def add_damping_both_ways(
    speed_parent: IntArray, M: FloatArray, row: FloatArray, other: FloatArray, start: int, coefficient: float
) -> None:
    """`add_damping` for two rows of one path and one coefficient: each entry of M is loaded and stored once."""
    base, other_base = base_of(row), base_of(other)
    i = start
    while i >= BASE:
        scaled, other_scaled = coefficient * row[i], coefficient * other[i]
        j = i
        while j >= BASE:
            M[i, j] += scaled * row[j] + other_scaled * other[j]
            j = speed_parent[j]
        add_to_base(M[i], scaled, base)
        add_to_base(M[i], other_scaled, other_base)
        i = speed_parent[i]
    put_block(M, add_square(add_square(block_of(M), coefficient, base), coefficient, other_base))


@kernel
def add_scaled(speed_parent: IntArray, out: FloatArray, row: FloatArray, start: int, scale: float) -> None:
    """Add scale * row to out, for a row with entries on the path of speed `start`."""
    for i in range(BASE):
        out[i] += scale * row[i]
    i = start
    while i >= BASE:
        out[i] += scale * row[i]
        i = speed_parent[i]


@kernel
def add_sliding(
    speed_parent: IntArray, M: FloatArray, rhs: FloatArray, row: FloatArray, start: int, force: float, damping: float
) -> None:
    """A force along row that changes with speed: force * row on rhs, damping * row^T row on M."""
    add_scaled(speed_parent, rhs, row, start, force)
    add_damping(speed_parent, M, row, start, damping)
