"""The sections of the experiments capture, jog and drive."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate, takewhile
from typing import Annotated, ClassVar

from pydantic import Field

from hil.config.problems import Problem
from hil.config.schema.base import Listed, Section, bounded, key, positive
from hil.config.schema.experiment_section import ExperimentSection, WholeConfig
from hil.config.schema.trial import NEEDED, HoldLineConfig
from models.rover.arm_names import DRIVEN, GRAPPLE
from models.rover.capture_arm import CaptureArmParameters

ARM = CaptureArmParameters.rover


class CaptureConfig(ExperimentSection):
    """Capture of a payload by a space arm (rover.type space_arm), in virtual time; sizes are in rover.space_arm."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    speed_mps: float = positive(0.1, 2, "at which the payload comes, along the wrist")
    spin_degps: float = bounded(0.0, -30, 30, "of the payload, to port above 0")
    gap_m: float = bounded(0.2, 0.01, 20, "of its point of contact to the grapple's seat at the start")
    offset_m: float = bounded(0.0, -1, 1, "of that point across the wrist, to port above 0")
    restitution: float = bounded(0.0, 0, 1, "of its impact on the seat: 0 plastic, 1 elastic")
    reach_m: float = positive(0.15, 2, "of the open latch around its seat")
    latch_mm: float = bounded(30.0, 1, 4000, "displacement of the grapple's drive at which the latch is closed")
    hold_mm: float = bounded(90.0, 1, 4000, "displacement of that drive at which it holds the payload rigidly")
    timeout_s: float = bounded(30.0, 1, 3600, "for the payload to come; then nothing is captured")
    latch_s: float = bounded(4.0, 0.1, 600, "from the contact until the grapple begins to hold rigidly")
    hold_s: float = bounded(1.0, 0.1, 600, "from a rigid hold until the arm is moved again")
    control_degps: float = positive(0.2, 30, "largest speed of a set angle on that return")
    control_s: float = bounded(40.0, 0.1, 3600, "for the arm to return to its start posture at rest")
    settle_s: float = bounded(0.5, 0.1, 600, "recorded after that, the servos hold")
    most_turn_deg: float = positive(45.0, 360, "largest turn of a joint from its start, in an accepted run")
    most_rate_degps: float = positive(0.1, 100, "largest speed of a joint at the end, in an accepted run")
    most_bend_mm: float = positive(300.0, 1e4, "largest deflection of a boom's end, by the twin, in an accepted run")
    most_momentum: float = positive(
        0.01,
        1,
        "largest change of the momentum of arm and payload over the capture, relative to that of the "
        "payload, by the twin, in an accepted run",
    )

    @property
    def captures(self) -> bool:
        """It captures a payload."""
        return True

    def problems(self, config: WholeConfig) -> Iterator[Problem]:
        """An arm without ground in virtual time, whose joints and grapple are driven, with room for the grapple."""
        depends_on = ("experiment",)
        if config.rig != "simulated":
            allowed = "simulated with experiment capture: no driver has a grapple"
            yield Problem("rig", config.rig, allowed, depends_on)
        if config.clock != "lockstep":
            allowed = "lockstep with experiment capture: the payload comes from the first tick on"
            yield Problem("clock", config.clock, allowed, depends_on)
        if config.rover.type != ARM:
            yield Problem("rover.type", config.rover.type, f"{ARM} with experiment capture", depends_on)
            return
        if config.ground.kind != "none":
            yield Problem("ground.kind", config.ground.kind, f"none with rover.type {ARM}", ("rover.type",))
        if config.daq is not None:
            yield Problem("daq", "force sensors", f"null with rover.type {ARM}", ("rover.type",))
        driven = {joint.name: joint for joint in config.driven_joints}
        if missing := [name for name in DRIVEN if name not in driven]:
            allowed = f"servos of {', '.join(DRIVEN)} (servos.joints, servos.slides)"
            yield Problem("servos", f"none of {', '.join(missing)}", allowed, ("rover.type",))
            return
        grapple, ways = driven[GRAPPLE], (self.latch_mm, self.hold_mm)
        if not (0.0 < ways[0] < ways[1] <= 1e3 * grapple.high_rad):
            allowed = f"latch_mm below hold_mm, both up to {1e3 * grapple.high_rad:g} (servos.slides range_mm)"
            yield Problem("capture.hold_mm", f"{ways[0]:g} and {ways[1]:g}", allowed, ("capture.latch_mm", "servos"))
        if not grapple.low_rad <= grapple.start_rad < 1e-3 * self.latch_mm:
            found = f"{1e3 * grapple.start_rad:g}"
            allowed = f"below capture.latch_mm, {self.latch_mm:g}: open"
            yield Problem("servos.slides.grapple.start_mm", found, allowed, ("capture.latch_mm",))


# Rounding of an angle from radians [deg].
ROUNDED_DEG = 1e-9


class JogConfig(ExperimentSection):
    """One motion for bring-up: turn wheels, or power a valve or turn a driven joint with the wheels cut."""

    obstacle: ClassVar[bool] = True

    wheels: Annotated[tuple[Annotated[str, Field(max_length=100)], ...], Field(strict=False)] = key(
        ("all",),
        "names of the wheels that turn; all: every wheel; no wheel turns with a valve or a joint",
        max_length=64,
    )
    speed_mps: float = bounded(0.02, -10, 10, "speed of the rim; negative: backward")
    valve: str = key("", 'name of the valve to power, like left_extend; "": none', max_length=100)
    joint: str = key("", 'name of the driven joint to turn; "": none', max_length=100)
    angle_deg: float = bounded(0.0, -360, 360, "angle that the joint turns to")
    rate_degps: float = positive(5.0, 720, "speed of the joint on the way there")
    seconds: float = positive(1.0, 10, "time that it moves [s]")

    def problems(self, config: WholeConfig) -> Iterator[Problem]:
        """Wheels, valves and joints that the rig has, and a speed or an angle that its limits allow."""
        if self.joint:
            yield from self._of_joint(config)
            return
        wheels, valves = config.layout.wheels, config.layout.valves
        if self.valve:
            if self.wheels:
                yield Problem("jog.wheels", ", ".join(self.wheels), "none with jog.valve: the wheels are cut")
            if self.valve not in valves:
                yield Problem("jog.valve", self.valve, f"one of {', '.join(valves) or 'none: it has no valves'}")
            return
        names = ", ".join((*wheels, "all"))
        for wheel in self.wheels:
            if wheel not in (*wheels, "all"):
                yield Problem("jog.wheels", wheel, f"one of {names}")
        if not self.wheels:
            allowed = f"one or more of {names}, or a valve as jog.valve, or a driven joint as jog.joint"
            yield Problem("jog.wheels", "none", allowed, ("jog.valve", "jog.joint"))
        limit_mps = config.limits.wheel_speed_radps * config.least_wheel_radius_m
        if not 0.0 < abs(self.speed_mps) <= limit_mps:
            allowed = f"up to {limit_mps:.3g} m/s either way (limits.wheel_speed_radps at the rim), and not 0"
            yield Problem("jog.speed_mps", f"{self.speed_mps:g} m/s", allowed, ("limits.wheel_speed_radps",))

    def _of_joint(self, config: WholeConfig) -> Iterator[Problem]:
        """A joint alone, that is driven, to an angle and at a speed that are its own."""
        joints = {joint.name: joint for joint in config.driven_joints}
        for other, found in {"jog.wheels": ", ".join(self.wheels), "jog.valve": self.valve}.items():
            if found:
                yield Problem(other, found, "none with jog.joint: the wheels are cut and the valves off")
        if (joint := joints.get(self.joint)) is None:
            allowed = f"one of {', '.join(joints) or 'none: no joint is driven'}; servos.joints names the driven ones"
            yield Problem("jog.joint", self.joint, allowed, ("servos.joints",))
            return
        low, high, rate = (math.degrees(one) for one in (joint.low_rad, joint.high_rad, joint.rate_radps))
        if not low - ROUNDED_DEG <= self.angle_deg <= high + ROUNDED_DEG:
            allowed = f"{low:g} to {high:g} deg (range_deg of {self.joint} in servos.joints)"
            yield Problem("jog.angle_deg", f"{self.angle_deg:g} deg", allowed, ("servos.joints",))
        if not self.rate_degps <= rate + ROUNDED_DEG:
            allowed = f"up to {rate:g} deg/s (rate_degps of {self.joint})"
            yield Problem("jog.rate_degps", f"{self.rate_degps:g} deg/s", allowed, ("servos.rate_degps",))


class DriveStepConfig(Section):
    """Part of a drive."""

    for_s: float = Field(ge=0.1, le=600, description="duration of this step")
    speed_mps: float = Field(ge=-10, le=10, description="speed of the rims, mean of both sides")
    turn_mps: float = bounded(0.0, -10, 10, "the right wheels are faster by this, the left ones slower (skid steer)")


class DriveConfig(ExperimentSection):
    """A drive: wheel speeds over time."""

    steps: Listed[DriveStepConfig] = key(
        (DriveStepConfig(for_s=5.0, speed_mps=0.05),), "parts of the drive, in order", max_length=1000
    )
    hold_line: HoldLineConfig | None = key(
        None,
        "straight steps are held on a line, by the measured place: the rig's x axis, after a turn the "
        "heading of that moment; null: they are not",
    )

    @property
    def planned_way_m(self) -> tuple[float, ...]:
        """The ways after each step before the first turn."""
        straight = takewhile(lambda step: step.turn_mps == 0.0, self.steps)
        return tuple(accumulate(step.for_s * step.speed_mps for step in straight))

    def needs_instruments(self, rig: str) -> tuple[str, ...]:  # noqa: ARG002
        """What says where the rover is, if it is held on a line."""
        return () if self.hold_line is None else (NEEDED,)

    def problems(self, config: WholeConfig) -> Iterator[Problem]:
        """Steps, speeds that the limits allow, and instruments for a line that is held."""
        limit_mps = config.limits.wheel_speed_radps * config.least_wheel_radius_m
        if not self.steps:
            yield Problem("drive.steps", "none", "one or more")
        if self.hold_line is not None:
            fastest_mps = max((abs(step.speed_mps) for step in self.steps), default=0.0)
            yield from self.hold_line.problems("drive.hold_line", fastest_mps, config)
        for number, step in enumerate(self.steps):
            if abs(step.speed_mps) + abs(step.turn_mps) > limit_mps:
                allowed = f"with turn_mps at most {limit_mps:.3g} m/s (limits.wheel_speed_radps at the rim)"
                found, path = f"{step.speed_mps:g} and {step.turn_mps:g} m/s", f"drive.steps.{number}.speed_mps"
                yield Problem(path, found, allowed, ("limits.wheel_speed_radps",))
