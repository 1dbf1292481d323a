"""Checks of the buses and addresses of a section, common to wheel drives and servos."""

from __future__ import annotations

from collections.abc import Iterator

from drivers.checks import repeated
from drivers.roboclaw.section import RoboClawDrivesSection, RoboClawServosSection
from drivers.section import Problem


def bus_problems(section: RoboClawDrivesSection | RoboClawServosSection) -> Iterator[Problem]:
    """Check that each address is once on a bus, that each bus has a port, and each port a controller."""
    key = f"devices.{section.role}"
    places = [(controller.bus, controller.address) for controller in section.controllers]
    for (bus, address), count in repeated(places):
        found = f"address 0x{address:x} {count} times on bus {bus}"
        yield Problem(f"{key}.controllers", found, "each address once on a bus")
    for bus in sorted({bus for bus, _ in places if bus >= len(section.ports)}):
        found = f"a controller on bus {bus} of {len(section.ports)}"
        allowed = f"a bus of {key}.ports, counted from 0"
        yield Problem(f"{key}.controllers", found, allowed, (f"{key}.ports",))
    for bus in sorted(set(range(len(section.ports))) - {bus for bus, _ in places}):
        found = f"bus {bus}, with no controller on it"
        yield Problem(f"{key}.ports", found, "ports with controllers", (f"{key}.controllers",))
