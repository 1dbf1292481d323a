"""The figure of a walk: `walk.png`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hil.config.loading import parse_config
from hil.config.rig import Rig
from hil.config.schema.servos import DrivenJoint
from hil.control.motions.timeline import STEP_S
from hil.experiments.drawing import (
    COLOURS,
    Line,
    draw_limit,
    dress_panel,
    frame_figure,
    joint_style,
    legend_above,
    mark_phases,
    new_figure,
    over_time,
    plot_line,
    plot_wheels,
)
from hil.experiments.figure_form import FigureForm
from hil.experiments.summary_table import quantity
from hil.experiments.walk.programme import walk_timeline
from hil.messages.layout import Layout
from hil.recording import OpenRecord

Lines = dict[str, list[Line]]
_SCREEN_IN, _PRINT_MM = (12.0, 12.0), (300.0, 175.0)
# Without driven joints three panels are left.
_FEWER_IN, _FEWER_MM = (12.0, 8.0), (160.0, 120.0)
_WALK = 2


def plot_walk(record: OpenRecord, summary: Mapping[str, Any], run: str, form: FigureForm) -> Figure:
    """Draw joints, speeds of the drives, place and wheel loads over time; grey: where a phase or a motion ends."""
    config = parse_config(str(record.meta["config"]), "/meta/config")
    layout = Layout.from_json(str(record.meta["layout"]))
    driven = bool(layout.servos)
    figure = new_figure(form, *((_SCREEN_IN, _PRINT_MM) if driven else (_FEWER_IN, _FEWER_MM)))
    count = 6 if driven else 3
    grid = figure.subplots(-(-count // form.columns), form.columns, sharex=True, squeeze=False).ravel().tolist()
    panels = grid[:count]
    for empty in grid[count:]:
        empty.set_axis_off()
    drives, places, loads = panels[-3:]
    fields = {"state": 1.0, "wheel_speed_radps": 1.0, "pose": 1.0, "normal_force_N": 1.0}
    names = record.tick.dtype.names or ()
    degrees = float(np.degrees(1.0))
    of_joints = {"set_servo_angle_rad": degrees, "servo_angle_rad": degrees, "servo_torque_Nm": 1.0}
    fields |= {name: scale for name, scale in of_joints.items() if driven and name in names}
    lines = over_time(record.tick, fields)
    t_state, states = lines["state"][0]
    began_s = float(t_state[np.asarray(states) == _WALK][:1].sum())
    if driven:
        _draw_joints(panels[:3], lines, layout, config.driven_joints, form)
    plot_wheels(drives, form, layout, lines["wheel_speed_radps"])
    plot_wheels(loads, form, layout, lines["normal_force_N"], named=False)
    for element, (name, colour) in enumerate((("x", COLOURS[0]), ("y", COLOURS[1]))):
        t_s, values = lines["pose"][element]
        start = float(np.interp(began_s, t_s, values))
        plot_line(places, form, t_s, values - start, color=colour, label=f"{name}, twin")
    with suppress(ValueError):  # motions that the rover cannot make: the run was not armed
        timeline = walk_timeline(Rig(config), config.walk)
        t_s = began_s + STEP_S * np.arange(len(timeline.part))
        plot_line(places, form, t_s, timeline.path[:, 0], color="black", ls="--", label="as the motions say")
        plot_line(places, form, t_s, timeline.path[:, 1], color="black", ls="--")
    dress_panel(drives, form, "Speed of the drives", "[rad/s]")
    dress_panel(places, form, "Place of the rover in the world, since the begin", "[m]")
    dress_panel(loads, form, "Normal forces of the ground, twin", "[N]")
    for axes in (drives, places):
        legend_above(axes, form)
    for axes in panels:
        for part in summary.get("parts") or []:
            axes.axvline(began_s + part["to_s"], color="#bbbbbb", lw=form.line(0.8))
    mark_phases(panels, form, record)
    for axes in panels[-form.columns :]:
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("time [s]", fontsize=form.font(9.0))
    frame_figure(figure, form, f"Walk, advance {quantity(summary.get('advance_m'), 'm', 3)}", record, summary, run)
    return figure


def _draw_joints(
    panels: Sequence[Axes], lines: Lines, layout: Layout, joints: Sequence[DrivenJoint], form: FigureForm
) -> None:
    """Angles measured next to those set, their difference, and torques within the servos' limits."""
    angles, errors, torques = panels
    limit_Nm = max(joint.torque_limit_Nm for joint in joints)
    for place, joint in enumerate(layout.servos):
        style = joint_style(layout, place)
        t_s, measured = lines["servo_angle_rad"][place]
        set_s, asked = lines["set_servo_angle_rad"][place]
        plot_line(angles, form, t_s, measured, **style, label=joint.replace("_", " "))
        plot_line(angles, form, set_s, asked, color="black", ls="--", lw=0.8, label="" if place else "set")
        plot_line(errors, form, t_s, np.interp(t_s, set_s, asked) - measured, **style)
        if "servo_torque_Nm" in lines:
            plot_line(torques, form, *lines["servo_torque_Nm"][place], **style)
    for end in (-limit_Nm, limit_Nm):
        draw_limit(torques, form, end, "" if end < 0.0 else "limit of the servos")
    dress_panel(angles, form, "Angles of the driven joints, measured and set", "[deg]")
    dress_panel(errors, form, "Angle set less angle measured", "[deg]")
    dress_panel(torques, form, "Torques that the joints' motions take, twin", "[N m]")
    for axes in (angles, torques):
        legend_above(axes, form)
