"""Impulses of all contacts of a step (models.contact.cones): a few of Newton's steps from those of the step before.

Without such a start sweeps come first. What is left goes to slower methods, which solve nearly everything.
"""

from __future__ import annotations

import math

from models.contact.cone_active import DIRECT, active_newton, fill_whole, relax
from models.contact.cone_newton import begin_open, first_smoothing, newton
from models.contact.cone_sweeps import accelerate, sweep
from models.contact.cones import AXES, Cones, fill_motion, local_velocity, prepare, project, residual_of
from models.kernels.compiled import kernel, separate_kernel

SWEEPS = 60  # half of all problems take 12 to 22, and from the impulses of a step before a few
ROUNDS = 400  # of the fixed point
# A step of a simulation that is solved to this [m/s] does not go to the fixed point, which may take seconds.
ENOUGH_MPS = 1e-8
PART = 0.25  # of the way that a round goes: all of it may run in circles


@separate_kernel
def solve_cones(cones: Cones, count: int, tolerance: float) -> tuple[float, int]:
    """Find the impulses of the first `count` contacts, from those that cones.impulse holds.

    Args:
        cones: half, target, friction and give filled.
        count: contacts that there are.
        tolerance: of the residual [m/s].

    Returns:
        The residual [m/s] (models.contact.cones.residual_of), and which method found it: 0 Newton's from the impulses
        of the step before, 1 over contacts that give, 2 sweeps, 3 Newton's after them, 4 the smoothed one, 5 the fixed
        point of convex problems; 6: none, the residual is larger. A problem that began with impulses is then left with
        the best that was found, if that is below ENOUGH_MPS.
    """
    prepare(cones, count)
    residual = residual_of(cones, count)
    if residual <= tolerance or not residual < math.inf:  # of no finite numbers, nothing that follows would end
        return residual, 0 if residual <= tolerance else 6
    warm, best = _is_warm(cones, count), math.inf
    if warm:
        fill_whole(cones, count)
        for method in range(2 if cones.give[0] > 0.0 else 1):
            if _near(cones, count, method, tolerance):
                residual = _swept(cones, count, tolerance)
                if residual <= tolerance:
                    return residual, method
                best = _note_best(cones, count, residual, best)
        begin_open(cones, count, 0.0)
    kept = 0
    for _ in range(SWEEPS):
        sweep(cones, count)
        residual = residual_of(cones, count)
        if residual <= tolerance:
            return residual, 2
        if not residual < math.inf:
            return math.inf, 6
        kept = accelerate(cones, count, kept)
    best = _note_best(cones, count, residual_of(cones, count), best)
    eps, smooth = first_smoothing(cones, count), 0.0
    for turn in range(6):
        if turn > 0:
            scale = 1.0 if turn == 1 else 10.0 if turn == 2 else 0.1 if turn == 3 else 100.0 if turn == 4 else 0.01
            smooth = eps * scale
            begin_open(cones, count, smooth)
        newton(cones, count, smooth, False, 0.1 * tolerance)
        residual = _swept(cones, count, tolerance)
        if residual <= tolerance:
            return residual, 4 if turn > 0 else 3
        best = _note_best(cones, count, residual, best)
    if warm and best <= ENOUGH_MPS:
        for i in range(AXES * count):
            cones.impulse[i] = cones.best[i]
        fill_motion(cones, count)
        return best, 6
    _fixed_point(cones, count, tolerance)
    residual = _swept(cones, count, tolerance)
    if residual <= tolerance:
        return residual, 5
    return residual, 6


@kernel
def _note_best(cones: Cones, count: int, residual: float, best: float) -> float:
    """Keep the impulses if their residual is the least so far; gives that back."""
    if not residual < best:
        return best
    for i in range(AXES * count):
        cones.best[i] = cones.impulse[i]
    return residual


@kernel
def _is_warm(cones: Cones, count: int) -> bool:
    """Whether there are impulses to begin with."""
    for i in range(AXES * count):
        if cones.impulse[i] != 0.0:
            return True
    return False


@kernel
def _near(cones: Cones, count: int, method: int, tolerance: float) -> bool:
    """Newton's steps from the impulses of the step before, or over contacts that give."""
    if method == 0:
        return active_newton(cones, count, 0.0, DIRECT, 0.1 * tolerance)
    return relax(cones, count, tolerance)


@kernel
def _swept(cones: Cones, count: int, tolerance: float) -> float:
    """Bring the impulses into their cones; the residual then, or after a few sweeps if it is too large."""
    for c in range(count):
        i, r = AXES * c, cones.impulse
        r[i], r[i + 1], r[i + 2] = project(r[i], r[i + 1], r[i + 2], cones.friction[c])
    fill_motion(cones, count)
    residual = residual_of(cones, count)
    for _ in range(5):
        if residual <= tolerance:
            break
        sweep(cones, count)
        residual = residual_of(cones, count)
    return residual


@separate_kernel
def _fixed_point(cones: Cones, count: int, tolerance: float) -> None:
    """Hold mu |u_T|, solve the convex problem that is left, go a part of the way to its mu |u_T|, and repeat.

    A solution is a fixed point of that map, and there is one (Acary, Cadoux, Lemarechal, Malick 2011). Newton's method
    ends the search once it is near.
    """
    n, saved, warm = AXES * count, cones.past[0], False
    for c in range(count):
        cones.shift[c] = 0.0
    for turn in range(1, ROUNDS + 1):
        warm = _solve_held(cones, count, warm, tolerance)
        for c in range(count):
            _, y, z = local_velocity(cones, c)
            cones.shift[c] += PART * (cones.friction[c] * math.sqrt(y * y + z * z) - cones.shift[c])
        if turn % 8 == 0:
            for i in range(n):
                saved[i] = cones.impulse[i]
            newton(cones, count, 0.0, False, 0.1 * tolerance)
            if residual_of(cones, count) <= tolerance:
                return
            for i in range(n):
                cones.impulse[i] = saved[i]
            fill_motion(cones, count)


@kernel
def _solve_held(cones: Cones, count: int, warm: bool, tolerance: float) -> bool:
    """The convex problem with mu |u_T| held, from the impulses that there are if `warm`; whether it is solved."""
    eps = first_smoothing(cones, count)
    for turn in range(0 if warm else 1, 5):
        scale = 1e-3 if turn == 0 else 1.0 if turn == 1 else 10.0 if turn == 2 else 0.1 if turn == 3 else 100.0
        if turn > 0:
            begin_open(cones, count, eps * scale)
        if newton(cones, count, eps * scale, True, 0.01 * tolerance) <= tolerance:
            return True
    return False
