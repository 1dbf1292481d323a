"""A height map as one line of text in a config, so that a record has the ground that its run drove over.

Heights are rounded to 0.1 mm. The line begins with the digests of the file and of how it was read.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import zlib
from functools import lru_cache

import numpy as np

from hil.config.scan.grid import MOST_NODES, Grid, ScanSettings

STEP_M = 1e-4
_MARK, MESH_MARK = "height_map_1", "mesh_1"


def reading_digest(settings: ScanSettings) -> str:
    """Digest of how a file is read: 16 hex digits. What has its default does not count, so maps of before stay."""
    given = {name: value for name, value in settings._asdict().items() if value is not None}
    text = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return hashlib.sha256(f"ScanSettings({text})".encode()).hexdigest()[:16]


def text_of(grid: Grid, content: bytes, settings: ScanSettings) -> str:
    """A grid as text.

    Args:
        grid: what came of it.
        content: of the file.
        settings: how it was read.
    """
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
