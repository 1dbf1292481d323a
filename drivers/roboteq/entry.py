"""Roboteq wheel drives and servos of driven joints: the registry's entries."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import override

from drivers.checks import wheel_problems
from drivers.driver_type import Connection, DrivesType, LineLoad, RigSetup, ServosType, numbered
from drivers.motor_controllers import MotorControllersType
from drivers.roboteq.section import RoboteqDrivesSection, RoboteqServosSection
from drivers.roboteq.status import STATUSES
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.sim.protocol.line import SimulatedPort
    from drivers.sim.protocol.plant_ports import PlantPorts

# A simulated controller answers within so long.
TURNAROUND_NS = 300_000
# Number of the first simulated controller of servos; those of drives count from 1.
FIRST_SERVO = 101
_EDGES = 4
S = TypeVar("S", RoboteqDrivesSection, RoboteqServosSection)


class _OnPorts(MotorControllersType[S]):
    """What drives and servos on Roboteq controllers have in common."""

    name = "roboteq"
    statuses = STATUSES
    timeout_key = "watchdog_ms"
    line_keys = ("controllers",)

    @override
    def connections(self, section: S) -> Iterator[Connection]:
        for place, controller in enumerate(section.controllers):
            yield Connection(f"devices.{self.role}.controllers.{place}.port", controller.port)

    @override
    def line_loads(self, section: S, rig: RigSetup) -> Sequence[LineLoad]:
        return [LineLoad(controller.port, section.port_load()) for controller in section.controllers]

    @override
    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        for place, controller in enumerate(values["controllers"]):
            controller["port"] = endpoints[numbered(self.endpoint, place)]


class _RoboteqType(_OnPorts[RoboteqDrivesSection], DrivesType[RoboteqDrivesSection]):
    """Wheel drives on Roboteq controllers."""

    settings = RoboteqDrivesSection
    device = "drivers.roboteq.drives:RoboteqDrives"
    motor_layout = "drivers.roboteq.motor_layout:RoboteqWheels"
    endpoint = "roboteq"

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
        yield from self.load_problems(section, rig)

    @override
    def simulated_ports(
        self, section: RoboteqDrivesSection | None, rig: RigSetup, ports: PlantPorts
    ) -> Mapping[str, SimulatedPort]:
        from drivers.roboteq.simulated import PROCESSOR, RoboteqDevice
        from drivers.sim.protocol.line import SimulatedPort

        section = section or _usual(rig)
        wheels = self.motors(section, rig)
        return {
            numbered(self.endpoint, place): SimulatedPort(
                RoboteqDevice(
                    ports.wheels,
                    controller.motors,
                    max_rpm=wheels.max_rpm,
                    gear_ratio=section.gear_ratio,
                    sign=[wheels.sign[wheel] for wheel in controller.motors],
                    open_loop=wheels.open_loop,
                    identity=controller.identity or f"{PROCESSOR}-{1 + place}",
                ),
                section.baud,
                TURNAROUND_NS,
            )
            for place, controller in enumerate(wheels.controllers)
        }


class _RoboteqServosType(_OnPorts[RoboteqServosSection], ServosType[RoboteqServosSection]):
    """Servos on Roboteq controllers in count position mode."""

    settings = RoboteqServosSection
    device = "drivers.roboteq.servos:RoboteqServos"
    motor_layout = "drivers.roboteq.motor_layout:RoboteqJoints"
    endpoint = "roboteq_servos"

    @override
    def check(self, section: RoboteqServosSection, rig: RigSetup) -> Iterator[Problem]:
        key = "devices.servos"
        channels = [joint for one in section.controllers for joint in (one.channel_1, one.channel_2)]
        for one in section.controllers:
            if one.channel_1 is None and one.channel_2 is None:
                found = f"port {one.port or 'of a controller'} without a joint"
                yield Problem(f"{key}.controllers", found, "controllers with one driven joint or two")
        connected = [joint for joint in channels if joint is not None]
        yield from section.joint_problems(connected, f"{key}.controllers", rig)
        if section.encoder != "incremental":
            yield Problem(f"{key}.encoder", section.encoder, "incremental: count position mode counts its edges")
        each = {section.counts_per_turn, *(one.counts_per_turn for one in section.joints.values())} - {None}
        for counts in sorted(counts for counts in each if counts is not None and counts % _EDGES):
            allowed = "a multiple of 4, the edges of each pulse (EPPR)"
            yield Problem(f"{key}.counts_per_turn", f"{counts:g}", allowed, (f"{key}.joints",))
        yield from self.load_problems(section, rig)

    @override
    def simulated_ports(
        self, section: RoboteqServosSection | None, rig: RigSetup, ports: PlantPorts
    ) -> Mapping[str, SimulatedPort]:
        """Only as in the config; which joints are driven is nothing typical."""
        from drivers.roboteq.simulated import PROCESSOR
        from drivers.roboteq.simulated_servos import RoboteqServoDevice
        from drivers.sim.protocol.line import SimulatedPort

        if section is None or ports.servos is None:
            return {}
        joints = self.motors(section, rig)
        return {
            numbered(self.endpoint, place): SimulatedPort(
                RoboteqServoDevice(
                    ports.servos,
                    controller.channels,
                    joints.joints,
                    controller.identity or f"{PROCESSOR}-{FIRST_SERVO + place}",
                ),
                section.baud,
                TURNAROUND_NS,
            )
            for place, controller in enumerate(joints.controllers)
        }


def _usual(rig: RigSetup) -> RoboteqDrivesSection:
    """A controller for each two wheels."""
    pairs = zip(rig.wheels[::2], rig.wheels[1::2], strict=False)
    controllers = [{"port": "", "channel_1": one, "channel_2": two} for one, two in pairs]
    return RoboteqDrivesSection.model_validate(
        {"driver": "roboteq", "max_rpm": 3000, "gear_ratio": 100.0, "controllers": controllers}
    )


ROBOTEQ = _RoboteqType()
ROBOTEQ_SERVOS = _RoboteqServosType()
