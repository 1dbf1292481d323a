"""Factorisation of the mass matrix along the tree: only speeds on a common path to the base have entries.

M = L^T D L with L sparse as M is (Featherstone 2008, ch. 6.5); no fill-in, about 400 multiply-adds at 15 speeds.
L has ones on its diagonal, so the diagonal stores 1/D: no roots, and one quotient per speed.

Vectors and matrices are in tree speeds. Couplings enter here and nowhere else: `factorise` folds the rows of dependent
speeds into their sources (N^T M N, Cyril 1993 (21)), and a solve is N (N^T M N)^-1 N^T, so what comes out keeps every
coupling, and a force on a dependent joint acts on its sources.
"""

from __future__ import annotations

import numpy as np

from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.block import (
    BASE,
    add_square,
    add_to_base,
    back,
    base_of,
    block_of,
    factor_of,
    forth,
    plus,
    put_base,
    put_block,
)
from models.rover.loops import Loops
from models.rover.reduction import Chain


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
