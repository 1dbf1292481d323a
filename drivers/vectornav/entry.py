"""VectorNav inertial sensors: the registry's entry.

Why this one: its protocol is public, text with a check sum, and set up by a few registers; it is common in robotics;
its values are in SI, calibrated at the factory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from typing_extensions import override

from drivers.checks import load_problems
from drivers.driver_type import InstrumentType, LineLoad, OnePort, RigSetup
from drivers.host import line_time_s
from drivers.section import Problem
from drivers.vectornav.protocol import IMU_BYTES, RATES_HZ, STATUSES
from drivers.vectornav.section import VectorNavSection

if TYPE_CHECKING:
    from drivers.sim.protocol.line import SimulatedPort
    from drivers.sim.protocol.plant_ports import PlantPorts

# From the last byte of a request to the first of its answer.
TURNAROUND_NS = 500_000


class _VectorNavType(OnePort[VectorNavSection], InstrumentType[VectorNavSection]):
    """Inertial measurement units of VectorNav."""

    name = "vectornav"
    role = "imu"
    settings = VectorNavSection
    device = "drivers.vectornav.imu:VectorNavImu"
    endpoint = "vectornav"
    statuses = STATUSES

    @override
    def check(self, section: VectorNavSection, rig: RigSetup) -> Iterator[Problem]:
        if (imu := rig.instruments.get(self.role)) is None:
            return
        if imu.rate_hz not in RATES_HZ:
            allowed = f"one of {', '.join(map(str, RATES_HZ))}: the rates of this device"
            yield Problem("imu.rate_hz", f"{imu.rate_hz:g}", allowed, ("devices.imu.driver",))
        else:
            yield from load_problems(self.role, section.baud, self.line_loads(section, rig), ())

    @override
    def line_loads(self, section: VectorNavSection, rig: RigSetup) -> tuple[LineLoad, ...]:
        if (imu := rig.instruments.get(self.role)) is None:
            return ()
        return (LineLoad(section.port, line_time_s(IMU_BYTES * imu.rate_hz, section.baud)),)

    @override
    def simulated_ports(
        self, section: VectorNavSection | None, rig: RigSetup, ports: PlantPorts
    ) -> Mapping[str, SimulatedPort]:
        if section is None or self.role not in ports.instruments:
            return {}
        from drivers.sim.protocol.line import SimulatedPort
        from drivers.vectornav.simulated import SERIAL_NUMBER, VectorNavDevice

        device = VectorNavDevice(
            ports.instruments[self.role],
            section.baud,
            rig.instruments[self.role].delay_ns,
            identity=section.identity or SERIAL_NUMBER,
        )
        return {"vectornav": SimulatedPort(device, section.baud, TURNAROUND_NS)}


VECTORNAV = _VectorNavType()
