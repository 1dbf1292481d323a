"""Ruts that wheels leave in soil, in any direction, and their effect on wheels that come later (models.wheel.rut).

The memory is a raster over x and y, of how deep the soil has been compacted. A wheel leaves its rut where it has been
once it is a wheel's radius away, or turns back: its own contact does not count as a rut. So every wheel meets the ruts
of those before it, and its own when it comes back, on a curve, across a track or in reverse. The raster is a torus: a
place 10.24 m further on takes the cell of a place, which is then forgotten.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.rover import Rover

# A cell is shorter than a wheel's contact; cells along each side: much longer than any rover.
SPACING = 0.02  # m
CELLS = 512
# Columns of a cell: depth [m], and the numbers of the cell that it stands for.
DEPTH, COLUMN, ROW = 0, 1, 2
# Columns of a place that a wheel has been at and not yet left: x, y, depth [m], direction of travel.
X, Y, DEEP, AHEAD_X, AHEAD_Y = range(5)
PENDING = 128
FIRST, COUNT = 0, 1
NOBODY = -1


class Ruts(NamedTuple):
    """Memory of the soil.

    Attributes:
        ahead: (wheels,) the wheel that each follows when the rover drives straight, or NOBODY; for steady states only.
        half_width: (wheels,) of each [m].
        reach: (wheels,) distance [m] at which each has left a place.
        cell: (CELLS, CELLS, 3) depth of the compacted soil [m], and which cell that is.
        pending: (wheels, PENDING, 5) ring of places that each wheel has not left yet.
        held: (wheels, 2) the first of them, and how many.
    """

    ahead: IntArray
    half_width: FloatArray
    reach: FloatArray
    cell: FloatArray
    pending: FloatArray
    held: IntArray


def make_ruts(rover: Rover) -> Ruts:
    """Fresh soil, and the order of the wheels on each track when the rover drives straight."""
    place, mounts = rover.wheel_positions(rover.neutral()), rover.tree.wheels
    wheels, half_width = len(place), np.array([0.5 * mount.width for mount in mounts])
    ahead = np.full(wheels, NOBODY, dtype=np.int64)
    for wheel, (x, y, _) in enumerate(place):
        on_track = [(u, other) for other, (u, w, _) in enumerate(place) if u > x and abs(w - y) < half_width[wheel]]
        if on_track:
            ahead[wheel] = min(on_track)[1]
    reach = np.array([min(mount.radius, (PENDING - 4) * SPACING) for mount in mounts])
    held = np.zeros((wheels, 2), dtype=np.int64)
    return Ruts(ahead, half_width, reach, np.zeros((CELLS, CELLS, 3)), np.zeros((wheels, PENDING, 5)), held)


@kernel
def deepest_before(ruts: Ruts, x: float, y: float) -> float:
    """Depth [m] of the soil at (x, y), world, compacted before; linear between cells."""
    u, v = x / SPACING, y / SPACING
    i, j = np.floor(u), np.floor(v)
    s, t, total = u - i, v - j, 0.0
    for a in range(2):
        for b in range(2):
            at = ruts.cell[int(i + a) % CELLS, int(j + b) % CELLS]
            if at[COLUMN] == i + a and at[ROW] == j + b:
                total += (s if a == 1 else 1.0 - s) * (t if b == 1 else 1.0 - t) * at[DEPTH]
    return total


@kernel
def press(ruts: Ruts, wheel: int, x: float, y: float, depth: float) -> None:
    """Make the soil around (x, y) compacted to this depth [m], whatever it was, under a wheel that was nowhere yet."""
    i, j = np.floor(x / SPACING), np.floor(y / SPACING)
    for a in range(2):
        for b in range(2):
            at = ruts.cell[int(i + a) % CELLS, int(j + b) % CELLS]
            at[DEPTH], at[COLUMN], at[ROW] = depth, i + a, j + b
    ruts.held[wheel, COUNT] = 0


@kernel
def leave(ruts: Ruts, wheel: int, x: float, y: float, deepest: float) -> None:
    """A wheel compacts the soil at (x, y) to this depth [m]; what it has left becomes a rut."""
    ring, held = ruts.pending[wheel], ruts.held[wheel]
    turned_back = False
    ahead_x = ahead_y = 0.0
    if held[COUNT] > 0:
        last = ring[(held[FIRST] + held[COUNT] - 1) % PENDING]
        dx, dy = x - last[X], y - last[Y]
        away = np.sqrt(dx * dx + dy * dy)
        if away < SPACING:
            last[DEEP] = max(last[DEEP], deepest)
            return
        ahead_x, ahead_y = dx / away, dy / away
        if last[AHEAD_X] == 0.0 and last[AHEAD_Y] == 0.0:  # the first place, of which nothing was known
            last[AHEAD_X], last[AHEAD_Y] = ahead_x, ahead_y
        turned_back = ahead_x * last[AHEAD_X] + ahead_y * last[AHEAD_Y] < 0.0
    while held[COUNT] > 0:
        oldest = ring[held[FIRST]]
        dx, dy = x - oldest[X], y - oldest[Y]
        near = dx * dx + dy * dy <= ruts.reach[wheel] * ruts.reach[wheel]
        if near and not turned_back and held[COUNT] < PENDING:
            break
        _stamp(ruts, wheel, oldest)
        held[FIRST] = (held[FIRST] + 1) % PENDING
        held[COUNT] -= 1
    new = ring[(held[FIRST] + held[COUNT]) % PENDING]
    new[X], new[Y], new[DEEP], new[AHEAD_X], new[AHEAD_Y] = x, y, deepest, ahead_x, ahead_y
    held[COUNT] += 1


@kernel
def _stamp(ruts: Ruts, wheel: int, place: FloatArray) -> None:
    """Compact the cells across a wheel's width at a place, and half a cell behind it, so that none is left out."""
    half = 0.5 * SPACING
    count = int(ruts.half_width[wheel] / half)
    for behind in range(2):
        for k in range(-count, count + 1):
            along, across = -half * behind, half * k
            x = place[X] + along * place[AHEAD_X] - across * place[AHEAD_Y]
            y = place[Y] + along * place[AHEAD_Y] + across * place[AHEAD_X]
            i, j = np.floor(x / SPACING + 0.5), np.floor(y / SPACING + 0.5)
            at = ruts.cell[int(i) % CELLS, int(j) % CELLS]
            if at[COLUMN] != i or at[ROW] != j:
                at[DEPTH], at[COLUMN], at[ROW] = 0.0, i, j
            at[DEPTH] = max(at[DEPTH], place[DEEP])
