"""Points of a scan from the content of its file: one format, named by the ending and proven by the first bytes."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from drivers.extras import install_command
from hil.config.scan.grid import METRES, ScanError, ScanSettings
from hil.config.scan.las_header import check_las
from hil.config.scan.ply import ply_shape
from hil.config.scan.table import table_points
from hil.config.scan.triangles import Scanned, obj_shape, stl_shape, usable

MOST_BYTES = 300_000_000
MOST_POINTS = 5_000_000  # reading so many and making a height map of them fits into the limits of the process
_FEWEST = 16
_LAS_AT_ONCE = 500_000
# Neither files beside the one that is read, nor a server for the parameters of a projection.
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


def points_of(content: bytes, ending: str, settings: ScanSettings) -> Scanned:
    """Points or triangles of a file in its own units and axes; what has no finite coordinates is left out.

    Args:
        content: of the file.
        ending: of its name; says the format, see `prepare_reading`.
        settings: how it is to be read.

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


def _csv(content: bytes, settings: ScanSettings) -> Scanned:
    points = table_points(content, settings, MOST_POINTS + 1)
    _bounded(len(points))
    return Scanned(points)


def _bounded_by(
    read: Callable[[bytes, Callable[[int], None]], Scanned],
) -> Callable[[bytes, ScanSettings], Scanned]:
    return lambda content, _: read(content, _bounded)


def _las(content: bytes, settings: ScanSettings) -> Scanned:
    import laspy

    _bounded(check_las(content))
    parts, seen = [np.empty((0, 3))], set[int]()
    # The other reader of LAZ starts threads, each with an arena of its own.
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
    return Scanned(found)


def _raster(driver: str, content: bytes, settings: ScanSettings) -> Scanned:
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
    return Scanned(np.column_stack([x, y, height]))


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
    read: Callable[[bytes, ScanSettings], Scanned]
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
