"""A route through way points as straight lines, and turns in place or arcs between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

# Shorter lines [m] and smaller turns [rad] are left out.
_NO_WAY, _NO_TURN = 1e-6, 1e-6


class Leg(NamedTuple):
    """One part of a route, from rest to rest.

    Attributes:
        way_m: along the path; 0: a turn in place.
        turn_rad: to port, over the whole of it; 0: a straight line.
    """

    way_m: float
    turn_rad: float


def route_legs(points: Sequence[tuple[float, float]], corner_m: float) -> list[Leg]:
    """The legs from the place and heading at the start, 0, 0 and along x, through points.

    Args:
        points: (x ahead, y to port) [m], as seen from the start.
        corner_m: radius of the arcs that cut the corners; 0: the rover turns in place at each point, as at the start.

    Raises:
        ValueError: two points in one place, or a line too short for the arcs at its ends.

    Example:
        >>> [(round(leg.way_m, 3), round(leg.turn_rad, 3)) for leg in route_legs([(1.0, 0.0), (1.0, 1.0)], 0.0)]
        [(1.0, 0.0), (0.0, 1.571), (1.0, 0.0)]
    """
    lines = [(later[0] - one[0], later[1] - one[1]) for one, later in pairwise([(0.0, 0.0), *points])]
    lengths = [math.hypot(*line) for line in lines]
    if min(lengths, default=0.0) < _NO_WAY:
        raise ValueError("two way points in one place, or the first at the start; each away from the one before")
    headings = [0.0, *(math.atan2(y, x) for x, y in lines)]
    turns = [math.remainder(later - one, 2.0 * math.pi) for one, later in pairwise(headings)]
    # an arc begins and ends so far from the point that it cuts
    cut = [0.0, *(corner_m * abs(math.tan(0.5 * turn)) for turn in turns[1:]), 0.0]
    legs: list[Leg] = []
    for number, (length, turn) in enumerate(zip(lengths, turns, strict=True)):
        if abs(turn) > _NO_TURN:
            legs.append(Leg(corner_m * abs(turn) if number else 0.0, turn))
        left = length - cut[number] - cut[number + 1]
        if left < -_NO_WAY:
            raise ValueError(
                f"the line to way point {number + 1} is {length:.3g} m long, allowed: at least "
                f"{cut[number] + cut[number + 1]:.3g} m for arcs of {corner_m:g} m at its ends"
            )
        if left > _NO_WAY:
            legs.append(Leg(left, 0.0))
    return legs
