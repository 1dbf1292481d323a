"""RoboClaw wheel drives and servos of driven joints: the registry's entries."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from typing_extensions import override

from drivers.checks import load_problems, timeout_problems, wheel_problems
from drivers.driver_type import Connection, DriverType, DrivesType, LineLoad, RigSetup, ServosType, numbered
from drivers.host import COMPUTER, Alive, Host
from drivers.roboclaw.section import RoboClawDrivesSection, RoboClawServosSection, bus_problems, names_usb
from drivers.roboclaw.status import STATUSES
from drivers.section import Problem, settings_of

if TYPE_CHECKING:
    from drivers.roboclaw.drives import RoboClawDrives
    from drivers.roboclaw.servos import RoboClawServos
    from drivers.roboclaw.settings import RoboClawBusSettings, RoboClawServoSettings, RoboClawSettings
    from drivers.sim.protocol.line import SimulatedPort
    from drivers.sim.protocol.plant_ports import PlantPorts

# A RoboClaw answers within so long.
TURNAROUND_NS = 100_000
S = TypeVar("S", RoboClawDrivesSection, RoboClawServosSection)


class _OnBuses(DriverType[S]):
    """What drives and servos on RoboClaw buses have in common.

    Attributes:
        endpoint: name of a bus in a simulated rig.
    """

    name = "roboclaw"
    statuses = STATUSES
    endpoint: ClassVar[str]

    @override
    def connections(self, section: S) -> Iterator[Connection]:
        for place, port in enumerate(section.ports):
            yield Connection(f"devices.{self.role}.ports.{place}", port)

    @override
    def line_loads(self, section: S, rig: RigSetup) -> Sequence[LineLoad]:
        return [LineLoad(*item) for item in zip(section.ports, section.bus_loads(rig.power_hz), strict=True)]

    @override
    def busy(self, section: S, rig: RigSetup) -> float:
        from drivers.roboclaw.settings import budget

        return budget(self.driver_settings(section, rig))

    def timeout(self, section: S) -> tuple[str, float]:
        """The serial time-out."""
        return "timeout_ms", section.timeout_ms

    def stop_times_s(self, section: S, rig: RigSetup) -> tuple[float, float]:
        """Of the settings."""
        from drivers.roboclaw.settings import cut_s, in_flight_s

        settings = self.driver_settings(section, rig)
        return in_flight_s(settings), cut_s(settings)

    @override
    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        values["ports"] = [endpoints[numbered(self.endpoint, bus)] for bus in range(len(values["ports"]))]

    def driver_settings(self, section: S, rig: RigSetup) -> RoboClawBusSettings:
        """The same in the driver's units."""
        raise NotImplementedError

    def load_problems(self, section: S, rig: RigSetup) -> Iterator[Problem]:
        """Lines that are too busy, and set-points that come too seldom."""
        depends_on = (f"devices.{self.role}.controllers", f"devices.{self.role}.ports")
        yield from load_problems(self.role, section.baud, self.line_loads(section, rig), depends_on)
        yield from timeout_problems(*self.timeout(section), section.rate_hz, self.role)


class RoboclawType(_OnBuses[RoboClawDrivesSection], DrivesType[RoboClawDrivesSection]):
    """Wheel drives on RoboClaw controllers."""

    settings = RoboClawDrivesSection
    endpoint = "roboclaw"

    @override
    def make(
        self, section: RoboClawDrivesSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> RoboClawDrives:
        from drivers.roboclaw.drives import RoboClawDrives

        return RoboClawDrives(self.driver_settings(section, rig), host, alive)

    @override
    def check(self, section: RoboClawDrivesSection, rig: RigSetup) -> Iterator[Problem]:
        yield from bus_problems(section)
        wheels = [wheel for controller in section.controllers for wheel in (controller.m1, controller.m2)]
        yield from wheel_problems(wheels, section.reversed, rig)
        yield from self.load_problems(section, rig)

    @override
    def supplies(self, section: RoboClawDrivesSection) -> tuple[str, ...]:
        return tuple(f"controller_{number}" for number, _ in enumerate(section.controllers, start=1))

    @override
    def simulated_ports(
        self, section: RoboClawDrivesSection | None, rig: RigSetup, ports: PlantPorts
    ) -> Mapping[str, SimulatedPort]:
        from drivers.roboclaw.simulated import RoboClawBus
        from drivers.sim.protocol.line import SimulatedPort

        given = self.driver_settings(section or _usual(rig), rig)
        return {
            numbered(self.endpoint, bus): SimulatedPort(
                RoboClawBus(
                    ports.wheels, given.on(bus), given.counts_per_rev, sign=given.sign, usb=names_usb(port.port)
                ),
                port.baud,
                TURNAROUND_NS,
            )
            for bus, port in enumerate(given.buses)
        }

    @override
    def driver_settings(self, section: RoboClawDrivesSection, rig: RigSetup) -> RoboClawSettings:
        from drivers.roboclaw.settings import RoboClawSettings

        return settings_of(
            RoboClawSettings,
            section,
            **_places(section, {wheel: place for place, wheel in enumerate(rig.wheels)}),
            sign=tuple(-1 if wheel in section.reversed else 1 for wheel in rig.wheels),
            acceleration_qpps2=round(section.acceleration_radps2 * section.counts_per_rev / math.tau),
            on_cut=rig.on_cut,
            slow_hz=rig.power_hz,
        )


class _RoboclawServosType(_OnBuses[RoboClawServosSection], ServosType[RoboClawServosSection]):
    """Servos on RoboClaw controllers in position mode."""

    settings = RoboClawServosSection
    endpoint = "roboclaw_servos"

    @override
    def make(
        self, section: RoboClawServosSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> RoboClawServos:
        from drivers.roboclaw.servos import RoboClawServos

        return RoboClawServos(self.driver_settings(section, rig), host, alive)

    @override
    def check(self, section: RoboClawServosSection, rig: RigSetup) -> Iterator[Problem]:
        yield from bus_problems(section)
        for controller in section.controllers:
            if controller.m1 is None and controller.m2 is None:
                found = f"address 0x{controller.address:x} without a joint"
                yield Problem("devices.servos.controllers", found, "controllers with one driven joint or two")
        channels = [joint for controller in section.controllers for joint in (controller.m1, controller.m2)]
        connected = [joint for joint in channels if joint is not None]
        yield from section.joint_problems(connected, "devices.servos.controllers", rig)
        yield from self.load_problems(section, rig)

    @override
    def simulated_ports(
        self, section: RoboClawServosSection | None, rig: RigSetup, ports: PlantPorts
    ) -> Mapping[str, SimulatedPort]:
        """Only as in the config; which joints are driven is nothing typical."""
        from drivers.roboclaw.simulated_servos import RoboClawServoBus
        from drivers.sim.protocol.line import SimulatedPort

        if section is None or ports.servos is None:
            return {}
        given = self.driver_settings(section, rig)
        return {
            numbered(self.endpoint, bus): SimulatedPort(
                RoboClawServoBus(ports.servos, given.on(bus), given.joints, usb=names_usb(port.port)),
                port.baud,
                TURNAROUND_NS,
            )
            for bus, port in enumerate(given.buses)
        }

    @override
    def driver_settings(self, section: RoboClawServosSection, rig: RigSetup) -> RoboClawServoSettings:
        from drivers.roboclaw.settings import RoboClawServoSettings

        return settings_of(
            RoboClawServoSettings,
            section,
            **_places(section, {joint.name: place for place, joint in enumerate(rig.servos)}),
            joints=section.scales(rig),
            on_cut=rig.servos_on_cut,
            slow_hz=rig.power_hz,
        )


def _places(section: RoboClawDrivesSection | RoboClawServosSection, motors: Mapping[str, int]) -> dict[str, Any]:
    """Buses, and controllers with their wheels or joints by index."""
    from drivers.roboclaw.settings import Bus, RoboClawControllerSettings

    def motor(name: str | None) -> int | None:
        return None if name is None else motors[name]

    return {
        "buses": tuple(Bus(port, section.baud) for port in section.ports),
        "controllers": tuple(
            RoboClawControllerSettings(one.bus, one.address, motor(one.m1), motor(one.m2), one.identity)
            for one in section.controllers
        ),
    }


def _usual(rig: RigSetup) -> RoboClawDrivesSection:
    """One bus, with a controller for each two wheels."""
    pairs = zip(rig.wheels[::2], rig.wheels[1::2], strict=False)
    controllers = [{"address": 0x80 + i, "m1": one, "m2": two} for i, (one, two) in enumerate(pairs)]
    return RoboClawDrivesSection.model_validate(
        {"driver": "roboclaw", "ports": [""], "counts_per_rev": 150_000, "controllers": controllers}
    )


ROBOCLAW = RoboclawType()
ROBOCLAW_SERVOS = _RoboclawServosType()
