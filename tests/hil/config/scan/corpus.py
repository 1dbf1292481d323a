"""Scans of one known ground, in the dialects that scanners, surveys and modelling programs write.

Each is a file and how it is to be read. In run axes all have the ground `height`, so what is read is held against a
formula and not against another reader.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from hil.config.scan.points import prepare_reading

Values = np.ndarray[Any, np.dtype[Any]]
Faces = list[list[int]]
FOOT = 0.3048
_PACKAGES = {"laspy": (".las", ".laz"), "rasterio": (".tif", ".tiff", ".asc")}
LOW, HIGH = (-1.5, -1.6), (3.5, 1.6)  # of the ground [m]


def height(x: Values, y: Values) -> Values:
    """The ground [m] at a place [m]."""
    return 0.1 * np.sin(x) + 0.05 * y + 7.0


def _cloud() -> Values:
    """Points (points, 3) as a scanner gives them, out of order."""
    random = np.random.default_rng(5)
    nodes = np.stack(np.meshgrid(np.arange(LOW[0], HIGH[0], 0.1), np.arange(LOW[1], HIGH[1], 0.1)), axis=-1)
    place = random.permutation(nodes.reshape(-1, 2) + random.uniform(-0.04, 0.04, (nodes.size // 2, 2)))
    return np.column_stack([place, height(*place.T)])


def _net(step: float = 0.1) -> tuple[Values, Values]:
    """Corners (corners, 3) of a net, and its faces (faces, 4) counter-clockwise."""
    x, y = (np.arange(low, high + 1e-9, step) for low, high in zip(LOW, HIGH, strict=True))
    u, v = (one.ravel() for one in np.meshgrid(x, y, indexing="ij"))
    k = np.arange(len(u)).reshape(len(x), len(y))
    faces = np.stack([k[:-1, :-1], k[1:, :-1], k[1:, 1:], k[:-1, 1:]], axis=-1).reshape(-1, 4)
    return np.column_stack([u, v, height(u, v)]), faces


CLOUD, (CORNERS, FACES) = _cloud(), _net()
TRIANGLES = np.vstack([FACES[:, [0, 1, 2]], FACES[:, [0, 2, 3]]])


class Scan(NamedTuple):
    """A scan.

    Attributes:
        name: of its file.
        write: writes it to a path.
        settings: keys of ground.scan besides units m, up z and start_m 0, 0.
    """

    name: str
    write: Callable[[Path], object]
    settings: dict[str, Any]


def _text(name: str, head: str = "", mark: str = ",", form: str = "%.5f", **more: Any) -> Scan:
    settings = {key: more.pop(key) for key in ("units", "up", "start_m", "heading_deg", "height_units") if key in more}
    points, end, point = more.get("points", CLOUD), more.get("end", ""), more.get("point", ".")
    rows = (mark.join((form % value).replace(".", point) for value in row) + end for row in points.tolist())
    content = head + "\n".join(chain(rows, more.get("last", ()))) + "\n"
    return Scan(name, lambda path: path.write_bytes(content.encode(more.get("encoding", "utf-8"))), settings)


def _ply(
    name: str, order: str = "", faces: Faces | None = None, *, cloud: bool = False, faces_first: bool = False
) -> Scan:
    """A PLY with normals before the places and colours before the faces; text where the order of bytes is none."""
    kind = {"": "ascii", "<": "binary_little_endian", ">": "binary_big_endian"}[order]
    points = CLOUD if faces is None or cloud else CORNERS
    values = np.column_stack([np.zeros((len(points), 1)), points]).tolist()
    columns = "".join(f"property double {one}\n" for one in ("nx", "x", "y", "z"))
    body = [_row(order, "4d", row) for row in values]
    parts = [(f"element vertex {len(points)}\n{columns}", b"".join(body))]
    if faces is not None:
        columns = "property uchar red\nproperty list uchar int vertex_indices\n"
        body = [_row(order, f"BB{len(one)}i", [7, len(one), *one]) for one in faces]
        parts.append((f"element face {len(faces)}\n{columns}", b"".join(body)))
    if faces_first:
        parts.reverse()
    head = f"ply\nformat {kind} 1.0\ncomment made by hand\n" + "".join(part for part, _ in parts) + "end_header\n"
    return _bytes(name, head.encode() + b"".join(part for _, part in parts))


def _row(order: str, form: str, values: list[Any]) -> bytes:
    return struct.pack(order + form, *values) if order else (" ".join(map(repr, values)) + "\n").encode()


def _bytes(name: str, content: bytes, **settings: Any) -> Scan:
    return Scan(name, lambda path: path.write_bytes(content), settings)


def _obj(name: str, faces: Faces, form: str = "{}", last: int = 0, points: Values = CORNERS, **settings: Any) -> Scan:
    """An OBJ; corners count back from `last` points, or from 1 where that is 0."""
    text = "mtllib none.mtl\no ground\nvt 0 0\n" + "".join(f"v {x!r} {y!r} {z!r}\n" for x, y, z in points.tolist())
    text += "".join(
        "f " + " \\\n".join(form.format(at - last if last else at + 1) for at in one) + "\n" for one in faces
    )
    return _bytes(name, text.encode(), **settings)


def _stl(name: str, corner: Values, *, text: bool = False) -> Scan:
    """An STL of triangles (triangles, 3, 3)."""
    if not text:
        facets = np.zeros(len(corner), [("normal", "<f4", 3), ("corner", "<f4", (3, 3)), ("attribute", "<u2")])
        facets["corner"] = corner
        head = b"solid of a program that writes bytes".ljust(80) + struct.pack("<I", len(corner))
        return _bytes(name, head + facets.tobytes())
    rows = ["".join(f"      vertex {x!r} {y!r} {z!r}\n" for x, y, z in one) for one in corner.tolist()]
    body = "".join(f"  facet normal 0 0 1\n    outer loop\n{one}    endloop\n  endfacet\n" for one in rows)
    return _bytes(name, f"solid ground\n{body}endsolid ground\n".encode())


def _cells(step: float = 0.1) -> tuple[Values, int, int]:
    """Heights in the middle of cells, the first row in the north; how many rows and columns."""
    columns, rows = (round((high - low) / step) for low, high in zip(LOW, HIGH, strict=True))
    x, y = LOW[0] + step * (np.arange(columns) + 0.5), HIGH[1] - step * (np.arange(rows) + 0.5)
    return height(x[None, :], y[:, None]), rows, columns


def _grid(name: str, corner: str, shift: float) -> Scan:
    """An ESRI grid, of which some cells have no height."""
    cells, rows, columns = _cells()
    cells = cells.copy()
    cells[10:12, 20:22] = -9999.0
    head = f"ncols {columns}\nnrows {rows}\nxll{corner} {LOW[0] + shift}\nyll{corner} {LOW[1] + shift}\n"
    body = "".join(" ".join(f"{value:.5f}" for value in row) + "\n" for row in cells.tolist())
    return _bytes(name, f"{head}cellsize 0.1\nNODATA_value -9999\n{body}".encode())


def _geotiff(
    name: str,
    change: Callable[[Values], Values] = lambda cells: cells,
    turn_deg: float = 0.0,
    band: tuple[float, float] | None = None,
    *,
    south_up: bool = False,
    settings: dict[str, Any] | None = None,
    **options: Any,
) -> Scan:
    """A GeoTIFF, whose cells may be turned about the origin, or counted from the south."""

    def write(path: Path) -> None:
        import rasterio

        cells, rows, columns = _cells()
        up, north = (0.1, LOW[1]) if south_up else (-0.1, HIGH[1])
        cells = cells[::-1] if south_up else cells
        c, s = math.cos(math.radians(turn_deg)), math.sin(math.radians(turn_deg))
        x, y = c * LOW[0] - s * north, s * LOW[0] + c * north
        place = rasterio.Affine(c * 0.1, -s * up, x, s * 0.1, c * up, y)
        cells = change(cells.copy())
        form = {"driver": "GTiff", "height": rows, "width": columns, "count": 1, "crs": "EPSG:32633"}
        with rasterio.open(path, "w", dtype=cells.dtype, transform=place, **form, **options) as file:
            file.write(cells, 1)
            if band:
                file.scales, file.offsets = ([one] for one in band)

    return Scan(name, write, settings or {})


def _counted(cells: Values) -> Values:
    return np.rint((cells - 7.0) * 1e4).astype(np.int16)


def _with_hole(cells: Values) -> Values:
    cells[10:12, 20:22] = -9999.0
    return cells


def _las(name: str, version: str = "1.2", form: int = 0, above: int = 0, kind: int = 2, **settings: Any) -> Scan:
    """A LAS or LAZ; of its points `above` are not ground but of class `kind`, over it."""

    def write(path: Path) -> None:
        import laspy

        header = laspy.LasHeader(version=version, point_format=form)
        header.scales, header.offsets = [1e-4] * 3, [0.0, 0.0, 5.0]
        data, up = laspy.LasData(header), np.where(np.arange(len(CLOUD)) < above, 1.3, 0.0)
        data.x, data.y, data.z = CLOUD[:, 0], CLOUD[:, 1], CLOUD[:, 2] + up
        data.classification = np.where(up > 0.0, kind, 2).astype(np.uint8)
        data.write(str(path))

    return Scan(name, write, settings)


QUADS = FACES.tolist()
# One face of nine is cut in two, so that not all have as many corners.
MIXED = [part for at, one in enumerate(QUADS) for part in ([one] if at % 9 else [one[:3], [one[0], *one[2:]]])]
SURFACE = CORNERS[TRIANGLES]
BELOW = SURFACE[:, ::-1] * (1.0, 1.0, 0.0)
FEET, FAR = CLOUD / FOOT, CLOUD + np.array([500_000.0, 5_000_000.0, 0.0])
MIXED_FEET = np.column_stack([FEET[:, :2], CLOUD[:, 2]])
X_UP = 1e3 * CORNERS[:, [2, 0, 1]]

SCANS = {
    "a text": _text("a.csv", "x,y,z\n"),
    "a quoted header": _text("a.csv", '"X","Y","Z","Intensity"\n', end=",12"),
    "a header after slashes": _text("a.txt", "//X Y Z R G B\n", " ", end=" 1 2 3"),
    "decimal commas": _text("a.csv", "X;Y;Z\n", ";", point=","),
    "decimal commas between blanks": _text("a.xyz", "", "   ", "%12.5f", point=","),
    "tabs": _text("a.xyz", "", "\t"),
    "a survey in millimetres": _text("a.csv", "E;N;H\n", ";", points=1e3 * CLOUD, units="mm"),
    "a number of points first": _text("a.txt", f"{len(CLOUD)}\n", " ", end=" 10 1 2 3"),
    "points without a height": _text("a.csv", "x,y,z\n", last=("1,1,nan", "1,1,")),
    "units in the header": _text("a.csv", "x [cm],y [cm],z [cm]\n", points=1e2 * CLOUD, units="cm"),
    "UTF-16": _text("a.csv", "x,y,z\n", encoding="utf-16"),
    "exponents": _text("a.xyz", "", " ", "%.6e"),
    "y up": _text("a.xyz", "", " ", points=CLOUD[:, [1, 2, 0]], up="y"),
    "feet": _text("a.csv", "x,y,z\n", points=FEET, units="ft"),
    "heights in another unit": _text("a.csv", points=MIXED_FEET, units="ft", height_units="m"),
    "a projection": _text("a.csv", points=FAR, start_m=[500_000.0, 5_000_000.0]),
    "an ESRI grid": _grid("a.asc", "corner", 0.0),
    "an ESRI grid by its middles": _grid("a.asc", "center", 0.05),
    "a GeoTIFF": _geotiff("a.tif", lambda cells: cells.astype("f4")),
    "a GeoTIFF with scale and offset": _geotiff("a.tif", _counted, band=(1e-4, 7.0)),
    "a GeoTIFF without some heights": _geotiff("a.tiff", _with_hole, nodata=-9999.0),
    "a GeoTIFF that is turned": _geotiff("a.tif", turn_deg=30.0, settings={"heading_deg": 30.0}),
    "a GeoTIFF from the south": _geotiff("a.tif", south_up=True),
    "a GeoTIFF that is packed": _geotiff("a.tif", compress="deflate", tiled=True, blockxsize=16, blockysize=16),
    "a LAS": _las("a.las"),
    "a LAZ with plants": _las("a.laz", "1.4", 6, above=300, kind=5, classes=[2]),
    "a LAS with noise": _las("a.las", above=20, kind=7),
    "a PLY of text": _ply("a.ply"),
    "a PLY from the highest byte on": _ply("a.ply", ">"),
    "a PLY with one face beside": _ply("a.ply", "<", [[0, 1, 2]], cloud=True, faces_first=True),
    "a mesh of PLY": _ply("a.ply", "<", QUADS, faces_first=True),
    "a mesh of PLY, not all faces alike": _ply("a.ply", ">", MIXED),
    "a mesh of PLY in text": _ply("a.ply", "", MIXED, faces_first=True),
    "an OBJ of points": _obj("a.obj", [], points=CLOUD),
    "an OBJ with textures": _obj("a.obj", MIXED, "{}/1/1"),
    "an OBJ that counts back": _obj("a.obj", TRIANGLES.tolist(), "{}", len(CORNERS), X_UP, units="mm", up="x"),
    "an STL": _stl("a.stl", SURFACE),
    "an STL of text": _stl("a.stl", SURFACE, text=True),
    "an STL of a body": _stl("a.stl", np.concatenate([BELOW, SURFACE])),
}  # fmt: skip


def written(kind: str, folder: Path) -> str:
    """Write a scan into a folder, if the package is there that its format needs; the file's name."""
    scan = SCANS[kind]
    for package, endings in _PACKAGES.items():
        if scan.name.endswith(endings):
            pytest.importorskip(package)
    scan.write(folder / scan.name)
    return scan.name


def prepare_all() -> None:
    """Import what reads each format, once: else each process that reads a scan does it again."""
    for package, (ending, *_) in _PACKAGES.items():
        if find_spec(package):
            prepare_reading(ending)
