"""The motions of a config as set-points over time, and what arming asks of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hil.config.rig import Rig
from hil.config.schema.servos import DrivenJoint
from hil.config.schema.walk import WalkConfig, WalkStep
from hil.control.motions.geometry import Geometry, route_legs
from hil.control.motions.steering import body_height, steered, wheel_lift
from hil.control.motions.timeline import PaceLimits, Programme, Timeline
from hil.messages.fault import Check

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
