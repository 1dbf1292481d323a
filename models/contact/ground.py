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

# Two wheels slower than this over the ground [m/s] stand: their slip is that of sliding.
SLOWEST = 1e-12


class Ground(NamedTuple):
    """Soil and wheel together.

    Attributes:
        wheel: packed wheel-soil parameters (models.wheel.RigidWheel.parameters).
        damping: [s/m] the normal force grows by this times the sinkage rate. The hypervolumetric law is static and
            would let a rover bounce for ever; an assumption, not a soil test.
        slip_speed: [m/s] below which slip is read, and compaction resistance fades, against this speed: so that both
            stay defined at rest.
        shear_displacement: [m] by which the soil is sheared when traction is at its limit; what holds a standing wheel.
        shear_damping: [s] retardation time of the shearing soil.
    """

    wheel: FloatArray
    damping: float
    slip_speed: float
    shear_displacement: float
    shear_damping: float


class GroundContact(NamedTuple):
    """Readings of every wheel (wheels,): vertical force [N], sinkage [m], slip [-], drawbar pull [N].

    And one state: how far the soil under it is sheared (wheels, 2) [m], along the heading and to its left.
    """

    vertical: FloatArray
    sinkage: FloatArray
    slip: FloatArray
    pull: FloatArray
    shear: FloatArray


def make_ground_contact(wheels: int) -> GroundContact:
    """Allocate the readings of `wheels` wheels."""
    return GroundContact(np.zeros(wheels), np.zeros(wheels), np.zeros(wheels), np.zeros(wheels), np.zeros((wheels, 2)))


@kernel
def push_ground(
    chain: Chain, ground: Ground, q: FloatArray, wheel: int, dt: float, contact: GroundContact, work: Work
) -> None:
    """Add the soil's force on one wheel to work.rhs and its traction's damping to work.mass_matrix.

    Petersen 2012 (4.30)-(4.32), with the slip of (4.3) taken over both driving and braking: (R w - v) over the larger
    of the two speeds. Sideways sliding shares the same shear limit, along the resultant slip.

    Traction builds up over the soil's shear displacement j, as in Janosi and Hanamoto: j' = u - |u| j / j_ss, with the
    sliding speed u and the j_ss at which the force is that of (4.30). A rolling wheel forgets within a few mm of way
    and feels (4.30); a standing one, whose u is 0, keeps its j, and with it the force that holds it on a slope.
    Speed and displacement enter the step implicitly: their slopes times dt join the mass matrix.
    """
    body, radius = chain.wheel_body[wheel], chain.wheel_radius[wheel]
    _, _, height = body_position(q, work, body)
    z = radius - height
    contact.sinkage[wheel] = max(z, 0.0)
    if z <= 0.0:
        contact.vertical[wheel] = contact.slip[wheel] = contact.pull[wheel] = 0.0
        contact.shear[wheel, 0] = contact.shear[wheel, 1] = 0.0
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
    along, across = rolling - forward, -sideways
    reference = max(abs(rolling), abs(forward))
    contact.slip[wheel] = along / max(reference, ground.slip_speed)
    sliding = np.hypot(along, across)
    slip = sliding / max(reference, SLOWEST)
    # |u| / j_ss [1/s]: how fast the soil forgets its shear; at no slip the tanh of (4.30) is as good as its slope
    modulus = ground.wheel[SLIP_MODULUS]
    forgetting = sliding / np.tanh(slip / modulus) if slip > 1e-9 else reference * modulus
    forgetting /= ground.shear_displacement
    fade = 1.0 / (1.0 + dt * forgetting)
    contact.shear[wheel, 0] = (contact.shear[wheel, 0] + dt * along) * fade
    contact.shear[wheel, 1] = (contact.shear[wheel, 1] + dt * across) * fade
    # retarded by its damping, the force still lies between that of the displacement and that of steady sliding
    stiffness = shear_limit / ground.shear_displacement / (1.0 + ground.shear_damping * forgetting)
    damping = stiffness * (fade * dt + ground.shear_damping)

    project(chain, work, body, (cosine * hx, cosine * hy, sine), (0.0, 0.0, 0.0), arm, work.row)
    traction = stiffness * fade * contact.shear[wheel, 0] + damping * along
    add_sliding(chain.speed_parent, work.mass_matrix, work.rhs, work.row, 5 + body, traction, damping * dt)
    project(chain, work, body, (-hy, hx, 0.0), (0.0, 0.0, 0.0), arm, work.row)
    side_force = stiffness * fade * contact.shear[wheel, 1] + damping * across
    add_sliding(chain.speed_parent, work.mass_matrix, work.rhs, work.row, 5 + body, side_force, damping * dt)
    project(chain, work, body, (-normal * sine * hx, -normal * sine * hy, normal * cosine), (0.0, 0.0, 0.0),
            (0.0, 0.0, 0.0), work.row)  # fmt: skip
    add_scaled(chain.speed_parent, work.rhs, work.row, 5 + body, 1.0)
    contact.vertical[wheel] = normal * cosine + traction * sine
    contact.pull[wheel] = traction * cosine - normal * sine
