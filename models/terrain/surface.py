"""Level ground, slopes, even or with a step under each wheel, and uneven ground by a height map.

The kind of terrain is fixed when a step is compiled: None is level ground at z = 0, every other kind is a NamedTuple.
`surface` defines a terrain; the other kernels here follow from it, and for level ground they compile to the code of a
step without terrain; whether a terrain has a height map is known then, too. Contact kernels treat the ground under each
wheel as flat: on a slope the plane itself, on a height map its tangent plane at the wheel's foot point
(models.terrain.height_map). A wheel's height offset is constant: it stands for a rover that drives with its wheels on
tracks of different heights.

Where an obstacle stands on ground that is not level: before each wheel that can hit it, an origin and three axes.

Whether an obstacle has a stand is known when a step is compiled. Without one (None) it stands on level ground at z = 0,
and the kernels here cost nothing. With one, the obstacle's plane is inclined to the ground at that place, not to the
horizontal: all its kernels see places, speeds and axles in that ground's axes, as if that ground were level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray, kernel
from models.rover.points import Direction, cross, dot
from models.terrain.given_contacts import GivenContacts, nearest_plane
from models.terrain.height_map import HeightMap, foot, local

# At a quarter turn the ground is a wall, and the height is not a function of the place.
STEEPEST = math.radians(60.0)
_ANGLE = Range(-STEEPEST, STEEPEST, "rad")
_HEIGHT = Range(-0.5, 0.5, "m")


class Slope(NamedTuple):
    """A plane through the world's origin; with a height map, the level plane that the heights are counted from.

    Attributes:
        ahead: unit vector along the plane, world axes; x on level ground.
        left: likewise; y on level ground.
        normal: upwards.
        wheel_height: (wheels,) [m] of the ground under each wheel over this plane, along the normal; None: even.
        relief: heights over the plane, which is level then; None: the plane itself is the ground.
        given: what the wheels touch, from outside, in place of the plane; None: the ground is here.
    """

    ahead: Direction
    left: Direction
    normal: Direction
    wheel_height: FloatArray | None = None
    relief: HeightMap | None = None
    given: GivenContacts | None = None


Terrain = Slope | None
_LEVEL = Slope((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def uneven_ground(relief: HeightMap) -> Slope:
    """The terrain of a height map."""
    return _LEVEL._replace(relief=relief)


def ground_from_outside(given: GivenContacts) -> Slope:
    """The terrain of which only is known what the wheels touch."""
    return _LEVEL._replace(given=given)


def slope_of(pitch: float, roll: float, wheel_height: Sequence[float] = ()) -> Terrain:
    """The slope with a pitch and roll relative to the x axis; None where both are zero and the ground is even.

    Its axes are those of level ground turned by -pitch about y and then by roll about the turned x.

    Args:
        pitch: [rad], positive where the ground rises ahead.
        roll: [rad], positive where it rises to port.
        wheel_height: [m] of the ground under each wheel over the slope, along its normal; empty: even.

    Raises:
        ValueError: an angle that is not finite or beyond 60 degrees, a height beyond 0.5 m.

    Example:
        >>> slope = slope_of(pitch=math.radians(30.0), roll=0.0)
        >>> round(slope.normal[0], 3), round(slope.normal[2], 3)  # back and up
        (-0.5, 0.866)
        >>> slope_of(0.0, 0.0) is None
        True
    """
    refuse(
        "slope",
        [
            problem("pitch", pitch, _ANGLE),
            problem("roll", roll, _ANGLE),
            *(problem(f"wheel_height[{i}]", height, _HEIGHT) for i, height in enumerate(wheel_height)),
        ],
    )
    uneven = any(wheel_height)
    if pitch == 0.0 and roll == 0.0 and not uneven:
        return None
    c, s, cr, sr = math.cos(pitch), math.sin(pitch), math.cos(roll), math.sin(roll)
    heights = np.array(wheel_height, dtype=np.float64) if uneven else None
    return Slope((c, 0.0, s), (-s * sr, cr, c * sr), (-s * cr, -sr, c * cr), heights)


@kernel
def surface(terrain: Terrain, x: float, y: float) -> tuple[float, Direction, Direction]:
    """The ground at (x, y) [m], world axes.

    Returns:
        height: z [m].
        normal: unit vector, upwards.
        curvature: second derivatives of the height by xx, xy and yy [1/m].
    """
    if terrain is None:
        return 0.0, (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
    return _surface(terrain.relief, terrain.normal, x, y)


@kernel
def _surface(
    relief: HeightMap | None, normal: Direction, x: float, y: float
) -> tuple[float, Direction, tuple[float, float, float]]:
    if relief is None:  # decided at compile time
        return -(normal[0] * x + normal[1] * y) / normal[2], normal, (0.0, 0.0, 0.0)
    z, p, q, xx, xy, yy = local(relief, x, y)
    size = 1.0 / math.sqrt(1.0 + p * p + q * q)
    return z, (-p * size, -q * size, size), (xx, xy, yy)


@kernel
def clearance(terrain: Terrain, place: Direction, wheel: int) -> float:
    """Distance [m] of a wheel's centre (world) from the plane that is its ground, positive above."""
    return contact_plane(terrain, place, wheel)[0]


@kernel
def contact_plane(terrain: Terrain, place: Direction, wheel: int) -> tuple[float, Direction]:
    """The same, and the plane's normal. On a height map that plane is tangent at the foot point."""
    if terrain is None:
        return place[2], (0.0, 0.0, 1.0)
    return _plane_of(terrain.given, terrain, place, wheel)


@kernel
def _plane_of(given: GivenContacts | None, slope: Slope, place: Direction, wheel: int) -> tuple[float, Direction]:
    if given is None:  # decided at compile time
        return _contact_plane(slope.relief, slope, place, wheel)
    return nearest_plane(given, place, wheel)


@kernel
def _contact_plane(relief: HeightMap | None, slope: Slope, place: Direction, wheel: int) -> tuple[float, Direction]:
    if relief is None:
        return height_over(slope, place) - _height(slope.wheel_height, wheel), slope.normal
    return foot(relief, place)


@kernel
def beyond_edge(terrain: Terrain, x: float, y: float) -> float:
    """How far [m] a place lies outside a height map; 0 on it, and on ground without an edge."""
    if terrain is None:
        return 0.0
    return beyond(terrain.relief, x, y)


@kernel
def beyond(relief: HeightMap | None, x: float, y: float) -> float:
    """`beyond_edge` of a height map; None: ground without an edge."""
    if relief is None:
        return 0.0
    columns, rows = relief.height.shape
    one = relief.spacing
    along = max(relief.x + one - x, x - relief.x - (columns - 2) * one)
    across = max(relief.y + one - y, y - relief.y - (rows - 2) * one)
    return max(along, across, 0.0)


@kernel
def steepest(terrain: Terrain) -> float:
    """The largest slope of a height map [-]; 0 of a plane, against which heights are measured."""
    if terrain is None:
        return 0.0
    return _steepest(terrain.relief)


@kernel
def _steepest(relief: HeightMap | None) -> float:
    if relief is None:
        return 0.0
    return relief.steepest


@kernel
def height_over(terrain: Terrain, place: Direction) -> float:
    """Distance [m] from the terrain's tangent plane right above or below a place, whatever lies under single wheels."""
    if terrain is None:
        return place[2]
    height, normal, _ = surface(terrain, place[0], place[1])
    return (place[2] - height) * normal[2]


@kernel
def _height(wheel_height: FloatArray | None, wheel: int) -> float:
    if wheel_height is None:  # decided at compile time: even ground costs nothing
        return 0.0
    return wheel_height[wheel]


@kernel
def axes(terrain: Terrain, normal: Direction) -> tuple[Direction, Direction, Direction]:
    """The ground's axes where it has this normal, in world axes: ahead, left and along the normal.

    On level ground they are the world's, on a slope its own. On a height map and of contacts from outside `ahead`
    has no part along the world's y, as on a slope.
    """
    if terrain is None:
        return (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    return _axes_of(terrain.given, terrain, normal)


@kernel
def _axes_of(given: GivenContacts | None, slope: Slope, normal: Direction) -> tuple[Direction, Direction, Direction]:
    if given is None:
        return _axes(slope.relief, slope, normal)
    return _axes_along_x(normal)


@kernel
def _axes(relief: HeightMap | None, slope: Slope, normal: Direction) -> tuple[Direction, Direction, Direction]:
    if relief is None:
        return slope.ahead, slope.left, normal
    return _axes_along_x(normal)


@kernel
def _axes_along_x(normal: Direction) -> tuple[Direction, Direction, Direction]:
    size = 1.0 / math.sqrt(normal[0] * normal[0] + normal[2] * normal[2])
    ahead = (normal[2] * size, 0.0, -normal[0] * size)
    return ahead, cross(normal, ahead), normal


@kernel
def to_ground(terrain: Terrain, ground: tuple[Direction, Direction, Direction], v: Direction) -> Direction:
    """A world direction in the ground's axes."""
    if terrain is None:
        return v
    return dot(ground[0], v), dot(ground[1], v), dot(ground[2], v)


@kernel
def from_ground(terrain: Terrain, ground: tuple[Direction, Direction, Direction], v: Direction) -> Direction:
    """A direction in the ground's axes, in world axes."""
    if terrain is None:
        return v
    ahead, left, up = ground
    return (
        ahead[0] * v[0] + left[0] * v[1] + up[0] * v[2],
        ahead[1] * v[0] + left[1] * v[1] + up[1] * v[2],
        ahead[2] * v[0] + left[2] * v[1] + up[2] * v[2],
    )


def quaternion_of(slope: Slope) -> FloatArray:
    """Rotation (x, y, z, w) of a slope's axes from the world's."""
    turn: FloatArray = Rotation.from_matrix(plane_axes(slope)).as_quat()
    return turn


def plane_axes(terrain: Terrain) -> FloatArray:
    """Columns (3, 3) ahead, left and normal, world axes, of the plane that heights are counted from."""
    return np.eye(3) if terrain is None else np.column_stack([terrain.ahead, terrain.left, terrain.normal])


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
