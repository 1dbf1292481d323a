"""The sections of loop, drives, limits, links, plant, record, telemetry and operator."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from hil.config.schema.base import PORT, Section, bounded, key, section
from hil.config.schema.instruments import GearboxConfig, MeasuredLimits, MotorConfig, PowerConfig
from hil.messages.layout import AGED, ROLES, Role


class LoopConfig(Section):
    """The fixed-step control loop."""

    rate_hz: int = bounded(1000, 100, 4000, "ticks a second")


class RealtimeConfig(Section):
    """Rights that the loop requests with the realtime clock. A refusal is reported once, and the run continues."""

    fifo_priority: int = bounded(80, 0, 98, "SCHED_FIFO priority of the loop, 0: ordinary scheduling")
    lock_memory: bool = key(True, "keep all memory in RAM")
    awake: bool = key(True, "keep idle processors out of deep sleep states")
    spin_share: float = bounded(0.0, 0, 0.2, "share of the period spent spinning for the deadline")
    cpus: Annotated[tuple[Annotated[int, Field(ge=0, le=4095)], ...], Field(strict=False)] = key(
        (), "numbers of the processors that the loop may run on; empty: any", max_length=64
    )
    timer_slack_us: float = bounded(
        1.0, 0.001, 1000, "timer slack: how late the kernel may wake the loop without SCHED_FIFO"
    )
    measure_s: float = bounded(
        1.0, 0, 60, "without SCHED_FIFO, wake-ups are measured for this time before arming; 0: not measured"
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

    address: str = key(
        "127.0.0.1:*",
        "where browsers connect; * as the port: a free one",
        pattern=rf"^[^\s:]+:(\*|{PORT})$",
        max_length=200,
        note="ADDRESS:PORT, or ADDRESS:* for a free port",
    )
    certificate: str | None = key(None, "file of the TLS certificate, PEM; null: no TLS", **_PATH)
    certificate_key: str | None = key(None, "file of the certificate's key, PEM", **_PATH)
    client_key: str | None = key(
        None, "file of the page's own secret key (hil keys new), with operator.keys or telemetry.keys", **_PATH
    )


class OperatorConfig(Section):
    """The command socket of `hil operate`."""

    endpoint: str = key(
        "tcp://127.0.0.1:*",
        "where clients connect; * as the port: a free one",
        pattern=rf"^tcp://[^\s:]+:(\*|{PORT})$",
        max_length=200,
        note="tcp://ADDRESS:PORT, or tcp://ADDRESS:* for a free port",
    )
    keys: KeysConfig | None = key(
        None, "keys of the clients; null: whoever can read the token file, on this computer only"
    )
    console_lost: Literal["stop", "finish"] = key("stop", "a run whose operator lease has expired stops, or finishes")
    page: _PageConfig = section(_PageConfig, "where the page is served")


class DrivesConfig(Section):
    """The wheel drives, all equal, as they act at the axle."""

    gain: float = bounded(200.0, 0.1, 1e4, "gain of the drive's speed controller [N m s/rad]")
    integral_gain: float = bounded(2000.0, 0, 1e6, "integral gain of that controller [N m/rad]")
    torque_limit_Nm: float = bounded(40.0, 0.1, 1000, "largest torque at the axle")
    gear_friction_Nm: float = bounded(0.3, 0, 100, "Coulomb friction of the gearbox")
    friction_speed_radps: float = bounded(0.02, 1e-4, 1, "below this speed, that friction is proportional to the speed")
    coast_damping: float = bounded(0.5, 0, 1000, "damping with the bridge open [N m s/rad]")
    brake_damping: float = bounded(40.0, 0, 1e4, "damping with the motor shorted [N m s/rad]")
    on_cut: Literal["coast", "brake"] = key("coast", "behaviour of the power stage after a cut")
    motor: MotorConfig = section(MotorConfig, "of each drive, for runs by duty")
    gearbox: GearboxConfig | None = key(
        None, "motor and gear: limit torque_limit_Nm, give the section motor, and add the rotor's inertia"
    )
    power: PowerConfig = section(PowerConfig, "of the simulated drives")
    holds_on_slope: str = key(
        "gearbox friction only",
        "what holds the rover on a slope in Safe",
        pattern=r"^[^\p{C}\p{Zl}\p{Zp}]+$",
        max_length=200,
        note="a line of up to 200 characters",
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


_Ages: Any = create_model("_Ages", __base__=Section, **{f"{name}_age_ms": _age_key(ROLES[name]) for name in AGED})


class LimitsConfig(_Ages, Section):  # mypy knows these keys as Any
    """Limits: commands are clamped; a reading outside them prevents arming, or leads to Safe during a run."""

    wheel_speed_radps: float = bounded(1.0, 0.01, 10, "largest commanded wheel speed")
    wheel_acceleration_radps2: float = bounded(5.0, 0.01, 100, "largest change of that speed")
    daq_age_ms: float = bounded(10.0, 2, 1000, "largest age of the newest sample; above it: a sensor drop-out")
    frozen_samples: int = bounded(
        3000, 0, 1000000, "a sensor with this many equal samples in a row is frozen; 0: not checked"
    )
    valve_least_on_ms: float = bounded(20.0, 0, 10000, "a valve that was switched on stays on for this time")
    valve_switchings_per_s: int = bounded(10, 1, 1000, "how many times a second a valve may be switched on")
    loads_age_ms: float = bounded(50.0, 2, 1000, "as daq_age_ms, of the load channels")
    loads_frozen_samples: int = bounded(200, 0, 100000, "the same as frozen_samples, of a load channel")
    loads_weight: float = bounded(
        0.15, 0.01, 1, "share by which the measured wheel loads may differ from the weight at arming"
    )
    calibration_days: int | None = bounded(
        None,
        1,
        36500,
        "largest age of a calibration at arming, by the date in its sheet; a sheet without one is refused, "
        "too; null: not checked",
    )
    tilt_deg: float = bounded(
        45.0, 5, 80, "largest angle of the rover's main body to the horizontal; above it: tipping over"
    )
    impact_speed_mps: float = bounded(
        0.1, 0.005, 2, "largest trial.speed_mps at arming: planetary rovers are slower (MacMahon 2016, 2.1)"
    )
    sensor_force_N: float | None = bounded(
        445.0,
        1,
        445,
        "largest force predicted on one force sensor at arming: the full range of a PCB 208C02, 100 lbf, "
        "which is damaged at about 667 N; null, on a simulated rig: not checked",
    )
    bumper_force_N: float | None = bounded(
        300.0, 1, 300, "the same on one bumper: the load that its bearing is chosen for (MacMahon 2016, D.1)"
    )
    cylinder_kPa: float = bounded(
        207.0, 1, 689, "largest cylinders.supply_kPa at arming: 30 psi (MacMahon 2016, 6.1), at most the rated 100 psi"
    )
    bogie_torque_Nm: float = bounded(
        60.0, 0.1, 60, "largest torque of a cylinder on its bogie at arming (MacMahon 2016, 6.1)"
    )
    motor_current_A: MeasuredLimits | None = key(None, "of the current of each motor, either way; null: not watched")
    supply_V: MeasuredLimits | None = key(None, "of the supply of the motors; null: not watched")
    pressure_kPa: MeasuredLimits | None = key(
        None, "of the gauge pressure of each chamber with a valve; null: not watched"
    )
    bias_V: float = bounded(0.05, 0, 5, "largest offset of a channel at arming")
    noise_V: float = bounded(0.01, 0, 5, "largest noise of a channel at arming")


class SimLatencyConfig(Section):
    """Delays of the links in lockstep."""

    daq_delay_ms: float = bounded(0.0, 0, 500, "delay from sampling to the loop")
    drives_delay_ms: float = bounded(0.0, 0, 500, "delay from the loop to the power stage")


class _SpreadConfig(Section):
    """Deviation of the simulated rig from the nominal model: standard deviations, relative unless a unit is given."""

    mass: float = bounded(0.02, 0, 0.2, "of each mass")
    soil: float = bounded(0.05, 0, 0.2, "of each soil parameter")
    legs: float = bounded(0.03, 0, 0.2, "of the legs' stiffness")
    sensitivity: float = bounded(0.005, 0, 0.2, "of each sensor's sensitivity")
    start_m: float = bounded(0.002, 0, 0.05, "of the start distance")
    droop: float = bounded(0.0, 0, 0.2, "of each channel's time constant of the AC coupling")
    heading_deg: float = bounded(0.0, 0, 10, "of the rover's heading at the start")
    friction: float = bounded(0.0, 0, 0.3, "of the cylinders' friction")
    drives: float = bounded(0.0, 0, 0.3, "of the drives' gains, gear friction and damping, each")


class _VibrationConfig(Section):
    """Disturbances of the simulated rig's force sensors. MacMahon 2016 gives frequencies, and no amplitudes."""

    mains_V: float = bounded(0.0, 0, 1, "amplitude of the mains hum that each channel picks up; 0: none")
    mains_hz: float = bounded(50.0, 1, 1000, "of the mains hum")
    structure_share: float = bounded(0.0, 0, 1, "part of the load that acts through the vibrating structure; 0: none")
    structure_hz: float = bounded(50.0, 1, 1000, "natural frequency of the structure")
    structure_damping: float = bounded(0.03, 0, 2, "damping ratio of the structure")
    run_up_N: float = bounded(0.0, 0, 100, "on each sensor while the wheels turn at trial.speed_mps, rms; 0: none")
    run_up_hz: float = bounded(30.0, 1, 1000, "frequency of that vibration")
    footsteps_N: float = bounded(0.0, 0, 100, "amplitude on each sensor of a footstep nearby; 0: none")
    footsteps_per_s: float = bounded(2.0, 0.1, 10, "footsteps a second")
    footstep_hz: float = bounded(15.0, 1, 1000, "frequency of the vibration that a footstep causes")

    @property
    def none(self) -> bool:
        """Nothing vibrates."""
        return not (self.mains_V or self.structure_share or self.run_up_N or self.footsteps_N)


class _VeerConfig(Section):
    """How the simulated rover stands and drives askew, which its twin does not know."""

    heading_deg: float = bounded(0.0, -25, 25, "of the rover at the start, positive to port")
    across_m: float = bounded(0.0, -1, 1, "how far to port it starts")
    steering_deg: (
        Annotated[float, Field(ge=-25, le=25)]
        | Annotated[
            tuple[Annotated[float, Field(ge=-25, le=25)], ...], Field(strict=False, min_length=1, max_length=64)
        ]
    ) = key(0.0, "steering error, positive to port: of all wheels, or a list with one for each")
    track_error: float = bounded(0.0, -0.5, 0.5, "the port wheels turn faster by this share, the starboard ones slower")


class _ReadingNoiseConfig(Section):
    """Noise of what the simulated devices read, one standard deviation each."""

    pressure_kPa: float = bounded(0.0, 0, 50, "of each pressure of a cylinder")
    speed_radps: float = bounded(0.0, 0, 1, "of each wheel's speed")


class PlantConfig(Section):
    """The simulated rig."""

    substep_us: int = bounded(
        100,
        10,
        1000,
        "integration step at contacts; up to ten times that in a steady drive on soil, away from the obstacle",
    )
    spread: _SpreadConfig = section(_SpreadConfig, "deviation from the nominal model")
    noise: _ReadingNoiseConfig = section(
        _ReadingNoiseConfig, "of the pressures and speeds that the simulated devices read"
    )
    veer: _VeerConfig = section(_VeerConfig, "a rover that stands and drives askew")
    ground_pitch_deg: float = bounded(
        0.0, -10, 10, "its ground is steeper than ground.pitch_deg by this, unknown to the twin"
    )
    ground_roll_deg: float = bounded(0.0, -10, 10, "the same of ground.roll_deg")
    vibration: _VibrationConfig = section(_VibrationConfig, "hum, vibration and footsteps on the force sensors")


class RecordConfig(Section):
    """The record of a trial."""

    flush_ms: float = bounded(40.0, 1, 40, "longest time between two writes; a kill loses at most this much")
    sensors: Literal["all", "burst"] = key(
        "all", "recorded sensor samples: all, which `hil replay` needs, or only those around an impact"
    )
    before_s: float = bounded(0.5, 0, 20, "burst: recorded time before an impact or a fault")
    after_s: float = bounded(2.0, 0.1, 20, "burst: recorded time after an impact or a fault")


class TelemetryConfig(Section):
    """Live values for viewers."""

    endpoint: str = key(
        "tcp://127.0.0.1:9872",
        "endpoint of the ZeroMQ publisher",
        pattern=rf"^(|tcp://[^\s:]+:{PORT}|ipc://\S+)$",
        max_length=200,
        note='tcp://ADDRESS:PORT with a port of at most 65535, ipc://PATH, or "" for off',
    )
    rate_hz: int = bounded(100, 1, 1000, "ticks published a second")
    keys: KeysConfig | None = key(None, "keys of the viewers; null: any viewer, on this computer only")


def is_local(endpoint: str) -> bool:
    """Whether only programs on this computer can reach a ZeroMQ endpoint: loopback addresses, localhost and ipc.

    A name other than localhost counts as reachable from outside, and so does an interface.
    """
    transport, _, place = endpoint.partition("://")
    if transport != "tcp":
        return transport in ("", "ipc")
    host = place.rpartition(":")[0]
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
