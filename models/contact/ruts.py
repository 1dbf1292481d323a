"""Ruts in the wheels' tracks, and their effect on the wheels that follow (models.wheel.rut).

Made for a rover that drives forward: each wheel stores how deep it has compacted the soil, place by place, and reads
the values of the wheel ahead on the same track. Values stored while driving backward are not read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.rover import Rover

# Places along x, as a ring much longer than any rover; one place is shorter than a wheel's contact.
SPACING = 0.01  # m
PLACES = 1024
NOBODY = -1
DEPTH, ACROSS = 0, 1


class Ruts(NamedTuple):
    """Memory of the soil, one row of places per wheel.

    Attributes:
        ahead: (wheels,) the wheel that each follows on its track, or NOBODY.
        half_width: of a wheel [m]: a wheel at a larger lateral distance is on fresh soil.
        left: (wheels, PLACES, 2) depth of the compacted soil once the wheel has passed [m], and its lateral place [m].
    """

    ahead: IntArray
    half_width: float
    left: FloatArray


def make_ruts(rover: Rover) -> Ruts:
    """Fresh soil, and the order of the wheels on each track when the rover drives straight."""
    place, half_width = rover.wheel_positions(rover.neutral()), 0.5 * rover.tree.wheels[0].width
    ahead = np.full(len(place), NOBODY, dtype=np.int64)
    for wheel, (x, y, _) in enumerate(place):
        on_track = [(u, other) for other, (u, w, _) in enumerate(place) if u > x and abs(w - y) < half_width]
        if on_track:
            ahead[wheel] = min(on_track)[1]
    return Ruts(ahead, half_width, np.zeros((len(place), PLACES, 2)))


@kernel
def deepest_before(ruts: Ruts, wheel: int, x: float, y: float) -> float:
    """Depth [m] of the soil at (x, y), world, compacted by the wheels ahead; linear between places."""
    ahead = ruts.ahead[wheel]
    if ahead == NOBODY:
        return 0.0
    first = np.floor(x / SPACING)
    share, total = x / SPACING - first, 0.0
    for i in range(2):
        at = ruts.left[ahead, (int(first) + i) % PLACES]
        if abs(at[ACROSS] - y) < ruts.half_width:
            total += at[DEPTH] * (share if i == 1 else 1.0 - share)
    return total


@kernel
def leave(ruts: Ruts, wheel: int, x: float, y: float, deepest: float) -> None:
    """Store the depth [m] of the soil at (x, y) compacted by a wheel."""
    at = ruts.left[wheel, int(np.floor(x / SPACING + 0.5)) % PLACES]
    at[DEPTH], at[ACROSS] = deepest, y
