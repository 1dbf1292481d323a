"""Soil under the wheels: the hypervolumetric wheel on a moving, spinning wheel body."""

from __future__ import annotations

import math
from typing import NamedTuple

from models.contact.linear_stresses import LinearStresses, push_linear
from models.contact.ruts import Regions, Ruts, flexible_by_place, resultant_by_place
from models.contact.wheel_slots import (
    BULLDOZING,
    COSINE,
    DAMPING,
    FORWARD,
    HEADING,
    LEFT,
    LIMIT,
    MODULUS,
    NORMAL,
    ROLLING,
    SIDE,
    SIDEWAYS,
    SINE,
    SINKING,
    SLOWEST,
    TRACTION,
    UP,
    GroundContact,
)
from models.kernels.compiled import FloatArray, kernel
from models.rover.dynamics import Workspace
from models.rover.factor import add_damping_both_ways, add_scaled
from models.rover.points import body_position, cross, dot, spread_wrench, to_base, vector
from models.rover.reduction import Chain
from models.terrain.surface import Terrain, contact_plane
from models.wheel.kernels import SLIP_MODULUS
from models.wheel.packed import FLEXIBLE, VARIANT, XU
from models.wheel.traction import against_travel, fading, modulus_factor, shear_soil, slip_and_slide


class Ground(NamedTuple):
    """Soil and wheel together.

    Attributes:
        wheel: packed wheel-soil parameters (`parameters` of a wheel of models.wheel); of the first wheel where they
            differ. What is the soil's alone is the same in all.
        damping: [s/m] the normal force grows by this times the sinkage rate. The hypervolumetric law is static and
            would let a rover bounce for ever; an assumption, not a soil test.
        slip_speed: [m/s] below which slip is read, and compaction resistance fades, against this speed: so that both
            stay defined at rest.
        shear_displacement: [m] by which the soil is sheared when traction is at its limit; what holds a standing wheel.
        shear_damping: [s] retardation time of the shearing soil.
        ruts: memory of compacted soil for the wheels that come later, variants "exact" and "flexible" only; None: all
            soil is fresh.
        regions: of other soil; None: it is the same everywhere.
        linear: the whole wheel of the variant "xu", with its shear and lateral force; None: traction is (4.30)'s.
        each: (wheels, numbers) those of every wheel, where wheels differ; None: `wheel` is that of all.
        by_speed: `wheel` where the slip modulus depends on the speed; None: it does not.
    """

    wheel: FloatArray
    damping: float
    slip_speed: float
    shear_displacement: float
    shear_damping: float
    ruts: Ruts | None = None
    regions: Regions | None = None
    linear: LinearStresses | None = None
    each: FloatArray | None = None
    by_speed: FloatArray | None = None


@kernel
def push_ground(
    chain: Chain, ground: Ground, terrain: Terrain, q: FloatArray, dt: float, contact: GroundContact, work: Workspace
) -> None:
    """Add the soil's force on every wheel to work.rhs and its traction's damping to work.mass_matrix.

    Petersen 2012 (4.30)-(4.32), with the slip of (4.3) taken over both driving and braking: (R w - v) over the larger
    of the two speeds. Sideways sliding shares the same shear limit, along the resultant slip.

    Traction builds up over the soil's shear displacement (models.wheel.traction.shear_soil). Speed and displacement
    enter the step implicitly: their slopes times dt join the mass matrix.

    Computed in stages over all wheels: one wheel alone is a long chain of dependent roots and quotients, and a
    processor works on several wheels at once where each stage is short (two thirds of the time).
    """
    wheels = chain.wheel_body.size
    for wheel in range(wheels):
        look(chain, terrain, q, wheel, contact, work)
    _push_all(ground.linear, chain, ground, terrain, q, dt, contact, work)


@kernel
def _push_all(
    linear: LinearStresses | None,
    chain: Chain,
    ground: Ground,
    terrain: Terrain,
    q: FloatArray,
    dt: float,
    contact: GroundContact,
    work: Workspace,
) -> None:
    """The stages after `look`; which of the two kinds of wheel is decided at compile time."""
    wheels = chain.wheel_body.size
    if linear is not None:
        inverses = _inverses(ground)
        for wheel in range(wheels):
            _push_stresses(ground.each, linear, chain, ground, terrain, inverses, q, wheel, dt, contact, work)
        return
    for wheel in range(wheels):
        _press(ground.each, chain, ground, q, wheel, dt, contact, work)
    inverses = _inverses(ground)
    for wheel in range(wheels):
        _shear(chain, ground, terrain, inverses, wheel, dt, contact, work)
    for wheel in range(wheels):
        _push(chain, terrain, wheel, contact, work)


def wheel_of(ground: Ground, number: int) -> FloatArray:
    """Packed parameters of a wheel."""
    return ground.wheel if ground.each is None else ground.each[number]


@kernel
def _push_stresses(
    each: FloatArray | None,
    linear: LinearStresses,
    chain: Chain,
    ground: Ground,
    terrain: Terrain,
    inverses: tuple[float, float, float],
    q: FloatArray,
    wheel: int,
    dt: float,
    contact: GroundContact,
    work: Workspace,
) -> None:
    """Add all forces of a wheel "xu", or of another wheel of a rover that has such wheels."""
    up = _up(terrain, contact.scratch[wheel], work)
    if each is None:
        push_linear(
            chain, linear, ground.wheel, ground.damping, ground.slip_speed, up, wheel, dt, contact.vertical,
            contact.sinkage, contact.slip, contact.pull, contact.shear[wheel], contact.scratch[wheel], work,
        )  # fmt: skip
    elif each[wheel, VARIANT] == XU:
        push_linear(
            chain, linear, each[wheel], ground.damping, ground.slip_speed, up, wheel, dt, contact.vertical,
            contact.sinkage, contact.slip, contact.pull, contact.shear[wheel], contact.scratch[wheel], work,
        )  # fmt: skip
    else:
        _press(each, chain, ground, q, wheel, dt, contact, work)
        _shear(chain, ground, terrain, inverses, wheel, dt, contact, work)
        _push(chain, terrain, wheel, contact, work)


@kernel
def _inverses(ground: Ground) -> tuple[float, float, float]:
    """Quotients of constants of the soil: a quotient takes as long as ten products."""
    return 1.0 / ground.slip_speed, 1.0 / ground.wheel[SLIP_MODULUS], 1.0 / ground.shear_displacement


@kernel
def look(chain: Chain, terrain: Terrain, q: FloatArray, wheel: int, contact: GroundContact, work: Workspace) -> None:
    """Sinkage, directions and speeds of a wheel."""
    body, radius, out = chain.wheel_body[wheel], chain.wheel_radius[wheel], contact.scratch[wheel]
    t, s, centre = work.twist[body], work.screw[body], vector(work.place[body], 0)
    over, up = _over(terrain, q, wheel, body, work)
    spin, axle = vector(t, 3), vector(s, 3)
    lever = cross(spin, centre)
    velocity = (t[0] + lever[0], t[1] + lever[1], t[2] + lever[2])
    # heading: along the ground, at right angles to the axle; `left` completes it
    ahead = cross(axle, up)
    level = 1.0 / max(math.sqrt(dot(ahead, ahead)), 1e-9)  # a wheel that lies on its side has no heading
    heading = (ahead[0] * level, ahead[1] * level, ahead[2] * level)
    left = cross(up, heading)
    contact.sinkage[wheel] = max(radius - over, 0.0)
    out[FORWARD], out[ROLLING] = dot(heading, velocity), radius * dot(spin, axle)
    out[SINKING], out[SIDEWAYS] = dot(up, velocity), dot(left, velocity)
    for a in range(3):
        out[HEADING + a], out[LEFT + a] = heading[a], left[a]
    _keep_up(terrain, out, up)


@kernel
def _over(
    terrain: Terrain, q: FloatArray, wheel: int, body: int, work: Workspace
) -> tuple[float, tuple[float, float, float]]:
    """Height [m] of a wheel's centre over the ground, and the ground's normal there in base axes."""
    if terrain is None:
        up = vector(work.base[2], 0)
        return q[2] + dot(up, vector(work.place[body], 0)), up
    place = body_position(q, work, body)
    over, normal = contact_plane(terrain, place, wheel)
    return over, to_base(work, normal[0], normal[1], normal[2])


@kernel
def _keep_up(terrain: Terrain, scratch: FloatArray, up: tuple[float, float, float]) -> None:
    if terrain is not None:
        for a in range(3):
            scratch[UP + a] = up[a]


@kernel
def _up(terrain: Terrain, scratch: FloatArray, work: Workspace) -> tuple[float, float, float]:
    """The ground's normal under a wheel, base axes."""
    if terrain is None:
        return vector(work.base[2], 0)
    return vector(scratch, UP)


@kernel
def _press(
    each: FloatArray | None,
    chain: Chain,
    ground: Ground,
    q: FloatArray,
    wheel: int,
    dt: float,
    contact: GroundContact,
    work: Workspace,
) -> None:
    """Normal force and its shear limit, by the wheel's own row where wheels differ."""
    if each is None:  # decided at compile time: wheels that are alike cost nothing
        _press_row(chain, ground, ground.wheel, q, wheel, dt, contact, work)
    else:
        _press_row(chain, ground, each[wheel], q, wheel, dt, contact, work)


@kernel
def _press_row(
    chain: Chain,
    ground: Ground,
    own: FloatArray,
    q: FloatArray,
    wheel: int,
    dt: float,
    contact: GroundContact,
    work: Workspace,
) -> None:
    out = contact.scratch[wheel]
    if own[VARIANT] == FLEXIBLE:
        share = share_ahead(ground, contact.shear[wheel, 0], out[FORWARD])
        normal, cosine, sine, out[LIMIT] = flexible_by_place(
            chain, ground.ruts, own, q, wheel, share, contact.sinkage[wheel], work
        )
    else:
        normal, cosine, sine, out[LIMIT], pushed = resultant_by_place(
            chain, ground.ruts, ground.slip_speed, own, ground.regions, q, wheel, dt, contact, work
        )
        out[BULLDOZING] = fading(pushed, out[FORWARD], ground.slip_speed)
    normal *= max(0.0, 1.0 - ground.damping * out[SINKING])
    out[NORMAL], out[COSINE], out[SINE] = against_travel(normal, cosine, sine, out[FORWARD], ground.slip_speed)


@kernel
def share_ahead(ground: Ground, sheared: float, forward: float) -> float:
    """Tangential force of the last step over its limit, in the direction of travel: what deflects a flexible wheel.

    As `against_travel`, it fades at rest, where a shape has no front.
    """
    share = min(max(sheared / ground.shear_displacement, -1.0), 1.0)
    return share * forward / math.sqrt(forward * forward + ground.slip_speed * ground.slip_speed)


@kernel
def _shear(
    chain: Chain,
    ground: Ground,
    terrain: Terrain,
    inverses: tuple[float, float, float],
    wheel: int,
    dt: float,
    contact: GroundContact,
    work: Workspace,
) -> None:
    """Forces along the contact, and the state of the soil that they come from."""
    per_slip_speed, per_modulus, per_displacement = inverses
    scratch, sheared = contact.scratch[wheel], contact.shear[wheel]
    if contact.sinkage[wheel] <= 0.0:
        sheared[0] = sheared[1] = contact.slip[wheel] = 0.0
        scratch[TRACTION] = scratch[SIDE] = scratch[DAMPING] = 0.0
        return
    # the contact slides sideways, not the axle: a wheel that leans over about its contact does not slide
    spin = vector(work.twist[chain.wheel_body[wheel]], 3)
    leaning = dot(vector(scratch, LEFT), cross(spin, _normal(terrain, scratch, work)))
    sideways = scratch[SIDEWAYS] - chain.wheel_radius[wheel] * leaning
    slip, slide, reference = slip_and_slide(scratch[FORWARD], sideways, scratch[ROLLING], SLOWEST)
    contact.slip[wheel] = slip * min(1.0, reference * per_slip_speed)
    modulus, per_modulus = slip_modulus(ground, ground.regions, scratch, per_modulus)
    modulus, per_modulus = _at_speed(ground, ground.by_speed, scratch[FORWARD], modulus, per_modulus)
    scratch[TRACTION], scratch[SIDE], slope = shear_soil(
        ground.wheel, sheared, slip, slide, reference, scratch[LIMIT], modulus, (per_modulus, per_displacement),
        ground.shear_damping, dt,
    )  # fmt: skip
    scratch[DAMPING] = slope * dt


@kernel
def _push(chain: Chain, terrain: Terrain, wheel: int, contact: GroundContact, work: Workspace) -> None:
    """Apply all forces of a wheel at its contact, the normal force included."""
    body, radius, scratch = chain.wheel_body[wheel], chain.wheel_radius[wheel], contact.scratch[wheel]
    heading, left, up = vector(scratch, HEADING), vector(scratch, LEFT), _up(terrain, scratch, work)
    centre, cosine, sine = work.place[body], scratch[COSINE], scratch[SINE]
    normal, traction, side = scratch[NORMAL], scratch[TRACTION], scratch[SIDE]
    contact.vertical[wheel] = normal * cosine + traction * sine
    contact.pull[wheel] = traction * cosine - normal * sine - scratch[BULLDOZING]
    if contact.sinkage[wheel] <= 0.0:
        return
    # the tractive force acts along the contact's tangent, a radius from the axle, so its moment on the axle is R F_t
    tangent = (
        cosine * heading[0] + sine * up[0], cosine * heading[1] + sine * up[1], cosine * heading[2] + sine * up[2]
    )  # fmt: skip
    out = _normal(terrain, scratch, work)
    place = (centre[0] - radius * out[0], centre[1] - radius * out[1], centre[2] - radius * out[2])
    force = (
        traction * tangent[0] + side * left[0] + normal * out[0],
        traction * tangent[1] + side * left[1] + normal * out[1],
        traction * tangent[2] + side * left[2] + normal * out[2],
    )
    spread_wrench(chain, work, body, force, cross(place, force), work.row)
    add_scaled(chain.speed_parent, work.rhs, work.row, 5 + body, 1.0)
    if scratch[BULLDOZING] != 0.0:  # through the axle, along the ground
        pushed = (
            -scratch[BULLDOZING] * heading[0], -scratch[BULLDOZING] * heading[1], -scratch[BULLDOZING] * heading[2]
        )  # fmt: skip
        spread_wrench(chain, work, body, pushed, cross(vector(centre, 0), pushed), work.row)
        add_scaled(chain.speed_parent, work.rhs, work.row, 5 + body, 1.0)
    spread_wrench(chain, work, body, tangent, cross(place, tangent), work.row)
    spread_wrench(chain, work, body, left, cross(place, left), work.other_row)
    add_damping_both_ways(chain.speed_parent, work.mass_matrix, work.row, work.other_row, 5 + body, scratch[DAMPING])


@kernel
def _normal(terrain: Terrain, scratch: FloatArray, work: Workspace) -> tuple[float, float, float]:
    """Direction of the normal force, from the contact to the wheel's centre."""
    cosine, sine, up = scratch[COSINE], scratch[SINE], _up(terrain, scratch, work)
    return (
        cosine * up[0] - sine * scratch[HEADING],
        cosine * up[1] - sine * scratch[HEADING + 1],
        cosine * up[2] - sine * scratch[HEADING + 2],
    )


@kernel
def slip_modulus(
    ground: Ground, regions: Regions | None, scratch: FloatArray, per_modulus: float
) -> tuple[float, float]:
    """Slip modulus of the soil under a wheel, and one over it."""
    if regions is None:
        return ground.wheel[SLIP_MODULUS], per_modulus
    return scratch[MODULUS], 1.0 / scratch[MODULUS]


@kernel
def _at_speed(
    ground: Ground, by_speed: FloatArray | None, forward: float, modulus: float, per_modulus: float
) -> tuple[float, float]:
    """The same at a forward speed; decided at compile time, as the regions are."""
    if by_speed is None:
        return modulus, per_modulus
    factor = modulus_factor(by_speed, forward, ground.slip_speed)
    return modulus * factor, per_modulus / factor
