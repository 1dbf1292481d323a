"""VectorNav inertial sensors: the registry's entry.

Why this one: its protocol is public, text with a check sum, and set up by a few registers; it is common in robotics;
its values are in SI, calibrated at the factory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from typing_extensions import override

from drivers.checks import load_problems
from drivers.driver_type import RigSetup, SerialInstrumentType
from drivers.section import Problem
from drivers.vectornav.protocol import IMU_BYTES, RATES_HZ, STATUSES
from drivers.vectornav.section import VectorNavSection

if TYPE_CHECKING:
    from drivers.sim.protocol.plant_ports import PlantPorts
    from drivers.vectornav.simulated import VectorNavDevice


class _VectorNavType(SerialInstrumentType[VectorNavSection]):
    """Inertial measurement units of VectorNav."""

    name = "vectornav"
    role = "imu"
    settings = VectorNavSection
    device = "drivers.vectornav.imu:VectorNavImu"
    endpoint = "vectornav"
    statuses = STATUSES
    reading_bytes = IMU_BYTES
    turnaround_ns = 500_000

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
    def simulated(self, section: VectorNavSection, rig: RigSetup, ports: PlantPorts) -> VectorNavDevice:
        from drivers.vectornav.simulated import SERIAL_NUMBER, VectorNavDevice

        return VectorNavDevice(
            ports.instruments[self.role],
            section.baud,
            rig.instruments[self.role].delay_ns,
            identity=section.identity or SERIAL_NUMBER,
        )


VECTORNAV = _VectorNavType()
