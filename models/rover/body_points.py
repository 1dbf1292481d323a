"""Places and Jacobians of points of any body of a rover, bodies behind locked joints included."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from models.kernels.compiled import FloatArray
from models.rover.dynamics import make_work, place_bodies
from models.rover.rover import Rover
from models.rover.tree import rotation_about


class _BodyPoint(NamedTuple):
    """A point of a body at one configuration.

    Attributes:
        place: (3,) [m] in the world.
        rotation: (3, 3) world axes from the body's axes.
        jacobian: (6, nv): the rover's speeds times it are the point's velocity [m/s], then the body's angular velocity
            [rad/s], both in world axes.
    """

    place: FloatArray
    rotation: FloatArray
    jacobian: FloatArray


def body_point(rover: Rover, q: npt.ArrayLike, body: str, at: npt.ArrayLike = (0.0, 0.0, 0.0)) -> _BodyPoint:
    """Where a point of a body is, and how it moves with the rover's speeds.

    Args:
        rover: the rover.
        q: configuration (nq,).
        body: name of a body of the tree.
        at: the point (3,) [m] in that body's frame.

    Raises:
        ValueError: an unknown body, a wrong shape or a value that is not finite.

    Example:
        The middle of the RCP's front left wheel moves as the rover does, and also with its bogie:

        >>> from models.rover import rcp
        >>> rover = rcp()
        >>> point = body_point(rover, rover.neutral(), "front_left_wheel")
        >>> point.place.round(4).tolist(), round(float(point.jacobian[2, 6]), 4), rover.joint_names[0]
        ([0.5349, 0.4552, 0.175], -0.2678, 'left_bogie')
    """
    carriers = {joint.child: joint for joint in rover.tree.joints}
    if body not in rover.tree.body:
        raise ValueError(f"rover {rover.tree.name}: body {body!r} is unknown, allowed: {sorted(rover.tree.body)}")
    place = np.array(at, dtype=np.float64)
    if place.shape != (3,) or not np.isfinite(place).all():
        raise ValueError(f"at is {at!r} m, allowed: three finite numbers")
    chain, placed = rover.chain, rover.tree_configuration(q)
    work = make_work(chain)
    place_bodies(chain, placed, work)
    turn, name = np.eye(3), body
    # in the frame of the joint that moves it
    while name in carriers and carriers[name].locked_at is not None:
        origin, axes = carriers[name].placed(float(carriers[name].locked_at or 0.0))
        place, turn, name = origin + axes @ place, axes @ turn, carriers[name].parent
    moved = 1 + rover.tree_joint_names.index(carriers[name].name) if name in carriers else 0
    axes = work.turn[moved]
    if chain.spin_inertia[moved] > 0.0:  # not stored for round bodies
        up = work.turn[chain.parent[moved]] @ chain.rotation[moved]
        axes = up @ rotation_about(tuple(chain.axis[moved].tolist()), float(placed[6 + moved]))
    place, turn = work.place[moved] + axes @ place, axes @ turn
    speeds = chain.speed_parent.size
    motion = np.zeros((speeds, 6))
    motion[:6] = np.eye(6)
    while moved > 0:
        motion[5 + moved] = work.screw[moved]
        moved = chain.parent[moved]
    # the velocity of a point is that at the base's origin, and the turn about it
    rows = np.vstack([(motion[:, :3] + np.cross(motion[:, 3:], place)).T, motion[:, 3:].T])
    rows = np.vstack([work.base @ rows[:3], work.base @ rows[3:]])
    for dependent, source, ratio in zip(chain.dependent, chain.source, chain.ratio, strict=True):
        rows[:, source] += ratio * rows[:, dependent]
    jacobian: FloatArray = rows[:, chain.independent]
    return _BodyPoint(placed[:3] + work.base @ place, work.base @ turn, jacobian)
