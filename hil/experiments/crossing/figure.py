"""The figure of a crossing: `crossing.png`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

from hil.config.loading import parse_config
from hil.config.model_parameters import nominal_rig
from hil.experiments.crossing.judgement import Course, Floats
from hil.experiments.drawing import (
    FigureForm,
    dress_panel,
    frame_figure,
    mark_phases,
    new_figure,
    over_time,
    plot_line,
    plot_wheels,
    share_legend,
    wheel_style,
    wheels_in_order,
)
from hil.messages.layout import Layout
from hil.recording import OpenRecord
from models.plant import RigParameters

_SCREEN_IN, _PRINT_MM = (12.0, 10.0), (260.0, 150.0)
_GROUND = "#9a8f7d"
_BELOW = 0.1  # of the weight: friction on an upright face pulls a wheel down
_AROUND_M = 0.2  # of the profile that is shown, before and behind the axles


def plot_crossing(record: OpenRecord, summary: Mapping[str, Any], run: str, form: FigureForm) -> Figure:
    """Draw the axles' paths over the profile, and height and pitch, wheel loads, slip and speeds over time."""
    config = parse_config(str(record.meta["config"]), "/meta/config")
    nominal, layout = nominal_rig(config), Layout.from_json(str(record.meta["layout"]))
    figure = new_figure(form, _SCREEN_IN, _PRINT_MM)
    grid = figure.subplots(6 // form.columns, form.columns, squeeze=False).ravel().tolist()
    side, height, loads, slip, speeds, pitch = grid
    fields = {"pose": 1.0, "joint_angle_rad": 1.0}
    fields |= {"normal_force_N": 1.0, "slip": 1.0, "wheel_speed_radps": 1.0}
    lines = over_time(record.tick, fields, ("joint_angle_rad",))
    # a line may be decimated by other rows than the next one: all on one grid of times
    begin_s, end_s = (float(lines["pose"][0][0][end]) for end in (0, -1))
    t_s = np.linspace(begin_s, end_s, 700)
    poses = np.stack([np.interp(t_s, *line) for line in lines["pose"]], axis=1)
    poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1)[:, None]
    angles = np.array([np.interp(t_s, *line) for line in lines["joint_angle_rad"]]).reshape(-1, len(t_s)).T
    _draw_side(side, form, Course(nominal), layout, poses, angles)
    plot_line(height, form, t_s, poses[:, 2] - poses[0, 2], color="black")
    plot_line(pitch, form, t_s, _pitch_deg(poses), color="black")
    for axes, field in ((loads, "normal_force_N"), (slip, "slip"), (speeds, "wheel_speed_radps")):
        plot_wheels(axes, form, layout, lines[field])
    dress_panel(side, form, "Paths of the axles over the profile, twin", "[m]")
    dress_panel(height, form, "Rise of the body, twin", "[m]")
    dress_panel(loads, form, "Upward forces on the wheels, twin", "[N]")
    dress_panel(slip, form, "Slip, twin", "[-]")
    dress_panel(speeds, form, "Wheel speeds, measured", "[rad/s]")
    dress_panel(pitch, form, "Pitch, nose down above 0, twin", "[deg]")
    _leave_out_hits(loads, form, nominal)
    share_legend(figure, form, loads)
    mark_phases(grid[1:], form, record)
    for axes in grid[1:]:
        axes.set_xlabel("time [s]", fontsize=form.font(9.0))
    frame_figure(figure, form, f"Crossing of a {summary.get('shape')}", record, summary, run)
    return figure


def _leave_out_hits(loads: Axes, form: FigureForm, nominal: RigParameters) -> None:
    """On ground where a hit is an impulse over the length of a step, end the axis at the weight, and say so.

    It would hide all loads: a wheel that falls by 9 mm counts for fifteen times the weight.
    """
    weight_N = nominal.make_rover().mass * nominal.ground.gravity
    if nominal.ground.kind == "nonsmooth" and loads.get_ylim()[1] > weight_N:
        loads.set_ylim(max(loads.get_ylim()[0], -_BELOW * weight_N), weight_N)
        loads.text(0.01, 0.97, "hits go on above", transform=loads.transAxes, va="top", fontsize=form.font(7.5))


def _draw_side(axes: Axes, form: FigureForm, course: Course, layout: Layout, poses: Floats, angles: Floats) -> None:
    """The profile, and the paths of the axles, those of starboard over those of port."""
    paths = course.paths(poses, layout.turning, angles)
    for wheel in wheels_in_order(layout):
        style = wheel_style(layout, wheel)
        axes.plot(paths[wheel, :, 0], paths[wheel, :, 2], **{**style, "lw": form.line(style["lw"])})
    axes.plot(course.line[:, 0], course.line[:, 1], color=_GROUND, lw=form.line(2.0))
    axes.set_xlim(paths[:, :, 0].min() - _AROUND_M, paths[:, :, 0].max() + _AROUND_M)
    axes.set_ylim(min(course.rise_m, 0.0) - 0.1, paths[:, :, 2].max() + 0.1)
    axes.set_xlabel("ahead [m]", fontsize=form.font(9.0))


def _pitch_deg(poses: Floats) -> Floats:
    turn = Rotation.from_quat(poses[:, 3:])
    pitch: Floats = turn.as_euler("ZYX", degrees=True)[:, 1]
    return pitch
