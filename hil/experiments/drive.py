"""Experiment `drive`: wheel speeds over time, over the ground of the config; its figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from itertools import accumulate
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hil.config.rig import Rig
from hil.config.schema.capture import DriveConfig, DriveStepConfig
from hil.config.schema.experiment_section import ExperimentSection
from hil.control.wheel_speed import Controller, hold_line
from hil.experiments.base import AFTER_NS, ArmingChecks, Experiment, FinishedRun, Summary
from hil.experiments.drawing import (
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
from hil.experiments.motion_panels import innovation_panel, speed_panel
from hil.experiments.summary import FieldMeans, finite
from hil.experiments.summary_table import WHEELS, SummaryKey, inner, quantity
from hil.messages.layout import Layout
from hil.messages.operator_input import SetPoint
from hil.messages.stages import Estimate, Goal, Prediction, Samples
from hil.recording import OpenRecord
from hil.recording.content import in_blocks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hil.recording import OpenRecord


# Fields of a tick in the order in which they are drawn, results first, each with title and unit.
_PANELS = {
    "pull_N": ("Drawbar pull, load cell", "[N]"),
    "speed_mps": ("Forward speed of the rover, twin", "[mm/s]"),
    "slip": ("Slip, twin", "[-]"),
    "sinkage_m": ("Sinkage, twin", "[mm]"),
    "normal_force_N": ("Wheel normal forces, twin", "[N]"),
    "wheel_speed_radps": ("Wheel speeds, measured", "[rad/s]"),
    "duty": ("Duty of the drives, set", "[-]"),
    "set_speed_radps": ("Wheel speeds, set", "[rad/s]"),
}
_WANTED = "slip_wanted"  # in the summary


def plot_drive(record: OpenRecord, summary: Mapping[str, Any], run: str, form: FigureForm) -> Figure:
    """Speeds, slip, sinkage and loads of a drive over time."""
    return plot_over_time(record, summary, run, form, f"Drive, {quantity(summary.get('way_m'), 'm', 3)}")


def plot_over_time(record: OpenRecord, summary: Mapping[str, Any], run: str, form: FigureForm, what: str) -> Figure:
    """Draw the results over time, then what was set: pull if measured, speed, slip, loads and sinkage, wheels."""
    layout = Layout.from_json(str(record.meta["layout"]))
    fields = {"speed_mps": 1e3, "slip": 1.0, "normal_force_N": 1.0, "sinkage_m": 1e3, "wheel_speed_radps": 1.0}
    by_duty = layout.open_loop and bool(np.any(record.tick["duty"]))
    asked = "duty" if by_duty else "set_speed_radps"
    lines = over_time(record.tick, fields | {asked: 1.0} | ({"pull_N": 1.0} if layout.load_cell else {}))
    panels = [(field, *_PANELS[field]) for field in _PANELS if field in lines]
    rows = -(-len(panels) // 2) + bool(layout.correcting)
    figure = new_figure(form, (12.0, 3.0 * rows), (73.0 * rows, 45.0 * rows))
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
    if (wanted := summary.get(_WANTED)) is not None:
        slip.axhline(wanted, color="black", ls="--", lw=form.line(1.0))
        slip.set_title(f"{slip.get_title(loc='left')}; dashed: wanted", loc="left", fontsize=form.font(10.0))
    for axes in grid.ravel().tolist()[len(panels) : 2 * (rows - bool(layout.correcting))]:
        axes.set_axis_off()
    if layout.correcting:
        speed_panel(grid[-1, 0], form, record)
        dress_panel(grid[-1, 0], form, "Forward speed", "[mm/s]")
        innovation_panel(grid[-1, 1], form, record)
        dress_panel(grid[-1, 1], form, "Innovation; dotted: bound", "[-]")
        for axes in grid[-1]:
            legend_above(axes, form)
    for axes in (grid[-1] if layout.correcting else drawn)[-form.columns :]:
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("time [s]", fontsize=form.font(9.0))
    mark_phases(drawn, form, record)
    share_legend(figure, form, drawn[-1])
    frame_figure(figure, form, what, record, summary, run)
    return figure


# Part of the acceleration that the limiter allows: a loop that has lost ticks can catch up before the limiter clamps.
OF_ACCELERATION = 0.5
# The part of each step that is averaged: the end, after the ramp.
STEADY = 0.5
# In the order of the terminal.
RESULTS = (
    SummaryKey("way_m", "length of the whole drive, from the rover twin", "distance, twin", 3, "m", main="distance"),
    SummaryKey("steps", "one a step of the config: `speed_set_mps`, `turn_set_mps`, and means over the second half of "
        "the step, from the rover twin: `speed_mps`, and by wheel `slip`, `sinkage_m`, `normal_force_N`",
        rows=inner(SummaryKey("speed_set_mps, speed_mps", "", "speed set, twin", 3, "m/s"),
        SummaryKey("slip", "", "slip", 3), SummaryKey("sinkage_m", "", "sinkage", 1, "mm", 1e3),
        SummaryKey("normal_force_N", "", "normal forces", 0, "N"))),
    WHEELS,
)  # fmt: skip
_MEANS = ("speed_mps", "slip", "sinkage_m", "normal_force_N")


# State of a drive; numbers as for the states of an impact trial.
DrivingState = IntEnum("DrivingState", {"IDLE": 0, "ARMED": 1, "DRIVE": 2, "SETTLE": 4, "DONE": 5, "ABORTED": 6})
IDLE, ARMED, DRIVE, SETTLE, DONE, ABORTED = DrivingState  # faster in a tick, see hil.experiments.base


class DriveExperiment(Experiment):
    """Idle until armed, then the steps, then cut.

    An operator's set-points `speed_mps` and `turn_mps` replace those of the running step.

    Args: as `Experiment`, and:
        steps: parts of the drive; None: those of the config.
        after_ns: time recorded after the last step [ns].
    """

    name = "drive"
    section: ClassVar[type[ExperimentSection]] = DriveConfig
    states = DrivingState
    figure = "drive.png"
    plotter = "hil.experiments.drive:plot_drive"
    set_points = MappingProxyType({"speed_mps": "m/s", "turn_mps": "m/s"})
    results: ClassVar[Sequence[SummaryKey]] = RESULTS
    steady = True

    def __init__(
        self,
        rig: Rig,
        checks: ArmingChecks,
        *,
        attended: bool = False,
        steps: Sequence[DriveStepConfig] | None = None,
        after_ns: int = AFTER_NS,
    ) -> None:
        super().__init__(rig, checks, attended=attended)
        self._steps = rig.config.drive.steps if steps is None else steps
        self._ends_ns = [round(end * 1e9) for end in accumulate(step.for_s for step in self._steps)]
        sides = [-1.0 if "left" in wheel else 1.0 for wheel in rig.layout.wheels]
        self._wheels = tuple(zip(sides, rig.config.wheel_radii_m, strict=True))
        self._change = OF_ACCELERATION * rig.limits.wheel_acceleration_radps2 / rig.config.loop.rate_hz
        self._speeds = rig.layout.zero_speeds
        self._wanted = dict.fromkeys(self.set_points, 0.0)
        self.step = -1  #: the running step, counted from 0
        self._pass_through({DRIVE: self._ends_ns[-1], SETTLE: after_ns})

    def headline(self) -> str:
        """Its steps."""
        return ", ".join(f"{step.speed_mps:g} m/s for {step.for_s:g} s" for step in self.config.drive.steps)

    def drive_speeds_mps(self) -> Sequence[float]:
        """The fastest straight step ahead, and the fastest back."""
        straight = [step.speed_mps for step in self._steps if step.turn_mps == 0.0]
        return sorted({max(straight, default=0.0), min(straight, default=0.0)} - {0.0})

    def controller(self) -> Controller:
        """Wheel speeds as set; on the line, if one is to be held."""
        section = self.rig.section
        return hold_line(
            self.rig, super().controller(), section.hold_line if isinstance(section, DriveConfig) else None
        )

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:  # noqa: ARG002
        """The goal of this tick."""
        self._advance(samples, estimate, safe)
        if self.state != DRIVE:
            self._speeds = self.config.layout.zero_speeds
            return Goal(self.state, True, speed_radps=self._speeds)
        self._take_step(samples.t_ns - self._since_ns)
        for command in samples.operator:
            if isinstance(command, SetPoint) and command.name in self._wanted:
                self._wanted[command.name] = command.value
        forward, turn = self._wanted["speed_mps"], self._wanted["turn_mps"]
        wanted = [(forward + side * turn) / radius_m for side, radius_m in self._wheels]
        change = self._change
        self._speeds = tuple(
            [last + min(max(new - last, -change), change) for new, last in zip(wanted, self._speeds, strict=True)]
        )
        return Goal(self.state, False, speed_radps=self._speeds)

    def _take_step(self, elapsed_ns: int) -> None:
        """Start the next step when the current one is over."""
        step = max(self.step, 0)
        while elapsed_ns >= self._ends_ns[step]:
            step += 1
        if step != self.step:
            self.step = step
            now = self._steps[step]
            self._wanted = {"speed_mps": now.speed_mps, "turn_mps": now.turn_mps}

    def summarise(self, run: FinishedRun) -> Summary:
        """Keys as docs/reference/summary.md lists them: distance, and means over the second half of each step."""
        steps, began_ns = run.config.drive.steps, None
        whole, steady = FieldMeans({"speed_mps": 0}), [FieldMeans(dict.fromkeys(_MEANS, 0)) for _ in steps]
        for block in in_blocks(run.ticks):
            ticks = block[block["state"] == DRIVE]
            whole.add(ticks)
            began_ns = ticks["t_ns"][:1].sum() if began_ns is None and ticks.size else began_ns
            t_s, began_s = (ticks["t_ns"] - (began_ns or 0)) * 1e-9, 0.0
            for step, means in zip(steps, steady, strict=True):
                means.add(ticks[(t_s >= began_s + STEADY * step.for_s) & (t_s < began_s + step.for_s)])
                began_s += step.for_s
        return {
            "wheels": list(run.config.layout.wheels),
            "way_m": finite(float(whole.sum("speed_mps") * (1.0 / run.config.loop.rate_hz))),
            "steps": [
                {"speed_set_mps": step.speed_mps, "turn_set_mps": step.turn_mps, **_means(means)}
                for step, means in zip(steps, steady, strict=True)
            ],
            **super().summarise(run),
        }


def _means(found: FieldMeans) -> dict[str, Any]:
    if not found.count:
        return dict.fromkeys(_MEANS)
    speed, *by_wheel = _MEANS
    return {
        speed: finite(float(found.mean(speed))),
        **{key: [finite(float(value)) for value in found.mean(key)] for key in by_wheel},
    }
