"""Surfaces of triangles from OBJ, STL and PLY files, and their heights where they are highest.

Sources: Wavefront, Object Files (.obj), version 3.0; 3D Systems, StereoLithography Interface Specification, 1989;
G. Turk, The PLY Polygon File Format, 1994.
"""

from __future__ import annotations

import io
import re
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
_STL_HEAD, _CORNERS, _AT_ONCE, _BORDER = 84, 3, 200_000, 1e-9
_FACET = np.dtype([("normal", "<f4", 3), ("corner", "<f4", (_CORNERS, 3)), ("attribute", "<u2")])


class ScanGeometry(NamedTuple):
    """What a file holds: points (points, 3), and triangles (triangles, 3) of their numbers; None: points alone."""

    points: Points
    triangles: Numbers | None = None


def obj_shape(content: bytes, bounded: Callable[[int], None]) -> ScanGeometry:
    """Points and faces of a Wavefront OBJ file.

    Raises ValueError: a line is not of that format, or it has no points.
    """
    bounded(content.count(b"\nv "))
    # a line goes on after a backslash; numbers after a slash are of normals and textures
    return _of_lines(re.sub(rb"\\\r?\n|/\S*", b" ", content), "a line with a point: v, x, y and z")


def stl_shape(content: bytes, bounded: Callable[[int], None]) -> ScanGeometry:
    """Facets of an STL file, binary or text; arguments as of `obj_shape`.

    Raises ValueError: it is cut off, or no such file.
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
    return ScanGeometry(points, np.arange(len(points)).reshape(-1, _CORNERS))


def _of_lines(content: bytes, needed: str) -> ScanGeometry:
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
    return ScanGeometry(np.array(places).reshape(-1, 3), triangles)


def fan(face: Sequence[int]) -> list[int]:
    """Triangles of a face of three corners or more, one after the other."""
    if len(face) == _CORNERS:
        return list(face)
    return [corner for pair in pairwise(face[1:]) for corner in (face[0], *pair)]


def usable(found: ScanGeometry) -> ScanGeometry:
    """The finite points; or a surface without triangles that have others, and with the points of its triangles alone.

    Where most points are of no triangle the file is a cloud with a few faces.

    Raises ValueError: a triangle of points that there are not.
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
            return ScanGeometry(points[used], (used.cumsum() - 1)[triangles])
    return ScanGeometry(points[finite])


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


_TYPES = {
    **{
        "char": "i1",
        "uchar": "u1",
        "short": "i2",
        "ushort": "u2",
        "int": "i4",
        "uint": "u4",
        "float": "f4",
        "double": "f8",
    },
    **{"int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4"},
    **{"float32": "f4", "float64": "f8"},
}
_ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
_CORNERS_PLY = ("vertex_indices", "vertex_index")
_MOST_HEADER = 65_536


class _Element(NamedTuple):
    """Rows of one kind: how many, and of each column name and type; with a list also the type of its length."""

    name: str
    rows: int
    columns: list[tuple[str, str, str]]


def ply_shape(content: bytes, bounded: Callable[[int], None]) -> ScanGeometry:
    """Points of the content of a file, and the triangles of its faces.

    Raises ValueError: it is no such file, has no points with x, y and z, or is cut off.
    """
    order, elements, begin = _header(content)
    points = next((one for one in elements if one.name == "vertex"), None)
    if points is None or not {"x", "y", "z"} <= {name for name, _, _ in points.columns}:
        raise ValueError("a header without points that have x, y and z; the element vertex with these properties")
    bounded(points.rows)
    names = [name for name, _, _ in points.columns]
    if any(length for _, _, length in points.columns) or len(set(names)) < len(names):
        raise ValueError("points with lists, or with two properties of one name; a number for each property")
    lines = iter(()) if order else (line for line in io.BytesIO(content[begin:]) if line.strip())
    places, triangles = np.empty((0, 3)), None
    for one in elements:
        if one is points:
            places, begin = _points(one, content, begin, order, lines)
        elif one.name == "face" and any(name in _CORNERS_PLY for name, _, _ in one.columns):
            triangles, begin = _faces(one, content, begin, order, lines)
        elif order:
            _, begin = _rows(one, content, begin, order, 0)
        elif one.rows and next(islice(lines, one.rows - 1, None), None) is None:
            raise _cut_off(one, content)
    return ScanGeometry(places, triangles)


def _header(content: bytes) -> tuple[str, list[_Element], int]:
    """Order of the bytes, empty for text; the elements; and where their rows begin."""
    order, elements = None, list[_Element]()
    begin = 0
    for line in io.BytesIO(content[:_MOST_HEADER]):
        begin += len(line)
        words = line.decode("ascii", errors="replace").split()
        match words:
            case ["end_header"] if order is not None:
                return order, elements, begin
            case ["format", name, "1.0"] if name in _ORDERS:
                order = _ORDERS[name]
            case ["element", name, count] if count.isascii() and count.isdecimal() and len(count) < 19:
                elements.append(_Element(name, int(count), []))
            case ["property", "list", length, kind, name] if elements and {length, kind} <= _TYPES.keys():
                elements[-1].columns.append((name.lower(), _TYPES[kind], _TYPES[length]))
            case ["property", kind, name] if elements and kind in _TYPES:
                elements[-1].columns.append((name.lower(), _TYPES[kind], ""))
            case ["ply"] | ["comment" | "obj_info", *_] | []:
                pass
            case _:
                raise ValueError(f"the line {' '.join(words)[:60]!r} in its header; one of PLY 1.0")
    raise ValueError("a header without an end or a format; format, elements, properties and end_header")


def _cut_off(element: _Element, content: bytes) -> ValueError:
    found = f"a header with {element.rows} rows of {element.name}, in a file of {len(content)} bytes"
    return ValueError(f"{found}; a file that is not cut off")


def _points(
    element: _Element, content: bytes, begin: int, order: str, lines: Iterator[bytes]
) -> tuple[npt.NDArray[np.float64], int]:
    """Places of the points, and where their rows end."""
    names = [name for name, _, _ in element.columns]
    if not order:
        return _text(lines, len(content), element.rows, [names.index(axis) for axis in "xyz"]), begin
    dtype = np.dtype([(name, order + kind) for name, kind, _ in element.columns])
    if begin + element.rows * dtype.itemsize > len(content):
        raise _cut_off(element, content)
    table = np.frombuffer(content, dtype, element.rows, begin)
    return np.column_stack([table[axis].astype(np.float64) for axis in "xyz"]), begin + table.nbytes


def _text(lines: Iterator[bytes], size: int, count: int, columns: list[int]) -> npt.NDArray[np.float64]:
    found = 0
    points = np.full((count if size >= count else 0, 3), np.nan)
    while found < len(points) and (part := list(islice(lines, min(100_000, count - found)))):
        points[found : found + len(part)] = np.loadtxt(part, usecols=columns, comments=None, ndmin=2)
        found += len(part)
    if found < count:
        raise ValueError(f"{found} points, though its header says {count}; a file that is not cut off")
    return points


def _faces(
    element: _Element, content: bytes, begin: int, order: str, lines: Iterator[bytes]
) -> tuple[npt.NDArray[np.int64], int]:
    """Triangles of the faces, and where their rows end."""
    which = next(k for k, (name, _, _) in enumerate(element.columns) if name in _CORNERS_PLY)
    corners: Iterable[int]
    if order:
        corners, begin = _rows(element, content, begin, order, which)
    else:
        rows = list(islice(lines, element.rows))
        if len(rows) < element.rows:
            raise _cut_off(element, content)
        corners = chain.from_iterable(fan(_list_in(row.split(), element, which)) for row in rows)
    return np.fromiter(corners, np.int64).reshape(-1, 3), begin


def _list_in(words: list[bytes], element: _Element, which: int) -> list[int]:
    """Numbers of a list in a row of text."""
    at = 0
    for _, _, length in element.columns[:which]:
        at += 1 + (int(words[at]) if length else 0)
    return [int(word) for word in words[at + 1 : at + 1 + int(words[at])]]


def _rows(
    element: _Element, content: bytes, begin: int, order: str, which: int
) -> tuple[array[int] | npt.NDArray[np.int64], int]:
    """Triangles of the lists in one column, and where the rows of an element end, which may hold lists."""
    corners = array("q")
    columns = [
        (np.dtype(order + kind), np.dtype(order + length) if length else None) for _, kind, length in element.columns
    ]
    if all(length is None for _, length in columns):
        return corners, begin + element.rows * sum(kind.itemsize for kind, _ in columns)
    wanted = which if element.columns[which][0] in _CORNERS_PLY else None
    if wanted is not None and (alike := _alike(columns, element.rows, content, begin, wanted)) is not None:
        return alike
    for _ in range(element.rows):
        for column, (kind, length) in enumerate(columns):
            number = 1
            if length is not None:
                number, begin = _number(length, content, begin), begin + length.itemsize
            if not 0 <= begin + number * kind.itemsize <= len(content) or number < 0:
                raise _cut_off(element, content)
            if column == wanted:
                corners.extend(fan(struct.unpack_from(f"{order}{number}{kind.char}", content, begin)))
            begin += number * kind.itemsize
    return corners, begin


def _number(length: np.dtype[Any], content: bytes, begin: int) -> int:
    """The length of a list; -1 beyond the end of the file."""
    whole = begin + length.itemsize <= len(content)
    return int(np.frombuffer(content, length, 1, begin)[0]) if whole else -1


def _alike(
    columns: list[tuple[np.dtype[Any], np.dtype[Any] | None]], rows: int, content: bytes, begin: int, wanted: int
) -> tuple[npt.NDArray[np.int64], int] | None:
    """The same of faces that all have as many corners and no other list; None: they do not. Faces are many."""
    length = columns[wanted][1]
    if length is None or any(other is not None for k, (_, other) in enumerate(columns) if k != wanted):
        return None
    ahead = sum(kind.itemsize for kind, _ in columns[:wanted])
    number = _number(length, content, begin + ahead)
    size = sum(kind.itemsize for kind, _ in columns) + length.itemsize + (number - 1) * columns[wanted][0].itemsize
    if number < 0 or begin + rows * size > len(content):
        return None
    row = np.dtype(
        {
            "names": ["number", "corners"],
            "formats": [length, (columns[wanted][0], (number,))],
            "offsets": [ahead, ahead + length.itemsize],
            "itemsize": size,
        }
    )
    table = np.frombuffer(content, row, rows, begin)
    if not (table["number"] == number).all():
        return None
    return table["corners"][:, fan(range(number))].astype(np.int64).ravel(), begin + rows * size
