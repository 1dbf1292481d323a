"""The figure of a run with controlled wheel loads: `normal_force.png`, or as PDF or SVG."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from hil.experiments.drawing import COLOURS, dress_panel, plot_line, wheel_style, wheels_in_order
from hil.experiments.figure_file import facts_of, save_figure
from hil.experiments.figure_form import FigureForm
from hil.experiments.normal_force.segments import Loads, loads_of
from hil.experiments.normal_force.spread import WINDOW_S, running_mean
from hil.experiments.truth_events import RecordedTruth
from hil.messages.layout import Layout
from hil.recording import OpenRecord
from models.statics import spread_of

_SCREEN_IN, _PRINT_MM = (12.0, 10.0), (240.0, 150.0)
_NAMES = {"ground_truth": "true", "sensors": "leg sensors", "twin": "twin"}
_COLOURS_BY = {"ground_truth": "black", "sensors": COLOURS[1], "twin": COLOURS[0]}
_LEVEL = 0.35  # half the height of a valve's bar


def draw_normal_force(
    record: OpenRecord,
    summary: Mapping[str, Any],
    path: Path,
    form: FigureForm = FigureForm(),  # noqa: B008
) -> None:
    """Draw wheel loads and what is wanted, spread, torques, pressures and valves over time.

    Args:
        record: of the run.
        summary: as in `summary.json`.
        path: of the file to write; its ending is the format.
        form: its width.
    """
    layout = Layout.from_json(str(record.meta["layout"]))
    known = loads_of(record.tick, RecordedTruth(record.events).loads)
    figure = Figure(form.size_in(_SCREEN_IN, _PRINT_MM), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(6 // form.columns, form.columns, sharex=True).reshape(3, 2)
    _draw_loads(grid[0, 0], form, layout, record, known[0])
    _draw_spread(grid[0, 1], form, known, summary)
    _draw_torques(grid[1, 0], form, layout, record, known[0])
    _draw_pressures(grid[1, 1], form, layout, record)
    _draw_valves(grid[2, 0], form, layout, record)
    _draw_slip(grid[2, 1], form, layout, record)
    for axes in grid.ravel():
        for step in (summary.get("load_steps") or [])[1:]:
            axes.axvline(step["begin_s"], color="#888888", lw=form.line(0.8), zorder=0)
    for axes in grid[2][2 - form.columns :]:
        axes.set_xlabel("time [s]", fontsize=form.font(9.0))
    found = summary.get("normal_force") or {}
    numbers = ", ".join(
        f"{name} {'-' if found.get(key) is None else format(found[key], '.3f')}"
        for name, key in (("before", "spread_before"), ("after", "spread_after"), ("best", "spread_best"))
    )
    verdict = "accepted" if summary.get("accepted") else "not accepted: " + "; ".join(summary.get("reasons") or [])
    title = f"Wheel loads, spread {numbers}: {verdict}"
    figure.suptitle(title[: 150 if form.columns == 2 else 60], x=0.01, ha="left", fontsize=form.font(12.0))
    save_figure(figure, path, title, facts_of(record, summary), form)


def _draw_loads(axes: Axes, form: FigureForm, layout: Layout, record: OpenRecord, loads: Loads) -> None:
    t_s = record.tick["t_ns"] * 1e-9
    for wheel in wheels_in_order(layout):
        style = {"label": layout.wheels[wheel].replace("_", " ")} | wheel_style(layout, wheel)
        plot_line(axes, form, loads.t_s, loads.load_N[:, wheel], **style)
        wanted = wheel_style(layout, wheel) | {"lw": 0.8, "ls": ":", "alpha": 1.0}
        plot_line(axes, form, t_s, record.tick["load_wanted_N"][:, wheel], **wanted)
    dress_panel(axes, form, f"Wheel loads, {_NAMES[loads.source]}; dotted: wanted", "[N]")
    axes.set_ylim(top=1.25 * float(np.nanmax(loads.load_N, initial=1.0)))  # room for the legend
    axes.legend(fontsize=form.font(8.0), ncols=3, frameon=False, handlelength=3.0, loc="upper center")


def _draw_spread(axes: Axes, form: FigureForm, known: list[Loads], summary: Mapping[str, Any]) -> None:
    for loads in reversed(known):
        even = spread_of(running_mean(loads.t_s, loads.load_N))
        plot_line(axes, form, loads.t_s, even, label=_NAMES[loads.source], color=_COLOURS_BY[loads.source])
    best = (summary.get("normal_force") or {}).get("spread_best")
    if best is not None:
        axes.axhline(best, color=COLOURS[2], ls="--", lw=form.line(1.2), label="best by statics")
    axes.set_ylim(bottom=0.0)
    axes.legend(fontsize=form.font(8.0), ncols=2, frameon=False)
    dress_panel(axes, form, f"Spread of the loads over {WINDOW_S:g} s", "[-]")


def _draw_torques(axes: Axes, form: FigureForm, layout: Layout, record: OpenRecord, loads: Loads) -> None:
    t_s, tick = record.tick["t_ns"] * 1e-9, record.tick
    for number, name in enumerate(layout.cylinders):
        colour = COLOURS[number % len(COLOURS)]
        plot_line(axes, form, loads.t_s, loads.torque_Nm[:, number], color=colour, label=name, lw=1.6)
        plot_line(axes, form, t_s, tick["torque_wanted_Nm"][:, number], color=colour, ls=":", lw=1.0)
    axes.legend(fontsize=form.font(8.0), ncols=3, frameon=False)
    dress_panel(axes, form, "Torques of the cylinders; dotted: wanted", "[N m]")


def _draw_pressures(axes: Axes, form: FigureForm, layout: Layout, record: OpenRecord) -> None:
    t_s, tick = record.tick["t_ns"] * 1e-9, record.tick
    for number, name in enumerate(layout.chambers):
        style: dict[str, Any] = {"color": COLOURS[number // 2 % len(COLOURS)], "ls": "--" if number % 2 else "-"}
        pressure_Pa = tick["pressure_Pa"].reshape(len(tick), -1)[:, number]
        plot_line(axes, form, t_s, pressure_Pa * 1e-3, label=name.replace("_", " "), **style)
        plot_line(
            axes, form, t_s, tick["pressure_wanted_Pa"].reshape(len(tick), -1)[:, number] * 1e-3, **style | {"ls": ":"}
        )
    axes.legend(fontsize=form.font(8.0), ncols=3, frameon=False)
    dress_panel(axes, form, "Pressures of the chambers; dotted: wanted", "[kPa]")


def _draw_valves(axes: Axes, form: FigureForm, layout: Layout, record: OpenRecord) -> None:
    """A bar for each stretch of time in which a valve is powered."""
    t_s, on = record.tick["t_ns"] * 1e-9, record.tick["valves"].reshape(len(record.tick), -1)
    names = [name.replace("_", " ") for name in layout.chambers]
    for number in range(len(names)):
        edges = np.diff(on[:, number].astype(int), prepend=0, append=0)
        begins, ends = np.flatnonzero(edges > 0), np.flatnonzero(edges < 0)
        ends = np.minimum(ends, len(t_s) - 1)
        bars = list(zip(t_s[begins], t_s[ends] - t_s[begins], strict=True))
        axes.broken_barh(bars, (number - _LEVEL, 2.0 * _LEVEL), color=COLOURS[number // 2 % len(COLOURS)])
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_axisbelow(True)
    dress_panel(axes, form, "Valves powered", "")


def _draw_slip(axes: Axes, form: FigureForm, layout: Layout, record: OpenRecord) -> None:
    t_s = record.tick["t_ns"] * 1e-9
    for wheel in wheels_in_order(layout):
        plot_line(axes, form, t_s, record.tick["slip"][:, wheel], **wheel_style(layout, wheel))
    dress_panel(axes, form, "Slip, twin", "[-]")
