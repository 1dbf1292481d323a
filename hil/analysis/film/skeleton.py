"""A rover's bodies, legs and wheels, placed by the pose and the joint angles of a tick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.kernels.compiled import FloatArray
from models.rover.tree import Joint, Tree

Floats = NDArray[np.floating[Any]]


class Poses(NamedTuple):
    """Origin (3,) [m] and axes (3, 3), in columns, of each body in the world, by its name."""

    origin: dict[str, Floats]
    axes: dict[str, Floats]


class Skeleton:
    """The parts of a rover, in the order in which they carry each other.

    Args:
        tree: of the rover, its locks included.
        turning: names of the joints whose angles are given, in their order (`Layout.turning`).

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
            joint_angle_rad: (turning joints,); of one that slides its way [m].
            wheel_angle_rad: (wheels,) turned so far, forwards.
        """
        base = self.tree.bodies[0].name
        origin, axes = {base: np.asarray(pose[:3], float)}, {base: rotation_of(pose[3:])}
        angles: Mapping[str, float] = dict(zip(self._turning, joint_angle_rad, strict=True))
        turns: Mapping[str, float] = dict(zip(self.wheels, wheel_angle_rad, strict=True))
        for joint in self.joints:
            at = turns.get(joint.child, angles.get(joint.name, joint.locked_at or 0.0))
            carrier, (place, turn) = axes[joint.parent], joint.placed(at)
            origin[joint.child] = origin[joint.parent] + carrier @ place
            axes[joint.child] = carrier @ turn
        return Poses(origin, axes)


def rotation_of(quaternion: Sequence[float]) -> Floats:
    """Rotation matrix (3, 3), world from base, of a quaternion x y z w."""
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
        stand: (wheels, 4, 3) of the obstacle, models.terrain.stand; None: level ground, and the result is a world x.
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
