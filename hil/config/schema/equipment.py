"""The equipment's part of a rig config: drives, cylinders, sensors, limits, links, record and telemetry."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from drivers.messages import SensorName
from hil.config.schema.base import PORT, Section
from hil.messages.schema import SENSORS


class DrivesConfig(Section):
    """The wheel drives, all equal, as they act at the axle."""

    gain: float = Field(200.0, ge=0.1, le=1e4, description="gain of the drive's speed controller [N m s/rad]")
    integral_gain: float = Field(2000.0, ge=0, le=1e6, description="integral gain of that controller [N m/rad]")
    torque_limit_Nm: float = Field(40.0, ge=0.1, le=1000, description="largest torque at the axle")
    gear_friction_Nm: float = Field(0.3, ge=0, le=100, description="Coulomb friction of the gearbox")
    friction_speed_radps: float = Field(
        0.02, ge=1e-4, le=1, description="below this speed, that friction is proportional to the speed"
    )
    coast_damping: float = Field(0.5, ge=0, le=1000, description="damping with the bridge open [N m s/rad]")
    brake_damping: float = Field(40.0, ge=0, le=1e4, description="damping with the motor shorted [N m s/rad]")
    on_cut: Literal["coast", "brake"] = Field("coast", description="behaviour of the power stage after a cut")
    holds_on_slope: str = Field(
        "gearbox friction only",
        pattern=r"^[^\p{C}\p{Zl}\p{Zp}]+$",
        max_length=200,
        description="what holds the rover on a slope in Safe",
        json_schema_extra={"note": "a line of up to 200 characters"},
    )


class CylindersConfig(Section):
    """The air cylinders on the side bogies, all equal; only for a rover that has them."""

    bore_mm: float = Field(38.1, ge=5, le=200, description="bore of each cylinder")
    supply_kPa: float = Field(207.0, ge=0, le=207, description="regulated gauge pressure, at most 30 psi")
    fill_time_s: float = Field(0.05, ge=1e-3, le=10, description="time constant of filling a chamber")
    vent_time_s: float = Field(0.03, ge=1e-3, le=10, description="time constant of venting a chamber")
    lever_m: float = Field(0.25, ge=0.01, le=2, description="arm about the bogie pivot")


class ChannelConfig(Section):
    """One force sensor."""

    name: SensorName = Field(description="corner of the sensing triangle, or wheel of the bumper")
    sensitivity_mVpN: float = Field(
        11.24, ge=1e-3, le=1000, description="sensitivity, where devices.daq.calibration does not give it"
    )
    across_m: float | None = Field(
        None,
        ge=-2,
        le=2,
        description="position on the triangle's plate, to port, from the contact point of a smooth wheel",
    )
    up_m: float | None = Field(
        None,
        ge=-2,
        le=2,
        description="position on the triangle's plate, upward, from the contact point of a smooth wheel",
    )
    noise_V: float = Field(0.0005, ge=0, le=1, description="standard deviation of each sample")
    bias_V: float = Field(0.0, ge=-5, le=5, description="offset of the channel")
    droop_s: float | None = Field(
        None, ge=0.01, le=1000, description="time constant of this channel's AC coupling; null: daq.droop_s"
    )
    fault: Literal["none", "dead", "offset", "saturated"] = Field(
        "none",
        description="of the simulated sensor: dead: no signal; offset: a zero shift of 0.2 V from the first touch on; "
        "saturated: any load of 0.5 N drives it to full scale",
    )

    @field_validator("across_m", "up_m")
    @classmethod
    def _placed(cls, value: float | None, info: ValidationInfo) -> float | None:
        if value is None and info.data.get("name") in SENSORS["triangle"]:
            raise ValueError("a number -2 to 2; needed for each sensor of a triangle")
        return value


def _triangle() -> tuple[ChannelConfig, ...]:
    return (
        ChannelConfig(name="top", across_m=0.0, up_m=0.0508),
        ChannelConfig(name="lower_left", across_m=0.0508, up_m=-0.0508),
        ChannelConfig(name="lower_right", across_m=-0.0508, up_m=-0.0508),
    )


class DaqConfig(Section):
    """The data acquisition of the force sensors."""

    layout: Literal["triangle", "bumper"] = Field(
        "triangle", description="three sensors behind the starboard obstacle's plate, or one on each front wheel's side"
    )
    rate_hz: int = Field(30000, ge=10000, le=100000, description="samples a second and channel")
    block_ms: float = Field(2.0, ge=1, le=10, description="samples arrive in blocks of this length")
    range_V: float = Field(5.0, ge=1e-3, le=50, description="full scale, either sign")
    bits: int = Field(16, ge=8, le=32, description="resolution of the converter")
    droop_s: float = Field(0.5, ge=0.01, le=1000, description="time constant of the AC coupling")
    droop_u95: float = Field(
        0.02, ge=0, le=1, description="half-width of its 95 % interval, relative, where no calibration sheet states it"
    )
    sensitivity_u95: float = Field(
        0.01, ge=0, le=1, description="the same of each sensitivity, where no calibration sheet states it"
    )
    ring_hz: float = Field(20.0, ge=1, le=1000, description="natural frequency of the shield")
    ring_damping: float = Field(0.05, ge=0, le=2, description="damping ratio of the shield")
    ring_share: float = Field(0.1, ge=0, le=1, description="part of the load that acts through the ringing shield")
    channels: Annotated[tuple[ChannelConfig, ...], Field(strict=False)] = Field(
        default_factory=_triangle,
        min_length=2,
        max_length=3,
        description="one of each name of the layout: top, lower_left, lower_right, or front_left, front_right",
    )

    @model_validator(mode="before")
    @classmethod
    def _of_a_bumper(cls, raw: Any) -> Any:
        """A bumper's sensors where the config does not list them."""
        if isinstance(raw, dict) and raw.get("layout") == "bumper" and "channels" not in raw:
            return {**raw, "channels": [{"name": name} for name in SENSORS["bumper"]]}
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
        """Positions of the triangle's sensors on the plate (across, up) [m]; NaN for those of a bumper."""
        return tuple(
            (
                math.nan if channel.across_m is None else channel.across_m,
                math.nan if channel.up_m is None else channel.up_m,
            )
            for channel in self.channels
        )

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

    threshold_N: float = Field(
        10.0,
        ge=0.1,
        le=1000,
        description="an impact: the sum of the triangle's sensors, or any one of a bumper's, is over this",
    )
    consecutive: int = Field(3, ge=1, le=1000, description="samples in a row over the threshold")


class LimitsConfig(Section):
    """Limits: commands are clamped; a reading outside them prevents arming, or leads to Safe during a run."""

    wheel_speed_radps: float = Field(1.0, ge=0.01, le=10, description="largest commanded wheel speed")
    wheel_acceleration_radps2: float = Field(5.0, ge=0.01, le=100, description="largest change of that speed")
    daq_age_ms: float = Field(
        10.0, ge=2, le=1000, description="largest age of the newest sample; above it: a sensor drop-out"
    )
    drives_age_ms: float = Field(
        200.0, ge=10, le=5000, description="largest age of the newest wheel speeds; above it: stale"
    )
    valves_age_ms: float = Field(
        1000.0, ge=10, le=10000, description="largest age of the newest answer of the valves; above it: stale"
    )
    frozen_samples: int = Field(
        3000, ge=0, le=1000000, description="a sensor with this many equal samples in a row is frozen; 0: not checked"
    )
    valve_least_on_ms: float = Field(
        20.0, ge=0, le=10000, description="a valve that was switched on stays on for this time"
    )
    valve_switchings_per_s: int = Field(
        10, ge=1, le=1000, description="how many times a second a valve may be switched on"
    )
    bias_V: float = Field(0.05, ge=0, le=5, description="largest offset of a channel at arming")
    noise_V: float = Field(0.01, ge=0, le=5, description="largest noise of a channel at arming")


class SimLatencyConfig(Section):
    """Delays of the links in lockstep."""

    daq_delay_ms: float = Field(0.0, ge=0, le=500, description="delay from sampling to the loop")
    drives_delay_ms: float = Field(0.0, ge=0, le=500, description="delay from the loop to the power stage")


class SpreadConfig(Section):
    """Deviation of the simulated rig from the nominal model: standard deviations, relative unless a unit is given."""

    mass: float = Field(0.02, ge=0, le=0.2, description="of each mass")
    soil: float = Field(0.05, ge=0, le=0.2, description="of each soil parameter")
    legs: float = Field(0.03, ge=0, le=0.2, description="of the legs' stiffness")
    sensitivity: float = Field(0.005, ge=0, le=0.2, description="of each sensor's sensitivity")
    start_m: float = Field(0.002, ge=0, le=0.05, description="of the start distance")
    droop: float = Field(0.0, ge=0, le=0.2, description="of each channel's time constant of the AC coupling")
    heading_deg: float = Field(0.0, ge=0, le=10, description="of the rover's heading at the start")


class VibrationConfig(Section):
    """Disturbances of the simulated rig's force sensors. MacMahon 2016 gives frequencies, and no amplitudes."""

    mains_V: float = Field(
        0.0, ge=0, le=1, description="amplitude of the mains hum that each channel picks up; 0: none"
    )
    mains_hz: float = Field(50.0, ge=1, le=1000, description="of the mains hum")
    structure_share: float = Field(
        0.0, ge=0, le=1, description="part of the load that acts through the vibrating structure; 0: none"
    )
    structure_hz: float = Field(50.0, ge=1, le=1000, description="natural frequency of the structure")
    structure_damping: float = Field(0.03, ge=0, le=2, description="damping ratio of the structure")
    run_up_N: float = Field(
        0.0, ge=0, le=100, description="on each sensor while the wheels turn at trial.speed_mps, rms; 0: none"
    )
    run_up_hz: float = Field(30.0, ge=1, le=1000, description="frequency of that vibration")
    footsteps_N: float = Field(0.0, ge=0, le=100, description="amplitude on each sensor of a footstep nearby; 0: none")
    footsteps_per_s: float = Field(2.0, ge=0.1, le=10, description="footsteps a second")
    footstep_hz: float = Field(15.0, ge=1, le=1000, description="frequency of the vibration that a footstep causes")

    @property
    def none(self) -> bool:
        """Nothing vibrates."""
        return not (self.mains_V or self.structure_share or self.run_up_N or self.footsteps_N)


class VeerConfig(Section):
    """How the simulated rover stands and drives askew, which its twin does not know."""

    heading_deg: float = Field(0.0, ge=-25, le=25, description="of the rover at the start, positive to port")
    across_m: float = Field(0.0, ge=-1, le=1, description="how far to port it starts")
    steering_deg: (
        Annotated[float, Field(ge=-25, le=25)]
        | Annotated[
            tuple[Annotated[float, Field(ge=-25, le=25)], ...], Field(strict=False, min_length=1, max_length=64)
        ]
    ) = Field(0.0, description="steering error, positive to port: of all wheels, or a list with one for each")
    track_error: float = Field(
        0.0, ge=-0.5, le=0.5, description="the port wheels turn faster by this share, the starboard ones slower"
    )


class PlantConfig(Section):
    """The simulated rig."""

    substep_us: int = Field(100, ge=10, le=100, description="longest integration step")
    spread: SpreadConfig = Field(default_factory=SpreadConfig, description="deviation from the nominal model")
    veer: VeerConfig = Field(default_factory=VeerConfig, description="a rover that stands and drives askew")
    vibration: VibrationConfig = Field(
        default_factory=VibrationConfig, description="hum, vibration and footsteps on the force sensors"
    )


class RecordConfig(Section):
    """The record of a trial."""

    flush_ms: float = Field(
        40.0, ge=1, le=40, description="longest time between two writes; a kill loses at most this much"
    )
    sensors: Literal["all", "burst"] = Field(
        "all", description="recorded sensor samples: all, which `hil replay` needs, or only those around an impact"
    )
    before_s: float = Field(0.5, ge=0, le=20, description="burst: recorded time before an impact or a fault")
    after_s: float = Field(2.0, ge=0.1, le=20, description="burst: recorded time after an impact or a fault")


class TelemetryConfig(Section):
    """Live values for viewers."""

    endpoint: str = Field(
        "tcp://127.0.0.1:9872",
        pattern=rf"^(|tcp://[^\s:]+:{PORT}|ipc://\S+)$",
        max_length=200,
        description="endpoint of the ZeroMQ publisher",
        json_schema_extra={"note": 'tcp://ADDRESS:PORT with a port of at most 65535, ipc://PATH, or "" for off'},
    )
    rate_hz: int = Field(100, ge=1, le=1000, description="ticks published a second")
