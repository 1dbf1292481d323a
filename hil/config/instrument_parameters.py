"""From the config to the instruments of motion of a simulated rig."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scipy.spatial.transform import Rotation

from hil.config.schema.instruments import ImuConfig, InstrumentErrors, JointEncoder, JointsConfig, MotionConfig
from models.plant.instruments import InstrumentParameters
from models.rover.ties import Vector


def instrument_parameters(
    instruments: Mapping[str, MotionConfig | ImuConfig | JointsConfig], encoders: Sequence[JointEncoder]
) -> dict[str, InstrumentParameters]:
    """The instruments in the models' units, by role.

    Args:
        instruments: their sections, by role.
        encoders: of the joints, in the order of the values of a reading.
    """
    return {role: _parameters(section, encoders) for role, section in instruments.items()}


def _parameters(
    section: MotionConfig | ImuConfig | JointsConfig, encoders: Sequence[JointEncoder]
) -> InstrumentParameters:
    if isinstance(section, MotionConfig):
        turn = math.radians(section.noise_deg)
        noise = {"distance": 1, "position": 3, "pose": 3}[section.measures] * (section.noise_m,)
        length = math.hypot(*section.direction)
        return InstrumentParameters(
            measures=section.measures,
            rate_hz=section.rate_hz,
            noise=noise + (3 * (turn,) if section.measures == "pose" else ()),
            bias=(section.bias_m,) * len(noise) + (3 * (0.0,) if section.measures == "pose" else ()),
            point=vector(section.point_m),
            body_turn=vector(map(math.radians, section.body_turn_deg)),
            origin=vector(section.origin_m),
            turn=_turned(section.turn_deg, section.errors.mounting_deg),
            direction=vector(part / length for part in section.direction),
            **_errors(section.errors),
        )
    if isinstance(section, ImuConfig):
        return InstrumentParameters(
            measures="imu",
            rate_hz=section.rate_hz,
            noise=3 * (section.noise_mps2,) + 3 * (section.noise_radps,),
            bias=3 * (section.bias_mps2,) + 3 * (section.bias_radps,),
            point=vector(section.point_m),
            body_turn=_turned(section.turn_deg, section.errors.mounting_deg),
            **_errors(section.errors),
        )
    return InstrumentParameters(
        measures="joints",
        rate_hz=section.rate_hz,
        noise=len(encoders) * (math.radians(section.noise_deg),),
        bias=len(encoders) * (math.radians(section.bias_deg),),
        joints=tuple(encoder.joint for encoder in encoders),
        zero=tuple(math.radians(encoder.zero_deg + encoder.error_deg) for encoder in encoders),
        sign=tuple(-1.0 if encoder.reversed else 1.0 for encoder in encoders),
        **_errors(section.errors),
    )


def vector(parts: Iterable[float]) -> Vector:
    """Three numbers."""
    x, y, z = parts
    return x, y, z


def _turned(turns_deg: Iterable[float], further_deg: Iterable[float]) -> Vector:
    """Roll, pitch, yaw [rad] of axes that are turned further, about their own axes."""
    if not any(further_deg):
        return vector(map(math.radians, turns_deg))
    axes, further = (Rotation.from_euler("xyz", tuple(turns), degrees=True) for turns in (turns_deg, further_deg))
    return vector((axes * further).as_euler("xyz"))


def _errors(errors: InstrumentErrors) -> dict[str, Any]:
    return {
        "drop_outs": errors.drop_outs,
        "fault": errors.fault,
        "fault_at": errors.fault_at_s,
        "fault_size": errors.fault_size,
        "late_ns": round(errors.late_ms * 1e6),
    }
