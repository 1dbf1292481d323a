"""The figure of a stimulus: `stimulus.png`, or as PDF or SVG, in the width of a journal's column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hil.config.loading import parse_config
from hil.experiments.drawing import (
    FigureForm,
    dress_panel,
    frame_figure,
    new_figure,
    over_time,
    plot_line,
    plot_wheels,
    share_legend,
)
from hil.messages.layout import Layout
from hil.recording import OpenRecord

_SCREEN_IN, _PRINT_MM = (12.0, 9.0), (220.0, 135.0)
_PLAY = 2


def plot_stimulus(record: OpenRecord, summary: Mapping[str, Any], run: str, form: FigureForm) -> Figure:
    """Draw speeds of the rims set and measured, their difference, slip, speed of the rover, and valves if any."""
    config = parse_config(str(record.meta["config"]), "/meta/config")
    layout, section = Layout.from_json(str(record.meta["layout"])), config.stimulus
    to_mmps = 1e3 * np.array(config.wheel_radii_m)
    figure = new_figure(form, _SCREEN_IN, _PRINT_MM)
    grid = figure.subplots(4 // form.columns, form.columns, sharex=True).reshape(2, 2)
    speeds, errors, slips, last = grid.ravel()
    scales: dict[str, Any] = {"state": 1.0, "slip": 1.0, "speed_mps": 1e3}
    scales |= {"wheel_speed_radps": to_mmps, "set_speed_radps": to_mmps}
    angles = {"servo_angle_rad": 1.0, "set_servo_angle_rad": 1.0} if layout.servos else {}
    lines = over_time(record.tick, {**scales, **angles})
    t_state, states = lines["state"][0]
    began_s = float(t_state[np.asarray(states) == _PLAY][:1].sum())
    plot_wheels(speeds, form, layout, lines["wheel_speed_radps"])
    both = zip(lines["wheel_speed_radps"], lines["set_speed_radps"], strict=True)
    apart = [(t_s, np.interp(t_s, *asked) - measured) for (t_s, measured), asked in both]
    plot_wheels(errors, form, layout, apart, named=False)
    plot_wheels(slips, form, layout, lines["slip"], named=False)
    for wheel in range(len(layout.wheels)):
        label = None if wheel else "set"
        plot_line(speeds, form, *lines["set_speed_radps"][wheel], color="black", ls="--", label=label)
    share_legend(figure, form, speeds)
    dress_panel(speeds, form, "Speed of the rims: measured and set", "[mm/s]")
    dress_panel(errors, form, "Speed of the rims: set less measured", "[mm/s]")
    dress_panel(slips, form, "Slip, twin", "[-]")
    low, high = slips.get_ylim()  # at rest slip may be anything
    slips.set_ylim(max(low, -1.05), min(high, 1.05))
    powered = [name for name in layout.valves if name in section.content.columns]
    if powered:
        times = np.array(section.content.times_s) + began_s
        for place, name in enumerate(powered):
            values = np.array(section.content.columns[name])
            last.fill_between(times, place, place + 0.8 * values, step="post", color="#004488", lw=0.0)
        last.set_yticks(np.arange(len(powered)) + 0.4, [name.replace("_", " ") for name in powered])
        dress_panel(last, form, "Valves powered, as in the table", "")
    elif angles:
        shown = [1e3 if name in layout.slides else np.degrees(1.0) for name in layout.servos]
        for joint, name in enumerate(layout.servos):
            t_s, at = lines["servo_angle_rad"][joint]
            plot_line(last, form, t_s, shown[joint] * at, color=f"C{joint % 10}", label=name.replace("_", " "))
        for joint in range(len(layout.servos)):
            t_s, at = lines["set_servo_angle_rad"][joint]
            plot_line(last, form, t_s, shown[joint] * at, color="black", ls="--", label=None if joint else "set")
        last.legend(fontsize=form.font(8.0), ncols=2, frameon=False, handlelength=3.0)
        units = " or ".join(
            f"[{unit}]" for unit in sorted({"mm" if n in layout.slides else "deg" for n in layout.servos})
        )
        dress_panel(last, form, "Driven joints: measured and set", units)
    else:
        plot_line(last, form, *lines["speed_mps"][0], color="black")
        dress_panel(last, form, "Forward speed of the rover, twin", "[mm/s]")
    for axes in grid[1][2 - form.columns :]:
        axes.set_xlabel("time [s]", fontsize=form.font(9.0))
    what = f"Stimulus, {len(section.content.times_s)} rows, {section.length_s:g} s"
    frame_figure(figure, form, what, record, summary, run)
    return figure
