"""Firm ground under the wheels: linear or nonlinear visco-elastic, in place of soil in impact runs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.checks import Range, problem, refuse
from models.contact.contact_points import POINTS
from models.contact.friction import Bristles, hold_contact, slide_contact
from models.contact.laws import HERTZ, KELVIN_VOIGT, VISCO_ELASTIC, Law, law_problems, press
from models.contact.legs import Grousers, point_of
from models.contact.profile_contact import ProfileContact
from models.contact.rim import rim_contact
from models.contact.wheel_slots import GroundContact
from models.kernels.compiled import FloatArray, kernel
from models.rover.dynamics import Workspace
from models.rover.points import Direction, axle, body_position, body_spin, body_velocity, cross, dot, x_axis
from models.rover.reduction import Chain
from models.terrain.given_contacts import DAMPING, FRICTION, SHARE, GivenContacts, find_planes, over_plane
from models.terrain.surface import Terrain, axes, contact_plane, from_ground, to_ground


class CompliantGround(NamedTuple):
    """A surface that deforms by a contact law and keeps no rut.

    Attributes:
        law: Kelvin-Voigt (5.31), visco-elastic (5.32), or Hertz. The others need an onset rate, which a standing wheel
            does not have.
        friction: Coulomb coefficient; 0 as in MacMahon 2016 5.4.
        friction_speed: sliding speed [m/s] below which friction grows in proportion.
        profile: shape of the ground, with friction that holds, or None: level ground or a slope. It is chosen when a
            step is compiled.
        bristles: of friction that holds, or None: a wheel that friction alone holds creeps. Also chosen then; their
            stretch is `GroundContact.shear`, along the ground's axes.
        grousers: on whose tips, or the rim between them, a wheel stands, or None: on a circle through the tips. Also
            chosen then.
    """

    law: Law
    friction: float
    friction_speed: float
    profile: ProfileContact | None = None
    bristles: Bristles | None = None
    grousers: Grousers | None = None


def make_compliant_ground(
    law: Law, friction: float = 0.0, friction_speed: float = 0.005, bristles: Bristles | None = None
) -> CompliantGround:
    """A checked ground; see CompliantGround.

    Raises:
        ValueError: a law that is none of the three, or a value out of range.
    """
    fits = law.law in (KELVIN_VOIGT, VISCO_ELASTIC, HERTZ)
    refuse(
        "firm ground",
        [
            *law_problems(law),
            None if fits else f"law has code {law.law}, allowed: kelvin_voigt, visco_elastic, hertz",
            problem("friction", friction, Range(0.0, math.inf, "")),
            problem("friction_speed", friction_speed, Range(0.0, math.inf, "m/s", open_low=True)),
        ],
    )
    return CompliantGround(law, float(friction), float(friction_speed), bristles=bristles)


@kernel
def push_compliant_ground(
    chain: Chain,
    compliant: CompliantGround,
    terrain: Terrain,
    q: FloatArray,
    wheel: int,
    dt: float,
    contact: GroundContact,
    work: Workspace,
) -> None:
    """Add the ground's force on one wheel to work.rhs and its damping to work.mass_matrix; see `push_plane`."""
    if terrain is None:
        over, normal = contact_plane(terrain, body_position(q, work, chain.wheel_body[wheel]), wheel)
        _push_wheel(compliant.grousers, chain, compliant, terrain, q, over, normal, wheel, dt, contact, work)
    else:
        _push_terrain(terrain.given, chain, compliant, terrain, q, wheel, dt, contact, work)


@kernel
def _push_terrain(
    given: GivenContacts | None,
    chain: Chain,
    compliant: CompliantGround,
    terrain: Terrain,
    q: FloatArray,
    wheel: int,
    dt: float,
    contact: GroundContact,
    work: Workspace,
) -> None:
    place = body_position(q, work, chain.wheel_body[wheel])
    if given is None:  # decided at compile time
        over, normal = contact_plane(terrain, place, wheel)
        _push_wheel(compliant.grousers, chain, compliant, terrain, q, over, normal, wheel, dt, contact, work)
        return
    # every contact has its plane, and may have its own friction and damping
    find_planes(given, wheel, place, chain.wheel_radius[wheel])
    total, most, depth, pull, slip = 0.0, 0.0, 0.0, 0.0, 0.0
    for which in range(given.touching[wheel]):
        over, normal = over_plane(given, wheel, which, place)
        row = given.plane[wheel, which]
        own = _with_own(compliant, row[FRICTION], row[DAMPING], row[SHARE])
        push_plane(chain, own, terrain, over, normal, wheel, dt, contact, work)
        if contact.vertical[wheel] > most:  # the slip is that of the contact that carries most
            most, slip = contact.vertical[wheel], contact.slip[wheel]
        total, pull = total + contact.vertical[wheel], pull + contact.pull[wheel]
        depth = max(depth, contact.sinkage[wheel])
    contact.vertical[wheel], contact.sinkage[wheel] = total, depth
    contact.slip[wheel], contact.pull[wheel] = slip, pull


@kernel
def _with_own(compliant: CompliantGround, friction: float, damping: float, share: float) -> CompliantGround:
    """Firm ground with a contact's own friction, and own damping with the visco-elastic law; NaN: the ground's.

    Of stiffness and damping it has a share.
    """
    law = compliant.law
    code = law.law
    if math.isnan(damping):
        damping = law.damping
    else:
        code = VISCO_ELASTIC
    if math.isnan(friction):
        friction = compliant.friction
    own = Law(code, share * law.stiffness, law.exponent, law.restitution, share * damping)
    return CompliantGround(own, friction, compliant.friction_speed, None, None, None)  # numba fills in no defaults


@kernel
def _push_wheel(
    grousers: Grousers | None,
    chain: Chain,
    compliant: CompliantGround,
    terrain: Terrain,
    q: FloatArray,
    over: float,
    normal: Direction,
    wheel: int,
    dt: float,
    contact: GroundContact,
    work: Workspace,
) -> None:
    """`push_plane`, of a wheel with grousers at each of its points: two tips, and the rim below them."""
    if grousers is None:  # decided at compile time
        push_plane(chain, compliant, terrain, over, normal, wheel, dt, contact, work)
        return
    body, radius = chain.wheel_body[wheel], chain.wheel_radius[wheel]
    first, second, up = axes(terrain, normal)
    turned, ahead = axle(work, body), x_axis(chain, q, work, body)
    velocity, spin, heading = body_velocity(work, body), body_spin(work, body), cross(turned, up)
    level = max(math.sqrt(dot(heading, heading)), 1e-9)
    contact.vertical[wheel] = contact.sinkage[wheel] = contact.slip[wheel] = contact.pull[wheel] = 0.0
    for which in range(POINTS if grousers.number[wheel] > 0 else 1):
        row, arm = point_of(grousers, turned, ahead, up, wheel, radius, which)
        depth, stretch = -over - dot(up, arm), grousers.stretch[wheel, row]
        if depth <= 0.0:
            stretch[:] = 0.0
            continue
        turning = cross(spin, arm)
        speed = (velocity[0] + turning[0], velocity[1] + turning[1], velocity[2] + turning[2])
        force = press(chain, compliant.law, up, body, arm, depth, dot(up, speed), dt, work)
        along = dot(heading, first) / level, dot(heading, second) / level
        sliding = dot(first, speed), dot(second, speed)
        contact.pull[wheel] += _pull(
            compliant.bristles, chain, compliant, (first, second, up), body, arm, sliding, along, force, dt, stretch,
            work,
        )  # fmt: skip
        contact.vertical[wheel] += force
        contact.sinkage[wheel] = max(contact.sinkage[wheel], depth)
    if contact.sinkage[wheel] > 0.0:
        rolling, forward = radius * dot(spin, turned), dot(heading, velocity) / level
        contact.slip[wheel] = (rolling - forward) / max(abs(rolling), abs(forward), compliant.friction_speed)


@kernel
def push_plane(
    chain: Chain,
    compliant: CompliantGround,
    terrain: Terrain,
    over: float,
    normal: Direction,
    wheel: int,
    dt: float,
    contact: GroundContact,
    work: Workspace,
) -> None:
    """Add the force of a plane of firm ground on one wheel, whose centre is at a distance `over` [m] from it.

    MacMahon 2016 (5.31)-(5.32) along the ground's normal. Spring and damper enter the step linearly implicitly, their
    slopes times dt on the mass matrix, so that ground as stiff as steel (1e9 N/m) runs at a step of 0.1 ms and a rover
    comes to rest on it; a step then loses what an implicit Euler step loses. At 0.5 ms a wheel on steel, though stable,
    hops by a micrometre for ever. Force and friction act at the rim's point nearest to the ground (models.contact.rim).
    All values below are in ground axes.
    """
    body, radius = chain.wheel_body[wheel], chain.wheel_radius[wheel]
    ground = axes(terrain, normal)
    ax, ay, az = to_ground(terrain, ground, axle(work, body))
    reach, (px, py, pz) = rim_contact(chain.crown, wheel, radius, (0.0, 0.0, 1.0), (ax, ay, az))
    depth = reach - over
    contact.sinkage[wheel] = max(depth, 0.0)
    if depth <= 0.0:
        contact.vertical[wheel] = contact.slip[wheel] = contact.pull[wheel] = 0.0
        contact.shear[wheel, 0] = contact.shear[wheel, 1] = 0.0
        return
    vx, vy, vz = to_ground(terrain, ground, body_velocity(work, body))
    wx, wy, wz = to_ground(terrain, ground, body_spin(work, body))
    offset, rising = _off_centre(chain.crown, terrain, ground, (px, py), (wx, wy), vz)
    force = press(chain, compliant.law, ground[2], body, offset, depth, rising, dt, work)
    contact.vertical[wheel] = force
    arm = from_ground(terrain, ground, (px, py, pz))
    level = max(np.hypot(ax, ay), 1e-9)
    hx, hy = ay / level, -ax / level
    sliding = (vx + wy * pz - wz * py, vy + wz * px - wx * pz)
    shear, heading = contact.shear[wheel], (hx, hy)
    contact.pull[wheel] = _pull(
        compliant.bristles, chain, compliant, ground, body, arm, sliding, heading, force, dt, shear, work
    )
    rolling = radius * (wx * ax + wy * ay + wz * az)
    forward = hx * vx + hy * vy
    contact.slip[wheel] = (rolling - forward) / max(abs(rolling), abs(forward), compliant.friction_speed)


@kernel
def _pull(
    bristles: Bristles | None,
    chain: Chain,
    compliant: CompliantGround,
    ground: tuple[Direction, Direction, Direction],
    body: int,
    arm: Direction,
    sliding: tuple[float, float],
    heading: tuple[float, float],
    force: float,
    dt: float,
    shear: FloatArray,
    work: Workspace,
) -> float:
    """Add the friction of a wheel to work; gives its part along the heading [N]."""
    along, friction = (ground[0], ground[1]), compliant.friction
    if bristles is None:  # decided at compile time
        grip = slide_contact(chain, friction, compliant.friction_speed, body, along, arm, sliding, force, dt, work)
        return -grip * (heading[0] * sliding[0] + heading[1] * sliding[1])
    limit = friction * force
    ahead, left = hold_contact(chain, bristles, shear, body, along, arm, sliding, limit, dt, work)
    return -(heading[0] * ahead + heading[1] * left)


@kernel
def _off_centre(
    crown: FloatArray | None,
    terrain: Terrain,
    ground: tuple[Direction, Direction, Direction],
    offset: tuple[float, float],
    spin: tuple[float, float],
    rising: float,
) -> tuple[Direction, float]:
    """Where the normal force acts, from the centre, world axes [m], and how fast that rises [m/s].

    Below the centre it does as the centre does, and that is decided when the step is compiled.
    """
    if crown is None:
        return (0.0, 0.0, 0.0), rising
    arm = from_ground(terrain, ground, (offset[0], offset[1], 0.0))
    return arm, rising + spin[0] * offset[1] - spin[1] * offset[0]
