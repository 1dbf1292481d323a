"""The sections of the experiments jog and drive: a short motion for bring-up, and wheel speeds over time."""

from __future__ import annotations

import math
from itertools import accumulate, takewhile
from typing import Annotated, ClassVar

from pydantic import Field

from hil.config.problems import Problem
from hil.config.schema.base import Section
from hil.config.schema.experiment_section import ExperimentSection, WholeConfig
from hil.config.schema.hold_line import NEEDED, HoldLineConfig

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
    seconds: float = Field(1.0, gt=0, le=10, description="duration of the motion [s]")

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
