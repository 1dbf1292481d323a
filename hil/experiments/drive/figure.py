"""The figure of a drive: `drive.png`, or as PDF or SVG, in the width of a journal's column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from hil.experiments.drawing import (
    FigureForm,
    dress_panel,
    frame_figure,
    mark_phases,
    over_time,
    plot_line,
    plot_wheels,
    share_legend,
)
from hil.experiments.motion_panels import innovation_panel, speed_panel
from hil.messages.layout import Layout
from hil.recording import OpenRecord

# Fields of a tick in the order in which they are drawn, results first, each with title and unit.
_PANELS = {
    "pull_N": ("Drawbar pull, load cell", "[N]"),
    "speed_mps": ("Forward speed of the rover, twin", "[mm/s]"),
    "slip": ("Slip, twin; dashed: wanted", "[-]"),
    "sinkage_m": ("Sinkage, twin", "[mm]"),
    "normal_force_N": ("Wheel normal forces, twin", "[N]"),
    "wheel_speed_radps": ("Wheel speeds, measured", "[rad/s]"),
    "duty": ("Duty of the drives, set", "[-]"),
    "set_speed_radps": ("Wheel speeds, set", "[rad/s]"),
}
_WANTED = ("slip_wanted",)  # in the summary
_SCREEN_IN, _PRINT_MM = (12.0, 9.0), (220.0, 135.0)


def plot_over_time(record: OpenRecord, summary: Mapping[str, Any], run: str, form: FigureForm, what: str) -> Figure:
    """Draw the results over time, then what was set: pull if measured, speed, slip, loads and sinkage, wheels."""
    layout = Layout.from_json(str(record.meta["layout"]))
    fields = {"speed_mps": 1e3, "slip": 1.0, "normal_force_N": 1.0, "sinkage_m": 1e3, "wheel_speed_radps": 1.0}
    by_duty = layout.open_loop and bool(np.any(record.tick["duty"]))
    asked = "duty" if by_duty else "set_speed_radps"
    lines = over_time(record.tick, fields | {asked: 1.0} | ({"pull_N": 1.0} if layout.load_cell else {}))
    panels = [(field, *_PANELS[field]) for field in _PANELS if field in lines]
    rows = -(-len(panels) // 2) + bool(layout.instruments)
    width, height = form.size_in(_SCREEN_IN, _PRINT_MM)
    figure = Figure((width, height * rows / 3.0), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(2 * rows // form.columns, form.columns, sharex=True).reshape(rows, 2)
    drawn = grid.ravel().tolist()[: len(panels)]
    for axes, (field, title, unit) in zip(drawn, panels, strict=True):
        if len(lines[field]) == 1:
            plot_line(axes, form, *lines[field][0], color="black")
        else:
            plot_wheels(axes, form, layout, lines[field])
        dress_panel(axes, form, title, unit)
    slip = drawn[[field for field, *_ in panels].index("slip")]
    low, high = slip.get_ylim()  # at rest slip may be anything
    slip.set_ylim(max(low, -1.05), min(high, 1.05))
    for wanted in [summary[key] for key in _WANTED if summary.get(key) is not None]:
        slip.axhline(wanted, color="black", ls="--", lw=form.line(1.0))
    for axes in grid.ravel().tolist()[len(panels) : 2 * (rows - bool(layout.instruments))]:
        axes.set_axis_off()
    if layout.instruments:
        speed_panel(grid[-1, 0], form, record)
        dress_panel(grid[-1, 0], form, "Forward speed, measured and estimated", "[mm/s]")
        innovation_panel(grid[-1, 1], form, record)
        dress_panel(grid[-1, 1], form, "Innovation over its degrees of freedom; dashed: bound", "[1]")
        for axes in grid[-1]:
            axes.legend(fontsize=form.font(8.0), frameon=False, ncols=2)
    for axes in (grid[-1] if layout.instruments else drawn)[-form.columns :]:
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("time [s]", fontsize=form.font(9.0))
    mark_phases(drawn, form, record)
    share_legend(figure, form, drawn[-1])
    frame_figure(figure, form, what, record, summary, run)
    return figure
