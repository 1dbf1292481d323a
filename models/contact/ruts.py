"""Ruts that wheels leave in soil, in any direction, and their effect on wheels that come later (models.wheel.rut).

The memory is a raster over x and y, of how deep the soil has been compacted and how far slip has dug it
(models.wheel.shear_law). A wheel leaves its rut where it has been
once it is a wheel's radius away, or turns back: its own contact does not count as a rut. So every wheel meets the ruts
of those before it, and its own when it comes back, on a curve, across a track or in reverse. The raster is a torus: a
place 10.24 m further on takes the cell of a place, which is then forgotten.

Soil that differs from place to place: regions that have their own soil, and rock under a layer of soil.

A region is a polygon over x and y. Inside it its share is 1, outside 0, and within half a border's width of its edge it
goes from one to the other smoothly. Forces of the soils are added by their shares. Where regions overlap, the later one
lies over the earlier ones. Whether a ground has regions is known when a step is compiled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from models.checks import Range, finite_array, problem, refuse
from models.contact.wheel_slots import DUG as DUG_BY
from models.contact.wheel_slots import FORWARD, MODULUS, ROLLING, SIDEWAYS, GroundContact
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.dynamics import Workspace
from models.rover.points import body_position
from models.rover.reduction import Chain
from models.rover.rover import Rover
from models.wheel import Soil, flexible_rut, rut
from models.wheel.kernels import SLIP_MODULUS, bulldozing, flexible_resultant, resultant
from models.wheel.packed import DIGGING
from models.wheel.shear_law import dug_after, on_dug
from models.wheel.traction import slip_and_slide

# A cell is shorter than a wheel's contact; cells along each side: much longer than any rover.
SPACING = 0.02  # m
CELLS = 512
# Columns of a cell: depth [m], the numbers of the cell that it stands for, and D of the digging [-].
DEPTH, COLUMN, ROW, DUG = range(4)
# Columns of a place that a wheel has been at and not yet left: x, y, depth [m], direction of travel, D [-].
X, Y, DEEP, AHEAD_X, AHEAD_Y, LOOSE = range(6)
PENDING = 128
FIRST, COUNT = 0, 1
NOBODY = -1


class Ruts(NamedTuple):
    """Memory of the soil.

    Attributes:
        ahead: (wheels,) the wheel that each follows when the rover drives straight, or NOBODY; for steady states only.
        half_width: (wheels,) of each [m].
        reach: (wheels,) distance [m] at which each has left a place.
        cell: (CELLS, CELLS, 4) depth of the compacted soil [m], which cell that is, and how far it is dug [-].
        pending: (wheels, PENDING, 6) ring of places that each wheel has not left yet.
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
    return Ruts(ahead, half_width, reach, np.zeros((CELLS, CELLS, 4)), np.zeros((wheels, PENDING, 6)), held)


@kernel
def deepest_before(ruts: Ruts, x: float, y: float) -> float:
    """Depth [m] of the soil at (x, y), world, compacted before; linear between cells."""
    return _remembered(ruts, x, y, DEPTH)


@kernel
def dug_before(ruts: Ruts, x: float, y: float) -> float:
    """D [-] of the soil at (x, y), world, dug before; likewise."""
    return _remembered(ruts, x, y, DUG)


@kernel
def _remembered(ruts: Ruts, x: float, y: float, what: int) -> float:
    u, v = x / SPACING, y / SPACING
    i, j = np.floor(u), np.floor(v)
    s, t, total = u - i, v - j, 0.0
    for a in range(2):
        for b in range(2):
            at = ruts.cell[int(i + a) % CELLS, int(j + b) % CELLS]
            if at[COLUMN] == i + a and at[ROW] == j + b:
                total += (s if a == 1 else 1.0 - s) * (t if b == 1 else 1.0 - t) * at[what]
    return total


@kernel
def press(ruts: Ruts, wheel: int, x: float, y: float, depth: float, dug: float) -> None:
    """Make the soil around (x, y) so deep [m] and so dug [-], whatever it was, under a wheel that was nowhere yet."""
    i, j = np.floor(x / SPACING), np.floor(y / SPACING)
    for a in range(2):
        for b in range(2):
            at = ruts.cell[int(i + a) % CELLS, int(j + b) % CELLS]
            at[DEPTH], at[COLUMN], at[ROW], at[DUG] = depth, i + a, j + b, dug
    ruts.held[wheel, COUNT] = 0


@kernel
def leave(ruts: Ruts, wheel: int, x: float, y: float, deepest: float, dug: float) -> None:
    """A wheel compacts the soil at (x, y) to this depth [m] and digs it [-]; what it has left becomes a rut."""
    ring, held = ruts.pending[wheel], ruts.held[wheel]
    turned_back = False
    ahead_x = ahead_y = 0.0
    if held[COUNT] > 0:
        last = ring[(held[FIRST] + held[COUNT] - 1) % PENDING]
        dx, dy = x - last[X], y - last[Y]
        away = np.sqrt(dx * dx + dy * dy)
        if away < SPACING:
            last[DEEP], last[LOOSE] = max(last[DEEP], deepest), max(last[LOOSE], dug)
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
    new[X], new[Y], new[DEEP], new[AHEAD_X], new[AHEAD_Y], new[LOOSE] = x, y, deepest, ahead_x, ahead_y, dug
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
                at[DEPTH], at[COLUMN], at[ROW], at[DUG] = 0.0, i, j, 0.0
            at[DEPTH], at[DUG] = max(at[DEPTH], place[DEEP]), max(at[DUG], place[LOOSE])


_BORDER, _DEPTH = Range(0.0, 10.0, "m", open_low=True), Range(0.0, 10.0, "m")


@dataclass(frozen=True)
class SoilRegion:
    """A region of another soil.

    Attributes:
        corners: of its polygon, x and y [m], three or more, in either direction.
        soil: of the region; or rock, as a very stiff soil.
        border: width over which the soils change [m].
        under: depth at which its soil begins [m]: above it lies the soil around, and both carry a wheel that sinks
            deeper; 0: from the surface on.
    """

    corners: tuple[tuple[float, float], ...]
    soil: Soil
    border: float
    under: float = 0.0

    def varied(self, stiffness: float, slip_modulus: float) -> SoilRegion:
        """The region with its soil's stiffness and slip modulus times these factors."""
        soil = self.soil
        return replace(
            self,
            soil=replace(soil, stiffness=stiffness * soil.stiffness, slip_modulus=slip_modulus * soil.slip_modulus),
        )


class Regions(NamedTuple):
    """All regions of a ground under the wheels of a rover.

    Attributes:
        wheel: (regions, wheels, numbers) packed wheel-soil parameters.
        corners: (all corners, 2) [m], one polygon after the other.
        first: (regions + 1,) index of the first corner of each, and of the end.
        border: (regions,) [m].
        under: (regions,) [m].
    """

    wheel: FloatArray
    corners: FloatArray
    first: IntArray
    border: FloatArray
    under: FloatArray


def make_regions(regions: Sequence[SoilRegion], packed: Sequence[Sequence[FloatArray]]) -> Regions | None:
    """The regions for a step; None: there are none.

    Args:
        regions: one or more.
        packed: of each, the packed parameters of every wheel on its soil.

    Raises:
        ValueError: fewer than three corners, or a number out of range; with the region's number.
    """
    if not regions:
        return None
    for number, region in enumerate(regions):
        corners = np.asarray(region.corners, float)
        if corners.ndim != 2 or corners.shape[0] < 3 or corners.shape[1] != 2:
            raise ValueError(f"soil region {number}: corners of shape {corners.shape}, allowed: 3 or more of x and y")
        finite_array(f"soil region {number}", "corners", corners.ravel(), Range(-math.inf, math.inf, "m"))
        refuse(
            f"soil region {number}", [problem("border", region.border, _BORDER), problem("under", region.under, _DEPTH)]
        )
    ends = np.cumsum([0, *(len(region.corners) for region in regions)])
    return Regions(
        np.array(packed),
        np.concatenate([np.asarray(region.corners, float) for region in regions]),
        ends.astype(np.int64),
        np.array([region.border for region in regions]),
        np.array([region.under for region in regions]),
    )


@kernel
def share(regions: Regions, region: int, x: float, y: float) -> float:
    """Share [0, 1] of a region at a place [m], whatever lies over it."""
    corners, first, end = regions.corners, regions.first[region], regions.first[region + 1]
    nearest, inside = np.inf, False
    before = end - 1
    for i in range(first, end):
        ax, ay = corners[before, 0], corners[before, 1]
        bx, by = corners[i, 0], corners[i, 1]
        if (ay > y) != (by > y) and x < ax + (y - ay) * (bx - ax) / (by - ay):
            inside = not inside
        ex, ey, dx, dy = bx - ax, by - ay, x - ax, y - ay
        along = min(max((dx * ex + dy * ey) / max(ex * ex + ey * ey, 1e-18), 0.0), 1.0)
        px, py = dx - along * ex, dy - along * ey
        nearest = min(nearest, px * px + py * py)
        before = i
    apart = math.sqrt(nearest) if inside else -math.sqrt(nearest)
    s = min(max(apart / regions.border[region] + 0.5, 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s)


@kernel
def mixed_constants(regions: Regions, around: FloatArray, wheel: int, x: float, y: float) -> tuple[float, float]:
    """Slip modulus [-] of the soils at a place, and the largest of their constants of digging; as `mixed_resultant`."""
    rest, modulus, digging = 1.0, 0.0, around[DIGGING]
    for i in range(regions.border.size):
        region = regions.border.size - 1 - i
        own, part = regions.wheel[region, wheel], rest * share(regions, region, x, y)
        digging = max(digging, own[DIGGING])
        if regions.under[region] == 0.0:
            modulus += part * own[SLIP_MODULUS]
            rest -= part
    return modulus + rest * around[SLIP_MODULUS], digging


@kernel
def mixed_resultant(
    regions: Regions, around: FloatArray, wheel: int, x: float, y: float, sinkage: float, dug: float
) -> tuple[float, float, float, float, float]:
    """`models.wheel.kernels.resultant` of the soils at a place, dug by slip, and their bulldozing.

    Args:
        regions: of the ground.
        around: packed parameters of the wheel on the soil outside all regions.
        wheel: its number.
        x: of the wheel's centre [m].
        y: likewise.
        sinkage: [m].
        dug: D of models.wheel.shear_law [-].

    Returns:
        Normal force [N], cosine and sine of its inclination, shear limit and resistance of soil pushed ahead [N].
    """
    rest, up, back, limit, pushed = 1.0, 0.0, 0.0, 0.0, 0.0
    for i in range(regions.border.size):
        region = regions.border.size - 1 - i
        part = rest * share(regions, region, x, y)
        if part == 0.0:
            continue
        deep = sinkage - regions.under[region]
        force, cosine, sine, most = _resultant_dug(regions.wheel[region, wheel], deep, dug)
        pushed += part * bulldozing(regions.wheel[region, wheel], deep)
        up, back, limit = up + part * force * cosine, back + part * force * sine, limit + part * most
        if regions.under[region] > 0.0:  # the soil above it is that around, which goes on carrying
            continue
        rest -= part
    if rest > 0.0:
        force, cosine, sine, most = _resultant_dug(around, sinkage, dug)
        pushed += rest * bulldozing(around, sinkage)
        up, back, limit = up + rest * force * cosine, back + rest * force * sine, limit + rest * most
    size = math.sqrt(up * up + back * back)
    if size == 0.0:
        return 0.0, 1.0, 0.0, 0.0, 0.0
    return size, up / size, back / size, limit, pushed


@kernel
def _resultant_dug(p: FloatArray, sinkage: float, dug: float) -> tuple[float, float, float, float]:
    normal, cosine, sine, limit = resultant(p, sinkage)
    normal, limit = on_dug(p, dug, normal, limit)
    return normal, cosine, sine, limit


@kernel
def resultant_by_place(
    chain: Chain,
    ruts: Ruts | None,
    slip_speed: float,
    own: FloatArray,
    regions: Regions | None,
    q: FloatArray,
    wheel: int,
    dt: float,
    contact: GroundContact,
    work: Workspace,
) -> tuple[float, float, float, float, float]:
    """Of the soil, or of the soils at the wheel's place, dug by slip where it is dug (models.wheel.shear_law)."""
    if regions is None:  # decided at compile time: one soil everywhere costs nothing
        return _resultant(chain, slip_speed, own, ruts, q, wheel, dt, contact, work)
    x, y, _ = body_position(q, work, chain.wheel_body[wheel])
    sinkage, dug = contact.sinkage[wheel], 0.0
    modulus, digging = mixed_constants(regions, own, wheel, x, y)
    contact.scratch[wheel, MODULUS] = modulus
    if digging > 0.0:
        dug = _dig(slip_speed, own, modulus, sinkage, wheel, dt, contact)
    return mixed_resultant(regions, own, wheel, x, y, sinkage, dug)


@kernel
def _dig(
    slip_speed: float, own: FloatArray, modulus: float, sinkage: float, wheel: int, dt: float, contact: GroundContact
) -> float:
    """D under a wheel at the end of the step."""
    out = contact.scratch[wheel]
    moved = dt * max(abs(out[FORWARD]), abs(out[ROLLING]))
    slip = slip_by_speeds(slip_speed, out)
    contact.shear[wheel, DUG_BY] = dug_after(own, contact.shear[wheel, DUG_BY], slip, modulus, sinkage, moved)
    return float(contact.shear[wheel, DUG_BY])


@kernel
def slip_by_speeds(slip_speed: float, out: FloatArray) -> float:
    """Slip [-] of the wheel that `look` has looked at."""
    slip, _, _ = slip_and_slide(out[FORWARD], out[SIDEWAYS], out[ROLLING], slip_speed)
    return slip


@kernel
def _resultant(
    chain: Chain,
    slip_speed: float,
    own: FloatArray,
    ruts: Ruts | None,
    q: FloatArray,
    wheel: int,
    dt: float,
    contact: GroundContact,
    work: Workspace,
) -> tuple[float, float, float, float, float]:
    """models.wheel.kernels.resultant on fresh soil, models.wheel.rut.resultant in ruts, and bulldozing."""
    sinkage, dug = contact.sinkage[wheel], 0.0
    deep = sinkage  # below the soil ahead
    if ruts is None:  # decided at compile time: fresh soil costs nothing
        normal, cosine, sine, limit = resultant(own, sinkage)
        if own[DIGGING] > 0.0:
            dug = _dig(slip_speed, own, own[SLIP_MODULUS], sinkage, wheel, dt, contact)
    else:
        x, y, _ = body_position(q, work, chain.wheel_body[wheel])
        before = deepest_before(ruts, x, y)
        deep -= rut.ground(own, before)
        if own[DIGGING] > 0.0:  # a wheel above the bottom of a rut digs nothing
            reached = sinkage if deep > 0.0 else 0.0
            dug = max(dug_before(ruts, x, y), _dig(slip_speed, own, own[SLIP_MODULUS], reached, wheel, dt, contact))
        leave(ruts, wheel, x, y, max(before, sinkage), dug)
        normal, cosine, sine, limit = rut.resultant(own, sinkage, before)
    if own[DIGGING] > 0.0:
        normal, limit = on_dug(own, dug, normal, limit)
    return normal, cosine, sine, limit, bulldozing(own, deep)


@kernel
def flexible_by_place(
    chain: Chain,
    ruts: Ruts | None,
    own: FloatArray,
    q: FloatArray,
    wheel: int,
    share: float,
    sinkage: float,
    work: Workspace,
) -> tuple[float, float, float, float]:
    """models.wheel.kernels.flexible_resultant on fresh soil, models.wheel.flexible_rut.resultant in ruts."""
    if ruts is None:  # decided at compile time
        return flexible_resultant(own, sinkage, share)
    x, y, _ = body_position(q, work, chain.wheel_body[wheel])
    before = deepest_before(ruts, x, y)
    normal, cosine, sine, limit, pressed = flexible_rut.resultant(own, sinkage, before, share)
    leave(ruts, wheel, x, y, pressed, 0.0)
    return normal, cosine, sine, limit
