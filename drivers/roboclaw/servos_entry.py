"""RoboClaw servos of driven joints: the registry's entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from drivers.checks import load_problems, timeout_problems
from drivers.driver_type import Connection, LineLoad, RigSetup, ServosType, numbered
from drivers.host import COMPUTER, Alive, Host
from drivers.roboclaw.bus_problems import bus_problems, names_usb
from drivers.roboclaw.entry import TURNAROUND_NS
from drivers.roboclaw.section import RoboClawServosSection
from drivers.roboclaw.status import STATUSES
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.roboclaw.servo_settings import RoboClawServoSettings
    from drivers.roboclaw.servos import RoboClawServos
    from drivers.sim.protocol.line import SimulatedPort
    from drivers.sim.protocol.plant_ports import PlantPorts

_KEY = "devices.servos"
_ENDPOINT = "roboclaw_servos"


class _RoboclawServosType(ServosType[RoboClawServosSection]):
    """Servos on RoboClaw controllers in position mode."""

    name = "roboclaw"
    settings = RoboClawServosSection
    statuses = STATUSES

    @override
    def make(
        self, section: RoboClawServosSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> RoboClawServos:
        from drivers.roboclaw.servos import RoboClawServos

        return RoboClawServos(self.driver_settings(section, rig), host, alive)

    @override
    def check(self, section: RoboClawServosSection, rig: RigSetup) -> Iterator[Problem]:
        yield from bus_problems(section)
        channels = [joint for controller in section.controllers for joint in (controller.m1, controller.m2)]
        for controller in section.controllers:
            if controller.m1 is None and controller.m2 is None:
                found = f"address 0x{controller.address:x} without a joint"
                yield Problem(f"{_KEY}.controllers", found, "controllers with one driven joint or two")
        connected = [joint for joint in channels if joint is not None]
        yield from section.joint_problems(connected, f"{_KEY}.controllers", rig)
        depends_on = (f"{_KEY}.controllers", f"{_KEY}.ports")
        yield from load_problems(self.role, section.baud, self.line_loads(section, rig), depends_on)
        yield from timeout_problems(*self.timeout(section), section.rate_hz, self.role)

    @override
    def connections(self, section: RoboClawServosSection) -> Iterator[Connection]:
        for place, port in enumerate(section.ports):
            yield Connection(f"{_KEY}.ports.{place}", port)

    @override
    def line_loads(self, section: RoboClawServosSection, rig: RigSetup) -> Sequence[LineLoad]:
        return [LineLoad(*item) for item in zip(section.ports, section.bus_loads(rig.power_hz), strict=True)]

    @override
    def busy(self, section: RoboClawServosSection, rig: RigSetup) -> float:
        from drivers.roboclaw.settings import budget

        return budget(self.driver_settings(section, rig))

    @override
    def timeout(self, section: RoboClawServosSection) -> tuple[str, float]:
        return "timeout_ms", section.timeout_ms

    @override
    def stop_times_s(self, section: RoboClawServosSection, rig: RigSetup) -> tuple[float, float]:
        from drivers.roboclaw.settings import cut_s, in_flight_s

        settings = self.driver_settings(section, rig)
        return in_flight_s(settings), cut_s(settings)

    @override
    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        values["ports"] = [endpoints[numbered(_ENDPOINT, bus)] for bus in range(len(values["ports"]))]

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
            numbered(_ENDPOINT, bus): SimulatedPort(
                RoboClawServoBus(ports.servos, given.on(bus), given.joints, usb=names_usb(port.port)),
                port.baud,
                TURNAROUND_NS,
            )
            for bus, port in enumerate(given.buses)
        }

    def driver_settings(self, section: RoboClawServosSection, rig: RigSetup) -> RoboClawServoSettings:
        """The same in the driver's units."""
        from drivers.roboclaw.servo_settings import RoboClawServoSettings
        from drivers.roboclaw.settings import Bus, RoboClawControllerSettings

        places = {joint.name: place for place, joint in enumerate(rig.servos)}

        def place(joint: str | None) -> int | None:
            return None if joint is None else places[joint]

        return RoboClawServoSettings(
            buses=tuple(Bus(port, section.baud) for port in section.ports),
            controllers=tuple(
                RoboClawControllerSettings(one.bus, one.address, place(one.m1), place(one.m2), one.identity)
                for one in section.controllers
            ),
            joints=section.scales(rig),
            rate_hz=section.rate_hz,
            timeout_ms=section.timeout_ms,
            on_cut=rig.servos_on_cut,
            slow_hz=rig.power_hz,
        )


ROBOCLAW_SERVOS = _RoboclawServosType()
