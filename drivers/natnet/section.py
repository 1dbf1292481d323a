"""Motion capture by OptiTrack in a rig config."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from drivers.device_sections import MotionSection
from drivers.section import SERVER

Server = Annotated[
    str,
    Field(
        pattern=SERVER,
        max_length=200,
        json_schema_extra={"note": 'HOST:PORT, like 192.168.1.20:1510, or "" with rig: simulated_wire'},
    ),
]


class NatNetSection(MotionSection):
    """Motion capture: a rigid body that OptiTrack's Motive streams over NatNet, unicast."""

    driver: Literal["natnet"] = Field(description="which driver")
    address: Server = Field("", description="Motive's computer and its port of commands")
    body: int = Field(1, ge=0, le=2**31 - 1, description="streaming ID of the rigid body in Motive")
    up_axis: Literal["y", "z"] = Field(
        "y", description="up axis in Motive's streaming settings; readings have z up in any case"
    )
    silent_s: float = Field(2.0, ge=0.5, le=60, description="without a frame for so long the link is lost")
