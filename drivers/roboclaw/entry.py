"""RoboClaw wheel drives: the registry's entry."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from drivers.checks import CONTROLLERS, load_problems, timeout_problems, wheel_problems
from drivers.driver_type import Connection, DrivesType, LineLoad, RigSetup, numbered
from drivers.host import COMPUTER, Alive, Host
from drivers.roboclaw.bus_problems import bus_problems, names_usb
from drivers.roboclaw.section import RoboClawDrivesSection
from drivers.roboclaw.status import STATUSES
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.roboclaw.drives import RoboClawDrives
    from drivers.roboclaw.settings import RoboClawSettings
    from drivers.sim.protocol.line import SimulatedPort
    from drivers.sim.protocol.plant_ports import PlantPorts

# A RoboClaw answers within so long.
TURNAROUND_NS = 100_000


class RoboclawType(DrivesType[RoboClawDrivesSection]):
    """Wheel drives on RoboClaw controllers."""

    name = "roboclaw"
    settings = RoboClawDrivesSection
    statuses = STATUSES

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
        yield from load_problems(
            "drives", section.baud, self.line_loads(section, rig), (CONTROLLERS, "devices.drives.ports")
        )
        yield from timeout_problems(*self.timeout(section), section.rate_hz)

    @override
    def connections(self, section: RoboClawDrivesSection) -> Iterator[Connection]:
        for place, port in enumerate(section.ports):
            yield Connection(f"devices.drives.ports.{place}", port)

    @override
    def line_loads(self, section: RoboClawDrivesSection, rig: RigSetup) -> Sequence[LineLoad]:
        return [LineLoad(*item) for item in zip(section.ports, section.bus_loads(rig.power_hz), strict=True)]

    @override
    def busy(self, section: RoboClawDrivesSection, rig: RigSetup) -> float:
        from drivers.roboclaw.settings import budget

        return budget(self.driver_settings(section, rig))

    @override
    def timeout(self, section: RoboClawDrivesSection) -> tuple[str, float]:
        return "timeout_ms", section.timeout_ms

    @override
    def supplies(self, section: RoboClawDrivesSection) -> tuple[str, ...]:
        return tuple(f"controller_{number}" for number, _ in enumerate(section.controllers, start=1))

    @override
    def stop_times_s(self, section: RoboClawDrivesSection, rig: RigSetup) -> tuple[float, float]:
        from drivers.roboclaw.settings import cut_s, in_flight_s

        settings = self.driver_settings(section, rig)
        return in_flight_s(settings), cut_s(settings)

    @override
    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        values["ports"] = [endpoints[numbered(self.name, bus)] for bus in range(len(values["ports"]))]

    @override
    def simulated_ports(
        self, section: RoboClawDrivesSection | None, rig: RigSetup, ports: PlantPorts
    ) -> Mapping[str, SimulatedPort]:
        from drivers.roboclaw.simulated import RoboClawBus
        from drivers.sim.protocol.line import SimulatedPort

        given = self._usual_settings(rig) if section is None else self.driver_settings(section, rig)
        return {
            numbered(self.name, bus): SimulatedPort(
                RoboClawBus(
                    ports.wheels, given.on(bus), given.counts_per_rev, sign=given.sign, usb=names_usb(port.port)
                ),
                port.baud,
                TURNAROUND_NS,
            )
            for bus, port in enumerate(given.buses)
        }

    def driver_settings(self, section: RoboClawDrivesSection, rig: RigSetup) -> RoboClawSettings:
        """The same in the driver's units."""
        from drivers.roboclaw.settings import Bus, RoboClawControllerSettings, RoboClawSettings

        return RoboClawSettings(
            buses=tuple(Bus(port, section.baud) for port in section.ports),
            controllers=tuple(
                RoboClawControllerSettings(
                    one.bus, one.address, rig.wheels.index(one.m1), rig.wheels.index(one.m2), one.identity
                )
                for one in section.controllers
            ),
            counts_per_rev=section.counts_per_rev,
            sign=tuple(-1 if wheel in section.reversed else 1 for wheel in rig.wheels),
            acceleration_qpps2=round(section.acceleration_radps2 * section.counts_per_rev / math.tau),
            rate_hz=section.rate_hz,
            timeout_ms=section.timeout_ms,
            on_cut=rig.on_cut,
            slow_hz=rig.power_hz,
        )

    def _usual_settings(self, rig: RigSetup) -> RoboClawSettings:
        from drivers.roboclaw.settings import Bus, RoboClawControllerSettings, RoboClawSettings

        wheels = len(rig.wheels)
        controllers = tuple(RoboClawControllerSettings(0, 0x80 + i, 2 * i, 2 * i + 1) for i in range(wheels // 2))
        return RoboClawSettings((Bus("", 115200),), controllers, 150_000, sign=(1,) * wheels)


ROBOCLAW = RoboclawType()
