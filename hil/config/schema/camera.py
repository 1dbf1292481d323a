"""The camera that films the runs of a rig."""

from __future__ import annotations

from pydantic import Field

from hil.config.schema.base import Section


class CameraConfig(Section):
    """A camera that films each run: frames beside the record. No run waits for it, and none ends because of it."""

    device: str = Field(
        "",
        pattern=r"^(|/dev/[A-Za-z0-9_./:-]+)$",
        max_length=200,
        description='V4L2 device that gives JPEG frames; "": a simulated camera, which draws the rover after the run',
        json_schema_extra={"note": 'a path under /dev, as /dev/v4l/by-id/..., or ""'},
    )
    rate_hz: float = Field(10.0, ge=0.1, le=240, description="frames a second that are asked for")
    width_px: int = Field(640, ge=64, le=7680, description="width of a frame")
    height_px: int = Field(480, ge=64, le=4320, description="height of a frame")
