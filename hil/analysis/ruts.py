"""Ruts of a run, from the scan that it drove over and one made after it (Petersen 2012, 6.1.1: LIDAR before and after).

Both scans become height maps. The later one is registered to the earlier one where no wheel went: a small shift and
turn by least squares, with weights (Tukey) that leave out what differs by more than the scans' noise. The difference is
the depth of the ruts. Its uncertainty has two parts: that of the registration, and what both scans differ by where no
wheel went. Errors of neighbouring nodes go together, because a height is fitted to the points around it: their
covariance over the distance is measured where no wheel went, and gives the uncertainty of a mean.
"""

from __future__ import annotations

import math
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.interpolate import RectBivariateSpline
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist, squareform

from hil.analysis.film.moments import filmed
from hil.config import Config, ConfigError, Problem
from hil.config.command_requirements import ground_of, refuse_unfit
from hil.config.scan.file import ScanFile
from hil.config.scan.grid import Grid, node_axes
from hil.config.scan.map_text import grid_from
from hil.experiments.drawing import COLOURS, dress_panel, new_panels, save_study, share_legend, study_facts
from hil.experiments.figure_form import FigureForm
from hil.experiments.summary import finite
from hil.recording.run_folder import file_in

if TYPE_CHECKING:
    from hil.analysis.film.moments import FilmedWindow

Floats = npt.NDArray[np.float64]

# The scans are placed in the same axes within this, one standard deviation: shift [m] and turn [rad] of each axis.
_SHIFT_SD_M, _TURN_SD = 0.05, math.radians(1.0)
_ROUNDS, _TUKEY, _TO_SD = 20, 4.685, 1.4826
_TRACK_STEP_M = 0.01
_FEWEST_NODES = 500
# Farthest distance at which errors may go together [m], and most nodes whose pairs are looked at.
_FARTHEST_M, _MOST_NODES = 1.5, 2000
RUT_COLUMNS = ("track of", "depth [mm]", "by the model", "deepest", "volume [l]", "heaps [l]")


class _Registration(NamedTuple):
    """How the later scan lies in the axes of the earlier one.

    Attributes:
        shift_m: (3,) to add to the later scan, at the middle of both.
        turn_deg: (3,) about the axes of the run, after that.
        u95: (6,) half-widths of the 95 % intervals, as shift [m] and turn [deg].
        noise_m: standard deviation of the difference of one node next to the ruts.
    """

    shift_m: list[float]
    turn_deg: list[float]
    u95: list[float]
    noise_m: float


class _WheelRut(NamedTuple):
    """Ground under the track of one wheel.

    Attributes:
        wheel: its name.
        length_m: of the track.
        depth_m: mean over the inner half of the track, and half-width of its 95 % interval.
        deepest_m: 95 % of the nodes there are less deep.
        model_m: mean of the deepest sinkage of any wheel that passed, by the rover twin.
        volume_m3: of the rut, over the wheel's width and a node more to each side, and half-width.
        heaps_m3: by which the ground rose next to that, up to 1.5 widths from the middle, and half-width; NaN: no node.
    """

    wheel: str
    length_m: float
    depth_m: tuple[float, float]
    deepest_m: float
    model_m: float
    volume_m3: tuple[float, float]
    heaps_m3: tuple[float, float]

    @property
    def cells(self) -> tuple[str, ...]:
        """Its numbers for a table, with the columns `RUT_COLUMNS`."""
        return (
            self.wheel.replace("_", " "), _with_interval(self.depth_m, 1), f"{1e3 * self.model_m:.1f}",
            f"{1e3 * self.deepest_m:.1f}", _with_interval(self.volume_m3, 2), _with_interval(self.heaps_m3, 2),
        )  # fmt: skip


def _with_interval(value: tuple[float, float], digits: int) -> str:
    return "-" if math.isnan(value[0]) else f"{1e3 * value[0]:.{digits}f} ± {1e3 * value[1]:.{digits}f}"


class MeasuredRuts(NamedTuple):
    """What a run left behind: depth (columns, rows) [m] at the nodes of the later scan, NaN off the earlier one."""

    name: str
    config: Config
    x: Floats
    y: Floats
    depth: Floats
    registration: _Registration
    wheels: list[_WheelRut]
    tracks: list[Floats]
    profiles: list[Floats]

    def as_json(self) -> dict[str, Any]:
        """All but the map."""
        return {
            "run": self.name,
            "registration": self.registration._asdict(),
            "wheels": [rut._asdict() | {"heaps_m3": [*map(finite, rut.heaps_m3)]} for rut in self.wheels],
        }


def measure_ruts(run: Path, after: Path, spacing_m: float = 0.05, *, unverified: bool = False) -> MeasuredRuts:
    """The ruts of a run.

    Args:
        run: folder of a run on a scan.
        after: file of the later scan, in the units and axes of the earlier one.
        spacing_m: of the nodes of its height map; at most half of a wheel's width.
        unverified: also of a run that does not match its digests.

    Raises:
        ConfigError: the run was not on a scan, or the file is not one that can be compared with it.
        RecordError, UnverifiedRunError, FolderError: as `hil.analysis.film.moments.filmed`.
    """
    shown = filmed(run, None, None, unverified=unverified)
    refuse_unfit(shown.config, "ruts", ground_of("scan"))
    scan = shown.config.ground.scan
    assert scan is not None
    assert scan.map is not None
    earlier = grid_from(scan.map)
    widths = [wheel.width for wheel in shown.skeleton.tree.wheels]
    widest = 0.5 * min(widths)
    if spacing_m > widest:
        raise _refused("--spacing", f"{spacing_m:g} m", f"at most {widest:g} m, half of a wheel's width")
    later = _later_grid(shown, after, spacing_m)
    tracks, sinkage = _tracks(shown)
    found = HeightDifference(later, earlier, tracks, max(widths), f"{after}")
    area, wheels, profiles = spacing_m**2, [], []
    for mount, track in zip(shown.skeleton.tree.wheels, tracks, strict=True):
        away, nearest = _nearest(track, found.place)
        # a height map smooths the walls of a rut over a node or two
        inner, edge = away <= 0.25 * mount.width, 0.5 * mount.width + spacing_m
        rut, margin = away <= edge, (away > edge) & (away <= 1.5 * mount.width)
        if not inner.any():
            raise _refused(
                "AFTER", f"{after}: no node on the track of {mount.name}", "a scan of the ground driven over"
            )
        model = _deepest(tracks, sinkage, found.place[inner], mount.width)
        deepest = float(np.quantile(found.depth[inner], 0.95))
        length = float(np.hypot(*np.diff(track, axis=0).T).sum())
        sunk, heap = found.mean(rut), found.mean(margin)
        wheels.append(
            _WheelRut(
                mount.name, length, found.mean(inner), deepest, float(model.mean()),
                (sunk[0] * area * int(rut.sum()), sunk[1] * area * int(rut.sum())),
                (-heap[0] * area * int(margin.sum()), heap[1] * area * int(margin.sum())),
            )
        )  # fmt: skip
        profiles.append(_profile(np.multiply(nearest[inner], _TRACK_STEP_M), found.depth[inner], model))
    depth = np.full(later.height.shape, np.nan)
    depth.reshape(-1)[found.kept] = found.depth
    x, y = node_axes(later)
    return MeasuredRuts(shown.name, shown.config, x, y, depth, found.registration(), wheels, tracks, profiles)


def ruts_in_folder(run: Path, *, unverified: bool = False) -> MeasuredRuts | None:
    """The ruts of a run whose folder has the scan after it, as `after.ply`, `after.csv`; None: it has none.

    Raises as `measure_ruts`.
    """
    after = next(iter(sorted(run.glob("after.*"))), None)
    return None if after is None else measure_ruts(run, file_in(run, after.name), unverified=unverified)


def _refused(key: str, found: str, allowed: str) -> ConfigError:
    return ConfigError("ruts", [Problem(key, found, allowed)])


def _later_grid(shown: FilmedWindow, after: Path, spacing_m: float) -> Grid:
    """Read the later scan as the earlier one was read, with nodes as close as asked for."""
    scan = shown.config.ground.scan
    assert scan is not None
    section = scan.model_dump(mode="json") | {"file": str(after.resolve()), "map": None, "spacing_m": spacing_m}
    raw: dict[str, Any] = {"ground": {"kind": "scan", "scan": section}}
    problems = ScanFile().put(raw, Path())
    if problems:
        raise ConfigError(str(after), problems)
    return grid_from(section["map"])


def _tracks(shown: FilmedWindow) -> tuple[list[Floats], list[Floats]]:
    """Where each wheel went (points, 2) [m], a point every `_TRACK_STEP_M`, and how deep it was in the ground [m]."""
    rows, skeleton = shown.rows, shown.skeleton
    driven = np.concatenate([[0.0], np.hypot(*np.diff(rows["pose"][:, :2].astype(float), axis=0).T).cumsum()])
    chosen = np.unique(np.searchsorted(driven, np.arange(0.0, driven[-1], _TRACK_STEP_M)))
    turned = [0.0] * len(skeleton.wheels)
    poses = [skeleton.place(rows["pose"][i], rows["joint_angle_rad"][i], turned) for i in chosen]
    tracks = [np.array([placed.origin[wheel][:2] for placed in poses], float) for wheel in skeleton.wheels]
    return tracks, list(rows["sinkage_m"][chosen].astype(float).T)


def _nearest(track: Floats, place: Floats) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Distance of each place from a track [m], and number of the nearest point of it."""
    away, nearest = cKDTree(track).query(place)
    return np.asarray(away, np.float64), np.asarray(nearest)


def _deepest(tracks: list[Floats], sinkage: list[Floats], place: Floats, width: float) -> Floats:
    """Deepest sinkage of any wheel whose track passed a place [m]."""
    found = np.zeros(len(place))
    for track, sunk in zip(tracks, sinkage, strict=True):
        away, nearest = _nearest(track, place)
        found = np.where(away <= 0.5 * width, np.maximum(found, sunk[nearest]), found)
    return found


def _profile(along: Floats, depth: Floats, model: Floats) -> Floats:
    """Means over 50 mm of the track: distance [m], depth [m], depth by the model [m]."""
    part = (along / 0.05).astype(int)
    number = np.bincount(part)
    full = number > 0
    means = [np.bincount(part, values)[full] / number[full] for values in (along, depth, model)]
    return np.column_stack(means)


class HeightDifference:
    """Difference of two height maps next to tracks and on them, with the later map registered to the earlier one.

    Args:
        later: the map after.
        earlier: the map before.
        tracks: (points, 2) of each wheel [m].
        width: of the widest wheel [m]; ground within it of a track does not count for the registration.
        name: of the later scan.

    Attributes:
        kept: numbers of the nodes of the later map that lie over the earlier one.
        place: (nodes, 2) of these [m].
        depth: (nodes,) below the earlier scan [m].

    Raises:
        ConfigError: too few nodes next to the tracks.
    """

    def __init__(self, later: Grid, earlier: Grid, tracks: list[Floats], width: float, name: str) -> None:
        x, y = (values.reshape(-1) for values in np.meshgrid(*node_axes(later), indexing="ij"))
        (left, right), (low, high) = (values[[0, -1]] for values in node_axes(earlier))
        margin = 3.0 * _SHIFT_SD_M
        inside = (x > left + margin) & (x < right - margin) & (y > low + margin) & (y < high - margin)
        self.kept, self.place = np.flatnonzero(inside), np.column_stack([x, y])[inside]
        self._height, self._spacing = later.height.reshape(-1)[inside], later.spacing
        self._surface = RectBivariateSpline(*node_axes(earlier), earlier.height, kx=2, ky=2)
        away, _ = _nearest(np.concatenate(tracks), self.place)
        free = away > width
        if free.sum() < _FEWEST_NODES:
            allowed = f"at least {_FEWEST_NODES}: a scan that reaches farther to both sides, or a smaller --spacing"
            raise _refused("AFTER", f"{name}: {free.sum()} nodes next to the ruts and on the earlier scan", allowed)
        self._middle = np.array([*self.place.mean(axis=0), self._height.mean()])
        self._register(free)

    def _register(self, free: npt.NDArray[np.bool_]) -> None:
        self._moved = np.zeros(6)
        prior = np.diag([_SHIFT_SD_M**-2, _SHIFT_SD_M**-2, 0.0, _TURN_SD**-2, _TURN_SD**-2, _TURN_SD**-2])
        apart, _ = self._apart()
        self._moved[2] = float(np.median(-apart[free]))
        for _ in range(_ROUNDS):
            apart, slopes = self._apart()
            sd = _TO_SD * float(np.median(np.abs(apart[free]))) + 1e-9
            weight = np.where(free, np.clip(1.0 - (apart / (_TUKEY * sd)) ** 2, 0.0, None) ** 2, 0.0)
            normal = (slopes * weight[:, None]).T @ slopes / sd**2 + prior
            step = np.linalg.solve(normal, (slopes * weight[:, None]).T @ apart / sd**2 + prior @ self._moved)
            self._moved = self._moved - step
            if np.abs(step).max() < 1e-8:
                break
        apart, self._slopes = self._apart()
        self.depth = -apart
        self._sd = _TO_SD * float(np.median(np.abs(apart[free])))
        self._reach, self._covariances = self._measured_covariance(free)
        together = float(self._covariance_between(free).mean()) * free.sum() / self._covariances[0]
        self._covariance = np.linalg.inv(
            self._slopes[free].T @ self._slopes[free] / (self._covariances[0] * together) + prior
        )

    def _measured_covariance(self, free: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Distances [m], and covariance of the errors of two free nodes so far apart [m2], 0 from its first zero on."""
        place, error = self._some(free), self._some(free, self.depth)
        number = (pdist(place) / self._spacing).astype(int)
        products = np.multiply.outer(error, error)[np.triu_indices(len(error), 1)]
        near = number < _FARTHEST_M / self._spacing
        count = np.bincount(number[near])
        means = np.bincount(number[near], products[near]) / np.maximum(count, 1)
        means = np.where(np.cumsum(means <= 0.0) > 0, 0.0, means)
        return np.arange(len(means) + 1, dtype=np.float64) * self._spacing, np.concatenate(
            [[float((error**2).mean())], means]
        )

    def _covariance_between(self, chosen: npt.NDArray[np.bool_]) -> Floats:
        """Covariance of the errors of each two of the chosen nodes [m2]; of many, of some of them."""
        apart = squareform(pdist(self._some(chosen)))
        covariance: Floats = np.interp(apart, self._reach, self._covariances)
        return covariance

    def _some(self, chosen: npt.NDArray[np.bool_], values: Floats | None = None) -> Floats:
        """Places, or other values, of at most `_MOST_NODES` of the chosen nodes, spread evenly over them."""
        number = np.flatnonzero(chosen)
        some = number[np.linspace(0, len(number) - 1, min(len(number), _MOST_NODES)).astype(int)]
        chosen_values: Floats = (self.place if values is None else values)[some]
        return chosen_values

    def _apart(self) -> tuple[Floats, Floats]:
        """Height of each moved node over the earlier scan [m], and how it changes with the six numbers (nodes, 6)."""
        shift, turn = self._moved[:3], self._moved[3:]
        arm = np.column_stack([self.place, self._height]) - self._middle
        placed = self._middle + arm + shift + np.cross(turn, arm)
        x, y = placed[:, 0], placed[:, 1]
        over: Floats = placed[:, 2] - np.asarray(self._surface.ev(x, y), float)
        normal = np.column_stack([-self._surface.ev(x, y, dx=1), -self._surface.ev(x, y, dy=1), np.ones(len(x))])
        slopes: Floats = np.hstack([normal, np.cross(arm, normal)])
        return over, slopes

    def mean(self, chosen: npt.NDArray[np.bool_]) -> tuple[float, float]:
        """Mean depth of the chosen nodes [m], and half-width of its 95 % interval; NaN: there is none."""
        if not chosen.any():
            return math.nan, math.nan
        slope = self._slopes[chosen].mean(axis=0)
        variance = float(self._covariance_between(chosen).mean()) + float(slope @ self._covariance @ slope)
        return float(self.depth[chosen].mean()), 1.96 * math.sqrt(variance)

    def registration(self) -> _Registration:
        """What was found, for people."""
        degrees = np.array([1.0] * 3 + [math.degrees(1.0)] * 3)
        moved, u95 = self._moved * degrees, 1.96 * np.sqrt(np.diag(self._covariance)) * degrees
        return _Registration(moved[:3].tolist(), moved[3:].tolist(), u95.tolist(), self._sd)


def draw_ruts(ruts: MeasuredRuts, form: FigureForm, folder: Path) -> Path:
    """Draw the map of depths with the tracks, and the depth along each track next to the model's, into a folder."""
    figure, (over, under) = new_panels(form, 2, 3.6)
    most = 1e3 * max(rut.deepest_m for rut in ruts.wheels)
    drawn = over.pcolormesh(ruts.x, ruts.y, 1e3 * ruts.depth.T, cmap="RdBu", vmin=-most, vmax=most, shading="nearest")
    bar = figure.colorbar(drawn, ax=over, label="depth [mm]")
    bar.ax.tick_params(labelsize=form.font(8.0))
    bar.ax.yaxis.label.set_fontsize(form.font(9.0))
    for track in ruts.tracks:
        over.plot(*track.T, color="black", lw=form.line(0.7))
    over.set_aspect("equal")
    dress_panel(over, form, "Depth below the ground before, and tracks", "to port [m]", "ahead of the start [m]")
    over.grid(visible=False)
    for rut, profile, colour in zip(ruts.wheels, ruts.profiles, cycle(COLOURS), strict=False):
        along, *depths = profile.T
        name, wide = rut.wheel.replace("_", " "), form.line(1.6)
        under.plot(along, 1e3 * depths[0], color=colour, lw=wide, label=f"{name}: measured")
        under.plot(along, 1e3 * depths[1], "--", color=colour, lw=form.line(1.0), label=f"{name}: sinkage of the twin")
    under.set_ylim(bottom=min(0.0, under.get_ylim()[0]))
    dress_panel(under, form, "Depth along the tracks", "depth [mm]", "distance along the track [m]")
    share_legend(figure, form, under)
    path = form.path(folder, "ruts")
    save_study(figure, form, path, f"Ruts of {ruts.name}", study_facts(ruts.config))
    return path
