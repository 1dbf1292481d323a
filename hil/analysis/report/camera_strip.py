"""Frames of a run's camera around its impact above the traces, each with its time; of a run without one, over all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hil.analysis.film.files import CameraFrames
from hil.analysis.recording_checks import impact_time, ticks_between
from hil.analysis.report.trial_figures import AFTER_S, BEFORE_S
from hil.experiments.base import Summary
from hil.experiments.drawing import COLOURS, FigureForm, decimated, dress_panel, facts_of, run_line, save_figure
from hil.messages.layout import Layout
from hil.recording import OpenRecord
from hil.recording.camera_frames import RunFrame, frames_of
from hil.recording.content import packed

NAME = "camera"
MOST = 6  # frames


def draw_camera(
    record: OpenRecord,
    summary: Summary,
    run: Path,
    form: FigureForm = FigureForm(),  # noqa: B008
    to: str = "png",
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
    name = NAME + ("" if form.width == "screen" else f".{form.width}") + (".unverified" if form.notice else "")
    path = run / f"{name}.{to}"
    save_figure(figure, path, "Frames of the camera", facts_of(record, summary), form)
    return path


def _time(frame: RunFrame, impact_s: float | None) -> str:
    t_s = frame.t_ns * 1e-9
    return f"{t_s:.3f} s" if impact_s is None else f"{(t_s - impact_s) * 1e3:+.0f} ms"


def _draw_traces(
    axes: Axes, record: OpenRecord, span_s: tuple[float, float], origin_s: float, form: FigureForm
) -> None:
    """The sum of the forces, or of a rig without sensors the speed; and when the trigger line was on."""
    layout = Layout.from_json(str(record.meta["layout"]))
    field, label, unit = ("force_sum_N", "force sensed", "N") if layout.channels else ("speed_mps", "speed", "m/s")
    first, end = ticks_between(record, *span_s)
    rows = packed(record.tick[first:end], ["t_ns", field, *(["camera_trigger"] if layout.trigger else [])])
    t_s: Any = rows["t_ns"] * 1e-9 - origin_s
    axes.plot(*decimated(t_s, rows[field]), color=COLOURS[0], lw=form.line(1.2), label=label)
    if layout.trigger and (on := np.flatnonzero(rows["camera_trigger"])).size:
        axes.axvspan(t_s[on[0]], t_s[on[-1]], color=COLOURS[2], alpha=0.25, lw=0.0, label="trigger line on")
    dress_panel(axes, form, "", f"{label} [{unit}]")
    axes.set_xlim(span_s[0] - origin_s, span_s[1] - origin_s)
    axes.legend(loc="upper right", fontsize=form.font(8.5))


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
