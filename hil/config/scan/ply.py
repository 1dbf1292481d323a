"""Points of a PLY file: the places of its vertices, from a cloud or a mesh.

Source: G. Turk, The PLY Polygon File Format, 1994.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

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
_MOST_HEADER = 65_536


class _Element(NamedTuple):
    """Rows of one kind: how many, and of each column name and type; with a list also the type of its length."""

    name: str
    rows: int
    columns: list[tuple[str, str, str]]


def ply_points(content: bytes, bounded: Callable[[int], None]) -> npt.NDArray[np.float64]:
    """Points (points, 3) of the content of a file.

    Args:
        content: of the file.
        bounded: refuses a number of points that is too large.

    Raises:
        ValueError: it is no such file, has no points with x, y and z, or is cut off.
    """
    order, elements, begin = _header(content)
    at = next((at for at, one in enumerate(elements) if one.name == "vertex"), None)
    if at is None or not {"x", "y", "z"} <= {name for name, _, _ in elements[at].columns}:
        raise ValueError("a header without points that have x, y and z; the element vertex with these properties")
    before, points = elements[:at], elements[at]
    bounded(points.rows)
    names = [name for name, _, _ in points.columns]
    if any(length for _, _, length in points.columns) or len(set(names)) < len(names):
        raise ValueError("points with lists, or with two properties of one name; a number for each property")
    if not order:
        return _text(
            content[begin:], sum(one.rows for one in before), points.rows, [names.index(axis) for axis in "xyz"]
        )
    for one in before:
        begin = _end_of(one, content, begin, order)
    dtype = np.dtype([(name, order + kind) for name, kind, _ in points.columns])
    if begin + points.rows * dtype.itemsize > len(content):
        raise ValueError(
            f"a header with {points.rows} points, in a file of {len(content)} bytes; a file that is not cut off"
        )
    table = np.frombuffer(content, dtype, points.rows, begin)
    return np.column_stack([table[axis].astype(np.float64) for axis in "xyz"])


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


def _text(rows: bytes, skipped: int, count: int, columns: list[int]) -> npt.NDArray[np.float64]:
    lines = islice((line for line in io.BytesIO(rows) if line.strip()), skipped, skipped + count)
    first = next(lines, None)
    found = 0
    points = np.full((count if len(rows) >= count else 0, 3), np.nan)
    while first is not None and found < len(points):
        part = [first, *islice(lines, 99_999)]
        points[found : found + len(part)] = np.loadtxt(part, usecols=columns, comments=None, ndmin=2)
        found, first = found + len(part), next(lines, None)
    if found < count:
        raise ValueError(f"{found} points, though its header says {count}; a file that is not cut off")
    return points


def _end_of(element: _Element, content: bytes, begin: int, order: str) -> int:
    """Where the rows of an element end, which may hold lists."""
    sizes = [(int(kind[1:]), int(length[1:]) if length else 0) for _, kind, length in element.columns]
    if not any(length for _, length in sizes):
        return begin + element.rows * sum(size for size, _ in sizes)
    bytes_in: Literal["little", "big"] = "little" if order == "<" else "big"
    for _ in range(element.rows):
        for size, length in sizes:
            number = int.from_bytes(content[begin : begin + length], bytes_in) if length else 1
            begin += length + number * size
        if begin > len(content):
            raise ValueError(f"a header with {element.rows} of {element.name}; a file that is not cut off")
    return begin
