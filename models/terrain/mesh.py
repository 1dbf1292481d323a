"""A ground of triangles, and the grid over x and y by which those near a wheel are found."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray, IntArray

CORNERS = 3
CORNER = math.radians(20.0)  # between faces that a wheel touches both; of less they are one bent surface
MOST_CELLS = 4_000_000
_THINNEST_M2 = 1e-12
_CELL = Range(1e-3, math.inf, "m")
_COORDINATE = Range(-1e5, 1e5, "m")


class TriangleMesh(NamedTuple):
    """Triangles, their neighbours and the grid that they are found by.

    Attributes:
        corner: (triangles, 3, 3) [m], counter-clockwise as seen from the open side.
        normal: (triangles, 3) unit vectors to the open side.
        vertex: (triangles, 3) number of each corner.
        opposite: (triangles, 3) vertex of the neighbour over the edge from each corner to the next; -1: none.
        neighbour: (triangles, 3) number of that neighbour; -1: none.
        fold: (triangles, 3) tangent of half the angle by which that neighbour rises; 0: it is level or falls, there is
            none, or it rises more than `CORNER`.
        patch: (triangles,) which part of the surface each is of; between parts the surface rises more than `CORNER`.
        place: (vertices, 3) [m].
        fan_start: (vertices + 1,) where the neighbours of each vertex begin in `fan`.
        fan: vertices.
        cell: (triangles, 2) the lowest cell of the grid that each triangle is in.
        origin: x and y of the grid [m].
        size: of a cell [m].
        cells: how many along x and y.
        start: (cells + 1,) where the triangles of each cell begin in `item`.
        item: triangles.
    """

    corner: FloatArray
    normal: FloatArray
    vertex: IntArray
    opposite: IntArray
    neighbour: IntArray
    fold: FloatArray
    patch: IntArray
    place: FloatArray
    fan_start: IntArray
    fan: IntArray
    cell: IntArray
    origin: tuple[float, float]
    size: float
    cells: tuple[int, int]
    start: IntArray
    item: IntArray


def make_mesh(vertices: npt.ArrayLike, triangles: npt.ArrayLike, cell: float | None = None) -> TriangleMesh:
    """A mesh of the vertices and triangles that a reader of STL, OBJ or PLY files gives.

    Args:
        vertices: (vertices, 3) [m]; equal ones are one vertex.
        triangles: (triangles, 3) their numbers, counter-clockwise as seen from the open side.
        cell: size of a cell of the grid [m]; None: as large as the triangles are on average.

    Returns:
        The mesh.

    Raises:
        ValueError: a number out of range, a triangle without an area, an edge of more than two triangles or of two that
            face opposite ways, too many cells.

    Example:
        >>> floor = make_mesh([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], [(0, 1, 2), (0, 2, 3)])
        >>> floor.normal.tolist()
        [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    """
    given = np.array(vertices, dtype=np.float64).reshape(-1, 3)
    numbers = np.array(triangles, dtype=np.int64).reshape(-1, 3)
    _check_numbers(given, numbers, cell)
    place, same = np.unique(given, axis=0, return_inverse=True)
    vertex = np.ascontiguousarray(same.reshape(-1)[numbers])
    corner = place[vertex]
    area = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    size = np.linalg.norm(area, axis=1)
    if thin := np.flatnonzero(size < _THINNEST_M2).tolist():
        raise ValueError(f"mesh: triangle {thin[0]} has no area, allowed: triangles with three corners apart")
    opposite, neighbour = _neighbours(vertex)
    fans: list[set[int]] = [set() for _ in place]
    for a, b, c in vertex.tolist():
        fans[a] |= {b, c}
        fans[b] |= {a, c}
        fans[c] |= {a, b}
    low, high = corner.min(axis=1)[:, :2], corner.max(axis=1)[:, :2]
    side = max(float((high - low).mean()), 1e-3) if cell is None else cell
    origin = low.min(axis=0)
    count = np.floor((high.max(axis=0) - origin) / side).astype(np.int64) + 1
    if count.prod() > MOST_CELLS:
        raise ValueError(f"mesh: cells of {side:g} m make {count.prod()}, allowed: {MOST_CELLS}; give larger ones")
    from_cell, to_cell = (np.floor((one - origin) / side).astype(np.int64) for one in (low, high))
    start, item = _filled(from_cell, to_cell, count)
    normal = area / size[:, np.newaxis]
    rise = _rises(corner, normal, place, opposite, neighbour)
    fold = np.where(rise < math.tan(0.5 * CORNER), rise, 0.0)
    joined, edge = np.nonzero((neighbour >= 0) & (fold == rise))
    parts = coo_array((np.ones(len(joined)), (joined, neighbour[joined, edge])), shape=(len(corner), len(corner)))
    return TriangleMesh(
        corner, normal, vertex, opposite, neighbour, fold, connected_components(parts)[1].astype(np.int64), place,
        np.cumsum([0, *map(len, fans)]), np.array([one for fan in fans for one in sorted(fan)], dtype=np.int64),
        from_cell, (float(origin[0]), float(origin[1])), float(side), (int(count[0]), int(count[1])), start, item,
    )  # fmt: skip


def _check_numbers(given: FloatArray, numbers: IntArray, cell: float | None) -> None:
    if not len(numbers):
        raise ValueError("mesh: 0 triangles, allowed: 1 or more")
    if numbers.min() < 0 or numbers.max() >= len(given):
        allowed = f"0 to {len(given) - 1}"
        raise ValueError(f"mesh: vertex {numbers.min()} to {numbers.max()} in a triangle, allowed: {allowed}")
    largest = given.ravel()[np.argmax(np.abs(given))] if np.isfinite(given).all() else math.nan
    refuse(
        "mesh",
        [problem("vertices", float(largest), _COORDINATE), None if cell is None else problem("cell", cell, _CELL)],
    )


def _neighbours(vertex: IntArray) -> tuple[IntArray, IntArray]:
    """Over each edge: the vertex of the triangle there, and that triangle."""
    owner: dict[tuple[int, int], tuple[int, int]] = {}
    for number, corners in enumerate(vertex.tolist()):
        for k, edge in enumerate(pairwise([*corners, corners[0]])):
            if edge in owner:
                raise ValueError(
                    f"mesh: triangles {owner[edge][0]} and {number} have an edge in one direction, allowed: at most "
                    "two triangles at an edge, which face the same side"
                )
            owner[edge] = number, k
    opposite, neighbour = np.full(vertex.shape, -1, np.int64), np.full(vertex.shape, -1, np.int64)
    for (a, b), (number, k) in owner.items():
        if (b, a) in owner:
            other, its = owner[b, a]
            opposite[number, k], neighbour[number, k] = vertex[other, (its + 2) % CORNERS], other
    return opposite, neighbour


def _rises(
    corner: FloatArray, normal: FloatArray, place: FloatArray, opposite: IntArray, neighbour: IntArray
) -> FloatArray:
    """Tangent of half the angle by which the neighbour over each edge rises; 0 where it does not."""
    own, its = normal[:, np.newaxis], normal[neighbour]
    over = ((place[opposite] - corner) * own).sum(axis=2)
    half = np.linalg.norm(own - its, axis=2) / np.maximum(np.linalg.norm(own + its, axis=2), 1e-9)
    return np.where((neighbour >= 0) & (over > 0.0), half, 0.0)


def _filled(low: IntArray, high: IntArray, count: IntArray) -> tuple[IntArray, IntArray]:
    """Triangles by cell: where each cell begins, and the triangles."""
    cells: list[list[int]] = [[] for _ in range(int(count.prod()))]
    for number, ((x0, y0), (x1, y1)) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        for x in range(x0, x1 + 1):
            for y in range(y0, y1 + 1):
                cells[x * int(count[1]) + y].append(number)
    return np.cumsum([0, *map(len, cells)]), np.array([one for cell in cells for one in cell], dtype=np.int64)
