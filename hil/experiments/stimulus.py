"""Experiment `stimulus`: wheel speeds and valves over time from a table; its figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from drivers.messages import ValveSet
from hil.config.loading import parse_config
from hil.config.rig import Rig
from hil.config.schema.stimulus import OF_ACCELERATION, StimulusConfig
from hil.experiments.base import AFTER_NS, ArmingChecks, Experiment, FinishedRun, Summary
from hil.experiments.drawing import (
    dress_panel,
    frame_figure,
    joint_style,
    legend_above,
    mark_phases,
    new_figure,
    over_time,
    plot_line,
    plot_wheels,
    share_legend,
)
from hil.experiments.figure_form import FigureForm
from hil.experiments.summary import finite
from hil.experiments.summary_table import WHEELS, SummaryKey
from hil.messages.layout import Layout
from hil.messages.stages import ByServo, Estimate, Goal, Prediction, Samples
from hil.recording import OpenRecord
from hil.recording.content import in_blocks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
            plot_line(last, form, t_s, shown[joint] * at, label=name.replace("_", " "), **joint_style(layout, joint))
        for joint in range(len(layout.servos)):
            t_s, at = lines["set_servo_angle_rad"][joint]
            plot_line(last, form, t_s, shown[joint] * at, color="black", ls="--", label=None if joint else "set")
        units = " or ".join(
            f"[{unit}]" for unit in sorted({"mm" if n in layout.slides else "deg" for n in layout.servos})
        )
        dress_panel(last, form, "Driven joints", units)
        legend_above(last, form)
    else:
        plot_line(last, form, *lines["speed_mps"][0], color="black")
        dress_panel(last, form, "Forward speed of the rover, twin", "[mm/s]")
    mark_phases(grid.ravel().tolist(), form, record)
    for axes in grid[1][2 - form.columns :]:
        axes.set_xlabel("time [s]", fontsize=form.font(9.0))
    what = f"Stimulus, {len(section.content.times_s)} rows, {section.length_s:g} s"
    frame_figure(figure, form, what, record, summary, run)
    return figure


# Share of its rate with which a driven joint turns to the next row, where rows are held.
OF_HELD_RATE = 0.5

# In the order of the terminal.
RESULTS = (
    SummaryKey("columns", "of the table: its columns but `time_s`, number of rows, `stimulus.interpolation`",
        "columns"),
    SummaryKey("rows", "", "rows"),
    SummaryKey("interpolation", "", "interpolation"),
    SummaryKey("played_s, length_s", "how much of the table was played; its last time", "played, of", 2, "s"),
    SummaryKey("way_m", "distance of the rover in that time, by the twin", "distance, twin", 3, "m", main="distance"),
    SummaryKey("error_rms_mps", "speed set less speed measured, at the rims: root mean square and largest over all "
        "wheels, and of each; null: the table has no speeds", "speed set less speed measured, root mean square", 4,
        "m/s", main="error"),
    SummaryKey("error_largest_mps", "", "largest", 4, "m/s"),
    SummaryKey("error_rms_by_wheel_mps", "", "root mean square of each wheel", 4, "m/s"),
    SummaryKey("joint_error_largest_deg", "angle set less angle measured: largest of all driven joints, root mean "
        "square of each, and their names; only where joints are driven",
        "driven joints: largest angle set less measured", 2, "deg"),
    SummaryKey("joint_error_rms_deg", "", "root mean square of each", 2, "deg"),
    SummaryKey("joints", "", "joints, in this order"),
    SummaryKey("slide_error_largest_mm", "the same of those that slide", "slides: largest set less measured",
        2, "mm"),
    SummaryKey("slide_error_rms_mm", "", "root mean square of each", 2, "mm"),
    SummaryKey("slides", "", "slides, in this order"),
    WHEELS,
)  # fmt: skip


# State of a stimulus; numbers as for the states of an impact trial where they are alike.
StimulusState = IntEnum("StimulusState", {"IDLE": 0, "ARMED": 1, "PLAY": 2, "SETTLE": 4, "DONE": 5, "ABORTED": 6})
IDLE, ARMED, PLAY, SETTLE, DONE, ABORTED = StimulusState  # faster in a tick, see hil.experiments.base


class StimulusExperiment(Experiment):
    """Idle until armed, then the table, then cut."""

    name = "stimulus"
    section = StimulusConfig
    states = StimulusState
    figure = "stimulus.png"
    plotter = "hil.experiments.stimulus:plot_stimulus"
    results = RESULTS

    def __init__(self, rig: Rig, checks: ArmingChecks, *, attended: bool = False) -> None:
        super().__init__(rig, checks, attended=attended)
        section, layout = rig.config.stimulus, rig.layout
        radii_m = rig.config.wheel_radii_m
        self._times_ns = [round(time * 1e9) for time in section.content.times_s]
        self._speeds = [
            tuple([speed / radius_m for speed, radius_m in zip(row, radii_m, strict=True)])
            for row in section.speeds_mps(layout)
        ]
        self._valves = _valves(section, layout.cylinders)
        self._held = section.interpolation == "held"
        change = OF_ACCELERATION * rig.limits.wheel_acceleration_radps2 / rig.config.loop.rate_hz
        self._changes = (change,) * len(layout.wheels)
        self._set = self._zeros = layout.zero_speeds
        joints = rig.config.driven_joints
        self._angles = section.angles_rad(joints)
        self._turns = tuple([OF_HELD_RATE * one.rate_radps / rig.config.loop.rate_hz for one in joints])
        self._angle = self._angles[0] if self._angles else ()
        self._next = 1
        self._pass_through({PLAY: self._times_ns[-1], SETTLE: AFTER_NS})

    def headline(self) -> str:
        """What is played."""
        columns = ", ".join(name.replace("_", " ") for name in self.config.stimulus.content.columns)
        return f"{columns} from a table, {self.config.stimulus.length_s:g} s"

    def drive_speeds_mps(self) -> Sequence[float]:
        """The fastest straight rows, ahead and back."""
        straight = [row[0] for row in self.config.stimulus.speeds_mps(self.rig.layout) if len(set(row)) == 1]
        return sorted({max(straight, default=0.0), min(straight, default=0.0)} - {0.0})

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:  # noqa: ARG002
        """The goal of this tick."""
        self._advance(samples, estimate, safe)
        if self.state != PLAY:
            self._set = self._zeros
            return Goal(self.state, True, speed_radps=self._zeros, joint_angle_rad=self._angle_after())
        elapsed_ns, last = samples.t_ns - self._since_ns, len(self._times_ns) - 1
        while self._next < last and self._times_ns[self._next] <= elapsed_ns:
            self._next += 1
        if self._speeds:
            self._set = self._between(self._speeds, self._set, self._changes, elapsed_ns)
        if self._angles:
            self._angle = self._between(self._angles, self._angle, self._turns, elapsed_ns)
        valves = self._valves[self._next - 1] if self._valves else ()
        return Goal(self.state, not self._speeds, speed_radps=self._set, valves=valves, joint_angle_rad=self._angle)

    def _angle_after(self) -> ByServo:
        """The last angles of the table, once it is played; none before, and after a stop: the joints hold."""
        return self._angle if self.state in (SETTLE, DONE) else ()

    def _between(
        self, rows: list[tuple[float, ...]], last: tuple[float, ...], changes: tuple[float, ...], elapsed_ns: int
    ) -> tuple[float, ...]:
        """Between the rows around a time; held ones are reached by a ramp."""
        before, after = rows[self._next - 1], rows[self._next]
        if self._held:
            each = zip(before, last, changes, strict=True)
            return tuple([at + min(max(new - at, -change), change) for new, at, change in each])
        begin_ns, end_ns = self._times_ns[self._next - 1], self._times_ns[self._next]
        part = min(max((elapsed_ns - begin_ns) / (end_ns - begin_ns), 0.0), 1.0)
        return tuple([one + (later - one) * part for one, later in zip(before, after, strict=True)])

    def summarise(self, run: FinishedRun) -> Summary:
        """Keys as docs/reference/summary.md lists them."""
        section, radii_m = run.config.stimulus, np.array(run.config.wheel_radii_m)
        squares: NDArray[np.float64] = np.zeros(len(run.config.layout.wheels))
        joints = list(run.config.layout.servos)
        turned, farthest = np.zeros(len(joints)), np.zeros(len(joints))  # squares of coordinates, coordinates [deg, mm]
        shown = np.array([1e3 if name in run.config.layout.slides else np.degrees(1.0) for name in joints])
        largest, way, count = np.zeros_like(squares), 0.0, 0
        for block in in_blocks(run.ticks):
            rows = block[block["state"] == PLAY]
            if not len(rows):
                continue
            error = radii_m * (rows["set_speed_radps"] - rows["wheel_speed_radps"])
            squares += (error**2).sum(axis=0)
            largest = np.maximum(largest, np.abs(error).max(axis=0))
            if joints:
                off = shown * np.abs(rows["set_servo_angle_rad"] - rows["servo_angle_rad"]).reshape(len(rows), -1)
                turned, farthest = turned + (off**2).sum(axis=0), np.maximum(farthest, off.max(axis=0))
            way += float(rows["speed_mps"].sum()) / run.config.loop.rate_hz
            count += len(rows)
        driven = bool(section.speeds_mps(run.config.layout)) and count
        by_wheel = [finite(float(one)) for one in np.sqrt(squares / max(count, 1))]
        return {
            "wheels": list(run.config.layout.wheels),
            "columns": list(section.content.columns),
            "rows": len(section.content.times_s),
            "length_s": section.length_s,
            "interpolation": section.interpolation,
            "played_s": count / run.config.loop.rate_hz,
            "way_m": finite(way),
            "error_rms_mps": finite(float(np.sqrt(squares.sum() / (squares.size * count)))) if driven else None,
            "error_rms_by_wheel_mps": by_wheel if driven else None,
            "error_largest_mps": finite(float(largest.max())) if driven else None,
            **_of_joints(joints, run.config.layout.slides, np.sqrt(turned / max(count, 1)), farthest),
            **super().summarise(run),
        }


def _of_joints(
    names: list[str], slides: Sequence[str], error: NDArray[np.float64], farthest: NDArray[np.float64]
) -> Summary:
    """How the driven joints followed: those that turn [deg], and those that slide [mm]; nothing without any."""
    found: Summary = {}
    for words, one, unit, group in (
        ("joints", "joint", "deg", [place for place, name in enumerate(names) if name not in slides]),
        ("slides", "slide", "mm", [place for place, name in enumerate(names) if name in slides]),
    ):
        if group:
            found |= {
                words: [names[place] for place in group],
                f"{one}_error_rms_{unit}": [finite(float(error[place])) for place in group],
                f"{one}_error_largest_{unit}": finite(float(farthest[group].max())),
            }
    return found


def _valves(section: StimulusConfig, cylinders: Sequence[str]) -> list[ValveSet]:
    """The valves at each row; empty: the table has none."""
    columns, count = section.content.columns, len(section.content.times_s)
    names = [(f"{cylinder}_extend", f"{cylinder}_retract") for cylinder in cylinders]
    if not any(name in columns for pair in names for name in pair):
        return []
    off = (0.0,) * count
    by_valve = [(columns.get(extend, off), columns.get(retract, off)) for extend, retract in names]
    return [tuple([(bool(one[row]), bool(other[row])) for one, other in by_valve]) for row in range(count)]
