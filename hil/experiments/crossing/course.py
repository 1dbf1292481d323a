"""Where the rover is along the profile: its axles and its body, from the pose of the base.

Suspension joints count as being at rest, so an axle's place is right to second order in their angles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from models.contact.body_ground import body_corners
from models.plant import RigParameters
from models.terrain.profile import COLUMNS, MOST_TOUCHED, Profile, touched
from models.vehicle.model import start_configuration

Floats = NDArray[np.floating[Any]]
# Along the lower edge of the main body [m].
_SPACING_M = 0.01
# Steps with which the first touch is looked for [m].
_LOOK_M = 0.001


class Course:
    """The profile, and the parts of the rover that pass it.

    Args:
        nominal: the rig.

    Raises:
        ValueError: its ground has no profile.

    Attributes:
        line: (n, 2) corners of the profile, x and z [m].
        begins_m: where the level ground before the shape ends, world x.
        ends_m: where its last corner is.
        touches_m: of the front axle, when its wheels first touch the shape, or stand on its edge.
        on_m: of the front axle, when its wheels are on the shape; down a ledge a radius behind the edge.
        rise_m: height of the last corner.
    """

    def __init__(self, nominal: RigParameters) -> None:
        rover = self._rover = nominal.make_rover()
        profile = nominal.placed_profile(rover)
        if profile is None:
            raise ValueError("crossing: the ground has no profile, needed: one (ground.profile)")
        places = rover.wheel_positions(start_configuration(rover, nominal.servos))
        self._wheels = [(float(x), float(y), float(z)) for x, y, z in places]
        self.line = profile.point
        self.begins_m = float(profile.point[1, 0])
        ends = profile.point[-2] if len(profile.point) > 3 else profile.point[-1]
        self.ends_m, self.rise_m = float(ends[0]), float(profile.point[-1, 1])
        radius = float(rover.chain.wheel_radius[places[:, 0].argmax()])
        falls = profile.along[1, 1] < 0.0
        self.on_m = self.begins_m + (radius if falls else 0.0)
        self.touches_m = _first_touch(profile, self.begins_m, radius)
        corners = body_corners(rover.tree)
        self._edge = _lower_edge(corners) if len(corners) else np.zeros((0, 3))

    def axles_m(self, pose: Sequence[float]) -> tuple[float, float]:
        """World x of the foremost and of the rearmost axle, with the base in this pose: place [m], quaternion."""
        ahead, _, _, x, y, z, w = pose
        row = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)
        found = [ahead + row[0] * a + row[1] * b + row[2] * c for a, b, c in self._wheels]
        return max(found), min(found)

    def paths(self, poses: Floats, joints: Sequence[str], angles: Floats) -> Floats:
        """Places (wheels, n, 3) of the axles in the world.

        Args:
            poses: (n, 7) of the base.
            joints: names of the joints whose angles are given.
            angles: (n, joints) [rad].
        """
        own = self._rover.joint_names
        where = [(7 + own.index(name), place) for place, name in enumerate(joints) if name in own]
        q, found = self._rover.neutral(), []
        for pose, turned in zip(poses, angles, strict=True):
            q[:7] = pose
            for at, place in where:
                q[at] = turned[place]
            found.append(self._rover.wheel_positions(q))
        return np.stack(found, axis=1)

    def wheels_behind(self, pose: Floats, x_m: float) -> int:
        """How many axles are behind a place, world x, with the base in this pose (7,)."""
        places = pose[0] + Rotation.from_quat(pose[3:]).apply(self._wheels)[:, 0]
        return int((places >= x_m).sum())

    def clearance_m(self, poses: Floats) -> float | None:
        """Least height of the main body over the profile in these poses (n, 7) [m]; None: the body has no size."""
        if not len(self._edge) or not len(poses):
            return None
        turn, least = Rotation.from_quat(poses[:, 3:]), np.inf
        for place in self._edge:
            world = poses[:, :3] + turn.apply(place)
            ground = np.interp(world[:, 0], self.line[:, 0], self.line[:, 1])
            least = min(least, float((world[:, 2] - ground).min()))
        return least


def _first_touch(profile: Profile, begins: float, radius: float) -> float:
    """World x of an axle when its wheel, rolling on level ground, first touches anything else."""
    place = np.zeros((MOST_TOUCHED, COLUMNS))
    for x in np.arange(begins - 2.0 * radius, begins, _LOOK_M).tolist():
        if touched(profile, x, radius, radius, 1e-6, place) > 1:
            return float(x)
    return begins


def _lower_edge(corners: Floats) -> Floats:
    """Points (n, 3) along the lower edges of the box around these corners, base frame."""
    low, high = corners.min(axis=0), corners.max(axis=0)
    along = np.append(np.arange(low[0], high[0], _SPACING_M), high[0])
    return np.array([(x, y, low[2]) for y in (low[1], high[1]) for x in along])
