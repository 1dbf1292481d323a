"""Wheel drives with the profile CiA 402: the registry's entry."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from typing_extensions import override

from drivers.checks import ALLOWED_LOAD, CONTROLLERS, repeated, wheel_problems
from drivers.cia402.section import Cia402DrivesSection
from drivers.cia402.status import STATUSES
from drivers.driver_type import DrivesType, LineLoad, OnePort, RigSetup
from drivers.motor_controllers import MotorControllersType
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.sim.protocol.line import SimulatedPort
    from drivers.sim.protocol.plant_ports import PlantPorts

# A simulated adapter with its drives answers within so long.
TURNAROUND_NS = 200_000
# Vendor, product code and revision of a simulated drive, before its serial number.
SIMULATED = "1-402-1"


class _Cia402Type(
    OnePort[Cia402DrivesSection], MotorControllersType[Cia402DrivesSection], DrivesType[Cia402DrivesSection]
):
    """Wheel drives with the profile CiA 402."""

    name = "cia402"
    settings = Cia402DrivesSection
    device = "drivers.cia402.drives:Cia402Drives"
    motor_layout = "drivers.cia402.motor_layout:Cia402Wheels"
    statuses = STATUSES
    timeout_key = "heartbeat_ms"
    line_keys = ("controllers",)
    endpoint = "cia402"

    @override
    def line_loads(self, section: Cia402DrivesSection, rig: RigSetup) -> Sequence[LineLoad]:
        return [LineLoad(section.port, self.motors(section, rig).line_load)]

    @override
    def supplies(self, section: Cia402DrivesSection) -> tuple[str, ...]:
        return super().supplies(section) if section.measures_power else ()

    @override
    def check(self, section: Cia402DrivesSection, rig: RigSetup) -> Iterator[Problem]:
        key = "devices.drives"
        yield from wheel_problems([one.wheel for one in section.controllers], section.reversed, rig)
        for node, count in repeated([section.own_node, *(one.node for one in section.controllers)]):
            allowed = "each node once, own_node included"
            yield Problem(CONTROLLERS, f"node {node} {count} times", allowed, (f"{key}.own_node",))
        if (section.velocity_unit == "counts_per_s") != (section.counts_per_turn is not None):
            allowed = "a number with velocity_unit: counts_per_s, null with rpm"
            found = "null" if section.counts_per_turn is None else f"{section.counts_per_turn:g}"
            yield Problem(f"{key}.counts_per_turn", found, allowed, (f"{key}.velocity_unit",))
        if rig.open_loop:
            yield Problem(
                f"{key}.driver",
                "cia402, which drives by speed",
                "a driver of duties: roboclaw or roboteq",
                ("experiment",),
            )
        if (load := self.motors(section, rig).bus_load) > ALLOWED_LOAD:
            least = math.ceil(section.bit_rate * load / ALLOWED_LOAD)
            found = f"{section.bit_rate}, busy for {load:.0%} of its time"
            allowed = f"at least {least}, {ALLOWED_LOAD:.0%} of its time at most, or a lower rate_hz"
            yield Problem(f"{key}.bit_rate", found, allowed, (f"{key}.rate_hz", CONTROLLERS))
        yield from self.load_problems(section, rig)

    @override
    def simulated_ports(
        self, section: Cia402DrivesSection | None, rig: RigSetup, ports: PlantPorts
    ) -> Mapping[str, SimulatedPort]:
        from drivers.cia402.simulated import Cia402Bus, SimDrive
        from drivers.sim.protocol.line import SimulatedPort

        section = section or _usual(rig)
        wheels = self.motors(section, rig)
        drives = [
            SimDrive(
                ports.wheels,
                one.wheel,
                one.node,
                wheels.sign[one.wheel] * wheels.units_per_radps,
                [int(number) for number in (one.identity or f"{SIMULATED}-{one.node}").split("-")],
                section.counts_per_turn,
            )
            for one in wheels.drives
        ]
        return {self.endpoint: SimulatedPort(Cia402Bus(drives, section.bit_rate), section.baud, TURNAROUND_NS)}


def _usual(rig: RigSetup) -> Cia402DrivesSection:
    """A drive for each wheel."""
    controllers = [{"node": node, "wheel": wheel} for node, wheel in enumerate(rig.wheels, start=1)]
    return Cia402DrivesSection.model_validate(
        {"driver": "cia402", "port": "", "counts_per_turn": 4096, "gear_ratio": 100.0, "controllers": controllers}
    )


CIA402 = _Cia402Type()
