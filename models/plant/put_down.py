"""A rover put down on uneven ground, from where it settles."""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial.transform import Rotation

from models.kernels.compiled import FloatArray
from models.rover.rover import Rover
from models.terrain.height_map import HeightMap
from models.terrain.surface import Terrain, clearance, plane_axes, slope_of, surface, uneven_ground

# How often the rover is tilted and lowered, and a wheel onto its ground: what is under it changes as it moves.
_ROUNDS = 4


def put_on_map(rover: Rover, relief: HeightMap, q: FloatArray, across: float, heading: float) -> None:
    """Put the base of a rover over x = 0, parallel to the plane that fits the ground under its wheels best.

    Args:
        rover: that is put down.
        relief: the ground.
        q: configuration over all joints that turn, whose base is set: so low that one wheel touches and no wheel is in
            the ground.
        across: lateral place of the base [m], to port.
        heading: of the rover [rad], from x to port.
    """
    terrain, radius, start = uneven_ground(relief), rover.chain.wheel_radius.tolist(), np.array([0.0, across, 0.0])
    own = rover.own_configuration(q)
    own[:7] = rover.neutral()[:7]
    places, ahead = rover.wheel_positions(own), Rotation.from_euler("z", heading)
    turn, lift = ahead, 0.0
    for _ in range(_ROUNDS):
        wheels = start + turn.apply(places)
        heights = np.array([_standing(terrain, x, y, r) for (x, y, _), r in zip(wheels.tolist(), radius, strict=True)])
        lift = float((heights - wheels[:, 2]).max())
        middle = np.column_stack([wheels[:, :2], np.ones(len(wheels))])
        by_x, by_y, _ = np.linalg.lstsq(middle, heights)[0].tolist()
        pitch = math.atan(by_x)
        slope = slope_of(pitch, math.atan(by_y * math.cos(pitch)))
        q[:3], q[3:7] = start + (0.0, 0.0, lift), turn.as_quat()
        turn = Rotation.from_matrix(plane_axes(slope)) * ahead


def _standing(terrain: Terrain, x: float, y: float, radius: float) -> float:
    """Height [m] of the centre of a wheel that touches the ground and is at (x, y)."""
    height, normal, _ = surface(terrain, x, y)
    z = height + radius / normal[2]
    for _ in range(_ROUNDS):
        z += radius - clearance(terrain, (x, y, z), 0)
    return z
