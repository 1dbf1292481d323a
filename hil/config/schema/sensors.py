"""The sections of the force sensors, their data acquisition, the impact detector and the camera."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from drivers.messages import CAMERA_TRIGGER, SensorName
from hil.config.schema.base import Listed, Section, bounded, is_none, key
from hil.messages.layout import SENSORS

# Where the sensors of a triangle and in links stand unless the config says so, (across, up) and across [m].
CORNERS_M = ((0.0, 0.0508), (0.0508, -0.0508), (-0.0508, -0.0508))
LINKS_M = (0.254, -0.254)
# Layouts with sensors in links of the frame, and those with other sensors than the default of `channels`.
LINKS = ("rear", "bottom")
LISTED = ("bumper", *LINKS)


class ChannelConfig(Section):
    """One force sensor."""

    name: SensorName = Field(description="corner of the sensing triangle, wheel of the bumper, or link of the frame")
    sensitivity_mVpN: float = bounded(11.24, 1e-3, 1000, "sensitivity, where devices.daq.calibration does not give it")
    across_m: float | None = bounded(
        None, -2, 2, "position on the plate, or of the link, to port, from the contact point of a smooth wheel"
    )
    up_m: float | None = bounded(
        None, -2, 2, "position on the triangle's plate, upward, from the contact point of a smooth wheel"
    )
    noise_V: float = bounded(0.0005, 0, 1, "standard deviation of each sample")
    bias_V: float = bounded(0.0, -5, 5, "offset of the channel")
    droop_s: float | None = bounded(
        None,
        0.01,
        1000,
        "time constant of this channel's AC coupling; null: daq.droop_s, and needed where its input is "
        "voltage or bridge, which are coupled DC",
    )
    fault: Literal["none", "dead", "offset", "saturated"] = key(
        "none",
        "of the simulated sensor: dead: no signal; offset: a zero shift of 0.2 V from the first touch on; "
        "saturated: any load of 0.5 N drives it to full scale",
    )

    @field_validator("across_m", "up_m")
    @classmethod
    def _placed(cls, value: float | None, info: ValidationInfo) -> float | None:
        placed = SENSORS["triangle"] + (SENSORS["rear"] if info.field_name == "across_m" else ())
        if value is None and info.data.get("name") in placed:
            raise ValueError("a number -2 to 2; needed for each sensor of a triangle, and across_m of links")
        return value


def _default_channels(layout: str) -> tuple[ChannelConfig, ...]:
    """The sensors where the config does not list them."""
    if layout == "bumper":
        return tuple(ChannelConfig(name=name) for name in SENSORS["bumper"])
    if layout in LINKS:  # at the edges of the mounting plate, 20 in wide (6.2.3)
        return tuple(ChannelConfig(name=name, across_m=at) for name, at in zip(SENSORS[layout], LINKS_M, strict=True))
    return tuple(
        ChannelConfig(name=name, across_m=across, up_m=up)
        for name, (across, up) in zip(SENSORS["triangle"], CORNERS_M, strict=True)
    )


# Time constant of a channel that is coupled DC [s]: in a run of a day it droops by 1e-7 of its reading.
NO_DROOP_S = 1e12


class DaqConfig(Section):
    """The data acquisition of the force sensors."""

    layout: Literal["triangle", "bumper", "rear", "bottom"] = key(
        "triangle",
        "three sensors behind the starboard obstacle's plate, one on each front wheel's side, or one in "
        "each rear or bottom link of that obstacle's frame",
    )
    rate_hz: int = bounded(30000, 10000, 100000, "samples a second and channel")
    block_ms: float = bounded(2.0, 1, 10, "samples arrive in blocks of this length")
    range_V: float = bounded(5.0, 1e-3, 50, "full scale, either sign")
    bits: int = bounded(16, 8, 32, "resolution of the converter")
    droop_s: float = bounded(
        0.5, 0.01, 1000, "time constant of the AC coupling; of no account where an input is voltage or bridge"
    )
    droop_u95: float = bounded(
        0.02, 0, 1, "half-width of its 95 % interval, relative, where no calibration sheet states it"
    )
    sensitivity_u95: float = bounded(0.01, 0, 1, "the same of each sensitivity, where no calibration sheet states it")
    ring_hz: float = bounded(20.0, 1, 1000, "natural frequency of the shield")
    ring_damping: float = bounded(0.05, 0, 2, "damping ratio of the shield")
    ring_share: float = bounded(0.1, 0, 1, "part of the load that acts through the ringing shield")
    sinkage_m: float = bounded(
        0.0, 0, 0.1, "links of the frame: how far the front wheels sink in before the obstacle, and so hit it lower"
    )
    hit_place_u95_m: float = bounded(
        0.005, 0, 0.5, "links of the frame: half-width of the 95 % interval of where a wheel hits along the plate"
    )
    friction: float = bounded(
        0.0, 0, 1, "bottom links: friction of a front wheel that slides down the plate, which is read as well"
    )
    friction_u95: float = bounded(0.1, 0, 1, "bottom links: half-width of its 95 % interval")
    channels: Listed[ChannelConfig] = Field(
        default_factory=partial(_default_channels, "triangle"),
        min_length=2,
        max_length=3,
        description="one of each name of the layout: top, lower_left, lower_right; front_left, front_right; or "
        "link_left, link_right",
    )

    @model_validator(mode="before")
    @classmethod
    def _of_the_layout(cls, raw: Any) -> Any:
        """The sensors of the layout where the config does not list them."""
        if isinstance(raw, dict) and raw.get("layout") in LISTED and "channels" not in raw:
            return {
                **raw,
                "channels": [
                    channel.model_dump(mode="json", exclude_unset=True) for channel in _default_channels(raw["layout"])
                ],
            }
        return raw

    @field_validator("channels")
    @classmethod
    def _each_once(cls, channels: tuple[ChannelConfig, ...], info: ValidationInfo) -> tuple[ChannelConfig, ...]:
        names = SENSORS.get(info.data.get("layout", ""))
        if names is None:  # the layout itself is wrong
            return channels
        if sorted(channel.name for channel in channels) != sorted(names):
            raise ValueError(f"each of the names {', '.join(names)} once, because daq.layout is {info.data['layout']}")
        return tuple(sorted(channels, key=lambda channel: names.index(channel.name)))

    @property
    def places_m(self) -> tuple[tuple[float, float], ...]:
        """Positions of the sensors on the plate (across, up) [m]; NaN of a bumper's, and for up of links'."""
        return tuple(
            (
                math.nan if channel.across_m is None else channel.across_m,
                math.nan if channel.up_m is None else channel.up_m,
            )
            for channel in self.channels
        )

    @property
    def link(self) -> Literal["rear", "bottom"] | None:
        """Link of the frame with the sensors; None: they are elsewhere."""
        return self.layout if self.layout == "rear" or self.layout == "bottom" else None  # noqa: PLR1714, narrowed so

    @property
    def droops_s(self) -> tuple[float, ...]:
        """Time constant of each channel's AC coupling [s]."""
        return tuple(self.droop_s if channel.droop_s is None else channel.droop_s for channel in self.channels)

    @property
    def block_samples(self) -> int:
        """Samples of one channel in a block."""
        return round(self.rate_hz * self.block_ms / 1000.0)


class DetectorConfig(Section):
    """The impact detector: it cuts the drives."""

    threshold_N: float = bounded(
        10.0,
        0.1,
        1000,
        "an impact: the plate's normal force by all its sensors, or by any one of a bumper's, is over this",
    )
    consecutive: int = bounded(3, 1, 1000, "samples in a row over the threshold")


class TriggerLineConfig(Section):
    """A line that the rig switches on for a camera, a flash or a recorder. `devices.valves.camera_triggers` says where.

    It is off in Safe, before arming, and between two runs.
    """

    when: Literal["armed", "impact"] = key(
        "impact",
        "on from arming to the end of the run, or from the tick that detects the impact",
        note="armed or impact; a pulse for each frame is not possible, because relays and lines are switched "
        "without a clock of their own: let the camera run freely, or take a pulse generator",
    )
    for_s: float | None = bounded(
        None, 0.001, 3600, "it goes off after so long; null: at the end of the run", exclude_if=is_none
    )


class TriggerConfig(TriggerLineConfig):
    """The line of the camera of this section. `devices.valves.camera_trigger` says where."""

    gates: bool = key(False, "the camera gives frames only while the line is on")


class CameraConfig(Section):
    """A camera that films each run: frames next to the record. No run waits for it, and none ends because of it."""

    device: str = key(
        "",
        'V4L2 device that gives JPEG frames; "": a simulated camera, which draws the rover after the run; '
        "none: another program or the camera itself has the frames",
        pattern=r"^(|none|/dev/[A-Za-z0-9_./:-]+)$",
        max_length=200,
        note='a path under /dev, as /dev/v4l/by-id/..., "" or none',
    )
    rate_hz: float = bounded(10.0, 0.1, 240, "frames a second that are asked for")
    width_px: int = bounded(640, 64, 7680, "width of a frame")
    height_px: int = bounded(480, 64, 4320, "height of a frame")
    trigger: TriggerConfig | None = key(None, "its trigger line; null: none is switched")
    triggers: dict[str, TriggerLineConfig] | None = key(
        None,
        "trigger lines of further cameras; null: none is",
        note="sections by the names of cameras, as overview and close_up",
        max_length=16,
        exclude_if=is_none,
    )

    @field_validator("triggers")
    @classmethod
    def _named(cls, value: dict[str, TriggerLineConfig] | None) -> dict[str, TriggerLineConfig] | None:
        if not all(name.isidentifier() and name.isascii() and len(name) <= 40 for name in value or ()):
            raise ValueError("names of up to 40 letters, digits and _, the first one no digit")
        return value

    @property
    def lines(self) -> dict[str, TriggerLineConfig]:
        """Each trigger line by the key that says where it is, in a section of `devices.valves`."""
        named = {f"{CAMERA_TRIGGER}s.{name}": one for name, one in (self.triggers or {}).items()}
        return {CAMERA_TRIGGER: self.trigger, **named} if self.trigger else named

    @property
    def v4l2(self) -> bool:
        """Frames come from a device of this computer."""
        return self.device.startswith("/")
