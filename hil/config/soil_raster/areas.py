"""A raster of soil classes: read from a file, and its areas outlined by polygons.

Cells of one class that touch along a side are an area. Its outline runs along the sides of its cells; then corners are
left out that stand out by less than a cell, so that a slanted border is a line and no stairs. What lies inside an area
is an area of its own, which lies over it: what contains others comes first.
"""

from __future__ import annotations

import io
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError
from scipy import ndimage
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

Classes = npt.NDArray[np.int64]
Corners = npt.NDArray[np.float64]
MOST_CELLS, MOST_AREAS, MOST_CORNERS = 1_000_000, 64, 64
# A corner is left out if the triangle with its neighbours is no larger than this share of a cell; a stair has 0.5.
_STAIR = 0.5 + 1e-9


class _Area(NamedTuple):
    """An area of one class.

    Attributes:
        number: of the class.
        corners: (corners, 2) along x and y, in cells from the corner of the raster at the smallest x and y.
    """

    number: int
    corners: Corners


def read_classes(content: bytes, suffix: str) -> Classes:
    """Classes (along x, along y) of a file as people see it: its lowest row is that at the smallest y.

    Args:
        content: of the file.
        suffix: .csv (whole numbers without a header), .png (grey values, or numbers of a palette), .tif or .tiff (first
            band; its own coordinates do not count).

    Raises:
        ValueError: it is no such file, or too large; the message says which, and what is allowed after "; ".
    """
    reader = {".csv": _csv, ".png": _picture, ".tif": _picture, ".tiff": _picture}.get(suffix.lower())
    if reader is None:
        raise ValueError(f"a file that ends with {suffix or 'nothing'}; .csv, .png, .tif or .tiff")
    rows = reader(content)
    if rows.ndim != 2 or min(rows.shape) < 2 or rows.size > MOST_CELLS:
        raise ValueError(f"a raster of {rows.shape} cells; 2 or more both ways, at most {MOST_CELLS} in all")
    return np.ascontiguousarray(rows[::-1].T)


def _csv(content: bytes) -> Classes:
    if content.count(b"\n") > MOST_CELLS:
        raise ValueError(f"a raster of over {MOST_CELLS} rows; at most {MOST_CELLS} cells in all")
    lines = [line for line in content.decode("utf-8-sig").splitlines() if line.strip() and not line.startswith("#")]
    mark = next((mark for mark in ",;\t" if mark in "".join(lines[:1])), ",")
    rows = np.loadtxt(io.StringIO("\n".join(lines)), delimiter=mark, ndmin=2)
    if (rows != np.rint(rows)).any():
        raise ValueError("numbers that are not whole; classes as whole numbers")
    return rows.astype(np.int64)


def _picture(content: bytes) -> Classes:
    try:
        with Image.open(io.BytesIO(content), formats=("PNG", "TIFF")) as picture:
            mode = picture.mode
            if picture.width * picture.height > MOST_CELLS:
                raise ValueError(f"a raster of {picture.size} cells; at most {MOST_CELLS} in all")
            rows = np.asarray(picture)
    except (UnidentifiedImageError, OSError, Image.DecompressionBombError) as error:
        raise ValueError(f"no picture that can be read ({error}); a PNG or TIFF of one band") from None
    if rows.ndim != 2 or rows.dtype.kind not in "iub":
        raise ValueError(f"a picture of mode {mode}; grey values or a palette: one whole number a cell")
    return rows.astype(np.int64)


def areas_of(classes: Classes, known: set[int]) -> list[_Area]:
    """Areas with a class of `known`, outer ones first; and areas of other classes that lie inside one of these.

    Args:
        classes: (along x, along y).
        known: classes with a soil of their own.

    Raises:
        ValueError: more areas, or more corners of one, than a rig can have.
    """
    label, begin, low, high = _connected(classes)
    numbers = classes.ravel()[begin]
    known_ones = np.isin(numbers, list(known))
    too_many = f"more than {MOST_AREAS} areas; at most {MOST_AREAS}: a raster with fewer and larger ones"
    if known_ones.sum() > MOST_AREAS:
        raise ValueError(too_many)
    areas: list[_Area] = []
    covered = np.zeros(classes.shape, np.bool_)
    # what lies inside an area has a smaller rectangle around it, however thin the area is
    for one in np.argsort(-np.prod(high - low, axis=1), kind="stable"):
        if not known_ones[one] and not covered.ravel()[begin[one]]:
            continue
        if len(areas) == MOST_AREAS:
            raise ValueError(too_many)
        part = tuple(slice(*ends) for ends in zip(low[one], high[one], strict=True))
        mask = label[part] == one
        covered[part] |= ndimage.binary_fill_holes(mask)
        corners = _fewer(_outline(mask)) + low[one]
        if len(corners) > MOST_CORNERS:
            found = f"an area of class {numbers[one]} with {len(corners)} corners"
            raise ValueError(f"{found}; at most {MOST_CORNERS}: a coarser raster, or simpler areas")
        areas.append(_Area(int(numbers[one]), corners))
    return areas


def _connected(classes: Classes) -> tuple[Classes, Classes, Classes, Classes]:
    """Areas of cells of one class that touch along a side.

    Returns:
        Label of each cell, in its shape; of each label its first cell, counted through; of its rectangle the first
        cell and the one behind the last, (labels, 2) along x and y.
    """
    cell = np.arange(classes.size).reshape(classes.shape)
    ahead, aside = classes[1:] == classes[:-1], classes[:, 1:] == classes[:, :-1]
    ends = (
        np.concatenate([cell[:-1][ahead], cell[:, :-1][aside]]),
        np.concatenate([cell[1:][ahead], cell[:, 1:][aside]]),
    )
    touching = coo_matrix((np.ones(len(ends[0]), np.int8), ends), shape=(classes.size, classes.size))
    count, label = connected_components(touching, directed=False)
    order = np.argsort(label, kind="stable")
    starts = np.searchsorted(label[order], np.arange(count))
    places = np.stack(np.unravel_index(order, classes.shape), axis=1)
    low, high = np.minimum.reduceat(places, starts), np.maximum.reduceat(places, starts) + 1
    return label.astype(np.int64).reshape(classes.shape), order[starts], low, high


def _outline(mask: npt.NDArray[np.bool_]) -> Corners:
    """Outer outline of connected cells, along their sides, anticlockwise."""
    padded = np.pad(mask, 1)
    inside = padded[1:-1, 1:-1]
    ways: dict[tuple[int, int], list[tuple[int, int]]] = {}
    # sides whose other cell is outside, with the cell to port: below, to the right, above, to the left
    for other, begin, end in (
        (padded[1:-1, :-2], (0, 0), (1, 0)),
        (padded[2:, 1:-1], (1, 0), (1, 1)),
        (padded[1:-1, 2:], (1, 1), (0, 1)),
        (padded[:-2, 1:-1], (0, 1), (0, 0)),
    ):
        for i, j in np.argwhere(inside & ~other).tolist():
            ways.setdefault((i + begin[0], j + begin[1]), []).append((i + end[0], j + end[1]))
    loops = []
    while ways:
        start = at = next(iter(ways))
        loop = []
        while at in ways:
            loop.append(at)
            ends = ways[at]
            after = ends.pop()
            if not ends:
                del ways[at]
            at = after
            if at == start:
                break
        loops.append(np.array(loop, dtype=np.float64))
    return max(loops, key=_area)


def _area(corners: Corners) -> float:
    """Of a polygon, positive anticlockwise."""
    x, y = corners.T
    return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def _fewer(corners: Corners) -> Corners:
    """Without the corners of stairs, the least first; at least three stay."""
    kept = corners
    while len(kept) > 3:
        before, after = np.roll(kept, 1, axis=0) - kept, np.roll(kept, -1, axis=0) - kept
        triangles = 0.5 * np.abs(before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0])
        least = int(triangles.argmin())
        if triangles[least] > _STAIR:
            break
        kept = np.delete(kept, least, axis=0)
    return kept
