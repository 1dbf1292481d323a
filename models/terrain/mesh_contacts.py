"""Where wheels touch a ground of triangles: collision detection for contacts that come from outside.

Acary and others 2013, section 3, test a wheel's centre against each triangle and filter by place first. Here the
mesh's grid is the filter: a wheel is tested against the triangles of the cells that it covers.

A wheel touches a face, an edge or a corner that stands out where its centre is nearest to the mesh in the
neighbourhood: of a flat ground of many triangles one contact, of a step its floor and its edge. Each contact fixes a
plane (models.terrain.given_contacts), and the wheel touches it as a sphere does (models.contact.rim).

In a hollow of triangles there are such places on several of them, though the surface that they stand for is touched
once. Places of one patch of the mesh whose normals are within `_SMOOTH` are therefore one contact: as deep as the
nearest of them, its normal their mean by depth. A place counts less the nearer it is to the fold beyond which another
one is nearer, and not at all where it ends there, so that force and normal do not jump while a wheel rolls. From
`_SMOOTH` to `CORNER` places are ever less one contact; beyond, as in a corner, each presses alone. Against a smooth
surface of radius R through the corners of triangles with sides of w, the depth is off by at most w^2/(8 R) along a
cylinder and w^2/(6 R) in a bowl, and the normal by w/R. In a hollow whose R is less than the wheel's radius and 6 w,
places are too far apart for one contact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray, kernel
from models.rover.points import Direction, cross, dot
from models.terrain.mesh import CORNER, CORNERS, TriangleMesh
from models.terrain.profile import row_for

# Columns of a contact: normal (3), distance of the wheel's centre from the surface along it [m], and which part of the
# ground's force it has. Of the places that become contacts: their patch, their weight, and the contact of each.
DISTANCE, SHARE, PATCH, _WEIGHT, _MADE = 3, 4, 5, 6, 7
COLUMNS = 12
MOST_CONTACTS = 4  # of one wheel
MOST_PLACES = 16  # of one wheel, before they are one contact
_SMOOTH = math.radians(10.0)
_SAME_ANGLE, _OTHER = math.cos(_SMOOTH), math.cos(CORNER)
_LEAST_WEIGHT = 1e-12
_WIDER = 1.0 + math.tan(0.5 * CORNER)  # of a wheel's surroundings, those where folds count
_SAME_M = 1e-9  # contacts so near to each other are one: a wheel over the common edge of two triangles
_LEVEL = 1e-24  # square of the sine below which two directions are at right angles
_REACH = Range(0.0, math.inf, "m")


class _MeshTouch(NamedTuple):
    """A place where a wheel touches a mesh, world axes, in the order of a contact of the step service.

    Attributes:
        wheel: its number.
        point: its deepest point [m].
        normal: unit vector from the ground to the wheel.
        penetration: depth of the point under the surface, along the normal [m]; below 0: it does not touch yet. Of a
            contact that has a part of the force only, that part of the depth.
    """

    wheel: int
    point: Direction
    normal: Direction
    penetration: float


def touches(mesh: TriangleMesh, centre: npt.ArrayLike, radius: Sequence[float], reach: float = 0.0) -> list[_MeshTouch]:
    """Where wheels touch a mesh, or are nearer to it than `reach`: as spheres do, whatever their lean.

    Args:
        mesh: the ground.
        centre: (wheels, 3) [m], world.
        radius: of each wheel [m].
        reach: [m].

    Returns:
        At most `MOST_CONTACTS` of each wheel, the deepest.

    Raises:
        ValueError: reach is below 0, or not one radius for each centre.
    """
    refuse("wheels on a mesh", [problem("reach", reach, _REACH)])
    found, result = np.empty((MOST_PLACES, COLUMNS)), []
    for wheel, (at, its) in enumerate(zip(np.asarray(centre, np.float64).tolist(), map(float, radius), strict=True)):
        for nx, ny, nz, distance, share in found[: touched_mesh(mesh, tuple(at), its + reach, found), :PATCH].tolist():
            point = at[0] - its * nx, at[1] - its * ny, at[2] - its * nz
            result.append(_MeshTouch(wheel, point, (nx, ny, nz), min(its - distance, share * (its - distance))))
    return result


@kernel
def touched_mesh(mesh: TriangleMesh, centre: Direction, most: float, found: FloatArray) -> int:
    """The contacts with a mesh that are less than `most` [m] from a wheel's centre, at most `MOST_CONTACTS`.

    Fills the first rows of found (MOST_PLACES, COLUMNS), and gives back how many there are.
    """
    kept = 0
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
                        kept = _keep(found, kept, distance, normal, 1.0, mesh.patch[triangle])
    if kept > 1:
        _weigh(mesh, centre, most, found, kept)
        kept = _as_contacts(found, kept, most)
    return kept


@kernel
def _weigh(mesh: TriangleMesh, centre: Direction, most: float, found: FloatArray, kept: int) -> None:
    """Weigh the places: 0 on a fold, 1 from where the other side of the fold is as near."""
    for i in range(kept):
        found[i, _WEIGHT] = 1.0
    low_x, high_x = _cells(centre[0], most * _WIDER, mesh.origin[0], mesh.size, mesh.cells[0])
    low_y, high_y = _cells(centre[1], most * _WIDER, mesh.origin[1], mesh.size, mesh.cells[1])
    for x in range(low_x, high_x + 1):
        for y in range(low_y, high_y + 1):
            at = x * mesh.cells[1] + y
            for item in range(mesh.start[at], mesh.start[at + 1]):
                triangle = mesh.item[item]
                for k in range(CORNERS):
                    if mesh.fold[triangle, k] > 0.0 and triangle < mesh.neighbour[triangle, k]:
                        for i in range(kept):
                            _weigh_by_fold(mesh, triangle, k, centre, found[i])


@kernel
def _weigh_by_fold(mesh: TriangleMesh, triangle: int, k: int, centre: Direction, row: FloatArray) -> None:
    corner, distance = mesh.corner[triangle], row[DISTANCE]
    edge, away = _minus(corner[(k + 1) % CORNERS], corner[k]), _from(centre, corner[k])
    away = (away[0] - distance * row[0], away[1] - distance * row[1], away[2] - distance * row[2])
    share = min(max(dot(edge, away) / dot(edge, edge), 0.0), 1.0)
    away = (away[0] - share * edge[0], away[1] - share * edge[1], away[2] - share * edge[2])
    weight = math.sqrt(dot(away, away)) / (distance * mesh.fold[triangle, k])
    row[_WEIGHT] = min(row[_WEIGHT], max(weight, _LEAST_WEIGHT))


@kernel
def _as_contacts(found: FloatArray, places: int, most: float) -> int:
    """Make contacts of places, in the same table."""
    for i in range(places):
        found[i, _WEIGHT] *= most - found[i, DISTANCE]  # what only begins to touch counts for nothing yet
    for i in range(places):
        total, nearest, x, y, z = 0.0, found[i, DISTANCE], 0.0, 0.0, 0.0
        for j in range(places):
            cosine = found[i, 0] * found[j, 0] + found[i, 1] * found[j, 1] + found[i, 2] * found[j, 2]
            one = min(max((cosine - _OTHER) / (_SAME_ANGLE - _OTHER), 0.0), 1.0)
            if found[i, PATCH] != found[j, PATCH]:
                one = 0.0
            weight = one * found[j, _WEIGHT]
            total, x, y, z = (
                total + weight,
                x + weight * found[j, 0],
                y + weight * found[j, 1],
                z + weight * found[j, 2],
            )
            nearest = min(nearest, found[i, DISTANCE] + one * (found[j, DISTANCE] - found[i, DISTANCE]))
        _, (x, y, z) = _unit((x, y, z))
        made = found[i, _MADE:]
        made[0], made[1], made[2], made[DISTANCE], made[SHARE] = x, y, z, nearest, found[i, _WEIGHT] / total
    kept, table = 0, found[:MOST_CONTACTS]
    for i in range(places):
        made = found[i, _MADE:]
        kept = _keep(table, kept, made[DISTANCE], (made[0], made[1], made[2]), made[SHARE], found[i, PATCH])
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
    for k in range(CORNERS):
        edge = _minus(corner[(k + 1) % CORNERS], corner[k])
        if dot(cross(edge, _from(centre, corner[k])), normal) < 0.0:
            above = False
            along = dot(edge, _from(centre, corner[k]))
            if 0.0 < along < dot(edge, edge):
                return _from_edge(mesh, triangle, k, along / dot(edge, edge), centre)
    if above:
        return over, normal
    # beyond the ends of the edges that it is outside of: a corner, the nearest
    nearest, least = 0, math.inf
    for k in range(CORNERS):
        away = _from(centre, corner[k])
        if dot(away, away) < least:
            nearest, least = k, dot(away, away)
    return _from_corner(mesh, triangle, nearest, centre)


@kernel
def _from_edge(mesh: TriangleMesh, triangle: int, k: int, share: float, centre: Direction) -> tuple[float, Direction]:
    """The same of an edge, whose triangles both slope away from the centre; it counts for one of them."""
    corner = mesh.corner[triangle]
    edge, away = _minus(corner[(k + 1) % CORNERS], corner[k]), _from(centre, corner[k])
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
    """Whether a path along the surface comes nearer to the centre; at right angles, by rounding, it does not."""
    nearer = dot(away, along)
    return nearer > 0.0 and nearer * nearer > _LEVEL * dot(away, away) * dot(along, along)


@kernel
def _unit(away: Direction) -> tuple[float, Direction]:
    distance = math.sqrt(dot(away, away))
    if distance == 0.0:
        return math.inf, away
    return distance, (away[0] / distance, away[1] / distance, away[2] / distance)


@kernel
def _keep(found: FloatArray, kept: int, distance: float, normal: Direction, share: float, patch: float) -> int:
    """Add a place, unless it is there already, in the stead of the farthest where there are too many."""
    for i in range(kept):
        apart = 0.0
        for k in range(3):
            apart = max(apart, abs(distance * normal[k] - found[i, DISTANCE] * found[i, k]))
        if apart < _SAME_M:
            found[i, SHARE] = min(found[i, SHARE] + share, 1.0)
            return kept
    at = row_for(found, kept, DISTANCE, distance)
    if at >= 0:
        found[at, 0], found[at, 1], found[at, 2], found[at, DISTANCE] = normal[0], normal[1], normal[2], distance
        found[at, SHARE], found[at, PATCH] = share, patch
    return min(kept + 1, found.shape[0])
