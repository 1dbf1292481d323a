"""Experiments `drawbar` and `slope`: a constant throttle, reached by a ramp, until the slip settles."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.optimize import brentq

from hil.config import Config
from hil.config.rig import Rig
from hil.config.schema.traction import DrawbarConfig, SlopeConfig, ThrottleConfig
from hil.control.normal_force import load_controller
from hil.control.wheel_speed import Controller
from hil.experiments.base import ArmingChecks, Experiment, FinishedRun, Summary
from hil.experiments.figure_form import FigureForm
from hil.experiments.motion_claims import motion_claims, traction_claims
from hil.experiments.source_check import rest_ns
from hil.experiments.summary import FieldMeans, MeasuredWindow, finite, measurement_reasons
from hil.experiments.summary_table import WHEELS, Claim, SummaryKey
from hil.messages.loads import LoadGoal, TractionModeName, load_goal
from hil.messages.stages import Estimate, Goal, Prediction, Samples
from hil.recording.content import in_blocks
from models.plant.towing import Traction

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hil.recording import OpenRecord


# State of a traction experiment; numbers as for the states of an impact trial where they are alike.
_ThrottleState = IntEnum("_ThrottleState", {
    "IDLE": 0, "ARMED": 1, "RAMP": 2, "STOPPING": 4, "DONE": 5, "ABORTED": 6, "SETTLE": 7, "MEASURE": 8,
})  # fmt: skip
# faster in a tick, see hil.experiments.base
IDLE, ARMED, RAMP, STOPPING, DONE, ABORTED, SETTLE, MEASURE = _ThrottleState
DRIVING = (RAMP, SETTLE, MEASURE)

# In the order of the terminal; the first are those of a sinkage test too.
LOADS = (
    SummaryKey("sinkage_m, sinkage_from", "mean sinkage of the wheels, which only a simulated rig knows; null or "
        "absent on a real one", "sinkage", 2, "mm", 1e3),
    SummaryKey("load_N, load_from", "wheel loads in the order of the names, by leg sensors or the rover twin; null "
        "where the twin does not know what pulls and there are no leg sensors", "wheel loads", 1, "N"),
    WHEELS,
)  # fmt: skip
RESULTS = (
    SummaryKey("mode", "wanted distribution of the wheel loads, and the throttle: duty, or speed of the rims",
        "wheel loads"),
    SummaryKey("duty", "", "duty", 2, when="duty"),
    SummaryKey("speed_set_mps", "", "speed set", 3, "m/s", when="speed_set_mps"),
    SummaryKey("slip, slip_u95, slip_from", "1 - speed over the mean speed of the rims, and speed of the rover: "
        "measured with `motion` ([how](../how-to/traction-on-your-own-rig.md#what-is-measured-and-how-well)), then "
        "with half-widths of the 95 % intervals; else known to the simulated rig, or of the rover twin; null where the "
        "twin does not know what pulls (drawbar without `loads.load_cell`)", "slip", 3, main="slip"),
    SummaryKey("speed_mps, speed_u95_mps", "", "speed of the rover", 4, "m/s", main="speed"),
    SummaryKey("pull_N, pull_u95_N, pull_from", "force that held the rover back; measured by a load cell, or known to "
        "the simulated rig; null where neither is there", "drawbar pull", 1, "N", main="pull"),
    *LOADS,
    SummaryKey("spread", "standard deviation of the wheel loads over their mean", "spread of the loads", 3),
    SummaryKey("wheel_speed_radps", "mean of the wheels, measured"),
    SummaryKey("pitch_deg, roll_deg", "of the ground, by the config", "slope: pitch, roll", 1, "deg"),
    SummaryKey("measured, unmeasured_share", "only with `motion`: its readings were used throughout; share of the "
        "measurement in which they were not: above 0 the run is not accepted"),
    SummaryKey("true_slip, true_speed_mps, true_pull_N", "only with `motion`: what the simulated rig knows; null on a "
        "real rig"),
)  # fmt: skip


class _ThrottleExperiment(Experiment):
    """Idle until armed, then the throttle by a ramp, a time to settle, the measurement, and a cut."""

    states = _ThrottleState
    results: ClassVar[Sequence[SummaryKey]] = RESULTS

    def __init__(self, rig: Rig, checks: ArmingChecks, *, attended: bool = False) -> None:
        super().__init__(rig, checks, attended=attended)
        throttle = rig.section
        assert isinstance(throttle, ThrottleConfig)
        self._ramp_s = throttle.ramp_s
        lengths_s = {RAMP: throttle.ramp_s, SETTLE: throttle.settle_s, MEASURE: throttle.measure_s}
        lengths_ns: dict[IntEnum, int] = {state: round(seconds * 1e9) for state, seconds in lengths_s.items()}
        self._pass_through({**lengths_ns, STOPPING: rest_ns(rig.config.motion)})
        wheels = len(rig.layout.wheels)
        self._zeros = rig.layout.zero_speeds
        self._speeds = tuple(throttle.speed_mps / radius_m for radius_m in rig.config.wheel_radii_m)
        self._duty = () if throttle.duty is None else (throttle.duty,) * wheels
        controlled = rig.layout.controls_loads
        self._loads = wanted_loads(throttle.mode, throttle.heavy_share, rig.layout.wheels) if controlled else None

    def claims(self, run: FinishedRun, summary: Summary) -> Sequence[Claim]:
        """The motion where nothing pulls, and the traction that is measured."""
        return [*motion_claims(run), *traction_claims(run, summary)]

    def controller(self) -> Controller:
        """Throttle as set, and the load controller where a mode needs it."""
        drive = super().controller()
        return load_controller(self.rig, drive) if self.config.layout.controls_loads else drive

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:  # noqa: ARG002
        """The goal of this tick."""
        self._advance(samples, estimate, safe)
        if self.state not in DRIVING:
            return Goal(self.state, True, speed_radps=self._zeros)
        share = 1.0
        if self.state == RAMP:  # never 0 while driving, which is a cut by duty
            share = min(max((samples.t_ns - self._since_ns) * 1e-9 / self._ramp_s, 1e-3), 1.0)
        if self._duty:
            duty = tuple([share * duty for duty in self._duty])
            return Goal(self.state, False, speed_radps=self._zeros, loads=self._loads, duty=duty)
        speeds = tuple([share * speed for speed in self._speeds])
        return Goal(self.state, False, speed_radps=speeds, loads=self._loads)


def wanted_loads(mode: TractionModeName, heavy_share: float, wheels: tuple[str, ...]) -> LoadGoal:
    """The wanted distribution of the wheel loads; wheels of axles that are not heavy share the rest alike."""
    if mode != "front_heavy" and mode != "rear_heavy":  # noqa: PLR1714 - a type checker follows this form
        return load_goal(mode, (), "", wheels)
    heavy = [wheel.startswith(mode.removesuffix("_heavy")) for wheel in wheels]
    each, rest = heavy_share / sum(heavy), (1.0 - heavy_share) / (len(wheels) - sum(heavy))
    return load_goal("share", tuple(each if one else rest for one in heavy), "", wheels)


def traction_of(run: FinishedRun, throttle: ThrottleConfig) -> Summary:
    """Keys as docs/reference/summary.md lists them, without a judgement; None for what was not measured.

    Pull: of the load cell, or the simulated rig's own. Slip and speed: measured, where an instrument measures the
    rover's way, or else the simulated rig's own, or the twin's. Wheel loads: of the leg sensors, or the twin's. The
    twin knows none of them where it does not know what pulls the rover.
    """
    config, layout = run.config, run.config.layout
    known = run.ground_truth.traction
    twin = None if config.pull_unknown else "twin"
    loads_from, field = ("leg sensors", "wheel_load_N") if layout.leg_sensors else (twin, "normal_force_N")
    ticks = FieldMeans(
        {field: 0, "slip": None, "speed_mps": None, "wheel_speed_radps": None}
        | ({"pull_N": None} if layout.load_cell else {})
    )
    measured = MeasuredWindow(config, run.source.drift) if layout.motion_channels else None
    for rows in in_blocks(run.ticks):
        ticks.add(rows[rows["state"] == MEASURE])
        if measured is not None:
            measured.add(rows[rows["state"] == MEASURE])
    loads = ticks.mean(field) if ticks.count else np.full(len(layout.wheels), math.nan)
    pull = float(ticks.mean("pull_N")) if layout.load_cell and ticks.count else known.pull if known else math.nan
    slip = known.slip if known else float(ticks.mean("slip")) if ticks.count else math.nan
    speed = known.speed if known else float(ticks.mean("speed_mps")) if ticks.count else math.nan
    total = float(loads.sum())
    found: Summary = {
        "mode": throttle.mode,
        "duty": throttle.duty,
        "speed_set_mps": None if throttle.duty is not None else throttle.speed_mps,
        "pull_N": finite(pull),
        "pull_from": "load cell" if layout.load_cell else "simulated rig" if known else None,
        "slip": finite(slip),
        "speed_mps": finite(speed),
        "slip_from": "simulated rig" if known else twin,
        "wheels": list(layout.wheels),
        "wheel_speed_radps": finite(float(ticks.mean("wheel_speed_radps"))) if ticks.count else None,
        "load_N": [finite(float(load)) for load in loads] if loads_from else None,
        "load_from": loads_from,
        "spread": finite(float(loads.std()) / float(loads.mean())) if ticks.count and total > 0.0 else None,
        "pitch_deg": config.ground.pitch_deg,
        "roll_deg": config.ground.roll_deg,
    }
    if known and math.isfinite(known.sinkage):  # records of earlier versions do not have it
        found |= {"sinkage_m": known.sinkage, "sinkage_from": "simulated rig"}
    if measured is None:
        return found
    towed = known or Traction(math.nan, math.nan, math.nan)
    return {
        **found,
        **measured.summary(),
        "slip_from": "measured motion",
        "true_pull_N": finite(towed.pull),
        "true_slip": finite(towed.slip),
        "true_speed_mps": finite(towed.speed),
    }


class DrawbarExperiment(_ThrottleExperiment):
    """One point of the curve of pull over slip."""

    name = "drawbar"
    section = DrawbarConfig
    figure = "drawbar.png"
    results = (SummaryKey("slip_wanted", "allowed: `drawbar.slip_tolerance` off it", "slip wanted", 3), *RESULTS)

    def headline(self) -> str:
        """Slip and distribution."""
        return f"drawbar pull at slip {self.config.drawbar.slip:g}, wheel loads {self.config.drawbar.mode}"

    @classmethod
    def label(cls, config: Config) -> str:
        """Distribution and slip."""
        return f"{config.drawbar.mode}_{config.drawbar.slip:g}"

    def summarise(self, run: FinishedRun) -> Summary:
        """Pull, slip and loads, and whether the slip has settled."""
        found, section = traction_of(run, run.config.drawbar), run.config.drawbar
        reasons = measurement_reasons(found)
        slip, low, high = found["slip"], section.slip - section.slip_tolerance, section.slip + section.slip_tolerance
        if slip is None or not low <= slip <= high:
            reasons.append(f"slip is {slip if slip is None else format(slip, '.3f')}, allowed: {low:.3g} to {high:.3g}")
        return {**found, "slip_wanted": section.slip, **self.verdict(run, reasons)}

    @classmethod
    def plot(cls, record: OpenRecord, summary: Summary, run: str, form: FigureForm) -> Figure:
        """The run over time."""
        from hil.experiments.drive import plot_over_time  # matplotlib takes half a second to import

        pull = summary.get("pull_N")
        title = f"Drawbar pull{'' if pull is None else f' {pull:.0f} N'} at slip {summary.get('slip') or 0.0:.3f}"
        return plot_over_time(record, summary, run, form, title)


class SlopeExperiment(_ThrottleExperiment):
    """One slope."""

    name = "slope"
    section = SlopeConfig
    figure = "slope.png"
    results = (SummaryKey("climbed", "the slip was at most `slope.slip_limit`", "climbed"), *RESULTS)

    def headline(self) -> str:
        """Slope and distribution."""
        return f"slope of {self.config.ground.pitch_deg:g} degrees, wheel loads {self.config.slope.mode}"

    @classmethod
    def label(cls, config: Config) -> str:
        """Distribution and slope."""
        return f"{config.slope.mode}_{config.ground.pitch_deg:g}"

    def drive_speeds_mps(self) -> Sequence[float]:
        """The throttle's."""
        return (self.config.slope.speed_mps,)

    def summarise(self, run: FinishedRun) -> Summary:
        """Slip and loads, and whether it climbs."""
        found = traction_of(run, run.config.slope)
        climbed = self.done and found["slip"] is not None and found["slip"] <= run.config.slope.slip_limit
        return {**found, "climbed": climbed, **self.verdict(run, measurement_reasons(found))}

    @classmethod
    def plot(cls, record: OpenRecord, summary: Summary, run: str, form: FigureForm) -> Figure:
        """The run over time."""
        from hil.experiments.drive import plot_over_time  # matplotlib takes half a second to import

        climbed = "climbed" if summary.get("climbed") else "not climbed"
        title = (
            f"Slope of {summary.get('pitch_deg') or 0.0:g} degrees, {climbed}, slip {summary.get('slip') or 0.0:.3f}"
        )
        return plot_over_time(record, summary, run, form, title)


_STEEPEST_DEG = 59.0


def limit_at_even_loads_deg(rig: Rig) -> float | None:
    """Slope on which the wheels' pull at `slope.slip_limit` just carries the weight along it [deg]; None: none does.

    Each wheel has the same load m g cos(slope) / wheels, and the pull of models.wheel at that load (Petersen 2012
    (4.30)-(4.32)), less that of the drawbar. A rover of other loads pulls less on soil whose compaction resistance is
    convex in the load.
    """
    rover, _, _ = rig.nominal.assemble()
    each = Counter(rig.nominal.ground.wheel_of(mount) for mount in rover.tree.wheels)
    slip = rig.config.slope.slip_limit

    def surplus(slope: float) -> float:
        load, pull = rig.weight_N * math.cos(slope) / len(rover.wheel_names), rig.nominal.drawbar.force[0]
        for wheel, count in each.items():
            sinkage = brentq(lambda z, wheel=wheel: float(wheel.forces(z, slip)[1]) - load, 1e-9, 0.8 * wheel.radius)
            pull += float(count * wheel.forces(sinkage, slip)[0])
        return pull - rig.weight_N * math.sin(slope)

    if surplus(0.0) <= 0.0:
        return None
    return math.degrees(float(brentq(surplus, 0.0, math.radians(_STEEPEST_DEG))))
