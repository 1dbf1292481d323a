"""A rover on wheels of one size climbs a step so slowly that only weight counts: statics all along the way.

One row of wheels after the other meets the step: up its face, if the step is higher than the wheel's radius, and around
its edge. The others stand on level ground before or behind. The rover is the same on both sides, so its pose is a
place ahead, a height, a pitch, and one angle for both side bogies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import root

from models.impact import effective_kinetic_energy
from models.kernels.compiled import FloatArray
from models.rover import ParametricParameters, Rover
from models.statics import StandingEquations, least_friction, stability_margin, stand
from models.vehicle.loads import CubePayload

ROWS, BOGIES = ("front", "middle", "rear"), ("left_bogie", "right_bogie")
SPEED_MPS = 0.07
# What is moved to shift the centre of mass: its mass [kg], and its height [m].
LOAD_KG, LOAD_HEIGHT_M = 30.0, 0.6
# Places on the way of a row: shares of its angle around the edge, and, on the face, of its height up to the edge.
_AROUND, _UP = (1.0, 0.8, 0.6, 0.4, 0.2, 0.05), (0.0, 0.5)


class Posture(NamedTuple):
    """What a rover can choose before it climbs.

    Attributes:
        walking_rad: angle of the legs, the front ones forward, the others back.
        load_x_m: how far ahead of the base's origin its load of 30 kg sits.
        bogie_Nm: torque on each side bogie; positive presses the front wheels down.
    """

    walking_rad: float
    load_x_m: float
    bogie_Nm: float

    def rover(self) -> Rover:
        """The parametric rover of the thesis in this posture."""
        load = CubePayload(LOAD_KG, (self.load_x_m, 0.0, LOAD_HEIGHT_M))
        return load.on(ParametricParameters(walking_angle=self.walking_rad).build())


class Climb(NamedTuple):
    """What a climb takes, and what is known of it when the front wheels first touch the step.

    Attributes:
        friction: least coefficient with which it succeeds; infinite: no friction is enough.
        torque_Nm: largest torque of a wheel's drive with that friction.
        worst: row that climbs where the friction is needed.
        T_c_J: effective kinetic energy at first contact, at 0.07 m/s.
        first_friction: least friction needed at first contact.
        first_share: share of the weight on the front wheels there.
        stability_deg: margin to tipping over on the level ground before the step.
    """

    friction: float
    torque_Nm: float
    worst: str
    T_c_J: float
    first_friction: float
    first_share: float
    stability_deg: float


def first_angle(height_m: float, radius_m: float) -> float:
    """Inclination of the step to the wheel where they first touch [rad]: of its edge, or of its face."""
    return math.acos(max(0.0, 1.0 - height_m / radius_m))


def climb(posture: Posture, height_m: float) -> Climb:
    """Climb a step with both front, both middle, and both rear wheels."""
    rover = posture.rover()
    names = np.array([name.split("_")[0] for name in rover.wheel_names])
    found = []
    for row, standing in _way(rover, names, posture, height_m):
        needed = least_friction(standing)
        radius = float(rover.chain.wheel_radius[0])
        found.append((needed.coefficient, radius * float(np.abs(needed.ahead).max()), row, needed, standing))
    friction, torque, worst, _, _ = max(found, key=lambda one: one[0])
    _, _, _, first, standing = found[0]
    q, v = rover.neutral(), np.zeros(rover.nv)
    v[0] = SPEED_MPS
    rows = rover.impact_jacobian(q, first_angle(height_m, float(rover.chain.wheel_radius[0])))
    return Climb(
        friction,
        torque,
        worst,
        effective_kinetic_energy(rover.mass_matrix(q), rows, v),
        first.coefficient,
        float(first.normal[names == "front"].sum() / standing.weight),
        math.degrees(stability_margin(stand(rover, q))),
    )


def _way(rover: Rover, names: FloatArray, posture: Posture, height_m: float) -> Iterator[tuple[str, StandingEquations]]:
    """The row that climbs, and the equations of the equilibrium, at places along the whole climb."""
    radius, torque = float(rover.chain.wheel_radius[0]), dict.fromkeys(BOGIES, posture.bogie_Nm)
    steepest = first_angle(height_m, radius)
    places = [(-radius, radius + share * (height_m - radius), 0.5 * math.pi) for share in _UP if height_m > radius]
    angles = [share * steepest for share in _AROUND]
    places += [(-radius * math.sin(angle), height_m + radius * math.cos(angle), angle) for angle in angles]
    unknown = np.zeros(4)
    for number, row in enumerate(ROWS):
        heights = [height_m + radius if other < number else radius for other in range(len(ROWS))]
        for x, z, angle in places:
            heights[number] = z
            unknown = _pose(rover, names, number, x, heights, unknown)
            normals = np.tile((0.0, 0.0, 1.0), (len(names), 1))
            normals[names == row] = (-math.sin(angle), 0.0, math.cos(angle))
            yield row, stand(rover, _configuration(rover, unknown), normals, torque=torque)


def _configuration(rover: Rover, unknown: FloatArray) -> FloatArray:
    q = rover.neutral()
    q[0], q[2], q[4], q[6] = unknown[0], unknown[1], math.sin(0.5 * unknown[2]), math.cos(0.5 * unknown[2])
    for name in BOGIES:
        q[7 + rover.joint_names.index(name)] = unknown[3]
    return q


def _pose(
    rover: Rover, names: FloatArray, climbing: int, x: float, heights: list[float], start: FloatArray
) -> FloatArray:
    """Place, height, pitch and bogie angle with the climbing row's axle at x and every row's axle at its height."""
    first = [int(np.flatnonzero(names == row)[0]) for row in ROWS]

    def off(unknown: FloatArray) -> FloatArray:
        axles = rover.wheel_positions(_configuration(rover, unknown))[first]
        return np.array([axles[climbing, 0] - x, *(axles[:, 2] - heights)])

    found = root(off, start, tol=1e-12)
    if np.abs(off(found.x)).max() > 1e-9:
        raise ValueError(f"no pose of the rover with its {ROWS[climbing]} axle at {x:.3f} m and axles at {heights} m")
    return np.asarray(found.x)
