"""Experiment `normal_force`: a drive with a wanted distribution of the wheels' loads; its figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hil.config import Config, parse_config
from hil.config.rig import Rig
from hil.config.schema.capture import DriveStepConfig
from hil.config.schema.normal_force import NormalForceConfig
from hil.control.normal_force import load_controller
from hil.control.wheel_speed import Controller
from hil.experiments.base import AFTER_NS, ArmingChecks, FinishedRun, Summary
from hil.experiments.drawing import (
    draw_limit,
    dress_panel,
    frame_figure,
    legend_above,
    new_figure,
    plot_line,
    wheel_style,
    wheels_in_order,
)
from hil.experiments.drive import DRIVE, DriveExperiment
from hil.experiments.figure_form import FigureForm
from hil.experiments.motion_claims import motion_claims
from hil.experiments.motion_panels import soil_panel, speed_panel
from hil.experiments.normal_force.summary import (
    RESULTS,
    WINDOW_S,
    Loads,
    goal_of,
    loads_of,
    normal_force_summary,
    running_mean,
)
from hil.experiments.summary_table import Claim
from hil.messages.layout import Layout
from hil.messages.loads import LoadGoal, load_goal
from hil.messages.operator_input import OperatorCommand, SetLoads
from hil.messages.stages import Estimate, Goal, Prediction, Samples
from hil.recording import OpenRecord
from hil.simulator.ground_truth import GroundTruth
from models.statics import spread_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


class NormalForceExperiment(DriveExperiment):
    """A drive whose steps differ in the wanted loads; an operator's `SetLoads` replaces those of the running step.

    After the last step the drives are cut, and the cylinders have the time to let go without a step.
    """

    name = "normal_force"
    section = NormalForceConfig
    figure = "normal_force.png"
    plotter = "hil.experiments.normal_force.figure:plot_normal_force"
    results = RESULTS

    def __init__(self, rig: Rig, checks: ArmingChecks, *, attended: bool = False) -> None:
        wanted = rig.config.normal_force
        steps = [DriveStepConfig(for_s=step.for_s, speed_mps=wanted.speed_mps) for step in wanted.steps]
        release_ns = round(wanted.torque_limit_Nm / wanted.torque_slew_Nmps * 1e9)
        super().__init__(rig, checks, attended=attended, steps=steps, after_ns=AFTER_NS + release_ns)
        wheels = rig.layout.wheels
        self._goals = [load_goal(step.mode, step.share, step.wheel, wheels) for step in wanted.steps]
        self._loads: LoadGoal | None = None

    def headline(self) -> str:
        """Its steps."""
        steps = ", ".join(
            f"{step.mode.replace('_', ' ')} for {step.for_s:g} s" for step in self.config.normal_force.steps
        )
        return f"wheel loads at {self.config.normal_force.speed_mps:g} m/s: {steps}"

    @classmethod
    def label(cls, config: Config) -> str:
        """The modes in order."""
        return "_".join(dict.fromkeys(step.mode for step in config.normal_force.steps))

    def controller(self) -> Controller:
        """Wheel speeds as set, and the load controller."""
        return load_controller(self.rig, super().controller())

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:
        """The goal of this tick."""
        step = self.step
        goal = super().decide(samples, estimate, prediction, safe)
        if self.state != DRIVE:
            return goal
        if self.step != step:
            self._loads = self._goals[self.step]
        self._take(samples.operator)
        return msgspec.structs.replace(goal, loads=self._loads)

    def _take(self, commands: Sequence[OperatorCommand]) -> None:
        for command in commands:
            if isinstance(command, SetLoads):
                with suppress(ValueError):  # an impossible wish changes nothing
                    self._loads = goal_of(command, self.rig.layout.wheels, self.config.ground.kind)

    def summarise(self, run: FinishedRun) -> Summary:
        """Spreads, loads and torques."""
        return normal_force_summary(run)

    def claims(self, run: FinishedRun, summary: Summary) -> Sequence[Claim]:  # noqa: ARG002
        """The motion; its loads are those of the best source already."""
        return motion_claims(run, loads=False)


_SCREEN_IN, _PRINT_MM = (12.0, 11.0), (270.0, 165.0)
_NAMES = {"ground_truth": "true", "sensors": "leg sensors", "twin": "twin"}
_GREYS = {"ground_truth": "black", "sensors": "#666666", "twin": "#aaaaaa"}
# Of cylinders and their chambers; wheels have other colours.
_CYLINDERS = ("#117733", "#aa4499", "#0077bb", "#997700")
# One meaning a line: full is what was, dashed what was wanted, dotted a limit. Of two of a kind (left and right wheel,
# extending and retracting chamber) the one is broad and pale, the other thin.
_PALE = ("#88bb98", "#d4a1cc", "#80bbdd", "#ccbb80")
_THIN: dict[str, Any] = {"ls": "-", "lw": 1.3}
_WANTED: dict[str, Any] = {"ls": "--", "lw": 1.0}
_LEVEL = 0.35  # half the height of a valve's bar
# Of each line so much of the time, below and above, may lie beyond the scale: a start or a stop does not set it.
_TRANSIENT = 0.02
_MEAN_S = 0.1  # slip is drawn as a mean over this time


def plot_normal_force(
    record: OpenRecord,
    summary: Mapping[str, Any],
    run: str,
    form: FigureForm = FigureForm(),  # noqa: B008
) -> Figure:
    """Draw wheel loads and what is wanted, spread, torques, pressures and valves over time."""
    layout = Layout.from_json(str(record.meta["layout"]))
    known = loads_of(record.tick, GroundTruth.recorded(record.events).loads)
    rows = 4 if layout.soil_parameters else 3
    size_in, single_mm, double_mm = (_SCREEN_IN[0], _SCREEN_IN[1] * rows / 3), *(mm * rows / 3 for mm in _PRINT_MM)
    figure = new_figure(form, size_in, (single_mm, double_mm))
    grid = figure.subplots(2 * rows // form.columns, form.columns, sharex=True).reshape(rows, 2)
    _draw_loads(grid[0, 0], form, layout, record, known[0])
    _draw_spread(grid[0, 1], form, known, summary)
    if layout.soil_parameters:
        soil_panel(grid[1, 0], form, record, summary)
        _dress(grid[1, 0], form, "Soil as estimated, over that of the config", "[-]")
        speed_panel(grid[1, 1], form, record)
        _dress(grid[1, 1], form, "Forward speed", "[mm/s]")
    _draw_torques(grid[-2, 0], form, layout, record, known[0])
    _draw_pressures(grid[-2, 1], form, layout, record)
    _draw_valves(grid[-1, 0], form, layout, record)
    _draw_slip(grid[-1, 1], form, layout, record)
    _mark_steps(grid.ravel().tolist(), form, summary.get("load_steps") or [])
    for axes in grid[-1][2 - form.columns :]:
        axes.set_xlabel("time [s]", fontsize=form.font(9.0))
    found = summary.get("normal_force") or {}
    numbers = ", ".join(
        f"{name} {'-' if found.get(key) is None else format(found[key], '.3f')}"
        for name, key in (("before", "spread_before"), ("after", "spread_after"), ("best", "spread_best"))
    )
    frame_figure(figure, form, f"Wheel loads, spread {numbers}", record, summary, run)
    return figure


def _mark_steps(panels: Sequence[Axes], form: FigureForm, steps: Sequence[Mapping[str, Any]]) -> None:
    """A line where the wanted loads change and where the last end, and over the first panels what was wanted."""
    for axes in panels:
        for at in [step["begin_s"] for step in steps[1:]] + [step["end_s"] for step in steps[-1:]]:
            axes.axvline(at, color="#888888", lw=form.line(0.8), zorder=0)
    style: dict[str, Any] = {"fontsize": form.font(8.0), "ha": "center", "va": "top", "color": "#404040"}
    for axes in panels[: form.columns]:
        for step in steps:
            middle = 0.5 * (step["begin_s"] + step["end_s"])
            axes.text(middle, 0.985, step["mode"].replace("_", " "), transform=axes.get_xaxis_transform(), **style)


def _dress(axes: Axes, form: FigureForm, title: str, unit: str, handles: Sequence[Any] | None = None) -> None:
    """Title, unit, and the legend above."""
    dress_panel(axes, form, title, unit)
    legend_above(axes, form, handles)


def _scale(axes: Axes, lines: NDArray[np.floating[Any]], *more: float) -> None:
    """Limits by what each line (rows, lines) is for most of its time, and further values; words fit in above."""
    known = lines[np.isfinite(lines).all(axis=1)]
    ends = np.quantile(known, (_TRANSIENT, 1.0 - _TRANSIENT), axis=0).ravel().tolist() if len(known) else []
    low, high = min([*ends, *more], default=0.0), max([*ends, *more], default=1.0)
    height = max(high - low, 1e-6)
    axes.set_ylim(low - 0.06 * height, high + 0.16 * height)


def _wanted_line(form: FigureForm) -> Line2D:
    """What a dashed line means, in a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color="black", ls="--", lw=form.line(1.2), label="wanted")


def _wheel(layout: Layout, wheel: int) -> dict[str, Any]:
    """Line of a wheel, full on the right too: dashes are what was wanted."""
    return wheel_style(layout, wheel) | (_THIN if "right" in layout.wheels[wheel] else {})


def _chamber(number: int) -> dict[str, Any]:
    """Line of a chamber: its cylinder's colour; the extending one pale, and the broader the earlier."""
    place = number // 2 % len(_CYLINDERS)
    return {"color": _CYLINDERS[place]} | _THIN if number % 2 else {"color": _PALE[place], "lw": 5.2 - 1.2 * place}


def _draw_loads(axes: Axes, form: FigureForm, layout: Layout, record: OpenRecord, loads: Loads) -> None:
    t_s = record.tick["t_ns"] * 1e-9
    for wheel in wheels_in_order(layout):
        style = _wheel(layout, wheel)
        plot_line(axes, form, loads.t_s, loads.load_N[:, wheel], label=layout.wheels[wheel].replace("_", " "), **style)
        plot_line(axes, form, t_s, record.tick["load_wanted_N"][:, wheel], **style | _WANTED)
    _scale(axes, loads.load_N)
    handles = [*axes.get_legend_handles_labels()[0], _wanted_line(form)]
    _dress(axes, form, f"Wheel loads, {_NAMES[loads.source]}", "[N]", handles)


def _draw_spread(axes: Axes, form: FigureForm, known: list[Loads], summary: Mapping[str, Any]) -> None:
    values = []
    for loads in reversed(known):
        even = spread_of(running_mean(loads.t_s, loads.load_N))
        values.append(np.quantile(even[np.isfinite(even)], 1.0 - _TRANSIENT) if np.isfinite(even).any() else 0.0)
        plot_line(axes, form, loads.t_s, even, label=_NAMES[loads.source], color=_GREYS[loads.source], lw=1.8)
    best = (summary.get("normal_force") or {}).get("spread_best")
    if best is not None:
        draw_limit(axes, form, best, "best by statics")
    axes.set_ylim(0.0, 1.2 * max([*values, best or 0.0], default=1.0) or 1.0)
    _dress(axes, form, f"Spread of the loads over {WINDOW_S:g} s", "[-]")


def _draw_torques(axes: Axes, form: FigureForm, layout: Layout, record: OpenRecord, loads: Loads) -> None:
    t_s, wanted = record.tick["t_ns"] * 1e-9, record.tick["torque_wanted_Nm"]
    for number, name in enumerate(layout.cylinders):
        colour = _CYLINDERS[number % len(_CYLINDERS)]
        plot_line(axes, form, loads.t_s, loads.torque_Nm[:, number], color=colour, label=name, lw=1.6)
        plot_line(axes, form, t_s, wanted[:, number], **_WANTED | {"color": colour})
    if layout.cylinders:
        _scale(axes, loads.torque_Nm, *_ends(wanted))
        most_Nm = parse_config(str(record.meta["config"]), "/meta/config").normal_force.torque_limit_Nm
        for end in (-most_Nm, most_Nm):
            if axes.get_ylim()[0] < end < axes.get_ylim()[1]:
                draw_limit(axes, form, end, "limit")
    named = {line.get_label(): line for line in (*axes.get_legend_handles_labels()[0], _wanted_line(form))}
    _dress(axes, form, "Torques of the cylinders", "[N m]", [*named.values()])


def _draw_pressures(axes: Axes, form: FigureForm, layout: Layout, record: OpenRecord) -> None:
    t_s, tick = record.tick["t_ns"] * 1e-9, record.tick
    found, wanted = (tick[key].reshape(len(tick), -1) * 1e-3 for key in ("pressure_Pa", "pressure_wanted_Pa"))
    for number, name in enumerate(layout.chambers):
        style = _chamber(number)
        plot_line(axes, form, t_s, found[:, number], label=name.replace("_", " "), **style)
        plot_line(axes, form, t_s, wanted[:, number], **style | _WANTED)
    if layout.chambers:
        _scale(axes, found, *_ends(wanted))
    handles = [*axes.get_legend_handles_labels()[0], _wanted_line(form)]
    _dress(axes, form, "Pressures of the chambers", "[kPa]", handles)


def _ends(values: NDArray[np.floating[Any]]) -> list[float]:
    """Smallest and largest of what was wanted, its ends left out like those of what was."""
    known = values[np.isfinite(values)]
    return np.quantile(known, (_TRANSIENT, 1.0 - _TRANSIENT)).tolist() if known.size else []


def _draw_valves(axes: Axes, form: FigureForm, layout: Layout, record: OpenRecord) -> None:
    """A bar for each stretch of time in which a valve is powered."""
    t_s, on = record.tick["t_ns"] * 1e-9, record.tick["valves"].reshape(len(record.tick), -1)
    names = [name.replace("_", " ") for name in layout.chambers]
    for number in range(len(names)):
        edges = np.diff(on[:, number].astype(int), prepend=0, append=0)
        begins, ends = np.flatnonzero(edges > 0), np.flatnonzero(edges < 0)
        ends = np.minimum(ends, len(t_s) - 1)
        bars = list(zip(t_s[begins], t_s[ends] - t_s[begins], strict=True))
        axes.broken_barh(bars, (number - _LEVEL, 2.0 * _LEVEL), lw=0.0, color=_chamber(number)["color"])
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_axisbelow(True)
    dress_panel(axes, form, "Valves powered", "")


def _draw_slip(axes: Axes, form: FigureForm, layout: Layout, record: OpenRecord) -> None:
    """Means, for speeds are noisy; of wheels that hardly turn, slip is beyond the scale: it is a quotient of noise."""
    t_s = record.tick["t_ns"] * 1e-9
    found = record.tick["slip"].astype(float)
    slip = running_mean(t_s, found, _MEAN_S)
    for wheel in wheels_in_order(layout):
        name = layout.wheels[wheel].replace("_", " ")
        plot_line(axes, form, t_s, slip[:, wheel], label=name, **_wheel(layout, wheel))
    _scale(axes, found, 0.0)
    _dress(axes, form, f"Slip over {_MEAN_S:g} s, twin", "[-]")
