"""A VectorNav inertial sensor in a rig config."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from drivers.device_sections import Identity, ImuSection, Port


class VectorNavSection(ImuSection):
    """VectorNav VN-100 (also VN-200, VN-300), ASCII messages; it sends imu.rate_hz readings a second."""

    driver: Literal["vectornav"] = Field(description="which driver")
    port: Port = Field("", description="serial port")
    baud: Literal[9600, 19200, 38400, 57600, 115200, 128000, 230400, 460800, 921600] = Field(
        115200, description="bits a second, as set in the device"
    )
    identity: Identity = ""
