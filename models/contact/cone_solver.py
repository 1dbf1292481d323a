"""Impulses of all contacts of a step (models.contact.cones): a few of Newton's steps from those of the step before.

Without such a start, or where it leads nowhere, sweeps over the contacts bring the impulses near enough for Newton's
method, which is tried again and again.
"""

from __future__ import annotations

import math

from models.contact.cone_active import active_newton, relax
from models.contact.cone_newton import newton
from models.contact.cone_sweeps import accelerate, sweep
from models.contact.cones import (
    AXES,
    Cones,
    begin_open,
    fill_motion,
    impulse_scale,
    into_cones,
    mean_weight,
    prepare,
    residual_of,
)
from models.kernels.compiled import kernel, separate_kernel

STEPS = 12  # of Newton's method at a time
SHORT, SHORT_SWEEPS = 4, 3  # rounds of a few sweeps, and sweeps of each
LONG, LONG_SWEEPS = 20, 20
STARTS = 6
DAMPING = 1e-3  # of Newton's steps; less where contacts give, of what they give
WIDE = 1e-2  # in turn with it: a step that runs in a circle with one may not with the other
MAPPED = 1e-5  # of the natural map


@separate_kernel
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
        newton(cones, count, STEPS, _damping(cones, count, MAPPED), 0.1 * tolerance)
        residual = into_cones(cones, count)
        if residual <= tolerance:
            return residual, 0
    for method in range(1, 3):
        # over contacts that give: at once where a start has failed, else after the quicker way
        if (method == 1) == warm:
            relax(cones, count, _damping(cones, count, DAMPING), tolerance)
            residual = into_cones(cones, count)
            if residual <= tolerance:
                return residual, 1
        else:
            residual = _quickly(cones, count, tolerance)
            if residual <= tolerance:
                return residual, 2
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
    """Damping of Newton's steps [of a weight], which is small against what contacts give."""
    if cones.give[0] > 0.0:
        return DAMPING * cones.give[0] / mean_weight(cones, count)
    return usual


@kernel
def _quickly(cones: Cones, count: int, tolerance: float) -> float:
    """A few sweeps from open contacts, then Newton's method, some times; the residual."""
    damping, residual = _damping(cones, count, DAMPING), math.inf
    begin_open(cones, count, 0.0)
    for _ in range(SHORT):
        for _ in range(SHORT_SWEEPS):
            sweep(cones, count)
        active_newton(cones, count, STEPS, damping, 0.1 * tolerance)
        residual = into_cones(cones, count)
        if residual <= tolerance:
            break
        if not residual < math.inf:
            begin_open(cones, count, 0.0)
    return residual


@separate_kernel
def _at_length(cones: Cones, count: int, tolerance: float) -> float:
    """Sweeps with acceleration, and Newton's methods in turn, from several normal impulses; the residual."""
    scale, least = impulse_scale(cones, count), math.inf
    for start in range(STARTS):
        size = 0.0 if start == 0 else 1.0 if start == 1 else 10.0 if start == 2 else 0.1 if start == 3 else 100.0
        begin_open(cones, count, (0.01 if start == 5 else size) * scale)
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
        if turn % 3 == 2:
            newton(cones, count, STEPS, _damping(cones, count, MAPPED), 0.1 * tolerance)
        else:
            damping = _damping(cones, count, DAMPING if turn % 2 == 0 else WIDE)
            active_newton(cones, count, STEPS, damping, 0.1 * tolerance)
        after = into_cones(cones, count)
        if after < residual:
            kept, residual = 0, after
            if after <= tolerance:
                return after
        else:
            for i in range(AXES * count):
                cones.impulse[i] = cones.saved[0, i]
            fill_motion(cones, count)
    return residual
