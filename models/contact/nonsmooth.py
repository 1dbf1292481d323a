"""Hard contacts of wheels: Signorini, impact and Coulomb, by Moreau's and Jean's time stepping (Acary 2013, 3).

A step's velocities v' follow from the velocities `v` that forces alone give and the impulses r of the contacts,

    M (v' - v) = G^T r,   u' = G v',

where a contact whose gap closes within the step obeys, with the normal velocity u_N before the step,

    0 <= u'_N + e u_N  perpendicular to  r_N >= 0   (4), (5),   r in Coulomb's cone   (6), (7).

The place moves with theta v' + (1 - theta) v_before. Ground and obstacle are rows of one problem
(models.contact.cone_solver). In place of Newton's law of impact, Poisson's or Stronge's may hold
(models.contact.rebound).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.contact.cones import AXES, Cones, make_cones
from models.contact.rebound import NEWTON, Impact, Rebound, address_of_find_impulses, make_rebound
from models.contact.wheel_slots import GroundContact
from models.kernels.bound import call_with
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.dynamics import Workspace
from models.rover.factor import add_scaled, half_solve, solve
from models.rover.points import axle, body_position, body_spin, body_velocity, dot, project
from models.rover.reduction import Chain
from models.rover.rover import Rover
from models.terrain.profile import COLUMNS as PLACE
from models.terrain.profile import FACE, GAP, MOST_TOUCHED, NORMAL_X, NORMAL_Z, Profile, touched

TOLERANCE = 1e-10  # of the residual [m/s]
# A contact that closes faster meets an impact. What is slower is the error of the steps before: wheels that stick
# could not part at e times that speed without sliding.
IMPACT_MPS = 1e-6
# A contact is taken as closed while its gap is below this. Rounding opens one that bears load by 1e-13 m; left out for
# one step of 2 ms, its wheel would fall by g dt^2, some 40 um.
CLOSED_M = 1e-7
SLOWEST_MPS = 1e-3  # below it slip means nothing
# By this part of the mean of W's diagonal contacts yield to a change of their impulse from step to step. Wheels that
# stick in directions that differ by 1e-9 rad would else push against one another with any force, up to sliding at
# 1e-10 m/s, and which of them slide could not be found. A rover that stands has no such change, and stands still.
GIVE = 1e-6


class HardContacts(NamedTuple):
    """Profile, law and scratch.

    Attributes:
        profile: what the wheels meet.
        theta: of the place's step, from 0.5, which keeps the energy of a constant force exactly, to 1.
        cones: the problem of a step.
        rebound: law of impact.
        row: (3 contacts, speeds) Jacobians, normal, forwards along the face, to port.
        place: (contacts, 4) as models.terrain.profile.touched gives them.
        wheel: (contacts,) which wheel.
        kept: (wheels, faces, 3) impulses of the last step, where the search begins.
        residual: (2,) the largest so far [m/s], inf where a problem had no finite numbers, and the number of steps
            whose problem was not solved.
        before: (speeds,) velocity before the step.
        largest: (wheels,) scratch.
        left: (1,) residual of this step [m/s].
        solver: address of models.contact.rebound.find_impulses in this process.
    """

    profile: Profile
    theta: float
    cones: Cones
    rebound: Rebound
    row: FloatArray
    place: FloatArray
    wheel: IntArray
    kept: FloatArray
    residual: FloatArray
    before: FloatArray
    largest: FloatArray
    left: FloatArray
    solver: int


def make_hard_contacts(rover: Rover, profile: Profile, theta: float = 0.5, law: str = "newton") -> HardContacts:
    """Allocate for a rover.

    Args:
        rover: its wheels meet the profile.
        profile: with friction and restitution.
        theta: see `HardContacts`.
        law: of impact, see models.contact.rebound.

    Raises:
        ValueError: theta outside [0.5, 1], or a law that does not exist.
    """
    if not 0.5 <= theta <= 1.0:
        raise ValueError(f"theta is {theta}, allowed: 0.5 to 1")
    wheels, speeds, faces = len(rover.wheel_names), rover.chain.speed_parent.size, profile.length.size
    most, left = MOST_TOUCHED * wheels, np.zeros(1)
    cones = make_cones(most, speeds)
    of_impact = make_rebound(law, cones)
    return HardContacts(
        profile, theta, cones, of_impact, np.zeros((AXES * most, speeds)), np.zeros((most, PLACE)),
        np.zeros(most, dtype=np.int64), np.zeros((wheels, faces, AXES)), np.zeros(2), np.zeros(speeds),
        np.zeros(wheels), left, address_of_find_impulses(Impact(cones, of_impact, left)),
    )  # fmt: skip


@kernel
def hold_contacts(
    chain: Chain, q: FloatArray, v: FloatArray, dt: float, hard: HardContacts, contact: GroundContact, work: Workspace
) -> None:
    """Change v (speeds,), as it would be without contacts, to what it is with them; needs work.rhs and the factor.

    Readings: the vertical force and the pull are impulses over dt, which an impact makes large; the slip is that of the
    contact with the largest normal impulse.
    """
    moving = 0.0
    for a in range(v.size):
        hard.before[a] = v[a] - dt * work.rhs[a]
        moving += abs(v[a])
    if not moving < math.inf:  # no place of such a rover touches anything
        hard.residual[0] = math.inf
        hard.residual[1] += 1.0
    count = _find(chain, q, dt, hard, work)
    for wheel in range(contact.vertical.size):
        contact.vertical[wheel] = contact.pull[wheel] = contact.sinkage[wheel] = contact.slip[wheel] = 0.0
    if count > 0:
        _aim(chain, v, hard, count, work)
        call_with(hard.solver, Impact(hard.cones, hard.rebound, hard.left), count, TOLERANCE)
        hard.residual[0] = max(hard.residual[0], hard.left[0])
        if hard.left[0] > TOLERANCE:
            hard.residual[1] += 1.0
        _apply(chain, v, dt, hard, count, contact, work)
    _keep(hard, count)


@kernel
def _find(chain: Chain, q: FloatArray, dt: float, hard: HardContacts, work: Workspace) -> int:
    """Contacts whose gap is closed to CLOSED_M, or closes to that within half of the step, and their rows."""
    count, none = 0, (0.0, 0.0, 0.0)
    for wheel in range(chain.wheel_body.size):
        body, radius = chain.wheel_body[wheel], chain.wheel_radius[wheel]
        x, _, z = body_position(q, work, body)
        found = touched(hard.profile, x, z, radius, 0.1 * radius, hard.place[count : count + MOST_TOUCHED])
        first = count
        for i in range(first, first + found):
            nx, nz = hard.place[i, NORMAL_X], hard.place[i, NORMAL_Z]
            arm = (-radius * nx, 0.0, -radius * nz)
            for k in range(AXES):
                row = hard.row[AXES * count + k]
                for a in range(row.size):
                    row[a] = 0.0
                along = (nx, 0.0, nz) if k == 0 else (nz, 0.0, -nx) if k == 1 else (0.0, 1.0, 0.0)
                project(chain, work, body, along, none, arm, row)
            speed = 0.0
            for a in range(hard.before.size):
                speed += hard.row[AXES * count, a] * hard.before[a]
            if hard.place[i, GAP] + 0.5 * dt * speed <= CLOSED_M:
                for column in range(PLACE):
                    hard.place[count, column] = hard.place[i, column]
                hard.wheel[count] = wheel
                count += 1
    return count


@kernel
def _aim(chain: Chain, v: FloatArray, hard: HardContacts, count: int, work: Workspace) -> None:
    """Fill the problem: rows half solved, velocities without impulses, friction, and impulses to begin with."""
    cones, profile, total = hard.cones, hard.profile, 0.0
    for c in range(count):
        face, law = int(hard.place[c, FACE]), hard.rebound
        cones.friction[c] = profile.friction[face]
        for k in range(AXES):
            i, free, before = AXES * c + k, 0.0, 0.0
            for a in range(v.size):
                cones.half[i, a] = hard.row[i, a]
                free += hard.row[i, a] * v[a]
                before += hard.row[i, a] * hard.before[a]
            half_solve(chain, work.mass_matrix, cones.half[i])
            cones.target[i] = free
            law.push[i] = free - before
            if k == 0:
                law.restitution[c] = profile.restitution[face]
                law.closing[c] = -before if before < -IMPACT_MPS else 0.0
                if law.law == NEWTON:
                    cones.target[i] -= law.restitution[c] * law.closing[c]
            cones.impulse[i] = hard.kept[hard.wheel[c], face, k]
            for a in range(v.size):
                total += cones.half[i, a] * cones.half[i, a]
    cones.give[0] = GIVE * total / (AXES * count)
    for i in range(AXES * count):
        cones.target[i] -= cones.give[0] * cones.impulse[i]


@kernel
def _apply(
    chain: Chain, v: FloatArray, dt: float, hard: HardContacts, count: int, contact: GroundContact, work: Workspace
) -> None:
    largest = hard.largest
    for wheel in range(largest.size):
        largest[wheel] = 0.0
    for a in range(v.size):
        work.rhs[a] = 0.0
    for c in range(count):
        wheel, r = hard.wheel[c], hard.cones.impulse
        nx, nz = hard.place[c, NORMAL_X], hard.place[c, NORMAL_Z]
        for k in range(AXES):
            i = AXES * c + k
            add_scaled(chain.speed_parent, work.rhs, hard.row[i], 5 + chain.wheel_body[wheel], r[i])
        normal, ahead = r[AXES * c] / dt, r[AXES * c + 1] / dt
        contact.vertical[wheel] += nz * normal - nx * ahead
        contact.pull[wheel] += nx * normal + nz * ahead
        if r[AXES * c] > largest[wheel]:
            largest[wheel], body = r[AXES * c], chain.wheel_body[wheel]
            velocity = body_velocity(work, body)
            rolling = chain.wheel_radius[wheel] * dot(body_spin(work, body), axle(work, body))
            forward = nz * velocity[0] - nx * velocity[2]
            contact.slip[wheel] = (rolling - forward) / max(abs(rolling), abs(forward), SLOWEST_MPS)
    solve(chain, work.mass_matrix, work.rhs)
    for a in range(v.size):
        v[a] += work.rhs[a]


@kernel
def _keep(hard: HardContacts, count: int) -> None:
    for wheel in range(hard.kept.shape[0]):
        for face in range(hard.kept.shape[1]):
            for k in range(AXES):
                hard.kept[wheel, face, k] = 0.0
    for c in range(count):
        for k in range(AXES):
            hard.kept[hard.wheel[c], int(hard.place[c, FACE]), k] = hard.rebound.first[0, AXES * c + k]
