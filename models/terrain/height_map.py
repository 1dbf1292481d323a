"""Uneven ground as heights on a regular grid, joined to a surface that is C1: height and normal are continuous.

Between four nodes lies a bicubic Hermite patch; the slopes at a node are the central differences of the heights there
(Catmull-Rom). So a patch needs 16 heights and nothing is stored but heights; a plane, and every quadratic function of x
and y, is met to rounding. Second derivatives jump at the edges of patches. Beyond the outermost patches the surface is
continued by its tangents.

A wheel touches at its foot point: the surface's point nearest to the wheel's centre. There the rim is farthest below
the surface, measured along the normal, and the ground counts as its tangent plane. The distance's gradient is the
normal itself, so that a force along it that depends on the depth alone is conservative on any shape.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray, kernel
from models.rover.points import Direction

# Newton's steps to the foot point at most; it is met once it is left by less than this, squared [m^2]. An error of the
# foot point enters the distance squared, over the wheel's diameter, and the normal as it is: with three steps, a wheel
# on a rough mound took 7e-4 of the work from a closed path.
STEPS, _NEAR = 6, 1e-16
# Where the surface is hollow nearly as narrow as the wheel, a step of Newton's method has no good direction: below this
# determinant the step is taken without the curvature.
_LEAST = 0.1
# Nodes along each side: one patch needs four.
FEWEST = 4
_SPACING = Range(1e-3, 10.0, "m")


class HeightMap(NamedTuple):
    """Heights over the world's x and y.

    Attributes:
        height: (columns, rows) [m] at the nodes, along x and along y.
        x, y: of the first node [m].
        spacing: of the nodes, both ways [m].
        steepest: slope of the surface [-], the largest at nodes and half-way between them.
    """

    height: FloatArray
    x: float
    y: float
    spacing: float
    steepest: float

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Least and largest x, least and largest y of the patches [m]; the outermost nodes only give slopes."""
        columns, rows = self.height.shape
        one = self.spacing
        return self.x + one, self.x + (columns - 2) * one, self.y + one, self.y + (rows - 2) * one


def make_height_map(height: npt.ArrayLike, x: float, y: float, spacing: float) -> HeightMap:
    """A height map.

    Args:
        height: (columns, rows) [m] at the nodes, along x and along y; 4 or more along each.
        x: of the first node [m].
        y: of the first node [m].
        spacing: of the nodes [m].

    Raises:
        ValueError: of another shape, or a value that is not finite.
    """
    refuse("height map", [problem("spacing", spacing, _SPACING)])
    heights = np.ascontiguousarray(height, dtype=np.float64)
    if heights.ndim != 2 or min(heights.shape) < FEWEST:
        raise ValueError(f"height map: {heights.shape} heights, allowed: {FEWEST} or more along x and along y")
    if not np.isfinite(heights).all():
        raise ValueError(f"height map: {int((~np.isfinite(heights)).sum())} heights are not finite, allowed: finite")
    made = HeightMap(heights, float(x), float(y), float(spacing), 0.0)
    return made._replace(steepest=float(np.hypot(*_slopes(made)).max()))


def _slopes(relief: HeightMap) -> tuple[FloatArray, FloatArray]:
    """Slopes by x and by y at the nodes of the patches and half-way between: where cubic patches are steepest."""
    height, double = relief.height, 2.0 * relief.spacing
    by_x = (height[2:, 1:-1] - height[:-2, 1:-1]) / double
    by_y = (height[1:-1, 2:] - height[1:-1, :-2]) / double
    half_x = 1.25 * np.diff(height, axis=0)
    half_x = (half_x[1:-1] - 0.1 * (half_x[:-2] + half_x[2:])) / relief.spacing
    half_y = 1.25 * np.diff(height, axis=1)
    half_y = (half_y[:, 1:-1] - 0.1 * (half_y[:, :-2] + half_y[:, 2:])) / relief.spacing
    largest_x, largest_y = np.abs(by_x), np.abs(by_y)
    largest_x[:-1] = np.maximum(largest_x[:-1], np.abs(half_x)[:, 1:-1])
    largest_y[:, :-1] = np.maximum(largest_y[:, :-1], np.abs(half_y)[1:-1])
    return largest_x, largest_y


@kernel
def local(relief: HeightMap, x: float, y: float) -> tuple[float, float, float, float, float, float]:
    """The surface at (x, y) [m], on the map or outside it.

    Returns:
        Height [m], its slopes by x and by y, and its second derivatives by xx, xy and yy [1/m].
    """
    columns, rows = relief.height.shape
    per = 1.0 / relief.spacing
    u, v = (x - relief.x) * per, (y - relief.y) * per
    # the nearest place on a patch; beyond, the surface goes on by its tangents
    inside_u, inside_v = min(max(u, 1.0), columns - 2.0), min(max(v, 1.0), rows - 2.0)
    i, j = min(int(inside_u), columns - 3), min(int(inside_v), rows - 3)
    s, t = inside_u - i, inside_v - j
    z = zu = zv = zuu = zuv = zvv = 0.0
    base = relief.height[i, j]
    for a in range(4):
        row = relief.height[i - 1 + a]
        h0, h1, h2, h3 = row[j - 1] - base, row[j] - base, row[j + 1] - base, row[j + 2] - base
        along = h1 + 0.5 * t * (h2 - h0 + t * (2.0 * h0 - 5.0 * h1 + 4.0 * h2 - h3 + t * (3.0 * (h1 - h2) + h3 - h0)))
        first = 0.5 * (h2 - h0) + t * (2.0 * h0 - 5.0 * h1 + 4.0 * h2 - h3 + 1.5 * t * (3.0 * (h1 - h2) + h3 - h0))
        second = 2.0 * h0 - 5.0 * h1 + 4.0 * h2 - h3 + 3.0 * t * (3.0 * (h1 - h2) + h3 - h0)
        w, d, c = _weights(s, a)
        z += w * along
        zu += d * along
        zuu += c * along
        zv += w * first
        zuv += d * first
        zvv += w * second
    z += base + zu * (u - inside_u) + zv * (v - inside_v)
    return z, zu * per, zv * per, zuu * per * per, zuv * per * per, zvv * per * per


@kernel
def _weights(s: float, place: int) -> tuple[float, float, float]:
    """Weight of one of four heights and its derivatives by s, the share from the second to the third."""
    if place == 0:
        return 0.5 * s * (s * (2.0 - s) - 1.0), 0.5 * (s * (4.0 - 3.0 * s) - 1.0), 2.0 - 3.0 * s
    if place == 1:
        return 0.5 * (s * s * (3.0 * s - 5.0) + 2.0), 0.5 * s * (9.0 * s - 10.0), 9.0 * s - 5.0
    if place == 2:
        return 0.5 * s * (s * (4.0 - 3.0 * s) + 1.0), 0.5 * (s * (8.0 - 9.0 * s) + 1.0), 4.0 - 9.0 * s
    return 0.5 * s * s * (s - 1.0), 0.5 * s * (3.0 * s - 2.0), 3.0 * s - 1.0


@kernel
def foot(relief: HeightMap, place: Direction) -> tuple[float, Direction]:
    """Distance [m] of a place (world) from the tangent plane at its foot point, positive above, and the normal there.

    Newton's method on the distance to the surface, from the place right below. Where the surface is hollow with a
    smaller radius than the distance there are several nearest points, and what is returned is one of them or none.
    """
    x, y = place[0], place[1]
    for step in range(STEPS + 1):
        z, p, q, r, m, t = local(relief, x, y)
        over = place[2] - z
        gx, gy = x - place[0] - over * p, y - place[1] - over * q
        if step == STEPS or gx * gx + gy * gy < _NEAR:
            break
        a, b, c = 1.0 + p * p - over * r, p * q - over * m, 1.0 + q * q - over * t
        if a < _LEAST or a * c - b * b < _LEAST:
            a, b, c = 1.0 + p * p, p * q, 1.0 + q * q
        part = 1.0 / (a * c - b * b)
        x -= part * (c * gx - b * gy)
        y -= part * (a * gy - b * gx)
    size = 1.0 / math.sqrt(1.0 + p * p + q * q)
    return (over - p * (place[0] - x) - q * (place[1] - y)) * size, (-p * size, -q * size, size)
