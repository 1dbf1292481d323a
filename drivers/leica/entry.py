"""Leica total stations: the registry's entry.

Why this one: Petersen measured the rover's path with one; it reads a prism to a millimetre over a whole hall or field,
and every one since TPS1100 speaks GeoCOM over RS-232.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from typing_extensions import override

from drivers.checks import load_problems
from drivers.driver_type import RigSetup, SerialInstrumentType
from drivers.leica.protocol import COORDINATE_BYTES, LOCK_BYTES, MOST_HZ, STATUSES
from drivers.leica.section import LeicaSection
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.leica.simulated import TotalStation
    from drivers.sim.protocol.plant_ports import PlantPorts

_VALUES = 3


class _LeicaType(SerialInstrumentType[LeicaSection]):
    """Total stations of Leica."""

    name = "leica"
    role = "motion"
    settings = LeicaSection
    device = "drivers.leica.total_station:LeicaTotalStation"
    endpoint = "total_station"
    statuses = STATUSES
    reading_bytes = COORDINATE_BYTES + LOCK_BYTES

    @override
    def check(self, section: LeicaSection, rig: RigSetup) -> Iterator[Problem]:
        if (motion := rig.instruments.get(self.role)) is None:
            return
        depends = ("devices.motion.driver",)
        if len(motion.channels) != _VALUES:
            found = f"a reading of {', '.join(motion.channels)}"
            yield Problem("motion.measures", found, "position: a total station measures the place of a prism", depends)
        if motion.rate_hz > MOST_HZ:
            allowed = f"at most {MOST_HZ:g}, as fast as a total station measures; hil check shows how fast yours does"
            yield Problem("motion.rate_hz", f"{motion.rate_hz:g}", allowed, depends)
        else:
            yield from load_problems(self.role, section.baud, self.line_loads(section, rig), ())

    @override
    def simulated(self, section: LeicaSection, rig: RigSetup, ports: PlantPorts) -> TotalStation:
        from drivers.leica.simulated import SERIAL_NUMBER, TotalStation

        delay_ns, identity = rig.instruments[self.role].delay_ns, section.identity or SERIAL_NUMBER
        return TotalStation(ports.instruments[self.role], delay_ns, identity)


LEICA = _LeicaType()
