"""Level soil under the wheels: the hypervolumetric wheel on a moving, spinning wheel body."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.compiled import FloatArray, kernel
from models.rover.dynamics import Work
from models.rover.factor import add_scaled, add_sliding
from models.rover.points import axle, body_position, body_spin, body_velocity, project
from models.rover.reduction import Chain
from models.wheel.kernels import SLIP_MODULUS, resultant


class Ground(NamedTuple):
    """Soil and wheel together.

    Attributes:
        wheel: packed wheel-soil parameters (models.wheel.RigidWheel.parameters).
        damping: [s/m] the normal force grows by this times the sinkage rate. The hypervolumetric law is static and
            would let a rover bounce for ever; an assumption, not a soil test.
        slip_speed: [m/s] below which slip is measured against this speed, so that it stays defined at rest.
    """

    wheel: FloatArray
    damping: float
    slip_speed: float


class GroundContact(NamedTuple):
    """Readings of every wheel (wheels,): vertical force [N], sinkage [m], slip [-], drawbar pull [N]."""

    vertical: FloatArray
    sinkage: FloatArray
    slip: FloatArray
    pull: FloatArray


def make_ground_contact(wheels: int) -> GroundContact:
    """Allocate the readings of `wheels` wheels."""
    return GroundContact(np.zeros(wheels), np.zeros(wheels), np.zeros(wheels), np.zeros(wheels))


@kernel
def push_ground(
    chain: Chain, ground: Ground, q: FloatArray, wheel: int, dt: float, contact: GroundContact, work: Work
) -> None:
    """Add the soil's force on one wheel to work.rhs and its traction's damping to work.mass_matrix.

    Petersen 2012 (4.30)-(4.32), with the slip of (4.3) taken over both driving and braking: (R w - v) over the larger
    of the two speeds. Sideways sliding shares the same shear limit, along the resultant slip. Traction is a steep
    function of speed (some 1e4 N s/m), so it enters the step implicitly: its secant slope times dt joins the mass
    matrix, which changes nothing at rest and keeps a 0.1 ms step stable.
    """
    body, radius = chain.wheel_body[wheel], chain.wheel_radius[wheel]
    _, _, height = body_position(q, work, body)
    z = radius - height
    contact.sinkage[wheel] = max(z, 0.0)
    if z <= 0.0:
        contact.vertical[wheel] = contact.slip[wheel] = contact.pull[wheel] = 0.0
        return
    vx, vy, vz = body_velocity(work, body)
    wx, wy, wz = body_spin(work, body)
    ax, ay, az = axle(work, body)
    # heading: level, at right angles to the axle
    level = max(np.hypot(ax, ay), 1e-9)  # a wheel that lies flat has no heading
    hx, hy = ay / level, -ax / level
    forward, sideways = hx * vx + hy * vy, -hy * vx + hx * vy
    rolling = radius * (wx * ax + wy * ay + wz * az)

    normal, cosine, sine, shear_limit = resultant(ground.wheel, z)
    normal *= max(0.0, 1.0 - ground.damping * vz)
    # compaction resists whichever way the wheel travels, and not at all at rest; the vertical part stays as it is
    vertical, against = normal * cosine, normal * sine * forward / np.hypot(forward, ground.slip_speed)
    normal = np.hypot(vertical, against)
    cosine, sine = (vertical / normal, against / normal) if normal > 0.0 else (1.0, 0.0)

    # the tractive force acts along the contact's tangent, a radius from the axle, so its moment on the axle is R F_t
    arm = (radius * sine * hx, radius * sine * hy, -radius * cosine)
    # what slides sideways is the contact and not the axle: a wheel that leans over about its contact does not slide
    sideways += hx * (wz * arm[0] - wx * arm[2]) - hy * (wy * arm[2] - wz * arm[1])
    reference = max(abs(rolling), abs(forward), ground.slip_speed)
    slip, slide = (rolling - forward) / reference, -sideways / reference
    contact.slip[wheel] = slip
    total_slip = np.hypot(slip, slide)
    modulus = ground.wheel[SLIP_MODULUS]
    # secant slope of (4.30): force over sliding speed
    if total_slip > 1e-9:
        secant = shear_limit * np.tanh(total_slip / modulus) / (total_slip * reference)
    else:
        secant = shear_limit / (modulus * reference)

    project(chain, work, body, (cosine * hx, cosine * hy, sine), (0.0, 0.0, 0.0), arm, work.row)
    traction = secant * slip * reference
    add_sliding(chain.speed_parent, work.mass_matrix, work.rhs, work.row, 5 + body, traction, secant * dt)
    project(chain, work, body, (-hy, hx, 0.0), (0.0, 0.0, 0.0), arm, work.row)
    side_force = secant * slide * reference
    add_sliding(chain.speed_parent, work.mass_matrix, work.rhs, work.row, 5 + body, side_force, secant * dt)
    project(chain, work, body, (-normal * sine * hx, -normal * sine * hy, normal * cosine), (0.0, 0.0, 0.0),
            (0.0, 0.0, 0.0), work.row)  # fmt: skip
    add_scaled(chain.speed_parent, work.rhs, work.row, 5 + body, 1.0)
    contact.vertical[wheel] = normal * cosine + traction * sine
    contact.pull[wheel] = traction * cosine - normal * sine
