"""Contacts of a step with Coulomb's friction: one problem for all of them, Acary 2013 (2), (3), (6), (7).

Of each contact, r = (normal, two tangential) is an impulse and u = W r + q the local velocity that it leaves, both in
the contact's own axes, normal first. With the unit vector e_N of the normal,

    K contains r,   K* contains u + mu |u_T| e_N,   and both are perpendicular,

where K is the cone |r_T| <= mu r_N and K* its dual. That is Signorini's condition at the level of velocities and
Coulomb's law in one.

Newton's step of all contacts at once, found by the motion that it makes.

Contact c has three equations f(r, u) = 0, with u = h y + give r + q and the motion y = sum of h^T r, where h are its
three rows of `half`. Linearised with A = df/dr and B = df/du,

    dr = -(A + give B)^-1 (f + B h dy),   (1 + sum of h^T (A + give B)^-1 B h) dy = -sum of h^T (A + give B)^-1 f.

So a system of as many unknowns as there are speeds is solved, however many contacts there are. To `give` a damping is
added here: it keeps a step regular where impulses are not unique, and changes no solution.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray, kernel, separate_kernel

AXES = 3
DEPTH = 6  # differences that Anderson's acceleration keeps


class Cones(NamedTuple):
    """Contacts, and scratch to find their impulses; all arrays are for the most contacts that there can be.

    W is not formed: `half` are the rows of the contacts, half solved by the mass matrix, so W = half half^T.

    Attributes:
        half: (3 contacts, speeds) Jacobian of the local velocities, half solved.
        target: (3 contacts,) q: local velocity without impulses, less the wanted one [m/s].
        friction: (contacts,) mu.
        impulse: (3 contacts,) r [N s]; what it holds before is where the search begins.
        own: (contacts, 6) elements NN, NS, NT, SS, ST, TT of a contact's own block of W [1/kg].
        weight: (contacts,) mean of the diagonal of that block [1/kg].
        motion: (speeds,) half^T r.
        before: (3 contacts,) impulses before a sweep or a step.
        past, change: (DEPTH + 1, 3 contacts) what the last sweeps gave, and by how much they changed it.
        small: (DEPTH, DEPTH + 1) system of the acceleration.
        velocity: (3 contacts,) u [m/s] of the impulses that there are.
        error: (3 contacts,) equations that Newton's method brings to zero [m/s].
        step: (3 contacts,) Newton's, of the impulses [N s].
        row: (3 contacts, speeds) what a step of the motion takes from that of the impulses.
        matrix: (speeds, speeds) of the step of the motion.
        turn: (speeds,) the step of the motion.
        give: (1,) [1/kg] added to the diagonal of W; 0: contacts are hard, and their impulses may not be unique.
        saved: (2, 3 contacts) impulses to go back to, and those with the least residual so far.
    """

    half: FloatArray
    target: FloatArray
    friction: FloatArray
    impulse: FloatArray
    own: FloatArray
    weight: FloatArray
    motion: FloatArray
    before: FloatArray
    past: FloatArray
    change: FloatArray
    small: FloatArray
    velocity: FloatArray
    error: FloatArray
    step: FloatArray
    row: FloatArray
    matrix: FloatArray
    turn: FloatArray
    give: FloatArray
    saved: FloatArray


def make_cones(contacts: int, speeds: int) -> Cones:
    """Allocate for at most `contacts` contacts of a mechanism with `speeds` speeds."""
    n = AXES * contacts
    return Cones(
        np.zeros((n, speeds)), np.zeros(n), np.zeros(contacts), np.zeros(n), np.zeros((contacts, 6)),
        np.zeros(contacts), np.zeros(speeds), np.zeros(n), np.zeros((DEPTH + 1, n)), np.zeros((DEPTH + 1, n)),
        np.zeros((DEPTH, DEPTH + 1)), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros((n, speeds)),
        np.zeros((speeds, speeds)), np.zeros(speeds), np.zeros(1), np.zeros((2, n)),
    )  # fmt: skip


@kernel
def prepare(cones: Cones, count: int) -> None:
    """Diagonal blocks, and the motion of the impulses that there are."""
    half, own = cones.half, cones.own
    speeds, give = half.shape[1], cones.give[0]
    for c in range(count):
        i = AXES * c
        nn = ss = tt = give
        ns = nt = st = 0.0
        for a in range(speeds):
            x, y, z = half[i, a], half[i + 1, a], half[i + 2, a]
            nn += x * x
            ns += x * y
            nt += x * z
            ss += y * y
            st += y * z
            tt += z * z
        cones.weight[c] = (nn + ss + tt) / 3.0
        own[c, 0], own[c, 1], own[c, 2], own[c, 3], own[c, 4], own[c, 5] = nn, ns, nt, ss, st, tt
    fill_motion(cones, count)


@kernel
def fill_motion(cones: Cones, count: int) -> None:
    """half^T r of the impulses that there are."""
    for a in range(cones.motion.size):
        cones.motion[a] = 0.0
    for i in range(AXES * count):
        r = cones.impulse[i]
        for a in range(cones.motion.size):
            cones.motion[a] += r * cones.half[i, a]


@kernel
def begin_open(cones: Cones, count: int, normal: float) -> None:
    """Begin from impulses [N s] along the normals alone."""
    for c in range(count):
        i = AXES * c
        cones.impulse[i], cones.impulse[i + 1], cones.impulse[i + 2] = normal, 0.0, 0.0
    fill_motion(cones, count)


@kernel
def mean_weight(cones: Cones, count: int) -> float:
    """Mean of the contacts' weights [1/kg]."""
    total = 0.0
    for c in range(count):
        total += cones.weight[c]
    return total / count


@kernel
def impulse_scale(cones: Cones, count: int) -> float:
    """Of what order the impulses are [N s]."""
    largest = 0.0
    for i in range(AXES * count):
        largest = max(largest, abs(cones.target[i]))
    return largest / mean_weight(cones, count)


@kernel
def local_velocity(cones: Cones, c: int) -> tuple[float, float, float]:
    """Local velocity of a contact."""
    i, r, give = AXES * c, cones.impulse, cones.give[0]
    q = cones.target
    x, y, z = q[i] + give * r[i], q[i + 1] + give * r[i + 1], q[i + 2] + give * r[i + 2]
    for a in range(cones.motion.size):
        m = cones.motion[a]
        x += cones.half[i, a] * m
        y += cones.half[i + 1, a] * m
        z += cones.half[i + 2, a] * m
    return x, y, z


@kernel
def residual_of(cones: Cones, count: int) -> float:
    """Largest distance [m/s] of a contact's impulse from its projection, in units of velocity.

    |r - P_K(r - (u + mu |u_T| e_N)/w)| w, with w the mean of the diagonal of the contact's block; zero where and only
    where the laws hold; inf where numbers are not finite.
    """
    worst = 0.0
    for c in range(count):
        i, w, mu = AXES * c, cones.weight[c], cones.friction[c]
        x, y, z = local_velocity(cones, c)
        x += mu * math.sqrt(y * y + z * z)
        p, s, t = cones.impulse[i], cones.impulse[i + 1], cones.impulse[i + 2]
        p1, s1, t1 = project(p - x / w, s - y / w, t - z / w, mu)
        error = w * w * ((p - p1) ** 2 + (s - s1) ** 2 + (t - t1) ** 2)
        if not error < math.inf:
            return math.inf
        worst = max(worst, error)
    return math.sqrt(worst)


@kernel
def into_cones(cones: Cones, count: int) -> float:
    """Project the impulses onto their cones; the residual then."""
    for c in range(count):
        i, r = AXES * c, cones.impulse
        r[i], r[i + 1], r[i + 2] = project(r[i], r[i + 1], r[i + 2], cones.friction[c])
    fill_motion(cones, count)
    return residual_of(cones, count)


@kernel
def project(p: float, s: float, t: float, mu: float) -> tuple[float, float, float]:
    """Nearest point of the cone sqrt(s^2 + t^2) <= mu p."""
    length = math.sqrt(s * s + t * t)
    if length <= mu * p:
        return p, s, t
    if p <= -mu * length:
        return 0.0, 0.0, 0.0
    onto = (p + mu * length) / (1.0 + mu * mu)
    share = mu * onto / length
    return onto, share * s, share * t


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
