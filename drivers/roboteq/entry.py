"""Roboteq wheel drives: the registry's entry."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from drivers.checks import CONTROLLERS, load_problems, timeout_problems, wheel_problems
from drivers.driver_type import Connection, DrivesType, LineLoad, RigSetup, numbered
from drivers.host import COMPUTER, Alive, Host
from drivers.roboteq.section import RoboteqDrivesSection
from drivers.roboteq.status import STATUSES
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.roboteq.drives import RoboteqDrives
    from drivers.roboteq.settings import RoboteqSettings
    from drivers.sim.protocol.line import SimulatedPort
    from drivers.sim.protocol.plant_ports import PlantPorts

# A simulated controller answers within so long.
TURNAROUND_NS = 300_000


class _RoboteqType(DrivesType[RoboteqDrivesSection]):
    """Wheel drives on Roboteq controllers."""

    name = "roboteq"
    settings = RoboteqDrivesSection
    statuses = STATUSES

    @override
    def make(
        self, section: RoboteqDrivesSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> RoboteqDrives:
        from drivers.roboteq.drives import RoboteqDrives

        return RoboteqDrives(self.driver_settings(section, rig), host, alive)

    @override
    def check(self, section: RoboteqDrivesSection, rig: RigSetup) -> Iterator[Problem]:
        needed_rpm = rig.wheel_speed_limit_radps * 60.0 / (2.0 * math.pi) * section.gear_ratio
        if section.max_rpm < needed_rpm:
            yield Problem(
                "devices.drives.max_rpm",
                f"{section.max_rpm:g}",
                f"at least {needed_rpm:.4g}, limits.wheel_speed_radps times gear_ratio",
                ("limits.wheel_speed_radps", "devices.drives.gear_ratio"),
            )
        wheels = [wheel for controller in section.controllers for wheel in (controller.channel_1, controller.channel_2)]
        yield from wheel_problems(wheels, section.reversed, rig)
        yield from load_problems(
            "drives", section.baud, self.line_loads(section, rig), (CONTROLLERS, "devices.drives.ports")
        )
        yield from timeout_problems(*self.timeout(section), section.rate_hz)

    @override
    def connections(self, section: RoboteqDrivesSection) -> Iterator[Connection]:
        for place, controller in enumerate(section.controllers):
            yield Connection(f"devices.drives.controllers.{place}.port", controller.port)

    @override
    def line_loads(self, section: RoboteqDrivesSection, rig: RigSetup) -> Sequence[LineLoad]:
        return [LineLoad(controller.port, section.port_load()) for controller in section.controllers]

    @override
    def busy(self, section: RoboteqDrivesSection, rig: RigSetup) -> float:
        from drivers.roboteq.settings import budget

        return budget(self.driver_settings(section, rig))

    @override
    def timeout(self, section: RoboteqDrivesSection) -> tuple[str, float]:
        return "watchdog_ms", section.watchdog_ms

    @override
    def supplies(self, section: RoboteqDrivesSection) -> tuple[str, ...]:
        return tuple(f"controller_{number}" for number, _ in enumerate(section.controllers, start=1))

    @override
    def stop_times_s(self, section: RoboteqDrivesSection, rig: RigSetup) -> tuple[float, float]:
        from drivers.roboteq.settings import cut_s, in_flight_s

        settings = self.driver_settings(section, rig)
        return in_flight_s(settings), cut_s(settings)

    @override
    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        for place, controller in enumerate(values["controllers"]):
            controller["port"] = endpoints[numbered(self.name, place)]

    @override
    def simulated_ports(
        self, section: RoboteqDrivesSection | None, rig: RigSetup, ports: PlantPorts
    ) -> Mapping[str, SimulatedPort]:
        from drivers.roboteq.simulated import RoboteqDevice
        from drivers.sim.protocol.line import SimulatedPort

        given = self._usual_settings(rig) if section is None else self.driver_settings(section, rig)
        return {
            numbered(self.name, place): SimulatedPort(
                RoboteqDevice(
                    ports.wheels,
                    controller.motors,
                    max_rpm=given.max_rpm,
                    gear_ratio=given.gear_ratio,
                    sign=[given.sign[wheel] for wheel in controller.motors],
                    open_loop=given.open_loop,
                    identity=controller.identity,
                ),
                given.baud,
                TURNAROUND_NS,
            )
            for place, controller in enumerate(given.controllers)
        }

    def driver_settings(self, section: RoboteqDrivesSection, rig: RigSetup) -> RoboteqSettings:
        """The same in the driver's units."""
        from drivers.roboteq.settings import RoboteqControllerSettings, RoboteqSettings

        return RoboteqSettings(
            controllers=tuple(
                RoboteqControllerSettings(
                    one.port, rig.wheels.index(one.channel_1), rig.wheels.index(one.channel_2), one.identity
                )
                for one in section.controllers
            ),
            max_rpm=round(section.max_rpm),
            gear_ratio=section.gear_ratio,
            sign=tuple(-1 if wheel in section.reversed else 1 for wheel in rig.wheels),
            baud=section.baud,
            rate_hz=section.rate_hz,
            watchdog_ms=section.watchdog_ms,
            open_loop=rig.open_loop,
        )

    def _usual_settings(self, rig: RigSetup) -> RoboteqSettings:
        from drivers.roboteq.settings import RoboteqControllerSettings, RoboteqSettings

        wheels = len(rig.wheels)
        controllers = tuple(RoboteqControllerSettings("", 2 * i, 2 * i + 1) for i in range(wheels // 2))
        return RoboteqSettings(controllers, max_rpm=3000, gear_ratio=100.0, sign=(1,) * wheels, open_loop=rig.open_loop)


ROBOTEQ = _RoboteqType()
