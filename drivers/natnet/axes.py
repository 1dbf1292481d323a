"""Axes of a stream: Motive has y or z up, the rig has z up."""

from __future__ import annotations

import math
from typing import Literal

from drivers.natnet.frame import RigidBody

UpAxis = Literal["y", "z"]


def z_up(body: RigidBody, up_axis: UpAxis) -> tuple[float, ...]:
    """Position [m] and orientation (x, y, z, w) of a body in axes with z up.

    With y up the axes of room and body are both turned by 90 deg about x: (x, y, z) becomes (x, -z, y), for positions
    and for the vector part of a quaternion. So a body that was level as it was defined in Motive, with orientation
    (0, 0, 0, 1), keeps that orientation, and its z axis points up.

    The quaternion is scaled to length 1: it comes in single precision.
    """
    (x, y, z), (qx, qy, qz, qw) = body.position, body.orientation
    if up_axis == "y":
        y, z, qy, qz = -z, y, -qz, qy
    length = math.hypot(qx, qy, qz, qw)
    return x, y, z, qx / length, qy / length, qz / length, qw / length


def streamed(values: tuple[float, ...], up_axis: UpAxis) -> tuple[float, ...]:
    """The inverse: a position, and an orientation if there is one, as a stream has them."""
    if up_axis == "z":
        return values
    x, y, z = values[:3]
    return (x, z, -y) if len(values) == 3 else (x, z, -y, values[3], values[5], -values[4], values[6])
