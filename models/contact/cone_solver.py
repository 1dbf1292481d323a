"""Impulses of all contacts of a step (models.contact.cones): a few of Newton's steps from those of the step before.

Without such a start, or where it leads nowhere, sweeps over the contacts bring the impulses near enough for Newton's
method, which is tried again and again.

Sweeps over the contacts: block Gauss-Seidel with each contact solved exactly, and Anderson's acceleration.

Anderson's step takes the combination of the last sweeps whose change is least (Walker and Ni 2011, type II).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from models.contact.cone_active import active_newton, relax
from models.contact.cone_newton import newton
from models.contact.cones import (
    AXES,
    DEPTH,
    Cones,
    begin_open,
    fill_motion,
    impulse_scale,
    into_cones,
    local_velocity,
    mean_weight,
    prepare,
    project,
    residual_of,
)
from models.kernels.bound import BoundArguments, unpack
from models.kernels.compiled import FloatArray, address_of, kernel, separate_kernel


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


STEPS = 12  # of Newton's method at a time
SHORT_SWEEPS = 3
LONG, LONG_SWEEPS = 20, 20
STARTS = (0.0, 1.0, 10.0, 0.1, 100.0, 0.01)  # normal impulses to begin with, of their scale
# Damping of Newton's steps [of a weight], in turn. Much of it keeps a step short where impulses are not unique, little
# ends quickly where they nearly are not; and a search that runs in a circle with one may not with another.
FIRM = 1e-7
SHORT = (1e-3, FIRM, 1e-3, FIRM)
IN_TURN = (1e-3, 1e-5, 0.0, FIRM, 1e-2)  # 0: the natural map in place of the other equations
GIVING = 1e-3  # where contacts give: damping, of what they give


class Search(NamedTuple):
    """What `search` takes.

    Attributes:
        cones: the problem.
        residual: (1,) what is left of it [m/s].
    """

    cones: Cones
    residual: FloatArray


def address_of_search(problem: Search) -> int:
    """Address of `search`, for models.kernels.bound.call_with: a caller with the solver in it compiles for long."""
    return address_of(search, BoundArguments(problem), 1, 0.0)


@kernel
def search(bound: BoundArguments[Search], count: int, tolerance: float) -> None:
    """`solve_cones`, which leaves its residual in the problem."""
    cones, residual = unpack(bound)
    residual[0], _ = solve_cones(cones, count, tolerance)


@kernel
def solve_cones(cones: Cones, count: int, tolerance: float) -> tuple[float, int]:
    """Find the impulses of the first `count` contacts, from those that cones.impulse holds.

    Args:
        cones: half, target, friction and give filled.
        count: contacts that there are.
        tolerance: of the residual [m/s].

    Returns:
        The residual [m/s] (models.contact.cones.residual_of), and which method found it: 0 Newton's from the impulses
        of the step before, 1 over contacts that give, 2 a few sweeps and Newton's, 3 the same at length and from
        several starts; 4: none, the residual is larger and the least that was found.
    """
    prepare(cones, count)
    residual = residual_of(cones, count)
    if residual <= tolerance or not residual < math.inf:  # of no finite numbers, nothing that follows would end
        return residual, 0 if residual <= tolerance else 4
    warm = _is_warm(cones, count)
    if warm:
        residual = _newton(cones, count, 0.0, tolerance)
        if residual > tolerance:
            residual = _newton(cones, count, FIRM, tolerance)
        if residual <= tolerance:
            return residual, 0
        residual = _relaxed(cones, count, tolerance)
        if residual <= tolerance:
            return residual, 1
    residual = _quickly(cones, count, tolerance)
    if residual <= tolerance:
        return residual, 2
    if not warm:  # what is quicker came first
        residual = _relaxed(cones, count, tolerance)
        if residual <= tolerance:
            return residual, 1
    residual = _at_length(cones, count, tolerance)
    return residual, 3 if residual <= tolerance else 4


@kernel
def _is_warm(cones: Cones, count: int) -> bool:
    """Whether there are impulses to begin with."""
    for i in range(AXES * count):
        if cones.impulse[i] != 0.0:
            return True
    return False


@kernel
def _damping(cones: Cones, count: int, usual: float) -> float:
    """Damping of Newton's steps, which is small against what contacts give."""
    return GIVING * cones.give[0] / mean_weight(cones, count) if cones.give[0] > 0.0 else usual


@separate_kernel
def _newton(cones: Cones, count: int, damping: float, tolerance: float) -> float:
    """Newton's method with a damping, or on the natural map for 0; the residual."""
    if damping > 0.0:
        active_newton(cones, count, STEPS, _damping(cones, count, damping), 0.1 * tolerance)
    else:
        newton(cones, count, STEPS, _damping(cones, count, FIRM), 0.1 * tolerance)
    return into_cones(cones, count)


@separate_kernel
def _relaxed(cones: Cones, count: int, tolerance: float) -> float:
    """Over contacts that give; the residual."""
    relax(cones, count, _damping(cones, count, FIRM), tolerance)
    return into_cones(cones, count)


@kernel
def _quickly(cones: Cones, count: int, tolerance: float) -> float:
    """A few sweeps from open contacts, then Newton's method, some times; the residual."""
    residual = math.inf
    begin_open(cones, count, 0.0)
    for damping in SHORT:
        for _ in range(SHORT_SWEEPS):
            sweep(cones, count)
        residual = _newton(cones, count, damping, tolerance)
        if residual <= tolerance:
            break
        if not residual < math.inf:
            begin_open(cones, count, 0.0)
    return residual


@separate_kernel
def _at_length(cones: Cones, count: int, tolerance: float) -> float:
    """Sweeps with acceleration, and Newton's methods in turn, from several normal impulses; the residual."""
    scale, least = impulse_scale(cones, count), math.inf
    for start in STARTS:
        begin_open(cones, count, start * scale)
        residual = _rounds(cones, count, tolerance)
        if residual <= tolerance:
            return residual
        if residual < least:
            least = residual
            for i in range(AXES * count):
                cones.saved[1, i] = cones.impulse[i]
    if least < math.inf:
        for i in range(AXES * count):
            cones.impulse[i] = cones.saved[1, i]
        fill_motion(cones, count)
    return least


@kernel
def _rounds(cones: Cones, count: int, tolerance: float) -> float:
    """Rounds of many sweeps and Newton's method, which is taken back where it led away; the residual."""
    kept, residual = 0, math.inf
    for turn in range(LONG):
        for _ in range(LONG_SWEEPS):
            sweep(cones, count)
            residual = residual_of(cones, count)
            if residual <= tolerance:
                return residual
            kept = accelerate(cones, count, kept)
        residual = residual_of(cones, count)
        for i in range(AXES * count):
            cones.saved[0, i] = cones.impulse[i]
        after = _newton(cones, count, IN_TURN[turn % len(IN_TURN)], tolerance)
        if after < residual:
            kept, residual = 0, after
            if after <= tolerance:
                return after
        else:
            for i in range(AXES * count):
                cones.impulse[i] = cones.saved[0, i]
            fill_motion(cones, count)
    return residual
