"""Newton's method on the natural map of the contacts, with a search along each step.

The map is r - P(r - (u + mu |u_T| e_N)/w), with P the projection onto the cone: zero where and only where the laws hold
(models.contact.cones.residual_of). Inside the cone it says u = 0, and where P gives zero r = 0.
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
    fill_motion,
    local_velocity,
    project,
)
from models.kernels.compiled import kernel, separate_kernel

HALVINGS = 8


@separate_kernel
def newton(cones: Cones, count: int, steps: int, damping: float, tolerance: float) -> bool:
    """At most `steps` steps from the impulses that there are, each shortened until the map's square is less.

    Args:
        cones: prepared.
        count: contacts.
        steps: at most so many.
        damping: of a step, of a contact's weight (models.contact.cones).
        tolerance: of the map [m/s].

    Returns:
        Whether the map is below `tolerance`.
    """
    square = _fill_map(cones, count)
    for _ in range(steps):
        if square <= tolerance * tolerance:
            return True
        _linearise(cones, count, damping)
        end_step(cones, count)
        square, ahead = _search(cones, count, square)
        if not ahead:
            return False
    return square <= tolerance * tolerance


@kernel
def _search(cones: Cones, count: int, square: float) -> tuple[float, bool]:
    """Take as much of the step as lowers the map's square; the square then, and False where nothing of it does."""
    for i in range(AXES * count):
        cones.before[i] = cones.impulse[i]
    share = 1.0
    for _ in range(HALVINGS):
        for i in range(AXES * count):
            cones.impulse[i] = cones.before[i] + share * cones.step[i]
        fill_motion(cones, count)
        now = _fill_map(cones, count)
        if now <= (1.0 - 1e-4 * share) * square:
            return now, True
        share *= 0.5
    for i in range(AXES * count):
        cones.impulse[i] = cones.before[i]
    fill_motion(cones, count)
    return square, False


@kernel
def _fill_map(cones: Cones, count: int) -> float:
    """Fill cones.velocity and the map [m/s] in cones.error; sum of its squares."""
    total, f, r, u = 0.0, cones.error, cones.impulse, cones.velocity
    for c in range(count):
        i, w = AXES * c, cones.weight[c]
        u[i], u[i + 1], u[i + 2] = local_velocity(cones, c)
        P, S, T = _aim(cones, c)
        p, s, t = project(P, S, T, cones.friction[c])
        f[i], f[i + 1], f[i + 2] = w * (r[i] - p), w * (r[i + 1] - s), w * (r[i + 2] - t)
        total += f[i] * f[i] + f[i + 1] * f[i + 1] + f[i + 2] * f[i + 2]
    return total


@kernel
def _aim(cones: Cones, c: int) -> tuple[float, float, float]:
    """What the map projects."""
    i, r, u, over = AXES * c, cones.impulse, cones.velocity, 1.0 / cones.weight[c]
    lift = cones.friction[c] * math.sqrt(u[i + 1] * u[i + 1] + u[i + 2] * u[i + 2])
    return r[i] - over * (u[i] + lift), r[i + 1] - over * u[i + 1], r[i + 2] - over * u[i + 2]


@kernel
def _linearise(cones: Cones, count: int, damping: float) -> None:
    """The system of a step, of the map that `_fill_map` has left."""
    u = cones.velocity
    begin_step(cones)
    for c in range(count):
        i, w, mu = AXES * c, cones.weight[c], cones.friction[c]
        P, S, T = _aim(cones, c)
        length = math.sqrt(S * S + T * T)
        if P + mu * length <= 0.0:
            add_open(cones, c)
        elif length <= mu * P:
            add_stuck(cones, c, damping)
        else:
            slide = math.sqrt(u[i + 1] * u[i + 1] + u[i + 2] * u[i + 2])
            by_y, by_z = (mu * u[i + 1] / slide, mu * u[i + 2] / slide) if slide > 0.0 else (0.0, 0.0)
            y, z, one = S / length, T / length, 1.0 / (1.0 + mu * mu)
            along, across = one * mu * mu, one * mu * (P + mu * length) / length
            ps, pt = one * mu * y, one * mu * z
            ss, st, tt = along * y * y + across * z * z, (along - across) * y * z, along * z * z + across * y * y
            add_contact(
                cones, c,
                (w * (1.0 - one), -w * ps, -w * pt, -w * ps, w * (1.0 - ss), -w * st, -w * pt, -w * st, w * (1.0 - tt)),
                (one, one * by_y + ps, one * by_z + pt, ps, ps * by_y + ss, ps * by_z + st, pt, pt * by_y + st,
                 pt * by_z + tt), damping,
            )  # fmt: skip
