"""The config of a rig, whole: every number a run depends on."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

from pydantic import Field, model_validator

from hil.config.base import Section
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
    Loop,
    ObstacleContact,
    Realtime,
    RoverAssumptions,
    SoilAssumptions,
    Trial,
    WheelModel,
)
from hil.config.problems import MisfitError, Problem
from hil.config.text import write_yaml

# Part of the wheel-speed limit that a trial's speed may take; the rest is for slip.
SLIP_MARGIN = 0.9


class Config(Section):
    """A rig and a trial on it. Immutable; `load_config` makes one from a file."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$",
        max_length=64,
        description="of the config; run folders are named by it",
        json_schema_extra={"note": "letters, digits, - and _"},
    )
    rig: Literal["simulated"] = Field(
        description="what is at the far end", json_schema_extra={"note": "only the simulated rig is built yet"}
    )
    clock: Literal["lockstep", "realtime"] = Field("lockstep", description="virtual time, or against the wall clock")
    seed: int = Field(1, ge=0, le=2**63 - 1, description="of all chance: the plant's spread and the sensors' noise")
    loop: Loop = Field(default_factory=Loop)
    realtime: Realtime = Field(default_factory=Realtime)
    trial: Trial = Field(default_factory=Trial)
    rover: RoverAssumptions = Field(default_factory=RoverAssumptions)
    soil: SoilAssumptions = Field(default_factory=SoilAssumptions)
    wheel: WheelModel = Field(default_factory=WheelModel)
    obstacle: ObstacleContact = Field(default_factory=ObstacleContact)
    drives: Drives = Field(default_factory=Drives)
    cylinders: Cylinders = Field(default_factory=Cylinders)
    daq: Daq = Field(default_factory=Daq)
    detector: Detector = Field(default_factory=Detector)
    limits: Limits = Field(default_factory=Limits)
    links: Links = Field(default_factory=Links)
    plant: Plant = Field(default_factory=Plant)
    record: Record = Field(default_factory=Record)
    telemetry: Telemetry = Field(default_factory=Telemetry)

    @model_validator(mode="after")
    def _fits(self) -> Config:
        problems = [*_trial_misfits(self), *_daq_misfits(self)]
        if problems:
            raise MisfitError(problems)
        return self

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


def _trial_misfits(config: Config) -> list[Problem]:
    """Values of the trial that are each allowed but not together."""
    trial, limits, radius = config.trial, config.limits, config.rover.wheel_radius_m
    needed_s = trial.start_distance_m / trial.speed_mps + 0.5 * trial.ramp_s
    ramp_m = 0.5 * trial.speed_mps * trial.ramp_s
    wheel_speed = trial.speed_mps / radius
    problems = []
    if trial.timeout_s <= needed_s:
        problems.append(
            Problem(
                "trial.timeout_s",
                f"{trial.timeout_s:g}",
                f"above {needed_s:.4g}, the time trial.start_distance_m takes at trial.speed_mps",
                ("trial.start_distance_m", "trial.speed_mps", "trial.ramp_s"),
            )
        )
    if ramp_m >= trial.start_distance_m:
        problems.append(
            Problem(
                "trial.ramp_s",
                f"{trial.ramp_s:g}",
                f"below {2 * trial.start_distance_m / trial.speed_mps:.4g}, or the rover hits before it is at speed",
                ("trial.start_distance_m", "trial.speed_mps"),
            )
        )
    if wheel_speed > SLIP_MARGIN * limits.wheel_speed_radps:
        problems.append(
            Problem(
                "trial.speed_mps",
                f"{trial.speed_mps:g}",
                f"at most {SLIP_MARGIN * limits.wheel_speed_radps * radius:.4g}, {SLIP_MARGIN:g} of "
                f"limits.wheel_speed_radps times {radius:g} m, for wheels turn faster than they roll",
                ("limits.wheel_speed_radps",),
            )
        )
    if wheel_speed / trial.ramp_s > limits.wheel_acceleration_radps2:
        problems.append(
            Problem(
                "trial.ramp_s",
                f"{trial.ramp_s:g}",
                f"at least {wheel_speed / limits.wheel_acceleration_radps2:.4g}, by limits.wheel_acceleration_radps2",
                ("trial.speed_mps", "limits.wheel_acceleration_radps2"),
            )
        )
    if trial.settle_s < config.record.after_s:
        problems.append(
            Problem(
                "trial.settle_s",
                f"{trial.settle_s:g}",
                f"at least {config.record.after_s:g}, record.after_s",
                ("record.after_s",),
            )
        )
    if config.soil.rebound > 2.0 / (config.soil.exponent + 1.0):
        problems.append(
            Problem(
                "soil.rebound",
                f"{config.soil.rebound:g}",
                f"at most {2.0 / (config.soil.exponent + 1.0):.4g} = 2/(soil.exponent + 1), or soil pushes the wheel",
                ("soil.exponent",),
            )
        )
    return problems


def _daq_misfits(config: Config) -> list[Problem]:
    """Values of the data acquisition that are each allowed but not together."""
    daq, limits, problems = config.daq, config.limits, []
    samples = daq.rate_hz * daq.block_ms / 1000.0
    if abs(samples - round(samples)) > 1e-6:
        problems.append(
            Problem(
                "daq.block_ms",
                f"{daq.block_ms:g}, {samples:g} samples at {daq.rate_hz} Hz",
                "a whole number of samples of daq.rate_hz",
                ("daq.rate_hz",),
            )
        )
    if daq.block_ms * 2.0 > limits.daq_age_ms:
        problems.append(
            Problem(
                "daq.block_ms",
                f"{daq.block_ms:g}",
                f"at most {limits.daq_age_ms / 2.0:g}, half of limits.daq_age_ms, or good samples count as a drop-out",
                ("limits.daq_age_ms",),
            )
        )
    top, left, right = daq.channels
    ax, ay = left.across_m - top.across_m, left.up_m - top.up_m
    bx, by = right.across_m - top.across_m, right.up_m - top.up_m
    area = 0.5 * abs(ax * by - ay * bx)
    if area <= 1e-6:
        problems.append(
            Problem(
                "daq.channels",
                f"three sensors that span {area * 1e6:.3g} mm^2",
                "a triangle of more than 1 mm^2: across_m and up_m of the three must not lie on a line",
                (),
            )
        )
    for channel in daq.channels:
        full_N = daq.range_V / (channel.sensitivity_mVpN / 1000.0)
        if config.detector.threshold_N >= full_N:
            problems.append(
                Problem(
                    "detector.threshold_N",
                    f"{config.detector.threshold_N:g}",
                    f"below {full_N:.4g}, where the channel {channel.name} is at daq.range_V",
                    ("daq.range_V", "daq.channels"),
                )
            )
    return problems
