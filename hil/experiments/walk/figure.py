"""The figure of a walk: `walk.png`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from hil.config.load import parse_config
from hil.control.motions.timeline import STEP_S
from hil.experiments.drawing import COLOURS, dress_panel, over_time, plot_line, wheel_style, wheels_in_order
from hil.experiments.figure_form import FigureForm
from hil.experiments.summary_table import quantity
from hil.experiments.walk.programme import walk_timeline
from hil.messages.layout import Layout
from hil.recording import OpenRecord

_SCREEN_IN, _PRINT_MM = (12.0, 9.0), (220.0, 135.0)
_WALK = 2


def plot_walk(record: OpenRecord, summary: Mapping[str, Any], form: FigureForm) -> Figure:
    """Draw joint angles, speeds of the drives, place and wheel loads over time; grey: where a motion ends.

    Args:
        record: of the run.
        summary: as in `summary.json`.
        form: its width.
    """
    config = parse_config(str(record.meta["config"]), "/meta/config")
    layout = Layout.from_json(str(record.meta["layout"]))
    figure = Figure(form.size_in(_SCREEN_IN, _PRINT_MM), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(4 // form.columns, form.columns, sharex=True).reshape(2, 2)
    angles, drives, places, loads = grid.ravel()
    degrees = float(np.degrees(1.0))
    servos = {"set_servo_angle_rad": degrees, "servo_angle_rad": degrees} if layout.servos else {}
    lines = over_time(
        record.tick, {"state": 1.0, "wheel_speed_radps": 1.0, "pose": 1.0, "normal_force_N": 1.0, **servos}
    )
    t_state, states = lines["state"][0]
    began_s = float(t_state[np.asarray(states) == _WALK][:1].sum())
    for place, joint in enumerate(layout.servos if servos else ()):
        style = _joint_style(layout, joint)
        plot_line(angles, form, *lines["servo_angle_rad"][place], **style, label=joint.replace("_", " "))
        plot_line(angles, form, *lines["set_servo_angle_rad"][place], color="black", ls=":", lw=0.8)
    for wheel in wheels_in_order(layout):
        style = wheel_style(layout, wheel)
        plot_line(
            drives, form, *lines["wheel_speed_radps"][wheel], **style, label=layout.wheels[wheel].replace("_", " ")
        )
        plot_line(loads, form, *lines["normal_force_N"][wheel], **style)
    for element, (name, colour) in enumerate((("x", COLOURS[0]), ("y", COLOURS[1]))):
        t_s, values = lines["pose"][element]
        start = float(np.interp(began_s, t_s, values))
        plot_line(places, form, t_s, values - start, color=colour, label=f"{name}, twin")
    timeline = walk_timeline(config, config.walk)
    t_s = began_s + STEP_S * np.arange(len(timeline.part))
    plot_line(places, form, t_s, timeline.path[:, 0], color="black", ls=":", label="as the motions say")
    plot_line(places, form, t_s, timeline.path[:, 1], color="black", ls=":")
    dress_panel(angles, form, "Angles of the driven joints: measured, and set (dotted)", "[deg]")
    dress_panel(drives, form, "Speed of the drives", "[rad/s]")
    dress_panel(places, form, "Place of the rover in the world, since the begin", "[m]")
    dress_panel(loads, form, "Normal forces of the ground, twin", "[N]")
    for axes in (angles, drives, places):
        axes.margins(y=0.25)  # room for the legend
        axes.legend(fontsize=form.font(7.5), ncols=2, frameon=False, handlelength=3.0, loc="upper left")
    for axes in grid.ravel():
        for part in summary.get("parts") or []:
            axes.axvline(began_s + part["to_s"], color="#bbbbbb", lw=form.line(0.8))
    for axes in grid[1][2 - form.columns :]:
        axes.set_xlabel("time [s]", fontsize=form.font(9.0))
    verdict = "accepted" if summary.get("accepted") else "not accepted: " + "; ".join(summary.get("reasons") or [])
    title = f"Walk, advance {quantity(summary.get('advance_m'), 'm', 3)}: {verdict}"
    figure.suptitle(title[: 150 if form.columns == 2 else 60], x=0.01, ha="left", fontsize=form.font(12.0))
    figure.set_label(title)
    return figure


def _joint_style(layout: Layout, joint: str) -> dict[str, Any]:
    """As the wheel that the joint's name begins with; one of no wheel is grey."""
    for wheel, name in enumerate(layout.wheels):
        if joint.startswith(name):
            return wheel_style(layout, wheel)
    return {"color": "#777777"}
