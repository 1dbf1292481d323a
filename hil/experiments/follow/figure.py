"""The figure of a followed profile: `follow.png`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hil.config.loading import parse_config
from hil.config.schema.equipment import DrivesConfig
from hil.experiments.drawing import (
    FloatArray,
    dress_panel,
    frame_figure,
    legend_above,
    mark_phases,
    new_figure,
    over_time,
    plot_line,
    plot_wheels,
    share_legend,
)
from hil.experiments.figure_form import FigureForm
from hil.experiments.follow.experiment import RESULTS, motor_torques_Nm
from hil.experiments.summary_table import result_rows
from hil.messages.layout import Layout
from hil.recording import OpenRecord
from hil.recording.content import in_blocks, packed

_SCREEN_IN, _PRINT_MM = (12.0, 9.0), (220.0, 135.0)
_BLUE, _RED, _GREY = "#004488", "#bb5566", "#888888"
_FOLLOW = 2
# Torques are drawn as means over this time.
_MEAN_NS = 50_000_000


def plot_follow(record: OpenRecord, summary: Mapping[str, Any], run: str, form: FigureForm) -> Figure:
    """Draw speeds of rover and rims, their error, slip and what the loop sets, over time; the window is shaded."""
    config = parse_config(str(record.meta["config"]), "/meta/config")
    layout, section = Layout.from_json(str(record.meta["layout"])), config.follow
    to_mmps = 1e3 * np.array(config.wheel_radii_m)
    figure = new_figure(form, _SCREEN_IN, _PRINT_MM)
    grid = figure.subplots(4 // form.columns, form.columns, sharex=True).reshape(2, 2)
    scales: dict[str, Any] = {"speed_mps": 1e3, "wheel_speed_radps": to_mmps, "set_speed_radps": to_mmps, "slip": 1.0}
    deviations = {"speed_sd_mps": 1e3} if layout.instruments else {}
    pulled = layout.load_cell and (section.held_back is not None or config.rig == "real")
    pull = {"pull_N": 1.0} if pulled else {}
    lines = over_time(record.tick, scales | {"state": 1.0} | deviations | pull)
    t_state, states = lines["state"][0]
    began_s = float(t_state[np.asarray(states) == _FOLLOW][:1].sum())
    speeds, sets, slips, last = grid[0, 0], grid[0, 1], grid[1, 0], grid[1, 1]
    times, wanted = np.array(section.profile).T
    rover = "followed" if section.quantity == "forward_speed" else "measured"
    if layout.instruments:
        t_s, speed = lines["speed_mps"][0]
        around = 2.0 * np.interp(t_s, *lines["speed_sd_mps"][0])
        speeds.fill_between(t_s, speed - around, speed + around, color=_BLUE, alpha=0.18, lw=0.0)
    plot_line(speeds, form, *lines["speed_mps"][0], color=_BLUE, label=f"rover, {rover}, 2 sd")
    t_s = lines["wheel_speed_radps"][0][0]
    rims = np.mean([np.interp(t_s, *line) for line in lines["wheel_speed_radps"]], axis=0)  # at common times
    plot_line(speeds, form, t_s, rims, color=_RED, label="rims, mean")
    label = "expected" if section.quantity == "slip" else "wanted"
    plot_line(speeds, form, times + began_s, 1e3 * wanted, color="black", ls="--", label=label)
    dress_panel(speeds, form, "Speed", "[mm/s]")
    top = 1.1 * max(float(np.max(rims)), 1e3 * float(wanted.max()), 1.0)  # not what a cut makes of it
    speeds.set_ylim(-0.1 * top, 1.25 * top)
    legend_above(speeds, form)
    torques = _torques(record, config.drives) if section.by_duty else None
    asked = lines["set_speed_radps"] if torques is None else [(torques[0], one) for one in torques[1].T]
    plot_wheels(sets, form, layout, asked, named=False)
    plot_wheels(slips, form, layout, lines["slip"])
    if torques is None:
        dress_panel(sets, form, "Speed of the rims, set", "[mm/s]")
    else:
        dress_panel(sets, form, "Torque of each wheel's motor, of duty and speed", "[N m]")
    dress_panel(slips, form, "Slip of each wheel", "[-]")
    slips.set_ylim(-0.2, 1.0)
    if section.quantity == "slip":
        slips.axhline(section.slip, color="black", ls="--", lw=form.line(1.0))
    share_legend(figure, form, slips)
    if pull:
        plot_line(last, form, *lines["pull_N"][0], color="black")
        dress_panel(last, form, "Drawbar pull, load cell", "[N]")
    else:
        whose, (t_s, speed) = ("rover", lines["speed_mps"][0]) if section.measures_motion else ("rims", (t_s, rims))
        plot_line(last, form, t_s, 1e3 * np.interp(t_s - began_s, times, wanted, right=np.nan) - speed, color="black")
        dress_panel(last, form, f"Speed {label} less speed of the {whose}", "[mm/s]")
    for axes in grid.ravel():
        axes.axvspan(*(began_s + s for s in summary.get("window_s") or (0.0, 0.0)), color=_GREY, alpha=0.12, lw=0.0)
    mark_phases(grid.ravel().tolist(), form, record)
    for axes in grid[1][2 - form.columns :]:
        axes.set_xlabel("time [s]; shaded: the window that is judged", fontsize=form.font(9.0))
    slip = dict(result_rows(RESULTS, summary)).get("slip, measured", "-")
    what = f"{section.quantity.replace('_', ' ').capitalize()}, slip {slip}"
    frame_figure(figure, form, what, record, summary, run)
    return figure


def _torques(record: OpenRecord, drives: DrivesConfig) -> tuple[FloatArray, FloatArray]:
    """Times [s], and torques (times, wheels) [N m] as means over `_MEAN_NS`."""
    times, means = [], []
    for block in in_blocks(record.tick):
        rows = packed(block, ["t_ns", "duty", "wheel_speed_radps"])
        torque = motor_torques_Nm(drives, rows)
        begins = np.flatnonzero(np.diff(rows["t_ns"] // _MEAN_NS, prepend=-1))
        count = np.diff(np.append(begins, len(rows)))
        times.append(rows["t_ns"][begins] * 1e-9)
        means.append(np.add.reduceat(torque, begins, axis=0) / count[:, None])
    return np.concatenate(times), np.concatenate(means)
