"""Points of a scan from the content of its file: one format, named by the ending and proven by the first bytes.

Source: ASPRS, LAS Specification 1.4 - R15, table 3.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from drivers.extensions import install_command
from hil.config.scan.grid import METRES, ScanError, ScanSettings
from hil.config.scan.triangles import ScanGeometry, obj_shape, ply_shape, stl_shape, usable

# By version: the least size of the header.
_SIZES = {(1, 0): 227, (1, 1): 227, (1, 2): 227, (1, 3): 235, (1, 4): 375}
_LEAST_RECORD = (20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67)
_VLR, _EVLR = 54, 60


def check_las(content: bytes) -> int:
    """The number of points of a LAS or LAZ file.

    Raises ValueError: what the header says does not fit into the file; all of it is named.
    """
    if len(content) < 227:
        raise ValueError(f"{len(content)} bytes; a header of 227 or more")
    version = (content[24], content[25])
    size, data, vlrs = struct.unpack_from("<HII", content, 94)
    kind, record, count = struct.unpack_from("<BHI", content, 104)
    packed, kind = kind & 0xC0, kind & 0x3F
    if version not in _SIZES or size < _SIZES[version] or len(content) < size or kind >= len(_LEAST_RECORD):
        raise ValueError(
            f"version {version[0]}.{version[1]}, a header of {size} bytes, point format {kind}; LAS 1.0 to 1.4"
        )
    wrong = []
    if version == (1, 4):
        first, evlrs, long_count = struct.unpack_from("<QIQ", content, 235)
        count = long_count or count
        if evlrs and first + _EVLR * evlrs > len(content):
            wrong.append(f"{evlrs} records after the points")
    if size + _VLR * vlrs > min(data, len(content)):
        wrong.append(f"{vlrs} records before the points")
    if record < _LEAST_RECORD[kind]:
        wrong.append(f"points of {record} bytes")
    points_end = data + (min(count, 1) if packed else count * record)
    if points_end > len(content):
        wrong.append(f"{count} points")
    if wrong:
        raise ValueError(
            f"a header with {', '.join(wrong)}, in a file of {len(content)} bytes; a file that is not cut off"
        )
    return int(count)


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


MOST_BYTES = 300_000_000
MOST_POINTS = 5_000_000  # reading so many and making a height map of them fits into the limits of the process
_FEWEST = 16
_LAS_AT_ONCE = 500_000
# Neither files next to the one that is read, nor a server for the parameters of a projection.
_ALONE = {
    "GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR",
    "GDAL_PAM_ENABLED": "NO",
    "GDAL_CACHEMAX": 64,
    "PROJ_NETWORK": "OFF",
}


def prepare_reading(ending: str) -> None:
    """Import what reads a file with this ending. Raises ValueError: no such format, or a package is missing."""
    kind = _FORMATS.get(ending.lower())
    if kind is None:
        raise ValueError(f"a file that ends with {ending or 'nothing'}; {', '.join(_FORMATS)}")
    if kind.package is not None:
        if find_spec(kind.package) is None:
            raise ValueError(f"the package {kind.package} is not installed; install it: {install_command(kind.extra)}")
        import_module(kind.package)
        if kind.package == "rasterio":
            _open_projections()
    for name in ("scipy.spatial", "encodings.utf_16", "encodings.utf_8_sig"):
        import_module(name)


def _open_projections() -> None:
    """Let GDAL open its data of projections in this process: of a raster that has one it needs them."""
    import rasterio

    place = rasterio.Affine(2.0, 0.0, 0.0, 0.0, -2.0, 0.0)
    form = {"driver": "GTiff", "width": 1, "height": 1, "count": 1, "dtype": "uint8", "crs": "EPSG:32633"}
    with rasterio.MemoryFile() as file:
        file.open(transform=place, **form).close()
        file.open(driver="GTiff").close()


def points_of(content: bytes, ending: str, settings: ScanSettings) -> ScanGeometry:
    """Points or triangles of a file in its own units and axes; what has no finite coordinates is left out.

    Raises:
        ScanError: the file contradicts the settings.
        ValueError: it is no such file, is cut off or damaged, or has too many points or too few.
    """
    kind = _FORMATS[ending.lower()]
    if not content.startswith(kind.begins):
        looks = [name for name, one in _FORMATS.items() if one.begins != (b"",) and content.startswith(one.begins)]
        found = (
            f"content that begins as that of a {looks[0]} file"
            if looks
            else f"content that begins with {content[:8]!r}"
        )
        raise ValueError(f"{found}; that of a {ending} file, or the ending that fits")
    if settings.classes is not None and kind.package != "laspy":
        raise ScanError("classes", f"classes, for a {ending} file", "null: only LAS and LAZ have classes of points")
    try:
        scanned = usable(kind.read(content, settings))
    except (ValueError, MemoryError):
        raise
    except BaseException as error:  # whatever a library raises about damage; of laspy's Rust a panic
        raise ValueError(f"a damaged file ({str(error) or type(error).__name__}); a whole one") from None
    if scanned.triangles is None and len(scanned.points) < _FEWEST:
        found = f"{len(scanned.points)} points with finite coordinates"
        raise ValueError(f"{found}; {_FEWEST} or more, each with x, y and z")
    return scanned


def _bounded(count: int, what: str = "points") -> None:
    if count > MOST_POINTS:
        raise ValueError(
            f"{count} {what}; at most {MOST_POINTS}: thin the scan out, or cut it to the ground of the run"
        )


def _csv(content: bytes, settings: ScanSettings) -> ScanGeometry:
    points = table_points(content, settings, MOST_POINTS + 1)
    _bounded(len(points))
    return ScanGeometry(points)


def _bounded_by(
    read: Callable[[bytes, Callable[[int], None]], ScanGeometry],
) -> Callable[[bytes, ScanSettings], ScanGeometry]:
    return lambda content, _: read(content, _bounded)


def _las(content: bytes, settings: ScanSettings) -> ScanGeometry:
    import laspy

    _bounded(check_las(content))
    parts, seen = [np.empty((0, 3))], set[int]()
    # The other reader of LAZ starts threads, each with a separate arena.
    with laspy.open(io.BytesIO(content), read_evlrs=False, laz_backend=laspy.LazBackend.Lazrs) as las:
        for part in las.chunk_iterator(_LAS_AT_ONCE):
            points = np.column_stack([part.x, part.y, part.z])
            if settings.classes is not None:
                classes = np.asarray(part.classification)
                seen |= set(classes.tolist())
                points = points[np.isin(classes, settings.classes)]
            parts.append(points)
    found = np.concatenate(parts)
    if settings.classes is not None and len(found) < _FEWEST:
        raise ScanError(
            "classes", f"{len(found)} points of {list(settings.classes)}", f"classes of the file: {sorted(seen)}"
        )
    return ScanGeometry(found)


def _raster(driver: str, content: bytes, settings: ScanSettings) -> ScanGeometry:
    import rasterio

    with (
        rasterio.Env(**_ALONE),
        rasterio.MemoryFile(content) as file,
        file.open(driver=driver, sharing=False) as raster,
    ):
        _check_raster(raster, settings)
        band = raster.read(1, masked=True)
        place, scale, offset = raster.transform, raster.scales[0], raster.offsets[0]
    known = ~np.ma.getmaskarray(band)
    rows, columns = np.nonzero(known)
    height = band.data[known].astype(np.float64) * scale + offset
    i, j = columns + 0.5, rows + 0.5
    x, y = place.c + place.a * i + place.b * j, place.f + place.d * i + place.e * j
    return ScanGeometry(np.column_stack([x, y, height]))


def _check_raster(raster: Any, settings: ScanSettings) -> None:
    """What the header of a GeoTIFF says, before a cell of it is read."""
    _bounded(raster.width * raster.height, "cells")
    block = int(np.prod(raster.block_shapes[0]))
    _bounded(block, "cells in a block")
    colours = [one.name for one in raster.colorinterp if one.name in ("red", "green", "blue", "palette")]
    if colours:
        raise ValueError(f"a picture ({', '.join(colours)}); heights in the first band")
    if np.dtype(raster.dtypes[0]).kind not in "iuf":
        raise ValueError(f"a first band of {raster.dtypes[0]}; heights: real numbers")
    if raster.transform.is_identity:
        allowed = "one with its georeference, as gdal_translate -a_ullr writes it; else a cell would count as a metre"
        raise ValueError(f"a raster that does not say where its cells lie; {allowed}")
    crs = raster.crs
    if crs is not None and crs.is_geographic:
        raise ValueError(
            f"places in degrees ({crs.to_string()[:40]}); a raster in a projection, as gdalwarp -t_srs makes it"
        )
    if crs is not None and crs.is_projected:
        unit, metres = crs.linear_units_factor
        if abs(metres / METRES[settings.units] - 1.0) > 1e-3:
            raise ScanError("units", f"{settings.units}, though its projection has {unit}", "the unit of its x and y")


class _Format(NamedTuple):
    """How the content of a format begins, what reads it, and the package and extra that this needs."""

    begins: tuple[bytes, ...]
    read: Callable[[bytes, ScanSettings], ScanGeometry]
    package: str | None = None
    extra: str = ""


_TABLE, _LAS = _Format((b"",), _csv), _Format((b"LASF",), _las, "laspy", "scan")
_TIFF = _Format((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), partial(_raster, "GTiff"), "rasterio", "geotiff")
_FORMATS = {
    **dict.fromkeys((".csv", ".txt", ".xyz"), _TABLE),
    ".ply": _Format((b"ply\n", b"ply\r"), _bounded_by(ply_shape)),
    ".obj": _Format((b"",), _bounded_by(obj_shape)),
    ".stl": _Format((b"",), _bounded_by(stl_shape)),
    **dict.fromkeys((".las", ".laz"), _LAS),
    **dict.fromkeys((".tif", ".tiff"), _TIFF),
    ".asc": _Format((b"ncols", b"NCOLS"), partial(_raster, "AAIGrid"), "rasterio", "geotiff"),
}
