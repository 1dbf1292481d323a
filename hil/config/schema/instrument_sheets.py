"""The calibration of an instrument of motion: what `hil calibrate motion|imu|joints` finds of its section."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from hil.config.schema.base import Section

THREE = Field(strict=False, min_length=3, max_length=3)
Turn = Annotated[float, Field(ge=-180, le=180)]
Turns = Annotated[tuple[Turn, ...], THREE]
Coordinate = Annotated[float, Field(ge=-100, le=100)]
Place = Annotated[tuple[Coordinate, ...], THREE]
Joint = Annotated[str, Field(max_length=100, json_schema_extra={"note": "the name of a joint of the rover"})]


class JointEncoder(Section):
    """The encoder of one joint."""

    joint: Joint = Field(description="name of the joint")
    zero_deg: float = Field(0.0, ge=-360, le=360, description="reading at angle 0 of the joint")
    reversed: bool = Field(False, description="its reading falls where the joint's angle grows")
    error_deg: float = Field(
        0.0, ge=-360, le=360, description="how much further a simulated encoder reads than zero_deg says"
    )


class MotionSheet(Section):
    """The calibration of an instrument outside the rover; its numbers win over those of `motion`."""

    serial: str = Field("unknown", max_length=64, description="serial number on the instrument")
    origin_m: Place | None = Field(None, description="as motion.origin_m")
    turn_deg: Turns | None = Field(None, description="as motion.turn_deg")
    body_turn_deg: Turns | None = Field(None, description="as motion.body_turn_deg")
    delay_ms: float | None = Field(None, ge=0, le=500, description="as motion.delay_ms")
    noise_m: float | None = Field(None, ge=1e-6, le=1, description="as motion.noise_m")
    noise_deg: float | None = Field(None, ge=1e-3, le=20, description="as motion.noise_deg")


class ImuSheet(Section):
    """The calibration of an inertial measurement unit; its numbers win over those of `imu`."""

    serial: str = Field("unknown", max_length=64, description="serial number on the unit")
    turn_deg: Turns | None = Field(None, description="as imu.turn_deg")
    noise_mps2: float | None = Field(None, ge=1e-5, le=10, description="as imu.noise_mps2")
    noise_radps: float | None = Field(None, ge=1e-6, le=1, description="as imu.noise_radps")


class JointsSheet(Section):
    """The calibration of the joints' encoders; its numbers win over those of `joints`."""

    serial: str = Field("unknown", max_length=64, description="of the set of encoders")
    noise_deg: float | None = Field(None, ge=1e-4, le=10, description="as joints.noise_deg")
    encoders: Annotated[tuple[JointEncoder, ...], Field(strict=False)] | None = Field(
        None, max_length=64, description="as joints.encoders"
    )


def with_sheet(values: Any) -> Any:
    """The values of a section with those of its calibration, if it has one, in place of its own."""
    sheet = values.get("calibration") if isinstance(values, dict) else None
    if not isinstance(sheet, dict):
        return values
    return values | {key: value for key, value in sheet.items() if key != "serial" and value is not None}
