"""Experiment `walk`: motions and gaits by drives and joints, as a programme over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from hil.config.rig import Rig
from hil.config.schema.servos import DrivenJoint
from hil.config.schema.walk import WalkConfig, WalkStep
from hil.control.motions.geometry import Geometry, route_legs
from hil.control.motions.steering import body_height, steered, wheel_lift
from hil.control.motions.timeline import STEP_S, PaceLimits, Playback, Programme, Timeline
from hil.experiments.base import AFTER_NS, ArmingChecks, Experiment, FinishedRun, Summary
from hil.experiments.summary import finite
from hil.experiments.walk.judgement import (
    LEAST_WAY_M,
    RESULTS,
    BodyPoses,
    joint_torques,
    measured_from,
    parts_summary,
    slides,
    true_places,
    twin_places,
)
from hil.messages.fault import Check
from hil.messages.stages import Estimate, Goal, Prediction, Samples
from hil.recording.content import in_blocks

# Part of the wheels' acceleration limit that a programme may take: a loop that lost ticks can catch up.
OF_ACCELERATION = 0.5
# Part of the servos' limits that a motion takes whose duration is not given.
OF_SERVOS = 0.8
# Steps of the set-points may exceed a limit by this part: they are straight between samples.
_ROUNDED = 1e-3


def geometry_of(rig: Rig) -> Geometry:
    """The rover of a rig with its driven joints."""
    return Geometry(rig.config.rover_parameters().tree(), rig.layout.servos)


def start_angles(driven_joints: tuple[DrivenJoint, ...]) -> np.ndarray:
    """Angles (servos,) of the driven joints at the start [rad]."""
    return np.array([joint.start_rad for joint in driven_joints])


def walk_timeline(rig: Rig, section: WalkConfig) -> Timeline:
    """All steps of the section; part 0 leads to where the first one begins.

    Raises ValueError: a motion that the rover cannot make, in words.
    """
    geometry, servos = geometry_of(rig), rig.config.driven_joints
    pace = PaceLimits(
        joint_rate=OF_SERVOS * min((one.rate_radps for one in servos), default=math.inf),
        joint_acceleration=OF_SERVOS * min((one.acceleration_radps2 for one in servos), default=math.inf),
        wheel_acceleration=OF_ACCELERATION * rig.limits.wheel_acceleration_radps2,
        wheel_speed=rig.limits.wheel_speed_radps,
    )
    programme = Programme(geometry, pace, start_angles(servos))
    for number, step in enumerate(section.steps):
        try:
            _add(programme, geometry, section, step)
        except ValueError as error:
            raise ValueError(f"walk.steps.{number}, {step.motion}: {error}") from None
    return programme.timeline()


def _add(programme: Programme, geometry: Geometry, section: WalkConfig, step: WalkStep) -> None:
    """The motion of a step; what leads to it belongs to the part before."""
    if step.motion == "gait":
        programme.pose(steered(geometry, programme.angles, (1.0, 0.0, 0.0)))
        programme.begin_gait(section.phases)
        programme.end_part()
        for _ in range(step.cycles):
            programme.cycle(section.phases)
        return
    if step.motion == "wait":
        programme.end_part()
        programme.wait(step.duration_s)
    elif step.motion == "route":
        programme.end_part()
        for leg in route_legs(step.points, step.corner_m):
            programme.go(*leg, step.speed_mps, math.radians(step.rate_degps))
    elif step.motion == "body_height":
        programme.end_part()
        programme.pose(body_height(geometry, programme.angles, step.change_m))
    elif step.motion == "wheel_lift":
        programme.end_part()
        programme.pose(wheel_lift(geometry, programme.angles, step.wheel, step.change_m))
    else:
        twist = _twist(step)
        programme.pose(steered(geometry, programme.angles, twist))
        programme.end_part()
        programme.move(twist, step.duration_s)


def _twist(step: WalkStep) -> tuple[float, float, float]:
    """Of the base: ahead [m/s], to port [m/s], yaw rate [rad/s]."""
    if step.motion == "turn":
        return 0.0, 0.0, math.radians(step.rate_degps)
    if step.motion == "crab":
        heading = math.radians(step.heading_deg)
        return step.speed_mps * math.cos(heading), step.speed_mps * math.sin(heading), 0.0
    return step.speed_mps, 0.0, step.speed_mps / step.radius_m if step.motion == "arc" else 0.0


def programme_checks(rig: Rig, timeline: Timeline) -> Sequence[Check]:
    """Whether set-points are within the limits of drives and servos."""
    limits, servos = rig.limits, rig.config.driven_joints
    drive, rate, acceleration = timeline.accelerations()
    checks = [
        _below("speed of the wheels", timeline.speeds, limits.wheel_speed_radps, "rad/s", "limits.wheel_speed_radps"),
        _below(
            "acceleration of the wheels",
            drive,
            OF_ACCELERATION * limits.wheel_acceleration_radps2,
            "rad/s^2",
            f"{OF_ACCELERATION:g} of limits.wheel_acceleration_radps2",
        ),
    ]
    for place, servo in enumerate(servos):
        name = servo.name.replace("_", " ")
        low, high = (
            servo.shown(float(one)) for one in (timeline.angles[:, place].min(), timeline.angles[:, place].max())
        )
        least, most, unit = servo.shown(servo.low_rad), servo.shown(servo.high_rad), servo.unit
        si = "m" if servo.slides else "rad"
        checks += [
            Check(
                f"angle of {name}",
                least - 1e-6 <= low and high <= most + 1e-6,
                f"{low:.1f} to {high:.1f} {unit}",
                f"{least:g} to {most:g} {unit} (range_{unit} of servos.{servo.section})",
                "smaller angles in walk, or a wider range if the rover allows it",
            ),
            _below(f"speed of {name}", rate[:, place], servo.rate_radps, f"{si}/s", f"rate_{unit}ps of its servo"),
            _below(
                f"acceleration of {name}",
                acceleration[:, place],
                servo.acceleration_radps2,
                f"{si}/s^2",
                f"acceleration_{unit}ps2 of its servo",
            ),
        ]
    return [check for check in checks if not check.ok] or [_whole(timeline)]


def _whole(timeline: Timeline) -> Check:
    return Check(
        "motions",
        True,
        f"{timeline.seconds:.1f} s, wheels up to {np.abs(timeline.speeds).max():.2f} rad/s",
        "within the limits of wheels and servos",
    )


def _below(item: str, values: np.ndarray, most: float, unit: str, key: str) -> Check:
    largest = float(np.abs(values).max(initial=0.0))
    found, allowed = f"{largest:.3g} {unit}", f"at most {most:.3g} {unit} ({key})"
    return Check(item, largest <= most * (1.0 + _ROUNDED), found, allowed, "longer phases, or slower motions, in walk")


# State of a walk; numbers as for the states of an impact trial where they are alike.
_WalkState = IntEnum("_WalkState", {"IDLE": 0, "ARMED": 1, "WALK": 2, "SETTLE": 4, "DONE": 5, "ABORTED": 6})
IDLE, ARMED, WALK, SETTLE, DONE, ABORTED = _WalkState  # faster in a tick, see hil.experiments.base


class WalkExperiment(Experiment):
    """Idle until armed, then the motions, then a cut of the drives; the servos hold."""

    name = "walk"
    section = WalkConfig
    states = _WalkState
    figure = "walk.png"
    plotter = "hil.experiments.walk.figure:plot_walk"
    results = RESULTS

    def __init__(self, rig: Rig, checks: ArmingChecks, *, attended: bool = False) -> None:
        super().__init__(rig, checks, attended=attended)
        self._wrong, self.timeline = "", None
        try:
            self.timeline = walk_timeline(rig, rig.config.walk)
        except ValueError as error:  # arming says so
            self._wrong = str(error)
        self._zeros = rig.layout.zero_speeds
        self._last = tuple(start_angles(rig.config.driven_joints).tolist())
        self._playback = Playback(self.timeline) if self.timeline else None
        self._pass_through({WALK: self._playback.length_ns if self._playback else 0, SETTLE: AFTER_NS})

    def headline(self) -> str:
        """Its motions."""
        return ", ".join(_words(self.config.walk)) + (f", {self.timeline.seconds:.0f} s" if self.timeline else "")

    def own_checks(self) -> Sequence[Check]:
        """The motions are within the limits of drives and servos."""
        if self.timeline is None:
            return (Check("motions", False, self._wrong, "motions that the rover can make", "change walk.steps"),)
        return programme_checks(self.rig, self.timeline)

    def decide(self, samples: Samples, estimate: Estimate, prediction: Prediction, safe: bool) -> Goal:  # noqa: ARG002
        """The goal of this tick."""
        self._advance(samples, estimate, safe)
        if self.state != WALK or self._playback is None:
            return Goal(self.state, True, speed_radps=self._zeros, joint_angle_rad=self._last)
        speeds, self._last = self._playback.at(samples.t_ns - self._since_ns)
        return Goal(self.state, False, speed_radps=speeds, joint_angle_rad=self._last)

    def summarise(self, run: FinishedRun) -> Summary:
        """Keys as docs/reference/summary.md lists them."""
        config, line = run.config, self.timeline
        found: Summary = {
            "wheels": list(config.layout.wheels),
            "joints": list(config.layout.servos),
            "motions": _words(config.walk),
            "length_s": line.seconds if line else None,
            **dict.fromkeys(("played_s", "advance_m", "advance_wanted_m", "advance_true_m", "slide_m"), None),
            **dict.fromkeys(("slide_by_wheel_m", "slide_true_by_wheel_m", "servo_error_deg", "energy_J"), None),
            **dict.fromkeys(("servo_error_by_joint_deg", "servo_torque_by_joint_Nm", "at_limit_by_joint_s"), None),
            "parts": [],
        }
        blocks = [block[block["state"] == WALK] for block in in_blocks(run.ticks)]
        if line is not None and sum(map(len, blocks)) > 1:
            found |= self._judged(line, blocks, run.ground_truth.motion)
        return {**found, **self.verdict(run, self.own_reasons(found))}

    def _judged(self, line: Timeline, blocks: list[Any], motion: Any) -> Summary:
        config, geometry = self.config, geometry_of(self.rig)
        began_s = float(next(block["t_ns"][0] for block in blocks if len(block))) * 1e-9
        measured = measured_from(blocks, config.loop.rate_hz)
        each: dict[str, BodyPoses] = {"twin": twin_places(measured)}
        if motion is not None and len(motion) > 1:
            each["true"] = true_places(measured, motion, began_s)
        parts = parts_summary(geometry, line, [step.motion for step in config.walk.steps], measured, each)
        slid = {name: slides(geometry, measured, places, line) for name, places in each.items()}
        sample = np.clip(np.round(measured.t_s / STEP_S).astype(int), 0, len(line.part) - 1)
        error = np.degrees(np.abs(line.angles[sample] - measured.angles)).max(axis=0)
        limits = np.array([joint.torque_limit_Nm for joint in config.driven_joints])
        torques, at_limit_s = joint_torques(blocks, limits, config.loop.rate_hz)
        return {
            "played_s": float(measured.t_s[-1]),
            "advance_m": _ahead(parts, "twin"),
            "advance_wanted_m": _ahead(parts, "wanted"),
            "advance_true_m": _ahead(parts, "true"),
            "slide_m": _largest(slid["twin"]),
            "slide_by_wheel_m": [finite(float(one)) for one in slid["twin"]],
            "slide_true_by_wheel_m": [finite(float(one)) for one in slid["true"]] if "true" in slid else None,
            "servo_error_deg": _largest(error),
            "servo_error_by_joint_deg": [finite(float(one)) for one in error],
            "servo_torque_by_joint_Nm": [finite(float(one)) for one in torques],
            "at_limit_by_joint_s": [finite(float(one)) for one in at_limit_s],
            "energy_J": _electrical_J(blocks, config.loop.rate_hz),
            "parts": parts,
        }

    def own_reasons(self, found: Summary) -> list[str]:
        """Why a run that went through would not be accepted."""
        section, reasons = self.config.walk, []
        wanted, got, slid = found["advance_wanted_m"], found["advance_m"], found["slide_m"]
        if wanted is not None and abs(wanted) > LEAST_WAY_M and (got or 0.0) / wanted < section.least_advance:
            shown = "not known" if got is None else f"{got:.3f} m"
            needed = f"{section.least_advance:.0%} of {wanted:.3f} m (walk.least_advance)"
            reasons.append(f"advance is {shown}, allowed: at least {needed}")
        if slid is not None and slid > section.most_slide_m:
            reasons.append(
                f"a standing wheel slid by {slid:.4f} m, allowed: {section.most_slide_m:g} m (walk.most_slide_m)"
            )
        joint, off_deg = _joint_of_largest(found, "servo_error_by_joint_deg")
        if off_deg > section.most_servo_error_deg:
            allowed = f"{section.most_servo_error_deg:g} deg (walk.most_servo_error_deg)"
            reasons.append(f"{joint} was {off_deg:.2f} deg from its set angle, allowed: {allowed}")
        joint, limited_s = _joint_of_largest(found, "at_limit_by_joint_s")
        if limited_s > section.most_at_limit_s:
            allowed = f"{section.most_at_limit_s:g} s (walk.most_at_limit_s)"
            reasons.append(f"{joint} took the torque limit of its servo for {limited_s:.2f} s, allowed: {allowed}")
        return reasons


def _words(section: WalkConfig) -> list[str]:
    """Each step in a word or two."""
    return [
        f"{step.motion.replace('_', ' ')}, {step.cycles} cycles"
        if step.motion == "gait"
        else step.motion.replace("_", " ")
        for step in section.steps
    ]


def _joint_of_largest(summary: Mapping[str, Any], key: str) -> tuple[str, float]:
    """The driven joint with the largest of the values of a key, in words, and that value; none: empty, 0."""
    values = [one or 0.0 for one in summary.get(key) or []]
    if not values:
        return "", 0.0
    largest = max(values)
    return summary["joints"][values.index(largest)].replace("_", " "), largest


def _ahead(parts: list[Summary], source: str) -> float | None:
    """Sum over the parts of the distance along the direction in which each motion should go."""
    total = 0.0
    for part in parts:
        wanted, found = part["wanted"], part.get(source)
        if found is None or None in found:
            return None
        length = math.hypot(wanted[0], wanted[1])
        total += (found[0] * wanted[0] + found[1] * wanted[1]) / length if length > LEAST_WAY_M else 0.0
    return total if parts else None


def _largest(slid: Any) -> float | None:
    known = slid[np.isfinite(slid)]
    return float(known.max()) if known.size else None


def _electrical_J(blocks: list[Any], rate_hz: float) -> float | None:
    """Energy that the drives took from their supplies; None: currents are not measured."""
    if "current_A" not in (blocks[0].dtype.names or ()):
        return None
    total = sum(float((block["current_A"].sum(axis=1) * block["supply_V"].mean(axis=1)).sum()) for block in blocks)
    return finite(total / rate_hz)
