"""A height map, or a mesh, as one line of text in a config, so that a record has the ground that its run drove over.

Heights and coordinates are rounded to 0.1 mm. The line begins with the digests of the file and of how it was read.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import zlib
from functools import lru_cache

import numpy as np

from hil.config.scan.grid import HIGHEST_M, LARGEST_M, MOST_NODES, Grid, ScanError, ScanSettings, in_run_axes
from hil.config.scan.triangles import Numbers, Points
from models.terrain.mesh import CORNERS, TriangleMesh, make_mesh

STEP_M = 1e-4
_MARK, MESH_MARK = "height_map_1", "mesh_1"


def reading_digest(settings: ScanSettings) -> str:
    """Digest of how a file is read: 16 hex digits. What has its default does not count, so maps of before stay."""
    given = {name: value for name, value in settings._asdict().items() if value is not None}
    text = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return hashlib.sha256(f"ScanSettings({text})".encode()).hexdigest()[:16]


def text_of(grid: Grid, content: bytes, settings: ScanSettings) -> str:
    """A grid as text."""
    steps = np.rint(grid.height / STEP_M).astype(np.int64)
    # differences of neighbours are small numbers
    small = np.diff(np.diff(steps, axis=0, prepend=0), axis=1, prepend=0).astype("<i4")
    packed = zlib.compress(small.tobytes(), 9)
    head = [_MARK, hashlib.sha256(content).hexdigest(), reading_digest(settings)]
    numbers = [*map(str, steps.shape), repr(grid.x), repr(grid.y), repr(grid.spacing)]
    return " ".join([*head, *numbers, base64.b64encode(packed).decode()])


def digests_of(text: str) -> tuple[str, str]:
    """Digest of the file, and of how it was read. Raises ValueError: no such text."""
    parts = text.split(" ")
    if len(parts) != {_MARK: 9, MESH_MARK: 6}.get(parts[0]):
        raise ValueError("no height map or mesh as this program writes it")
    return parts[1], parts[2]


@lru_cache(4)
def grid_from(text: str) -> Grid:
    """The grid of a text. Raises ValueError: it is none, or damaged."""
    if not text.startswith(_MARK):
        raise ValueError("no height map as this program writes it")
    digests_of(text)
    columns, rows = (int(part) for part in text.split(" ")[3:5])
    x, y, spacing = (float(part) for part in text.split(" ")[5:8])
    if not (columns >= 4 and rows >= 4 and columns * rows <= MOST_NODES and np.isfinite([x, y, spacing]).all()):
        raise ValueError(f"a height map of {columns} x {rows} nodes")
    try:
        unpacker = zlib.decompressobj()
        raw = unpacker.decompress(base64.b64decode(text.split(" ")[8], validate=True), 4 * columns * rows)
    except (zlib.error, binascii.Error) as error:
        raise ValueError(f"a damaged height map ({error})") from None
    if len(raw) != 4 * columns * rows or not 0.0 < spacing <= 10.0:
        raise ValueError("a damaged height map")
    steps = np.frombuffer(raw, "<i4").reshape(columns, rows).cumsum(axis=1).cumsum(axis=0)
    return Grid(steps * STEP_M, x, y, spacing)


MOST_TRIANGLES, MOST_TEXT = 20_000, 160_000
_MOST_CELLS_A_SIDE = 100  # of the grid by which triangles are found
_THINNEST_M2 = 1e-10


def text_of_mesh(points: Points, triangles: Numbers | None, content: bytes, settings: ScanSettings) -> str:
    """The triangles of a file in the axes of a run, as text; the rover starts at 0, 0, on the height 0.

    Points (points, 3) are as in the file, triangles (triangles, 3) are numbers of points.

    Raises ScanError: it has no triangles or too many, they are no surface, or none is where the rover starts.
    """
    if triangles is None:
        raise ScanError("file", "points without triangles", "a mesh with kind mesh: OBJ, STL, or PLY with faces")
    if len(triangles) > MOST_TRIANGLES:
        allowed = f"at most {MOST_TRIANGLES}: simplify the mesh, or cut it to the ground of the run"
        raise ScanError("file", f"{len(triangles)} triangles", allowed)
    moved = in_run_axes(points, settings)
    moved[:, 2] -= _top_at_start(moved[triangles])
    steps, number = np.unique(np.rint(moved / STEP_M).astype(np.int64), axis=0, return_inverse=True)
    corners = number.reshape(-1)[triangles]
    a, b, c = (steps[corners[:, k]] * STEP_M for k in range(CORNERS))
    corners = corners[np.linalg.norm(np.cross(b - a, c - a), axis=1) > _THINNEST_M2]
    packed = zlib.compress(
        np.diff(steps, axis=0, prepend=0).astype("<i4").tobytes() + corners.astype("<i4").tobytes(), 9
    )
    head = [
        MESH_MARK,
        hashlib.sha256(content).hexdigest(),
        reading_digest(settings),
        str(len(steps)),
        str(len(corners)),
    ]
    text = " ".join([*head, base64.b64encode(packed).decode()])
    if len(text) > MOST_TEXT:
        allowed = f"at most {MOST_TEXT}, about 10,000 triangles: simplify the mesh, or cut it to the ground of the run"
        raise ScanError("file", f"{len(corners)} triangles, which take {len(text)} letters in the config", allowed)
    try:
        mesh_from(text)
    except ValueError as error:
        found, _, allowed = str(error).partition(", allowed: ")
        raise ScanError("file", found, allowed or "a surface of triangles") from None
    return text


def _top_at_start(corner: Points) -> float:
    """Height of the highest triangle (triangles, 3, 3) at the start."""
    one, two, away = corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0], -corner[:, 0]
    across = one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]
    flat = np.abs(across) > _THINNEST_M2
    one, two, away, across = one[flat], two[flat], away[flat], across[flat]
    u = (away[:, 0] * two[:, 1] - away[:, 1] * two[:, 0]) / across
    v = (away[:, 1] * one[:, 0] - away[:, 0] * one[:, 1]) / across
    inside = (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1.0 + 1e-9)
    if not inside.any():
        low, high = (end(corner.reshape(-1, 3)[:, :2], axis=0) for end in (np.min, np.max))
        found = (
            f"a place over no triangle, of a mesh from {low[0]:+.2f} to {high[0]:+.2f} m along the heading from there"
        )
        allowed = f"a place on it; across, to port, it reaches from {low[1]:+.2f} to {high[1]:+.2f} m"
        raise ScanError("start_m", found, allowed)
    height = corner[flat][:, 0, 2] + u * one[:, 2] + v * two[:, 2]
    return float(height[inside].max())


@lru_cache(4)
def mesh_from(text: str) -> TriangleMesh:
    """The mesh of a text. Raises ValueError: it is none, or damaged."""
    digests_of(text)
    mark, *_, points, triangles, body = text.split(" ")
    if mark != MESH_MARK or not (points.isdecimal() and triangles.isdecimal()):
        raise ValueError("no mesh as this program writes it")
    count, faces = int(points), int(triangles)
    if not (CORNERS <= count <= CORNERS * MOST_TRIANGLES and 0 < faces <= MOST_TRIANGLES):
        raise ValueError(f"a mesh of {count} points and {faces} triangles")
    size = 4 * CORNERS * (count + faces)
    try:
        raw = zlib.decompressobj().decompress(base64.b64decode(body, validate=True), size)
    except (zlib.error, binascii.Error) as error:
        raise ValueError(f"a damaged mesh ({error})") from None
    if len(raw) != size:
        raise ValueError("a damaged mesh")
    numbers = np.frombuffer(raw, "<i4").reshape(-1, CORNERS).astype(np.int64)
    place = numbers[:count].cumsum(axis=0) * STEP_M
    if np.abs(place[:, :2]).max() > 2.0 * LARGEST_M or np.abs(place[:, 2]).max() > HIGHEST_M:
        raise ValueError("a damaged mesh")
    corners = numbers[count:]
    if corners.min() < 0 or corners.max() >= count:
        raise ValueError("a damaged mesh")
    sides = np.ptp(place[corners][:, :, :2], axis=1)
    extent = float(np.ptp(place[:, :2], axis=0).max())
    return make_mesh(place, corners, max(float(sides.mean()), extent / _MOST_CELLS_A_SIDE, 1e-3))
