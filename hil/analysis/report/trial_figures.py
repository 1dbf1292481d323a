"""Every trial: its forces as small multiples, its load point on the plate, its delay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle
from numpy.typing import NDArray

from hil.analysis.report.drawing import DROPPED, MARKERS, marker_of, new_figure, plain, say_nothing
from hil.analysis.report.force_figures import centroid_m
from hil.analysis.report.groups import Group
from hil.analysis.report.traces import AFTER_S, BEFORE_S, FloatArray, Trace, min_max
from hil.analysis.report.trials import Trial
from hil.analysis.statistics import paired
from hil.config.schema.ground_and_obstacle import PlateConfig
from hil.config.schema.sensors import DaqConfig
from hil.experiments.drawing import COLOURS

COLUMNS, ROWS = 6, 9  # small multiples on a page of A4
# The shield of the published rig, 18 x 16 in (MacMahon 2016, 6.2.3); its place on the obstacle is not published.
_SHIELD_M = (0.4572, 0.4064)
_STRETCHES = 160  # of a small multiple


def small_multiples(trials: Sequence[Trial], traces: Mapping[str, Trace]) -> list[Figure]:
    """Sum of the sensors of every trial, kept or not, all at one scale; a figure a page."""
    shown = [trial for trial in trials if trial.label in traces]
    sums = {label: trace.values[trace.names.index("sum")].astype(np.float64) for label, trace in traces.items()}
    if not shown:
        return []
    low, high = min(float(y.min()) for y in sums.values()), max(float(y.max()) for y in sums.values())
    figures = []
    for first in range(0, len(shown), COLUMNS * ROWS):
        page = shown[first : first + COLUMNS * ROWS]
        rows = -(-len(page) // COLUMNS)
        figure = new_figure(0.85 * rows + 0.3)
        axes = figure.add_subplot()  # one for all: each costs as much as a hundred lines
        axes.set_axis_off()
        axes.set(xlim=(0.0, COLUMNS), ylim=(-rows - 0.12, 0.0))
        for place, trial in enumerate(page):
            trace = traces[trial.label]
            corner = np.array([place % COLUMNS + 0.04, -(place // COLUMNS) - 0.95])
            _cell(axes, corner, trial, trace, sums[trial.label], (low, high), with_scale=place == 0)
        figures.append(figure)
    return figures


def _cell(
    axes: Axes,
    corner: FloatArray,
    trial: Trial,
    trace: Trace,
    total: FloatArray,
    limits: tuple[float, float],
    *,
    with_scale: bool,
) -> None:
    """One small multiple: trace, line of zero, name; on the first of a page what a length is."""
    width, height = 0.92, 0.76
    start, step, points = min_max(trace.times_s, total[:, None], _STRETCHES)
    unit_s, unit = width / (BEFORE_S + AFTER_S), height / max(limits[1] - limits[0], 1e-12)
    x = corner[0] + (start + BEFORE_S + step * np.arange(len(points))) * unit_s
    zero = corner[1] - limits[0] * unit
    style: dict[str, Any] = (
        {"color": "#111111", "lw": 0.7} if trial.kept else {"color": "#888888", "lw": 0.7, "ls": "--"}
    )
    axes.plot([corner[0], corner[0] + width], [zero, zero], color="#cccccc", lw=0.5)
    axes.plot([corner[0] + BEFORE_S * unit_s] * 2, [corner[1], corner[1] + height], color="#cccccc", lw=0.5)
    axes.plot(x, zero + points[:, 0] * unit, **style)
    angle = trial.row.get("angle_deg")
    words = [trial.label, "" if angle is None else f"{angle:g}°", "" if trial.kept else str(trial.row.get("status"))]
    axes.text(corner[0] + 0.02, corner[1] + height + 0.02, "  ".join(words), fontsize=6, parse_math=False)
    if with_scale:
        force = 10.0 ** np.floor(np.log10(0.7 * max(limits[1], 1e-9)))
        force *= max(part for part in (1.0, 2.0, 5.0) if part * force <= 0.7 * max(limits[1], 1e-9))
        right, bar = corner[0] + width, dict[str, Any](color="black", lw=1.4)
        axes.plot([right, right], [zero + 0.1, zero + 0.1 + force * unit], **bar)
        axes.plot([right - 0.2 * unit_s, right], [zero + 0.1, zero + 0.1], **bar)
        axes.text(right - 0.03, zero + 0.1 + 0.5 * force * unit, f"{force:g} {trace.unit}", fontsize=6, ha="right")
        axes.text(right - 0.22 * unit_s, zero + 0.1, "0.2 s", fontsize=6, ha="right", va="center")


def load_points(
    groups: Sequence[Group], triangle: DaqConfig | None, plate: PlateConfig | None, wheel_radius_m: float
) -> Figure:
    """Where the load acted on the plate, with the sensing triangle and the plate, as the rover sees them."""
    figure = new_figure(4.1)
    whole, zoom = figure.subplots(1, 2)
    across, up = (1e3 * value for value in centroid_m(triangle))
    places = list(triangle.places_m) if triangle else []
    count = 0
    for place, group in enumerate(groups):
        for rows, kept in ((group.kept, True), ([trial.row for trial in group.trials if not trial.kept], False)):
            points = np.array(list(paired(rows, "load_point_m.0", "load_point_m.1"))).reshape(-1, 2) * 1e3
            count += len(points)
            style = marker_of(place) | {"ls": "none", "ms": 4.5, "mfc": "none"} if kept else dict(DROPPED)
            label = plain(f"{group.label}, {'kept' if kept else 'dropped'}")
            for axes in (whole, zoom):
                if len(points):
                    axes.plot(points[:, 0] + across, points[:, 1] + up, label=label, **style)
    if not count:
        say_nothing(whole, "no load points: the rig has no sensing triangle, or no trial hit it")
        zoom.set_visible(False)
        return figure
    for axes in (whole, zoom):
        if places:
            axes.add_patch(Polygon(1e3 * np.array(places), fill=False, ec="black", lw=1.2, label="sensing triangle"))
        axes.plot(0.0, 0.0, "+", color="black", ms=9, label="C, contact point of a smooth wheel")
        axes.set_aspect("equal")
        axes.invert_xaxis()  # port is on the left, as from the rover
        axes.set(xlabel="across, to port [mm]", ylabel="up the plate [mm]")
    for line, (outline, words) in zip(("-.", ":"), _outlines(plate, wheel_radius_m, groups), strict=False):
        outline.set(fill=False, ec="#555555", lw=1.2, ls=line, label=words)
        whole.add_patch(outline)
    whole.autoscale_view()
    whole.set_title("plate", loc="left")
    zoom.set_title("triangle", loc="left")
    whole.margins(0.08)
    zoom.margins(0.15)
    handles, labels = whole.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def _outlines(
    plate: PlateConfig | None, wheel_radius_m: float, groups: Sequence[Group]
) -> Iterator[tuple[Rectangle, str]]:
    """The plate about C [mm], and what it is; C moves up the plate with the angle, so at the least and largest one."""
    if plate is None:
        width, height = (1e3 * side for side in _SHIELD_M)
        yield Rectangle((-0.5 * width, -0.5 * height), width, height), "shield 18 x 16 in, about C"
        return
    angles = [angle for group in groups for (angle,) in paired([trial.row for trial in group.trials], "angle_deg")]
    for angle in sorted({min(angles), max(angles)} if angles else ()):
        contact = wheel_radius_m * np.tan(0.5 * np.radians(angle))  # of C, up the plane from its foot
        left, low = plate.centre_across_m - 0.5 * plate.width_m, plate.centre_up_m - 0.5 * plate.height_m - contact
        yield Rectangle((1e3 * left, 1e3 * low), 1e3 * plate.width_m, 1e3 * plate.height_m), f"plate at {angle:g}°"


def timing(trials: Sequence[Trial], work_us: NDArray[np.float64]) -> Figure:
    """Distribution of the cut's delay over the trials, and of the work of a tick over all ticks of all trials."""
    figure = new_figure(2.7)
    left, right = figure.subplots(1, 2)
    keys = (
        ("cut_latency_ms", "stop command handed over", "-"),
        ("cut_effective_ms", "drives cut, simulated rig", "--"),
    )
    for place, (key, words, line) in enumerate(keys):
        values = np.sort([value for (value,) in paired([trial.summary for trial in trials], key)])
        if values.size:
            share = np.arange(1, values.size + 1) / values.size
            left.step(values, share, where="post", color=COLOURS[place], ls=line, label=f"{words} (n = {values.size})")
            left.plot(values, share, MARKERS[place], ms=2.5, color=COLOURS[place])
    if left.lines:
        left.set(xlabel="time since the first sample over the threshold [ms]", ylabel="share of trials", ylim=(0, 1.03))
        left.set_xlim(left=0.0)
        left.legend(loc="lower right")
    else:
        say_nothing(left, "no delays in the summaries")
    if work_us.size:
        ordered = np.sort(work_us)[::-1]
        index = np.unique(np.geomspace(1, ordered.size, 400).astype(int)) - 1
        right.loglog(ordered[index], (index + 1) / ordered.size, color="black", lw=1.2)
        right.set(xlabel="work of a tick [us]", ylabel="share of ticks that take longer")
    else:
        say_nothing(right, "no records")
    return figure
