"""Wheels on a hard profile by a contact law, with friction that holds (models.contact.friction).

A wheel touches the profile in up to three places (models.terrain.profile): faces and edges. Each has a normal force by
the law of the ground, and its own bristles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.checks import refuse
from models.contact.friction import Bristles, hold_contact
from models.contact.laws import Law, press
from models.contact.legs import Grousers, arm_of
from models.contact.obstacle import ObstacleContact
from models.contact.wheel_slots import LARGEST, GroundContact
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.dynamics import Workspace
from models.rover.points import Direction, axle, body_position, body_spin, body_velocity, cross, dot, x_axis
from models.rover.reduction import Chain
from models.rover.rover import Rover
from models.terrain.profile import COLUMNS, FACE, GAP, MOST_TOUCHED, NORMAL_X, NORMAL_Z, Profile, depth_inside, touched

NOWHERE = -1
_AT_EDGE_M = 1e-9  # rounding of a place at an edge


class SensedFace(NamedTuple):
    """A plate on force sensors, flush with a face of the profile: what stands or falls on it, they bear.

    It bears the edges at its ends, too. What it bears is in the last row of `ObstacleContact`, as if one wheel did.

    Attributes:
        face: which.
        first, last: where it begins and ends, along the face from its lower corner in the direction of the drive [m].
        under: (wheels,) 1 of those that pass over it, 0 of the others.
        middle: (2,) of the plate: across, world y, and along the face [m].
        angle: of the face to the horizontal, positive if it rises ahead [rad].
    """

    face: int
    first: float
    last: float
    under: IntArray
    middle: FloatArray
    angle: float


class ProfileContact(NamedTuple):
    """A profile, how it holds wheels, and how far each contact is stretched.

    Attributes:
        profile: the line, with its friction.
        bristles: of each contact.
        place: (MOST_TOUCHED, COLUMNS) scratch, of one wheel.
        face: (wheels, MOST_TOUCHED) which face each contact of the newest step was on, or NOWHERE.
        stretch: (wheels, MOST_TOUCHED, 2) of each one's bristles at the beginning of that step: along the profile, and
            to port [m].
        before: (MOST_TOUCHED, 2) scratch.
        face_before: (2, MOST_TOUCHED) scratch.
        sensed: the plate on force sensors, or None. It is chosen when a step is compiled.
        in_soil: whether it stands in soil, whose forces on the wheels of the same step are noted before.
        grousers: on whose tips, or the rim between them, a wheel stands, or None: on a circle through the tips. It is
            chosen when a step is compiled, too.
    """

    profile: Profile
    bristles: Bristles
    place: FloatArray
    face: IntArray
    stretch: FloatArray
    before: FloatArray
    face_before: IntArray
    sensed: SensedFace | None = None
    in_soil: bool = False
    grousers: Grousers | None = None


def make_profile_contact(
    rover: Rover,
    profile: Profile,
    bristles: Bristles,
    sensed: SensedFace | None = None,
    in_soil: bool = False,
    grousers: Grousers | None = None,
) -> ProfileContact:
    """Allocate for a rover; raises ValueError: its rims are not straight."""
    crowned = rover.chain.crown is not None
    refuse("profile", ["wheels have crowned rims, allowed on a profile: straight ones" if crowned else None])
    wheels = len(rover.wheel_names)
    face = np.full((wheels, MOST_TOUCHED), NOWHERE, np.int64)
    return ProfileContact(
        profile, bristles, np.zeros((MOST_TOUCHED, COLUMNS)), face,
        np.zeros((wheels, MOST_TOUCHED, 2)), np.zeros((MOST_TOUCHED, 2)),
        np.zeros((2, MOST_TOUCHED), np.int64), sensed, in_soil, grousers,
    )  # fmt: skip


@kernel
def push_on_profile(
    chain: Chain,
    law: Law,
    hard: ProfileContact,
    q: FloatArray,
    wheel: int,
    dt: float,
    contact: GroundContact,
    sensors: ObstacleContact,
    work: Workspace,
) -> None:
    """Add the profile's force on one wheel to work.rhs and its damping to work.mass_matrix.

    A wheel counts as a circle in the plane of x and z, which it is while its axle is level and across the profile.
    Readings: the upward and the forward part of all forces on the wheel, friction included; the depth is that of the
    deepest contact, the slip that of the contact with the largest normal force.
    """
    body = chain.wheel_body[wheel]
    radius = _rim(hard.grousers, chain, wheel)
    x, y, z = body_position(q, work, body)
    count = touched(hard.profile, x, z, radius, 0.0, hard.place)
    _follow(hard, wheel, count)
    if not hard.in_soil:
        contact.vertical[wheel] = contact.pull[wheel] = contact.slip[wheel] = contact.sinkage[wheel] = 0.0
    contact.scratch[wheel, LARGEST] = contact.vertical[wheel]
    for i in range(count):
        depth, nx, nz = -hard.place[i, GAP], hard.place[i, NORMAL_X], hard.place[i, NORMAL_Z]
        spot = (x - nx * (radius - depth), y, z - nz * (radius - depth))
        arm, through = (-radius * nx, 0.0, -radius * nz), (0.0, 0.0, 0.0)
        _push_at(
            chain, law, hard, hard.place[i], spot, arm, through, hard.stretch[wheel, i], wheel, dt, contact, sensors,
            work,
        )  # fmt: skip
    _push_tips(hard.grousers, chain, law, hard, q, (x, y, z), wheel, dt, contact, sensors, work)


@kernel
def _rim(grousers: Grousers | None, chain: Chain, wheel: int) -> float:
    """Radius of the circle that touches the profile [m]."""
    if grousers is None:  # decided at compile time
        return float(chain.wheel_radius[wheel])
    return float(chain.wheel_radius[wheel] - grousers.below[wheel])


@kernel
def _push_tips(
    grousers: Grousers | None,
    chain: Chain,
    law: Law,
    hard: ProfileContact,
    q: FloatArray,
    centre: Direction,
    wheel: int,
    dt: float,
    contact: GroundContact,
    sensors: ObstacleContact,
    work: Workspace,
) -> None:
    """Add the forces on the tips of a wheel's grousers; their flanks touch nothing."""
    if grousers is None:
        return
    body, place = chain.wheel_body[wheel], grousers.place
    turned, ahead = axle(work, body), x_axis(chain, q, work, body)
    down, count = cross(turned, ahead), grousers.number[wheel]
    for grouser in range(count):
        at = grousers.first + grouser * 2.0 * np.pi / count
        arm = arm_of(ahead, down, chain.wheel_radius[wheel], at)
        touching = 0
        for face in range(hard.profile.length.size):
            x, z = centre[0] + arm[0], centre[2] + arm[2]
            depth = depth_inside(hard.profile, face, x, z)
            if depth <= 0.0:
                continue
            touching |= 1 << (face & 1)
            place[GAP], place[FACE] = -depth, float(face)
            nx, nz = -hard.profile.along[face, 1], hard.profile.along[face, 0]
            place[NORMAL_X], place[NORMAL_Z] = nx, nz
            spot = (x + nx * depth, centre[1], z + nz * depth)
            stretch = grousers.stretch[wheel, 2 * grouser + (face & 1)]
            _push_at(chain, law, hard, place, spot, arm, arm, stretch, wheel, dt, contact, sensors, work)
        for parity in range(2):
            if touching & (1 << parity) == 0:
                grousers.stretch[wheel, 2 * grouser + parity, :] = 0.0


@kernel
def _push_at(
    chain: Chain,
    law: Law,
    hard: ProfileContact,
    place: FloatArray,
    spot: Direction,
    arm: Direction,
    through: Direction,
    stretch: FloatArray,
    wheel: int,
    dt: float,
    contact: GroundContact,
    sensors: ObstacleContact,
    work: Workspace,
) -> None:
    """Add the force at a place of the profile: friction at `arm` from the centre, the normal force at `through` [m]."""
    body = chain.wheel_body[wheel]
    depth, nx, nz = -place[GAP], place[NORMAL_X], place[NORMAL_Z]
    normal, velocity, spin = (nx, 0.0, nz), body_velocity(work, body), body_spin(work, body)
    rising = dot(velocity, normal)
    turning = cross(spin, arm)
    if through[0] != 0.0 or through[2] != 0.0:
        rising += dot(turning, normal)
    force = press(chain, law, normal, body, through, depth, rising, dt, work)
    ahead = nz * (velocity[0] + turning[0]) - nx * (velocity[2] + turning[2])
    limit = hard.profile.friction[int(place[FACE])] * force
    held, _ = hold_contact(
        chain, hard.bristles, stretch, body, ((nz, 0.0, -nx), (0.0, 1.0, 0.0)), arm,
        (ahead, velocity[1] + turning[1]), limit, dt, work,
    )  # fmt: skip
    contact.vertical[wheel] += nz * force + nx * held
    contact.pull[wheel] += nx * force - nz * held
    contact.sinkage[wheel] = max(contact.sinkage[wheel], depth)
    push = (nx * force - nz * held, nz * force + nx * held)
    _bear(hard.sensed, hard, wheel, place, spot, push, sensors)
    if force > contact.scratch[wheel, LARGEST]:
        contact.scratch[wheel, LARGEST], forward = force, nz * velocity[0] - nx * velocity[2]
        rolling = chain.wheel_radius[wheel] * dot(spin, axle(work, body))
        contact.slip[wheel] = (rolling - forward) / max(abs(rolling), abs(forward), _slowest(hard, limit))


@kernel
def unload(sensed: SensedFace | None, sensors: ObstacleContact) -> None:
    """Before the wheels of a step: nothing is on the plate."""
    if sensed is not None:
        row = sensors.force.size - 1
        sensors.force[row] = sensors.drag[row] = 0.0
        sensors.gap[row] = np.inf


@kernel
def _bear(
    sensed: SensedFace | None,
    hard: ProfileContact,
    wheel: int,
    touched_at: FloatArray,
    place: Direction,
    push: tuple[float, float],
    sensors: ObstacleContact,
) -> None:
    """Add one contact's force on a wheel, ahead and up [N], to what the plate bears, if it touches at the plate.

    Loads on a stiff plate have the sensors' readings of their sum at their centre.
    """
    if sensed is None or sensed.under[wheel] == 0:
        return
    profile, face, row = hard.profile, int(touched_at[FACE]), sensors.force.size - 1
    tx, tz = profile.along[sensed.face, 0], profile.along[sensed.face, 1]
    if face == sensed.face - 1:  # its edge, at which the plate begins, has its number
        if touched_at[NORMAL_X] == -profile.along[face, 1] and touched_at[NORMAL_Z] == profile.along[face, 0]:
            return
    elif face != sensed.face:
        return
    up = tx * (place[0] - profile.point[sensed.face, 0]) + tz * (place[2] - profile.point[sensed.face, 1])
    if not sensed.first - _AT_EDGE_M <= up <= sensed.last + _AT_EDGE_M:
        return
    force = max(tx * push[1] - tz * push[0], 0.0)
    before, total = sensors.force[row], sensors.force[row] + force
    if total > 0.0:
        sensors.point[row, 0] = (before * sensors.point[row, 0] + force * place[1]) / total
        sensors.point[row, 1] = (before * sensors.point[row, 1] + force * up) / total
    sensors.force[row] = total
    sensors.drag[row] -= tx * push[0] + tz * push[1]
    sensors.gap[row] = min(sensors.gap[row], touched_at[GAP])


@kernel
def _slowest(hard: ProfileContact, limit: float) -> float:
    """Speed [m/s] below which slip means nothing: where friction at its limit [N] is the damper's alone, or 1 mm/s."""
    damping = hard.bristles.damping
    return max(limit / damping if damping > 0.0 else 0.0, 1e-3)


@kernel
def _follow(hard: ProfileContact, wheel: int, count: int) -> None:
    """Give each contact the stretch that it had, or that of the next face or edge, from which the wheel has rolled.

    A face and the edge at its end have one number, and are never touched at once.
    """
    known, given = hard.face_before[0], hard.face_before[1]
    for i in range(MOST_TOUCHED):
        known[i], given[i] = hard.face[wheel, i], NOWHERE
        for k in range(2):
            hard.before[i, k] = hard.stretch[wheel, i, k]
        hard.face[wheel, i] = int(hard.place[i, FACE]) if i < count else NOWHERE
        hard.stretch[wheel, i, 0] = hard.stretch[wheel, i, 1] = 0.0
    for apart in range(2):  # first all that are on the same face
        for i in range(count):
            for old in range(MOST_TOUCHED):
                if given[i] == NOWHERE and known[old] != NOWHERE and abs(known[old] - hard.face[wheel, i]) == apart:
                    for k in range(2):
                        hard.stretch[wheel, i, k] = hard.before[old, k]
                    given[i], known[old] = old, NOWHERE
