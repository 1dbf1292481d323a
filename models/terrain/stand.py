"""Where an obstacle stands on ground that is not level: before each wheel that can hit it, an origin and three axes.

Whether an obstacle has a stand is known when a step is compiled. Without one (None) it stands on level ground at z = 0,
and the kernels here cost nothing. With one, the obstacle's plane is inclined to the ground at that place, not to the
horizontal: all its kernels see places, speeds and axles in that ground's axes, as if that ground were level.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from models.kernels.compiled import FloatArray, kernel
from models.rover.points import Direction
from models.terrain.surface import Terrain, axes, plane_axes, surface

# (hitting wheels, 4, 3): origin [m] and the ground's axes ahead, left and up there, in world axes.
Stand = FloatArray | None


def stand_on(terrain: Terrain, foot: float, tracks: FloatArray) -> Stand:
    """The ground before each wheel, where the obstacle is to stand.

    On a slope the origin is the world's for each wheel, and the obstacle's foot is counted along the slope. On a height
    map it is the surface's point on the wheel's track; the ground counts as its tangent plane there.

    Args:
        terrain: None is level ground, which needs no stand.
        foot: where the obstacle is to stand on a height map, world x [m].
        tracks: (hitting wheels,) world y of the wheels [m].
    """
    if terrain is None:
        return None
    made = np.zeros((len(tracks), 4, 3))
    for wheel, y in enumerate(tracks.tolist()):
        if terrain.relief is None:
            made[wheel, 1:] = plane_axes(terrain).T
            continue
        height, normal, _ = surface(terrain, foot, y)
        made[wheel, 0] = foot, y, height
        made[wheel, 1:] = axes(terrain, normal)
    return made


def level_configuration(stand: FloatArray, q: FloatArray) -> FloatArray:
    """A configuration as seen from the ground under one wheel's plate, as if that ground were level.

    Args:
        stand: (4, 3) of that wheel.
        q: configuration; the pose of the base comes first, position and quaternion x y z w.
    """
    turn, seen = Rotation.from_matrix(stand[1:]), q.copy()
    seen[:3] = stand[1:] @ (q[:3] - stand[0])
    seen[3:7] = (turn * Rotation.from_quat(q[3:7])).as_quat()
    return seen


@kernel
def into(stand: Stand, wheel: int, v: Direction) -> Direction:
    """A world direction in the axes of the ground under a wheel's plate."""
    if stand is None:
        return v
    a = stand[wheel]
    return (
        a[1, 0] * v[0] + a[1, 1] * v[1] + a[1, 2] * v[2],
        a[2, 0] * v[0] + a[2, 1] * v[1] + a[2, 2] * v[2],
        a[3, 0] * v[0] + a[3, 1] * v[1] + a[3, 2] * v[2],
    )


@kernel
def out_of(stand: Stand, wheel: int, v: Direction) -> Direction:
    """A direction in the axes of that ground, in world axes."""
    if stand is None:
        return v
    a = stand[wheel]
    return (
        a[1, 0] * v[0] + a[2, 0] * v[1] + a[3, 0] * v[2],
        a[1, 1] * v[0] + a[2, 1] * v[1] + a[3, 1] * v[2],
        a[1, 2] * v[0] + a[2, 2] * v[1] + a[3, 2] * v[2],
    )


@kernel
def seen_from(stand: Stand, wheel: int, place: Direction) -> Direction:
    """A place (world) [m] from the origin of a wheel's plate, in the axes of its ground."""
    if stand is None:
        return place
    a = stand[wheel]
    return into(stand, wheel, (place[0] - a[0, 0], place[1] - a[0, 1], place[2] - a[0, 2]))
