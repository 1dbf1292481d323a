"""The servos of driven joints: walking, steering, active suspension."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hil.config.schema.base import Section

Angle = Annotated[float, Field(ge=-360, le=360)]
Way = Annotated[float, Field(ge=-5000, le=5000)]


class ServoConfig(Section):
    """One driven joint, or all of a kind. A number that is null here is that of the section servos."""

    start_deg: Angle | None = Field(
        None, description="angle at the start; null: that at which the type of rover locks the joint, or 0"
    )
    range_deg: Annotated[tuple[Angle, ...], Field(strict=False, min_length=2, max_length=2)] = Field(
        (-45.0, 45.0), description="least and largest angle that may be commanded [deg]"
    )
    rate_degps: float | None = Field(None, ge=0.01, le=720, description="as servos.rate_degps")
    acceleration_degps2: float | None = Field(None, ge=0.1, le=1e5, description="as servos.acceleration_degps2")
    torque_limit_Nm: float | None = Field(None, ge=0.1, le=1e4, description="as servos.torque_limit_Nm")
    position_gain: float | None = Field(None, ge=0.1, le=1000, description="as servos.position_gain [1/s]")
    velocity_gain: float | None = Field(None, ge=0.1, le=1e6, description="as servos.velocity_gain [N m s/rad]")
    gear_friction_Nm: float | None = Field(None, ge=0, le=1000, description="as servos.gear_friction_Nm")


class SlideConfig(Section):
    """One driven joint that slides, or all of a kind: a spindle or a linear drive."""

    start_mm: Way | None = Field(
        None, description="way at the start; null: that at which the type of rover locks the joint, or 0"
    )
    range_mm: Annotated[tuple[Way, ...], Field(strict=False, min_length=2, max_length=2)] = Field(
        (-50.0, 50.0), description="least and largest way that may be commanded [mm]"
    )
    rate_mmps: float = Field(20.0, ge=0.01, le=2000, description="largest speed of the joint, commanded and moved")
    acceleration_mmps2: float = Field(500.0, ge=0.1, le=1e6, description="largest change of the commanded speed")
    force_limit_N: float = Field(2000.0, ge=0.1, le=1e6, description="largest force of the motor, at the joint")
    position_gain: float = Field(20.0, ge=0.1, le=1000, description="speed over the error of the way [1/s]")
    velocity_gain: float = Field(1e5, ge=0.1, le=1e8, description="force over the error of the speed [N s/m]")
    gear_friction_N: float = Field(20.0, ge=0, le=1e5, description="Coulomb friction of the spindle, at the joint")
    friction_speed_mmps: float = Field(
        1.0, ge=1e-3, le=1000, description="below this speed, that friction is proportional to the speed"
    )
    coast_damping: float = Field(2000.0, ge=0, le=1e8, description="damping with the bridge open [N s/m]")
    brake_damping: float = Field(2e5, ge=0, le=1e9, description="damping with the motor shorted [N s/m]")
    follow_mm: float = Field(5.0, ge=0.01, le=1000, description="farther than this from its command it does not follow")
    outside_mm: float = Field(
        2.0, ge=0, le=500, description="how far a measured way may lie outside its range; farther: a fault"
    )


class ServosConfig(Section):
    """Joints that servos drive. The type of rover does not lock them; each holds its start angle until it is moved."""

    joints: dict[str, ServoConfig] = Field(
        default_factory=dict,
        max_length=100,
        description="driven joints, by name or kind (steering, walking); a name is stronger than its kind",
        json_schema_extra={"note": "a section by the joint's name or kind"},
    )
    slides: dict[str, SlideConfig] = Field(
        default_factory=dict,
        max_length=100,
        description="driven joints that slide, by name or kind",
        json_schema_extra={"note": "a section by the joint's name or kind"},
    )
    rate_degps: float = Field(20.0, ge=0.01, le=720, description="largest speed of a joint, commanded and turned")
    acceleration_degps2: float = Field(100.0, ge=0.1, le=1e5, description="largest change of the commanded speed")
    torque_per_A_Nm: float = Field(
        5.0,
        ge=0.01,
        le=1000,
        description="of a simulated motor: torque at the joint for each ampere [N m/A]",
    )
    torque_limit_Nm: float = Field(60.0, ge=0.1, le=1e4, description="largest torque of the motor, at the joint")
    position_gain: float = Field(20.0, ge=0.1, le=1000, description="speed over the error of the angle [1/s]")
    velocity_gain: float = Field(500.0, ge=0.1, le=1e6, description="torque over the error of the speed [N m s/rad]")
    gear_friction_Nm: float = Field(2.0, ge=0, le=1000, description="Coulomb friction of the gear, at the joint")
    friction_speed_radps: float = Field(
        0.002, ge=1e-5, le=1, description="below this speed, that friction is proportional to the speed"
    )
    coast_damping: float = Field(5.0, ge=0, le=1e5, description="damping with the bridge open [N m s/rad]")
    brake_damping: float = Field(500.0, ge=0, le=1e6, description="damping with the motor shorted [N m s/rad]")
    on_cut: Literal["coast", "brake"] = Field("brake", description="behaviour of the power stage after a cut")
    follow_deg: float = Field(
        5.0, ge=0.01, le=180, description="a joint that is farther than this from its command does not follow"
    )
    follow_s: float = Field(0.5, ge=0.01, le=60, description="for so long that counts as a fault")
    outside_deg: float = Field(
        2.0, ge=0, le=90, description="how far a measured angle may lie outside its range; farther: a fault"
    )
