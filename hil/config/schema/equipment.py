"""The equipment's part of a rig config: drives, limits, links, record and telemetry.

The loop's part of a rig config: its rate, and the rights that it asks for.

The doors of a rig: the command socket of `hil operate`, and the keys of those who may connect.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from hil.config.schema.base import PORT, Section
from hil.config.schema.instruments import GearboxConfig, MeasuredLimits, MotorConfig, PowerConfig
from hil.messages.layout import COMMANDED, ROLES, Role


class LoopConfig(Section):
    """The fixed-step control loop."""

    rate_hz: int = Field(1000, ge=100, le=4000, description="ticks a second")


class RealtimeConfig(Section):
    """Rights that the loop requests with the realtime clock. A refusal is reported once, and the run continues."""

    fifo_priority: int = Field(80, ge=0, le=98, description="SCHED_FIFO priority of the loop, 0: ordinary scheduling")
    lock_memory: bool = Field(True, description="keep all memory in RAM")
    awake: bool = Field(True, description="keep idle processors out of deep sleep states")
    spin_share: float = Field(0.0, ge=0, le=0.2, description="share of the period spent spinning for the deadline")
    cpus: Annotated[tuple[Annotated[int, Field(ge=0, le=4095)], ...], Field(strict=False)] = Field(
        (), max_length=64, description="numbers of the processors that the loop may run on; empty: any"
    )
    timer_slack_us: float = Field(
        1.0, ge=0.001, le=1000, description="timer slack: how late the kernel may wake the loop without SCHED_FIFO"
    )
    measure_s: float = Field(
        1.0,
        ge=0,
        le=60,
        description="without SCHED_FIFO, wake-ups are measured for this time before arming; 0: not measured",
    )


# Of a text that names a file or folder.
_PATH: dict[str, Any] = {
    "pattern": r"^[^\p{C}]+$",
    "max_length": 400,
    "json_schema_extra": {"note": "a path, seen from the folder where hil is started"},
}


class KeysConfig(Section):
    """CURVE keys: of this computer, and of all clients that may connect (`hil keys new`)."""

    secret: str = Field(**_PATH, description="file of this computer's secret key; only its owner may read it")
    clients: str = Field(**_PATH, description="folder of the public keys (NAME.key) of all clients that may connect")


class _PageConfig(Section):
    """The operator's page, which `hil operate --page` serves."""

    address: str = Field(
        "127.0.0.1:*",
        pattern=rf"^[^\s:]+:(\*|{PORT})$",
        max_length=200,
        description="where browsers connect; * as the port: a free one",
        json_schema_extra={"note": "ADDRESS:PORT, or ADDRESS:* for a free port"},
    )
    certificate: str | None = Field(None, **_PATH, description="file of the TLS certificate, PEM; null: no TLS")
    certificate_key: str | None = Field(None, **_PATH, description="file of the certificate's key, PEM")
    client_key: str | None = Field(
        None,
        **_PATH,
        description="file of the page's own secret key (hil keys new), with operator.keys or telemetry.keys",
    )


class OperatorConfig(Section):
    """The command socket of `hil operate`."""

    endpoint: str = Field(
        "tcp://127.0.0.1:*",
        pattern=rf"^tcp://[^\s:]+:(\*|{PORT})$",
        max_length=200,
        description="where clients connect; * as the port: a free one",
        json_schema_extra={"note": "tcp://ADDRESS:PORT, or tcp://ADDRESS:* for a free port"},
    )
    keys: KeysConfig | None = Field(
        None, description="keys of the clients; null: whoever can read the token file, on this computer only"
    )
    console_lost: Literal["stop", "finish"] = Field(
        "stop", description="a run whose operator lease has expired stops, or finishes"
    )
    page: _PageConfig = Field(default_factory=_PageConfig, description="where the page is served")


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
    motor: MotorConfig = Field(default_factory=MotorConfig, description="of each drive, for runs by duty")
    gearbox: GearboxConfig | None = Field(
        None, description="motor and gear: limit torque_limit_Nm, give the section motor, and add the rotor's inertia"
    )
    power: PowerConfig = Field(default_factory=PowerConfig, description="of the simulated drives")
    holds_on_slope: str = Field(
        "gearbox friction only",
        pattern=r"^[^\p{C}\p{Zl}\p{Zp}]+$",
        max_length=200,
        description="what holds the rover on a slope in Safe",
        json_schema_extra={"note": "a line of up to 200 characters"},
    )

    @property
    def largest_torque_Nm(self) -> float:
        """Largest torque at the axle: that of the key, or of a gearbox if that is less."""
        return min([self.torque_limit_Nm, *([self.gearbox.at_axle.axle_torque] if self.gearbox else [])])

    @property
    def full_torque_rad(self) -> float:
        """How far a wheel is behind its command when the integral part alone asks for the largest torque [rad].

        A wheel that is less behind may stand because its load still holds it. 0 without an integral part.
        """
        return self.largest_torque_Nm / self.integral_gain if self.integral_gain else 0.0

    @property
    def axle_motor(self) -> MotorConfig:
        """The motor at the axle: of the section motor, or behind the gearbox if there is one."""
        if self.gearbox is None:
            return self.motor
        gear = self.gearbox.at_axle
        return MotorConfig.model_construct(
            stall_torque_Nm=gear.axle_stall_torque, no_load_radps=gear.axle_no_load_speed
        )


def _age_key(role: Role) -> Any:
    words = f"largest age of the newest {role.says}; above it: stale"
    return float, Field(role.age_ms[0], ge=10, le=role.age_ms[1], description=words)


_Ages: Any = create_model("_Ages", __base__=Section, **{f"{name}_age_ms": _age_key(ROLES[name]) for name in COMMANDED})


class LimitsConfig(_Ages, Section):  # mypy knows these keys as Any
    """Limits: commands are clamped; a reading outside them prevents arming, or leads to Safe during a run."""

    wheel_speed_radps: float = Field(1.0, ge=0.01, le=10, description="largest commanded wheel speed")
    wheel_acceleration_radps2: float = Field(5.0, ge=0.01, le=100, description="largest change of that speed")
    daq_age_ms: float = Field(
        10.0, ge=2, le=1000, description="largest age of the newest sample; above it: a sensor drop-out"
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
    loads_age_ms: float = Field(50.0, ge=2, le=1000, description="as daq_age_ms, of the load channels")
    loads_frozen_samples: int = Field(200, ge=0, le=100000, description="the same as frozen_samples, of a load channel")
    loads_weight: float = Field(
        0.15, ge=0.01, le=1, description="share by which the measured wheel loads may differ from the weight at arming"
    )
    calibration_days: int | None = Field(
        None,
        ge=1,
        le=36500,
        description="largest age of a calibration at arming, by the date in its sheet; a sheet without one is refused, "
        "too; null: not checked",
    )
    tilt_deg: float = Field(
        45.0,
        ge=5,
        le=80,
        description="largest angle of the rover's main body to the horizontal; above it: tipping over",
    )
    impact_speed_mps: float = Field(
        0.1,
        ge=0.005,
        le=2,
        description="largest trial.speed_mps at arming: planetary rovers are slower (MacMahon 2016, 2.1)",
    )
    sensor_force_N: float | None = Field(
        445.0,
        ge=1,
        le=445,
        description="largest force predicted on one force sensor at arming: the full range of a PCB 208C02, 100 lbf, "
        "which is damaged at about 667 N; null, on a simulated rig: not checked",
    )
    bumper_force_N: float | None = Field(
        300.0,
        ge=1,
        le=300,
        description="the same on one bumper: the load that its bearing is chosen for (MacMahon 2016, D.1)",
    )
    cylinder_kPa: float = Field(
        207.0,
        ge=1,
        le=689,
        description="largest cylinders.supply_kPa at arming: 30 psi (MacMahon 2016, 6.1), at most the rated 100 psi",
    )
    bogie_torque_Nm: float = Field(
        60.0, ge=0.1, le=60, description="largest torque of a cylinder on its bogie at arming (MacMahon 2016, 6.1)"
    )
    motor_current_A: MeasuredLimits | None = Field(
        None, description="of the current of each motor, either way; null: not watched"
    )
    supply_V: MeasuredLimits | None = Field(None, description="of the supply of the motors; null: not watched")
    pressure_kPa: MeasuredLimits | None = Field(
        None, description="of the gauge pressure of each chamber with a valve; null: not watched"
    )
    bias_V: float = Field(0.05, ge=0, le=5, description="largest offset of a channel at arming")
    noise_V: float = Field(0.01, ge=0, le=5, description="largest noise of a channel at arming")


class SimLatencyConfig(Section):
    """Delays of the links in lockstep."""

    daq_delay_ms: float = Field(0.0, ge=0, le=500, description="delay from sampling to the loop")
    drives_delay_ms: float = Field(0.0, ge=0, le=500, description="delay from the loop to the power stage")


class _SpreadConfig(Section):
    """Deviation of the simulated rig from the nominal model: standard deviations, relative unless a unit is given."""

    mass: float = Field(0.02, ge=0, le=0.2, description="of each mass")
    soil: float = Field(0.05, ge=0, le=0.2, description="of each soil parameter")
    legs: float = Field(0.03, ge=0, le=0.2, description="of the legs' stiffness")
    sensitivity: float = Field(0.005, ge=0, le=0.2, description="of each sensor's sensitivity")
    start_m: float = Field(0.002, ge=0, le=0.05, description="of the start distance")
    droop: float = Field(0.0, ge=0, le=0.2, description="of each channel's time constant of the AC coupling")
    heading_deg: float = Field(0.0, ge=0, le=10, description="of the rover's heading at the start")
    friction: float = Field(0.0, ge=0, le=0.3, description="of the cylinders' friction")
    drives: float = Field(0.0, ge=0, le=0.3, description="of the drives' gains, gear friction and damping, each")


class _VibrationConfig(Section):
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


class _VeerConfig(Section):
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


class _ReadingNoiseConfig(Section):
    """Noise of what the simulated devices read, one standard deviation each."""

    pressure_kPa: float = Field(0.0, ge=0, le=50, description="of each pressure of a cylinder")
    speed_radps: float = Field(0.0, ge=0, le=1, description="of each wheel's speed")


class PlantConfig(Section):
    """The simulated rig."""

    substep_us: int = Field(
        100,
        ge=10,
        le=1000,
        description="longest integration step; in a steady drive on soil, away from the obstacle, ten times that",
    )
    spread: _SpreadConfig = Field(default_factory=_SpreadConfig, description="deviation from the nominal model")
    noise: _ReadingNoiseConfig = Field(
        default_factory=_ReadingNoiseConfig, description="of the pressures and speeds that the simulated devices read"
    )
    veer: _VeerConfig = Field(default_factory=_VeerConfig, description="a rover that stands and drives askew")
    ground_pitch_deg: float = Field(
        0.0,
        ge=-10,
        le=10,
        description="its ground is steeper than ground.pitch_deg by this, unknown to the twin",
    )
    ground_roll_deg: float = Field(0.0, ge=-10, le=10, description="the same of ground.roll_deg")
    vibration: _VibrationConfig = Field(
        default_factory=_VibrationConfig, description="hum, vibration and footsteps on the force sensors"
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
    keys: KeysConfig | None = Field(None, description="keys of the viewers; null: any viewer, on this computer only")
