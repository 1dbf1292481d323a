"""The figure of a drive: `drive.png`, or as PDF or SVG, in the width of a journal's column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from hil.experiments.drawing import dress_panel, over_time, plot_line, wheel_style, wheels_in_order
from hil.experiments.figure_form import FigureForm
from hil.experiments.motion_panels import innovation_panel, speed_panel
from hil.messages.layout import Layout
from hil.recording import OpenRecord

_SCREEN_IN, _PRINT_MM = (12.0, 9.0), (220.0, 135.0)


def plot_over_time(record: OpenRecord, summary: Mapping[str, Any], form: FigureForm, what: str) -> Figure:
    """Draw wheel speeds set and measured, slip, normal forces, sinkage and rover speed over time.

    Args:
        record: of the run.
        summary: as in `summary.json`.
        form: its width.
        what: has been driven, for the title.
    """
    layout = Layout.from_json(str(record.meta["layout"]))
    width, height = form.size_in(_SCREEN_IN, _PRINT_MM)
    figure = Figure((width, height * (1.0 + bool(layout.instruments) / 3.0)), layout="constrained")
    FigureCanvasAgg(figure)
    rows = 3 + bool(layout.instruments)
    grid = figure.subplots(2 * rows // form.columns, form.columns, sharex=True).reshape(rows, 2)
    scales = {"wheel_speed_radps": 1.0, "slip": 1.0, "normal_force_N": 1.0, "sinkage_m": 1e3}
    lines = over_time(record.tick, scales | {"set_speed_radps": 1.0, "speed_mps": 1e3})
    panels = (
        (grid[0, 0], "wheel_speed_radps", "Wheel speeds, measured", "[rad/s]"),
        (grid[0, 1], "slip", "Slip, twin", "[-]"),
        (grid[1, 0], "normal_force_N", "Wheel normal forces, twin", "[N]"),
        (grid[1, 1], "sinkage_m", "Sinkage, twin", "[mm]"),
    )
    for axes, field, title, unit in panels:
        for wheel in wheels_in_order(layout):
            style = {"label": layout.wheels[wheel].replace("_", " ")} | wheel_style(layout, wheel)
            plot_line(axes, form, *lines[field][wheel], **style)
        dress_panel(axes, form, title, unit)
    for wheel in wheels_in_order(layout):
        plot_line(grid[2, 0], form, *lines["set_speed_radps"][wheel], **wheel_style(layout, wheel))
    dress_panel(grid[2, 0], form, "Wheel speeds, set", "[rad/s]")
    plot_line(grid[2, 1], form, *lines["speed_mps"][0], color="black")
    dress_panel(grid[2, 1], form, "Forward speed of the rover, twin", "[mm/s]")
    if layout.instruments:
        speed_panel(grid[3, 0], form, record)
        dress_panel(grid[3, 0], form, "Forward speed, measured and estimated", "[mm/s]")
        innovation_panel(grid[3, 1], form, record)
        dress_panel(grid[3, 1], form, "Innovation over its degrees of freedom; dashed: bound", "[1]")
        for axes in grid[3]:
            axes.legend(fontsize=form.font(8.0), frameon=False, ncols=2)
    for axes in grid[-1][2 - form.columns :]:
        axes.set_xlabel("time [s]", fontsize=form.font(9.0))
    grid[0, 0].legend(fontsize=form.font(8.0), ncols=2, frameon=False, handlelength=3.0)
    verdict = "accepted" if summary.get("accepted") else "not accepted: " + "; ".join(summary.get("reasons") or [])
    title = f"{what}: {verdict}"
    figure.suptitle(title[: 150 if form.columns == 2 else 60], x=0.01, ha="left", fontsize=form.font(12.0))
    figure.set_label(title)
    return figure
