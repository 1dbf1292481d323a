"""The interface of a driver to the rest of the program: its name, its section of the config, and what follows from it.

A driver's folder holds one subclass per role, and `drivers.registry` lists an instance of it. Neither this module nor
a driver type imports the driver itself before it is created: config and checks do not need it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from typing_extensions import override

from drivers.channel_calibration import ChannelCalibration
from drivers.device_sections import DeviceSection, Role
from drivers.host import COMPUTER, Alive, Host, line_time_s
from drivers.interfaces import IoDevice, PolledDevice
from drivers.messages import SensorName
from drivers.reported import StatusTable
from drivers.section import Problem
from drivers.valve_layout import ValveLayout

if TYPE_CHECKING:  # reading a driver type from a config needs no simulated device
    from drivers.sim.protocol.line import SimulatedPort, SimulatedSerialDevice
    from drivers.sim.protocol.plant_ports import PlantPorts
    from drivers.sim.server import ServerSetup, SimulatedServer

S = TypeVar("S", bound=DeviceSection)


class SensorSetup(NamedTuple):
    """A force sensor, and the sensitivity of its channel at the set excitation [mV/N]."""

    name: SensorName
    sensitivity_mVpN: float


class LoadChannelSetup(NamedTuple):
    """A load channel.

    Attributes:
        name: a wheel and an axis, like front_left_fz; or pull, the load cell; or frame, the strain gauges.
        unit: of the values that the driver hands out: V, or, where its section `reads` loads, N or N m.
        full_scale: in this unit, either sign: `loads.range_V`, or the load of full scale.
    """

    name: str
    unit: Literal["V", "N", "N m"]
    full_scale: float


class LoadSetup(NamedTuple):
    """The load channels of a rig.

    Attributes:
        cells: the channels, in the order of a block's columns.
        rate_hz: samples a second and channel.
        block_samples: samples of a channel in a block.
    """

    cells: tuple[LoadChannelSetup, ...]
    rate_hz: int
    block_samples: int

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels."""
        return tuple(cell.name for cell in self.cells)


class InstrumentSetup(NamedTuple):
    """An instrument of motion.

    Attributes:
        channels: names, in the order of the values of a reading. Of `motion`: distance_m; or x_m, y_m, z_m; or these
            and qx, qy, qz, qw. Of `imu`: ax_mps2, ay_mps2, az_mps2 (specific force), wx_radps, wy_radps, wz_radps. Of
            `joints`: the names of the joints [rad].
        rate_hz: readings a second.
        delay_ns: least time from a measurement until the reading can be there [ns].
    """

    channels: tuple[str, ...]
    rate_hz: float
    delay_ns: int


class ServoSetup(NamedTuple):
    """A driven joint.

    Attributes:
        name: of the joint.
        start_rad: its angle at the start.
        lowest_rad: least angle that may be commanded.
        highest_rad: largest one.
        rate_radps: largest commanded speed.
        acceleration_radps2: largest change of it.
        slides: it slides: every rad is a m.
    """

    name: str
    start_rad: float
    lowest_rad: float
    highest_rad: float
    rate_radps: float
    acceleration_radps2: float
    slides: bool = False


class RigSetup(NamedTuple):
    """What a driver must know of the rig in addition to its section.

    Attributes:
        rover: its type, for messages.
        wheels: names, in the order of every vector by wheel.
        wheel_speed_limit_radps: largest commanded speed [rad/s].
        on_cut: what the power stage does once it is cut.
        valves: the cylinders' valves and moved regulators.
        supply_kPa: gauge pressure of the cylinders' supply [kPa].
        sensors: in the order of the channels of a block; without any, the next three are 0.
        range_V: full scale of the channels, either sign [V].
        sample_rate_hz: samples a second and channel.
        block_samples: samples of a channel in a block.
        open_loop: the wheels are driven by duty, not by speed.
        loads: the load channels; None: there are none.
        power_hz: how often motor currents and supply voltages are to be read at least [1/s].
        instruments: those of motion that the rig has, by role.
        servos: the driven joints, in the order of every vector by servo.
        servos_on_cut: what the power stage of a servo does once it is cut.
    """

    rover: str = ""
    wheels: tuple[str, ...] = ()
    wheel_speed_limit_radps: float = math.inf
    on_cut: Literal["coast", "brake"] = "brake"
    valves: ValveLayout = ValveLayout(())
    supply_kPa: float = 0.0
    sensors: tuple[SensorSetup, ...] = ()
    range_V: float = 0.0
    sample_rate_hz: int = 0
    block_samples: int = 0
    open_loop: bool = False
    loads: LoadSetup | None = None
    power_hz: float = 1.0
    instruments: Mapping[str, InstrumentSetup] = {}
    servos: tuple[ServoSetup, ...] = ()
    servos_on_cut: Literal["coast", "brake"] = "brake"


class Connection(NamedTuple):
    """A port or channel that a key of the config names; only one device may use it.

    Attributes:
        key: path of the key.
        name: of the port or channel; "" if not set yet.
        server: of a channel: HOST:PORT of the device server, "" for this computer; None: a serial port, or a place on
            the network.
        reserved: of a channel: what a run on it reserves, for messages and locks.
        network: the name is HOST:PORT of a device on the network.

    Example:
        >>> channel = Connection("devices.daq.channels.0", "/Dev1/ai0", server="")
        >>> channel.setting, channel.place
        ('devices.daq.channels', ('', 'dev1/ai0'))
    """

    key: str
    name: str
    server: str | None = None
    reserved: str = ""
    network: bool = False

    @property
    def setting(self) -> str:
        """The parent key: devices.drives.ports for devices.drives.ports.0."""
        return ".".join(self.key.split(".")[:3])

    @property
    def place(self) -> tuple[str, str]:
        """Equal for all keys that name the same port, or the same server and channel in any letter case; or ""."""
        if self.server is None:
            return "", self.name
        return self.server, self.name.lstrip("/").lower()


class LineLoad(NamedTuple):
    """Share of time that a line carries bytes."""

    port: str
    share: float


class DriverType(ABC, Generic[S]):
    """A driver of one role.

    Attributes:
        name: value of `driver` in the config.
        role: what its devices are for.
        settings: class of its section of the config; validates it.
        device: module and class of its device, like `package.module:Class`, imported by `make`.
        uses_servers: it finds its devices through device servers, which `hil devices` queries.
        statuses: tables of what its devices report about themselves.

    Example:
        A driver of wheel drives, as a package brings it:

        >>> from typing import Literal
        >>> from drivers.device_sections import DrivesSection
        >>> class Section(DrivesSection):
        ...     driver: Literal["wheels"]
        ...     timeout_ms: int = 100
        >>> class Wheels(DrivesType[Section]):
        ...     name, settings, device = "wheels", Section, "wheels_of_ours.driver:WheelDrives"
        ...
        ...     def timeout(self, section):
        ...         return "timeout_ms", section.timeout_ms
        >>> Wheels().role, Wheels().timeout(Section(driver="wheels"))
        ('drives', ('timeout_ms', 100))
    """

    name: ClassVar[str]
    role: ClassVar[Role]
    settings: type[S]
    device: ClassVar[str]
    uses_servers: ClassVar[bool] = False
    statuses: ClassVar[tuple[StatusTable, ...]] = ()

    def make(self, section: S, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None) -> PolledDevice:
        """Create the device from its section and `setup`; it is not opened yet.

        Args:
            section: checked.
            rig: the rig that it is part of.
            host: computer whose clock and ports it uses.
            alive: called while waiting, every few ms.

        Raises:
            ValueError: it cannot work as set.
        """
        made: PolledDevice = resolve_name(self.device)(section, self.setup(rig), host, alive)
        return made

    def setup(self, rig: RigSetup) -> Any:
        """Returns the part of the rig that its device needs."""
        return rig

    def check(self, section: S, rig: RigSetup) -> Iterable[Problem]:  # noqa: ARG002
        """Settings that do not fit together, or do not fit the rig."""
        return ()

    def connections(self, section: S) -> Iterable[Connection]:  # noqa: ARG002
        """Every port and channel that it uses."""
        return ()

    def line_loads(self, section: S, rig: RigSetup) -> Sequence[LineLoad]:  # noqa: ARG002
        """Returns the load of each of its lines."""
        return ()

    def busy(self, section: S, rig: RigSetup) -> float | None:  # noqa: ARG002
        """Returns the share of time that its worker needs for transactions; None: not known."""
        return None

    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        """Write the ports of a simulated rig into its section as plain values.

        Raises:
            KeyError: the rig does not have this endpoint.
        """

    def simulated_ports(self, section: S | None, rig: RigSetup, ports: PlantPorts) -> Mapping[str, SimulatedPort]:  # noqa: ARG002
        """Its serial devices, simulated at the protocol level, by the names of their endpoints.

        Args:
            section: of the config; None: a typical set-up, next to the devices of another maker.
            rig: the rig that they are part of.
            ports: ports of the plant.
        """
        return {}

    def in_process(self, section: S, plant: Any) -> Any:
        """The device in a rig that the loop simulates (`models.plant.Plant`), if `drivers.sim` has none of its role."""
        raise NotImplementedError(f"the driver {self.name} has no such device")

    def servers(self, section: S) -> Sequence[str]:  # noqa: ARG002
        """Device servers that it uses; "" is this computer."""
        return ()

    def list_devices(self, server: str) -> tuple[IoDevice, ...]:  # noqa: ARG002
        """Returns the devices of a server. Raises DeviceError."""
        return ()


class MotorsType(DriverType[S]):
    """A driver of motors."""

    @abstractmethod
    def timeout(self, section: S) -> tuple[str, float]:
        """Key and value of the time after which a controller without a command stops by itself [ms]."""

    def stop_times_s(self, section: S, rig: RigSetup) -> tuple[float, float] | None:  # noqa: ARG002
        """Longest transaction before a cut, and time from the cut's first byte to the last stop's last byte [s]."""
        return None


class DrivesType(MotorsType[S]):
    """A driver of wheel drives."""

    role = "drives"

    def supplies(self, section: S) -> tuple[str, ...]:  # noqa: ARG002
        """Returns the names of the supply voltages that its controllers measure; none: they measure no currents either.

        Its samples then have `DriveSample.power`, with a voltage for each name.
        """
        return ()


class ServosType(MotorsType[S]):
    """A driver of servos of driven joints."""

    role = "servos"


class ValvesType(DriverType[S]):
    """A driver of the cylinders' valves."""

    role = "valves"

    @abstractmethod
    def dead_man(self, section: S) -> str:
        """Returns what switches the valves off when this program dies, for messages; "" for nothing."""

    def regulators_dead_man(self, section: S) -> str:  # noqa: ARG002
        """Returns what closes the moved regulators when this program dies, for messages; "" for nothing."""
        return ""

    def actuation_s(self, section: S, rig: RigSetup) -> tuple[float, float] | None:  # noqa: ARG002
        """Longest time from a command to the device's answer [s]: of one valve, and of all; None: not known.

        All: each cylinder changes direction, and each moved regulator its pressure.
        """
        return None


class DaqType(ChannelCalibration, DriverType[S]):
    """A driver of the data acquisition."""

    role = "daq"

    def simulated_server(self, setup: ServerSetup) -> SimulatedServer:  # noqa: ARG002
        """Its device server, simulated at the protocol level, not yet started. Raises ValueError: it has none."""
        raise ValueError(f"the driver {self.name} has no simulated device")


class LoadsType(ChannelCalibration, DriverType[S]):
    """A driver of the data acquisition of leg sensors and load cell.

    Attributes:
        even: its samples are evenly spaced, by a clock of the device.
    """

    role = "loads"
    even: ClassVar[bool] = True

    @override
    def setup(self, rig: RigSetup) -> LoadSetup:
        assert rig.loads is not None  # else the section would have been refused
        return rig.loads


class InstrumentType(DriverType[S]):
    """A driver of an instrument of motion; `role` is one of `drivers.device_sections.INSTRUMENTS`.

    Attributes:
        plays_back: its device can play a recording back; the simulated one does so at its own fault `playback`.
    """

    plays_back = False

    @override
    def setup(self, rig: RigSetup) -> InstrumentSetup:
        return rig.instruments[self.role]


class OnePort(DriverType[S]):
    """A driver whose section has one `port`.

    Attributes:
        endpoint: name of that port in a simulated rig.
    """

    endpoint: ClassVar[str]

    @override
    def connections(self, section: S) -> Iterable[Connection]:
        return (Connection(f"devices.{self.role}.port", section.port),)  # type: ignore[attr-defined]

    @override
    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        values["port"] = endpoints[self.endpoint]


class SerialInstrumentType(OnePort[S], InstrumentType[S]):
    """An instrument of motion that has one serial line.

    Attributes:
        reading_bytes: on the line for each reading, requests included.
        turnaround_ns: of the simulated device, from the last byte of a request to the first of its answer.
    """

    reading_bytes: ClassVar[int]
    turnaround_ns: ClassVar[int] = 0

    @override
    def line_loads(self, section: S, rig: RigSetup) -> tuple[LineLoad, ...]:
        if (instrument := rig.instruments.get(self.role)) is None:
            return ()
        port, baud = section.port, section.baud  # type: ignore[attr-defined]
        return (LineLoad(port, line_time_s(self.reading_bytes * instrument.rate_hz, baud)),)

    @override
    def simulated_ports(self, section: S | None, rig: RigSetup, ports: PlantPorts) -> Mapping[str, SimulatedPort]:
        if section is None or self.role not in ports.instruments:
            return {}
        from drivers.sim.protocol.line import SimulatedPort

        baud, device = section.baud, self.simulated(section, rig, ports)  # type: ignore[attr-defined]
        return {self.endpoint: SimulatedPort(device, baud, self.turnaround_ns)}

    @abstractmethod
    def simulated(self, section: S, rig: RigSetup, ports: PlantPorts) -> SimulatedSerialDevice:
        """Its device, simulated to the byte."""


def numbered(name: str, number: int) -> str:
    """Returns the name of one of several endpoints of a kind in a simulated rig: roboclaw, roboclaw_2, ..."""
    return f"{name}_{number + 1}" if number else name
