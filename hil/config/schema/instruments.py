"""The sections of the instruments of motion, of the observer, and of motors and their supply."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from drivers.section import CalibrationDate
from hil.config.schema.base import Listed, Section, bounded, key, section
from models.actuators.gearbox import Gearbox

_THREE = Field(strict=False, min_length=3, max_length=3)
Share = Annotated[float, Field(ge=-1, le=1)]
Direction = Annotated[tuple[Share, ...], _THREE]
Turn = Annotated[float, Field(ge=-180, le=180)]
Turns = Annotated[tuple[Turn, ...], _THREE]
Coordinate = Annotated[float, Field(ge=-100, le=100)]
Place = Annotated[tuple[Coordinate, ...], _THREE]
Range = Annotated[tuple[Coordinate, ...], Field(strict=False, min_length=2, max_length=2)]
Joint = Annotated[str, Field(max_length=100, json_schema_extra={"note": "the name of a joint of the rover"})]
_FILE = "path of a calibration file, seen from the config's folder, or what would be in it"
# Channels by what is measured from outside, and of an inertial measurement unit.
POSITION = ("x_m", "y_m", "z_m")
MEASURES = {"distance": ("distance_m",), "position": POSITION, "pose": (*POSITION, "qx", "qy", "qz", "qw")}
INERTIAL = ("ax_mps2", "ay_mps2", "az_mps2", "wx_radps", "wy_radps", "wz_radps")
# Arming waits for the time of so many readings of each instrument: their scatter shows whether the rover stands. Three
# are needed; of an instrument that loses 3 in 10, fewer come once in 600 times.
READINGS_TO_ARM = 10


class InstrumentErrors(Section):
    """How a simulated instrument differs from what the controller knows of it."""

    drop_outs: float = bounded(0.0, 0, 1, "share of the readings that are lost")
    fault: Literal["none", "frozen", "jump", "biased", "swapped"] = key(
        "none",
        "frozen: repeats one reading; jump: an offset from one reading to the next, as of a slipped "
        "encoder; biased: an offset that grows; swapped: two channels are interchanged",
    )
    fault_at_s: float = bounded(1.0, 0, 3600, "when the fault begins")
    fault_size: float = bounded(
        0.1, -100, 100, "offset of a jump, growth of a bias a second: of the first channel, in SI"
    )
    late_ms: float = bounded(0.0, 0, 200, "readings come this much later than delay_ms says")


class _MountingErrors(InstrumentErrors):
    """The same of an instrument that has axes."""

    mounting_deg: Turns = key(
        (0.0, 0.0, 0.0), "roll, pitch, yaw by which its axes are turned further than turn_deg says"
    )


class JointEncoder(Section):
    """The encoder of one joint, or of a wheel at its axle."""

    joint: Joint = Field(description="name of the joint or the wheel")
    zero_deg: float = bounded(
        0.0, -360, 360, "reading at angle 0 of the joint; of a wheel, where it stands as wheel.grouser_offset_deg says"
    )
    reversed: bool = key(False, "its reading falls where the joint's angle grows, or the wheel rolls forward")
    error_deg: float = bounded(0.0, -360, 360, "how much further a simulated encoder reads than zero_deg says")


class MotionSheet(Section):
    """The calibration of an instrument outside the rover; its numbers win over those of `motion`."""

    serial: str = key("unknown", "serial number on the instrument", max_length=64)
    date: CalibrationDate | None = key(None, "of the calibration; null: not stated")
    origin_m: Place | None = key(None, "as motion.origin_m")
    turn_deg: Turns | None = key(None, "as motion.turn_deg")
    body_turn_deg: Turns | None = key(None, "as motion.body_turn_deg")
    delay_ms: float | None = bounded(None, 0, 500, "as motion.delay_ms")
    noise_m: float | None = bounded(None, 1e-6, 1, "as motion.noise_m")
    noise_deg: float | None = bounded(None, 1e-3, 20, "as motion.noise_deg")


class ImuSheet(Section):
    """The calibration of an inertial measurement unit; its numbers win over those of `imu`."""

    serial: str = key("unknown", "serial number on the unit", max_length=64)
    date: CalibrationDate | None = key(None, "of the calibration; null: not stated")
    turn_deg: Turns | None = key(None, "as imu.turn_deg")
    noise_mps2: float | None = bounded(None, 1e-5, 10, "as imu.noise_mps2")
    noise_radps: float | None = bounded(None, 1e-6, 1, "as imu.noise_radps")


class JointsSheet(Section):
    """The calibration of the joints' encoders; its numbers win over those of `joints`."""

    serial: str = key("unknown", "of the set of encoders", max_length=64)
    date: CalibrationDate | None = key(None, "of the calibration; null: not stated")
    noise_deg: float | None = bounded(None, 1e-4, 10, "as joints.noise_deg")
    encoders: Listed[JointEncoder] | None = key(None, "as joints.encoders", max_length=64)


def _with_sheet(values: Any) -> Any:
    """The values of a section; those of its calibration, if it has one, replace them."""
    sheet = values.get("calibration") if isinstance(values, dict) else None
    if not isinstance(sheet, dict):
        return values
    return values | {key: value for key, value in sheet.items() if key not in ("serial", "date") and value is not None}


class _InstrumentConfig(Section):
    """What the instruments have in common."""

    delay_ms: float = bounded(5.0, 0, 500, "from a measurement until its reading can be there")
    stale_ms: float = bounded(200.0, 10, 5000, "a newest reading older than this is stale")
    frozen_readings: int = bounded(
        20, 0, 10000, "an instrument with this many equal readings in a row is frozen; 0: not checked"
    )
    errors: InstrumentErrors = section(InstrumentErrors, "of the simulated instrument, drawn by the seed")

    @model_validator(mode="before")
    @classmethod
    def _calibrated(cls, values: Any) -> Any:
        return _with_sheet(values)


class MotionConfig(_InstrumentConfig):
    """A body of the rover measured from outside: motion capture, total station, distance sensor, string encoder."""

    measures: Literal["pose", "position", "distance"] = key(
        "pose", "what a reading holds: position and attitude, position, or distance along one axis"
    )
    rate_hz: float = bounded(100.0, 1, 500, "readings a second")
    noise_m: float = bounded(0.0005, 1e-6, 1, "standard deviation of each coordinate")
    noise_deg: float = bounded(0.1, 1e-3, 20, "of the attitude about each axis; of a pose")
    bias_m: float = bounded(0.0, 0, 1, "standard deviation of each coordinate's offset that calibration leaves")
    point_m: Place = key((0.0, 0.0, 0.3), "measured point on the main body, in its axes: x forward, y to port, z up")
    body_turn_deg: Turns = key(
        (0.0, 0.0, 0.0), "roll, pitch, yaw of the measured body's axes in the main body's; of a pose"
    )
    origin_m: Place = key((0.0, 0.0, 0.0), "origin of the instrument's axes in those of the rig")
    turn_deg: Turns = key((0.0, 0.0, 0.0), "roll, pitch, yaw of the instrument's axes in the rig's")
    direction: Direction = key((1.0, 0.0, 0.0), "direction in which a distance grows, in the rig's axes; from origin_m")
    room_m: Annotated[tuple[Range, ...], _THREE] = key(
        ((-20.0, 20.0), (-20.0, 20.0), (-5.0, 5.0)),
        "where the measured point can be in the rig's axes, from and to; a reading outside is wrong",
    )
    errors: _MountingErrors = section(_MountingErrors, "of the simulated instrument, drawn by the seed")
    calibration: MotionSheet | None = key(None, "of `hil calibrate motion`; its numbers win", note=_FILE)

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the values of a reading."""
        return MEASURES[self.measures]


class ImuConfig(_InstrumentConfig):
    """An inertial measurement unit on the main body."""

    rate_hz: float = bounded(200.0, 10, 1000, "readings a second")
    noise_mps2: float = bounded(0.05, 1e-5, 10, "standard deviation of each acceleration")
    noise_radps: float = bounded(0.003, 1e-6, 1, "of each rate of turn")
    bias_mps2: float = bounded(0.02, 0, 5, "of each acceleration's offset that calibration leaves")
    bias_radps: float = bounded(0.001, 0, 1, "of each rate's offset, likewise")
    point_m: Place = key((0.0, 0.0, 0.2), "place on the main body, in its axes")
    turn_deg: Turns = key((0.0, 0.0, 0.0), "roll, pitch, yaw of its axes in those of the main body")
    errors: _MountingErrors = section(_MountingErrors, "of the simulated instrument, drawn by the seed")
    calibration: ImuSheet | None = key(None, "of `hil calibrate imu`; its numbers win", note=_FILE)

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the values of a reading."""
        return INERTIAL


class JointsConfig(_InstrumentConfig):
    """Encoders of the rover's joints: bogies, rocker, steering, walking; and of wheels at their axles."""

    frozen_readings: int = bounded(
        0,
        0,
        10000,
        "encoders with this many equal readings in a row are frozen; 0: not checked, as those whose steps "
        "are coarser than their noise repeat themselves wherever a joint rests",
    )
    rate_hz: float = bounded(50.0, 1, 500, "readings a second, of all encoders")
    noise_deg: float = bounded(0.05, 1e-4, 10, "standard deviation of each angle")
    bias_deg: float = bounded(0.0, 0, 20, "of each encoder's zero that calibration leaves")
    encoders: Listed[JointEncoder] = key(
        (), "one a joint or wheel; none: one for each joint that turns, without offset", max_length=64
    )
    calibration: JointsSheet | None = key(None, "of `hil calibrate joints`; its numbers win", note=_FILE)


class EstimationConfig(Section):
    """How far the twin may be from the rover: standard deviations. Only a rig with instruments of motion uses them."""

    between_runs: ClassVar[tuple[str, ...]] = ("*",)

    mass: float = bounded(0.05, 0, 0.5, "of each mass, relative")
    soil: float = bounded(0.10, 0, 0.5, "of stiffness and slip modulus of the soil, relative")
    soil_along: float = bounded(0.02, 0, 0.5, "change of the slip along the path, relative, a root of a metre")
    drives: float = bounded(0.20, 0, 1, "of the drives' gains, relative: how soon wheels follow")
    speed: float = bounded(0.02, 1e-4, 0.5, "of the speed, relative, whatever the slip: wheel radius")
    start_m: float = bounded(0.02, 1e-4, 1, "of the rover's place at the start")
    heading_deg: float = bounded(2.0, 0.01, 45, "of its heading at the start")
    curvature_radpm: float = bounded(0.05, 0, 1, "of the curvature of its path: steering, drives")
    crab_deg: float = bounded(0.5, 0, 20, "of the angle between its heading and its path")
    unevenness_m: float = bounded(0.002, 0, 0.1, "of the ground's height under a wheel")
    obstacle_m: float = bounded(0.003, 0, 0.1, "of the obstacle's place")


class MeasuredLimits(Section):
    """Limits of one measured quantity; null: not limited on that side. Near a limit a run is marked, beyond it Safe."""

    safe_below: float | None = bounded(None, 0, 1e5, "below it: Safe")
    warn_below: float | None = bounded(None, 0, 1e5, "below it the run is marked")
    warn_above: float | None = bounded(None, 0, 1e5, "above it the run is marked")
    safe_above: float | None = bounded(None, 0, 1e5, "above it: Safe")

    @model_validator(mode="after")
    def _in_order(self) -> MeasuredLimits:
        values = self.model_dump()
        given = [value for value in values.values() if value is not None]
        if not given or given != sorted(given):
            raise ValueError(f"one or more of {', '.join(values)}, rising in this order")
        return self


class PowerConfig(Section):
    """Motor currents and supply of the simulated rig. All numbers are assumptions."""

    torque_per_A_Nm: float = bounded(3.0, 0.01, 1000, "torque at the axle for each ampere [N m/A]")
    supply_V: float = bounded(24.0, 1, 1000, "voltage of the supply without a load")
    supply_ohm: float = bounded(0.05, 0, 10, "resistance of supply and wires: it droops [Ohm]")


class MotorConfig(Section):
    """The motor of each drive with its gearbox, at the axle; for runs by duty."""

    stall_torque_Nm: float = bounded(120.0, 0.1, 1e4, "at full duty and rest")
    no_load_radps: float = bounded(1.0, 0.01, 100, "speed at full duty without friction and load")


class GearboxConfig(Section):
    """The motor of each drive at its own shaft, and the gear behind it; they give what acts at the axle."""

    ratio: float = bounded(129.0, 1, 10000, "turns of the motor for one of the axle")
    efficiency: float = bounded(0.8, 0.05, 1, "share of the motor's torque that reaches the axle")
    torque_Nm: float = bounded(3.0, 1e-3, 1000, "largest torque of the motor, by its current")
    stall_torque_Nm: float = bounded(12.0, 1e-3, 1000, "of the motor at rest and full voltage")
    no_load_radps: float = bounded(314.0, 1, 1e4, "speed of the motor without a load")
    rotor_kgm2: float = bounded(1e-3, 0, 10, "inertia of the rotor [kg m^2]")

    @property
    def at_axle(self) -> Gearbox:
        """The same numbers for `models`."""
        return Gearbox(*self.model_dump().values())
