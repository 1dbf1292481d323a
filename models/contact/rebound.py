"""The second phase of an impact with friction: what the contacts give back of what the first has taken.

In the first phase all contacts are stopped, as plastic ones. That never makes energy. In the second each of them is
parted again by further impulses, with their own friction, in proportion to the speed at which it had closed and to
its restitution e. One factor s of all contacts is left to the law:

- Newton: s = 1, the speeds are e times those before. Energy may be made where friction turns the sliding round.
- Poisson: the normal impulses of the second phase are e times those of the first, summed.
- Stronge: the work of the normal impulses of the second phase is e^2 times that of the first, summed, and the second
  phase never gives more than the first has taken. The works are those along straight lines. His energetic coefficient
  takes those along the path, which bends where a sliding ends: of random impacts of one contact in a plane 25 to 44 %
  give the same, and the others speeds that differ by up to half of that before.

A contact also holds the forces of its step, as a weight, and what it bears of these is never given back. With Poisson's
and Stronge's law the impact is therefore a separate problem, from the velocities before the step. A second problem
adds the forces, with contacts that only hold: one that has met the impact holds until it parts at the speed that the
impact has left, at most e times that before, as with Newton's law. As the place moves with the mean of the velocities
before and after the step (theta 0.5), a weight that is held so makes no energy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.contact.cone_solver import Search, address_of_search
from models.contact.cones import AXES, Cones, fill_motion, local_velocity
from models.kernels.bound import BoundArguments, call_with, unpack
from models.kernels.compiled import FloatArray, address_of, kernel

NEWTON, POISSON, STRONGE = range(3)
LAWS = ("newton", "poisson", "stronge")
WIDEST = 16.0  # largest s: a contact that would part faster parts at this, by less impulse than the law says
TURNS = 40
NEAR = 1e-9  # of what is aimed at, and of s


class Rebound(NamedTuple):
    """Law, and what the second phase has to know of the contacts; arrays are for the most contacts that there can be.

    Attributes:
        law: NEWTON, POISSON or STRONGE.
        restitution: (contacts,) e.
        closing: (contacts,) speeds before the impact [m/s], positive where a contact meets one, else 0.
        push: (3 contacts,) local velocities [m/s] that the step's forces give.
        first: (2, 3 contacts) impulses [N s] of the first phase, and local velocities [m/s] after it.
        parted: (3 contacts,) local velocities [m/s] before the impact, then after it.
        left: (1,) residual of the newest problem [m/s].
        solver: address of models.contact.cone_solver.search in this process.
    """

    law: int
    restitution: FloatArray
    closing: FloatArray
    push: FloatArray
    first: FloatArray
    parted: FloatArray
    left: FloatArray
    solver: int


def make_rebound(law: str, cones: Cones) -> Rebound:
    """Allocate for these contacts. Raises ValueError: a law that does not exist."""
    if law not in LAWS:
        raise ValueError(f"restitution law is {law!r}, allowed: {', '.join(map(repr, LAWS))}")
    contacts, left = cones.friction.size, np.zeros(1)
    return Rebound(
        LAWS.index(law), np.zeros(contacts), np.zeros(contacts), np.zeros(AXES * contacts),
        np.zeros((2, AXES * contacts)), np.zeros(AXES * contacts), left, address_of_search(Search(cones, left)),
    )  # fmt: skip


class Impact(NamedTuple):
    """What `find_impulses` takes.

    Attributes:
        cones: the problem.
        rebound: law of impact.
        residual: (1,) what is left of it [m/s].
    """

    cones: Cones
    rebound: Rebound
    residual: FloatArray


def address_of_find_impulses(impact: Impact) -> int:
    """Address of `find_impulses`, for models.kernels.bound.call_with: one machine code for the steps of all rovers."""
    return address_of(find_impulses, BoundArguments(impact), 1, 0.0)


@kernel
def find_impulses(bound: BoundArguments[Impact], count: int, tolerance: float) -> None:
    """Solve for the first `count` contacts; where one meets an impact, and the law is not Newton's, its two phases.

    The impulses from which the next step's search begins are left in `rebound.first`: after two phases, those by which
    the contacts hold the step's forces.
    """
    cones, law, left = unpack(bound)
    met = False
    for c in range(count):
        met = met or law.restitution[c] * law.closing[c] > 0.0
    if met and law.law != NEWTON:
        left[0] = _impact_then_forces(cones, count, law, tolerance)
    else:
        left[0] = _solve(cones, count, law, tolerance)
        for i in range(AXES * count):
            law.first[0, i] = cones.impulse[i]


@kernel
def _impact_then_forces(cones: Cones, count: int, law: Rebound, tolerance: float) -> float:
    """The two phases of the impact, then what the contacts hold of the step's forces; the largest residual [m/s]."""
    size, impact = AXES * count, law.first[1]
    for i in range(size):
        cones.target[i] -= law.push[i]
        law.parted[i] = cones.target[i]
    residual = _solve(cones, count, law, tolerance)
    residual = max(residual, rebound(cones, count, law, tolerance))
    fill_motion(cones, count)
    for i in range(size):
        cones.target[i] = law.parted[i]
    for c in range(count):
        i = AXES * c
        law.parted[i], law.parted[i + 1], law.parted[i + 2] = local_velocity(cones, c)
    for i in range(size):
        cones.target[i] = law.parted[i] + law.push[i]
        impact[i], cones.impulse[i] = cones.impulse[i], 0.0
    for c in range(count):
        if law.closing[c] > 0.0:
            cones.target[AXES * c] -= min(law.parted[AXES * c], law.restitution[c] * law.closing[c])
    residual = max(residual, _solve(cones, count, law, tolerance))
    for i in range(size):
        law.first[0, i] = cones.impulse[i]
        cones.impulse[i] += impact[i]
    return residual


@kernel
def _solve(cones: Cones, count: int, law: Rebound, tolerance: float) -> float:
    """Solve the problem that cones holds; its residual [m/s]."""
    call_with(law.solver, Search(cones, law.left), count, tolerance)
    return law.left[0]


@kernel
def rebound(cones: Cones, count: int, law: Rebound, tolerance: float) -> float:
    """Add the impulses of the second phase to those of the first, which cones.impulse holds.

    Args:
        cones: solved for contacts that are stopped.
        count: contacts.
        law: with restitution and closing speeds filled; not NEWTON.
        tolerance: of the residual [m/s].

    Returns:
        Residual [m/s] of the second phase's contacts.
    """
    first, aim, taken = law.first, 0.0, 0.0
    for i in range(AXES * count):
        first[0, i] = cones.impulse[i]
    for c in range(count):
        i, e = AXES * c, law.restitution[c]
        first[1, i], first[1, i + 1], first[1, i + 2] = local_velocity(cones, c)
        for k in range(i, i + AXES):
            taken -= 0.5 * first[0, k] * (cones.target[k] + first[1, k])
        if law.closing[c] > 0.0:
            normal = 0.5 * first[0, i] * (law.closing[c] - first[1, i])
            aim += e * first[0, i] if law.law == POISSON else e * e * max(normal, 0.0)
    residual = 0.0
    for i in range(AXES * count):
        cones.impulse[i] = 0.0
    if aim > 0.0:
        residual = _search(cones, count, law, aim, taken, tolerance)
    for i in range(AXES * count):
        cones.impulse[i] += first[0, i]
    return residual


@kernel
def _search(cones: Cones, count: int, law: Rebound, aim: float, taken: float, tolerance: float) -> float:
    """Find s by secants within a bracket, and leave its impulses; where there is no such s, those that give less.

    An end of the bracket that stands for a second turn counts half: where friction jams, the excess bends so sharply
    that plain secants hardly move the other end (Dowell and Jarratt, 1971).
    """
    low, high, s = 0.0, WIDEST, 1.0
    below, above, last = -aim, 0.0, 0.0
    for _ in range(TURNS):
        residual = _part(cones, count, s, law, tolerance)
        over = _excess(cones, count, s, law, aim, taken)
        if abs(over) <= NEAR * aim or (s >= WIDEST and over < 0.0):
            return residual
        stands = 0.5 if over * last > 0.0 else 1.0
        if over > 0.0:
            high, above, below = s, over, stands * below
        else:
            low, below, above = s, over, stands * above
        if high - low <= NEAR * high:
            break
        last = over
        s = min(2.0 * s, WIDEST) if above <= 0.0 else low - below * (high - low) / (above - below)
    return _part(cones, count, low, law, tolerance)


@kernel
def _part(cones: Cones, count: int, s: float, law: Rebound, tolerance: float) -> float:
    """Impulses after which contacts part at s e times the speed at which they closed; their residual."""
    for c in range(count):
        i = AXES * c
        cones.target[i] = law.first[1, i] - s * law.restitution[c] * law.closing[c]
        cones.target[i + 1], cones.target[i + 2] = law.first[1, i + 1], law.first[1, i + 2]
        # each from zero: from those of another s, Newton's steps may find another solution, and no s is found
        cones.impulse[i] = cones.impulse[i + 1] = cones.impulse[i + 2] = 0.0
    return _solve(cones, count, law, tolerance)


@kernel
def _excess(cones: Cones, count: int, s: float, law: Rebound, aim: float, taken: float) -> float:
    """By how much the second phase gives more than it may [N s; J with STRONGE]."""
    given, whole, first = 0.0, 0.0, law.first
    for c in range(count):
        i, r = AXES * c, cones.impulse
        x, y, z = local_velocity(cones, c)
        x += s * law.restitution[c] * law.closing[c]
        normal = 0.5 * r[i] * (first[1, i] + x)
        whole += normal + 0.5 * (r[i + 1] * (first[1, i + 1] + y) + r[i + 2] * (first[1, i + 2] + z))
        if law.closing[c] > 0.0:
            given += r[i] if law.law == POISSON else normal
    return given - aim if law.law == POISSON else max(given - aim, whole - taken)
