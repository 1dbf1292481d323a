"""Speeds of the drives that go with a motion of body and joints, and the slip that the motion asks for.

Rigid-body kinematics on level ground. The centre of wheel k moves over the ground with

    u_k = v + w z x p_k + p_k',

v and w being the body's speed and yaw rate, p_k the centre in the base frame. The wheel rolls without slip where
u_k . h_k = R W_k, with the heading h_k and the wheel's turning W_k about its axle seen from the ground. Its drive turns
by W_k less what the leg that carries it turns about the axle: a leg that swings turns its wheel with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hil.control.motions.geometry import Floats, Geometry, WheelFrames

_UP = np.array([0.0, 0.0, 1.0])
# A difference of held wheels' motions that counts as none, relative to the fastest of them.
_SMALL = 1e-9


class Rolling(NamedTuple):
    """What the wheels do in a motion.

    Attributes:
        drive: (samples, wheels) speeds of the drives, relative to what carries the wheels [rad/s].
        along: (samples, wheels) speed of the centre over the ground along the heading [m/s].
        lateral: (samples, wheels) the same across it, to port [m/s]: what slides sideways, whatever the drives do.
    """

    drive: Floats
    along: Floats
    lateral: Floats


def headings(frames: WheelFrames) -> Floats:
    """Unit vectors (samples, wheels, 3) in which the wheels roll, level."""
    ahead = np.cross(frames.axle, _UP)
    heading: Floats = ahead / np.linalg.norm(ahead, axis=-1, keepdims=True)
    return heading


def over_ground(frames: WheelFrames, twist: Floats) -> Floats:
    """Velocities (samples, wheels, 3) of the centres over the ground [m/s].

    Args:
        frames: of the wheels.
        twist: (samples, 3) of the base: ahead [m/s], to port [m/s], yaw rate [rad/s].
    """
    x, y, yaw = (twist[:, None, i] for i in range(3))
    centre = frames.centre
    body = np.stack([x - yaw * centre[..., 1], y + yaw * centre[..., 0], np.zeros_like(centre[..., 0])], axis=-1)
    velocity: Floats = body + frames.rate
    return velocity


def rolling(geometry: Geometry, frames: WheelFrames, twist: Floats) -> Rolling:
    """Drives at which every wheel rolls without slip along its heading.

    Args:
        geometry: of the rover.
        frames: of its wheels.
        twist: (samples, 3) of the base: ahead [m/s], to port [m/s], yaw rate [rad/s].
    """
    velocity = over_ground(frames, twist)
    heading = headings(frames)
    along = np.sum(velocity * heading, axis=-1)
    level = np.cross(_UP, heading)
    carried = np.sum(frames.spin * frames.axle, axis=-1) + twist[:, 2:3] * frames.axle[..., 2]
    return Rolling(along / geometry.radius - carried, along, np.sum(velocity * level, axis=-1))


def twist_of_held(frames: WheelFrames, held: Floats) -> tuple[Floats, Floats]:
    """Motion of the body while some wheels stand still on the ground and joints move.

    The held wheels' centres stay where they are as well as they can: least squares over both directions.

    Args:
        frames: of the wheels.
        held: (samples, wheels) 1 where a wheel stands; one wheel or more in each sample.

    Returns:
        The twist (samples, 3) of the base, and the speed (samples, wheels) at which each held wheel has to slip [m/s].
    """
    samples, wheels = held.shape
    rows: Floats = np.zeros((samples, wheels, 2, 3))
    rows[..., 0, 0] = rows[..., 1, 1] = 1.0
    rows[..., 0, 2], rows[..., 1, 2] = -frames.centre[..., 1], frames.centre[..., 0]
    rows *= held[..., None, None]
    wanted = -(frames.rate[..., :2] * held[..., None])
    flat = rows.reshape(samples, 2 * wheels, 3)
    twist: Floats = (np.linalg.pinv(flat) @ wanted.reshape(samples, -1, 1))[..., 0]
    left = np.linalg.norm(over_ground(frames, twist)[..., :2], axis=-1) * held
    fastest = np.linalg.norm(frames.rate[..., :2], axis=-1).max(initial=0.0)
    slip: Floats = np.where(left <= _SMALL * max(fastest, _SMALL), 0.0, left)
    return twist, slip
