"""Newton's method on Alart's and Curnier's equations, and a path to their solution over contacts that yield.

Each contact opens, sticks or slides by what r - rho u says, and has its equations accordingly (Alart, Curnier 1991).
From a good start a few steps are enough. Where wheels stick in directions that nearly contradict one another, the
start is too far: then contacts first yield by more, times their impulse, which makes the equations well
conditioned, and what they give more is brought to zero.
"""

from __future__ import annotations

import math

from models.contact.cones import (
    AXES,
    Cones,
    add_contact,
    add_open,
    add_stuck,
    begin_step,
    end_step,
    impulse_scale,
    local_velocity,
    mean_weight,
    prepare,
)
from models.kernels.compiled import kernel, separate_kernel

STEPS = 10  # at one give
STAGES = 40
FIRST = 0.03  # of what contacts yield more, from stage to stage
ROUGH = 1e-5  # of the velocity by which contacts give: how exactly a stage is solved


@separate_kernel
def active_newton(cones: Cones, count: int, steps: int, damping: float, tolerance: float) -> bool:
    """At most `steps` whole steps from the impulses that there are; args and return as of cone_newton.newton.

    The motion is then that of the impulses but for rounding.
    """
    for _ in range(steps):
        if _fill_equations(cones, count) <= tolerance * tolerance:
            return True
        _linearise(cones, count, damping)
        end_step(cones, count)
        for i in range(AXES * count):
            cones.impulse[i] += cones.step[i]
        for a in range(cones.turn.size):
            cones.motion[a] += cones.turn[a]
    return _fill_equations(cones, count) <= tolerance * tolerance


@separate_kernel
def relax(cones: Cones, count: int, damping: float, tolerance: float) -> bool:
    """From contacts that give to those that there are; whether a solution is found, whose impulses it leaves."""
    n, good, own = AXES * count, cones.saved[0], cones.give[0]
    for i in range(n):
        cones.impulse[i] = good[i] = 0.0
    scale, extra = impulse_scale(cones, count), mean_weight(cones, count)
    last = own if own > 0.0 else 10.0 * tolerance / scale
    reached, share, ended = 0.0, FIRST, False
    for _ in range(STAGES):
        cones.give[0] = own + extra
        prepare(cones, count)
        solved = active_newton(cones, count, STEPS, damping, max(0.1 * tolerance, ROUGH * extra * scale))
        cones.give[0] = own
        if solved:
            for i in range(n):
                good[i] = cones.impulse[i]
            ended = extra <= last
            if ended:
                break
            reached, share = extra, max(share * math.sqrt(share), 1e-2)
        else:
            for i in range(n):
                cones.impulse[i] = good[i]
            if reached == 0.0:
                extra *= 10.0
                continue
            share = math.sqrt(share)
            if share > 0.95:
                break
        extra = max(reached * share, last)
    prepare(cones, count)
    return ended and active_newton(cones, count, STEPS, damping, 0.1 * tolerance)


@kernel
def _fill_equations(cones: Cones, count: int) -> float:
    """Fill cones.velocity and the equations [m/s] in cones.error; sum of their squares."""
    total, f, r, u = 0.0, cones.error, cones.impulse, cones.velocity
    for c in range(count):
        i, normal, over = AXES * c, cones.own[c, 0], _tangential(cones, c)
        u[i], u[i + 1], u[i + 2] = local_velocity(cones, c)
        pressed, s, t = _aim(cones, c)
        bound, length = cones.friction[c] * pressed, math.sqrt(s * s + t * t)
        if pressed <= 0.0:
            f[i], f[i + 1], f[i + 2] = normal * r[i], normal * r[i + 1], normal * r[i + 2]
        elif length <= bound:
            f[i], f[i + 1], f[i + 2] = u[i], u[i + 1], u[i + 2]
        else:
            part = bound / length
            f[i], f[i + 1], f[i + 2] = u[i], over * (r[i + 1] - part * s), over * (r[i + 2] - part * t)
        total += f[i] * f[i] + f[i + 1] * f[i + 1] + f[i + 2] * f[i + 2]
    return total


@kernel
def _tangential(cones: Cones, c: int) -> float:
    """Mean of the tangential diagonal of a contact's block [1/kg]."""
    return 0.5 * (cones.own[c, 3] + cones.own[c, 5])


@kernel
def _aim(cones: Cones, c: int) -> tuple[float, float, float]:
    """What decides: r - rho u, with a rho of the normal and one of the tangents."""
    i, r, u, over = AXES * c, cones.impulse, cones.velocity, 1.0 / _tangential(cones, c)
    return r[i] - u[i] / cones.own[c, 0], r[i + 1] - over * u[i + 1], r[i + 2] - over * u[i + 2]


@kernel
def _linearise(cones: Cones, count: int, damping: float) -> None:
    """The system of a step, of the equations that `_fill_equations` has left."""
    begin_step(cones)
    for c in range(count):
        normal, over = cones.own[c, 0], _tangential(cones, c)
        pressed, s, t = _aim(cones, c)
        bound, length = cones.friction[c] * pressed, math.sqrt(s * s + t * t)
        if pressed <= 0.0:
            add_open(cones, c)
        elif length <= bound:
            add_stuck(cones, c, damping)
        else:
            s, t, part, rubs = s / length, t / length, bound / length, over * cones.friction[c]
            ss, st, tt = part * (1.0 - s * s), -part * s * t, part * (1.0 - t * t)
            add_contact(
                cones, c,
                (0.0, 0.0, 0.0, -rubs * s, over * (1.0 - ss), -over * st, -rubs * t, -over * st, over * (1.0 - tt)),
                (1.0, 0.0, 0.0, rubs * s / normal, ss, st, rubs * t / normal, st, tt), damping,
            )  # fmt: skip
