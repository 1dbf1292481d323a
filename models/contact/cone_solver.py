"""Impulses of contacts with Coulomb's friction: one problem for all contacts of a step, Acary 2013 (2), (3), (6), (7).

For each contact, r = (normal, two tangential) is an impulse and u = W r + q the local velocity that it leaves, both in
the contact's own axes, normal first. With the vector e_N of the normal,

    K contains r,   K* contains u + mu |u_T| e_N,   and both are perpendicular,

where K is the cone |r_T| <= mu r_N. That is Signorini's condition at velocity level and Coulomb's law in one.

W is not formed: rows of the contacts, half solved by the mass matrix, are `half`, so W = half half^T. The sweeps are
those of block Gauss-Seidel with an exact solution of each contact, and Anderson's acceleration between them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray, kernel

AXES = 3
DEPTH = 6  # differences of Anderson's acceleration
ROUNDS = 40  # of sweeps and Newton's steps in turn
SWEEPS = 40  # of a round
STEPS = 25  # Newton's of a round


class Cones(NamedTuple):
    """Contacts of one step, and scratch; all arrays are for the most contacts that there can be.

    Attributes:
        half: (3 contacts, speeds) Jacobian of local velocities, half solved.
        target: (3 contacts,) q, velocity without impulses less the wanted one [m/s].
        friction: (contacts,) mu.
        impulse: (3 contacts,) r [N s]; what it holds before is where the search begins.
        own: (contacts, 6) blocks W_ii: NN, NS, NT, SS, ST, TT.
        motion: (speeds,) half^T r.
        before: (3 contacts,) impulses before a sweep.
        past: (DEPTH + 1, 3 contacts) what sweeps gave.
        change: (DEPTH + 1, 3 contacts) what they changed.
        small: (DEPTH, DEPTH + 1) system of the acceleration.
    """

    half: FloatArray
    target: FloatArray
    friction: FloatArray
    impulse: FloatArray
    own: FloatArray
    motion: FloatArray
    before: FloatArray
    past: FloatArray
    change: FloatArray
    small: FloatArray
    error: FloatArray
    slope: FloatArray
    normal: FloatArray
    step: FloatArray


def make_cones(contacts: int, speeds: int) -> Cones:
    """Allocate for at most `contacts` contacts of a mechanism with `speeds` speeds."""
    n = AXES * contacts
    return Cones(
        np.zeros((n, speeds)), np.zeros(n), np.zeros(contacts), np.zeros(n), np.zeros((contacts, 6)), np.zeros(speeds),
        np.zeros(n), np.zeros((DEPTH + 1, n)), np.zeros((DEPTH + 1, n)), np.zeros((DEPTH, DEPTH + 1)),
        np.zeros(n), np.zeros((n, n)), np.zeros((n, n)), np.zeros(n),
    )  # fmt: skip


@kernel
def solve_cones(cones: Cones, count: int, tolerance: float) -> tuple[float, int]:
    """Find the impulses of the first `count` contacts, from those that cones.impulse holds.

    Args:
        cones: half, target and friction filled.
        count: contacts that are there.
        tolerance: of the residual [m/s].

    Returns:
        Residual [m/s] as `residual_of` gives it, and sweeps used.
    """
    _prepare(cones, count)
    residual, used = math.inf, 0
    for turn in range(ROUNDS):
        kept, n = 0, AXES * count
        for _ in range(SWEEPS):
            used += 1
            for i in range(n):
                cones.before[i] = cones.impulse[i]
            _sweep(cones, count)
            residual = residual_of(cones, count)
            if residual <= tolerance:
                return residual, used
            if turn % 2 == 0:
                kept = _accelerate(cones, count, kept)
        residual = _newton(cones, count, tolerance)
        if residual <= tolerance:
            return residual, used
        if turn % 4 == 1:
            for i in range(n):
                cones.impulse[i] = 0.0
            _fill_motion(cones, count)
    return residual, used


@kernel
def _newton(cones: Cones, count: int, tolerance: float) -> float:
    """Steps of a damped Newton method on the natural map, Levenberg and Marquardt's form; returns the residual."""
    n = AXES * count
    error = _linearise(cones, count)
    for _ in range(STEPS):
        if math.sqrt(error) <= 0.3 * tolerance:
            break
        f, A, N, d = cones.error, cones.slope, cones.normal, cones.step
        largest = 0.0
        for i in range(n):
            for j in range(i + 1):
                total = 0.0
                for k in range(n):
                    total += A[k, i] * A[k, j]
                N[i, j] = total
            largest = max(largest, N[i, i])
            total = 0.0
            for k in range(n):
                total -= A[k, i] * f[k]
            d[i] = total
        for i in range(n):
            N[i, i] += 1e-13 * largest
            for j in range(i + 1):
                total = N[i, j]
                for k in range(j):
                    total -= N[i, k] * N[j, k]
                N[i, j] = total / N[j, j] if j < i else math.sqrt(max(total, 1e-14 * largest))
            total = d[i]
            for k in range(i):
                total -= N[i, k] * d[k]
            d[i] = total / N[i, i]
        for i in range(n - 1, -1, -1):
            total = d[i]
            for k in range(i + 1, n):
                total -= N[k, i] * d[k]
            d[i] = total / N[i, i]
        for i in range(n):
            cones.before[i] = cones.impulse[i]
        share, found = 1.0, False
        for _ in range(14):
            for i in range(n):
                cones.impulse[i] = cones.before[i] + share * d[i]
            _fill_motion(cones, count)
            new = _error(cones, count)
            if new <= (1.0 - 1e-3 * share) * error:
                found = True
                break
            share *= 0.5
        if not found:
            for i in range(n):
                cones.impulse[i] = cones.before[i]
            break
        error = _linearise(cones, count)
    for c in range(count):
        i, r = AXES * c, cones.impulse
        r[i], r[i + 1], r[i + 2] = _project(r[i], r[i + 1], r[i + 2], cones.friction[c])
    _fill_motion(cones, count)
    return residual_of(cones, count)


@kernel
def _error(cones: Cones, count: int) -> float:
    """Sum of squares of the natural map [m^2/s^2]; the map is left in cones.error."""
    total = 0.0
    for c in range(count):
        i, own, mu = AXES * c, cones.own[c], cones.friction[c]
        x, y, z = _local(cones, c)
        x += mu * math.sqrt(y * y + z * z)
        w = (own[0] + own[3] + own[5]) / 3.0
        p, s, t = cones.impulse[i], cones.impulse[i + 1], cones.impulse[i + 2]
        p1, s1, t1 = _project(p - x / w, s - y / w, t - z / w, mu)
        f = cones.error
        f[i], f[i + 1], f[i + 2] = w * (p - p1), w * (s - s1), w * (t - t1)
        total += f[i] * f[i] + f[i + 1] * f[i + 1] + f[i + 2] * f[i + 2]
    return total


@kernel
def _linearise(cones: Cones, count: int) -> float:
    """`_error`, and its slope by the impulses in cones.slope."""
    total = _error(cones, count)
    n = AXES * count
    for c in range(count):
        i, own, mu = AXES * c, cones.own[c], cones.friction[c]
        x, y, z = _local(cones, c)
        slide = math.sqrt(y * y + z * z)
        ys, zs = (mu * y / slide, mu * z / slide) if slide > 0.0 else (0.0, 0.0)
        w = (own[0] + own[3] + own[5]) / 3.0
        P = cones.impulse[i] - (x + mu * slide) / w
        S, T = cones.impulse[i + 1] - y / w, cones.impulse[i + 2] - z / w
        # slope of the projection
        length = math.sqrt(S * S + T * T)
        a = b = g = e = h = k = 0.0  # PP, PS, PT, SS, ST, TT
        if length <= mu * P:
            a = e = k = 1.0
        elif P > -mu * length:
            ds, dt = S / length, T / length
            one = 1.0 / (1.0 + mu * mu)
            onto = (P + mu * length) * one
            a, b, g = one, mu * one * ds, mu * one * dt
            bend = mu * onto / length
            e = mu * mu * one * ds * ds + bend * (1.0 - ds * ds)
            h = mu * mu * one * ds * dt - bend * ds * dt
            k = mu * mu * one * dt * dt + bend * (1.0 - dt * dt)
        A = cones.slope
        for j in range(n):
            wp = ws = wt = 0.0
            for q in range(cones.motion.size):
                m = cones.half[j, q]
                wp += cones.half[i, q] * m
                ws += cones.half[i + 1, q] * m
                wt += cones.half[i + 2, q] * m
            wp += ys * ws + zs * wt
            # w (I - D (I - G/w)) = w I - w D + D G
            A[i, j] = a * wp + b * ws + g * wt
            A[i + 1, j] = b * wp + e * ws + h * wt
            A[i + 2, j] = g * wp + h * ws + k * wt
        A[i, i] += w * (1.0 - a)
        A[i, i + 1] -= w * b
        A[i, i + 2] -= w * g
        A[i + 1, i] -= w * b
        A[i + 1, i + 1] += w * (1.0 - e)
        A[i + 1, i + 2] -= w * h
        A[i + 2, i] -= w * g
        A[i + 2, i + 1] -= w * h
        A[i + 2, i + 2] += w * (1.0 - k)
    return total


@kernel
def _prepare(cones: Cones, count: int) -> None:
    """Diagonal blocks, and the motion of the impulses that there are."""
    half, own = cones.half, cones.own
    speeds = half.shape[1]
    for c in range(count):
        i = AXES * c
        nn = ns = nt = ss = st = tt = 0.0
        for a in range(speeds):
            x, y, z = half[i, a], half[i + 1, a], half[i + 2, a]
            nn += x * x
            ns += x * y
            nt += x * z
            ss += y * y
            st += y * z
            tt += z * z
        own[c, 0], own[c, 1], own[c, 2], own[c, 3], own[c, 4], own[c, 5] = nn, ns, nt, ss, st, tt
    _fill_motion(cones, count)


@kernel
def _fill_motion(cones: Cones, count: int) -> None:
    for a in range(cones.motion.size):
        cones.motion[a] = 0.0
    for i in range(AXES * count):
        r = cones.impulse[i]
        for a in range(cones.motion.size):
            cones.motion[a] += r * cones.half[i, a]


@kernel
def _local(cones: Cones, c: int) -> tuple[float, float, float]:
    """Local velocity of a contact."""
    i = AXES * c
    x, y, z = cones.target[i], cones.target[i + 1], cones.target[i + 2]
    for a in range(cones.motion.size):
        m = cones.motion[a]
        x += cones.half[i, a] * m
        y += cones.half[i + 1, a] * m
        z += cones.half[i + 2, a] * m
    return x, y, z


@kernel
def _sweep(cones: Cones, count: int) -> None:
    for c in range(count):
        i, own, r = AXES * c, cones.own[c], cones.impulse
        x, y, z = _local(cones, c)
        p, s, t = r[i], r[i + 1], r[i + 2]
        x -= own[0] * p + own[1] * s + own[2] * t
        y -= own[1] * p + own[3] * s + own[4] * t
        z -= own[2] * p + own[4] * s + own[5] * t
        p_new, s_new, t_new = one_contact(own, x, y, z, cones.friction[c])
        dp, ds, dt = p_new - p, s_new - s, t_new - t
        r[i], r[i + 1], r[i + 2] = p_new, s_new, t_new
        for a in range(cones.motion.size):
            cones.motion[a] += dp * cones.half[i, a] + ds * cones.half[i + 1, a] + dt * cones.half[i + 2, a]


@kernel
def one_contact(own: FloatArray, x: float, y: float, z: float, mu: float) -> tuple[float, float, float]:
    """Impulse of a contact alone, with velocity (x, y, z) without it: it opens, sticks or slides.

    Sliding: r_T = -(A + s)^-1 b with a number s > 0 for which |r_T| = mu r_N, where A and b are the tangential block and
    velocity after the normal one is eliminated. At s = 0, where it would stick, |r_T| is too large, and for a large s
    it vanishes while r_N does not: there is a root between.
    """
    nn = own[0]
    if x >= 0.0 or nn <= 0.0:
        return 0.0, 0.0, 0.0
    inverse = 1.0 / nn
    a = own[3] - own[1] * own[1] * inverse
    b = own[4] - own[1] * own[2] * inverse
    c = own[5] - own[2] * own[2] * inverse
    f, g = -(y - own[1] * x * inverse), -(z - own[2] * x * inverse)
    # axes in which the tangential block is diagonal
    half_sum, half_difference = 0.5 * (a + c), 0.5 * (a - c)
    spread = math.sqrt(half_difference * half_difference + b * b)
    large, small = half_sum + spread, max(half_sum - spread, 0.0)
    if spread > 1e-15 * half_sum:
        if half_difference >= 0.0:
            ex, ey = half_difference + spread, b
        else:
            ex, ey = b, spread - half_difference
        norm = 1.0 / math.sqrt(ex * ex + ey * ey)
        ex, ey = ex * norm, ey * norm
    else:
        ex, ey = 1.0, 0.0
    fl, fs = ex * f + ey * g, -ey * f + ex * g
    wl, ws = ex * own[1] + ey * own[2], -ey * own[1] + ex * own[2]
    least = 1e-13 * (large + nn)
    s = _slide(large + least, small + least, fl, fs, wl * inverse, ws * inverse, -x * inverse, mu)
    rl, rs = fl / (large + least + s), fs / (small + least + s)
    p = (-x - wl * rl - ws * rs) * inverse
    return max(p, 0.0), ex * rl - ey * rs, ey * rl + ex * rs


@kernel
def _slide(large: float, small: float, fl: float, fs: float, wl: float, ws: float, p0: float, mu: float) -> float:
    """The number s >= 0 of `one_contact`: zero where the contact sticks; by Newton's steps kept in a bracket."""
    low, high, s = 0.0, math.inf, 0.0
    for _ in range(60):
        il, js = 1.0 / (large + s), 1.0 / (small + s)
        rl, rs = fl * il, fs * js
        length = math.sqrt(rl * rl + rs * rs)
        excess = length - mu * (p0 - wl * rl - ws * rs)
        if excess <= 0.0:
            if s == 0.0:
                return 0.0
            high = s
        else:
            low = s
        if abs(excess) <= 1e-15 * length or length == 0.0:
            return s
        slope = -(rl * rl * il + rs * rs * js) / length - mu * (wl * rl * il + ws * rs * js)
        following = s - excess / slope if slope < 0.0 else math.inf
        if not low < following < high:
            following = 2.0 * low + large if high == math.inf else 0.5 * (low + high)
        if following == s:
            return s
        s = following
    return s


@kernel
def residual_of(cones: Cones, count: int) -> float:
    """Largest distance [m/s] of a contact's impulse from its projection, in units of velocity.

    |r - P_K(r - (u + mu |u_T| e_N)/w)| w, with w the mean of the diagonal of the contact's block; zero where and only
    where the laws hold.
    """
    worst = 0.0
    for c in range(count):
        i, own, mu = AXES * c, cones.own[c], cones.friction[c]
        x, y, z = _local(cones, c)
        x += mu * math.sqrt(y * y + z * z)
        w = (own[0] + own[3] + own[5]) / 3.0
        p, s, t = cones.impulse[i], cones.impulse[i + 1], cones.impulse[i + 2]
        p1, s1, t1 = _project(p - x / w, s - y / w, t - z / w, mu)
        worst = max(worst, w * w * ((p - p1) ** 2 + (s - s1) ** 2 + (t - t1) ** 2))
    return math.sqrt(worst)


@kernel
def _project(p: float, s: float, t: float, mu: float) -> tuple[float, float, float]:
    """Nearest point of the cone sqrt(s^2 + t^2) <= mu p."""
    length = math.sqrt(s * s + t * t)
    if length <= mu * p:
        return p, s, t
    if p <= -mu * length:
        return 0.0, 0.0, 0.0
    onto = (p + mu * length) / (1.0 + mu * mu)
    share = mu * onto / length
    return onto, share * s, share * t


@kernel
def _accelerate(cones: Cones, count: int, kept: int) -> int:
    """Anderson's step from the last sweeps; the impulses go into their cones.

    Returns:
        How many sweeps are kept.
    """
    n = AXES * count
    row = kept % (DEPTH + 1)
    for i in range(n):
        cones.past[row, i] = cones.impulse[i]
        cones.change[row, i] = cones.impulse[i] - cones.before[i]
    kept += 1
    m = min(kept - 1, DEPTH)
    if m == 0:
        return kept
    A = cones.small
    largest = 0.0
    for j in range(m):
        other = (kept - 2 - j) % (DEPTH + 1)
        for k in range(j + 1):
            another = (kept - 2 - k) % (DEPTH + 1)
            total = 0.0
            for i in range(n):
                total += (cones.change[row, i] - cones.change[other, i]) * (
                    cones.change[row, i] - cones.change[another, i]
                )
            A[j, k] = A[k, j] = total
        total = 0.0
        for i in range(n):
            total += (cones.change[row, i] - cones.change[other, i]) * cones.change[row, i]
        A[j, DEPTH] = total
        largest = max(largest, A[j, j])
    for j in range(m):
        A[j, j] += 1e-12 * largest
    # by elimination: symmetric and, with what was added, positive
    for k in range(m):
        if A[k, k] <= 0.0:
            return 0
        for j in range(k + 1, m):
            share = A[j, k] / A[k, k]
            for l in range(k + 1, m):
                A[j, l] -= share * A[k, l]
            A[j, DEPTH] -= share * A[k, DEPTH]
    for k in range(m - 1, -1, -1):
        for j in range(k + 1, m):
            A[k, DEPTH] -= A[k, j] * A[j, DEPTH]
        A[k, DEPTH] /= A[k, k]
    for j in range(m):
        other = (kept - 2 - j) % (DEPTH + 1)
        share = A[j, DEPTH]
        for i in range(n):
            cones.impulse[i] -= share * (cones.past[row, i] - cones.past[other, i])
    for c in range(count):
        i = AXES * c
        r = cones.impulse
        r[i], r[i + 1], r[i + 2] = _project(r[i], r[i + 1], r[i + 2], cones.friction[c])
    _fill_motion(cones, count)
    return kept
