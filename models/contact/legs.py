"""A leg's spring and damper in series with the contact of its wheel, and the grousers across a wheel's rim.

The leg and the wheel's body stay rigid in the dynamics; the leg's deflection x, along the plate's normal, is a state of
the contact. A leg with backlash deflects by that much before its spring bites. Force on the leg equals force at the
plate, so x follows from one monotone equation, solved at the end of the step (backward Euler) and so stable for any
stiffness of the plate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from models.contact.contact_points import DEPTH, ONSET_RATE, POINTS, RATE, RIM
from models.contact.laws import Law, law_force
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.dynamics import Workspace
from models.rover.points import Direction, axle, cross, dot, x_axis
from models.rover.reduction import Chain
from models.terrain.surface import Stand, into

# Relative: of the bracket around x, or of what is left over of the force.
CLOSED = 1e-14
MOST_ITERATIONS = 200


@kernel
def _pressure(law: Law, contact_points: FloatArray, deflection: float, deflection_rate: float) -> float:
    """Force [N] of all points of one wheel, each shallower by `deflection`."""
    total = 0.0
    for i in range(contact_points.shape[0]):
        total += law_force(
            law,
            contact_points[i, DEPTH] - deflection,
            contact_points[i, RATE] - deflection_rate,
            contact_points[i, ONSET_RATE],
        )
    return total


@kernel
def relaxed(compliance: float, damping: float, backlash: float, before: float, dt: float) -> float:
    """Deflection [m] of a leg without contact at the end of a step; within the backlash it stays where it is."""
    loose = min(before, backlash)
    return loose + (before - loose) * (damping / (damping + dt / compliance))


@kernel
def leg_deflection(
    law: Law,
    compliance: float,
    damping: float,
    backlash: float,
    contact_points: FloatArray,
    before: float,
    dt: float,
) -> float:
    """Deflection x of a leg [m] at the end of a step.

    There the plate's force is (x - backlash)/compliance, or nothing below it, + damping dx/dt.

    Args:
        law: of the plate alone.
        compliance: of the leg [m/N], above 0.
        damping: of the leg [N s/m].
        backlash: deflection up to which the leg's spring does not bite [m].
        contact_points: (points, columns) depth, rate and onset of the wheel's points (models.contact.contact_points).
        before: x a step ago [m].
        dt: step [s], above 0.
    """
    # a leg without contact relaxes to `low`, and one that deflects by the whole depth has no more contact
    loose = min(before, backlash)
    low, high = loose + (before - loose) * damping / (damping + dt / compliance), 0.0
    for i in range(contact_points.shape[0]):
        high = max(high, contact_points[i, DEPTH])
    if low >= high:
        return low
    at_low = _pressure(law, contact_points, low, (low - before) / dt)
    at_high = -max(high - backlash, 0.0) / compliance - damping * (high - before) / dt
    if at_low <= 0.0:
        return low
    # false position; an end that stays in place loses half its weight (Illinois)
    last = 0
    for _ in range(MOST_ITERATIONS):
        x = low + (high - low) * at_low / (at_low - at_high)
        speed = (x - before) / dt
        pressure = _pressure(law, contact_points, x, speed)
        excess = pressure - max(x - backlash, 0.0) / compliance - damping * speed
        if abs(excess) <= CLOSED * pressure or high - low <= CLOSED * high:
            return x
        if excess > 0.0:
            low, at_low = x, excess
            at_high = 0.5 * at_high if last == 1 else at_high
            last = 1
        else:
            high, at_high = x, excess
            at_low = 0.5 * at_low if last == -1 else at_low
            last = -1
    return 0.5 * (low + high)


@kernel
def grouser_tip(
    chain: Chain,
    q: FloatArray,
    work: Workspace,
    wheel: int,
    stand: Stand,
    angle: float,
    radius: float,
    count: int,
    offset: float,
    which: int,
) -> tuple[int, float, tuple[float, float, float]]:
    """The grouser next above (which = 0) or next below (1) the contact line, from the wheel's centre towards the plate.

    MacMahon 2016 (6.2): a grouser vector g_i of the grouser radius, here found by its angle about the axle. With the
    wheel's x axis level and forward, grouser 0 stands `offset` above the contact line, (sin beta, 0, -cos beta).

    Args:
        chain: the rover.
        q: configuration.
        work: placed for it.
        wheel: which.
        stand: of the plate.
        angle: beta of the plate [rad].
        radius: of the tips [m].
        count: grousers on the wheel, even, so that neighbours have different slots.
        offset: alpha of grouser 0 [rad].
        which: 0 or 1.

    Returns:
        slot: 0 or 1, constant while the grouser is one of the two.
        lean: angle above the contact line [rad], alpha.
        arm: from the wheel's centre to the tip [m], in the axes of the plate's ground.
    """
    body = chain.wheel_body[wheel]
    turned = into(stand, wheel, axle(work, body))
    ahead = into(stand, wheel, x_axis(chain, q, work, body))
    first = 0.5 * np.pi - angle - offset  # of grouser 0 on the wheel
    return next_grouser(turned, ahead, (np.sin(angle), 0.0, -np.cos(angle)), radius, count, first, which)


@kernel
def next_grouser(
    turned: Direction, ahead: Direction, towards: Direction, radius: float, count: int, first: float, which: int
) -> tuple[int, float, Direction]:
    """The grouser next to a contact line; `which` and what is returned as in `grouser_tip`, in any axes.

    Args:
        turned: the wheel's axle, unit vector.
        ahead: its x axis.
        towards: from its centre along the contact line, unit vector.
        radius: of the tips [m].
        count: grousers on the wheel, even.
        first: angle of grouser 0 on the wheel, from its x axis in the sense of forward spin [rad].
        which: 0 or 1.
    """
    # a quarter turn of forward spin on from the wheel's x axis, the direction that leads down in front
    down = cross(turned, ahead)
    line = np.arctan2(dot(towards, down), dot(towards, ahead))
    pitch = 2.0 * np.pi / count
    index = int(np.floor((line - first) / pitch)) + which
    at = first + index * pitch
    return index & 1, line - at, arm_of(ahead, down, radius, at)


@kernel
def arm_of(ahead: Direction, down: Direction, radius: float, at: float) -> Direction:
    """From a wheel's centre to its rim or a grouser's tip [m], at an angle from its x axis towards `down` [rad]."""
    c, s = radius * np.cos(at), radius * np.sin(at)
    return c * ahead[0] + s * down[0], c * ahead[1] + s * down[1], c * ahead[2] + s * down[2]


class Grousers(NamedTuple):
    """Grousers and rims of wheels on firm ground, and how far the friction of each of their points is stretched.

    Attributes:
        number: (wheels,) of grousers, an even number; 0 of a smooth rim.
        below: (wheels,) how far the rim lies below their tips [m].
        first: angle of grouser 0 on its wheel [rad], see `next_grouser`.
        stretch: (wheels, rows, 2) along two directions in the ground [m]. On a plane the rows are those of
            `models.contact.contact_points`, two tips and the rim; on a profile two for each grouser, by the face.
        place: (4,) scratch, of one tip on a profile.
    """

    number: IntArray
    below: FloatArray
    first: float
    stretch: FloatArray
    place: FloatArray


def make_grousers(each: Sequence[tuple[int, float]], first: float) -> Grousers:
    """Allocate; `each` wheel's number of grousers and their height [m], `first` as in `Grousers`."""
    number, below = np.array([one for one, _ in each], np.int64), np.array([height for _, height in each])
    return Grousers(number, below, first, np.zeros((len(each), max(POINTS, 2 * int(number.max())), 2)), np.zeros(4))


@kernel
def point_of(
    grousers: Grousers, turned: Direction, ahead: Direction, normal: Direction, wheel: int, radius: float, which: int
) -> tuple[int, Direction]:
    """Row of `stretch` and place from the wheel's centre [m] of a point that can touch a plane; the rim has RIM."""
    if which == RIM or grousers.number[wheel] == 0:
        rim = radius - grousers.below[wheel]
        return RIM, (-rim * normal[0], -rim * normal[1], -rim * normal[2])
    towards = (-normal[0], -normal[1], -normal[2])
    slot, _, arm = next_grouser(turned, ahead, towards, radius, grousers.number[wheel], grousers.first, which)
    return slot, arm
