"""The devices' part of a rig config, by role: settings common to all drivers of that role.

A maker's section is a subclass with its ports and numbers, in the maker's folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field

from drivers.messages import SensorName
from drivers.section import CalibratedSensor, Calibration, Listed, Problem, Section, sensitivity_mVpN

# What a device is for, its key under `devices`.
Role = str
# Roles of instruments that measure the rover's motion.
INSTRUMENTS: tuple[Role, ...] = ("motion", "imu", "joints")
T = TypeVar("T")

Port = Annotated[
    str,
    Field(
        pattern=r"^(/[^\s\p{C}]+)?$",
        max_length=200,
        json_schema_extra={"note": 'path of a serial port, like /dev/serial/by-id/..., or "" with rig: simulated_wire'},
    ),
]
Baud = Annotated[int, Field(ge=1200, le=1_000_000)]


def _as_text(value: Any) -> Any:
    """YAML reads a number without quotes as one."""
    return str(value) if type(value) is int else value


Identity = Annotated[
    str,
    BeforeValidator(_as_text),
    Field(
        max_length=60,
        pattern=r"^([0-9]*[1-9][0-9]*(-[0-9]+)*)?$",
        description='number that the device says of itself: another one is refused; "": none is, hil check shows it',
        json_schema_extra={"note": 'as hil check shows it, or ""'},
    ),
]
Wheel = Annotated[str, Field(max_length=100, json_schema_extra={"note": "the name of a wheel of the rover"})]
NoDeadMan = Annotated[Literal["", "accepted"], Field(json_schema_extra={"note": 'accepted, or ""'})]
MovesWithin = Annotated[float, Field(ge=0.01, le=10)]


class DeviceSection(Section):
    """A device and its driver."""

    role: ClassVar[Role]

    driver: str = Field(description="which driver")

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of what the device measures or moves, where no other section of the config says so."""
        return ()


class DrivesSection(DeviceSection):
    """Wheel drives. A driver's section gives `rate_hz` its bounds."""

    role: ClassVar[Role] = "drives"

    rate_hz: float = Field(50.0, ge=1, le=1000, description="set-points and encoder speeds a second")


class ValvesSection(DeviceSection):
    """The cylinders' valves. A driver's section gives `rate_hz` its bounds."""

    role: ClassVar[Role] = "valves"

    rate_hz: float = Field(10.0, ge=1, le=1000, description="commands written and pressures read a second")
    moves_within_s: MovesWithin | None = Field(
        None, description="a valve that has not moved twice as late is stuck; null: not watched"
    )
    follows_within_kPa: float = Field(
        20.0,
        ge=1,
        le=200,
        description="with regulators that are moved: a chamber further than this from its commanded pressure, twice as "
        "late, has a valve that is stuck",
    )
    no_dead_man: NoDeadMan = Field("", description="accepted: valves that stay powered when this program dies")

    @property
    def measures_pressures(self) -> bool:
        """Whether the chambers' pressures are read."""
        return False

    @property
    def can_regulate(self) -> bool:
        """Whether the driver can move pressure regulators during a run."""
        return False

    @property
    def can_trigger(self) -> bool:
        """Whether the driver can switch a camera's trigger line, and has been told where it is."""
        return False


class SensorInput(Section):
    """Where a force sensor is connected."""

    sensor: SensorName = Field(description="name in daq.channels")
    channel: str = Field(min_length=1, max_length=100, description="physical channel")
    kind: Literal["iepe_force", "voltage", "bridge", "charge"] = Field("iepe_force", description="of its conditioning")


# Kinds that measure a force that stands; the others discharge through an AC coupling.
DC_KINDS = ("voltage", "bridge")


class DaqSection(DeviceSection):
    """The data acquisition of the force sensors."""

    role: ClassVar[Role] = "daq"

    inputs: Listed[SensorInput] = Field((), max_length=3, description="one a sensor")
    excitation_V: float = Field(5.0, ge=0.1, le=20, description="of bridges")
    e_stop: str | None = Field(
        None,
        max_length=100,
        description="digital input that is low while the emergency stop is pressed; null: not read back",
    )
    calibration: Calibration | None = Field(
        None,
        description="of the sensors",
        json_schema_extra={"note": "path of a calibration file, seen from the config's folder, or what would be in it"},
    )

    def kind(self, sensor: str) -> str:
        """Returns the kind of a sensor's conditioning; IEPE where it has no input."""
        return next((item.kind for item in self.inputs if item.sensor == sensor), "iepe_force")

    def droops(self, sensor: str) -> bool:
        """Returns whether a sensor's input is coupled AC, so that a reading droops while its force stands."""
        return self.kind(sensor) not in DC_KINDS

    def sheet(self, sensor: str) -> CalibratedSensor | None:
        """A sensor's calibration sheet, if there is one."""
        return getattr(self.calibration, sensor, None)

    def sensitivity_mVpN(self, sensor: str) -> float | None:
        """Sensitivity by the calibration sheet, if the sheet states it [mV/N]."""
        sheet = self.sheet(sensor)
        return None if sheet is None else sensitivity_mVpN(sheet, self.kind(sensor), self.excitation_V)


# What a value of a load channel is: volts at the sensor, or the load itself.
LoadReading = Literal["V", "N"]


class LoadsSection(DeviceSection):
    """The data acquisition of leg sensors and load cell."""

    role: ClassVar[Role] = "loads"

    @property
    def reads(self) -> LoadReading:
        """Unit of what the driver hands out: V, volts at the sensor; N, the load itself, a moment in N m."""
        return "V"


class MotionSection(DeviceSection):
    """An instrument that measures the place of the rover from outside."""

    role: ClassVar[Role] = "motion"


class ImuSection(DeviceSection):
    """An inertial measurement unit on the rover."""

    role: ClassVar[Role] = "imu"


class JointsSection(DeviceSection):
    """Encoders of the rover's joints."""

    role: ClassVar[Role] = "joints"


class ServosSection(DeviceSection):
    """Servos of driven joints. A driver's section gives `rate_hz` its bounds."""

    role: ClassVar[Role] = "servos"

    rate_hz: float = Field(50.0, ge=1, le=1000, description="angles commanded and read a second")


class _Named(Section, Generic[T]):
    """Values by name; which names there are depends on the rig. A subclass types the values, `__pydantic_extra__`.

    Attributes:
        what: that a name stands for.
        needed: every name needs a value.
    """

    what: ClassVar[Role]
    needed: ClassVar[bool] = True
    # pydantic 2.14 checks the extra values of an instance a second time, and fails
    model_config = ConfigDict(extra="allow", revalidate_instances="never")

    @property
    def given(self) -> Mapping[str, T]:
        """The values of the config, by name."""
        return self.__pydantic_extra__ or {}

    def in_order(self, names: Sequence[str]) -> tuple[T, ...]:
        """The values of these names, once `problems` has found none."""
        return tuple(self.given[name] for name in names)

    def problems(self, key: str, names: Sequence[str], setting: str) -> Iterator[Problem]:
        """Names that the rig does not have, and names without a value.

        Args:
            key: path of this section.
            names: of the rig.
            setting: the key that the names follow from.
        """
        known = f"the rig's {self.what}s: {', '.join(names) or 'none'} ({setting})"
        for name, value in self.given.items():
            if name not in names:
                found = "a section" if isinstance(value, Section) else repr(value)
                yield Problem(f"{key}.{name}", f"an unknown key with the value {found}", known, (setting,))
        for name in names if self.needed else ():
            if name not in self.given:
                yield Problem(f"{key}.{name}", "nothing", f"a value; each of {known}, needs one", (setting,))


class ValveValues(_Named[T]):
    """One value for each valve."""

    what = "valve"
    model_config = ConfigDict(json_schema_extra={"each": "valve"})


class TriggerValues(_Named[T]):
    """One value for each trigger line of `camera.triggers`."""

    what = "trigger line"
    model_config = ConfigDict(json_schema_extra={"each": "trigger line"})


class MovedRegulators(_Named[T]):
    """Pressure regulators that are moved during a run: where each is set. A driver's section adds their scale."""

    what = "regulator"
    model_config = ConfigDict(json_schema_extra={"each": "regulator"})

    no_dead_man: NoDeadMan = Field("", description="accepted: they keep their pressure when this program dies")

    @property
    def highest_kPa(self) -> float:
        """Gauge pressure at the end of their scale [kPa]."""
        raise NotImplementedError
