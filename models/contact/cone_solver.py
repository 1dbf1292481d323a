"""Impulses of all contacts of a step (models.contact.cones): a few of Newton's steps from those of the step before.

Without such a start, or where it leads nowhere, sweeps over the contacts bring the impulses near enough for Newton's
method, which is tried again and again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

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
from models.kernels.bound import BoundArguments, unpack
from models.kernels.compiled import FloatArray, address_of, kernel, separate_kernel

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
