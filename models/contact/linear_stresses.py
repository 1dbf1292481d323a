"""Xu's whole wheel under a rover: his linear stresses, his torque and his lateral force, on a moving wheel.

How he is read beyond driving, and why standing wheels hold, is in `models.wheel.xu`. Here the shares of the
shear limits become states that follow their steady values over a path, and enter the step implicitly: a share at the
end of a step depends on the speeds at its end (decision 0086).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from models.contact.wheel_slots import (
    COSINE,
    DAMPING,
    FORWARD,
    HEADING,
    LEFT,
    LIMIT,
    NORMAL,
    ROLLING,
    SIDE,
    SIDEWAYS,
    SINE,
    SINKING,
    SLOWEST,
    TRACTION,
)
from models.kernels.compiled import FloatArray, kernel
from models.rover.dynamics import Workspace
from models.rover.factor import add_damping, add_scaled
from models.rover.points import Direction, cross, dot, spread_wrench, vector
from models.rover.reduction import Chain
from models.wheel import xu
from models.wheel.kernels import relative_sinkage
from models.wheel.packed import COHESION, RADIUS, WIDTH
from models.wheel.traction import slip_and_slide

# The cohesion at the lowest point turns within this share of the shear limit at least, as far as the damping of the
# step is concerned: a wheel that hardly touches the soil would otherwise be held by it.
_TURNS_WITHIN = 0.05


class LinearStresses(NamedTuple):
    """What Xu's wheel has in addition to its packed parameters.

    Attributes:
        path: over which the shares of the shear limits follow their steady values [m]: k of Xu 2021 (25).
        retardation: time of the shearing soil [s].
    """

    path: float
    retardation: float


@kernel
def follow(share: float, steady: float, path: float, linear: LinearStresses, dt: float) -> tuple[float, float, float]:
    """Advance a share of the shear limit by a step in which wheel or rim move by `path` m/s times dt.

    Args:
        share: at the start of the step.
        steady: that it follows.
        path: speed of the wheel over the soil [m/s], > 0.
        linear: path and retardation.
        dt: step [s].

    Returns:
        The share at the end of the step; the retarded one, which the forces have: it still lies between the first and
        `steady`; and the slope of the latter over the path that drives it, without `steady` [s/m].
    """
    per_path = 1.0 / linear.path
    moved, late = dt * path * per_path, linear.retardation * path * per_path
    both = 1.0 / ((1.0 + moved) * (1.0 + late))
    rate = per_path * (dt + linear.retardation * (1.0 + moved)) * both
    return (share + moved * steady) / (1.0 + moved), share + rate * path * (steady - share), rate


@kernel
def push_linear(
    chain: Chain,
    linear: LinearStresses,
    p: FloatArray,
    damping: float,
    slip_speed: float,
    up: Direction,
    wheel: int,
    dt: float,
    verticals: FloatArray,
    sinkages: FloatArray,
    slips: FloatArray,
    pulls: FloatArray,
    sheared: FloatArray,
    scratch: FloatArray,
    work: Workspace,
) -> None:
    """Add the soil's force on a wheel to work.rhs and the damping of its shear to work.mass_matrix.

    Sinkage, directions and speeds are in place (models.contact.ground). The force acts on the axle, with the torque of
    (30), and the lateral force at the contact.

    Args:
        chain: the rover.
        linear: path and retardation.
        p: packed parameters of the wheel.
        damping: the normal stresses grow by this times the sinkage rate [s/m].
        slip_speed: [m/s], see `models.wheel.xu`.
        up: the ground's normal, base axes.
        wheel: number of the wheel.
        dt: step [s].
        verticals: readings of `GroundContact` (wheels,), as the next three.
        sinkages: [m].
        slips: [-].
        pulls: [N].
        sheared: shares of the shear limits along the heading and to its left, times `linear.path` (2,) [m]; advanced.
        scratch: of the wheel (SCRATCH,).
        work: placed.
    """
    if not sinkages[wheel] > 0.0:
        sheared[0] = sheared[1] = slips[wheel] = verticals[wheel] = pulls[wheel] = 0.0
        scratch[NORMAL] = scratch[SINE] = scratch[LIMIT] = scratch[TRACTION] = scratch[SIDE] = scratch[DAMPING] = 0.0
        scratch[COSINE] = 1.0
        return
    body, radius = chain.wheel_body[wheel], chain.wheel_radius[wheel]
    heading, left, centre = vector(scratch, HEADING), vector(scratch, LEFT), vector(work.place[body], 0)
    # the contact drifts, not the axle: a wheel that leans over about its contact does not
    leaning = dot(left, cross(vector(work.twist[body], 3), up))
    forward, sideways, rolling = scratch[FORWARD], scratch[SIDEWAYS] - radius * leaning, scratch[ROLLING]
    slip, _, reference = slip_and_slide(forward, 0.0, rolling, SLOWEST)
    fade = min(reference / slip_speed, 1.0)
    slips[wheel] = slip * fade
    direction = math.copysign(1.0, rolling + forward)
    entry, middle, normal, limit, steady, pushing, steep = xu.steady_shear(
        p, relative_sinkage(p, sinkages[wheel]), direction * slip, fade
    )
    per_path = 1.0 / linear.path
    share, felt, rate = follow(sheared[0] * per_path, direction * steady, reference, linear, dt)
    bearing = max(0.0, 1.0 - damping * scratch[SINKING])
    pressed, resisting, lift, push, torque = xu.resultants(p, entry, middle, normal, limit, felt, pushing)
    vertical = bearing * pressed + xu.faded(rolling + forward, 2.0 * slip_speed) * lift
    pull = push - xu.faded(forward, slip_speed) * bearing * resisting
    # lateral force
    path = math.hypot(reference, sideways)
    drift, steeper = xu.steady_side(p, forward, sideways, reference, slip_speed)
    side_share, side_felt, side_rate = follow(sheared[1] * per_path, drift, path, linear, dt)
    side_limit = xu.lateral_limit(p, entry, vertical)
    side = side_limit * side_felt
    # slopes of torque/R and of the lateral force over sliding speed, no smaller than the true ones
    turning = p[COHESION] * middle / max(pushing, _TURNS_WITHIN) if abs(felt) < pushing else 0.0
    holding = 0.5 * p[RADIUS] * p[WIDTH] * (limit * entry + turning)
    along = holding * rate * (steep + abs(direction * steady - felt))
    across = side_limit * side_rate * (steeper + abs(drift - side_felt))
    sheared[0], sheared[1] = linear.path * share, linear.path * side_share
    verticals[wheel], pulls[wheel] = vertical, pull
    scratch[NORMAL], scratch[COSINE], scratch[SINE], scratch[LIMIT] = vertical, 1.0, 0.0, side_limit
    scratch[TRACTION], scratch[SIDE], scratch[DAMPING] = pull, side, along * dt
    _apply(chain, work, body, centre, radius, heading, left, up, (pull, side, vertical, torque), (along, across), dt)


@kernel
def _apply(
    chain: Chain,
    work: Workspace,
    body: int,
    centre: Direction,
    radius: float,
    heading: Direction,
    left: Direction,
    up: Direction,
    forces: tuple[float, float, float, float],
    slopes: tuple[float, float],
    dt: float,
) -> None:
    """Pull, lateral and vertical force and torque on a wheel, and the damping of the first two at its contact."""
    pull, side, vertical, torque = forces
    place = (centre[0] - radius * up[0], centre[1] - radius * up[1], centre[2] - radius * up[2])
    on_axle = (
        pull * heading[0] + vertical * up[0],
        pull * heading[1] + vertical * up[1],
        pull * heading[2] + vertical * up[2],
    )
    at_contact = (side * left[0], side * left[1], side * left[2])
    first, second = cross(centre, on_axle), cross(place, at_contact)
    moment = (
        first[0] + second[0] - torque * left[0],
        first[1] + second[1] - torque * left[1],
        first[2] + second[2] - torque * left[2],
    )
    force = (on_axle[0] + at_contact[0], on_axle[1] + at_contact[1], on_axle[2] + at_contact[2])
    spread_wrench(chain, work, body, force, moment, work.row)
    add_scaled(chain.speed_parent, work.rhs, work.row, 5 + body, 1.0)
    spread_wrench(chain, work, body, heading, cross(place, heading), work.row)
    add_damping(chain.speed_parent, work.mass_matrix, work.row, 5 + body, slopes[0] * dt)
    spread_wrench(chain, work, body, left, cross(place, left), work.row)
    add_damping(chain.speed_parent, work.mass_matrix, work.row, 5 + body, slopes[1] * dt)
