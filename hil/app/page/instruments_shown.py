"""The instruments of motion as the page shows them, and how their readings come into the rig."""

from __future__ import annotations

from typing import Any

from hil.config import Config
from hil.config.schema.instruments import ImuConfig, JointEncoder, MotionConfig
from hil.signals.innovation import independent_values, innovation_bound
from hil.signals.instrument_readings import rotation, unit


def instruments_shown(config: Config) -> list[dict[str, Any]]:
    """One a role: channels, rate_hz, stale_ms, bound of its innovation, and what puts its readings into the rig."""
    shown = []
    for role, section in config.instruments.items():
        channels = config.layout.parts(role)
        about = {
            "role": role,
            "channels": list(channels),
            "rate_hz": section.rate_hz,
            "stale_ms": section.stale_ms,
            "bound": innovation_bound(independent_values(len(channels), role)),
        }
        shown.append(about | _axes(config.encoders, section))
    return shown


def _axes(encoders: tuple[JointEncoder, ...], section: object) -> dict[str, Any]:
    """Rotations are matrices, by rows; angles of encoders in rad."""
    if isinstance(section, MotionConfig):
        return {
            "measures": section.measures,
            "origin_m": list(section.origin_m),
            "point_m": list(section.point_m),
            "direction": unit(section.direction).tolist(),
            "axes": rotation(section.turn_deg).as_matrix().tolist(),
            "body_axes": rotation(section.body_turn_deg).as_matrix().tolist(),
        }
    if isinstance(section, ImuConfig):
        return {"axes": rotation(section.turn_deg).as_matrix().tolist()}
    return {"encoders": [encoder.model_dump(exclude={"error_deg"}) for encoder in encoders]}
