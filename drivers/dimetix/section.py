"""A Dimetix laser distance sensor in a rig config."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from drivers.device_sections import Identity, MotionSection, Port


class DimetixSection(MotionSection):
    """Dimetix laser distance sensor, ASCII commands; it measures motion.rate_hz times a second."""

    driver: Literal["dimetix"] = Field(description="which driver")
    port: Port = Field("", description="serial port")
    baud: Literal[9600, 19200, 115200] = Field(19200, description="bits a second, as set in the sensor")
    characters: Literal["7e1", "8n1"] = Field(
        "7e1", description="as set in the sensor: 7 bits and an even parity bit, or 8 bits without parity"
    )
    sensor: int = Field(0, ge=0, le=9, description="number of the sensor, as set in it")
    identity: Identity = ""
