"""Figures of the trials of a report, and frames of a camera above the traces of one."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon, Rectangle
from numpy.typing import NDArray

from hil.analysis.film.files import CameraFrames
from hil.analysis.recording_checks import impact_time, ticks_between
from hil.analysis.report.drawing import (
    DROPPED,
    colour_of_angle,
    legend_below,
    marker_of,
    new_figure,
    say_nothing,
)
from hil.analysis.report.force_figures import centroid_m, groups_and_angles
from hil.analysis.report.groups import Group, Trial
from hil.analysis.statistics import paired
from hil.config.schema.ground_and_obstacle import PlateConfig
from hil.config.schema.sensors import DaqConfig
from hil.experiments.base import Summary
from hil.experiments.drawing import COLOURS, decimated, dress_panel, facts_of, legend_above, run_line, save_figure
from hil.experiments.figure_form import FigureForm
from hil.messages.layout import Layout
from hil.recording import OpenRecord
from hil.recording.content import between, packed
from hil.recording.run_folder import RunFrame, frames_of

FloatArray = NDArray[np.floating[Any]]
# Shown before and after the impact [s].
BEFORE_S, AFTER_S = 0.1, 0.6
# Stretches of a trace; two points each.
BINS = 1400
_BESIDE_NS = 100_000_000


@dataclass(frozen=True)
class Trace:
    """Forces over time, equally spaced."""

    start_s: float  # time of the first point, from the impact
    step_s: float  # between two points
    names: tuple[str, ...]  # of the series: the channels, their sum, the corrected sum
    values: NDArray[np.float32]  # (series, points) [N], or [V] where no sensitivity is known
    unit: str  # N or V

    @property
    def times_s(self) -> FloatArray:
        """Of the points (points,)."""
        return self.start_s + self.step_s * np.arange(self.values.shape[1])

    def header(self) -> dict[str, Any]:
        """What a page has to know besides the values."""
        return {
            "start": self.start_s,
            "step": self.step_s,
            "points": self.values.shape[1],
            "names": list(self.names),
            "unit": self.unit,
        }

    def base64(self) -> str:
        """The values as little-endian 4-byte floats, series after series."""
        return base64.b64encode(self.values.astype("<f4").tobytes()).decode("ascii")


def trace_of(record: OpenRecord, summary: Mapping[str, Any], bins: int = BINS) -> Trace | None:
    """The forces of a trial from 0.1 s before to 0.6 s after its impact; the last 0.7 s if there was none.

    None: there are no samples.
    """
    if not len(record.daq_t_ns):
        return None
    impact_s = summary.get("impact_time_s")
    origin = float(record.daq_t_ns[-1] * 1e-9) - AFTER_S if impact_s is None else float(impact_s)
    near = between(record.daq_t_ns, *_around_ns(origin))
    times = record.daq_t_ns[near] * 1e-9
    inside = (times >= origin - BEFORE_S) & (times <= origin + AFTER_S)
    t, volts = times[inside] - origin, record.raw[near][inside]
    if len(t) < 2:
        return None
    names = Layout.from_json(str(record.meta["layout"])).channels
    forces, unit = _newtons(record, volts)
    start, step, points = min_max(t, np.column_stack([forces, forces.sum(axis=1)]), bins)
    series = [*points.T]
    shown = [*(name.replace("_", " ") for name in names), "sum"]
    if unit == "N" and len(record.tick):
        at = start + step * np.arange(len(points))
        ticks = record.tick[between(record.tick, *_around_ns(origin), "t_ns")]
        series.append(np.interp(at, ticks["t_ns"] * 1e-9 - origin, ticks["force_sum_N"]))
        shown.append("sum, corrected")
    return Trace(start, step, tuple(shown), np.array(series, np.float32), unit)


def _around_ns(origin_s: float) -> tuple[float, float]:
    """What is shown about an impact, and a tick or more on both sides of it [ns]."""
    return 1e9 * (origin_s - BEFORE_S) - _BESIDE_NS, 1e9 * (origin_s + AFTER_S) + _BESIDE_NS


def min_max(t: FloatArray, values: FloatArray, bins: int) -> tuple[float, float, FloatArray]:
    """Smallest and largest value of each stretch of time, in the order in which they came.

    Args:
        t: rising, equally spaced times (samples,) [s].
        values: (samples, series).
        bins: stretches at most.

    Returns:
        Time of the first point, time between two, and points (2 a stretch, or all samples; series).
    """
    size = -(-len(t) // bins)
    spacing = float(t[-1] - t[0]) / (len(t) - 1)
    if size < 3:
        return float(t[0]), spacing, values
    whole = -(-len(t) // size)
    padded = np.concatenate([values, np.repeat(values[-1:], whole * size - len(t), axis=0)])
    stretches = padded.reshape(whole, size, values.shape[1])
    order = np.sort(np.stack([stretches.argmin(axis=1), stretches.argmax(axis=1)], axis=1), axis=1)
    points = np.take_along_axis(stretches, order, axis=1).reshape(2 * whole, values.shape[1])
    return float(t[0]) + 0.25 * size * spacing, 0.5 * size * spacing, points


def _newtons(record: OpenRecord, volts: FloatArray) -> tuple[FloatArray, str]:
    try:
        sensitivity = np.array([float(item) for item in str(record.meta["sensitivity_VpN"]).split(",")])
        return volts / sensitivity, "N"
    except (KeyError, ValueError):
        return volts, "V"


COLUMNS, ROWS = 6, 3  # of a figure: a page takes several, and breaks between them
# The shield of the published rig, 18 x 16 in (MacMahon 2016, 6.2.3); its place on the obstacle is not published.
_SHIELD_M = (0.4572, 0.4064)
_CELL = 0.92, 0.76  # of a small multiple, in a grid of 1 x 1
_STRETCHES = 160  # of a small multiple


def small_multiples(trials: Sequence[Trial], traces: Mapping[str, Trace]) -> list[Figure]:
    """Sum of the sensors of every trial, kept or not, all at one scale; a figure a page."""
    shown = [trial for trial in trials if trial.label in traces]
    sums = {label: trace.values[trace.names.index("sum")].astype(np.float64) for label, trace in traces.items()}
    if not shown:
        return []
    low, high = min(float(y.min()) for y in sums.values()), max(float(y.max()) for y in sums.values())
    figures = []
    for first in range(0, len(shown), COLUMNS * ROWS - 1):
        part = shown[first : first + COLUMNS * ROWS - 1]
        rows = -(-(len(part) + 1) // COLUMNS)
        figure = new_figure(0.85 * rows + 0.1)
        axes = figure.add_subplot()  # one for all: each costs as much as a hundred lines
        axes.set_axis_off()
        axes.set(xlim=(0.0, COLUMNS), ylim=(-rows - 0.02, 0.0))
        _scale(axes, _corner(0), traces[part[0].label].unit, (low, high))
        for place, trial in enumerate(part, start=1):
            _cell(axes, _corner(place), trial, traces[trial.label], sums[trial.label], (low, high))
        figures.append(figure)
    return figures


def _corner(place: int) -> FloatArray:
    """Lower left corner of a cell."""
    return np.array([place % COLUMNS + 0.04, -(place // COLUMNS) - 0.95])


def _lengths(limits: tuple[float, float]) -> tuple[float, float]:
    """Of a second and of a newton (or volt), in cells."""
    return _CELL[0] / (BEFORE_S + AFTER_S), _CELL[1] / max(limits[1] - limits[0], 1e-12)


def _scale(axes: Axes, corner: FloatArray, unit: str, limits: tuple[float, float]) -> None:
    """In the first cell, and over no trace: what lengths are, and the upright line."""
    unit_s, length = _lengths(limits)
    force = 10.0 ** np.floor(np.log10(0.7 * max(limits[1], 1e-9)))
    force *= max(part for part in (1.0, 2.0, 5.0) if part * force <= 0.7 * max(limits[1], 1e-9))
    left, bar, words = corner[0] + 0.06, dict[str, Any](color="black", lw=1.4), dict[str, Any](fontsize=6)
    low = corner[1] + 0.12
    axes.plot([left, left], [low, low + force * length], **bar)
    axes.plot([left, left + 0.2 * unit_s], [low, low], **bar)
    axes.text(left + 0.04, low + 0.5 * force * length, f"{force:g} {unit}", va="center", **words)
    axes.text(left + 0.1 * unit_s, low - 0.02, "0.2 s", ha="center", va="top", **words)
    axes.text(left, corner[1] + _CELL[1] + 0.02, "scale of all", **words)


def _cell(
    axes: Axes, corner: FloatArray, trial: Trial, trace: Trace, total: FloatArray, limits: tuple[float, float]
) -> None:
    """One small multiple: trace, line of zero, name."""
    (width, height), (unit_s, unit) = _CELL, _lengths(limits)
    start, step, points = min_max(trace.times_s, total[:, None], _STRETCHES)
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


def load_points(
    groups: Sequence[Group], triangle: DaqConfig | None, plate: PlateConfig | None, wheel_radius_m: float
) -> list[Figure]:
    """Where the load acted on the plate, with the sensing triangle and the plate, seen from the rover, if anywhere."""
    figure = new_figure(4.1)
    whole, zoom = figure.subplots(1, 2)
    across, up = (1e3 * value for value in centroid_m(triangle))
    places = list(triangle.places_m) if triangle else []
    count = 0
    for place, group in enumerate(groups):
        for trial in group.trials:
            for right_m, up_m in paired([trial.row], "load_point_m.0", "load_point_m.1"):
                count += 1
                style: dict[str, Any] = dict(DROPPED)
                if trial.kept:
                    colour = colour_of_angle(float(trial.row.get("angle_deg") or 0.0))
                    style = {"marker": marker_of(place), "color": colour, "ls": "none", "ms": 4.5, "mfc": "none"}
                for axes in (whole, zoom):
                    axes.plot(1e3 * right_m + across, 1e3 * up_m + up, **style)
    if not count:
        return []
    for axes in (whole, zoom):
        if places:
            axes.add_patch(Polygon(1e3 * np.array(places), fill=False, ec="black", lw=1.2, label="sensing triangle"))
        axes.plot(0.0, 0.0, "+", color="black", ms=9, label="C, contact of a smooth wheel")
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
    some = any(not trial.kept for group in groups for trial in group.trials)
    dropped = [Line2D([], [], label="dropped trial, any angle", **DROPPED)] * some
    legend_below(figure, *groups_and_angles(groups), *dropped, *whole.get_legend_handles_labels()[0], columns=5)
    return [figure]


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
            color = ("black", "#777777")[place]
            left.step(values, share, where="post", color=color, ls=line, label=f"{words} (n = {values.size})")
            left.plot(values, share, marker_of(place), ms=2.5, color=color)
    if left.lines:
        left.set(xlabel="time since the first sample over the threshold [ms]", ylabel="share of trials", ylim=(0, 1.03))
        left.set_xlim(left=0.0)
        legend_below(figure, *left.get_legend_handles_labels()[0])
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


NAME = "camera"
MOST = 6  # frames


def draw_camera(
    record: OpenRecord,
    summary: Summary,
    run: Path,
    form: FigureForm = FigureForm(),  # noqa: B008
) -> Path | None:
    """Draw the frames of a run with its traces, as `camera.png` next to the figure of the run.

    No digest covers the frames. A `form` of another width or with a notice has another file name. Returns where it is;
    None: the run has no frames.

    Raises FolderError: the table of frames cannot be read; OSError: the figure cannot be written.
    """
    if not frames_of(run) or not len(record.tick):
        return None
    camera, impact_s = CameraFrames(run), impact_time(record, summary)
    last_s = float(record.tick[-1:]["t_ns"][0]) * 1e-9
    span = (0.0, last_s) if impact_s is None else (max(impact_s - BEFORE_S, 0.0), min(impact_s + AFTER_S, last_s))
    origin_s = 0.0 if impact_s is None else impact_s
    shown = camera.around(origin_s, origin_s - span[0], span[1] - origin_s, MOST)
    figure = Figure(form.size_in((12.0, 6.4), (90.0, 100.0)), facecolor="white")
    grid = figure.add_gridspec(
        2, MOST, height_ratios=(1.0, 2.0), hspace=0.15, wspace=0.04, left=0.07, right=0.985, top=0.9, bottom=0.09
    )
    for place, frame in enumerate(shown):
        axes = figure.add_subplot(grid[0, place])
        axes.imshow(camera.picture(frame))
        axes.set_axis_off()
        axes.set_title(f"{place + 1}: {_time(frame, impact_s)}", fontsize=form.font(9.0))
    traces = figure.add_subplot(grid[1, :])
    _draw_traces(traces, record, span, origin_s, form)
    _mark(traces, shown, origin_s, form)
    what = "t" if impact_s is None else "t from the impact"
    traces.set_xlabel(f"{what} [s]; a line for each frame above, at its time", fontsize=form.font(9.0))
    figure.suptitle(run_line(record, summary, run.name), fontsize=form.font(10.0), y=0.98)
    path = form.path(run, NAME)
    save_figure(figure, path, "Frames of the camera", facts_of(record, summary), form)
    return path


def _time(frame: RunFrame, impact_s: float | None) -> str:
    t_s = frame.t_ns * 1e-9
    return f"{t_s:.3f} s" if impact_s is None else f"{(t_s - impact_s) * 1e3:+.0f} ms"


def _draw_traces(
    axes: Axes, record: OpenRecord, span_s: tuple[float, float], origin_s: float, form: FigureForm
) -> None:
    """The sum of the forces, or of a rig without sensors the speed; and when each trigger line was on."""
    layout = Layout.from_json(str(record.meta["layout"]))
    field, label, unit = ("force_sum_N", "force sensed", "N") if layout.channels else ("speed_mps", "speed", "m/s")
    first, end = ticks_between(record, *span_s)
    levels = ["camera_trigger"] * layout.trigger + ["camera_triggers"] * bool(layout.triggers)
    rows = packed(record.tick[first:end], ["t_ns", field, *levels])
    t_s: Any = rows["t_ns"] * 1e-9 - origin_s
    axes.plot(*decimated(t_s, rows[field]), color=COLOURS[0], lw=form.line(1.2), label=label)
    named = ["trigger line"] * layout.trigger + [f"line {name}" for name in layout.triggers]
    by_line = np.column_stack([t_s, *(rows[level] for level in levels)])[:, 1:]
    for place, (line, on) in enumerate(zip(named, map(np.flatnonzero, by_line.T), strict=True), 2):
        if on.size:
            colour = COLOURS[place % len(COLOURS)]
            axes.axvspan(t_s[on[0]], t_s[on[-1]], color=colour, alpha=0.25, lw=0.0, label=f"{line} on")
    dress_panel(axes, form, "", f"{label} [{unit}]")
    axes.set_xlim(span_s[0] - origin_s, span_s[1] - origin_s)
    legend_above(axes, form)


def _mark(axes: Axes, frames: Sequence[RunFrame], origin_s: float, form: FigureForm) -> None:
    low, high = axes.get_xlim()
    for place, frame in enumerate(frames):
        t_s = frame.t_ns * 1e-9 - origin_s
        if low <= t_s <= high:
            axes.axvline(t_s, color=COLOURS[1], lw=form.line(1.0), ls=(0, (4, 3)))
            above: Any = axes.get_xaxis_transform()
            axes.text(
                t_s, 1.01, str(place + 1), transform=above, ha="center", fontsize=form.font(9.0), color=COLOURS[1]
            )
