"""The finite plate of an obstacle: its edges, a wheel on one of them, and what slips off.

MacMahon 2016, 6.2.3: the shield is a steel plate of 18 x 16 in; 6.2.6: most bad trials were those in which a grouser
slipped off the bottom of the shield at a low angle, and the shield snapped back.

A smooth wheel beyond the upper or lower edge rests on that edge. A grouser is a line without height: beyond an edge it
touches nothing, and neither does what of a wheel lies beyond the plate's sides.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.checks import Range, finite_array, problem
from models.kernels.compiled import FloatArray, kernel


class Plate(NamedTuple):
    """A rectangle on the obstacle's plane before each wheel that can hit it.

    Attributes:
        bottom: its lower edge, up the plane from the plane's foot [m].
        top: its upper edge [m].
        across: (hitting wheels,) middle of each wheel's plate, world y [m].
        half_width: [m].
        half_wheel: half of the wheels' width [m].
        slipped: (hitting wheels,) force with which something slipped off an edge [N]; the reader sets it back to 0.
    """

    bottom: float
    top: float
    across: FloatArray
    half_width: float
    half_wheel: float
    slipped: FloatArray


def make_plate(
    wheels: int, *, width: float, height: float, centre_up: float, centre_across: float, wheel_width: float
) -> Plate:
    """A plate before each of `wheels` wheels, whose middle lies `centre_across` [m] to port of world y = 0."""
    return Plate(
        centre_up - 0.5 * height,
        centre_up + 0.5 * height,
        np.full(wheels, centre_across),
        0.5 * width,
        0.5 * wheel_width,
        np.zeros(wheels),
    )


def plate_problems(plate: Plate | None) -> list[str | None]:
    """The errors in a plate, for `models.checks.refuse`; none without one."""
    if plate is None:
        return []
    length = Range(0.0, math.inf, "m", open_low=True)
    finite_array("plate", "across", plate.across, Range(-math.inf, math.inf, "m"))
    return [
        problem("plate.bottom", plate.bottom, Range(0.0, math.inf, "m")),
        problem("plate.top", plate.top, Range(plate.bottom, math.inf, "m", open_low=True)),
        problem("plate.half_width", plate.half_width, length),
        problem("plate.half_wheel", plate.half_wheel, length),
    ]


@kernel
def has_plate(plate: Plate | None) -> bool:
    """Whether the obstacle ends anywhere."""
    return plate is not None


@kernel
def nearest_plane(
    plate: Plate | None, smooth: bool, sine: float, cosine: float, centre: tuple[float, float, float]
) -> tuple[float, float, tuple[float, float, float]]:
    """The plane that a smooth wheel meets: the plate's, or at an edge the one that touches both edge and wheel.

    Args:
        plate: or None, and the plane has no end.
        smooth: whether the rim is smooth; grousers do not touch an edge.
        sine: of the plate's inclination.
        cosine: likewise.
        centre: of the wheel [m], from the plane's foot.

    Returns:
        Sine and cosine of that plane's inclination, and the wheel's centre from a point of that plane [m].
    """
    if plate is None:
        return sine, cosine, centre
    x, y, z = centre
    along = cosine * x + sine * z
    at = min(max(along, plate.bottom), plate.top)
    if at == along or not smooth:
        return sine, cosine, centre
    ahead, up = x - cosine * at, z - sine * at
    distance = np.hypot(ahead, up)
    return -ahead / distance, up / distance, (ahead, y, up)


@kernel
def reached(
    plate: Plate | None, wheel: int, smooth: bool, across: float, along: float, depth: float, force: float
) -> tuple[bool, float]:
    """Whether a line across a wheel touches its plate, and by how much the middle of the touching part lies off.

    Args:
        plate: or None.
        wheel: index.
        smooth: whether it is the rim, which at an edge touches that, or a grouser.
        across: middle of the line, world y [m].
        along: of the line, up the plane from its foot [m].
        depth: of the line in the plane [m].
        force: with which it was on the plate a step ago [N]; if it slips off, `slipped` takes it.

    Returns:
        Whether they touch, and from the middle of the touching part to the middle of the line [m].
    """
    if plate is None:
        return True, 0.0
    off = across - plate.across[wheel]
    low, high = max(off - plate.half_wheel, -plate.half_width), min(off + plate.half_wheel, plate.half_width)
    on = low < high and (smooth or plate.bottom <= along <= plate.top)
    if not on and depth > 0.0:
        plate.slipped[wheel] += force
    whole = high - low >= 2.0 * plate.half_wheel
    return on, 0.0 if whole else off - 0.5 * (low + high)


@kernel
def seen_by_sensors(
    plate: Plate | None,
    wheel: int,
    normal: tuple[float, float],
    edge: tuple[float, float],
    middle: tuple[float, float],
    push: tuple[float, float, float],
    force: FloatArray,
    drag: FloatArray,
    point: FloatArray,
) -> None:
    """Of a wheel on an edge, keep its whole force across and along the plate [N], and where on the plate it acts [m].

    Args:
        plate: or None.
        wheel: index.
        normal: sine and cosine of the plate's inclination.
        edge: of the plane that the wheel meets.
        middle: x and z of the wheel's centre from the plane's foot [m].
        push: force on the wheel with friction [N], axes of the obstacle's stand.
        force: (wheels,) changed.
        drag: (wheels,) of the wheel on the plate, up along it, changed.
        point: (wheels, 2) changed.
    """
    if plate is None:
        return
    if edge != normal:
        force[wheel] = max(normal[1] * push[2] - normal[0] * push[0], 0.0)
        drag[wheel] = -normal[1] * push[0] - normal[0] * push[2]
        along = normal[1] * middle[0] + normal[0] * middle[1]
        point[wheel, 1] = min(max(along, plate.bottom), plate.top)
