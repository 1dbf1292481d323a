"""One picture of a run: the rover from starboard or from above, drawn by matplotlib without a screen."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.transforms import Affine2D

from hil.analysis.film.moments import HITTING, FilmedPlate, FilmedWindow, Moment
from hil.analysis.film.skeleton import Floats, body_outline, disc, grouser_lines, rim_outline, spoke_lines
from hil.analysis.film.solids import edges_of
from hil.config.model_parameters import mesh_of, nominal_rig, profile_line, relief_of
from hil.config.scan.grid import node_axes
from models.terrain import HeightMap, slope_of, surface, uneven_ground
from models.terrain.mesh import TriangleMesh

Which = Literal["side", "top", "3d"]
_BODY, _NEAR, _FAR, _LINK = "#ddaa33", "#004488", "#8fa9c9", "#333333"
_GROUND, _MARK, _PLATE, _LOAD, _FORCE = "#efe6d8", "#9a8f7d", "#bb5566", "#228833", "#cc3311"
MARKS_M = 0.1  # between marks on the ground
# Labels of the marks: so far below the ground [m], under the arrows of the mean load; and half of the width that each
# takes, as a part of that of the picture.
_LABEL_M, _LABEL_HALF = 0.24, 0.05
_AROUND_M = 0.35  # of the picture, before and behind the rover
_PLATE_M = 0.6  # length of a plate whose size the config does not say
_LOAD_M, _DISC_M = 0.2, 0.05  # length of the arrow, and radius of the disc, of the mean wheel load
_POINTS = 80  # of the line of uneven ground
_SHOWN_RISE = 0.5  # of the steepest slope: that is never all along the picture
_CONTOUR_M = 0.05  # between lines of equal height
_TURNS = 50  # headings of a run that the picture has room for
_FORCE_N, _FORCE_M = 200.0, 0.25  # length of the arrow of a force of the impact


class View:
    """Draws moments of a run into axes. `which` is side, seen from starboard, or top."""

    def __init__(self, axes: Axes, run: FilmedWindow, which: Which) -> None:
        self._axes, self._run, self._side = axes, run, which == "side"
        self._up = 2 if self._side else 1
        first = run.at(0.0)
        points = np.array(list(first.placed.origin.values()))
        if not run.skeleton.wheels:  # its bodies are large against the distances between their frames
            points = np.concatenate([points, _corners(run, first)])
        points -= first.placed.origin[run.skeleton.tree.bodies[0].name]
        self._radii_m = np.array(run.config.wheel_radii_m)
        largest = float(self._radii_m.max(initial=0.0))
        swept = _swept(points[:, :2], run.rows["pose"])
        self._back, self._front = swept[:, 0].min() - largest, swept[:, 0].max() + largest
        half = np.abs(swept[:, 1]).max() + 0.3
        top = max(points[:, 2].max() + 0.3, 2.0 * largest + 0.3)
        self._across = (-0.3, top) if self._side else (-half, half)
        ground = run.config.ground
        relief = relief_of(ground)
        self._uneven = uneven_ground(relief) if relief is not None and self._side else None
        line = profile_line(nominal_rig(run.config))
        self._profile, self._mesh = line if self._side else None, mesh_of(ground)
        self._base_height = float(first.placed.origin[run.skeleton.tree.bodies[0].name][2])
        # starboard wheels, over whose ground the side view is drawn, and port wheels
        self._track_m, self._far_track_m = float(points[:, 1].min()), float(points[:, 1].max())
        self._pitch = math.radians(ground.pitch_deg)
        # the slope is a plane through the origin; only the side shows it
        self._tilt = Affine2D().rotate(self._pitch if self._side else 0.0) + axes.transData
        slope = slope_of(self._pitch, math.radians(ground.roll_deg))
        self._normal = np.array(slope.normal if slope else (0.0, 0.0, 1.0))
        self._across = self._across[0] - self._rise(), self._across[1] + self._rise()
        self._weight_N = max(float(np.nanmean(np.nansum(run.rows["normal_force_N"], axis=1))), 1.0)
        self._grounded = bool(run.skeleton.wheels)
        axes.set_aspect("equal")
        axes.set_axis_off()
        self._ground, self._marks = self._polygons(_GROUND, 0.0), self._lines(_MARK, 1.0, 1.0)
        self._far_ground = self._lines(_MARK, 0.5, 1.0)
        self._far_ground.set_linestyle("dashed")
        if relief is not None and not self._side:
            self._draw_contours(relief)
        if self._mesh is not None and not self._side:
            self._marks.set_segments(list(edges_of(self._mesh)[:, :, :2]))
        if line is not None and not self._side:
            for x in line[1:-1, 0].tolist():
                axes.axvline(x, color=_MARK, lw=1.5, zorder=1.0)
        for plane in (self._ground, self._marks):
            plane.set_transform(self._tilt)
        self._labels = [
            axes.text(
                0.0, 0.0, "", fontsize=7.5, color=_MARK, ha="center", va="top", transform=self._tilt, clip_on=True
            )
            for _ in range(10)
        ]
        self._port = self._polygons(_FAR, 2.0), self._lines("white", 2.1, 1.2), self._lines("#5f7fa8", 2.2, 1.6)
        self._bodies = self._polygons(_BODY, 3.0, alpha=0.85)
        self._links = self._lines(_LINK, 3.5, 2.2)
        near = 4.0 if self._side else 2.5  # from above, all wheels are under the body
        rims = self._polygons(_NEAR, near)
        self._starboard = rims, self._lines("white", near + 0.1, 1.4), self._lines("#001d3d", near + 0.2, 2.0)
        self._slab = self._polygons(_PLATE, 4.9, alpha=0.35)
        self._plate = self._lines(_PLATE, 5.0, 4.0)
        self._loads, self._force = self._arrows(_LOAD, len(run.skeleton.wheels)), self._arrows(_FORCE, 1)
        self._discs = self._polygons(_LOAD, 5.5, alpha=0.8)

    def draw(self, moment: Moment) -> None:
        """Show that tick."""
        placed, skeleton = moment.placed, self._run.skeleton
        base = placed.origin[skeleton.tree.bodies[0].name]
        left = base[0] + self._back - _AROUND_M
        right = base[0] + self._front + _AROUND_M
        self._axes.set_xlim(left, right)
        height = base[0] * math.tan(self._pitch) if self._side else base[1]
        if self._uneven is not None:
            height = self._height(float(base[0]), float(base[1]))
        if self._profile is not None or (self._mesh is not None and self._side):
            height = float(base[2]) - self._base_height
        self._axes.set_ylim(self._across[0] + height, self._across[1] + height)
        stretch = 1.0 / math.cos(self._pitch) if self._side else 1.0
        if self._profile is not None:
            self._draw_line(self._profile, left, right, height)
        elif not self._grounded or (self._mesh is not None and not self._side):
            pass
        elif self._mesh is not None:
            self._marks.set_segments(list(_section(self._mesh, float(base[1]) + self._track_m)))
        elif self._uneven is None:
            self._draw_ground(left * stretch, right * stretch, 0.0 if self._side else height)
        else:
            self._draw_uneven(left, right, float(base[1]), height)
        wheels = set(skeleton.wheels)
        flat = [0, self._up]
        self._bodies.set_verts(
            [body_outline(b, placed, flat) for b in skeleton.tree.bodies if b.name not in wheels], closed=True
        )
        self._links.set_segments([self._link(j.parent, j.child, moment) for j in skeleton.joints])
        centres = np.array([placed.origin[wheel] for wheel in skeleton.wheels]).reshape(-1, 3)
        for starboard, artists in ((False, self._port), (True, self._starboard)):
            self._draw_wheels(
                [i for i, y in enumerate(centres[:, 1] - base[1]) if (y < 0.0) == starboard], moment, artists
            )
        self._draw_forces(moment, centres)

    def _rise(self) -> float:
        """By how much a slope rises or falls over half of the picture [m]."""
        reach = max(-self._back, self._front) + _AROUND_M
        if self._uneven is not None and self._uneven.relief is not None:
            return float(_SHOWN_RISE * reach * self._uneven.relief.steepest)
        if self._profile is not None:
            x, z = self._profile.T
            return float(_SHOWN_RISE * max(np.abs(np.interp(x + way, x, z) - z).max() for way in (-reach, reach)))
        return float(abs(reach * math.tan(self._pitch))) if self._side else 0.0

    def _draw_ground(self, left: float, right: float, middle: float) -> None:
        low, high = middle + self._across[0] - 1.0, 0.0 if self._side else middle + self._across[1] + 1.0
        self._ground.set_verts([[(left - 1.0, low), (right + 1.0, low), (right + 1.0, high), (left - 1.0, high)]])
        numbers = np.arange(math.ceil(left / MARKS_M), math.floor(right / MARKS_M) + 1)
        low, high = (-0.03, 0.0) if self._side else (middle + self._across[0], middle + self._across[1])
        longer = np.where(numbers % 5 == 0, 2.0, 1.0) if self._side else np.ones(len(numbers))
        self._marks.set_segments(
            [[(n * MARKS_M, low * k), (n * MARKS_M, high)] for n, k in zip(numbers, longer, strict=True)]
        )
        labelled = [n * MARKS_M for n in numbers if n % 5 == 0 and self._fits(n * MARKS_M, left, right)]
        self._label([(x, -_LABEL_M if self._side else low + 0.06) for x in labelled])

    @staticmethod
    def _fits(x: float, left: float, right: float) -> bool:
        """A label at an edge would lose its sign."""
        margin = _LABEL_HALF * (right - left)
        return left + margin < x < right - margin

    def _draw_contours(self, relief: HeightMap) -> None:
        """Lines of equal height, which stay where they are."""
        x, y = node_axes(relief)
        low, high = (round(float(edge) / _CONTOUR_M) for edge in (relief.height.min(), relief.height.max()))
        levels = _CONTOUR_M * np.arange(low, high)
        if levels.size:
            self._axes.contour(x, y, relief.height.T, levels=levels, colors=_MARK, linewidths=0.7, zorder=0.5)

    def _height(self, x: float, y: float) -> float:
        return surface(self._uneven, x, y)[0]

    def _normal_at(self, x: float, y: float) -> Floats:
        """Of the ground under a wheel; a line of hard ground carries it upright."""
        return self._normal if self._uneven is None else np.array(surface(self._uneven, x, y)[1])

    def _draw_line(self, line: Floats, left: float, right: float, middle: float) -> None:
        """The profile of hard ground, with marks as far as it goes."""
        low = middle + self._across[0] - 1.0
        shown = [(x, z) for x, z in line.tolist() if left - 1.0 < x < right + 1.0]
        ends = [(x, float(np.interp(x, line[:, 0], line[:, 1]))) for x in (left - 1.0, right + 1.0)]
        inside = [(x, z) for x, z in ends if line[0, 0] <= x <= line[-1, 0]]
        corners = sorted([*shown, *inside], key=lambda corner: corner[0])
        if corners:
            self._ground.set_verts([[(corners[0][0], low), *corners, (corners[-1][0], low)]])
        first, last = max(left, line[0, 0]), min(right, line[-1, 0])
        self._draw_marks(first, last, left, right, lambda x: float(np.interp(x, line[:, 0], line[:, 1])))

    def _draw_marks(self, first: float, last: float, left: float, right: float, z: Callable[[float], float]) -> None:
        """Marks below the ground at height z(x), from the first to the last place, and labels in the picture."""
        numbers = range(math.ceil(first / MARKS_M), math.floor(last / MARKS_M) + 1)
        tops = {n: (n * MARKS_M, z(n * MARKS_M)) for n in numbers}
        self._marks.set_segments([[(x, z - (0.06 if n % 5 == 0 else 0.03)), (x, z)] for n, (x, z) in tops.items()])
        labelled = [tops[n] for n in numbers if n % 5 == 0 and self._fits(n * MARKS_M, left, right)]
        self._label([(x, z - _LABEL_M) for x, z in labelled])

    def _label(self, places: list[tuple[float, float]]) -> None:
        """Labels of marks at these places, each with its x."""
        for text, place in zip_longest(self._labels, places[: len(self._labels)]):
            text.set_text(f"{place[0]:.1f} m" if place else "")
            if place:
                text.set_position(place)

    def _draw_uneven(self, left: float, right: float, across: float, middle: float) -> None:
        """The ground under the starboard wheels with marks below it, and a line for that under the port wheels."""
        track, low = across + self._track_m, middle + self._across[0] - 1.0
        along = np.linspace(left - 0.1, right + 0.1, _POINTS).tolist()
        line = [(x, self._height(x, track)) for x in along]
        self._far_ground.set_segments([[(x, self._height(x, across + self._far_track_m)) for x in along]])
        self._ground.set_verts([[(line[0][0], low), *line, (line[-1][0], low)]])
        self._draw_marks(left, right, left, right, lambda x: self._height(x, track))

    def _link(self, parent: str, child: str, moment: Moment) -> Floats:
        origin, axes = moment.placed
        base = self._run.skeleton.tree.bodies[0]
        start = origin[parent] + axes[parent] @ np.array(base.com) if parent == base.name else origin[parent]
        return np.array([start, origin[child]])[:, [0, self._up]]

    def _draw_wheels(self, which: list[int], moment: Moment, artists: tuple[Any, ...]) -> None:
        rims, spokes, grousers = artists
        run, flat = self._run, [0, self._up]
        wheels = [run.skeleton.tree.wheels[place] for place in which]
        rims.set_verts([rim_outline(w, w.radius, moment.placed, self._side) for w in wheels])
        spokes.set_segments([s for w in wheels for s in spoke_lines(w, w.radius, moment.placed, flat, self._side)])
        # a smooth rim has marks, so that it is seen to turn
        lines: list[Floats] = []
        for w in wheels:
            own = run.config.wheels[w.name]
            lines += grouser_lines(
                w, w.radius, own.tips_m or -0.02, own.grousers or 12, moment.placed, flat, self._side
            )
        grousers.set_segments(lines)

    def _draw_forces(self, moment: Moment, centres: Floats) -> None:
        row = moment.row
        loads_N = np.nan_to_num(np.asarray(row["normal_force_N"], float))
        length = loads_N * len(loads_N) / self._weight_N
        if self._side:  # from below, to where the wheel stands
            normals = np.array([self._normal_at(x, y) for x, y in centres[:, :2].tolist()]).reshape(-1, 3)[:, [0, 2]]
            arrows = _LOAD_M * length[:, None] * normals
            self._loads.set_offsets(centres[:, [0, 2]] - self._radii_m[:, None] * normals - arrows)
            self._loads.set_UVC(*arrows.T)
        else:  # a disc, whose area is the load
            self._discs.set_verts(
                [disc(centre[:2], _DISC_M * math.sqrt(k)) for centre, k in zip(centres, length, strict=True)]
            )
        self._draw_plate(row, centres, float(row["force_sum_N"]))

    def _draw_plate(self, row: np.void, centres: Floats, force_N: float) -> None:
        plate, run = self._run.plate, self._run
        if plate is None:
            self._force.set_UVC([0.0], [0.0])
            return
        sine, cosine = math.sin(plate.angle), math.cos(plate.angle)
        size = run.config.obstacle.plate
        low, high = (
            (0.0, _PLATE_M)
            if size is None
            else (size.centre_up_m - 0.5 * size.height_m, size.centre_up_m + 0.5 * size.height_m)
        )
        front = centres[:HITTING]
        nearer = int(np.argmin(front[:, 1]))
        point = (
            front[nearer] - run.radius_m * np.array([-sine, 0.0, cosine]) @ plate.axes(nearer)[1]
        )  # of a smooth wheel
        across, up = np.nan_to_num(np.asarray(row["load_point_m"], float) + plate.centroid, nan=0.0)
        at = point + np.array([cosine * up, across, sine * up]) @ plate.axes(nearer)[1]
        flat = [0, self._up]
        push = _FORCE_M * max(force_N, 0.0) / _FORCE_N * np.array([sine, 0.0, -cosine]) @ plate.axes(nearer)[1]
        self._force.set_offsets([at[flat]])
        self._force.set_UVC(*push[flat, None])
        if self._side:
            ends = self._edges(plate, nearer, front[nearer], [0.0], low, high)
            self._plate.set_segments([ends[:, flat]])
            return
        half = 0.5 * (_PLATE_M if size is None else size.width_m)
        corners = [self._edges(plate, i, wheel, [-half, half], low, high) for i, wheel in enumerate(front)]
        feet = [self._edges(plate, i, wheel, [-half, half], 0.0, 0.0)[:2] for i, wheel in enumerate(front)]
        self._plate.set_segments([foot[:, :2] for foot in feet])
        self._slab.set_verts([four[[0, 1, 3, 2], :2] for four in corners])

    @staticmethod
    def _edges(plate: FilmedPlate, which: int, wheel: Floats, asides: list[float], low: float, high: float) -> Floats:
        """Points (2 asides, 3) [m] of the plate before a wheel, so far to its side: all low ones, then high ones."""
        origin, axes = plate.axes(which)
        sine, cosine = math.sin(plate.angle), math.cos(plate.angle)
        left = float(axes[1] @ (wheel - origin))
        local = [[plate.foot + up * cosine, left + aside, up * sine] for up in (low, high) for aside in asides]
        return np.asarray(origin + np.array(local) @ axes)

    def _polygons(self, colour: str, order: float, alpha: float = 1.0) -> PolyCollection:
        made = PolyCollection([], facecolors=colour, edgecolors="none", zorder=order, alpha=alpha)
        self._add(made)
        return made

    def _lines(self, colour: str, order: float, width: float) -> LineCollection:
        made = LineCollection([], colors=colour, linewidths=width, zorder=order, capstyle="round")
        self._add(made)
        return made

    def _add(self, made: Collection) -> None:
        made.set_transform(self._axes.transData)
        self._axes.add_collection(made, autolim=False)

    def _arrows(self, colour: str, count: int) -> Any:
        nothing = np.zeros(count)
        made = self._axes.quiver(
            nothing, nothing, nothing, nothing, color=colour, angles="xy", scale_units="xy", scale=1.0, width=0.005,
            zorder=6.0, minlength=0.0,
        )  # fmt: skip
        return made


def _section(mesh: TriangleMesh, y: float) -> Floats:
    """Lines (lines, 2, 2) in x and z [m] where an upright plane along the drive cuts a mesh."""
    off = mesh.corner[:, :, 1] - y
    off[off == 0.0] = 1e-9
    corner, off = (one[(off > 0.0).any(axis=1) & (off < 0.0).any(axis=1)] for one in (mesh.corner, off))
    after, later = np.roll(corner, -1, axis=1), np.roll(off, -1, axis=1)
    cut = off * later < 0.0  # two edges of each triangle
    share = (off[cut] / (off[cut] - later[cut]))[:, np.newaxis]
    points = corner[cut] + share * (after[cut] - corner[cut])
    ends: Floats = points[:, [0, 2]].reshape(-1, 2, 2)
    return ends


def _corners(run: FilmedWindow, moment: Moment) -> Floats:
    """Corners (n, 3) of the boxes of all bodies [m]."""
    signs = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    origin, axes = moment.placed
    each = [
        origin[body.name] + (np.array(body.com) + signs * np.array(body.size or body.box)) @ axes[body.name].T
        for body in run.skeleton.tree.bodies
    ]
    return np.concatenate(each)


def _swept(points: Floats, poses: Floats) -> Floats:
    """Where points about the base come to as it turns over a run, world axes.

    Points (n, 2) at the first pose [m], poses (ticks, 7).
    """
    x, y, z, w = poses[:: max(len(poses) // _TURNS, 1), 3:].astype(float).T
    yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    turn = np.exp(1j * (yaw - yaw[0]))[:, None] * (points[:, 0] + 1j * points[:, 1])
    return np.stack([turn.real.ravel(), turn.imag.ravel()], axis=1)


def headline(run: FilmedWindow) -> str:
    """What is filmed: the run, its config and rig, and whether it was simulated."""
    config = run.config
    angle = f", {config.trial.angle_deg:g} degrees" if run.plate else ""
    return f"{run.name}: {config.name}{angle}, {'real rig' if config.rig == 'real' else 'SIMULATED'}"


def caption(run: FilmedWindow, moment: Moment) -> tuple[str, str]:
    """Two lines over a picture: the moment, and the numbers of its tick."""
    row = moment.row
    where = "" if run.impact_s is None else f", impact {(moment.t_s - run.impact_s) * 1e3:+.1f} ms"
    state = run.states.get(int(row["state"]), str(row["state"]))
    first = f"t = {moment.t_s:.4f} s{where}    {state}{', drives cut' * bool(row['cut'])}"
    parts = [f"distance {_number(row['way_m'], 4)} m", f"speed {_number(row['speed_mps'], 4)} m/s"]
    if run.config.section.captures:
        parts = [
            f"payload before the seat {_number(row['gap_m'] * 1e3, 1)} mm",
            f"T_c {_number(row['effective_kinetic_energy_J'], 4)} J",
        ]
    if not run.plate and len(row["sinkage_m"]):
        parts.append(f"deepest wheel {_number(np.max(row['sinkage_m']) * 1e3, 1)} mm")
    if run.plate:
        parts.append(f"gap {_number(row['gap_m'] * 1e3, 2)} mm")
        parts.append(f"T_c {_number(row['effective_kinetic_energy_J'], 4)} J")
    if run.config.layout.channels:
        parts.append(f"force sensed {_number(row['force_sum_N'], 1)} N")
    return first, "    ".join(parts)


def _number(value: float, decimals: int) -> str:
    return f"{round(float(value), decimals) + 0.0:.{decimals}f}"  # + 0.0: no -0


def make_figure(panels: int, which: Which) -> tuple[Figure, list[Axes]]:
    """A figure with so many pictures in rows, and their axes; matplotlib's in three dimensions are square."""
    solid = which == "3d"
    columns = min(panels, 3 if solid else 2)
    rows = math.ceil(panels / columns)
    size = ((7.2, 7.8), (15.0, 5.5 * rows)) if solid else ((9.6, 5.4), (15.0, 4.3 * rows))
    figure = Figure(size[panels > 1], dpi=100, facecolor="white")
    kind = {"projection": "3d"} if solid else {}
    axes = np.atleast_1d(figure.subplots(rows, columns, squeeze=False, subplot_kw=kind)).ravel().tolist()
    figure.subplots_adjust(0.01, 0.01, 0.99, 0.93 if panels > 1 else 0.85, 0.03, 0.16)
    for empty in axes[panels:]:
        empty.set_axis_off()
    return figure, axes[:panels]
