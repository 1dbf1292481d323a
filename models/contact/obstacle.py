"""A flat, inclined obstacle across the rover's way, hit by wheels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.compiled import FloatArray, kernel
from models.contact.laws import hunt_crossley
from models.rover.dynamics import Work
from models.rover.factor import add_scaled, add_sliding
from models.rover.points import body_position, body_spin, body_velocity, project
from models.rover.reduction import Chain


class Obstacle(NamedTuple):
    """The plane through (foot, 0, 0), inclined to the ground, and its contact law.

    Attributes:
        angle: beta [rad], inclination to the ground.
        foot: where the plane meets the ground, world x [m].
        stiffness: of contact and legs lumped, a wheel [N/m^exponent].
        exponent: p of the law.
        restitution: e of the law.
        friction: Coulomb coefficient of wheel on plate.
        friction_speed: sliding speed [m/s] below which friction grows in proportion.
    """

    angle: float
    foot: float
    stiffness: float
    exponent: float
    restitution: float
    friction: float
    friction_speed: float


class ObstacleContact(NamedTuple):
    """State and readings of the wheels that can hit the obstacle, arrays (hitting wheels, ...).

    Attributes:
        onset_rate: approach speed at onset [m/s]; 0 while apart.
        force: normal force [N].
        point: contact point on the plane [m]: across (to port), up the plane from its foot.
        gap: distance to the plane [m], negative in contact.
    """

    onset_rate: FloatArray
    force: FloatArray
    point: FloatArray
    gap: FloatArray


def make_contact(wheels: int) -> ObstacleContact:
    """Allocate the state of `wheels` wheels, all apart."""
    return ObstacleContact(np.zeros(wheels), np.zeros(wheels), np.zeros((wheels, 2)), np.full(wheels, np.inf))


@kernel
def push_obstacle(
    chain: Chain, obstacle: Obstacle, q: FloatArray, wheel: int, dt: float, contact: ObstacleContact, work: Work
) -> None:
    """Add the obstacle's force on one wheel to work.rhs and its friction's damping to work.mass_matrix.

    Needs fill_bias (twists) and fill_mass_matrix.

    Depth by MacMahon 2016 (5.11)-(5.12): the plane's outward normal is n = (-sin beta, 0, cos beta) and the contact
    point lies a radius from the wheel centre along -n. Friction acts at that point, against sliding, in proportion to
    the sliding speed below `friction_speed`.
    """
    sine, cosine = np.sin(obstacle.angle), np.cos(obstacle.angle)
    body, radius = chain.wheel_body[wheel], chain.wheel_radius[wheel]
    x, y, z = body_position(q, work, body)
    x -= obstacle.foot
    depth = radius - (cosine * z - sine * x)
    contact.gap[wheel] = -depth
    contact.point[wheel, 0] = y
    contact.point[wheel, 1] = cosine * (x + radius * sine) + sine * (z - radius * cosine)
    if depth <= 0.0:
        contact.onset_rate[wheel] = 0.0
        contact.force[wheel] = 0.0
        return
    vx, vy, vz = body_velocity(work, body)
    rate = sine * vx - cosine * vz
    # the fastest approach of this contact so far: a wheel laid on the plate and driven later has its own onset
    contact.onset_rate[wheel] = max(contact.onset_rate[wheel], rate, 1e-12)
    force = hunt_crossley(
        obstacle.stiffness, obstacle.exponent, obstacle.restitution, depth, rate, contact.onset_rate[wheel]
    )
    contact.force[wheel] = force
    # sliding of the contact point: up the plane and across
    wx, wy, wz = body_spin(work, body)
    ax, az = radius * sine, -radius * cosine
    px, py, pz = vx + wy * az, vy + wz * ax - wx * az, vz - wy * ax
    up = cosine * px + sine * pz
    grip = obstacle.friction * force / max(np.hypot(up, py), obstacle.friction_speed)
    none, arm, start = (0.0, 0.0, 0.0), (ax, 0.0, az), 5 + body
    project(chain, work, body, (-sine * force, 0.0, cosine * force), none, arm, work.row)
    add_scaled(chain.speed_parent, work.rhs, work.row, start, 1.0)
    # friction is a steep function of speed: it enters the step implicitly, as traction does
    project(chain, work, body, (cosine, 0.0, sine), none, arm, work.row)
    add_sliding(chain.speed_parent, work.mass_matrix, work.rhs, work.row, start, -grip * up, grip * dt)
    project(chain, work, body, (0.0, 1.0, 0.0), none, arm, work.row)
    add_sliding(chain.speed_parent, work.mass_matrix, work.rhs, work.row, start, -grip * py, grip * dt)
