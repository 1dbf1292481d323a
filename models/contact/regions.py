"""Soil that differs from place to place: regions that have their own soil, and rock under a layer of soil.

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
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.wheel import Soil
from models.wheel.kernels import SLIP_MODULUS, resultant

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
def mixed_resultant(
    regions: Regions, around: FloatArray, wheel: int, x: float, y: float, sinkage: float
) -> tuple[float, float, float, float, float]:
    """`models.wheel.kernels.resultant` of the soils at a place, and their slip modulus.

    Args:
        regions: of the ground.
        around: packed parameters of the wheel on the soil outside all regions.
        wheel: its number.
        x: of the wheel's centre [m].
        y: likewise.
        sinkage: [m].

    Returns:
        Normal force [N], cosine and sine of its inclination, shear limit [N], slip modulus [-].
    """
    rest, up, back, limit, modulus = 1.0, 0.0, 0.0, 0.0, 0.0
    for i in range(regions.border.size):
        region = regions.border.size - 1 - i
        part = rest * share(regions, region, x, y)
        if part == 0.0:
            continue
        deep = sinkage - regions.under[region]
        force, cosine, sine, most = resultant(regions.wheel[region, wheel], deep)
        up, back, limit = up + part * force * cosine, back + part * force * sine, limit + part * most
        if regions.under[region] > 0.0:  # the soil above it is that around, which goes on carrying
            continue
        modulus += part * regions.wheel[region, wheel, SLIP_MODULUS]
        rest -= part
    if rest > 0.0:
        force, cosine, sine, most = resultant(around, sinkage)
        up, back, limit = up + rest * force * cosine, back + rest * force * sine, limit + rest * most
        modulus += rest * around[SLIP_MODULUS]
    size = math.sqrt(up * up + back * back)
    if size == 0.0:
        return 0.0, 1.0, 0.0, 0.0, modulus
    return size, up / size, back / size, limit, modulus
