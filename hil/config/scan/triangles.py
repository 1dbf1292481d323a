"""Surfaces of triangles: from OBJ and STL files, and their heights where they are highest.

Sources: Wavefront, Object Files (.obj), version 3.0; 3D Systems, StereoLithography Interface Specification, 1989.
"""

from __future__ import annotations

import io
import re
from array import array
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
_STL_HEAD, _CORNERS, _AT_ONCE, _BORDER = 84, 3, 200_000, 1e-9
_FACET = np.dtype([("normal", "<f4", 3), ("corner", "<f4", (_CORNERS, 3)), ("attribute", "<u2")])


class Scanned(NamedTuple):
    """What a file holds: points (points, 3), and triangles (triangles, 3) of their numbers; None: points alone."""

    points: Points
    triangles: Numbers | None = None


def obj_shape(content: bytes, bounded: Callable[[int], None]) -> Scanned:
    """Points and faces of a Wavefront OBJ file.

    Args:
        content: of the file.
        bounded: refuses a number of points that is too large.

    Raises:
        ValueError: a line is not of that format, or it has no points.
    """
    bounded(content.count(b"\nv "))
    # a line goes on after a backslash; numbers after a slash are of normals and textures
    return _of_lines(re.sub(rb"\\\r?\n|/\S*", b" ", content), "a line with a point: v, x, y and z")


def stl_shape(content: bytes, bounded: Callable[[int], None]) -> Scanned:
    """Facets of an STL file, binary or text; arguments as of `obj_shape`.

    Raises:
        ValueError: it is cut off, or no such file.
    """
    count = int.from_bytes(content[_STL_HEAD - 4 : _STL_HEAD], "little")
    size = _STL_HEAD + count * _FACET.itemsize
    if size != len(content) and content[:1000].lstrip()[:5].lower() == b"solid":
        bounded(content.count(b"vertex"))
        points = _of_lines(content.lower(), "facets of three lines, vertex, x, y and z").points
        if b"endsolid" not in content[-1000:].lower() or len(points) % _CORNERS:
            raise ValueError(f"{len(points)} corners and no end of the solid; a file that is not cut off")
    elif size > len(content) or not count:
        raise ValueError(f"a header with {count} facets, in a file of {len(content)} bytes; an STL file, not cut off")
    else:
        bounded(_CORNERS * count)
        points = np.frombuffer(content, _FACET, count, _STL_HEAD)["corner"].reshape(-1, 3).astype(np.float64)
    return Scanned(points, np.arange(len(points)).reshape(-1, _CORNERS))


def _of_lines(content: bytes, needed: str) -> Scanned:
    places, corners = array("d"), array("q")
    for number, line in enumerate(io.BytesIO(content), 1):
        words = line.split()
        kind = words[0] if words else b""
        try:
            if kind in (b"v", b"vertex"):
                x, y, z = words[1:4]
                places.extend((float(x), float(y), float(z)))
            elif kind == b"f":
                # numbers count from 1, or back from the newest point
                newest = len(places) // 3
                corners.extend(fan([at - 1 if at > 0 else newest + at for at in map(int, words[1:])]))
        except ValueError:
            raise ValueError(f"{line[:60]!r} in line {number}; numbers") from None
    if not places:
        raise ValueError(f"no point in it; {needed}")
    triangles = np.array(corners).reshape(-1, _CORNERS) if corners else None
    return Scanned(np.array(places).reshape(-1, 3), triangles)


def fan(face: Sequence[int]) -> list[int]:
    """Triangles of a face of three corners or more, one after the other."""
    if len(face) == _CORNERS:
        return list(face)
    return [corner for pair in pairwise(face[1:]) for corner in (face[0], *pair)]


def usable(found: Scanned) -> Scanned:
    """The finite points; or a surface without triangles that have others, and with the points of its triangles alone.

    Where most points are of no triangle the file is a cloud with a few faces beside.

    Raises:
        ValueError: a triangle of points that there are not.
    """
    points, triangles = found
    finite = np.logical_and.reduce(np.isfinite(points), axis=1)
    if triangles is not None:
        if triangles.size and not 0 <= triangles.min() <= triangles.max() < len(points):
            wrong = f"faces with points {triangles.min()} to {triangles.max()}, counted from 0, of {len(points)}"
            raise ValueError(f"{wrong}; only points that there are")
        triangles = triangles[finite[triangles].all(axis=1)]
        used = np.zeros(len(points), np.bool_)
        used[triangles] = True
        if 2 * np.count_nonzero(used) >= len(points):
            return Scanned(points[used], (used.cumsum() - 1)[triangles])
    return Scanned(points[finite])


def top_of(points: Points, triangles: Numbers, pitch: float) -> Points:
    """The highest points of a surface above a grid: (points, 3), those of the grid that any triangle is at.

    Args:
        points: of its corners; the third coordinate points up.
        triangles: of their numbers.
        pitch: distance of the grid's points; it holds the origin.
    """
    first = np.ceil(points[:, :2].min(axis=0) / pitch - _BORDER).astype(np.int64)
    count = np.floor(points[:, :2].max(axis=0) / pitch + _BORDER).astype(np.int64) - first + 1
    top = np.full(count.prod(), -np.inf)
    for part in np.array_split(triangles, len(triangles) // _AT_ONCE + 1):
        corner = points[part]
        low = np.ceil(corner[:, :, :2].min(axis=1) / pitch - _BORDER).astype(np.int64) - first
        high = np.floor(corner[:, :, :2].max(axis=1) / pitch + _BORDER).astype(np.int64) - first
        size = (high - low + 1).clip(0)
        pairs = size.prod(axis=1)
        kept = np.flatnonzero(pairs)
        for group in np.split(kept, np.flatnonzero(np.diff(pairs[kept].cumsum() // _AT_ONCE)) + 1):
            _raise(top, corner[group], low[group], size[group], pitch, first, int(count[1]))
    found = np.flatnonzero(np.isfinite(top))
    at = np.column_stack(np.divmod(found, count[1])) + first
    return np.column_stack([at * pitch, top[found]])


def _raise(top: Points, corner: Points, low: Numbers, size: Numbers, pitch: float, first: Numbers, rows: int) -> None:
    """Raise the heights over a grid to those of some triangles; each is tested at the points in the box around it."""
    pairs = size.prod(axis=1)
    which = np.repeat(np.arange(len(pairs)), pairs)
    within = np.arange(len(which)) - np.repeat(pairs.cumsum() - pairs, pairs)
    i, j = low[which, 0] + within // size[which, 1], low[which, 1] + within % size[which, 1]
    one, two = corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]
    across = one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]
    upright = across == 0.0
    across[upright] = np.nan  # seen from above such a triangle is a line
    x = (i + first[0]) * pitch - corner[which, 0, 0]
    y = (j + first[1]) * pitch - corner[which, 0, 1]
    u = (x * two[which, 1] - y * two[which, 0]) / across[which]
    v = (y * one[which, 0] - x * one[which, 1]) / across[which]
    inside = (u >= -_BORDER) & (v >= -_BORDER) & (u + v <= 1.0 + _BORDER)
    height = corner[which, 0, 2] + u * one[which, 2] + v * two[which, 2]
    np.maximum.at(top, (i * rows + j)[inside], height[inside])
