"""What wheels leave behind on their tracks, and what the wheels that follow meet there (models.wheel.rut).

Made for a rover that drives forward: each wheel writes down how far it has pressed the soil, place by place, and reads
what the wheel ahead of it on the same track wrote. Nobody reads what was written on the way back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover import Rover

# Places along x, over and over again: longer than any rover by far, and shorter than a wheel's contact.
SPACING = 0.01  # m
PLACES = 1024
NOBODY = -1
DEPTH, ACROSS = 0, 1


class Ruts(NamedTuple):
    """Memory of the soil, one row of places a wheel.

    Attributes:
        ahead: (wheels,) the wheel that each follows on its track, or NOBODY.
        half_width: of a wheel [m]: a wheel that passes farther aside meets fresh soil.
        left: (wheels, PLACES, 2) how deep the soil lies pressed once the wheel has passed [m], and where across [m].
    """

    ahead: IntArray
    half_width: float
    left: FloatArray


def make_ruts(rover: Rover) -> Ruts:
    """Fresh soil, and who follows whom when the rover drives straight."""
    place, half_width = rover.wheel_positions(rover.neutral()), 0.5 * rover.tree.wheels[0].width
    ahead = np.full(len(place), NOBODY, dtype=np.int64)
    for wheel, (x, y, _) in enumerate(place):
        on_track = [(u, other) for other, (u, w, _) in enumerate(place) if u > x and abs(w - y) < half_width]
        if on_track:
            ahead[wheel] = min(on_track)[1]
    return Ruts(ahead, half_width, np.zeros((len(place), PLACES, 2)))


@kernel
def deepest_before(ruts: Ruts, wheel: int, x: float, y: float) -> float:
    """How deep [m] the soil at (x, y) in the world was pressed by the wheels ahead; between places in proportion."""
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
    """Write down how deep [m] the soil at (x, y) lies pressed after a wheel."""
    at = ruts.left[wheel, int(np.floor(x / SPACING + 0.5)) % PLACES]
    at[DEPTH], at[ACROSS] = deepest, y
