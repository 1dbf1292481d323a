"""Soil under the wheels: the hypervolumetric wheel on a moving, spinning wheel body."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.contact.linear_stresses import LinearStresses, push_linear
from models.contact.ruts import (
    Regions,
    Ruts,
    deepest_before,
    dug_before,
    leave,
    mixed_constants,
    mixed_resultant,
)
from models.contact.wheel_slots import (
    BULLDOZING,
    COSINE,
    DAMPING,
    DUG,
    FORWARD,
    HEADING,
    LEFT,
    LIMIT,
    MODULUS,
    NORMAL,
    ROLLING,
    SCRATCH,
    SIDE,
    SIDEWAYS,
    SINE,
    SINKING,
    SLOWEST,
    TRACTION,
    UP,
)
from models.kernels.compiled import FloatArray, kernel
from models.rover.dynamics import Workspace
from models.rover.factor import add_damping_both_ways, add_scaled
from models.rover.points import body_position, cross, dot, spread_wrench, to_base, vector
from models.rover.reduction import Chain
from models.terrain.surface import Terrain, contact_plane
from models.wheel import rut
from models.wheel.kernels import SLIP_MODULUS, bulldozing, flexible_resultant, resultant
from models.wheel.packed import DIGGING, FLEXIBLE, VARIANT, XU
from models.wheel.shear_law import dug_after, on_dug
from models.wheel.traction import against_travel, fading, shear_soil, slip_and_slide


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
        ruts: memory of compacted soil for the wheels that come later, variant "exact" only; None: all soil is fresh.
        regions: of other soil; None: it is the same everywhere.
        linear: the whole wheel of the variant "xu", with its shear and lateral force; None: traction is (4.30)'s.
        each: (wheels, numbers) those of every wheel, where wheels differ; None: `wheel` is that of all.
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


class GroundContact(NamedTuple):
    """Readings of every wheel (wheels,): force along the ground's normal [N], sinkage [m], slip [-], drawbar pull [N].

    The sinkage is the hub's: radius less its height over the ground; a flexible wheel's deflection is part of it.

    And one state, `shear` (wheels, 3): how far the soil under it is sheared [m], along the heading and to its left, and
    how far slip has dug it [-] (models.wheel.shear_law). `scratch`
    (wheels, HAND) passes values between the stages of `push_ground`.
    """

    vertical: FloatArray
    sinkage: FloatArray
    slip: FloatArray
    pull: FloatArray
    shear: FloatArray
    scratch: FloatArray


def make_ground_contact(wheels: int) -> GroundContact:
    """Allocate the readings of `wheels` wheels."""
    vertical, sinkage, slip, pull = np.zeros((4, wheels))
    return GroundContact(vertical, sinkage, slip, pull, np.zeros((wheels, 3)), np.zeros((wheels, SCRATCH)))


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
        share = _share_ahead(ground, contact.shear[wheel, 0], out[FORWARD])
        normal, cosine, sine, out[LIMIT] = flexible_resultant(own, contact.sinkage[wheel], share)
    else:
        normal, cosine, sine, out[LIMIT], pushed = _by_place(
            chain, ground, own, ground.regions, q, wheel, dt, contact, work
        )
        out[BULLDOZING] = fading(pushed, out[FORWARD], ground.slip_speed)
    normal *= max(0.0, 1.0 - ground.damping * out[SINKING])
    out[NORMAL], out[COSINE], out[SINE] = against_travel(normal, cosine, sine, out[FORWARD], ground.slip_speed)


@kernel
def _share_ahead(ground: Ground, sheared: float, forward: float) -> float:
    """Tangential force of the last step over its limit, in the direction of travel: what deflects a flexible wheel.

    As `against_travel`, it fades at rest, where a shape has no front.
    """
    share = min(max(sheared / ground.shear_displacement, -1.0), 1.0)
    return share * forward / math.sqrt(forward * forward + ground.slip_speed * ground.slip_speed)


@kernel
def _by_place(
    chain: Chain,
    ground: Ground,
    own: FloatArray,
    regions: Regions | None,
    q: FloatArray,
    wheel: int,
    dt: float,
    contact: GroundContact,
    work: Workspace,
) -> tuple[float, float, float, float, float]:
    """Of the soil, or of the soils at the wheel's place, dug by slip where it is dug (models.wheel.shear_law)."""
    if regions is None:  # decided at compile time: one soil everywhere costs nothing
        return _resultant(chain, ground, own, ground.ruts, q, wheel, dt, contact, work)
    x, y, _ = body_position(q, work, chain.wheel_body[wheel])
    sinkage, dug = contact.sinkage[wheel], 0.0
    modulus, digging = mixed_constants(regions, own, wheel, x, y)
    contact.scratch[wheel, MODULUS] = modulus
    if digging > 0.0:
        dug = _dig(ground, own, modulus, sinkage, wheel, dt, contact)
    return mixed_resultant(regions, own, wheel, x, y, sinkage, dug)


@kernel
def _dig(
    ground: Ground, own: FloatArray, modulus: float, sinkage: float, wheel: int, dt: float, contact: GroundContact
) -> float:
    """D under a wheel at the end of the step."""
    out = contact.scratch[wheel]
    moved = dt * max(abs(out[FORWARD]), abs(out[ROLLING]))
    slip = slip_by_speeds(ground, out)
    contact.shear[wheel, DUG] = dug_after(own, contact.shear[wheel, DUG], slip, modulus, sinkage, moved)
    return float(contact.shear[wheel, DUG])


@kernel
def slip_by_speeds(ground: Ground, out: FloatArray) -> float:
    """Slip [-] of the wheel that `look` has looked at."""
    slip, _, _ = slip_and_slide(out[FORWARD], out[SIDEWAYS], out[ROLLING], ground.slip_speed)
    return slip


@kernel
def _slip_modulus(
    ground: Ground, regions: Regions | None, scratch: FloatArray, per_modulus: float
) -> tuple[float, float]:
    """Slip modulus of the soil under a wheel, and one over it."""
    if regions is None:
        return ground.wheel[SLIP_MODULUS], per_modulus
    return scratch[MODULUS], 1.0 / scratch[MODULUS]


@kernel
def _resultant(
    chain: Chain,
    ground: Ground,
    own: FloatArray,
    ruts: Ruts | None,
    q: FloatArray,
    wheel: int,
    dt: float,
    contact: GroundContact,
    work: Workspace,
) -> tuple[float, float, float, float, float]:
    """models.wheel.kernels.resultant on fresh soil, models.wheel.rut.resultant in ruts, and bulldozing."""
    sinkage, dug = contact.sinkage[wheel], 0.0
    deep = sinkage  # below the soil ahead
    if ruts is None:  # decided at compile time: fresh soil costs nothing
        normal, cosine, sine, limit = resultant(own, sinkage)
        if own[DIGGING] > 0.0:
            dug = _dig(ground, own, own[SLIP_MODULUS], sinkage, wheel, dt, contact)
    else:
        x, y, _ = body_position(q, work, chain.wheel_body[wheel])
        before = deepest_before(ruts, x, y)
        deep -= rut.ground(own, before)
        if own[DIGGING] > 0.0:  # a wheel above the bottom of a rut digs nothing
            reached = sinkage if deep > 0.0 else 0.0
            dug = max(dug_before(ruts, x, y), _dig(ground, own, own[SLIP_MODULUS], reached, wheel, dt, contact))
        leave(ruts, wheel, x, y, max(before, sinkage), dug)
        normal, cosine, sine, limit = rut.resultant(own, sinkage, before)
    if own[DIGGING] > 0.0:
        normal, limit = on_dug(own, dug, normal, limit)
    return normal, cosine, sine, limit, bulldozing(own, deep)


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
    modulus, per_modulus = _slip_modulus(ground, ground.regions, scratch, per_modulus)
    scratch[TRACTION], scratch[SIDE], slope = shear_soil(
        ground.wheel, sheared, slip, slide, reference, scratch[LIMIT], modulus, (per_modulus, per_displacement),
        ground.shear_damping, dt,
    )  # fmt: skip
    scratch[DAMPING] = slope * dt


@kernel
def _push(chain: Chain, terrain: Terrain, wheel: int, contact: GroundContact, work: Workspace) -> None:
    """Apply all forces of a wheel at its contact, the normal force included."""
    body, radius, scratch = chain.wheel_body[wheel], chain.wheel_radius[wheel], contact.scratch[wheel]
    heading, left, up, centre = (
        vector(scratch, HEADING),
        vector(scratch, LEFT),
        _up(terrain, scratch, work),
        work.place[body],
    )
    cosine, sine, normal, traction, side = (
        scratch[COSINE],
        scratch[SINE],
        scratch[NORMAL],
        scratch[TRACTION],
        scratch[SIDE],
    )
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
