"""Sweeps over the contacts: block Gauss-Seidel with each contact solved exactly, and Anderson's acceleration.

Anderson's step takes the combination of the last sweeps whose change is least (Walker and Ni 2011, type II).
"""

from __future__ import annotations

import math

from models.contact.cones import AXES, DEPTH, Cones, fill_motion, local_velocity, project
from models.kernels.compiled import FloatArray, kernel, separate_kernel


@separate_kernel
def sweep(cones: Cones, count: int) -> None:
    """Solve each contact for itself, with the impulses that the others have at that moment."""
    for i in range(AXES * count):
        cones.before[i] = cones.impulse[i]
    for c in range(count):
        i, own, r = AXES * c, cones.own[c], cones.impulse
        x, y, z = local_velocity(cones, c)
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

    Sliding: r_T = -(A + s)^-1 b with a number s > 0 for which |r_T| = mu r_N, where A and b are the tangential block
    and velocity after the normal one is eliminated. At s = 0, where it would stick, |r_T| is too large; for a large s
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
def accelerate(cones: Cones, count: int, kept: int) -> int:
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
    if not _shares(cones, n, kept, m):
        return 0
    for j in range(m):
        other = (kept - 2 - j) % (DEPTH + 1)
        share = cones.small[j, DEPTH]
        for i in range(n):
            cones.impulse[i] -= share * (cones.past[row, i] - cones.past[other, i])
    for c in range(count):
        i = AXES * c
        r = cones.impulse
        r[i], r[i + 1], r[i + 2] = project(r[i], r[i + 1], r[i + 2], cones.friction[c])
    fill_motion(cones, count)
    return kept


@kernel
def _shares(cones: Cones, n: int, kept: int, m: int) -> bool:
    """Shares of the last m differences by least squares, in the last column of cones.small; False: there are none."""
    row = (kept - 1) % (DEPTH + 1)
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
            return False
        for j in range(k + 1, m):
            share = A[j, k] / A[k, k]
            for l in range(k + 1, m):
                A[j, l] -= share * A[k, l]
            A[j, DEPTH] -= share * A[k, DEPTH]
    for k in range(m - 1, -1, -1):
        for j in range(k + 1, m):
            A[k, DEPTH] -= A[k, j] * A[j, DEPTH]
        A[k, DEPTH] /= A[k, k]
    return True
