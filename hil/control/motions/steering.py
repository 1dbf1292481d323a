"""Angles of the steering joints for a motion of the body in the plane: straight, arc, in-place turn, crab.

A wheel's centre lies away from its steering axis, ahead of it by a and to port of it by b in the wheel's own heading; a
changes as the leg walks. The axis moves over the ground with v_s. The wheel slides sideways with

    -v_s,x sin(d) + v_s,y cos(d) + w a = |v_s| sin(phi - d) + w a,     phi = atan2(v_s,y, v_s,x),

so it rolls at d = phi + asin(w a / |v_s|), or driven backwards at d = phi + pi - asin(w a / |v_s|).

Speeds of the drives that go with a motion of body and joints, and the slip that the motion asks for.

Rigid-body kinematics on level ground. The centre of wheel k moves over the ground with

    u_k = v + w z x p_k + p_k',

v and w being the body's speed and yaw rate, p_k the centre in the base frame. The wheel rolls without slip where
u_k . h_k = R W_k, with the heading h_k and the wheel's turning W_k about its axle seen from the ground. Its drive turns
by W_k less what the leg that carries it turns about the axle: a leg that swings turns its wheel with it.

Angles of the walking joints for a change of height: of the body over its wheels, or of one wheel.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hil.control.motions.geometry import Floats, Geometry, WheelFrames

# Below this speed of a steering axis [m/s], over the motion's own, its wheel has no direction to point in.
_NO_DIRECTION = 1e-9


def steered(geometry: Geometry, angles: Floats, twist: tuple[float, float, float]) -> Floats:
    """Joint angles (driven,) at which no wheel slides sideways in a steady motion of the body.

    The twist is that of the base: ahead [m/s], to port [m/s], yaw rate [rad/s]. Joints that do not steer keep their
    angles (driven,) [rad], and wheels that are not steered stay as they are: `rolling` says how they slide.

    Raises ValueError: the motion turns about a place where a wheel cannot roll around.

    Example:
        >>> from models.rover import RcpParameters
        >>> rover = Geometry(RcpParameters().tree(), ("front_left_steering", "front_right_steering"))
        >>> np.degrees(steered(rover, rover.rest, (0.05, 0.0, 0.05 / 2.0))).round(2).tolist()
        [19.22, 12.24]
    """
    result = np.array(angles, dtype=np.float64)
    for joint in geometry.steering:
        if joint is not None:
            result[geometry.index(joint)] = 0.0
    straight = geometry.frames(result).centre[0]
    vx, vy, yaw = twist
    for wheel, joint in enumerate(geometry.steering):
        if joint is None:
            continue
        axis, _ = geometry.hinge(joint, result)
        ahead = straight[wheel, 0] - axis[0]
        x, y = vx - yaw * axis[1], vy + yaw * axis[0]
        speed = math.hypot(x, y)
        if speed <= _NO_DIRECTION:
            if abs(yaw) <= _NO_DIRECTION and math.hypot(vx, vy) <= _NO_DIRECTION:
                continue
            ratio = math.inf
        else:
            ratio = yaw * ahead / speed
        if abs(ratio) > 1.0:
            raise ValueError(
                f"{geometry.wheels[wheel]}: the rover would turn about a place {speed / max(abs(yaw), 1e-12):.3g} m "
                f"from its steering axis, allowed: more than {abs(ahead):.3g} m, by which the wheel is ahead of it"
            )
        towards, off = math.atan2(y, x), math.asin(ratio)
        both = (math.remainder(one, 2.0 * math.pi) for one in (towards + off, towards + math.pi - off))
        result[geometry.index(joint)] = geometry.sense(joint) * min(both, key=lambda one: (abs(one), -one))
    return result


_UP = np.array([0.0, 0.0, 1.0])
# A difference of held wheels' motions that counts as none, relative to the fastest of them.
_SMALL = 1e-9


class _WheelMotion(NamedTuple):
    """What the wheels do in a motion."""

    drive: Floats  #: (samples, wheels) speeds of the drives, relative to what carries the wheels [rad/s]
    along: Floats  #: (samples, wheels) speed of the centre over the ground along the heading [m/s]
    #: (samples, wheels) the same across it, to port [m/s]: what slides sideways, whatever the drives do
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


def rolling(geometry: Geometry, frames: WheelFrames, twist: Floats) -> _WheelMotion:
    """Drives at which every wheel rolls without slip along its heading; the twist (samples, 3) as in `over_ground`."""
    velocity = over_ground(frames, twist)
    heading = headings(frames)
    along = np.sum(velocity * heading, axis=-1)
    level = np.cross(_UP, heading)
    carried = np.sum(frames.spin * frames.axle, axis=-1) + twist[:, 2:3] * frames.axle[..., 2]
    return _WheelMotion(along / geometry.radius - carried, along, np.sum(velocity * level, axis=-1))


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


def body_height(geometry: Geometry, angles: Floats, change: float) -> Floats:
    """Joint angles (driven,) [rad] at which the body stands higher by `change` [m] than with `angles`, level.

    Front legs swing forward and the others back, so the body stays between its wheels.

    Raises ValueError: a wheel without a walking joint, or a height that the legs do not reach.

    Example:
        >>> from models.rover import RcpParameters
        >>> legs = [name for name in RcpParameters.lockable() if name.endswith("walking")]
        >>> rover = Geometry(RcpParameters().tree(), legs)
        >>> np.degrees(body_height(rover, rover.rest, -0.02)).round(1).tolist()[:3:2]
        [-22.0, 20.3]
    """
    result = np.array(angles, dtype=np.float64)
    for wheel in range(len(geometry.wheels)):
        result = _raised(geometry, result, wheel, -change)
    return result


def wheel_lift(geometry: Geometry, angles: Floats, wheel: str, change: float) -> Floats:
    """Joint angles (driven,) [rad] at which one wheel is higher in the base frame by `change` [m].

    It leaves the ground only where something holds the suspension that it shares: a free bogie pitches until both of
    its wheels bear load again.

    Raises ValueError: no such wheel, it has no walking joint, or a height that its leg does not reach.
    """
    if wheel not in geometry.wheels:
        raise ValueError(f"wheel {wheel}, allowed: {', '.join(geometry.wheels)}")
    return _raised(geometry, np.array(angles, dtype=np.float64), geometry.wheels.index(wheel), change)


def reach(geometry: Geometry, angles: Floats, wheel: int) -> tuple[float, float, float]:
    """Length of a leg in its plane [m], its angle from hanging straight at joint angle zero, and now [rad].

    Angles are about the axis to port, so a leg at a positive one reaches back. A steering joint above the leg turns its
    plane.
    """
    joint = geometry.walking[wheel]
    assert joint is not None
    hinge, axis = geometry.hinge(joint, angles)
    offset = hinge - geometry.frames(angles).centre[0, wheel]
    ahead = np.cross(geometry.sense(joint) * axis, (0.0, 0.0, 1.0))
    back, down = float(offset @ ahead), float(offset[2])
    now = math.atan2(back, down)
    return math.hypot(back, down), now - geometry.sense(joint) * float(angles[geometry.index(joint)]), now


def _raised(geometry: Geometry, angles: Floats, wheel: int, rise: float, *, backwards: bool | None = None) -> Floats:
    joint, name = geometry.walking[wheel], geometry.wheels[wheel]
    if joint is None:
        raise ValueError(f"{name}: no driven joint swings this wheel alone about the lateral axis; {geometry.name} "
                         "needs a walking joint there, as servos of the config")  # fmt: skip
    length, zero, now = reach(geometry, angles, wheel)
    cosine = math.cos(now) - rise / length
    if not 0.0 < cosine <= 1.0 + 1e-12:
        high, low = length * (1.0 - math.cos(now)), length * math.cos(now)
        raise ValueError(
            f"{name}: raised by {rise:.4g} m in the base frame, allowed: from -{high:.4g} m, its leg hanging straight, "
            f"to below {low:.4g} m, its leg level"
        )
    backwards = now > 0.0 if abs(now) > abs(zero) + 1e-6 else not _in_front(geometry, wheel)
    bent = math.acos(min(cosine, 1.0))
    angles[geometry.index(joint)] = geometry.sense(joint) * ((bent if backwards else -bent) - zero)
    return angles


def _in_front(geometry: Geometry, wheel: int) -> bool:
    """Whether a wheel is in the front third of the wheelbase, with all joints at rest."""
    ahead = geometry.frames(geometry.rest).centre[0, :, 0]
    return bool(ahead[wheel] > ahead.min() + 2.0 / 3.0 * np.ptp(ahead))
