"""A flat, inclined obstacle in the rover's path, hit by smooth wheels or grousers on rigid or compliant legs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.checks import Range, problem, refuse
from models.contact.contact_points import (
    ARM,
    COLUMNS,
    COSINE,
    DEPTH,
    LEAN,
    ONSET_RATE,
    POINTS,
    RATE,
    RIM,
    SHARE,
    SINE,
    STRETCH,
)
from models.contact.friction import Bristles, hold_contact, slide_contact
from models.contact.laws import HUNT_CROSSLEY, Law, law_force, law_problems
from models.contact.legs import grouser_tip, leg_deflection, relaxed
from models.contact.plate import Plate, has_plate, nearest_plane, plate_problems, reached, seen_by_sensors
from models.contact.rim import rim_contact
from models.kernels.compiled import FloatArray, kernel
from models.rover.dynamics import Workspace
from models.rover.factor import add_scaled
from models.rover.points import Direction, axle, body_position, body_spin, body_velocity, cross, project, vector
from models.rover.reduction import Chain
from models.terrain.surface import Stand, into, out_of, seen_from

RIGID = np.zeros(2)  # of the two front wheels


class Obstacle(NamedTuple):
    """The plane through (foot, 0, 0), inclined to its ground, its contact law, and the wheels and legs that hit it.

    Friction is Coulomb's, along the plate and against sliding: mu times the normal force above `friction_speed`, in
    proportion to the sliding speed below it. So a wheel that friction alone holds creeps, unless there are bristles.

    Attributes:
        angle: beta [rad], inclination to the ground.
        foot: where the plane meets the ground, world x [m].
        stiffness: of the contact, a wheel or grouser [N/m^exponent]; with rigid legs, of contact and leg lumped.
        exponent: p of the law.
        restitution: e of the law.
        friction: Coulomb coefficient of wheel on plate.
        friction_speed: sliding speed [m/s] below which friction grows in proportion.
        law: code of the contact law, a value of models.contact.laws.LAWS.
        damping: of the law, where it has one (models.contact.laws.Law).
        leg_compliance: (hitting wheels or more,) of each leg alone, along the plate's normal [m/N]; 0 is rigid.
        leg_damping: of a compliant leg [N s/m].
        leg_backlash: free play of a compliant leg before its spring bites [m].
        grousers: on each wheel, an even number, their tips at the wheel's radius; 0 for a smooth rim.
        grouser_offset: alpha [rad] of a grouser above the contact line when the wheel's angle is zero.
        plate: where the plane ends; None: nowhere. It is chosen when a step is compiled, as the ground is.
        stand: the ground on which it stands before each wheel, in whose axes `angle`, `foot` and `plate` are;
            None: level ground, also chosen then.
        bristles: of friction that holds at each point of a wheel (models.contact.friction); None: it does not. Also
            chosen then.
        rim_below: how far the rim lies below the grousers' tips, where it touches between them [m]; 0: it does not.
    """

    angle: float
    foot: float
    stiffness: float
    exponent: float
    restitution: float
    friction: float
    friction_speed: float
    law: int = HUNT_CROSSLEY
    damping: float = 0.0
    leg_compliance: FloatArray = RIGID
    leg_damping: float = 0.0
    grousers: int = 0
    grouser_offset: float = 0.0
    plate: Plate | None = None
    leg_backlash: float = 0.0
    stand: Stand = None
    bristles: Bristles | None = None
    rim_below: float = 0.0


def check_obstacle(obstacle: Obstacle) -> None:
    """Raises ValueError with everything that is out of range; `foot` may be anything, since trials set it."""
    legs = np.asarray(obstacle.leg_compliance)
    count = obstacle.grousers
    refuse(
        "obstacle",
        [
            problem("angle", obstacle.angle, Range(0.0, math.pi / 2.0, "rad", open_low=True)),
            *law_problems(
                Law(obstacle.law, obstacle.stiffness, obstacle.exponent, obstacle.restitution, obstacle.damping)
            ),
            problem("friction", obstacle.friction, Range(0.0, math.inf, "")),
            problem("friction_speed", obstacle.friction_speed, Range(0.0, math.inf, "m/s", open_low=True)),
            *(problem(f"leg_compliance[{i}]", c, Range(0.0, math.inf, "m/N")) for i, c in enumerate(legs.flat)),
            problem("leg_damping", obstacle.leg_damping, Range(0.0, math.inf, "N s/m")),
            problem("leg_backlash", obstacle.leg_backlash, Range(0.0, math.inf, "m")),
            None if count == 0 or (count >= 4 and count % 2 == 0) else f"grousers is {count!r}, allowed: 0, 4, 6, 8...",
            problem("grouser_offset", obstacle.grouser_offset, Range(-math.inf, math.inf, "rad")),
            problem("rim_below", obstacle.rim_below, Range(0.0, math.inf, "m")),
            *plate_problems(obstacle.plate),
        ],
    )


class ObstacleContact(NamedTuple):
    """State and readings of the wheels that can hit the obstacle, arrays (hitting wheels, ...).

    Attributes:
        force: on the wheel across the plate [N]; at an edge also what its friction has across it.
        point: contact point on the plane [m]: across (to port), up the plane from its foot. Of grousers the load's
            centre, and while apart the nearest tip.
        gap: distance of the nearest point to the plane [m], negative in contact.
        drag: of the wheel on the plate, up along it [N], at the start of the step: its friction, and at an edge what
            the push has along the plate.
        wrench: (hitting wheels, 6) force [N] on the wheel as the step applies it, with friction at its start, and
            moment about the wheel's centre [N m], world axes.
        deflection: of each leg along the plate's normal [m].
        contact_points: (wheels, 3, COLUMNS) of each, columns of models.contact.contact_points. A smooth wheel has only
            point 0; a grouser keeps its point, 0 or 1, while it is one of the two; the rim between them has point 2.
    """

    force: FloatArray
    point: FloatArray
    gap: FloatArray
    drag: FloatArray
    wrench: FloatArray
    deflection: FloatArray
    contact_points: FloatArray


def make_contact(wheels: int) -> ObstacleContact:
    """Allocate the state of `wheels` wheels, all apart."""
    contact_points = np.zeros((wheels, POINTS, COLUMNS))
    contact_points[:, :, DEPTH] = -np.inf
    force, drag, deflection = np.zeros((3, wheels))
    point, gap, wrench = np.zeros((wheels, 2)), np.full(wheels, np.inf), np.zeros((wheels, 6))
    return ObstacleContact(force, point, gap, drag, wrench, deflection, contact_points)


@kernel
def push_obstacle(
    chain: Chain, obstacle: Obstacle, q: FloatArray, wheel: int, dt: float, contact: ObstacleContact, work: Workspace
) -> None:
    """Add the obstacle's force on one wheel to work.rhs and its friction's damping to work.mass_matrix.

    Needs fill_bias (twists) and fill_mass_matrix; dt [s] above 0 with a compliant leg.

    Depth by MacMahon 2016 (5.11)-(5.12): the plane's outward normal is n = (-sin beta, 0, cos beta), and a smooth
    wheel's contact point lies a radius from its centre along -n; that of a crowned one: models.contact.rim. A grouser's
    depth is its tip's, (6.2)-(6.3) with the missing square of |rho|, and each grouser is pushed with its own force at
    its own tip (not by the law of the summed depth of (6.4), which a nonlinear law would get wrong). Friction acts at
    the same points.
    """
    sine, cosine = np.sin(obstacle.angle), np.cos(obstacle.angle)
    body, radius = chain.wheel_body[wheel], chain.wheel_radius[wheel]
    x, y, z = seen_from(obstacle.stand, wheel, body_position(q, work, body))
    x -= obstacle.foot
    contact_points, law = contact.contact_points[wheel], _law_of(obstacle)
    for a in range(6):
        contact.wrench[wheel, a] = 0.0
    if obstacle.grousers > 0 or obstacle.leg_compliance[wheel] > 0.0 or has_plate(obstacle.plate):
        _push_points(chain, obstacle, law, q, wheel, sine, cosine, (x, y, z), dt, contact, work)
        return
    # shortcut for a smooth wheel on a rigid leg, the case that runs in every tick
    turned = into(obstacle.stand, wheel, axle(work, body))
    reach, arm = rim_contact(chain.crown, wheel, radius, (-sine, 0.0, cosine), turned)
    depth = reach - (cosine * z - sine * x)
    contact.gap[wheel] = -depth
    contact.point[wheel, 0] = y + arm[1]
    contact.point[wheel, 1] = cosine * (x + arm[0]) + sine * (z + arm[2])
    if depth <= 0.0:
        contact_points[0, ONSET_RATE] = contact.force[wheel] = contact.drag[wheel] = 0.0
        contact_points[0, STRETCH] = contact_points[0, STRETCH + 1] = 0.0
        return
    velocity, spin = _motion(obstacle, wheel, body, work)
    rate = _approach(chain.crown, velocity, spin, arm, sine, cosine)
    contact_points[0, ONSET_RATE] = _onset(contact_points[0, ONSET_RATE], rate)
    contact.force[wheel] = force = law_force(law, depth, rate, contact_points[0, ONSET_RATE])
    stretch, wrench = contact_points[0, STRETCH:], contact.wrench[wheel]
    contact.drag[wheel] = _press(
        chain, obstacle, wheel, sine, cosine, velocity, spin, arm, force, dt, stretch, work, wrench
    )


@kernel
def points_of(obstacle: Obstacle) -> int:
    """How many points of a wheel can touch."""
    if obstacle.grousers == 0:
        return 1
    return RIM + 1 if obstacle.rim_below > 0.0 else RIM


@kernel
def _approach(
    crown: FloatArray | None, velocity: Direction, spin: Direction, arm: Direction, sine: float, cosine: float
) -> float:
    """Speed of a smooth wheel's contact point towards the plane [m/s]; below the centre it is the centre's."""
    rate = sine * velocity[0] - cosine * velocity[2]
    if crown is None:
        return rate
    forward, up = spin[1] * arm[2] - spin[2] * arm[1], spin[0] * arm[1] - spin[1] * arm[0]
    return rate + sine * forward - cosine * up


@kernel
def _law_of(obstacle: Obstacle) -> Law:
    return Law(obstacle.law, obstacle.stiffness, obstacle.exponent, obstacle.restitution, obstacle.damping)


@kernel
def _motion(obstacle: Obstacle, wheel: int, body: int, work: Workspace) -> tuple[Direction, Direction]:
    """Velocity [m/s] and spin [rad/s] of a wheel's body, in the axes of the ground that the obstacle stands on."""
    stand = obstacle.stand
    return into(stand, wheel, body_velocity(work, body)), into(stand, wheel, body_spin(work, body))


@kernel
def _onset(before: float, rate: float) -> float:
    """Fastest approach of this contact so far: a wheel placed on the plate and driven later has an onset too."""
    return max(before, rate, 1e-12)


@kernel
def _press(
    chain: Chain,
    obstacle: Obstacle,
    wheel: int,
    sine: float,
    cosine: float,
    velocity: tuple[float, float, float],
    spin: tuple[float, float, float],
    arm: tuple[float, float, float],
    force: float,
    dt: float,
    stretch: FloatArray,
    work: Workspace,
    wrench: FloatArray,
) -> float:
    """Apply a normal force [N] and its friction to one point of a wheel; gives that on the plate, up along it [N].

    `stretch` (2,) is that of the point's bristles [m]. `wrench` (6,) of the wheel, force and moment about its centre,
    world axes, is increased by what is applied.
    """
    vx, vy, vz = velocity
    wx, wy, wz = spin
    ax, ay, az = arm
    # sliding of the contact point: up the plane and across
    px, py, pz = vx + wy * az - wz * ay, vy + wz * ax - wx * az, vz + wx * ay - wy * ax
    up = cosine * px + sine * pz
    stand, body = obstacle.stand, chain.wheel_body[wheel]
    none, start, arm = (0.0, 0.0, 0.0), 5 + body, out_of(stand, wheel, arm)
    project(chain, work, body, out_of(stand, wheel, (-sine * force, 0.0, cosine * force)), none, arm, work.row)
    add_scaled(chain.speed_parent, work.rhs, work.row, start, 1.0)  # friction, steep in speed, enters implicitly:
    along = out_of(stand, wheel, (cosine, 0.0, sine)), out_of(stand, wheel, (0.0, 1.0, 0.0))
    grip, up, py = _rub(obstacle.bristles, chain, obstacle, stretch, body, along, arm, (up, py), force, dt, work)
    push = out_of(stand, wheel, (-sine * force - cosine * grip * up, -grip * py, cosine * force - sine * grip * up))
    moment = cross(arm, push)
    for a in range(3):
        wrench[a] += push[a]
        wrench[3 + a] += moment[a]
    return grip * up


@kernel
def _rub(
    bristles: Bristles | None,
    chain: Chain,
    obstacle: Obstacle,
    stretch: FloatArray,
    body: int,
    along: tuple[Direction, Direction],
    arm: Direction,
    sliding: tuple[float, float],
    force: float,
    dt: float,
    work: Workspace,
) -> tuple[float, float, float]:
    """Add the friction at a point to work; gives a factor and what it multiplies to be the resistance [N]."""
    if bristles is not None:  # decided at compile time
        limit = obstacle.friction * force
        up, across = hold_contact(chain, bristles, stretch, body, along, arm, sliding, limit, dt, work)
        return 1.0, up, across
    grip = slide_contact(chain, obstacle.friction, obstacle.friction_speed, body, along, arm, sliding, force, dt, work)
    return grip, sliding[0], sliding[1]


@kernel
def _push_points(
    chain: Chain,
    obstacle: Obstacle,
    law: Law,
    q: FloatArray,
    wheel: int,
    sine: float,
    cosine: float,
    centre: tuple[float, float, float],
    dt: float,
    contact: ObstacleContact,
    work: Workspace,
) -> None:
    """push_obstacle in full, edges included: place the points, deflect the leg, apply each point's force."""
    normal, middle, smooth = (sine, cosine), (centre[0], centre[2]), obstacle.grousers == 0
    sine, cosine, centre = nearest_plane(obstacle.plate, smooth, sine, cosine, centre)
    body, compliance = chain.wheel_body[wheel], obstacle.leg_compliance[wheel]
    contact_points = contact.contact_points[wheel]
    deepest, points = _place_points(chain, obstacle, q, wheel, sine, cosine, centre, contact, work)
    contact.gap[wheel] = -deepest
    contact.force[wheel] = contact.drag[wheel] = 0.0
    if deepest <= 0.0:
        for i in range(points):
            contact_points[i, ONSET_RATE] = contact_points[i, SHARE] = 0.0
            contact_points[i, STRETCH] = contact_points[i, STRETCH + 1] = 0.0
        if compliance > 0.0:  # the leg relaxes
            before = contact.deflection[wheel]
            contact.deflection[wheel] = relaxed(compliance, obstacle.leg_damping, obstacle.leg_backlash, before, dt)
        return
    velocity, spin = _motion(obstacle, wheel, body, work)
    for i in range(points):
        ax, ay, az = contact_points[i, ARM], contact_points[i, ARM + 1], contact_points[i, ARM + 2]
        forward, up = velocity[0] + spin[1] * az - spin[2] * ay, velocity[2] + spin[0] * ay - spin[1] * ax
        contact_points[i, RATE] = sine * forward - cosine * up
        contact_points[i, ONSET_RATE] = (
            _onset(contact_points[i, ONSET_RATE], contact_points[i, RATE]) if contact_points[i, DEPTH] > 0.0 else 0.0
        )
    deflection, deflection_rate = 0.0, 0.0
    if compliance > 0.0:
        deflection = leg_deflection(
            law, compliance, obstacle.leg_damping, obstacle.leg_backlash, contact_points[:points],
            contact.deflection[wheel], dt,
        )  # fmt: skip
        deflection_rate = (deflection - contact.deflection[wheel]) / dt
        contact.deflection[wheel] = deflection
    across, along = 0.0, 0.0
    for i in range(points):
        force = law_force(
            law,
            contact_points[i, DEPTH] - deflection,
            contact_points[i, RATE] - deflection_rate,
            contact_points[i, ONSET_RATE],
        )
        contact_points[i, SHARE] = force
        arm = (contact_points[i, ARM], contact_points[i, ARM + 1], contact_points[i, ARM + 2])
        contact.force[wheel] += force
        across += force * (centre[1] + arm[1])
        along += force * (cosine * (centre[0] + arm[0]) + sine * (centre[2] + arm[2]))
        contact.drag[wheel] += _press(
            chain, obstacle, wheel, sine, cosine, velocity, spin, arm, force, dt, contact_points[i, STRETCH:], work,
            contact.wrench[wheel],
        )  # fmt: skip
    if contact.force[wheel] > 0.0:
        contact.point[wheel, 0] = across / contact.force[wheel]
        contact.point[wheel, 1] = along / contact.force[wheel]
    push = into(obstacle.stand, wheel, vector(contact.wrench[wheel], 0))
    seen_by_sensors(
        obstacle.plate, wheel, normal, (sine, cosine), middle, push, contact.force, contact.drag, contact.point
    )


@kernel
def _place_points(
    chain: Chain,
    obstacle: Obstacle,
    q: FloatArray,
    wheel: int,
    sine: float,
    cosine: float,
    centre: tuple[float, float, float],
    contact: ObstacleContact,
    work: Workspace,
) -> tuple[float, int]:
    """Fill arm, depth and lean of a wheel's points, and place of the deepest; its depth [m], the number of points."""
    radius = chain.wheel_radius[wheel]
    clearance = cosine * centre[2] - sine * centre[0]
    deepest, points = -np.inf, points_of(obstacle)
    for which in range(points):
        turned = into(obstacle.stand, wheel, axle(work, chain.wheel_body[wheel]))
        i, lean, rim = 0, 0.0, radius
        if which == RIM:
            i, rim = RIM, radius - obstacle.rim_below
        _, arm = rim_contact(chain.crown, wheel, rim, (-sine, 0.0, cosine), turned)
        if obstacle.grousers > 0 and which < RIM:
            i, lean, arm = grouser_tip(
                chain, q, work, wheel, obstacle.stand, obstacle.angle, radius, obstacle.grousers,
                obstacle.grouser_offset, which,
            )  # fmt: skip
        depth = sine * arm[0] - cosine * arm[2] - clearance
        contact_points = contact.contact_points[wheel, i]
        along = cosine * (centre[0] + arm[0]) + sine * (centre[2] + arm[2])
        smooth, before = obstacle.grousers == 0, contact_points[SHARE]
        on, off = reached(obstacle.plate, wheel, smooth, centre[1] + arm[1], along, depth, before)
        if not on:
            contact_points[SHARE], depth = 0.0, -np.inf
        arm = (arm[0], arm[1] - off, arm[2])
        contact_points[DEPTH], contact_points[LEAN] = depth, lean
        contact_points[SINE], contact_points[COSINE] = sine, cosine
        contact_points[ARM], contact_points[ARM + 1], contact_points[ARM + 2] = arm
        if depth > deepest:
            deepest = depth
            contact.point[wheel, 0] = centre[1] + arm[1]
            contact.point[wheel, 1] = along
    return deepest, points
