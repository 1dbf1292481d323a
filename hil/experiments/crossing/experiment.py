"""Experiment `crossing`: the rover drives over an obstacle that ends; its figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from hil.config import Config
from hil.config.loading import parse_config
from hil.config.model_parameters import nominal_rig
from hil.config.rig import Rig
from hil.config.schema.experiments import CrossingConfig
from hil.config.schema.ground_and_obstacle import GroundConfig
from hil.control.ballast import BallastControl
from hil.experiments.base import ArmingChecks, Experiment, FinishedRun, Summary
from hil.experiments.crossing.judgement import RESULTS, Course, Floats, judged
from hil.experiments.crossing.plate_force import RESULTS as PLATE_RESULTS
from hil.experiments.crossing.plate_force import plate_reasons, plate_results, static_load_checks
from hil.experiments.drawing import (
    COLOURS,
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
from hil.experiments.drive import OF_ACCELERATION
from hil.experiments.figure_form import FigureForm
from hil.experiments.impact.predicted_force import MARGIN, on_sensors
from hil.experiments.motion_claims import motion_claims
from hil.experiments.summary_table import Claim, quantity
from hil.messages.fault import Check
from hil.messages.layout import Layout
from hil.messages.stages import Estimate, Goal, Prediction, Samples
from hil.recording import OpenRecord
from models.plant import RigParameters
from models.rover.fittings import BALLAST
from models.statics import NoSteadyStateError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    side, height, loads, pitch, slip, speeds = grid
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
    if config.crossing.moves_ballast:
        _draw_ballast(height, form, record, layout)
    else:
        plot_line(height, form, t_s, poses[:, 2] - poses[0, 2], color="black")
        dress_panel(height, form, "Rise of the body, twin", "[m]")
    if summary.get("plate_hit_s") is not None:
        _draw_plate(pitch, form, record, summary)
    else:
        plot_line(pitch, form, t_s, _pitch_deg(poses), color="black")
        dress_panel(pitch, form, "Pitch, nose down above 0, twin", "[deg]")
    for axes, field in ((loads, "normal_force_N"), (slip, "slip"), (speeds, "wheel_speed_radps")):
        plot_wheels(axes, form, layout, lines[field])
    dress_panel(side, form, "Paths of the axles over the profile, twin", "[m]", "x [m]")
    dress_panel(loads, form, "Upward forces on the wheels, twin", "[N]")
    dress_panel(slip, form, "Slip, twin", "[-]")
    dress_panel(speeds, form, "Wheel speeds, measured", "[rad/s]")
    _leave_out_hits(loads, form, nominal)
    share_legend(figure, form, loads)
    mark_phases(grid[1:], form, record)
    for axes in grid[1:]:
        axes.set_xlabel("time [s]", fontsize=form.font(9.0))
    frame_figure(figure, form, f"Crossing of a {summary.get('shape')}", record, summary, run)
    return figure


def _draw_ballast(axes: Axes, form: FigureForm, record: OpenRecord, layout: Layout) -> None:
    """How far the ballast is ahead of its middle; how the body rises, the paths of the axles show too."""
    lines = over_time(record.tick, {"servo_angle_rad": 1e3})["servo_angle_rad"]
    plot_line(axes, form, *lines[layout.servos.index(BALLAST)], color="black")
    dress_panel(axes, form, "Displacement of the ballast, measured", "[mm]")


def _draw_plate(axes: Axes, form: FigureForm, record: OpenRecord, summary: Mapping[str, Any]) -> None:
    """The sum of the sensors over time, and which axle comes to the plate when."""
    plot_line(axes, form, *over_time(record.tick, {"force_sum_N": 1.0})["force_sum_N"][0], color="black")
    dress_panel(axes, form, "Force on the plate, sum of the sensors, droop corrected", "[N]")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.15 * (high - low))  # with room for the names
    for axle, at_s in zip(summary["plate_hit_axle"], summary["plate_hit_s"], strict=True):
        axes.axvline(at_s, color=COLOURS[1], ls="--", lw=form.line(1.0))
        axes.annotate(axle, (at_s, 0.97), xycoords=("data", "axes fraction"), xytext=(3, 0),
            textcoords="offset points", va="top", color=COLOURS[1], fontsize=form.font(8.0))  # fmt: skip


def _leave_out_hits(loads: Axes, form: FigureForm, nominal: RigParameters) -> None:
    """On ground where a hit is an impulse over the length of a step, end the axis at the weight; its title says so.

    It would hide all loads: a wheel that falls by 9 mm counts for fifteen times the weight.
    """
    weight_N = nominal.make_rover().mass * nominal.ground.gravity
    if nominal.ground.kind == "nonsmooth" and loads.get_ylim()[1] > weight_N:
        loads.set_ylim(max(loads.get_ylim()[0], -_BELOW * weight_N), weight_N)
        loads.set_title(f"{loads.get_title(loc='left')}; hits go on above", loc="left", fontsize=form.font(10.0))


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


_TO_DO = "lower ground.profile.height_m, or take the sensors off (daq: null, ground.profile.plate: null)"


_FOOT = 2  # face of a ledge on which wheels fall


class _DropForce(NamedTuple):
    """A drop that has not happened yet."""

    speed_mps: float  #: of the front wheels against the plate, along its normal
    energy_J: float  #: T_c of both front wheels
    wheel_N: float  #: peak on one wheel, along the normal
    sensor_N: tuple[float, ...]  #: (channels,) largest force on each sensor


def drop_force(rig: Rig) -> _DropForce | None:
    """The largest force of the front wheels' fall on each sensor; None: no ledge, or no sensors at its foot.

    The wheels fall freely, and roll ahead. They hit with T_c of both (MacMahon 2016 (3.27), with the row of a plate at
    beta, (sin beta, -cos beta) for each), or of one that hits alone. A leg takes it up as a spring, F = k x^p with the
    stiffness of `obstacle`, and then bears its weight too. All other wheels count as free: ground that holds them adds
    to the force.
    """
    config, profile = rig.config, rig.config.ground.profile
    if profile is None or profile.shape != "ledge" or profile.plate is None or profile.plate.face != _FOOT:
        return None
    rover, obstacle = rig.nominal.held.make_rover(), config.obstacle
    beta = math.radians(profile.plate_deg)
    fall_mps = math.sqrt(2.0 * config.ground.gravity_mps2 * profile.height_m)
    speed_mps = fall_mps * math.cos(beta) + config.crossing.speed_mps * math.sin(beta)
    q = rover.neutral()
    rows = rover.impact_jacobian(q, beta)
    mobility = rows @ np.linalg.solve(rover.mass_matrix(q), rows.T)
    pair_J = 0.5 * speed_mps**2 * float(np.linalg.inv(mobility).sum())
    alone_J = 0.5 * speed_mps**2 / float(mobility.diagonal().min())
    stiffness, power = 1.0 / obstacle.leg_compliance_mpN(profile.plate_deg), obstacle.exponent
    deepest_m = ((power + 1.0) * max(0.5 * pair_J, alone_J) / stiffness) ** (1.0 / (power + 1.0))
    wheel_N = MARGIN * (stiffness * deepest_m**power + _resting_N(rig) * math.cos(beta))
    return _DropForce(speed_mps, pair_J, wheel_N, on_sensors(config.daq, config.wheel_radius_m, beta, wheel_N))


def drop_checks(rig: Rig) -> list[Check]:
    """The predicted force on each sensor against `limits.sensor_force_N`; none without sensors."""
    config = rig.config
    if config.daq is None:
        return []
    checks, limit_N = [], rig.limits.sensor_force_N
    force = drop_force(rig)
    for name, load_N in zip(config.layout.channels, force.sensor_N if force else (), strict=False):
        assert force is not None
        found = f"{load_N:.0f} N: {force.speed_mps:.2f} m/s, T_c {force.energy_J:.3g} J, {force.wheel_N:.0f} N a wheel"
        allowed = "not checked (limits.sensor_force_N is null)"
        if limit_N is not None:
            allowed = f"at most {limit_N:g} N (limits.sensor_force_N)"
        ok = limit_N is None or load_N <= limit_N
        checks.append(Check(f"predicted force of the drop on sensor {name}", ok, found, allowed, _TO_DO))
    return checks


def _resting_N(rig: Rig) -> float:
    """Largest load of a wheel at rest."""
    try:
        return max(rig.resting_loads_N)
    except NoSteadyStateError:
        return 0.0


# State of a crossing; numbers as for the states of other experiments where they are alike.
_CrossingState = IntEnum("_CrossingState", {
    "IDLE": 0, "ARMED": 1, "APPROACH": 2, "CONTACT": 3, "SETTLE": 4, "DONE": 5, "ABORTED": 6, "CROSS": 9,
})  # fmt: skip
# faster in a tick, see hil.experiments.base
IDLE, ARMED, APPROACH, CONTACT, SETTLE, DONE, ABORTED, CROSS = _CrossingState
DRIVING = (APPROACH, CONTACT, CROSS)


class CrossingExperiment(Experiment):
    """Idle until armed; approach, until front wheels touch the shape; contact, until they are on it; then the rest.

    Where the rover is says the rover twin.
    """

    name = "crossing"
    section = CrossingConfig
    states = _CrossingState
    figure = "crossing.png"
    plotter = "hil.experiments.crossing.experiment:plot_crossing"
    results = (*RESULTS, *PLATE_RESULTS)

    def __init__(self, rig: Rig, checks: ArmingChecks, *, attended: bool = False) -> None:
        super().__init__(rig, checks, attended=attended)
        section = self.config.crossing
        self._course = Course(rig.nominal)
        self._timeout_ns, self._settle_ns = round(section.timeout_s * 1e9), round(section.settle_s * 1e9)
        self._wanted = tuple(section.speed_mps / radius_m for radius_m in rig.config.wheel_radii_m)
        self._ramp_s = max(self._wanted) / (OF_ACCELERATION * rig.limits.wheel_acceleration_radps2)
        self._zeros = rig.layout.zero_speeds
        self._began_ns = 0
        self._ballast = BallastControl(rig, self._course.rover, self._course.line) if section.moves_ballast else None

    def headline(self) -> str:
        """Shape and speed."""
        return f"{shape_words(self.config.ground)} at {self.config.crossing.speed_mps:g} m/s"

    @classmethod
    def label(cls, config: Config) -> str:
        """The shape."""
        profile = config.ground.profile
        return f"{cls.name}_{profile.shape}" if profile else cls.name

    def drive_speeds_mps(self) -> Sequence[float]:
        """That of the approach."""
        return (self.config.crossing.speed_mps,)

    def own_checks(self) -> Sequence[Check]:
        """What stands on sensors, or falls on them below a ledge, they can bear."""
        return [*static_load_checks(self.rig), *drop_checks(self.rig)]

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:
        """The goal of this tick."""
        t_ns = samples.t_ns
        if self._begin_or_end(samples, estimate, safe):
            pass
        elif self.state == ARMED and self._may_start(samples):
            self._enter(APPROACH, t_ns)
            self._began_ns = t_ns
        elif self.state in DRIVING:
            self._go_on(prediction.pose, t_ns)
        elif self.state == SETTLE and t_ns - self._since_ns >= self._settle_ns:
            self._enter(DONE, t_ns)
        if self.state not in DRIVING:
            return Goal(self.state, True, speed_radps=self._zeros)
        share = min((t_ns - self._began_ns) * 1e-9 / self._ramp_s, 1.0)
        return Goal(
            self.state,
            False,
            speed_radps=tuple([share * speed for speed in self._wanted]),
            pushing=self.state != APPROACH,
            joint_angle_rad=self._ballast.command(prediction.pose, self._course.each_axle_m(prediction.pose))
            if self._ballast
            else (),
        )

    def _go_on(self, pose: Sequence[float], t_ns: int) -> None:
        course = self._course
        front_m, rear_m = course.axles_m(pose)
        if t_ns - self._began_ns >= self._timeout_ns or rear_m >= course.ends_m + self.config.crossing.past_m:
            self._enter(SETTLE, t_ns)
        elif self.state == APPROACH and front_m >= course.touches_m:
            self._enter(CONTACT, t_ns)
        elif self.state == CONTACT and front_m >= course.on_m:
            self._enter(CROSS, t_ns)

    def summarise(self, run: FinishedRun) -> Summary:
        """Keys as docs/reference/summary.md lists them."""
        found = judged(run.config, self._course, run.ticks, run.ground_truth.motion)
        found |= plate_results(run, self._course)
        return {**found, **self.verdict(run, [*self._own_reasons(found), *plate_reasons(run, self._course, found)])}

    def claims(self, run: FinishedRun, summary: Summary) -> Sequence[Claim]:
        """Distance, and where the rover came to; its loads are the largest of hits, which the truth does not have."""
        found = motion_claims(run, loads=False)
        known = summary["wheels_across_true"], summary["rise_true_m"]
        if found and run.ground_truth.motion is not None and None not in known:
            found += [
                Claim("wheels across", "", summary["wheels_across"], known[0], 0.0),
                Claim("rise of the body", "m", summary["rise_m"], known[1], found[0].allowed),
            ]
        return found

    def _own_reasons(self, found: Summary) -> list[str]:
        """Why a run that went through would not be accepted."""
        section, reasons = self.config.crossing, []
        if not found["crossed"]:
            reasons.append(
                f"the {found['shape']} was not crossed: {found['wheels_across']} of {len(found['wheels'])} wheels are "
                f"across after {quantity(found['drive_s'], 's', 1)} (crossing.timeout_s {section.timeout_s:g})"
            )
        if found["clearance_m"] is not None and found["clearance_m"] < 0.0:
            reasons.append(
                f"the body was {-found['clearance_m']:.3f} m in the ground, which this model does not hold; needed: a "
                "lower shape, or a higher body"
            )
        limit_N, load_N = section.most_load_N, found["largest_load_N"]
        if limit_N is not None and load_N is not None and load_N > limit_N:
            reasons.append(f"a wheel bore {load_N:.0f} N, allowed: {limit_N:g} N (crossing.most_load_N)")
        return reasons


def shape_words(ground: GroundConfig) -> str:
    """The shape in a few words."""
    profile = ground.profile
    if profile is None:
        return "level ground"
    if profile.shape in ("step", "ledge"):
        return f"{profile.shape} of {profile.height_m:g} m"
    return "compound slope" if profile.shape == "slope" else "line of points"
