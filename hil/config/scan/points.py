"""Points of a scan from its file, whichever format that has."""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from drivers.extras import install_command
from hil.config.text_file import read_bytes

Points = npt.NDArray[np.float64]
MOST_BYTES = 300_000_000
MOST_POINTS = 20_000_000


def read_points(path: Path) -> tuple[Points, bytes]:
    """Points (points, 3) of a file in its own units and axes, and the content of the file.

    Args:
        path: its ending says the format: .csv, .txt, .xyz, .ply, .las, .laz, .tif or .tiff.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no such file, a number in it is not finite, or a package is missing; the message says which.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"a file that ends with {path.suffix or 'nothing'}; {', '.join(_READERS)}")
    content = read_bytes(path, MOST_BYTES)
    points = np.asarray(reader(content), dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 16:
        raise ValueError(f"{len(points)} points; 16 or more, each with x, y and z")
    if len(points) > MOST_POINTS:
        raise ValueError(f"{len(points)} points; at most {MOST_POINTS}: thin the scan out")
    wrong = ~np.isfinite(points).all(axis=1)
    if wrong.any():
        raise ValueError(f"point {int(wrong.argmax()) + 1} has a coordinate that is not finite; finite numbers")
    return points, content


def _csv(content: bytes) -> Points:
    text = content.decode("utf-8-sig")
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    mark = next((mark for mark in ",;\t" if mark in first), None)
    cells = [cell.strip() for cell in first.split(mark)]
    if len(cells) < 3:
        raise ValueError(f"a first row of {len(cells)} columns, {first[:40]!r}; three: x, y, z")
    try:
        float(cells[0])
    except ValueError:
        if [cell.lower() for cell in cells[:3]] != ["x", "y", "z"]:
            raise ValueError(f"the header {first[:40]!r}; x, y, z as the first three columns, or no header") from None
        text = text[text.index(first) + len(first) :]
    table: Points = np.loadtxt(io.StringIO(text), delimiter=mark, usecols=(0, 1, 2), ndmin=2)
    return table


def _ply(content: bytes) -> Points:
    _needs("trimesh", "scan")
    import trimesh

    loaded: Any = trimesh.load(io.BytesIO(content), file_type="ply", process=False)
    vertices: Points = np.asarray(loaded.vertices)
    return vertices


def _las(content: bytes) -> Points:
    _needs("laspy", "scan")
    import laspy

    las: Any = laspy.read(io.BytesIO(content))
    return np.column_stack([las.x, las.y, las.z])


def _geotiff(content: bytes) -> Points:
    _needs("rasterio", "geotiff")
    import rasterio

    with rasterio.MemoryFile(content) as file, file.open() as raster:
        band = raster.read(1, masked=True)
        columns, rows = np.meshgrid(np.arange(raster.width) + 0.5, np.arange(raster.height) + 0.5)
        place = raster.transform
    x, y = place.c + place.a * columns + place.b * rows, place.f + place.d * columns + place.e * rows
    known = ~np.ma.getmaskarray(band) & np.isfinite(band.filled(np.nan) if band.dtype.kind == "f" else band.data)
    return np.column_stack([x[known], y[known], band.data[known].astype(np.float64)])


_READERS: dict[str, Callable[[bytes], Points]] = {
    **dict.fromkeys((".csv", ".txt", ".xyz"), _csv),
    ".ply": _ply,
    **dict.fromkeys((".las", ".laz"), _las),
    **dict.fromkeys((".tif", ".tiff"), _geotiff),
}


def _needs(package: str, extra: str) -> None:
    if find_spec(package) is None:
        raise ValueError(f"the package {package} is not installed; install it: {install_command(extra)}")
