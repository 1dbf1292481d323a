"""A ground of triangles, and where wheels touch it: collision detection for contacts that come from outside.

Acary and others 2013, section 3, test a wheel's centre against each triangle and filter by place first. Here a grid
over x and y is the filter: a wheel is tested against the triangles of the cells that it covers.

A wheel touches a face, an edge or a corner that stands out where its centre is nearest to the mesh in the
neighbourhood: of a flat ground of many triangles one contact, of a step its floor and its edge. Each contact fixes a
plane (models.terrain.given), against which the wheel is a rim without a width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.points import Direction, cross, dot
from models.terrain.given import MOST_CONTACTS

COLUMNS = 7  # normal (3), deepest point of the wheel (3), depth under the surface [m]
NORMAL, POINT, DEPTH = 0, 3, 6
MOST_CELLS = 4_000_000
_CORNERS = 3
_THINNEST_M2 = 1e-12
_SAME_M = 1e-9  # contacts so near to each other are one: a wheel over the common edge of two triangles
_LEVEL = 1e-24  # square of the sine below which two directions are at right angles
_CELL = Range(1e-3, math.inf, "m")
_REACH = Range(0.0, math.inf, "m")
_COORDINATE = Range(-1e5, 1e5, "m")


class TriangleMesh(NamedTuple):
    """Triangles, their neighbours and the grid that they are found by.

    Attributes:
        corner: (triangles, 3, 3) [m], counter-clockwise as seen from the open side.
        normal: (triangles, 3) unit vectors to the open side.
        vertex: (triangles, 3) number of each corner.
        opposite: (triangles, 3) vertex of the neighbour over the edge from each corner to the next; -1: none.
        neighbour: (triangles, 3) number of that neighbour; -1: none.
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
    place: FloatArray
    fan_start: IntArray
    fan: IntArray
    cell: IntArray
    origin: tuple[float, float]
    size: float
    cells: tuple[int, int]
    start: IntArray
    item: IntArray


class Touch(NamedTuple):
    """A place where a wheel touches a mesh, world axes, in the order of a contact of the step service.

    Attributes:
        wheel: its number.
        point: its deepest point [m].
        normal: unit vector from the ground to the wheel.
        penetration: depth of the point under the surface, along the normal [m]; below 0: it does not touch yet.
    """

    wheel: int
    point: Direction
    normal: Direction
    penetration: float


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
        >>> touches(floor, [(0.5, 0.3, 0.09)], [(0.0, 1.0, 0.0)], [0.1])[0].normal
        (0.0, 0.0, 1.0)
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
    return TriangleMesh(
        corner, area / size[:, np.newaxis], vertex, opposite, neighbour, place,
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
                    "two triangles at an edge, which face one way"
                )
            owner[edge] = number, k
    opposite, neighbour = np.full(vertex.shape, -1, np.int64), np.full(vertex.shape, -1, np.int64)
    for (a, b), (number, k) in owner.items():
        if (b, a) in owner:
            other, its = owner[b, a]
            opposite[number, k], neighbour[number, k] = vertex[other, (its + 2) % _CORNERS], other
    return opposite, neighbour


def _filled(low: IntArray, high: IntArray, count: IntArray) -> tuple[IntArray, IntArray]:
    """Triangles by cell: where each cell begins, and the triangles."""
    cells: list[list[int]] = [[] for _ in range(int(count.prod()))]
    for number, ((x0, y0), (x1, y1)) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        for x in range(x0, x1 + 1):
            for y in range(y0, y1 + 1):
                cells[x * int(count[1]) + y].append(number)
    return np.cumsum([0, *map(len, cells)]), np.array([one for cell in cells for one in cell], dtype=np.int64)


def touches(
    mesh: TriangleMesh,
    centre: npt.ArrayLike,
    axle: npt.ArrayLike,
    radius: Sequence[float],
    reach: float = 0.0,
) -> list[Touch]:
    """Where wheels touch a mesh, or are nearer to it than `reach`.

    Args:
        mesh: the ground.
        centre: (wheels, 3) [m], world.
        axle: (wheels, 3) unit vectors, world.
        radius: of each wheel [m].
        reach: [m].

    Returns:
        At most `MOST_CONTACTS` of each wheel, the deepest.

    Raises:
        ValueError: reach is below 0, or not one axle and radius for each centre.
    """
    refuse("wheels on a mesh", [problem("reach", reach, _REACH)])
    found, result = np.empty((MOST_CONTACTS, COLUMNS)), []
    for wheel, (at, along, its) in enumerate(
        zip(np.asarray(centre, np.float64).tolist(), np.asarray(axle, np.float64).tolist(), radius, strict=True)
    ):
        for row in found[: touched_mesh(mesh, tuple(at), tuple(along), float(its), float(reach), found)].tolist():
            (*normal,), (*point,) = row[NORMAL:POINT], row[POINT:DEPTH]
            result.append(Touch(wheel, tuple(point), tuple(normal), row[DEPTH]))
    return result


@kernel
def touched_mesh(
    mesh: TriangleMesh, centre: Direction, axle: Direction, radius: float, reach: float, found: FloatArray
) -> int:
    """The same for one wheel: fills found (MOST_CONTACTS, COLUMNS), and gives back how many there are."""
    kept, most = 0, radius + reach
    low_x, high_x = _cells(centre[0], most, mesh.origin[0], mesh.size, mesh.cells[0])
    low_y, high_y = _cells(centre[1], most, mesh.origin[1], mesh.size, mesh.cells[1])
    for x in range(low_x, high_x + 1):
        for y in range(low_y, high_y + 1):
            at = x * mesh.cells[1] + y
            for k in range(mesh.start[at], mesh.start[at + 1]):
                triangle = mesh.item[k]
                # a triangle in several of these cells is tested in the first
                if max(mesh.cell[triangle, 0], low_x) == x and max(mesh.cell[triangle, 1], low_y) == y:
                    distance, normal = _from_triangle(mesh, triangle, centre, most)
                    if distance < most:
                        kept = _keep(found, kept, centre, axle, radius, reach, distance, normal)
    return kept


@kernel
def _cells(middle: float, most: float, origin: float, size: float, count: int) -> tuple[int, int]:
    """First and last cell that a wheel may cover; none where the last is below the first."""
    low, high = (middle - most - origin) / size, (middle + most - origin) / size
    if high < 0.0 or low >= count:
        return 0, -1
    return int(max(low, 0.0)), int(min(high, count - 1.0))


@kernel
def _minus(a: FloatArray, b: FloatArray) -> Direction:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def _from(centre: Direction, place: FloatArray) -> Direction:
    return centre[0] - place[0], centre[1] - place[1], centre[2] - place[2]


@kernel
def _from_triangle(mesh: TriangleMesh, triangle: int, centre: Direction, most: float) -> tuple[float, Direction]:
    """Distance [m] and direction from a triangle's nearest place to a centre; infinity where another is nearer.

    A centre behind the triangle's plane is on the other side of what stands there.
    """
    corner, number = mesh.corner[triangle], mesh.normal[triangle]
    normal = (number[0], number[1], number[2])
    over = dot(normal, _from(centre, corner[0]))
    if not 0.0 < over < most:
        return math.inf, normal
    above = True
    for k in range(_CORNERS):
        edge = _minus(corner[(k + 1) % _CORNERS], corner[k])
        if dot(cross(edge, _from(centre, corner[k])), normal) < 0.0:
            above = False
            along = dot(edge, _from(centre, corner[k]))
            if 0.0 < along < dot(edge, edge):
                return _from_edge(mesh, triangle, k, along / dot(edge, edge), centre)
    if above:
        return over, normal
    # beyond the ends of the edges that it is outside of: a corner, the nearest
    nearest, least = 0, math.inf
    for k in range(_CORNERS):
        away = _from(centre, corner[k])
        if dot(away, away) < least:
            nearest, least = k, dot(away, away)
    return _from_corner(mesh, triangle, nearest, centre)


@kernel
def _from_edge(mesh: TriangleMesh, triangle: int, k: int, share: float, centre: Direction) -> tuple[float, Direction]:
    """The same of an edge, whose triangles both slope away from the centre; it counts for one of them."""
    corner = mesh.corner[triangle]
    edge, away = _minus(corner[(k + 1) % _CORNERS], corner[k]), _from(centre, corner[k])
    away = (away[0] - share * edge[0], away[1] - share * edge[1], away[2] - share * edge[2])
    other = mesh.opposite[triangle, k]
    if other >= 0:
        # from the place on the edge to the neighbour's third corner; along the edge `away` has no part
        if _leads_to(away, _minus(mesh.place[other], corner[k])):
            return math.inf, away
        its = mesh.neighbour[triangle, k]
        facing = mesh.normal[its, 0] * away[0] + mesh.normal[its, 1] * away[1] + mesh.normal[its, 2] * away[2]
        if its < triangle and facing > 0.0:  # the other one counts it
            return math.inf, away
    return _unit(away)


@kernel
def _from_corner(mesh: TriangleMesh, triangle: int, k: int, centre: Direction) -> tuple[float, Direction]:
    """The same of a corner, from which all edges lead away from the centre."""
    vertex = mesh.vertex[triangle, k]
    away = _from(centre, mesh.place[vertex])
    for n in range(mesh.fan_start[vertex], mesh.fan_start[vertex + 1]):
        if _leads_to(away, _minus(mesh.place[mesh.fan[n]], mesh.place[vertex])):
            return math.inf, away
    return _unit(away)


@kernel
def _leads_to(away: Direction, along: Direction) -> bool:
    """Whether a way along the surface comes nearer to the centre; at right angles, by rounding, it does not."""
    nearer = dot(away, along)
    return nearer > 0.0 and nearer * nearer > _LEVEL * dot(away, away) * dot(along, along)


@kernel
def _unit(away: Direction) -> tuple[float, Direction]:
    distance = math.sqrt(dot(away, away))
    if distance == 0.0:
        return math.inf, away
    return distance, (away[0] / distance, away[1] / distance, away[2] / distance)


@kernel
def _keep(
    found: FloatArray,
    kept: int,
    centre: Direction,
    axle: Direction,
    radius: float,
    reach: float,
    distance: float,
    normal: Direction,
) -> int:
    """Add the contact of a rim with a plane at that distance from its centre, unless it is there already."""
    lean = dot(normal, axle)
    level = math.sqrt(max(1.0 - lean * lean, 1e-18))
    depth = radius * level - distance
    if depth < -reach:
        return kept
    for i in range(kept):
        apart = 0.0
        for k in range(3):
            apart = max(apart, abs(distance * normal[k] - _distance(found[i], centre) * found[i, NORMAL + k]))
        if apart < _SAME_M:
            return kept
    at = kept
    if kept == found.shape[0]:
        at = 0
        for i in range(1, kept):
            if found[i, DEPTH] < found[at, DEPTH]:
                at = i
        if found[at, DEPTH] >= depth:
            return kept
        kept -= 1
    for k in range(3):
        found[at, NORMAL + k] = normal[k]
        found[at, POINT + k] = centre[k] - radius * (normal[k] - lean * axle[k]) / level
    found[at, DEPTH] = depth
    return kept + 1


@kernel
def _distance(row: FloatArray, centre: Direction) -> float:
    """Of a kept contact's plane from the centre: the wheel's point is below it by the depth."""
    away = 0.0
    for k in range(3):
        away += row[NORMAL + k] * (centre[k] - row[POINT + k])
    return away - row[DEPTH]
