"""The camera that films the runs of a rig."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hil.config.schema.base import Section


class TriggerConfig(Section):
    """A line that the rig switches on for a camera, a flash or a recorder. `devices.valves.camera_trigger` says where.

    It is off in Safe, before arming, and between two runs.
    """

    when: Literal["armed", "impact"] = Field(
        "impact",
        description="on from arming to the end of the run, or from the tick that detects the impact",
        json_schema_extra={
            "note": "armed or impact; a pulse for each frame is not possible, because relays and lines are switched "
            "without a clock of their own: let the camera run freely, or take a pulse generator"
        },
    )
    gates: bool = Field(False, description="the camera gives frames only while the line is on")


class CameraConfig(Section):
    """A camera that films each run: frames beside the record. No run waits for it, and none ends because of it."""

    device: str = Field(
        "",
        pattern=r"^(|none|/dev/[A-Za-z0-9_./:-]+)$",
        max_length=200,
        description='V4L2 device that gives JPEG frames; "": a simulated camera, which draws the rover after the run; '
        "none: another program or the camera itself has the frames",
        json_schema_extra={"note": 'a path under /dev, as /dev/v4l/by-id/..., "" or none'},
    )
    rate_hz: float = Field(10.0, ge=0.1, le=240, description="frames a second that are asked for")
    width_px: int = Field(640, ge=64, le=7680, description="width of a frame")
    height_px: int = Field(480, ge=64, le=4320, description="height of a frame")
    trigger: TriggerConfig | None = Field(None, description="its trigger line; null: none is switched")

    @property
    def v4l2(self) -> bool:
        """Frames come from a device of this computer."""
        return self.device.startswith("/")
