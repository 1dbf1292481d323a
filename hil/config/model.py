"""The config of a rig, whole: every number a run depends on."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import Any, Literal

from pydantic import Field, SerializeAsAny, ValidatorFunctionWrapHandler, field_validator, model_validator

from hil.config.base import Section
from hil.config.device_fits import device_misfits
from hil.config.devices import Devices
from hil.config.equipment import (
    Cylinders,
    Daq,
    Detector,
    Drives,
    Limits,
    Links,
    Plant,
    Record,
    Telemetry,
)
from hil.config.experiment import (
    Drive,
    GroundModel,
    Jog,
    Loop,
    ObstacleContact,
    Quality,
    Realtime,
    SoilAssumptions,
    Trial,
    WheelModel,
)
from hil.config.experiment_fits import experiment_misfits
from hil.config.extensions import extension_section
from hil.config.misfits import model_misfits
from hil.config.problems import MisfitError
from hil.config.rover import RoverAssumptions
from hil.config.sensor_fits import sensor_misfits
from hil.config.text import write_yaml
from hil.layout import Layout, layout_of


class Config(Section):
    """A rig and a trial on it. Immutable; `load_config` makes one from a file."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$",
        max_length=64,
        description="name of the config; run folders are named by it",
        json_schema_extra={"note": "letters, digits, - and _"},
    )
    rig: Literal["simulated", "simulated_wire", "real"] = Field(
        description="what is controlled: a model, devices simulated at the protocol level, or real devices"
    )
    clock: Literal["lockstep", "realtime"] = Field("lockstep", description="virtual time, or the wall clock")
    seed: int = Field(
        1, ge=0, le=2**63 - 1, description="seed of all random numbers: the plant's spread and the sensors' noise"
    )
    experiment: str = Field(
        "impact",
        pattern=r"^[a-z][a-z0-9_]*$",
        max_length=64,
        description="what is done: impact, jog, drive, or one that an installed package brings",
        json_schema_extra={"note": "the name of an experiment"},
    )
    loop: Loop = Field(default_factory=Loop)
    realtime: Realtime = Field(default_factory=Realtime)
    trial: Trial = Field(default_factory=Trial)
    quality: Quality = Field(default_factory=Quality)
    jog: Jog = Field(default_factory=Jog)
    drive: Drive = Field(default_factory=Drive)
    rover: RoverAssumptions = Field(default_factory=RoverAssumptions)
    ground: GroundModel = Field(default_factory=GroundModel)
    soil: SoilAssumptions = Field(default_factory=SoilAssumptions)
    wheel: WheelModel = Field(default_factory=WheelModel)
    obstacle: ObstacleContact = Field(default_factory=ObstacleContact)
    drives: Drives = Field(default_factory=Drives)
    cylinders: Cylinders = Field(default_factory=Cylinders)
    daq: Daq | None = Field(default_factory=Daq, description="of the force sensors; null: the rig has none")
    detector: Detector = Field(default_factory=Detector)
    limits: Limits = Field(default_factory=Limits)
    links: Links = Field(default_factory=Links)
    plant: Plant = Field(default_factory=Plant)
    record: Record = Field(default_factory=Record)
    telemetry: Telemetry = Field(default_factory=Telemetry)
    extensions: dict[str, SerializeAsAny[Section]] = Field(
        default_factory=dict, max_length=100, description="sections of experiments that installed packages bring"
    )
    devices: Devices | None = Field(
        None, description="which device is at which port; needed unless the rig is simulated"
    )

    @field_validator("extensions", mode="wrap")
    @classmethod
    def _extended(cls, values: Any, check: ValidatorFunctionWrapHandler) -> Any:
        if not isinstance(values, dict):
            return check(values)
        check(dict.fromkeys(values, Section()))  # that there are not too many, and that each has a name
        return {name: extension_section(name, section) for name, section in values.items()}

    @cached_property
    def layout(self) -> Layout:
        """Wheels, cylinders and force channels of the rig."""
        channels = self.daq.channels if self.daq else ()
        return layout_of(self.rover.type, tuple(channel.name for channel in channels))

    @model_validator(mode="after")
    def _fits(self) -> Config:
        problems = [*experiment_misfits(self), *model_misfits(self), *sensor_misfits(self), *device_misfits(self)]
        if problems:
            raise MisfitError(problems)
        return self

    @property
    def has_obstacle(self) -> bool:
        """Whether an obstacle stands before the rover; it is driven over open ground without."""
        return self.experiment != "drive"

    @property
    def triangle(self) -> Daq | None:
        """The sensing triangle behind the obstacle's plate, where the rig has one."""
        return self.daq if self.daq and self.daq.layout == "triangle" else None

    @property
    def sensitivities_mVpN(self) -> tuple[float, ...]:
        """Of each sensor, in the order of `daq.channels`: from its calibration sheet if there is one [mV/N]."""
        device = self.devices.daq if self.devices else None
        channels = self.daq.channels if self.daq else ()
        sheets = [device.sensitivity_mVpN(channel.name) if device else None for channel in channels]
        return tuple(
            channel.sensitivity_mVpN if sheet is None else sheet
            for channel, sheet in zip(channels, sheets, strict=True)
        )

    @property
    def wheel_radius_m(self) -> float:
        """Radius that wheels roll on: to the tips of their grousers."""
        return self.rover.wheel_radius_m + (self.wheel.grouser_height_m if self.wheel.grousers else 0.0)

    def sha256(self) -> str:
        """Fingerprint of the effective config: of its JSON with sorted keys and no spaces."""
        return fingerprint(self.model_dump(mode="json"))

    def to_yaml(self) -> str:
        """The effective config as YAML, every key present; `load_config` reads it back to an equal one."""
        return write_yaml(self.model_dump(mode="json"))


def fingerprint(values: Any) -> str:
    """SHA-256 of JSON with sorted keys and no spaces; of what `Config.to_yaml` says, it is `Config.sha256`."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
