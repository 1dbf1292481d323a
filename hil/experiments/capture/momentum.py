"""Momentum of arm and payload from a record: poses and joint angles of two ticks, and the masses of the tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from models.rover.body_points import body_point
from models.rover.rover import Rover

Floats = NDArray[np.float64]


class Momentum(NamedTuple):
    """About the origin of the world, its axes.

    Attributes:
        linear: (3,) [N s].
        angular: (3,) [N m s].
    """

    linear: Floats
    angular: Floats


class Configuration(NamedTuple):
    """Of one tick.

    Attributes:
        t_s: time [s].
        pose: (7,) of the base: place [m], quaternion.
        joints: (joints,) by name, as the record has them [rad, m].
    """

    t_s: float
    pose: Floats
    joints: Floats


def configuration_of(rover: Rover, names: tuple[str, ...], pose: Floats, joints: Floats) -> Floats:
    """The rover's own configuration (nq,) from a row of a record.

    Args:
        rover: of the rig.
        names: of the joints of a row.
        pose: (7,) of the base.
        joints: (joints,) of the row.
    """
    own = [joints[names.index(name)] for name in rover.joint_names]
    turn = pose[3:] / np.linalg.norm(pose[3:])
    return np.concatenate([pose[:3], turn, own])


def momentum_between(rover: Rover, names: tuple[str, ...], first: Configuration, last: Configuration) -> Momentum:
    """Mean momentum between two ticks: each body's way and turn over the time between them.

    Args:
        rover: of the rig.
        names: of the joints of a row.
        first: earlier tick.
        last: later tick.
    """
    span_s = last.t_s - first.t_s
    ends = [configuration_of(rover, names, one.pose, one.joints) for one in (first, last)]
    linear, angular = np.zeros(3), np.zeros(3)
    for body in rover.tree.bodies:
        begin, end = (body_point(rover, q, body.name, np.array(body.com)) for q in ends)
        push = body.mass * (end.place - begin.place) / span_s
        turned = Rotation.from_matrix(end.rotation @ begin.rotation.T).as_rotvec() / span_s
        half = 0.5 * (begin.rotation + end.rotation)  # to second order that of the middle
        linear += push
        angular += np.cross(0.5 * (begin.place + end.place), push) + half @ body.inertia_matrix @ half.T @ turned
    return Momentum(linear, angular)
