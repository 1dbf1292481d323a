"""Where the wheels of a rover are at given joint angles, in the base frame, and routes through way points.

Plain arrays, many samples at once: a motion is computed before its run, not in a tick. The suspension stands at its
zero. On even ground it stays near there; on other ground wheel speeds are right to second order in its angles.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.rover.ties import Vector, path_to
from models.rover.tree import Joint, Tree

Floats = NDArray[np.float64]
# An axis counts as vertical or lateral up to this deviation of its cosine from 1.
_ALONG = 1e-6
_VERTICAL, _LATERAL = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)


class WheelFrames(NamedTuple):
    """Wheels over time, base frame."""

    centre: Floats  #: (samples, wheels, 3) [m]
    axle: Floats  #: (samples, wheels, 3) unit vectors, to port for a wheel that points ahead
    rate: Floats  #: (samples, wheels, 3) velocity of the centre from the joints' rates [m/s]
    spin: Floats  #: (samples, wheels, 3) angular velocity of what carries the wheel, from the joints' rates [rad/s]


class Geometry:
    """A rover, as far as its motions need it.

    Args:
        tree: of the rover.
        driven: names of the driven joints, in the order of their angles.

    Attributes:
        wheels: names.
        radius: (wheels,) [m].
        driven: as given.
        steering: driven joint that turns each wheel about the vertical; None: it is not steered.
        walking: driven joint that swings each wheel, and no other, about the lateral axis; None: none.
        rest: (driven,) angles at which the description has them [rad]: where they are locked, or 0.

    Raises:
        ValueError: a driven joint that the rover has not.

    Example:
        >>> from models.rover import RcpParameters
        >>> rover = Geometry(RcpParameters().tree(), ("front_left_walking",))
        >>> rover.walking[0], rover.steering[0]
        ('front_left_walking', None)
    """

    def __init__(self, tree: Tree, driven: Sequence[str]) -> None:
        carried = {joint.child: joint for joint in tree.joints}
        unknown = sorted(set(driven) - {joint.name for joint in tree.joints})
        if unknown:
            raise ValueError(f"rover {tree.name}: driven joint {', '.join(unknown)}, allowed: joints of the rover")
        self.name, self.driven = tree.name, tuple(driven)
        self.wheels = tuple(wheel.name for wheel in tree.wheels)
        self.radius: Floats = np.array([wheel.radius for wheel in tree.wheels])
        self._paths = [path_to(carried, wheel.body)[::-1] for wheel in tree.wheels]
        self._drives = {path[-1].name for path in self._paths}
        by_name = {joint.name: joint for joint in tree.joints}
        self.rest: Floats = np.array([by_name[name].locked_at or 0.0 for name in self.driven])
        self._fixed = {joint.name: joint.locked_at or 0.0 for joint in tree.joints}
        self.stops = {joint.name: joint.stops for joint in tree.joints if joint.name in self.driven}
        self.steering = tuple(self._own(path, _VERTICAL) for path in self._paths)
        self.walking = tuple(self._own(path, _LATERAL) for path in self._paths)

    def _own(self, path: Sequence[Joint], axis: Vector) -> str | None:
        """The driven joint of one wheel alone whose axis is along this one."""
        for joint in path[:-1]:
            shared = sum(joint in other for other in self._paths) > 1
            if (
                joint.name in self.driven
                and not (shared or joint.slides)
                and abs(np.dot(joint.axis, axis)) > 1.0 - _ALONG
            ):
                return joint.name
        return None

    def index(self, joint: str) -> int:
        """Place of a driven joint among the angles."""
        return self.driven.index(joint)

    def sense(self, joint: str) -> float:
        """1 if a positive angle turns to port or nose down, -1 if the joint's axis is the other way round."""
        found = next(one for path in self._paths for one in path if one.name == joint)
        return 1.0 if sum(found.axis) > 0.0 else -1.0

    def frames(self, angles: Floats, rates: Floats | None = None) -> WheelFrames:
        """The wheels at joint angles.

        Args:
            angles: (samples, driven) [rad].
            rates: (samples, driven) [rad/s]; None: at rest.
        """
        angles = np.atleast_2d(np.asarray(angles, dtype=np.float64))
        given = dict(zip(self.driven, angles.T, strict=True))
        moved = {} if rates is None else dict(zip(self.driven, np.atleast_2d(rates).T, strict=True))
        each = [self._wheel(path, given, moved, len(angles)) for path in self._paths]
        return WheelFrames(*(np.stack(part, axis=1) for part in zip(*each, strict=True)))

    def _wheel(
        self, path: Sequence[Joint], given: Mapping[str, Floats], moved: Mapping[str, Floats], samples: int
    ) -> tuple[Floats, Floats, Floats, Floats]:
        place: Floats = np.zeros((samples, 3))
        turn: Floats = np.tile(np.eye(3), (samples, 1, 1))
        turned: list[tuple[Floats, Floats, Floats]] = []
        rate: Floats = np.zeros((samples, 3))
        for joint in path:
            place, along = place + turn @ np.array(joint.origin), turn @ np.array(joint.axis)
            at = given.get(joint.name, self._fixed[joint.name])
            if joint.slides:
                place = place + along * np.reshape(at, (-1, 1))
                rate += along * np.reshape(moved.get(joint.name, 0.0), (-1, 1))
                continue
            if joint.name in moved:
                turned.append((place, along, moved[joint.name]))
            if joint.name not in self._drives:
                turn = turn @ _rotations(joint.axis, at, samples)
        spin: Floats = np.zeros((samples, 3))
        for origin, axis, speed in turned:
            spin += axis * speed[:, None]
            rate += np.cross(axis, place - origin) * speed[:, None]
        return place, turn @ np.array(path[-1].axis), rate, spin

    def hinge(self, joint: str, angles: Floats) -> tuple[Floats, Floats]:
        """Place (3,) [m] and axis (3,) of a joint in the base frame at angles (driven,) [rad]."""
        path = next(path for path in self._paths if any(one.name == joint for one in path))
        place, turn = np.zeros(3), np.eye(3)
        for one in path:
            place = place + turn @ np.array(one.origin)
            if one.name == joint:
                return place, turn @ np.array(one.axis)
            at = angles[self.index(one.name)] if one.name in self.driven else self._fixed[one.name]
            if one.slides:
                place = place + turn @ np.array(one.axis) * at
            else:
                turn = turn @ _rotations(one.axis, at, 1)[0]
        raise AssertionError(joint)


def _rotations(axis: Vector, angle: Floats | float, samples: int) -> Floats:
    """Rotation matrices (samples, 3, 3) for angles [rad] about a unit axis (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    angles = np.broadcast_to(np.asarray(angle, dtype=np.float64), (samples,))[:, None, None]
    rotations: Floats = np.eye(3) + np.sin(angles) * cross + (1.0 - np.cos(angles)) * (cross @ cross)
    return rotations


# Shorter lines [m] and smaller turns [rad] are left out.
_NO_WAY, _NO_TURN = 1e-6, 1e-6


class Leg(NamedTuple):
    """One part of a route, from rest to rest."""

    way_m: float  #: along the path; 0: a turn in place
    turn_rad: float  #: to port, over the whole of it; 0: a straight line


def route_legs(points: Sequence[tuple[float, float]], corner_m: float) -> list[Leg]:
    """The legs from the place and heading at the start, 0, 0 and along x, through points.

    Args:
        points: (x ahead, y to port) [m], as seen from the start.
        corner_m: radius of the arcs that cut the corners; 0: the rover turns in place at each point, as at the start.

    Raises:
        ValueError: two points in one place, or a line too short for the arcs at its ends.

    Example:
        >>> [(round(leg.way_m, 3), round(leg.turn_rad, 3)) for leg in route_legs([(1.0, 0.0), (1.0, 1.0)], 0.0)]
        [(1.0, 0.0), (0.0, 1.571), (1.0, 0.0)]
    """
    lines = [(later[0] - one[0], later[1] - one[1]) for one, later in pairwise([(0.0, 0.0), *points])]
    lengths = [math.hypot(*line) for line in lines]
    if min(lengths, default=0.0) < _NO_WAY:
        raise ValueError("two way points in one place, or the first at the start; each away from the one before")
    headings = [0.0, *(math.atan2(y, x) for x, y in lines)]
    turns = [math.remainder(later - one, 2.0 * math.pi) for one, later in pairwise(headings)]
    # an arc begins and ends so far from the point that it cuts
    cut = [0.0, *(corner_m * abs(math.tan(0.5 * turn)) for turn in turns[1:]), 0.0]
    legs: list[Leg] = []
    for number, (length, turn) in enumerate(zip(lengths, turns, strict=True)):
        if abs(turn) > _NO_TURN:
            legs.append(Leg(corner_m * abs(turn) if number else 0.0, turn))
        left = length - cut[number] - cut[number + 1]
        if left < -_NO_WAY:
            raise ValueError(
                f"the line to way point {number + 1} is {length:.3g} m long, allowed: at least "
                f"{cut[number] + cut[number + 1]:.3g} m for arcs of {corner_m:g} m at its ends"
            )
        if left > _NO_WAY:
            legs.append(Leg(left, 0.0))
    return legs
