"""The section of the experiment capture: a space arm meets a payload, latches it, holds it, and brings it to rest.

The sections of the experiments jog and drive: a short motion for bring-up, and wheel speeds over time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate, takewhile
from typing import Annotated, ClassVar

from pydantic import Field

from hil.config.problems import Problem
from hil.config.schema.base import Section
from hil.config.schema.experiment_section import ExperimentSection, WholeConfig
from hil.config.schema.trial import NEEDED, HoldLineConfig
from models.rover.space_arm import DRIVEN, GRAPPLE, CaptureArmParameters

ARM = CaptureArmParameters.rover


class CaptureConfig(ExperimentSection):
    """Capture of a payload by a space arm (rover.type space_arm), in virtual time; sizes are in rover.space_arm."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    speed_mps: float = Field(0.1, gt=0, le=2, description="at which the payload comes, along the wrist")
    spin_degps: float = Field(0.0, ge=-30, le=30, description="of the payload, to port above 0")
    gap_m: float = Field(0.2, ge=0.01, le=20, description="of its point of contact to the grapple's seat at the start")
    offset_m: float = Field(0.0, ge=-1, le=1, description="of that point across the wrist, to port above 0")
    restitution: float = Field(0.0, ge=0, le=1, description="of its impact on the seat: 0 plastic, 1 elastic")
    reach_m: float = Field(0.15, gt=0, le=2, description="of the open latch around its seat")
    latch_mm: float = Field(30.0, ge=1, le=4000, description="way of the grapple's drive at which the latch is closed")
    hold_mm: float = Field(90.0, ge=1, le=4000, description="way of that drive at which it holds the payload rigidly")
    timeout_s: float = Field(30.0, ge=1, le=3600, description="for the payload to come; then nothing is captured")
    latch_s: float = Field(4.0, ge=0.1, le=600, description="from the contact until the grapple begins to hold rigidly")
    hold_s: float = Field(1.0, ge=0.1, le=600, description="from a rigid hold until the arm is moved again")
    control_degps: float = Field(0.2, gt=0, le=30, description="largest speed of a set angle on that return")
    control_s: float = Field(40.0, ge=0.1, le=3600, description="for the arm to return to its start posture at rest")
    settle_s: float = Field(0.5, ge=0.1, le=600, description="recorded after that, the servos hold")
    most_turn_deg: float = Field(
        45.0, gt=0, le=360, description="largest turn of a joint from its start, in an accepted run"
    )
    most_rate_degps: float = Field(
        0.1, gt=0, le=100, description="largest speed of a joint at the end, in an accepted run"
    )
    most_bend_mm: float = Field(
        300.0, gt=0, le=1e4, description="largest deflection of a boom's end, by the twin, in an accepted run"
    )
    most_momentum: float = Field(
        0.01,
        gt=0,
        le=1,
        description="largest change of the momentum of arm and payload over the capture, relative to that of the "
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

    wheels: Annotated[tuple[Annotated[str, Field(max_length=100)], ...], Field(strict=False)] = Field(
        ("all",),
        max_length=64,
        description="names of the wheels that turn; all: every wheel; no wheel turns with a valve or a joint",
    )
    speed_mps: float = Field(0.02, ge=-10, le=10, description="speed of the rim; negative: backward")
    valve: str = Field("", max_length=100, description='name of the valve to power, like left_extend; "": none')
    joint: str = Field("", max_length=100, description='name of the driven joint to turn; "": none')
    angle_deg: float = Field(0.0, ge=-360, le=360, description="angle that the joint turns to")
    rate_degps: float = Field(5.0, gt=0, le=720, description="speed of the joint on the way there")
    seconds: float = Field(1.0, gt=0, le=10, description="time that it moves [s]")

    def problems(self, config: WholeConfig) -> list[Problem]:
        """Wheels, valves and joints that the rig has, and a speed or an angle that its limits allow."""
        wheels, valves = config.layout.wheels, config.layout.valves
        limit_mps = config.limits.wheel_speed_radps * config.least_wheel_radius_m
        problems = []
        if self.joint:
            return self._of_joint(config)
        if self.valve:
            if self.wheels:
                problems.append(
                    Problem("jog.wheels", ", ".join(self.wheels), "none with jog.valve: the wheels are cut")
                )
            if self.valve not in valves:
                problems.append(
                    Problem("jog.valve", self.valve, f"one of {', '.join(valves) or 'none: it has no valves'}")
                )
            return problems
        names = ", ".join((*wheels, "all"))
        unknown = [wheel for wheel in self.wheels if wheel not in (*wheels, "all")]
        problems += [Problem("jog.wheels", wheel, f"one of {names}") for wheel in unknown]
        if not self.wheels:
            allowed = f"one or more of {names}, or a valve as jog.valve, or a driven joint as jog.joint"
            problems.append(Problem("jog.wheels", "none", allowed, ("jog.valve", "jog.joint")))
        if not 0.0 < abs(self.speed_mps) <= limit_mps:
            allowed = f"up to {limit_mps:.3g} m/s either way (limits.wheel_speed_radps at the rim), and not 0"
            problems.append(Problem("jog.speed_mps", f"{self.speed_mps:g} m/s", allowed, ("limits.wheel_speed_radps",)))
        return problems

    def _of_joint(self, config: WholeConfig) -> list[Problem]:
        """A joint alone, that is driven, to an angle and at a speed that are its own."""
        joints = {joint.name: joint for joint in config.driven_joints}
        others = {"jog.wheels": ", ".join(self.wheels), "jog.valve": self.valve}
        problems = [
            Problem(key, found, "none with jog.joint: the wheels are cut and the valves off")
            for key, found in others.items()
            if found
        ]
        if (joint := joints.get(self.joint)) is None:
            allowed = f"one of {', '.join(joints) or 'none: no joint is driven'}; servos.joints names the driven ones"
            return [*problems, Problem("jog.joint", self.joint, allowed, ("servos.joints",))]
        low, high, rate = (math.degrees(one) for one in (joint.low_rad, joint.high_rad, joint.rate_radps))
        if not low - ROUNDED_DEG <= self.angle_deg <= high + ROUNDED_DEG:
            allowed = f"{low:g} to {high:g} deg (range_deg of {self.joint} in servos.joints)"
            problems.append(Problem("jog.angle_deg", f"{self.angle_deg:g} deg", allowed, ("servos.joints",)))
        if not self.rate_degps <= rate + ROUNDED_DEG:
            allowed = f"up to {rate:g} deg/s (rate_degps of {self.joint})"
            problems.append(Problem("jog.rate_degps", f"{self.rate_degps:g} deg/s", allowed, ("servos.rate_degps",)))
        return problems


class DriveStepConfig(Section):
    """Part of a drive."""

    for_s: float = Field(ge=0.1, le=600, description="duration of this step")
    speed_mps: float = Field(ge=-10, le=10, description="speed of the rims, mean of both sides")
    turn_mps: float = Field(
        0.0, ge=-10, le=10, description="the right wheels are faster by this, the left ones slower (skid steer)"
    )


class DriveConfig(ExperimentSection):
    """A drive: wheel speeds over time."""

    steps: Annotated[tuple[DriveStepConfig, ...], Field(strict=False)] = Field(
        (DriveStepConfig(for_s=5.0, speed_mps=0.05),),
        max_length=1000,
        description="parts of the drive, in order",
    )
    hold_line: HoldLineConfig | None = Field(
        None,
        description="straight steps are held on a line, by the measured place: the rig's x axis, after a turn the "
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

    def problems(self, config: WholeConfig) -> list[Problem]:
        """Steps, speeds that the limits allow, and instruments for a line that is held."""
        limit_mps = config.limits.wheel_speed_radps * config.least_wheel_radius_m
        problems = [] if self.steps else [Problem("drive.steps", "none", "one or more")]
        if self.hold_line is not None:
            fastest_mps = max((abs(step.speed_mps) for step in self.steps), default=0.0)
            problems += self.hold_line.problems("drive.hold_line", fastest_mps, config)
        for number, step in enumerate(self.steps):
            fastest = abs(step.speed_mps) + abs(step.turn_mps)
            if fastest > limit_mps:
                allowed = f"with turn_mps at most {limit_mps:.3g} m/s (limits.wheel_speed_radps at the rim)"
                found = f"{step.speed_mps:g} and {step.turn_mps:g} m/s"
                problems.append(
                    Problem(f"drive.steps.{number}.speed_mps", found, allowed, ("limits.wheel_speed_radps",))
                )
        return problems
