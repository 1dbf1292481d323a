"""Checks of the buses and addresses of a section, common to wheel drives and servos."""

from __future__ import annotations

import re
from collections.abc import Iterator

from drivers.checks import repeated
from drivers.roboclaw.protocol import MARKS
from drivers.roboclaw.section import RoboClawDrivesSection, RoboClawServosSection
from drivers.section import Problem

# A device with USB of its own. The links of udev to a serial adapter end in -port0, with TTL pins behind it.
_USB = re.compile(r"/dev/(ttyACM\d+|serial/by-(id|path)/(?!.*-port\d+$).*usb.*)")


def bus_problems(section: RoboClawDrivesSection | RoboClawServosSection) -> Iterator[Problem]:
    """Check that each address is once on a bus, that each bus has a port, each port a controller, and USB only one."""
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
    for number in [one.identity for one in section.controllers if one.identity]:
        if not number.isdecimal() or int(number) not in MARKS:
            yield Problem(f"{key}.controllers", f"identity {number}", f'{MARKS[0]} to {MARKS[-1]}, its mark, or ""')
    for bus, port in enumerate(section.ports):
        addresses = [f"0x{address:x}" for place, address in places if place == bus]
        if names_usb(port) and len(addresses) > 1:
            found = f"addresses {', '.join(addresses)} on bus {bus}, {port}, which is USB"
            allowed = (
                f"one controller on USB, where a RoboClaw answers to any address: each with its own of {key}.ports. "
                "A serial adapter to their TTL pins with such a name: under another name, a link by a rule of udev"
            )
            yield Problem(f"{key}.controllers", found, allowed, (f"{key}.ports",))


def names_usb(port: str) -> bool:
    """Whether a path is by its name that of a device with USB of its own.

    Example:
        >>> names_usb("/dev/ttyACM0"), names_usb("/dev/serial/by-id/usb-FTDI_FT232R_USB_UART_A50285BI-if00-port0")
        (True, False)
    """
    return _USB.fullmatch(port) is not None
