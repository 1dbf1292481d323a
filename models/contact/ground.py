"""Level soil under the wheels: the hypervolumetric wheel on a moving, spinning wheel body."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.compiled import kernel
from models.rover.dynamics import Work
from models.rover.factor import add_damping, add_scaled
from models.rover.points import axle, body_position, body_spin, body_velocity, project
from models.rover.reduction import Chain
from models.rover.tree import FloatArray
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
    level = np.hypot(ax, ay)
    hx, hy = ay / level, -ax / level
    forward, sideways = hx * vx + hy * vy, -hy * vx + hx * vy
    rolling = radius * (wx * ax + wy * ay + wz * az)

    normal, cosine, sine, shear_limit = resultant(ground.wheel, z)
    normal *= max(0.0, 1.0 - ground.damping * vz)
    # compaction resists whichever way the wheel travels, and not at all at rest
    sine *= forward / np.hypot(forward, ground.slip_speed)
    cosine = np.sqrt(1.0 - sine * sine)

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

    # tractive force acts along the contact's tangent, a radius from the axle, so its moment on the axle is R F_t
    arm = (radius * sine * hx, radius * sine * hy, -radius * cosine)
    project(chain, work, body, (cosine * hx, cosine * hy, sine), (0.0, 0.0, 0.0), arm, work.row)
    _press(chain, body, secant, secant * slip * reference, dt, work)
    traction = secant * slip * reference
    project(chain, work, body, (-hy, hx, 0.0), (0.0, 0.0, 0.0), arm, work.row)
    _press(chain, body, secant, secant * slide * reference, dt, work)
    project(chain, work, body, (-normal * sine * hx, -normal * sine * hy, normal * cosine), (0.0, 0.0, 0.0),
            (0.0, 0.0, 0.0), work.row)  # fmt: skip
    add_scaled(chain.speed_parent, work.rhs, work.row, 5 + body, 1.0)
    contact.vertical[wheel] = normal * cosine + traction * sine
    contact.pull[wheel] = traction * cosine - normal * sine


@kernel
def _press(chain: Chain, body: int, damping: float, force: float, dt: float, work: Work) -> None:
    """A force along work.row, and the damping with which it answers a change of speed."""
    add_damping(chain.speed_parent, work.mass_matrix, work.row, 5 + body, damping * dt)
    add_scaled(chain.speed_parent, work.rhs, work.row, 5 + body, force)
