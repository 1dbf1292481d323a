"""Level ground and slopes, even or with a step under each wheel.

The kind of terrain is fixed when a step is compiled: None is level ground at z = 0, every other kind is a NamedTuple.
`surface` defines a terrain; the other kernels here follow from it, and for level ground they compile to the code of a
step without terrain. A further kind (a scan, a mound) adds its branch to `surface` and to `axes`. Contact kernels treat
the ground under each wheel as flat: its tangent plane at the place below or above the wheel's centre. A wheel's height
offset is constant: it stands for a rover that drives with its wheels on tracks of different heights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray, kernel
from models.rover.points import Direction, dot

# At a quarter turn the ground is a wall, and the height is not a function of the place.
STEEPEST = math.radians(60.0)
_ANGLE = Range(-STEEPEST, STEEPEST, "rad")
_HEIGHT = Range(-0.5, 0.5, "m")


class Slope(NamedTuple):
    """A plane through the world's origin.

    Attributes:
        ahead: unit vector along the plane, world axes; x on level ground.
        left: likewise; y on level ground.
        normal: upwards.
        wheel_height: (wheels,) [m] of the ground under each wheel over this plane, along the normal; None: even.
    """

    ahead: Direction
    left: Direction
    normal: Direction
    wheel_height: FloatArray | None = None


Terrain = Slope | None


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
    flat = (0.0, 0.0, 0.0)
    if terrain is None:
        return 0.0, (0.0, 0.0, 1.0), flat
    normal = terrain.normal
    return -(normal[0] * x + normal[1] * y) / normal[2], normal, flat


@kernel
def clearance(terrain: Terrain, place: Direction, wheel: int) -> float:
    """Distance [m] of a place (world) from the tangent plane of a wheel's ground above or below it, positive above."""
    if terrain is None:
        return place[2]
    return height_over(terrain, place) - _height(terrain.wheel_height, wheel)


@kernel
def height_over(terrain: Terrain, place: Direction) -> float:
    """The same from the terrain itself, whatever lies under single wheels."""
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
def axes(terrain: Terrain, x: float, y: float) -> tuple[Direction, Direction, Direction]:
    """The ground's axes at (x, y), in world axes: ahead, left and along the normal; on level ground the world's."""
    if terrain is None:
        return (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    _, normal, _ = surface(terrain, x, y)
    return terrain.ahead, terrain.left, normal


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
    turn: FloatArray = Rotation.from_matrix(np.column_stack([slope.ahead, slope.left, slope.normal])).as_quat()
    return turn
