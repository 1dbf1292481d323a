"""A rover put down on uneven ground, from where it settles."""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial.transform import Rotation

from models.kernels.compiled import FloatArray
from models.rover.rover import Rover
from models.terrain.mesh import TriangleMesh
from models.terrain.mesh_contacts import touches
from models.terrain.surface import Terrain, clearance, plane_axes, slope_of, surface

# How often the rover is tilted and lowered, and a wheel onto its ground: what is under it changes as it moves.
_ROUNDS = 4
# How near to a mesh a wheel is lowered [m], in at most so many steps.
_NEAR_M, _STEPS = 1e-5, 10_000


def put_down(rover: Rover, terrain: Terrain, q: FloatArray, across: float, heading: float) -> None:
    """Put the base of a rover over x = 0, parallel to the plane that fits the ground under its wheels best.

    Args:
        rover: that is put down.
        terrain: the ground, by a height map or by a mesh; onto this from above.
        q: configuration over all joints that turn, whose base is set: so low that one wheel touches and no wheel is in
            the ground.
        across: lateral place of the base [m], to port.
        heading: of the rover [rad], from x to port.

    Raises:
        ValueError: a wheel is not over the mesh.
    """
    radius, start = rover.chain.wheel_radius.tolist(), np.array([0.0, across, 0.0])
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
    if terrain is not None and terrain.given is not None and terrain.given.mesh is not None:
        return standing_on_mesh(terrain.given.mesh, x, y, radius)
    height, normal, _ = surface(terrain, x, y)
    z = height + radius / normal[2]
    for _ in range(_ROUNDS):
        z += radius - clearance(terrain, (x, y, z), 0)
    return z


def standing_on_mesh(mesh: TriangleMesh, x: float, y: float, radius: float) -> float:
    """Height [m] of the centre of a wheel that is at (x, y) and comes down on a mesh from above.

    Raises:
        ValueError: it touches nothing down to the mesh's lowest place.
    """
    heights = mesh.place[:, 2]
    z, low = float(heights.max()) + radius, float(heights.min())
    for _ in range(_STEPS):
        gap = min((-one.penetration for one in touches(mesh, [(x, y, z)], [radius], radius)), default=radius)
        if gap < _NEAR_M:
            return z
        z -= gap  # no surface is nearer than that
        if z < low:
            break
    raise ValueError(f"ground: no mesh below a wheel at x {x:.3f} m, y {y:.3f} m, needed: triangles that face up")
