"""The section of the experiment capture: a space arm meets a payload, latches it, holds it, and brings it to rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from hil.config.problems import Problem
from hil.config.schema.experiment_section import ExperimentSection, WholeConfig
from models.rover.arm_names import DRIVEN, GRAPPLE
from models.rover.capture_arm import CaptureArmParameters

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
