"""The height map of a scan, and a mound as an example of one."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from hil.config.scan.triangles import top_of

if TYPE_CHECKING:
    from models.terrain.height_map import HeightMap

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
METRES = {"m": 1.0, "cm": 0.01, "mm": 0.001, "ft": 0.3048}
# Level axes for each axis that points up, right-handed.
_LEVEL = {"x": (1, 2, 0), "y": (2, 0, 1), "z": (0, 1, 2)}
HIGHEST_M, SMALLEST_M, LARGEST_M, STEEPEST_DEG = 100.0, 1.0, 1e5, 45.0
MOST_NODES = 60_000
MOST_OUTLIERS = 0.02
_FEWEST_PAIRS = 5
# Points that a node's height is fitted to; the width of their weights is at least the distance of this one.
_NEIGHBOURS, _WIDTH_BY, _AT_ONCE = 40, 8, 4096
# Of a node in a corner of the scan the points' weighted middle lies 1.13 widths aside; farther, it is outside.
_ASIDE = 1.2


class ScanSettings(NamedTuple):
    """How points are to be read, see `hil.config.schema.ground_and_obstacle.ScanConfig`."""

    units: str
    up: str
    start_m: tuple[float, float]
    heading_deg: float
    spacing_m: float
    outlier_m: float
    hole_m: float
    height_units: str | None = None
    classes: tuple[int, ...] | None = None


class Grid(NamedTuple):
    """Heights (columns, rows) [m] at nodes `spacing` apart, the first at (x, y): the rover starts at 0, 0, height 0."""

    height: Floats
    x: float
    y: float
    spacing: float


def node_axes(ground: Grid | HeightMap) -> tuple[Floats, Floats]:
    """Places of the nodes along both level axes (columns,), (rows,) [m]."""
    x, y = (np.arange(count, dtype=np.float64) * ground.spacing for count in ground.height.shape)
    return x + ground.x, y + ground.y


class ScanError(ValueError):
    """A scan that cannot be used as it is.

    Attributes:
        key: of the section ground.scan to change.
        found, allowed: in words.
    """

    def __init__(self, key: str, found: str, allowed: str) -> None:
        super().__init__(f"{key}: {found}; {allowed}")
        self.key, self.found, self.allowed = key, found, allowed


def grid_of(points: Floats, settings: ScanSettings, triangles: Numbers | None = None) -> Grid:
    """The grid of a scan, in the axes of a run: x ahead, y to port, from where the rover starts.

    Of a surface of triangles the points are those of its top at half the spacing, whatever lies below it.

    A point is an outlier if it lies more than `outlier_m` from the ground around it: the median, over opposite pairs of
    the cells around, of the pair's mean, which a plane has exactly. The height of a node is that of a quadratic
    function fitted to the points around it. A node farther than half of `hole_m` from every point is in a hole: at the
    border it is cut off, inside it is refused.

    Args:
        points: (points, 3) as in the file.
        settings: what they mean.
        triangles: (triangles, 3) numbers of points; None: points alone.

    Raises:
        ScanError: it has other units than it is said to have, a hole, too many outliers, or does not hold the start.
    """
    moved = in_run_axes(points, settings)
    spacing = settings.spacing_m
    low, high = (np.rint(end(moved[:, :2], axis=0) / spacing) for end in (np.min, np.max))
    columns, rows = (int(n) + 1 for n in high - low)
    if columns * rows > 4 * MOST_NODES:
        allowed = f"at most about {MOST_NODES} nodes: a larger spacing, or a smaller part of the scan"
        raise ScanError("spacing_m", f"{spacing:g} m gives {columns} x {rows} nodes", allowed)
    if triangles is not None:
        moved = top_of(moved, triangles, 0.5 * spacing)
    means = _without_outliers(moved, settings)
    low, high = means[:, :2].min(axis=0), means[:, :2].max(axis=0)
    first = np.ceil(low / spacing - 1e-6).astype(int)
    count = np.floor(high / spacing + 1e-6).astype(int) - first + 1
    if int(count[0]) * int(count[1]) > MOST_NODES:
        allowed = f"at most {MOST_NODES}: a larger spacing, or a smaller part of the scan"
        raise ScanError("spacing_m", f"{spacing:g} m gives {count[0]} x {count[1]} nodes", allowed)
    height = _fitted(means, first, count, settings)
    height, first = _trimmed(height, first, settings)
    grid = Grid(height, float(first[0] * spacing), float(first[1] * spacing), spacing)
    _check_place(grid, settings)
    _check_slope(grid)
    at_start = float(height[-first[0], -first[1]])
    return grid._replace(height=height - at_start)


def in_run_axes(points: Floats, settings: ScanSettings) -> Floats:
    """Points (points, 3) [m] from the run's start, x ahead; heights as in the file. Raises ScanError: the units."""
    height_units = settings.height_units or settings.units
    scale = np.array([METRES[settings.units], METRES[settings.units], METRES[height_units]])
    metres = points[:, _LEVEL[settings.up]] * scale
    span = np.ptp(metres, axis=0)
    if span[2] > HIGHEST_M:
        key = "height_units" if settings.height_units else "units"
        allowed = f"heights over at most {HIGHEST_M:g} m: the unit of the file (of heights: height_units), its axis up"
        raise ScanError(
            key, f"{height_units}, which gives heights over {span[2]:.4g} m{_marked(metres[:, 2])}", allowed
        )
    if not SMALLEST_M <= min(span[:2]) <= max(span[:2]) <= LARGEST_M:
        found = f"{settings.units}, which gives ground of {span[0]:.3g} x {span[1]:.3g} m"
        allowed = f"at least {SMALLEST_M:g} m each way, at most {LARGEST_M:g}: the unit of the file, and its axis up"
        raise ScanError("units", found, allowed)
    c, s = math.cos(math.radians(settings.heading_deg)), math.sin(math.radians(settings.heading_deg))
    x, y = metres[:, 0] - settings.start_m[0], metres[:, 1] - settings.start_m[1]
    return np.column_stack([c * x + s * y, c * y - s * x, metres[:, 2]])


def _marked(height: Floats) -> str:
    """In words: one value that several points share, far from all others, as programs write it for no height."""
    for end in (height.min(), height.max()):
        others = height[height != end]
        if len(height) - len(others) > 1 and others.size and np.ptp(others) < HIGHEST_M:
            return f"; {len(height) - len(others)} points have {end:.6g} m, as if for no height: remove them"
    return ""


def _without_outliers(points: Floats, settings: ScanSettings) -> Floats:
    """Points (points, 3) without outliers, thinned out where they are denser than the grid needs."""
    cell = np.rint(points[:, :2] / settings.spacing_m).astype(int)
    cell -= cell.min(axis=0)
    columns, rows = (int(n) + 1 for n in cell.max(axis=0))
    place = cell[:, 0] * rows + cell[:, 1]
    order = np.lexsort((points[:, 2], place))
    used, begin, number = np.unique(place[order], return_index=True, return_counts=True)
    median = np.full(columns * rows, np.nan)
    median[used] = points[order[begin + number // 2], 2]
    around, more = _around(median.reshape(columns, rows), settings.spacing_m)
    good = np.abs(points[:, 2] - around.ravel()[place]) <= settings.outlier_m + more.ravel()[place]
    share = 1.0 - good.mean()
    if share > MOST_OUTLIERS:
        found = f"{settings.outlier_m:g} m makes {share:.1%} of the points outliers"
        allowed = (
            f"at most {MOST_OUTLIERS:.0%}: a larger limit on rough ground, a scan that is cleaned, the unit of heights"
        )
        if settings.classes is None:
            allowed += " (height_units), or of a LAS file the points of the ground alone (classes: [2])"
        raise ScanError("outlier_m", found, allowed)
    return _thinned(points[good], 0.5 * settings.spacing_m)


def _thinned(points: Floats, cell_m: float) -> Floats:
    """Means (cells, 3) of the points in each cell: of a dense scan all that a fit needs."""
    cell = np.rint(points[:, :2] / cell_m).astype(int)
    cell -= cell.min(axis=0)
    place = cell[:, 0] * (int(cell[:, 1].max()) + 1) + cell[:, 1]
    _, where, number = np.unique(place, return_inverse=True, return_counts=True)
    means: Floats = np.column_stack([np.bincount(where, points[:, axis]) for axis in range(3)]) / number[:, None]
    return means


def _around(median: Floats, spacing_m: float) -> tuple[Floats, Floats]:
    """The ground around each cell, and what an outlier must be farther away than outlier_m, both (columns, rows) [m].

    At the border too few opposite pairs are known. There it is the median of the cells around, whose middle lies up to
    two cells aside.
    """
    columns, rows = median.shape
    wide = np.pad(median, 2, constant_values=np.nan)
    cells = {(i, j): wide[2 + i : 2 + i + columns, 2 + j : 2 + j + rows] for i in range(-2, 3) for j in range(-2, 3)}
    means = np.array([0.5 * (cells[i, j] + cells[-i, -j]) for i, j in cells if (i, j) > (0, 0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a cell without any neighbour
        found: Floats = np.nanmedian(means, axis=0)
        around = np.nanmedian(np.array(list(cells.values())), axis=0)
    few = np.isfinite(means).sum(axis=0) < _FEWEST_PAIRS
    return np.where(few, around, found), np.where(few, 2.0 * spacing_m, 0.0)


def _fitted(means: Floats, first: npt.NDArray[np.int_], count: npt.NDArray[np.int_], settings: ScanSettings) -> Floats:
    """Heights at the nodes, each of a quadratic function fitted to the points around; NaN: a hole, or outside.

    A point's weight falls off as a Gaussian whose width is the spacing, or more where points are rare: so noise is
    averaged, and the hollows between single points do not become hollows of the ground.
    """
    from scipy.spatial import cKDTree

    x, y = ((first[axis] + np.arange(count[axis])) * settings.spacing_m for axis in (0, 1))
    nodes = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    tree, height = cKDTree(means[:, :2]), np.full(len(nodes), np.nan)
    if len(means) < _NEIGHBOURS:
        raise ScanError("file", f"points in {len(means)} places", f"{_NEIGHBOURS} or more")
    hole_m = max(0.5 * settings.hole_m, 0.75 * settings.spacing_m)
    for begin in range(0, len(nodes), _AT_ONCE):
        part = nodes[begin : begin + _AT_ONCE]
        distance, near = (np.asarray(found) for found in tree.query(part, _NEIGHBOURS))
        width = np.maximum(settings.spacing_m, distance[:, _WIDTH_BY])
        away = (means[near, :2] - part[:, None]) / width[:, None, None]
        weight = np.exp(-0.5 * (away**2).sum(axis=2))
        u, v = away[..., 0], away[..., 1]
        form = np.stack([np.ones_like(u), u, v, u * u, u * v, v * v], axis=-1)
        level = means[near[:, 0], 2]  # heights are fitted over that of the nearest point, against rounding
        matrix = np.einsum("nk,nki,nkj->nij", weight, form, form) + 1e-12 * np.eye(6)
        right = np.einsum("nk,nki->ni", weight * (means[near, 2] - level[:, None]), form)
        value = np.linalg.solve(matrix, right[..., None])[:, 0, 0] + level
        aside = np.linalg.norm(np.einsum("nk,nki->ni", weight, away), axis=1) / weight.sum(axis=1)
        known = (distance[:, 0] <= hole_m) & (aside < _ASIDE)
        height[begin : begin + len(part)] = np.where(known, value, np.nan)
    return height.reshape(count[0], count[1])


def _trimmed(
    height: Floats, first: npt.NDArray[np.int_], settings: ScanSettings
) -> tuple[Floats, npt.NDArray[np.int_]]:
    """A rectangle without unknown heights: border lines are cut off, the one with most of them first."""
    unknown, first = np.isnan(height), first.copy()
    i, j = [0, height.shape[0]], [0, height.shape[1]]
    while i[1] - i[0] >= 4 and j[1] - j[0] >= 4:
        part = unknown[i[0] : i[1], j[0] : j[1]]
        shares = [part[0].mean(), part[-1].mean(), part[:, 0].mean(), part[:, -1].mean()]
        worst = int(np.argmax(shares))
        if shares[worst] == 0.0:
            if part.any():
                a, b = np.argwhere(part)[0]
                place = (first + np.array([i[0] + a, j[0] + b])) * settings.spacing_m
                found = f"{settings.hole_m:g} m, and a wider hole at x {place[0]:.2f} m, y {place[1]:.2f} m of the run"
                raise ScanError("hole_m", found, "a scan without wider holes, or a larger limit")
            return height[i[0] : i[1], j[0] : j[1]], first + np.array([i[0], j[0]])
        side = i if worst < 2 else j
        side[worst % 2] += 1 if worst % 2 == 0 else -1
    raise ScanError("spacing_m", f"{settings.spacing_m:g} m, and points too far apart for it", "at most their distance")


def _check_place(grid: Grid, settings: ScanSettings) -> None:
    columns, rows = grid.height.shape
    low, high = (grid.x, grid.y), (grid.x + (columns - 1) * grid.spacing, grid.y + (rows - 1) * grid.spacing)
    if not (low[0] < -1e-9 and high[0] > 1e-9 and low[1] < -1e-9 and high[1] > 1e-9):
        c, s = math.cos(math.radians(settings.heading_deg)), math.sin(math.radians(settings.heading_deg))
        x, y = 0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1])
        middle = [round(settings.start_m[0] + c * x - s * y, 2), round(settings.start_m[1] + s * x + c * y, 2)]
        ahead, across = (f"{a:+.2f} to {b:+.2f} m" for a, b in zip(low, high, strict=True))
        found = f"{list(settings.start_m)}, outside the scan, whose middle is at {middle}"
        allowed = f"a place on it: this one moved by {ahead} along the heading and {across} to port of it"
        raise ScanError("start_m", found, allowed)


def _check_slope(grid: Grid) -> None:
    by_x, by_y = np.gradient(grid.height, grid.spacing)
    slope = np.degrees(np.arctan(np.hypot(by_x, by_y)))
    worst = np.unravel_index(int(slope.argmax()), slope.shape)
    if slope[worst] > STEEPEST_DEG:
        x, y = grid.x + worst[0] * grid.spacing, grid.y + worst[1] * grid.spacing
        found = f"a slope of {slope[worst]:.0f} degrees at x {x:.2f} m, y {y:.2f} m of the run"
        allowed = f"at most {STEEPEST_DEG:g}: other ground, or a larger ground.scan.spacing_m or smaller outlier_m"
        raise ScanError("file", found, allowed)


# Ground [m], the rover's start being its origin; place, height and width (standard deviation) of the mound [m].
AHEAD_M, ACROSS_M = (-1.2, 6.2), (-1.5, 1.5)
PLACE_M, HEIGHT_M, WIDTH_M = (2.4, 0.1), 0.5, 0.9
# Waves of the ground around it: number, longest and shortest [m], and the standard deviation of their sum [m].
WAVES, LONGEST_M, SHORTEST_M, UNEVEN_M = 12, 3.0, 0.8, 0.008


def mound_height(x: Floats, y: Floats, seed: int) -> Floats:
    """Height [m] of the ground at places [m] of any shape; the same seed is the same ground."""
    random = np.random.default_rng([seed, 0])
    length = np.geomspace(LONGEST_M, SHORTEST_M, WAVES)
    direction, phase = random.uniform(0.0, 2.0 * np.pi, (2, WAVES))
    # long waves are higher, as of natural ground
    high = length / np.sqrt(0.5 * (length**2).sum()) * UNEVEN_M
    ground = np.zeros(np.broadcast_shapes(x.shape, y.shape))
    for one, turned, at, up in zip(length, direction, phase, high, strict=True):
        ground += up * np.sin(2.0 * np.pi / one * (np.cos(turned) * x + np.sin(turned) * y) + at)
    away = ((x - PLACE_M[0]) ** 2 + (y - PLACE_M[1]) ** 2) / WIDTH_M**2
    return ground + HEIGHT_M * np.exp(-0.5 * away)


def mound_points(seed: int, points: int = 6000, noise_m: float = 0.002, wrong: int = 12) -> Floats:
    """Scattered points (points, 3) [m] of that ground, z up.

    Args:
        seed: of ground and scanner.
        points: how many.
        noise_m: standard deviation of each height [m].
        wrong: so many of them are outliers, 0.3 to 1 m too high: dust, or a cable.
    """
    random = np.random.default_rng([seed, 1])
    x, y = random.uniform(*AHEAD_M, points), random.uniform(*ACROSS_M, points)
    z = mound_height(x, y, seed) + noise_m * random.standard_normal(points)
    z[:wrong] += random.uniform(0.3, 1.0, wrong)
    return np.column_stack([x, y, z])
