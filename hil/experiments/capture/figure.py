"""The figure of a capture: `capture.png`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hil.experiments.capture.experiment import PHASES, bending_places
from hil.experiments.drawing import (
    COLOURS,
    ENERGY_COLOUR,
    dress_panel,
    frame_figure,
    legend_above,
    mark_phases,
    new_figure,
    over_time,
    plot_line,
)
from hil.experiments.figure_form import FigureForm
from hil.messages.layout import Layout
from hil.recording import OpenRecord
from models.rover.arm_names import LATCH

_SCREEN_IN, _PRINT_MM = (12.0, 10.0), (260.0, 150.0)


def plot_capture(record: OpenRecord, summary: Mapping[str, Any], run: str, form: FigureForm) -> Figure:
    """Draw the payload before the seat, joints, grapple, booms, spacecraft and energy over time."""
    layout = Layout.from_json(str(record.meta["layout"]))
    figure = new_figure(form, _SCREEN_IN, _PRINT_MM)
    grid = figure.subplots(6 // form.columns, form.columns, sharex=True, squeeze=False).ravel().tolist()
    seat, joints, torques, booms, craft, energy = grid
    degrees = float(np.degrees(1.0))
    scales = {"joint_angle_rad": 1.0, "servo_angle_rad": 1.0, "servo_torque_Nm": 1.0, "pose": 1.0}
    lines = over_time(record.tick, {**scales, "effective_kinetic_energy_J": 1.0})
    latch = [lines["joint_angle_rad"][layout.turning.index(name)] for name in LATCH]
    for (t_s, values), scale, colour, words in zip(
        latch, (1e3, 1e3, degrees), COLOURS, ("ahead [mm]", "across [mm]", "turn [deg]"), strict=False
    ):
        plot_line(seat, form, t_s, scale * values, color=colour, label=words)
    t_s, way = lines["servo_angle_rad"][-1]
    plot_line(seat, form, t_s, 1e3 * way, color=COLOURS[3], label="grapple [mm], measured")
    for i, name in enumerate(layout.servos[:-1]):
        style: dict[str, Any] = {"color": COLOURS[i % len(COLOURS)], "label": name.split("_")[-1]}
        t_s, angle = lines["servo_angle_rad"][i]
        plot_line(joints, form, t_s, degrees * (angle - angle[0]), **style)
        plot_line(torques, form, *lines["servo_torque_Nm"][i], **style)
    for (boom, places), colour in zip(bending_places(layout.turning).items(), COLOURS, strict=False):
        modes = [lines["joint_angle_rad"][place] for place in places]
        t_s = modes[0][0]
        bend = np.sum([np.interp(t_s, *one) for one in modes], axis=0)
        plot_line(booms, form, t_s, 1e3 * bend, color=colour, label=boom)
    t_s, z = lines["pose"][5]
    plot_line(craft, form, t_s, degrees * 2.0 * np.arcsin(np.clip(z, -1.0, 1.0)), color=COLOURS[0])
    plot_line(energy, form, *lines["effective_kinetic_energy_J"][0], color=ENERGY_COLOUR)
    dress_panel(seat, form, "Payload from the seat, twin", "[mm, deg]")
    dress_panel(joints, form, "Turns of the joints since the start, measured", "[deg]")
    dress_panel(torques, form, "Torques on the joints, twin", "[N m]")
    dress_panel(booms, form, "Deflection of the booms' ends, twin", "[mm]")
    dress_panel(craft, form, "Turn of the spacecraft, twin", "[deg]")
    dress_panel(energy, form, "Energy that a plastic capture would take now, twin", "[J]")
    for axes in (seat, joints, torques, booms):
        legend_above(axes, form)
    mark_phases(grid, form, record)
    for axes in grid[-form.columns :]:
        axes.set_xlabel("time [s]", fontsize=form.font(9.0))
    frame_figure(figure, form, f"Capture, {', '.join(PHASES.values())}", record, summary, run)
    return figure
