"""Angles of the steering joints for a motion of the body in the plane: straight, arc, in-place turn, crab.

A wheel's centre lies beside its steering axis, ahead of it by a and to port of it by b in the wheel's own heading; a
changes as the leg walks. The axis moves over the ground with v_s. The wheel slides sideways with

    -v_s,x sin(d) + v_s,y cos(d) + w a = |v_s| sin(phi - d) + w a,     phi = atan2(v_s,y, v_s,x),

so it rolls at d = phi + asin(w a / |v_s|), or driven backwards at d = phi + pi - asin(w a / |v_s|).
"""

from __future__ import annotations

import math

import numpy as np

from hil.control.motions.geometry import Floats, Geometry

# Below this speed of a steering axis [m/s], over the motion's own, its wheel has no direction to point in.
_NO_DIRECTION = 1e-9


def steered(geometry: Geometry, angles: Floats, twist: tuple[float, float, float]) -> Floats:
    """Joint angles (driven,) at which no wheel slides sideways in a steady motion of the body.

    Wheels that are not steered stay as they are: `rolling` says how they slide.

    Args:
        geometry: of the rover.
        angles: (driven,) before [rad]; those of other joints are kept.
        twist: of the base: ahead [m/s], to port [m/s], yaw rate [rad/s].

    Raises:
        ValueError: the motion turns about a place where a wheel cannot roll around.

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
        towards, beside = math.atan2(y, x), math.asin(ratio)
        both = (math.remainder(one, 2.0 * math.pi) for one in (towards + beside, towards + math.pi - beside))
        result[geometry.index(joint)] = geometry.sense(joint) * min(both, key=lambda one: (abs(one), -one))
    return result
