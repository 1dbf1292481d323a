"""Angles of the walking joints for a change of height: of the body over its wheels, or of one wheel."""

from __future__ import annotations

import math

import numpy as np

from hil.control.motions.geometry import Floats, Geometry


def body_height(geometry: Geometry, angles: Floats, change: float) -> Floats:
    """Joint angles (driven,) [rad] at which the body stands higher by `change` [m] than with `angles`, level.

    Front legs swing forward and the others back, so the body stays between its wheels.

    Raises:
        ValueError: a wheel without a walking joint, or a height that the legs do not reach.

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

    Raises:
        ValueError: no such wheel, it has no walking joint, or a height that its leg does not reach.
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
