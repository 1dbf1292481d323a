"""Dimetix laser distance sensors: the registry's entry.

Why this one: it measures to a millimetre over tens of metres, with nothing on the rover but a bright plate; its
commands are public text, the same for all its models and for makers who sell it under their own names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from typing_extensions import override

from drivers.checks import load_problems
from drivers.dimetix.protocol import LEAST_MS, MESSAGE_BYTES, STATUSES
from drivers.dimetix.section import DimetixSection
from drivers.driver_type import RigSetup, SerialInstrumentType
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.dimetix.simulated import DimetixDevice
    from drivers.sim.protocol.plant_ports import PlantPorts

CHANNELS = ("distance_m",)


class _DimetixType(SerialInstrumentType[DimetixSection]):
    """Laser distance sensors of Dimetix."""

    name = "dimetix"
    role = "motion"
    settings = DimetixSection
    device = "drivers.dimetix.distance:DimetixDistance"
    endpoint = "dimetix"
    statuses = STATUSES
    reading_bytes = MESSAGE_BYTES
    turnaround_ns = 1_000_000

    @override
    def check(self, section: DimetixSection, rig: RigSetup) -> Iterator[Problem]:
        if (motion := rig.instruments.get(self.role)) is None:
            return
        if motion.channels != CHANNELS:
            found = f"a reading of {', '.join(motion.channels)}"
            yield Problem("motion.measures", found, "distance: this sensor measures one", ("devices.motion.driver",))
        period_ms = 1e3 / motion.rate_hz
        if period_ms < LEAST_MS or abs(period_ms - round(period_ms)) > 1e-6:
            allowed = f"at most {1000 // LEAST_MS}, and a whole number of ms between two: 100, 50, 40, 25, 20, 10"
            yield Problem("motion.rate_hz", f"{motion.rate_hz:g}", allowed, ("devices.motion.driver",))
        else:
            loads = self.line_loads(section, rig)
            yield from load_problems(self.role, section.baud, loads, ())

    @override
    def simulated(self, section: DimetixSection, rig: RigSetup, ports: PlantPorts) -> DimetixDevice:
        from drivers.dimetix.simulated import SERIAL_NUMBER, DimetixDevice

        return DimetixDevice(
            ports.instruments[self.role],
            parity=section.characters == "7e1",
            sensor=section.sensor,
            delay_ns=rig.instruments[self.role].delay_ns,
            identity=section.identity or SERIAL_NUMBER,
        )


DIMETIX = _DimetixType()
