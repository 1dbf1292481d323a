"""Points from a text of columns, in the dialects that scanners and spreadsheets write."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import islice

import numpy as np
import numpy.typing as npt

from hil.config.scan.grid import METRES, ScanError, ScanSettings

Points = npt.NDArray[np.float64]
_NAMES = {
    **dict.fromkeys(("x", "easting", "east", "e"), 0),
    **dict.fromkeys(("y", "northing", "north", "n"), 1),
    **dict.fromkeys(("z", "elevation", "elev", "height", "altitude", "up", "h"), 2),
}
_MOST_BEFORE = 50  # lines before the numbers
_LONGEST = 10_000
_UNIT = re.compile(r"\s*[\[(](\w+)[\])]$|_(m|cm|mm|ft)$")
_EXPONENT_OF_FORTRAN = re.compile(r"(?<=[\d.])[dD](?=[+-]?\d)")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_MARKS = (";", "\t", ",", None)


def table_points(content: bytes, settings: ScanSettings, most: int) -> Points:
    """Points (points, 3) of a text of columns: x, y and z come first, or where a header names them.

    Args:
        content: of the file.
        settings: the units that are said; those of a header may not contradict them.
        most: so many rows are read at most.

    Raises:
        ScanError: a unit in the header is another one.
        ValueError: it is no such text; the message says what is wrong.
    """
    if b"\0" in content[:4096] and not content.startswith(_UTF_16):
        raise ValueError("content that is not text; rows of numbers, x, y and z")
    columns, count, wrong, begin = None, None, None, -1
    for line in islice(_opened(content), _MOST_BEFORE):
        begin += 1
        mark, cells = _cells(line)
        if line.strip() and not line.startswith("#"):
            if sum(map(_is_number, cells)) >= 3:
                break
            named = _named(cells, settings)
            columns = named or columns
            if not named and len(cells) == 1 and cells[0].isdecimal():
                count = int(cells[0])
            elif not named and (len(cells) >= 3 or (len(cells) == 2 and all(map(_is_number, cells)))):
                wrong = wrong or line.strip()[:60]
    else:
        raise ValueError(f"{repr(wrong) if wrong else 'no row of three numbers'} in its first lines; rows x, y, z")
    if columns is None and wrong:
        allowed = "columns named x, y, z, or easting, northing, elevation; or no header"
        raise ValueError(f"the header {wrong!r}; {allowed}")
    points = _numbers(content, begin, mark, columns or (0, 1, 2), most)
    if count is not None and count != len(points) < most:
        raise ValueError(f"{len(points)} rows, though its first line says {count}; a file that is not cut off")
    if columns is None and len(cells) > 3 and (np.diff(points[:, 0]) == 1.0).all() and len(points) > 2:
        raise ValueError("a first column that counts the points; a header that names the columns, as id,x,y,z")
    return points


def _cells(line: str) -> tuple[str | None, list[str]]:
    """The mark between the cells of a line, None: blanks; and the cells, decimal commas as points."""
    if len(line) > _LONGEST:
        raise ValueError(f"a line of {len(line)} characters; at most {_LONGEST}: a line for each point")
    line = line.strip().removeprefix("//")
    blank = line.split()
    mark = next(mark for mark in _MARKS if mark is None or mark in line)
    if mark == "," and len(blank) >= 3 and all(re.fullmatch(r"[-+]?\d*,\d+", cell) for cell in blank[:3]):
        mark = None
    cells = [cell.strip().strip("\"'").strip() for cell in line.split(mark)]
    return mark, cells if mark == "," else [cell.replace(",", ".") for cell in cells]


def _named(cells: list[str], settings: ScanSettings) -> tuple[int, ...] | None:
    """Columns of x, y and z of a header that names them."""
    at: dict[int, tuple[int, str]] = {}
    for column, cell in enumerate(cells):
        axis, unit = _NAMES.get(_UNIT.sub("", cell).lower()), _UNIT.search(cell)
        if axis is not None and axis not in at:
            at[axis] = column, (unit[1] or unit[2]) if unit else ""
    if len(at) < 3:
        return None
    for axis, (column, unit_named) in at.items():
        upward = "xyz"[axis] == settings.up and settings.height_units is not None
        key, said = ("height_units", settings.height_units) if upward else ("units", settings.units)
        if unit_named in METRES and unit_named != said:
            raise ScanError(key, f"{said}, though a column is {cells[column]!r}", "the unit of the file")
    return tuple(at[axis][0] for axis in range(3))


def _is_number(cell: str) -> bool:
    try:
        float(_EXPONENT_OF_FORTRAN.sub("e", cell))
    except ValueError:
        return False
    return True


def _numbers(content: bytes, begin: int, mark: str | None, columns: tuple[int, ...], most: int) -> Points:
    """The rows of numbers from a line on; a cell with nothing in it is not known, and no mistake."""
    plain: Iterator[str] = islice(_opened(content), begin, None)
    if mark != ",":
        plain = (line.replace(",", ".") for line in plain)
    try:
        return np.loadtxt(plain, delimiter=mark, usecols=columns, ndmin=2, max_rows=most)
    except ValueError:  # read again, cell by cell: that takes ten times as long
        return np.loadtxt(_rows(content, begin, columns), delimiter=",", ndmin=2, max_rows=most)


def _rows(content: bytes, begin: int, columns: tuple[int, ...]) -> Iterator[str]:
    for number, line in enumerate(islice(_opened(content), begin, None), begin + 1):
        _, cells = _cells(line.partition("#")[0])
        if cells == [""]:
            continue
        if len(cells) <= max(columns):
            raise ValueError(f"{len(cells)} columns in line {number}; {max(columns) + 1} or more")
        chosen = [_EXPONENT_OF_FORTRAN.sub("e", cells[column]) or "nan" for column in columns]
        wrong = [cell for cell in chosen if not _is_number(cell)]
        if wrong:
            raise ValueError(f"{wrong[0][:40]!r} in line {number}; a number")
        yield ",".join(chosen)


def _opened(content: bytes) -> io.TextIOWrapper:
    """Its lines; what is no UTF-8, as a letter of a comment, does not count."""
    encoding = "utf-16" if content.startswith(_UTF_16) else "utf-8-sig"
    return io.TextIOWrapper(io.BytesIO(content), encoding, errors="replace")
