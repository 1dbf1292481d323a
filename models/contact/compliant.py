"""Firm ground under the wheels: linear or nonlinear visco-elastic, in place of soil in impact runs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.contact.ground import GroundContact
from models.contact.laws import HERTZ, KELVIN_VOIGT, VISCO_ELASTIC, Law, law_force, law_problems
from models.kernels.compiled import FloatArray, kernel
from models.rover.dynamics import Work
from models.rover.factor import add_sliding
from models.rover.points import axle, body_position, body_spin, body_velocity, project
from models.rover.reduction import Chain
from models.terrain.surface import Terrain, axes, clearance, from_ground, to_ground
from models.wheel.checks import Range, problem, refuse


class CompliantGround(NamedTuple):
    """A surface that deforms by a contact law and keeps no rut.

    Attributes:
        law: Kelvin-Voigt (5.31), visco-elastic (5.32), or Hertz. The others need an onset rate, which a standing wheel
            does not have.
        friction: Coulomb coefficient; 0 as in MacMahon 2016 5.4.
        friction_speed: sliding speed [m/s] below which friction grows in proportion.
    """

    law: Law
    friction: float
    friction_speed: float


def make_compliant_ground(law: Law, friction: float = 0.0, friction_speed: float = 0.005) -> CompliantGround:
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
    return CompliantGround(law, float(friction), float(friction_speed))


@kernel
def push_compliant_ground(
    chain: Chain,
    compliant: CompliantGround,
    terrain: Terrain,
    q: FloatArray,
    wheel: int,
    dt: float,
    contact: GroundContact,
    work: Work,
) -> None:
    """Add the ground's force on one wheel to work.rhs and its damping to work.mass_matrix.

    MacMahon 2016 (5.31)-(5.32) along the ground's normal. Spring and damper enter the step linearly implicitly, their
    slopes times dt on the mass matrix, so that ground as stiff as steel (1e9 N/m) runs at a step of 0.1 ms and a rover
    comes to rest on it; a step then loses what an implicit Euler step loses. At 0.5 ms a wheel on steel, though stable,
    hops by a micrometre for ever. Friction acts at the lowest point of the rim. All values below are in ground axes.
    """
    body, radius = chain.wheel_body[wheel], chain.wheel_radius[wheel]
    place = body_position(q, work, body)
    depth = radius - clearance(terrain, place, wheel)
    contact.sinkage[wheel] = max(depth, 0.0)
    if depth <= 0.0:
        contact.vertical[wheel] = contact.slip[wheel] = contact.pull[wheel] = 0.0
        return
    ground = axes(terrain, place[0], place[1])
    vx, vy, vz = to_ground(terrain, ground, body_velocity(work, body))
    wx, wy, wz = to_ground(terrain, ground, body_spin(work, body))
    ax, ay, az = to_ground(terrain, ground, axle(work, body))
    force = law_force(compliant.law, depth, -vz, 0.0)
    contact.vertical[wheel] = force
    none, start = (0.0, 0.0, 0.0), 5 + body
    arm = from_ground(terrain, ground, (0.0, 0.0, -radius))
    if force > 0.0:
        # increase of the force over a step: by depth, dt * rate deeper, and by rate
        power = 1.0 if compliant.law.exponent == 1.0 else depth ** (compliant.law.exponent - 1.0)
        stiffness = compliant.law.stiffness * compliant.law.exponent * power
        damping = 0.0
        if compliant.law.law == KELVIN_VOIGT:
            damping = compliant.law.damping
        elif compliant.law.law == VISCO_ELASTIC:
            damping = compliant.law.damping * depth * power
            stiffness += compliant.law.damping * compliant.law.exponent * power * max(-vz, 0.0)
        later = force - dt * stiffness * vz
        if later > 0.0:  # otherwise the wheel lifts off within this step: no force pulls it back
            project(chain, work, body, ground[2], none, none, work.row)
            slope = dt * (damping + dt * stiffness)
            add_sliding(chain.speed_parent, work.mass_matrix, work.rhs, work.row, start, later, slope)
    level = max(np.hypot(ax, ay), 1e-9)
    hx, hy = ay / level, -ax / level
    sx, sy = vx - wy * radius, vy + wx * radius
    grip = compliant.friction * force / max(np.hypot(sx, sy), compliant.friction_speed)
    rolling = radius * (wx * ax + wy * ay + wz * az)
    forward = hx * vx + hy * vy
    contact.slip[wheel] = (rolling - forward) / max(abs(rolling), abs(forward), compliant.friction_speed)
    contact.pull[wheel] = -grip * (hx * sx + hy * sy)
    project(chain, work, body, ground[0], none, arm, work.row)
    add_sliding(chain.speed_parent, work.mass_matrix, work.rhs, work.row, start, -grip * sx, grip * dt)
    project(chain, work, body, ground[1], none, arm, work.row)
    add_sliding(chain.speed_parent, work.mass_matrix, work.rhs, work.row, start, -grip * sy, grip * dt)
