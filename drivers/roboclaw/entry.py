"""RoboClaw wheel drives and servos of driven joints: the registry's entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import override

from drivers.checks import wheel_problems
from drivers.driver_type import Connection, DrivesType, LineLoad, RigSetup, ServosType, numbered
from drivers.motor_controllers import MotorControllersType
from drivers.roboclaw.section import RoboClawDrivesSection, RoboClawServosSection, bus_problems, names_usb
from drivers.roboclaw.status import STATUSES
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.sim.protocol.line import SimulatedPort
    from drivers.sim.protocol.plant_ports import PlantPorts

# A RoboClaw answers within so long.
TURNAROUND_NS = 100_000
S = TypeVar("S", RoboClawDrivesSection, RoboClawServosSection)


class _OnBuses(MotorControllersType[S]):
    """What drives and servos on RoboClaw buses have in common."""

    name = "roboclaw"
    statuses = STATUSES
    timeout_key = "timeout_ms"
    line_keys = ("controllers", "ports")

    @override
    def connections(self, section: S) -> Iterator[Connection]:
        for place, port in enumerate(section.ports):
            yield Connection(f"devices.{self.role}.ports.{place}", port)

    @override
    def line_loads(self, section: S, rig: RigSetup) -> Sequence[LineLoad]:
        return [LineLoad(*item) for item in zip(section.ports, self.motors(section, rig).bus_loads(), strict=True)]

    @override
    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        values["ports"] = [endpoints[numbered(self.endpoint, bus)] for bus in range(len(values["ports"]))]


class RoboclawType(_OnBuses[RoboClawDrivesSection], DrivesType[RoboClawDrivesSection]):
    """Wheel drives on RoboClaw controllers."""

    settings = RoboClawDrivesSection
    device = "drivers.roboclaw.drives:RoboClawDrives"
    motor_layout = "drivers.roboclaw.motor_layout:RoboClawWheels"
    endpoint = "roboclaw"

    @override
    def check(self, section: RoboClawDrivesSection, rig: RigSetup) -> Iterator[Problem]:
        yield from bus_problems(section)
        wheels = [wheel for controller in section.controllers for wheel in (controller.m1, controller.m2)]
        yield from wheel_problems(wheels, section.reversed, rig)
        yield from self.load_problems(section, rig)

    @override
    def simulated_ports(
        self, section: RoboClawDrivesSection | None, rig: RigSetup, ports: PlantPorts
    ) -> Mapping[str, SimulatedPort]:
        from drivers.roboclaw.simulated import RoboClawBus
        from drivers.sim.protocol.line import SimulatedPort

        section = section or _usual(rig)
        wheels = self.motors(section, rig)
        return {
            numbered(self.endpoint, bus): SimulatedPort(
                RoboClawBus(
                    ports.wheels, wheels.on(bus), section.counts_per_rev, sign=wheels.sign, usb=names_usb(port)
                ),
                section.baud,
                TURNAROUND_NS,
            )
            for bus, port in enumerate(section.ports)
        }


class _RoboclawServosType(_OnBuses[RoboClawServosSection], ServosType[RoboClawServosSection]):
    """Servos on RoboClaw controllers in position mode."""

    settings = RoboClawServosSection
    device = "drivers.roboclaw.servos:RoboClawServos"
    motor_layout = "drivers.roboclaw.motor_layout:RoboClawJoints"
    endpoint = "roboclaw_servos"

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
        joints = self.motors(section, rig)
        return {
            numbered(self.endpoint, bus): SimulatedPort(
                RoboClawServoBus(ports.servos, joints.on(bus), joints.joints, usb=names_usb(port)),
                section.baud,
                TURNAROUND_NS,
            )
            for bus, port in enumerate(section.ports)
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
