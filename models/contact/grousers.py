"""Grousers: the bars across a wheel's rim, of which one or two touch the obstacle at a time."""

from __future__ import annotations

import numpy as np

from models.kernels.compiled import FloatArray, kernel
from models.rover.dynamics import Workspace
from models.rover.points import axle, x_axis
from models.rover.reduction import Chain
from models.terrain.stand import Stand, into


@kernel
def grouser_tip(
    chain: Chain,
    q: FloatArray,
    work: Workspace,
    wheel: int,
    stand: Stand,
    angle: float,
    radius: float,
    count: int,
    offset: float,
    which: int,
) -> tuple[int, float, tuple[float, float, float]]:
    """The grouser next above (which = 0) or next below (1) the contact line, from the wheel's centre towards the plate.

    MacMahon 2016 (6.2): a grouser vector g_i of the grouser radius, here found by its angle about the axle. With the
    wheel's x axis level and forward, grouser 0 stands `offset` above the contact line, (sin beta, 0, -cos beta).

    Args:
        chain: the rover.
        q: configuration.
        work: placed for it.
        wheel: which.
        stand: of the plate.
        angle: beta of the plate [rad].
        radius: of the tips [m].
        count: grousers on the wheel, even, so that neighbours have different slots.
        offset: alpha of grouser 0 [rad].
        which: 0 or 1.

    Returns:
        slot: 0 or 1, constant while the grouser is one of the two.
        lean: angle above the contact line [rad], alpha.
        arm: from the wheel's centre to the tip [m], in the axes of the plate's ground.
    """
    body = chain.wheel_body[wheel]
    ax, ay, az = into(stand, wheel, axle(work, body))
    # the wheel's x axis and, a quarter turn of forward spin on, the direction that leads down in front
    ex, ey, ez = into(stand, wheel, x_axis(chain, q, work, body))
    dx, dy, dz = ay * ez - az * ey, az * ex - ax * ez, ax * ey - ay * ex
    sine, cosine = np.sin(angle), np.cos(angle)
    line = np.arctan2(sine * dx - cosine * dz, sine * ex - cosine * ez)
    pitch = 2.0 * np.pi / count
    first = 0.5 * np.pi - angle - offset  # of grouser 0 on the wheel
    index = int(np.floor((line - first) / pitch)) + which
    at = first + index * pitch
    c, s = radius * np.cos(at), radius * np.sin(at)
    return index & 1, line - at, (c * ex + s * dx, c * ey + s * dy, c * ez + s * dz)
