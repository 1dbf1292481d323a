"""Factorisation of the mass matrix along the tree: only speeds on one path to the base meet and are touched.

M = L^T L with L sparse as M is (Featherstone 2008, ch. 6.5); no fill-in, about 400 multiply-adds for a 15-speed rover.

Vectors and matrices are in tree speeds. Couplings enter here and nowhere else: `factorise` folds the rows of dependent
speeds into their sources (N^T M N, Cyril 1993 (21)), and a solve is N (N^T M N)^-1 N^T, so what comes out keeps every
coupling and a force on a dependent joint acts as it must.
"""

from __future__ import annotations

import numpy as np

from models.compiled import FloatArray, IntArray, kernel
from models.rover.reduction import Chain

# Speeds of the base: every path ends with them, so they are walked in rows and not from parent to parent.
BASE = 6


@kernel
def factorise(chain: Chain, M: FloatArray) -> None:
    """Replace the lower triangle of M (speeds, speeds) by the factor L of N^T M N."""
    fold_inertia(chain, M)
    parent = chain.elimination_parent
    for k in range(parent.size - 1, BASE - 1, -1):
        pivot = np.sqrt(M[k, k])
        M[k, k] = pivot
        inverse = 1.0 / pivot
        i = parent[k]
        while i >= BASE:
            M[k, i] *= inverse
            i = parent[i]
        for i in range(BASE):
            M[k, i] *= inverse
        i = parent[k]
        while i >= BASE:
            j = i
            while j >= BASE:
                M[i, j] -= M[k, i] * M[k, j]
                j = parent[j]
            for j in range(BASE):
                M[i, j] -= M[k, i] * M[k, j]
            i = parent[i]
        for i in range(BASE):
            for j in range(BASE):  # above the diagonal, too: whole rows are quicker, and nobody looks there
                M[i, j] -= M[k, i] * M[k, j]
    for k in range(BASE - 1, -1, -1):
        pivot = np.sqrt(M[k, k])
        M[k, k] = pivot
        for i in range(k):
            M[k, i] /= pivot
        for i in range(k):
            for j in range(i + 1):
                M[i, j] -= M[k, i] * M[k, j]


@kernel
def fold_inertia(chain: Chain, M: FloatArray) -> None:
    """Row and column of each source gain ratio times those of the dependent speed, which is then left by itself."""
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
    """Replace the dependent speeds of x (speeds,) by what their couplings make of the independent ones: N x."""
    for d in chain.dependent:
        x[d] = 0.0
    for term in range(chain.dependent.size):
        x[chain.dependent[term]] += chain.ratio[term] * x[chain.source[term]]


@kernel
def half_solve(chain: Chain, L: FloatArray, x: FloatArray) -> None:
    """Replace x (speeds,) by the solution of L^T y = N^T x; y . y is then x^T N (N^T M N)^-1 N^T x."""
    fold(chain, x)
    parent = chain.elimination_parent
    for i in range(parent.size - 1, BASE - 1, -1):
        x[i] /= L[i, i]
        j = parent[i]
        while j >= BASE:
            x[j] -= L[i, j] * x[i]
            j = parent[j]
        for j in range(BASE):
            x[j] -= L[i, j] * x[i]
    for i in range(BASE - 1, -1, -1):
        x[i] /= L[i, i]
        for j in range(i):
            x[j] -= L[i, j] * x[i]


@kernel
def solve(chain: Chain, L: FloatArray, x: FloatArray) -> None:
    """Replace x (speeds,) by N (N^T M N)^-1 N^T x, which is M^-1 x without couplings."""
    half_solve(chain, L, x)
    parent = chain.elimination_parent
    for i in range(BASE):
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] /= L[i, i]
    for i in range(BASE, parent.size):
        total = x[i]
        for j in range(BASE):
            total -= L[i, j] * x[j]
        j = parent[i]
        while j >= BASE:
            total -= L[i, j] * x[j]
            j = parent[j]
        x[i] = total / L[i, i]
    follow(chain, x)


@kernel
def add_damping(speed_parent: IntArray, M: FloatArray, row: FloatArray, start: int, coefficient: float) -> None:
    """Add coefficient * row^T row to the lower triangle of M, for a row that lives on the path of speed `start`."""
    i = start
    while i >= BASE:
        scaled = coefficient * row[i]
        j = i
        while j >= BASE:
            M[i, j] += scaled * row[j]
            j = speed_parent[j]
        for j in range(BASE):
            M[i, j] += scaled * row[j]
        i = speed_parent[i]
    for i in range(BASE):
        scaled = coefficient * row[i]
        for j in range(BASE):
            M[i, j] += scaled * row[j]


@kernel
def add_scaled(speed_parent: IntArray, out: FloatArray, row: FloatArray, start: int, scale: float) -> None:
    """Add scale * row to out, for a row that lives on the path of speed `start`."""
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
    """A force along row that answers a change of speed: force * row on rhs, damping * row^T row on M."""
    add_scaled(speed_parent, rhs, row, start, force)
    add_damping(speed_parent, M, row, start, damping)
