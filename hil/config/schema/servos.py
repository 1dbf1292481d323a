"""The servos of driven joints: walking, steering, active suspension."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hil.config.schema.base import Section

Angle = Annotated[float, Field(ge=-360, le=360)]


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


class ServosConfig(Section):
    """Joints that servos drive. The type of rover does not lock them; each holds its start angle until it is moved."""

    joints: dict[str, ServoConfig] = Field(
        min_length=1,
        max_length=100,
        description="driven joints, by name or kind (steering, walking); a name is stronger than its kind",
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
