"""A PLY file: the places of its vertices, and of a mesh its faces.

Source: G. Turk, The PLY Polygon File Format, 1994.
"""

from __future__ import annotations

import io
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hil.config.scan.triangles import Scanned, fan

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
_CORNERS = ("vertex_indices", "vertex_index")
_MOST_HEADER = 65_536


class _Element(NamedTuple):
    """Rows of one kind: how many, and of each column name and type; with a list also the type of its length."""

    name: str
    rows: int
    columns: list[tuple[str, str, str]]


def ply_shape(content: bytes, bounded: Callable[[int], None]) -> Scanned:
    """Points of the content of a file, and the triangles of its faces.

    Args:
        content: of the file.
        bounded: refuses a number of points that is too large.

    Raises:
        ValueError: it is no such file, has no points with x, y and z, or is cut off.
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
        elif one.name == "face" and any(name in _CORNERS for name, _, _ in one.columns):
            triangles, begin = _faces(one, content, begin, order, lines)
        elif order:
            _, begin = _rows(one, content, begin, order, 0)
        elif one.rows and next(islice(lines, one.rows - 1, None), None) is None:
            raise _cut_off(one, content)
    return Scanned(places, triangles)


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
    which = next(k for k, (name, _, _) in enumerate(element.columns) if name in _CORNERS)
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
    wanted = which if element.columns[which][0] in _CORNERS else None
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
