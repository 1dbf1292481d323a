"""The devices of a rig: which hardware hangs on which port, and how it is set up.

What a device measures or moves (sensors, gains, limits) is in the sections beside this one, and the same for a
simulated rig; here is only what a driver has to know to reach it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from hil.config.base import PORT, Section
from hil.config.calibration import CalibratedSensor, Calibration
from hil.rows import SensorName

VALVES = ("left_extend", "left_retract", "right_extend", "right_retract")
CONTROLLERS = 8  # dual, on a RoboClaw bus: addresses 0x80 to 0x87

T = TypeVar("T")
Listed = Annotated[tuple[T, ...], Field(strict=False)]
Port = Annotated[
    str,
    Field(
        pattern=r"^(/[^\s\p{C}]+)?$",
        max_length=200,
        json_schema_extra={"note": 'path of a serial port, like /dev/serial/by-id/..., or "" with rig: simulated_wire'},
    ),
]
Baud = Annotated[int, Field(ge=1200, le=1_000_000)]
# "port0" in cDAQ1Mod4/port0/line1 is NI's, not one of ours.
NiChannel = Annotated[
    str,
    Field(
        pattern=r"^/?[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)+$",
        max_length=100,
        json_schema_extra={"note": "a channel as NI MAX shows it, like cDAQ1Mod1/ai0 or cDAQ1Mod4/port0/line0"},
    ),
]
NI_SERVER = rf"^(|[A-Za-z0-9.-]+:{PORT})$"
NiServer = Annotated[
    str,
    Field(
        pattern=NI_SERVER,
        max_length=200,
        json_schema_extra={"note": 'HOST:PORT (at most 65535) of an NI gRPC device server, or "" for this machine'},
    ),
]
Wheel = Annotated[str, Field(max_length=100, json_schema_extra={"note": "the name of a wheel of the rover"})]
NoDeadMan = Annotated[Literal["", "accepted"], Field(json_schema_extra={"note": 'accepted, or ""'})]


class RoboclawController(Section):
    """One dual motor controller on a RoboClaw bus."""

    bus: int = Field(0, ge=0, le=CONTROLLERS - 1, description="which of the ports, counted from 0")
    address: int = Field(
        ge=0x80,
        le=0x87,
        description="as set in the controller",
        json_schema_extra={"note": "a whole number 0x80 to 0x87, or 128 to 135"},
    )
    m1: Wheel = Field(description="wheel of its motor 1")
    m2: Wheel = Field(description="wheel of its motor 2")


class RoboclawDrives(Section):
    """Wheel drives on RoboClaw controllers, packet serial."""

    driver: Literal["roboclaw"] = Field(description="which driver")
    ports: Listed[Port] = Field((), max_length=CONTROLLERS, description="of the buses, one or several controllers each")
    baud: Baud = Field(115200, description="of every bus")
    rate_hz: float = Field(50.0, ge=1, le=500, description="set-points and encoder speeds a second")
    timeout_ms: int = Field(
        100, ge=100, le=1000, multiple_of=100, description="without a packet for so long a controller stops by itself"
    )
    counts_per_rev: float = Field(
        ge=1, le=1e7, description="encoder counts in a turn of the axle, with gearbox [counts]"
    )
    acceleration_radps2: float = Field(
        0.0, ge=0, le=1000, description="ramp of the controller itself; 0: it follows set-points at once"
    )
    controllers: Listed[RoboclawController] = Field((), max_length=CONTROLLERS, description="all of them")
    reversed: Listed[Wheel] = Field((), max_length=16, description="wheels whose motor turns the other way round")


class RoboteqController(Section):
    """One dual motor controller with a port of its own."""

    port: Port = Field(description="its serial port")
    channel_1: Wheel = Field(description="wheel of its channel 1")
    channel_2: Wheel = Field(description="wheel of its channel 2")


class RoboteqDrives(Section):
    """Wheel drives on Roboteq controllers, ASCII commands, closed-loop speed mode."""

    driver: Literal["roboteq"] = Field(description="which driver")
    baud: Baud = Field(115200, description="of every port")
    rate_hz: float = Field(50.0, ge=1, le=500, description="set-points and encoder speeds a second")
    watchdog_ms: int = Field(
        100, ge=10, le=1000, description="without a command for so long a controller stops by itself"
    )
    max_rpm: float = Field(ge=1, le=1e5, description="motor speed at command 1000, as set in the controller")
    gear_ratio: float = Field(ge=0.01, le=1e4, description="turns of the motor in a turn of the axle")
    controllers: Listed[RoboteqController] = Field((), max_length=CONTROLLERS, description="all of them")
    reversed: Listed[Wheel] = Field((), max_length=16, description="wheels whose motor turns the other way round")


class EachValve(Section):
    """Something that there is one of for each valve."""

    @property
    def in_order(self) -> tuple[Any, Any, Any, Any]:
        """In the order of VALVES."""
        a, b, c, d = (getattr(self, valve) for valve in VALVES)
        return a, b, c, d


class Coils(EachValve):
    """Coil of each valve, counted from 0."""

    left_extend: int = Field(0, ge=0, le=65535, description="left cylinder, to extend")
    left_retract: int = Field(1, ge=0, le=65535, description="left cylinder, to retract")
    right_extend: int = Field(2, ge=0, le=65535, description="right cylinder, to extend")
    right_retract: int = Field(3, ge=0, le=65535, description="right cylinder, to retract")


class PressureRegisters(EachValve):
    """Input register of the pressure in each chamber, counted from 0."""

    left_extend: int = Field(ge=0, le=65535, description="left cylinder, to extend")
    left_retract: int = Field(ge=0, le=65535, description="left cylinder, to retract")
    right_extend: int = Field(ge=0, le=65535, description="right cylinder, to extend")
    right_retract: int = Field(ge=0, le=65535, description="right cylinder, to retract")
    kPa_per_count: float = Field(ge=1e-6, le=1e3, description="of gauge pressure")


class RegulatorRegister(Section):
    """Holding register that sets a proportional regulator."""

    holding_register: int = Field(ge=0, le=65535, description="counted from 0")
    kPa_per_count: float = Field(ge=1e-6, le=1e3, description="of gauge pressure")


class ModbusValves(Section):
    """Valves on the coils of a relay board or valve terminal, Modbus RTU."""

    driver: Literal["modbus"] = Field(description="which driver")
    port: Port = Field("", description="serial port")
    baud: Baud = Field(9600, description="of the port")
    address: int = Field(1, ge=1, le=247, description="of the board")
    rate_hz: float = Field(10.0, ge=1, le=200, description="coils written and pressures read a second")
    coils: Coils = Field(default_factory=Coils, description="coil of each valve")
    flash_on: bool = Field(
        False, description="the board switches a valve off by itself unless the command is repeated: a dead-man"
    )
    flash_s: float = Field(0.5, ge=0.1, le=10, description="the board switches a valve off after this time")
    pressure_registers: PressureRegisters | None = Field(None, description="of the chambers; null: not measured")
    regulator: RegulatorRegister | None = Field(None, description="proportional regulator; null: set by hand")
    moves_within_s: float | None = Field(
        None, ge=0.01, le=10, description="a valve that has not moved twice as late is stuck; null: not watched"
    )
    no_dead_man: NoDeadMan = Field("", description="accepted: valves that stay powered when this program dies")


class ValveLines(EachValve):
    """Digital output line of each valve."""

    left_extend: NiChannel = Field(description="left cylinder, to extend")
    left_retract: NiChannel = Field(description="left cylinder, to retract")
    right_extend: NiChannel = Field(description="right cylinder, to extend")
    right_retract: NiChannel = Field(description="right cylinder, to retract")


class PressureInputs(EachValve):
    """Analog input of the pressure in each chamber."""

    left_extend: NiChannel = Field(description="left cylinder, to extend")
    left_retract: NiChannel = Field(description="left cylinder, to retract")
    right_extend: NiChannel = Field(description="right cylinder, to extend")
    right_retract: NiChannel = Field(description="right cylinder, to retract")
    kPa_per_V: float = Field(ge=1e-3, le=1e5, description="of gauge pressure")


class RegulatorOutput(Section):
    """Analog output that sets a proportional regulator."""

    channel: NiChannel = Field(description="physical channel")
    kPa_per_V: float = Field(ge=1e-3, le=1e5, description="of gauge pressure")


class NiValves(Section):
    """Valves on digital output lines of an NI device."""

    driver: Literal["ni"] = Field(description="which driver")
    server: NiServer = Field("", description="where the device is")
    lines: ValveLines = Field(description="line of each valve")
    rate_hz: float = Field(100.0, ge=1, le=1000, description="lines written and pressures read a second")
    watchdog_ms: int | None = Field(
        None, ge=10, le=30000, description="NI's watchdog task lets the valves go after so long; null: none"
    )
    pressure_channels: PressureInputs | None = Field(None, description="of the chambers; null: not measured")
    regulator: RegulatorOutput | None = Field(None, description="proportional regulator; null: set by hand")
    moves_within_s: float | None = Field(
        None, ge=0.01, le=10, description="a valve that has not moved twice as late is stuck; null: not watched"
    )
    no_dead_man: NoDeadMan = Field("", description="accepted: valves that stay powered when this program dies")


class SensorInput(Section):
    """Where a force sensor is connected."""

    sensor: SensorName = Field(description="name in daq.channels")
    channel: NiChannel = Field(description="physical channel")
    kind: Literal["iepe_force", "voltage", "bridge", "charge"] = Field("iepe_force", description="of its conditioning")


class NiDaq(Section):
    """Force sensors on an NI device."""

    driver: Literal["ni"] = Field(description="which driver")
    server: NiServer = Field("", description="where the device is")
    inputs: Listed[SensorInput] = Field((), max_length=3, description="one a sensor")
    excitation_mA: float = Field(4.0, ge=0.1, le=20, description="of IEPE sensors")
    excitation_V: float = Field(5.0, ge=0.1, le=20, description="of bridges")
    e_stop: NiChannel | None = Field(
        None, description="digital input that is low while the emergency stop is pressed; null: not read back"
    )
    calibration: Calibration | None = Field(
        None,
        description="of the sensors",
        json_schema_extra={"note": "path of a calibration file, seen from the config's folder, or what would be in it"},
    )

    def kind(self, sensor: str) -> str:
        """Of a sensor's conditioning; IEPE where it has no input."""
        return next((item.kind for item in self.inputs if item.sensor == sensor), "iepe_force")

    def sheet(self, sensor: str) -> CalibratedSensor | None:
        """A sensor's calibration sheet, if there is one."""
        return getattr(self.calibration, sensor, None)


class Devices(Section):
    """All devices; each is needed unless the rig is simulated in this program."""

    drives: Annotated[RoboclawDrives | RoboteqDrives, Field(discriminator="driver")] | None = Field(
        None, description="the wheel drives"
    )
    valves: Annotated[ModbusValves | NiValves, Field(discriminator="driver")] | None = Field(
        None, description="the valves of the side cylinders; null on a rover without cylinders"
    )
    daq: NiDaq | None = Field(None, description="the force sensors; null with daq: null")
