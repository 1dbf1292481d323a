"""Friction of a contact, implicitly in time: of one that slides or creeps, and of one that holds.

One that holds does not creep below Coulomb's limit: a spring and a damper act along the surface, which a sliding
contact drags along as bristles do:

    friction = k s + c u,   at most mu N;   ds/dt = u while it is below, and k s is never above mu N,

with the sliding velocity u of the contact point. Below mu N the contact stands still at s = T/k under a tangential
force T. The energy of the spring is lost where mu N falls below k s; none is made.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray, kernel
from models.rover.dynamics import Workspace
from models.rover.factor import add_sliding
from models.rover.points import Direction, project
from models.rover.reduction import Chain


class Bristles(NamedTuple):
    """Spring and damper of friction that holds, of each contact.

    Attributes:
        stiffness: k [N/m].
        damping: c [N s/m].
    """

    stiffness: float
    damping: float


def make_bristles(stiffness: float, damping: float) -> Bristles:
    """Checked bristles; raises ValueError: k is not above 0 N/m, or c is below 0 N s/m."""
    refuse(
        "friction that holds",
        [
            problem("stiffness", stiffness, Range(0.0, math.inf, "N/m", open_low=True)),
            problem("damping", damping, Range(0.0, math.inf, "N s/m")),
        ],
    )
    return Bristles(float(stiffness), float(damping))


@kernel
def slide_contact(
    chain: Chain,
    friction: float,
    slowest: float,
    body: int,
    along: tuple[Direction, Direction],
    arm: Direction,
    sliding: tuple[float, float],
    force: float,
    dt: float,
    work: Workspace,
) -> float:
    """Add Coulomb's friction at a point of a body to work, in proportion to the sliding speed below the slowest [m/s].

    Args as of `hold_contact`; `friction` is mu, `force` the normal force N [N].

    Returns:
        Friction over sliding speed [N s/m].
    """
    grip = friction * force / max(np.hypot(sliding[0], sliding[1]), slowest)
    none, start = (0.0, 0.0, 0.0), 5 + body
    for k in range(2):
        project(chain, work, body, along[k], none, arm, work.row)
        add_sliding(chain.speed_parent, work.mass_matrix, work.rhs, work.row, start, -grip * sliding[k], grip * dt)
    return grip


@kernel
def hold_contact(
    chain: Chain,
    bristles: Bristles,
    stretch: FloatArray,
    body: int,
    along: tuple[Direction, Direction],
    arm: Direction,
    sliding: tuple[float, float],
    limit: float,
    dt: float,
    work: Workspace,
) -> tuple[float, float]:
    """Add the friction at a point of a body to work, implicitly, and stretch its bristles.

    Args:
        chain: the rover.
        bristles: of the contact.
        stretch: (2,) or longer: s along both directions at the end of the step before [m]; changed.
        body: which body it acts on.
        along: two directions in the surface, at right angles, world axes.
        arm: [m] world axes, from the body's origin to the point.
        sliding: speed of the point along both [m/s].
        limit: mu N [N].
        dt: step [s].
        work: placed.

    Returns:
        The force that resists, along both directions [N]: the body gets it with the other sign.
    """
    k, slope = bristles.stiffness, bristles.damping + dt * bristles.stiffness
    stretch[0] += dt * sliding[0]  # of the step before: its speeds at its end
    stretch[1] += dt * sliding[1]
    pulled = k * np.hypot(stretch[0], stretch[1])
    if pulled > limit:
        stretch[0] *= limit / pulled
        stretch[1] *= limit / pulled
    first, second = k * stretch[0] + slope * sliding[0], k * stretch[1] + slope * sliding[1]
    share = min(limit / max(np.hypot(first, second), 1e-12), 1.0)
    none, start = (0.0, 0.0, 0.0), 5 + body
    held = share * first, share * second
    for i in range(2):
        project(chain, work, body, along[i], none, arm, work.row)
        add_sliding(chain.speed_parent, work.mass_matrix, work.rhs, work.row, start, -held[i], share * slope * dt)
    return held
