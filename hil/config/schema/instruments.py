"""The instruments that measure the rover's motion: from outside, by inertia, and in its joints.

What the observer takes for uncertain about the rover twin.

Motors and their supply: limits of what is measured, and motors, currents and supply of a simulated rig.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from drivers.section import CalibrationDate
from hil.config.schema.base import Section
from models.actuators.drive import Gearbox

_THREE = Field(strict=False, min_length=3, max_length=3)
Share = Annotated[float, Field(ge=-1, le=1)]
Direction = Annotated[tuple[Share, ...], _THREE]
Turn = Annotated[float, Field(ge=-180, le=180)]
Turns = Annotated[tuple[Turn, ...], _THREE]
Coordinate = Annotated[float, Field(ge=-100, le=100)]
Place = Annotated[tuple[Coordinate, ...], _THREE]
Range = Annotated[tuple[Coordinate, ...], Field(strict=False, min_length=2, max_length=2)]
Joint = Annotated[str, Field(max_length=100, json_schema_extra={"note": "the name of a joint of the rover"})]
_FILE: dict[str, Any] = {"note": "path of a calibration file, seen from the config's folder, or what would be in it"}
# Channels by what is measured from outside, and of an inertial measurement unit.
POSITION = ("x_m", "y_m", "z_m")
MEASURES = {"distance": ("distance_m",), "position": POSITION, "pose": (*POSITION, "qx", "qy", "qz", "qw")}
INERTIAL = ("ax_mps2", "ay_mps2", "az_mps2", "wx_radps", "wy_radps", "wz_radps")
# Arming waits for the time of so many readings of each instrument: their scatter shows whether the rover stands. Three
# are needed; of an instrument that loses 3 in 10, fewer come once in 600 times.
READINGS_TO_ARM = 10


class InstrumentErrors(Section):
    """How a simulated instrument differs from what the controller knows of it."""

    drop_outs: float = Field(0.0, ge=0, le=1, description="share of the readings that are lost")
    fault: Literal["none", "frozen", "jump", "biased", "swapped"] = Field(
        "none",
        description="frozen: repeats one reading; jump: an offset from one reading to the next, as of a slipped "
        "encoder; biased: an offset that grows; swapped: two channels are interchanged",
    )
    fault_at_s: float = Field(1.0, ge=0, le=3600, description="when the fault begins")
    fault_size: float = Field(
        0.1, ge=-100, le=100, description="offset of a jump, growth of a bias a second: of the first channel, in SI"
    )
    late_ms: float = Field(0.0, ge=0, le=200, description="readings come this much later than delay_ms says")


class _MountingErrors(InstrumentErrors):
    """The same of an instrument that has axes."""

    mounting_deg: Turns = Field(
        (0.0, 0.0, 0.0), description="roll, pitch, yaw by which its axes are turned further than turn_deg says"
    )


class JointEncoder(Section):
    """The encoder of one joint."""

    joint: Joint = Field(description="name of the joint")
    zero_deg: float = Field(0.0, ge=-360, le=360, description="reading at angle 0 of the joint")
    reversed: bool = Field(False, description="its reading falls where the joint's angle grows")
    error_deg: float = Field(
        0.0, ge=-360, le=360, description="how much further a simulated encoder reads than zero_deg says"
    )


class MotionSheet(Section):
    """The calibration of an instrument outside the rover; its numbers win over those of `motion`."""

    serial: str = Field("unknown", max_length=64, description="serial number on the instrument")
    date: CalibrationDate | None = Field(None, description="of the calibration; null: not stated")
    origin_m: Place | None = Field(None, description="as motion.origin_m")
    turn_deg: Turns | None = Field(None, description="as motion.turn_deg")
    body_turn_deg: Turns | None = Field(None, description="as motion.body_turn_deg")
    delay_ms: float | None = Field(None, ge=0, le=500, description="as motion.delay_ms")
    noise_m: float | None = Field(None, ge=1e-6, le=1, description="as motion.noise_m")
    noise_deg: float | None = Field(None, ge=1e-3, le=20, description="as motion.noise_deg")


class ImuSheet(Section):
    """The calibration of an inertial measurement unit; its numbers win over those of `imu`."""

    serial: str = Field("unknown", max_length=64, description="serial number on the unit")
    date: CalibrationDate | None = Field(None, description="of the calibration; null: not stated")
    turn_deg: Turns | None = Field(None, description="as imu.turn_deg")
    noise_mps2: float | None = Field(None, ge=1e-5, le=10, description="as imu.noise_mps2")
    noise_radps: float | None = Field(None, ge=1e-6, le=1, description="as imu.noise_radps")


class JointsSheet(Section):
    """The calibration of the joints' encoders; its numbers win over those of `joints`."""

    serial: str = Field("unknown", max_length=64, description="of the set of encoders")
    date: CalibrationDate | None = Field(None, description="of the calibration; null: not stated")
    noise_deg: float | None = Field(None, ge=1e-4, le=10, description="as joints.noise_deg")
    encoders: Annotated[tuple[JointEncoder, ...], Field(strict=False)] | None = Field(
        None, max_length=64, description="as joints.encoders"
    )


def _with_sheet(values: Any) -> Any:
    """The values of a section with those of its calibration, if it has one, in place of its own."""
    sheet = values.get("calibration") if isinstance(values, dict) else None
    if not isinstance(sheet, dict):
        return values
    return values | {key: value for key, value in sheet.items() if key not in ("serial", "date") and value is not None}


class _InstrumentConfig(Section):
    """What the instruments have in common."""

    delay_ms: float = Field(5.0, ge=0, le=500, description="from a measurement until its reading can be there")
    stale_ms: float = Field(200.0, ge=10, le=5000, description="a newest reading older than this is stale")
    frozen_readings: int = Field(
        20, ge=0, le=10000, description="an instrument with this many equal readings in a row is frozen; 0: not checked"
    )
    errors: InstrumentErrors = Field(
        default_factory=InstrumentErrors, description="of the simulated instrument, drawn by the seed"
    )

    @model_validator(mode="before")
    @classmethod
    def _calibrated(cls, values: Any) -> Any:
        return _with_sheet(values)


class MotionConfig(_InstrumentConfig):
    """A body of the rover measured from outside: motion capture, total station, distance sensor, string encoder."""

    measures: Literal["pose", "position", "distance"] = Field(
        "pose", description="what a reading holds: position and attitude, position, or distance along one axis"
    )
    rate_hz: float = Field(100.0, ge=1, le=500, description="readings a second")
    noise_m: float = Field(0.0005, ge=1e-6, le=1, description="standard deviation of each coordinate")
    noise_deg: float = Field(0.1, ge=1e-3, le=20, description="of the attitude about each axis; of a pose")
    bias_m: float = Field(
        0.0, ge=0, le=1, description="standard deviation of each coordinate's offset that calibration leaves"
    )
    point_m: Place = Field(
        (0.0, 0.0, 0.3), description="measured point on the main body, in its axes: x forward, y to port, z up"
    )
    body_turn_deg: Turns = Field(
        (0.0, 0.0, 0.0), description="roll, pitch, yaw of the measured body's axes in the main body's; of a pose"
    )
    origin_m: Place = Field((0.0, 0.0, 0.0), description="origin of the instrument's axes in those of the rig")
    turn_deg: Turns = Field((0.0, 0.0, 0.0), description="roll, pitch, yaw of the instrument's axes in the rig's")
    direction: Direction = Field(
        (1.0, 0.0, 0.0), description="way on which a distance grows, in the rig's axes; from origin_m"
    )
    room_m: Annotated[tuple[Range, ...], _THREE] = Field(
        ((-20.0, 20.0), (-20.0, 20.0), (-5.0, 5.0)),
        description="where the measured point can be in the rig's axes, from and to; a reading outside is wrong",
    )
    errors: _MountingErrors = Field(
        default_factory=_MountingErrors, description="of the simulated instrument, drawn by the seed"
    )
    calibration: MotionSheet | None = Field(
        None, description="of `hil calibrate motion`; its numbers win", json_schema_extra=_FILE
    )

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the values of a reading."""
        return MEASURES[self.measures]


class ImuConfig(_InstrumentConfig):
    """An inertial measurement unit on the main body."""

    rate_hz: float = Field(200.0, ge=10, le=1000, description="readings a second")
    noise_mps2: float = Field(0.05, ge=1e-5, le=10, description="standard deviation of each acceleration")
    noise_radps: float = Field(0.003, ge=1e-6, le=1, description="of each rate of turn")
    bias_mps2: float = Field(0.02, ge=0, le=5, description="of each acceleration's offset that calibration leaves")
    bias_radps: float = Field(0.001, ge=0, le=1, description="of each rate's offset, likewise")
    point_m: Place = Field((0.0, 0.0, 0.2), description="place on the main body, in its axes")
    turn_deg: Turns = Field((0.0, 0.0, 0.0), description="roll, pitch, yaw of its axes in those of the main body")
    errors: _MountingErrors = Field(
        default_factory=_MountingErrors, description="of the simulated instrument, drawn by the seed"
    )
    calibration: ImuSheet | None = Field(
        None, description="of `hil calibrate imu`; its numbers win", json_schema_extra=_FILE
    )

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the values of a reading."""
        return INERTIAL


class JointsConfig(_InstrumentConfig):
    """Encoders of the rover's joints: bogies, rocker, steering, walking."""

    frozen_readings: int = Field(
        0,
        ge=0,
        le=10000,
        description="encoders with this many equal readings in a row are frozen; 0: not checked, as those whose steps "
        "are coarser than their noise repeat themselves wherever a joint rests",
    )
    rate_hz: float = Field(50.0, ge=1, le=500, description="readings a second, of all encoders")
    noise_deg: float = Field(0.05, ge=1e-4, le=10, description="standard deviation of each angle")
    bias_deg: float = Field(0.0, ge=0, le=20, description="of each encoder's zero that calibration leaves")
    encoders: Annotated[tuple[JointEncoder, ...], Field(strict=False)] = Field(
        (), max_length=64, description="one a joint; none: one for each joint that turns, without offset"
    )
    calibration: JointsSheet | None = Field(
        None, description="of `hil calibrate joints`; its numbers win", json_schema_extra=_FILE
    )


class EstimationConfig(Section):
    """How far the twin may be from the rover: standard deviations. Only a rig with instruments of motion uses them."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    mass: float = Field(0.05, ge=0, le=0.5, description="of each mass, relative")
    soil: float = Field(0.10, ge=0, le=0.5, description="of stiffness and slip modulus of the soil, relative")
    soil_along: float = Field(
        0.02, ge=0, le=0.5, description="change of the slip along the way, relative, a root of a metre"
    )
    drives: float = Field(0.20, ge=0, le=1, description="of the drives' gains, relative: how soon wheels follow")
    speed: float = Field(0.02, ge=1e-4, le=0.5, description="of the speed, relative, whatever the slip: wheel radius")
    start_m: float = Field(0.02, ge=1e-4, le=1, description="of the rover's place at the start")
    heading_deg: float = Field(2.0, ge=0.01, le=45, description="of its heading at the start")
    curvature_radpm: float = Field(0.05, ge=0, le=1, description="of the curvature of its way: steering, drives")
    crab_deg: float = Field(0.5, ge=0, le=20, description="of the angle between its heading and its way")
    unevenness_m: float = Field(0.002, ge=0, le=0.1, description="of the ground's height under a wheel")
    obstacle_m: float = Field(0.003, ge=0, le=0.1, description="of the obstacle's place")


class MeasuredLimits(Section):
    """Limits of one measured quantity; null: not limited on that side. Near a limit a run is marked, beyond it Safe."""

    safe_below: float | None = Field(None, ge=0, le=1e5, description="below it: Safe")
    warn_below: float | None = Field(None, ge=0, le=1e5, description="below it the run is marked")
    warn_above: float | None = Field(None, ge=0, le=1e5, description="above it the run is marked")
    safe_above: float | None = Field(None, ge=0, le=1e5, description="above it: Safe")

    @model_validator(mode="after")
    def _in_order(self) -> MeasuredLimits:
        values = self.model_dump()
        given = [value for value in values.values() if value is not None]
        if not given or given != sorted(given):
            raise ValueError(f"one or more of {', '.join(values)}, rising in this order")
        return self


class PowerConfig(Section):
    """Motor currents and supply of the simulated rig. All numbers are assumptions."""

    torque_per_A_Nm: float = Field(3.0, ge=0.01, le=1000, description="torque at the axle for each ampere [N m/A]")
    supply_V: float = Field(24.0, ge=1, le=1000, description="voltage of the supply without a load")
    supply_ohm: float = Field(0.05, ge=0, le=10, description="resistance of supply and wires: it droops [Ohm]")


class MotorConfig(Section):
    """The motor of each drive with its gearbox, at the axle; for runs by duty."""

    stall_torque_Nm: float = Field(120.0, ge=0.1, le=1e4, description="at full duty and rest")
    no_load_radps: float = Field(1.0, ge=0.01, le=100, description="speed at full duty without friction and load")


class GearboxConfig(Section):
    """The motor of each drive at its own shaft, and the gear behind it; they give what acts at the axle."""

    ratio: float = Field(129.0, ge=1, le=10000, description="turns of the motor for one of the axle")
    efficiency: float = Field(0.8, ge=0.05, le=1, description="share of the motor's torque that reaches the axle")
    torque_Nm: float = Field(3.0, ge=1e-3, le=1000, description="largest torque of the motor, by its current")
    stall_torque_Nm: float = Field(12.0, ge=1e-3, le=1000, description="of the motor at rest and full voltage")
    no_load_radps: float = Field(314.0, ge=1, le=1e4, description="speed of the motor without a load")
    rotor_kgm2: float = Field(1e-3, ge=0, le=10, description="inertia of the rotor [kg m^2]")

    @property
    def at_axle(self) -> Gearbox:
        """The same numbers for `models`."""
        return Gearbox(*self.model_dump().values())
