"""Simulates a plan of activities, and draws it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from pydantic import Field

from hil.campaign.plan import read_plan, shipped_plans
from hil.config import Problem
from hil.config.command_requirements import OPEN_GROUND, TRACTION, WHEELS, refuse_unfit
from hil.config.rig import Rig
from hil.config.schema.base import Listed, Section, bounded, positive
from hil.experiments.drawing import COLOURS, draw_limit, dress_panel, name_phases, new_figure, share_legend
from hil.experiments.figure_form import FigureForm
from models.kernels.compiled import FloatArray
from models.plant import Plant

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
_PLACE = Annotated[float, Field(ge=-10_000, le=10_000)]


class _Battery(Section):
    """The battery."""

    capacity_Wh: float = Field(gt=0, le=1e6, description="what a full battery gives")
    start_share: float = bounded(1.0, 0, 1, "state of charge at the start")
    least_share: float = bounded(0.0, 0, 1, "below this state of charge the plan is not feasible")


class _Activity(Section):
    """A drive to a place, or a stay; one of `to_m` and `for_s`."""

    name: str = Field(pattern=_NAME, max_length=64, description="of the activity")
    to_m: tuple[_PLACE, _PLACE] | None = Field(
        None, strict=False, description="a drive: x ahead of the rover's start and y to port of it; null: a stay"
    )
    speed_mps: float = positive(0.1, 2, "of the rims in a drive")
    for_s: float | None = positive(None, 1e6, "duration of a stay [s]")
    load_W: float = bounded(0.0, 0, 1e5, "what its instruments draw, in addition to `always_W`")
    supply_W: float = bounded(0.0, 0, 1e5, "what solar panels give meanwhile")


class _ActivityPlan(Section):
    """Activities, one after the other."""

    name: str = Field(pattern=_NAME, max_length=64, description="name of the plan")
    battery: _Battery = Field(description="what all is drawn from")
    always_W: float = bounded(0.0, 0, 1e5, "what computer, heaters and radio draw all the time")
    motor_efficiency: float = Field(
        gt=0,
        le=1,
        description="work at the axles, friction of the gears included, over what amplifiers and motors draw",
    )
    activities: Listed[_Activity] = Field(min_length=1, max_length=1000, description="in order")


def load_activity_plan(source: str | Path) -> _ActivityPlan:
    """Read and check a plan of activities.

    Args:
        source: path of a YAML file, or the name of a shipped one of `rig_configs/activities/`.

    Raises:
        ConfigError: with all problems at once.
    """
    return read_plan(source, shipped_plans("activities"), _ActivityPlan, _cross_checks)


def _cross_checks(plan: _ActivityPlan) -> list[Problem]:
    problems = [
        Problem(
            f"activities.{place}", "to_m and for_s" if one.to_m else "neither to_m nor for_s", "one of to_m and for_s"
        )
        for place, one in enumerate(plan.activities)
        if (one.to_m is None) == (one.for_s is None)
    ]
    names = [one.name for one in plan.activities]
    problems += [
        Problem(f"activities.{place}.name", f"{name} again", "each name once")
        for place, name in enumerate(names)
        if name in names[:place]
    ]
    if plan.battery.start_share < plan.battery.least_share:
        allowed = f"{plan.battery.least_share:g} (battery.least_share) to 1"
        problems.append(Problem("battery.start_share", f"{plan.battery.start_share:g}", allowed))
    return problems


TICK_NS = 20_000_000
RAMP_S = 1.0
# A drive has arrived so near to its place, and has failed after so many times of its straight distance [m], [-], [s].
NEAR_M, MOST_TIMES, SPARE_S = 0.1, 3.0, 10.0
# It steers by speeds of its two sides: the share by which one is faster, for a bearing [1/rad] and at most.
STEER_PER_RAD, MOST_SHARE = 1.0, 0.5
SAMPLE_S = 0.5


class _Phase(NamedTuple):
    """What an activity took."""

    name: str  #: of the activity
    from_s: float  #: begin since the start of the plan [s]
    to_s: float  #: end [s]
    way_m: float  #: of the main body, level [m]
    work_J: float  #: of the motors at the axles, where they drive [J]; braking gives nothing back
    motors_J: float  #: drawn by motors and amplifiers [J]
    loads_J: float  #: drawn by instruments and by what is always on [J]
    supply_J: float  #: given by the solar panels [J]
    peak_W: float  #: largest power drawn, of means over `SAMPLE_S` [W]
    charge: float  #: state of charge at the end, 0 to 1
    least_charge: float  #: the lowest one in it
    x_m: float  #: where it ends [m]
    y_m: float  #: likewise
    problem: str = ""  #: why it failed; "": it did not

    @property
    def drawn_J(self) -> float:
        """All that was drawn [J]."""
        return self.motors_J + self.loads_J


class _ActivityResult(NamedTuple):
    """A plan that was simulated."""

    phases: tuple[_Phase, ...]  #: of the activities, up to the first that failed
    rows: FloatArray  #: (n, 4) time [s], power drawn and supplied [W], state of charge; means over `SAMPLE_S` in drives
    problems: tuple[str, ...]  #: why the plan is not feasible; empty: it is


class _BatteryCharge:
    """State of charge, and its history."""

    def __init__(self, plan: _ActivityPlan) -> None:
        self._full_J = plan.battery.capacity_Wh * 3600.0
        self.stored_J = plan.battery.start_share * self._full_J
        self.t_s, self.rows = 0.0, [(0.0, 0.0, 0.0, self.charge)]

    @property
    def charge(self) -> float:
        return self.stored_J / self._full_J

    def take(self, for_s: float, drawn_W: float, supplied_W: float) -> None:
        """Constant powers for a while; a full battery takes no more, and an empty one gives none."""
        self.t_s += for_s
        self.stored_J = min(max(self.stored_J + (supplied_W - drawn_W) * for_s, 0.0), self._full_J)
        self.rows.append((self.t_s, drawn_W, supplied_W, self.charge))


class _Drive:
    """Drives the rover of a rig."""

    def __init__(self, rig: Rig) -> None:
        self._plant = Plant(rig.nominal, np.random.default_rng(rig.config.seed))
        chain = self._plant.rover.chain
        self._radius, self._motors = chain.wheel_radius, chain.motor_wheel
        self._to_port = np.sign(self._plant.rover.wheel_positions(self._plant.rover.neutral())[:, 1])
        self.state = self._plant.scene.value.state
        self.stop()

    def stop(self) -> None:
        """Cut the drives."""
        self._plant.set_drives((0.0,) * self._radius.size, cut=True)

    @property
    def outside(self) -> str:
        """What the models hold for and the rover left; "": nothing."""
        return "" if self._plant.outside is None else self._plant.outside.words

    def tick(self, to_m: tuple[float, float], speed_mps: float) -> float:
        """Drive towards a place for a tick. Returns the power of the driving motors at the axles [W]."""
        x, y, z, w = self.state.q[3:7].tolist()
        heading = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        bearing = math.atan2(to_m[1] - float(self.state.q[1]), to_m[0] - float(self.state.q[0]))
        aside = math.remainder(bearing - heading, 2.0 * math.pi)
        share = min(max(STEER_PER_RAD * aside, -MOST_SHARE), MOST_SHARE)
        speeds = speed_mps / self._radius * (1.0 - share * self._to_port)
        self._plant.set_drives(tuple(speeds.tolist()), cut=False)
        self._plant.advance(self._plant.t_ns + TICK_NS)
        torque, turning = self._plant.drive_torque[self._motors], self._plant.wheel_speed[self._motors]
        return float(np.maximum(torque * turning, 0.0).sum())


def simulate(rig: Rig, plan: _ActivityPlan) -> _ActivityResult:
    """Simulate a plan with the nominal rover of a rig, which begins at its start.

    A stay is not stepped: the rover stands where it is, its drives cut.

    Raises ConfigError: the rig's rover has no wheels, an obstacle before it, or no ground to drive on.
    """
    refuse_unfit(rig.config, "activities", WHEELS, OPEN_GROUND, TRACTION)
    rover, battery, phases = _Drive(rig), _BatteryCharge(plan), list[_Phase]()
    problems: list[str] = []
    for activity in plan.activities:
        phase = (
            _stay(activity, plan, rover, battery) if activity.to_m is None else _drive(activity, plan, rover, battery)
        )
        phases.append(phase)
        if phase.problem:
            problems.append(f"{phase.name}: {phase.problem}")
        least = plan.battery.least_share
        if phase.least_charge < least:
            problems.append(f"{phase.name}: state of charge {phase.least_charge:.3f}, allowed: {least:g} and more")
        if phase.problem:
            break
    return _ActivityResult(tuple(phases), np.array(battery.rows), tuple(problems))


def _stay(activity: _Activity, plan: _ActivityPlan, rover: _Drive, battery: _BatteryCharge) -> _Phase:
    assert activity.for_s is not None
    rover.stop()
    begin_s, load_W = battery.t_s, plan.always_W + activity.load_W
    battery.take(activity.for_s, load_W, activity.supply_W)
    x, y = rover.state.q[:2].tolist()
    energies = load_W * activity.for_s, activity.supply_W * activity.for_s
    charge = battery.charge  # powers are constant, so the lowest is at an end
    least = min(charge, battery.rows[-2][3])
    return _Phase(activity.name, begin_s, battery.t_s, 0.0, 0.0, 0.0, *energies, load_W, charge, least, x, y)


def _drive(activity: _Activity, plan: _ActivityPlan, rover: _Drive, battery: _BatteryCharge) -> _Phase:
    goal, q = activity.to_m, rover.state.q
    assert goal is not None
    tick_s, begin_s, load_W = TICK_NS * 1e-9, battery.t_s, plan.always_W + activity.load_W
    most_s = MOST_TIMES * math.dist(goal, q[:2].tolist()) / activity.speed_mps + SPARE_S
    gone_s = way = work = peak = in_sample = sample_s = 0.0
    least, problem = battery.charge, ""
    while not (arrived := math.dist(goal, q[:2].tolist()) < NEAR_M) and gone_s < most_s and not rover.outside:
        before = q[:2].copy()
        power = rover.tick(goal, activity.speed_mps * min(1.0, (gone_s + tick_s) / RAMP_S))
        gone_s, sample_s = gone_s + tick_s, sample_s + tick_s
        way += float(np.hypot(*(q[:2] - before)))
        work, in_sample = work + power * tick_s, in_sample + power * tick_s
        if sample_s > SAMPLE_S - 0.5 * tick_s:
            drawn_W = in_sample / sample_s / plan.motor_efficiency + load_W
            battery.take(sample_s, drawn_W, activity.supply_W)
            peak, least, in_sample, sample_s = max(peak, drawn_W), min(least, battery.charge), 0.0, 0.0
    if sample_s > 0.0:
        drawn_W = in_sample / sample_s / plan.motor_efficiency + load_W
        battery.take(sample_s, drawn_W, activity.supply_W)
        peak, least = max(peak, drawn_W), min(least, battery.charge)
    rover.stop()
    x, y = q[:2].tolist()
    if not arrived:
        why = (
            f"the rover is outside what its models hold for: {rover.outside}"
            if rover.outside
            else "not arrived in time"
        )
        problem = f"{why}; at {x:.2f}, {y:.2f} m after {gone_s:.0f} s, {math.dist(goal, (x, y)):.2f} m from its place"
    return _Phase(
        activity.name, begin_s, battery.t_s, way, work, work / plan.motor_efficiency, load_W * gone_s,
        activity.supply_W * gone_s, peak, battery.charge, least, x, y, problem,
    )  # fmt: skip


def draw(plan: _ActivityPlan, result: _ActivityResult, form: FigureForm) -> Figure:
    """State of charge and powers over the time; the activities are shaded in turn, and named where there is room."""
    figure = new_figure(form, (10.0, 7.0), (130.0, 110.0))
    charge, powers = figure.subplots(2, 1, sharex=True)
    rows = result.rows.copy()
    rows[0, 1:3] = rows[1, 1:3]  # a row has the powers of the time before it
    hours, style = rows[:, 0] / 3600.0, {"where": "pre", "lw": form.line(1.4)}
    charge.plot(hours, 100.0 * rows[:, 3], color=COLOURS[0], lw=form.line(1.6), label="state of charge")
    draw_limit(charge, form, 100.0 * plan.battery.least_share, "least state of charge")
    powers.step(hours, rows[:, 1], color=COLOURS[1], label="power drawn", **style)
    powers.step(hours, rows[:, 2], color=COLOURS[2], label="power supplied", **style)
    powers.set_yscale("symlog", linthresh=10.0)
    dress_panel(charge, form, "State of charge of the battery", "[%]")
    dress_panel(powers, form, "Power, logarithmic above 10 W", "[W]", "time [h]")
    spans = [(phase.name, phase.from_s / 3600.0, phase.to_s / 3600.0) for phase in result.phases]
    for number, (_, from_h, to_h) in enumerate(spans):
        for axes in (charge, powers):
            axes.axvspan(from_h, to_h, color="black", alpha=0.03 if number % 2 else 0.08, lw=0)
    name_phases(charge, form, spans)
    share_legend(figure, form, charge, powers)
    return figure
