"""Roboteq servos of driven joints: the registry's entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from drivers.checks import load_problems, timeout_problems
from drivers.driver_type import Connection, LineLoad, RigSetup, ServosType, numbered
from drivers.host import COMPUTER, Alive, Host
from drivers.roboteq.entry import TURNAROUND_NS
from drivers.roboteq.section import RoboteqServosSection
from drivers.roboteq.status import STATUSES
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.roboteq.servos import RoboteqServos
    from drivers.roboteq.settings import RoboteqServoSettings
    from drivers.sim.protocol.line import SimulatedPort
    from drivers.sim.protocol.plant_ports import PlantPorts

_KEY = "devices.servos"
_ENDPOINT = "roboteq_servos"
_EDGES = 4


class _RoboteqServosType(ServosType[RoboteqServosSection]):
    """Servos on Roboteq controllers in count position mode."""

    name = "roboteq"
    settings = RoboteqServosSection
    statuses = STATUSES

    @override
    def make(
        self, section: RoboteqServosSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> RoboteqServos:
        from drivers.roboteq.servos import RoboteqServos

        return RoboteqServos(self.driver_settings(section, rig), host, alive)

    @override
    def check(self, section: RoboteqServosSection, rig: RigSetup) -> Iterator[Problem]:
        channels = [joint for one in section.controllers for joint in (one.channel_1, one.channel_2)]
        for one in section.controllers:
            if one.channel_1 is None and one.channel_2 is None:
                found = f"port {one.port or 'of a controller'} without a joint"
                yield Problem(f"{_KEY}.controllers", found, "controllers with one driven joint or two")
        connected = [joint for joint in channels if joint is not None]
        yield from section.joint_problems(connected, f"{_KEY}.controllers", rig)
        if section.encoder != "incremental":
            yield Problem(f"{_KEY}.encoder", section.encoder, "incremental: count position mode counts its edges")
        each = {section.counts_per_turn, *(one.counts_per_turn for one in section.joints.values())} - {None}
        for counts in sorted(counts for counts in each if counts is not None and counts % _EDGES):
            allowed = "a multiple of 4, the edges of each pulse (EPPR)"
            yield Problem(f"{_KEY}.counts_per_turn", f"{counts:g}", allowed, (f"{_KEY}.joints",))
        yield from load_problems(self.role, section.baud, self.line_loads(section, rig), (f"{_KEY}.controllers",))
        yield from timeout_problems(*self.timeout(section), section.rate_hz, self.role)

    @override
    def connections(self, section: RoboteqServosSection) -> Iterator[Connection]:
        for place, controller in enumerate(section.controllers):
            yield Connection(f"{_KEY}.controllers.{place}.port", controller.port)

    @override
    def line_loads(self, section: RoboteqServosSection, rig: RigSetup) -> Sequence[LineLoad]:
        return [LineLoad(controller.port, section.port_load()) for controller in section.controllers]

    @override
    def busy(self, section: RoboteqServosSection, rig: RigSetup) -> float:
        from drivers.roboteq.settings import budget

        return budget(self.driver_settings(section, rig))

    @override
    def timeout(self, section: RoboteqServosSection) -> tuple[str, float]:
        return "watchdog_ms", section.watchdog_ms

    @override
    def stop_times_s(self, section: RoboteqServosSection, rig: RigSetup) -> tuple[float, float]:
        from drivers.roboteq.settings import cut_s, in_flight_s

        settings = self.driver_settings(section, rig)
        return in_flight_s(settings), cut_s(settings)

    @override
    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        for place, controller in enumerate(values["controllers"]):
            controller["port"] = endpoints[numbered(_ENDPOINT, place)]

    @override
    def simulated_ports(
        self, section: RoboteqServosSection | None, rig: RigSetup, ports: PlantPorts
    ) -> Mapping[str, SimulatedPort]:
        """Only as in the config; which joints are driven is nothing typical."""
        from drivers.roboteq.simulated_servos import RoboteqServoDevice
        from drivers.sim.protocol.line import SimulatedPort

        if section is None or ports.servos is None:
            return {}
        given = self.driver_settings(section, rig)
        return {
            numbered(_ENDPOINT, place): SimulatedPort(
                RoboteqServoDevice(ports.servos, controller.channels, given.joints, controller.identity),
                given.baud,
                TURNAROUND_NS,
            )
            for place, controller in enumerate(given.controllers)
        }

    def driver_settings(self, section: RoboteqServosSection, rig: RigSetup) -> RoboteqServoSettings:
        """The same in the driver's units."""
        from drivers.roboteq.settings import RoboteqControllerSettings, RoboteqServoSettings

        places = {joint.name: place for place, joint in enumerate(rig.servos)}

        def place(joint: str | None) -> int | None:
            return None if joint is None else places[joint]

        return RoboteqServoSettings(
            controllers=tuple(
                RoboteqControllerSettings(one.port, place(one.channel_1), place(one.channel_2), one.identity)
                for one in section.controllers
            ),
            joints=section.scales(rig),
            baud=section.baud,
            rate_hz=section.rate_hz,
            watchdog_ms=section.watchdog_ms,
        )


ROBOTEQ_SERVOS = _RoboteqServosType()
