"""A rover's bodies, legs and wheels, placed by the pose and joint angles of a tick; their outlines in a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.kernels.compiled import FloatArray
from models.rover.tree import Body, Joint, Tree, WheelMount

Floats = NDArray[np.floating[Any]]


class Poses(NamedTuple):
    """Origin (3,) [m] and axes (3, 3), in columns, of each body in the world, by its name."""

    origin: dict[str, Floats]
    axes: dict[str, Floats]


class Skeleton:
    """The parts of a rover, in the order in which they carry each other.

    The tree has its locks; `turning` names the joints whose angles are given, in their order (`Layout.turning`).

    Attributes:
        tree: the same.
        wheels: bodies of the wheels, in the order of the layout.
        joints: each behind the joint that carries it.

    Example:
        >>> from models.rover import RcpParameters
        >>> skeleton = Skeleton(RcpParameters().tree(), ())
        >>> placed = skeleton.place((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), (), (0.0,) * 6)
        >>> round(float(placed.origin[skeleton.wheels[0]][2]), 3)  # height of an axle
        0.175
    """

    def __init__(self, tree: Tree, turning: Sequence[str]) -> None:
        self.tree, self._turning = tree, tuple(turning)
        self.wheels = tuple(wheel.body for wheel in tree.wheels)
        self.joints = tuple(_outwards(tree))

    def place(self, pose: Sequence[float], joint_angle_rad: Sequence[float], wheel_angle_rad: Sequence[float]) -> Poses:
        """Where everything is.

        Args:
            pose: (7,) of the base: position [m] and quaternion x y z w in the world.
            joint_angle_rad: (turning joints,); displacement [m] of one that slides.
            wheel_angle_rad: (wheels,) turned so far, forwards.
        """
        base = self.tree.bodies[0].name
        origin, axes = {base: np.asarray(pose[:3], float)}, {base: _rotation(pose[3:])}
        angles: Mapping[str, float] = dict(zip(self._turning, joint_angle_rad, strict=True))
        turns: Mapping[str, float] = dict(zip(self.wheels, wheel_angle_rad, strict=True))
        for joint in self.joints:
            at = turns.get(joint.child, angles.get(joint.name, joint.locked_at or 0.0))
            carrier, (place, turn) = axes[joint.parent], joint.placed(at)
            origin[joint.child] = origin[joint.parent] + carrier @ place
            axes[joint.child] = carrier @ turn
        return Poses(origin, axes)


def _rotation(quaternion: Sequence[float]) -> Floats:
    """Rotation matrix (3, 3), world from base, of a quaternion x y z w; exports keep its last bits."""
    x, y, z, w = np.asarray(quaternion, float) / np.linalg.norm(quaternion)
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def foot_of(gap_m: float, centres: Floats, radius_m: float, angle_rad: float, stand: FloatArray | None = None) -> float:
    """Where the obstacle meets its ground, along that [m]: so that the nearer wheel is `gap_m` from it.

    The wheel's circle touches the inclined plane at gap 0.

    Args:
        gap_m: from the nearer wheel to the plane, along its normal.
        centres: (wheels, 3) of the wheels that can hit it [m].
        radius_m: of these wheels.
        angle_rad: of the plane to the ground.
        stand: (wheels, 4, 3) of the obstacle, models.terrain.surface; None: level ground, and the result is a world x.
    """
    if stand is not None:
        centres = np.array([row[1:] @ (centre - row[0]) for row, centre in zip(stand, centres, strict=True)])
    reach = gap_m + radius_m - np.cos(angle_rad) * centres[:, 2]
    return float(np.max(centres[:, 0] + reach / np.sin(angle_rad)))


def _outwards(tree: Tree) -> list[Joint]:
    placed, waiting, found = {tree.bodies[0].name}, list(tree.joints), list[Joint]()
    while waiting:
        joint = waiting.pop(0)
        if joint.parent in placed:
            placed.add(joint.child)
            found.append(joint)
        else:
            waiting.append(joint)
    return found


_SPOKES = 5
_ROUND = np.linspace(0.0, 2.0 * math.pi, 48, endpoint=False)


def body_outline(body: Body, placed: Poses, flat: Sequence[int]) -> Floats:
    """Corners (4, 2) of a body's box through its centre of mass [m].

    `flat` has the axes of the picture: 0 and 2 from the side, 0 and 1 from above.
    """
    half = 0.5 * np.array(body.size or body.box)
    signs = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
    corners = np.tile(np.array(body.com), (4, 1))
    corners[:, flat] += signs * half[list(flat)]
    return (placed.origin[body.name] + corners @ placed.axes[body.name].T)[:, flat]


def rim_outline(wheel: WheelMount, radius_m: float, placed: Poses, side: bool) -> Floats:
    """Corners of a wheel without grousers (n, 2) [m]: of a cylinder, which is round where its axle points at us."""
    flat = [0, 2 if side else 1]
    axle = placed.axes[wheel.body][:, 1]
    towards = np.zeros((len(_ROUND), 3))
    towards[:, flat] = np.column_stack([np.cos(_ROUND), np.sin(_ROUND)])
    along = towards @ axle
    radial = towards - along[:, None] * axle
    radial /= np.maximum(np.linalg.norm(radial, axis=1), 1e-12)[:, None]
    # of each direction in the picture the point of the cylinder that is farthest that way
    farthest = radius_m * radial + 0.5 * wheel.width * np.sign(along)[:, None] * axle
    return (placed.origin[wheel.body] + farthest)[:, flat]


def disc(centre: Floats, radius_m: float) -> Floats:
    """Corners of a disc (n, 2) [m]."""
    return centre + radius_m * np.column_stack([np.cos(_ROUND), np.sin(_ROUND)])


def spoke_lines(wheel: WheelMount, radius_m: float, placed: Poses, flat: Sequence[int], side: bool) -> list[Floats]:
    """Spokes, each (2, 2) [m]; none from above. One ends short, so that turns can be counted."""
    if not side:
        return []
    centre, axes = placed.origin[wheel.body], placed.axes[wheel.body]
    lines = []
    for number in range(_SPOKES):
        angle = 2.0 * math.pi * number / _SPOKES
        direction = axes @ np.array([math.sin(angle), 0.0, math.cos(angle)])
        end = centre + radius_m * (0.5 if number == 0 else 0.85) * direction
        lines.append(np.array([centre, end])[:, flat])
    return lines


def grouser_lines(
    wheel: WheelMount, rim_m: float, height_m: float, count: int, placed: Poses, flat: Sequence[int], side: bool
) -> list[Floats]:
    """Grousers, each a line (2, 2) [m]: outwards from the rim, or across the wheel from above.

    `height_m` is over the rim; below 0: marks inside it.
    """
    centre, axes = placed.origin[wheel.body], placed.axes[wheel.body]
    aside = 0.5 * wheel.width * axes[:, 1]
    lines = []
    for number in range(count):
        angle = 2.0 * math.pi * number / count
        direction = axes @ np.array([math.sin(angle), 0.0, math.cos(angle)])
        if side:
            lines.append(np.array([centre + rim_m * direction, centre + (rim_m + height_m) * direction])[:, flat])
        elif direction[2] > 0.0:  # the upper half is seen
            at = centre + max(rim_m, rim_m + height_m) * direction
            lines.append(np.array([at - aside, at + aside])[:, flat])
    return lines
