"""A Leica total station in a rig config."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from drivers.device_sections import Identity, MotionSection, Port


class LeicaSection(MotionSection):
    """Leica total station that follows a prism on the rover, GeoCOM over RS-232; it is asked as fast as it answers."""

    driver: Literal["leica"] = Field(description="which driver")
    port: Port = Field("", description="serial port")
    baud: Literal[2400, 4800, 9600, 19200, 38400, 57600, 115200] = Field(
        115200, description="bits a second, as set in the instrument"
    )
    tracking: Literal["standard", "dynamic", "fast"] = Field(
        "dynamic", description="its mode of continuous distances: dynamic follows a moving prism, the others are slower"
    )
    answer_timeout_ms: float = Field(1000.0, ge=100, le=10000, description="it answers within this time")
    lock_timeout_s: float = Field(15.0, ge=2, le=60, description="it finds the prism within this time, when opened")
    silent_s: float = Field(
        5.0, ge=1, le=60, description="without a place for so long the link is lost; it is opened again, and seeks"
    )
    identity: Identity = ""
