"""Newton's method on Alart's and Curnier's equations, and a way to their solution over contacts that give.

Each contact opens, sticks or slides by what r - rho u says, and has its equations accordingly (Alart, Curnier 1991).
From a good start a few steps are enough. Where wheels stick in directions that nearly contradict one another, the
start is too far: then contacts first give way by `extra` times their impulse, which makes the equations well
conditioned, and `extra` is brought to zero.
"""

from __future__ import annotations

import math

from models.contact.cone_newton import solve_step
from models.contact.cones import AXES, Cones
from models.kernels.compiled import kernel, separate_kernel

DIRECT = 8  # steps from the impulses of the step before
STAGE = 10  # steps at one `extra`
STAGES = 40
FIRST = 0.03  # of the way of `extra`, from stage to stage
ROUGH = 1e-4  # of the velocity by which contacts give: how exactly a stage is solved


@kernel
def fill_whole(cones: Cones, count: int) -> None:
    """W, without its diagonal, which `active_newton` sets."""
    half, W = cones.half, cones.whole
    for i in range(AXES * count):
        for j in range(i):
            total = 0.0
            for a in range(half.shape[1]):
                total += half[i, a] * half[j, a]
            W[i, j] = W[j, i] = total


@separate_kernel
def active_newton(cones: Cones, count: int, extra: float, steps: int, tolerance: float) -> bool:
    """At most `steps` steps from the impulses that there are; whether they solve the equations.

    Args:
        cones: prepared, with W (`fill_whole`).
        count: contacts.
        extra: [1/kg] by which the contacts give beside cones.give.
        steps: at most so many.
        tolerance: of the equations [m/s].
    """
    own, W, n = cones.own, cones.whole, AXES * count
    for c in range(count):
        i = AXES * c
        W[i, i], W[i + 1, i + 1], W[i + 2, i + 2] = own[c, 0] + extra, own[c, 3] + extra, own[c, 5] + extra
    for _ in range(steps):
        if _equations(cones, count) <= tolerance:
            return True
        solve_step(cones, count)
        for i in range(n):
            cones.impulse[i] += cones.step[i]
    return _equations(cones, count) <= tolerance


@kernel
def relax(cones: Cones, count: int, tolerance: float) -> bool:
    """From contacts that give to those that there are; whether a solution is found, whose impulses it leaves."""
    n, good = AXES * count, cones.past[0]
    weight = scale = 0.0
    for c in range(count):
        weight += cones.weight[c] / count
    for i in range(n):
        scale = max(scale, abs(cones.target[i]))
        cones.impulse[i] = good[i] = 0.0
    scale *= 0.1 / weight
    last = cones.give[0] if cones.give[0] > 0.0 else tolerance / scale
    extra, reached, share, to = weight, 0.0, FIRST, tolerance
    for _ in range(STAGES):
        to = max(0.1 * tolerance, ROUGH * extra * scale)
        if active_newton(cones, count, extra, STAGE, to):
            for i in range(n):
                good[i] = cones.impulse[i]
            if extra <= last:
                return active_newton(cones, count, 0.0, STAGE, 0.1 * tolerance)
            reached, share = extra, max(share**1.5, 1e-2)
        else:
            for i in range(n):
                cones.impulse[i] = good[i]
            if reached == 0.0:
                extra *= 10.0
                continue
            share = math.sqrt(share)
            if share > 0.95:
                return False
        extra = max(reached * share, last)
    return False


@kernel
def _equations(cones: Cones, count: int) -> float:
    """Fill the equations [m/s] and their slope; the largest of them."""
    n, W, A, f, r = AXES * count, cones.whole, cones.slope, cones.error, cones.impulse
    worst = 0.0
    for c in range(count):
        i, mu = AXES * c, cones.friction[c]
        x, y, z = cones.target[i], cones.target[i + 1], cones.target[i + 2]
        for j in range(n):
            x += W[i, j] * r[j]
            y += W[i + 1, j] * r[j]
            z += W[i + 2, j] * r[j]
        by_normal, by_slide = 1.0 / W[i, i], 2.0 / (W[i + 1, i + 1] + W[i + 2, i + 2])
        pressed = r[i] - by_normal * x
        if pressed <= 0.0:  # it opens
            for j in range(n):
                A[i, j] = A[i + 1, j] = A[i + 2, j] = 0.0
            for k in range(i, i + AXES):
                A[k, k], f[k] = W[i, i], W[i, i] * r[k]
        else:
            s, t, bound = r[i + 1] - by_slide * y, r[i + 2] - by_slide * z, mu * pressed
            length = math.sqrt(s * s + t * t)
            f[i] = x
            for j in range(n):
                A[i, j] = W[i, j]
            if length <= bound:  # it sticks
                f[i + 1], f[i + 2] = y, z
                for j in range(n):
                    A[i + 1, j], A[i + 2, j] = W[i + 1, j], W[i + 2, j]
            else:
                s, t = s / length, t / length
                part, over = bound / length, 1.0 / by_slide
                f[i + 1], f[i + 2] = over * (r[i + 1] - bound * s), over * (r[i + 2] - bound * t)
                ss, st, tt = part * (1.0 - s * s), -part * s * t, part * (1.0 - t * t)
                normal = over * mu * by_normal
                for j in range(n):
                    A[i + 1, j] = ss * W[i + 1, j] + st * W[i + 2, j] + normal * s * W[i, j]
                    A[i + 2, j] = st * W[i + 1, j] + tt * W[i + 2, j] + normal * t * W[i, j]
                A[i + 1, i] -= over * mu * s
                A[i + 2, i] -= over * mu * t
                A[i + 1, i + 1] += over * (1.0 - ss)
                A[i + 1, i + 2] -= over * st
                A[i + 2, i + 1] -= over * st
                A[i + 2, i + 2] += over * (1.0 - tt)
        worst = max(worst, abs(f[i]), abs(f[i + 1]), abs(f[i + 2]))
        if not worst < math.inf:
            return math.inf
    return worst
