"""RoboClaw wheel drives and servos in a rig config."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from drivers.checks import repeated
from drivers.device_sections import Baud, DrivesSection, Identity, Port, Wheel
from drivers.roboclaw.protocol import MARKS
from drivers.section import Listed, Problem, Section
from drivers.servo_section import CountedServosSection, Joint

CONTROLLERS = 8  # dual, on a bus: addresses 0x80 to 0x87
OnBus = Annotated[int, Field(ge=0, le=CONTROLLERS - 1)]
Address = Annotated[
    int, Field(ge=0x80, le=0x87, json_schema_extra={"note": "a whole number 0x80 to 0x87, or 128 to 135"})
]
Ports = Annotated[Listed[Port], Field(max_length=CONTROLLERS)]
TimeoutMs = Annotated[int, Field(ge=100, le=1000, multiple_of=100)]


class _RoboClawControllerSection(Section):
    """One dual motor controller on a RoboClaw bus."""

    bus: OnBus = Field(0, description="which of the ports, counted from 0")
    address: Address = Field(description="as set in the controller")
    m1: Wheel = Field(description="wheel of its motor 1")
    m2: Wheel = Field(description="wheel of its motor 2")
    identity: Identity = ""


class RoboClawDrivesSection(DrivesSection):
    """Wheel drives on RoboClaw controllers, packet serial."""

    driver: Literal["roboclaw"] = Field(description="which driver")
    ports: Ports = Field((), description="of the buses, one or several controllers each")
    baud: Baud = Field(115200, description="of every bus")
    rate_hz: float = Field(50.0, ge=1, le=500, description="set-points and encoder speeds a second")
    timeout_ms: TimeoutMs = Field(100, description="without a packet for so long a controller stops by itself")
    counts_per_rev: float = Field(ge=1, le=1e7, description="encoder counts in a turn of the axle, gearbox included")
    acceleration_radps2: float = Field(
        0.0, ge=0, le=1000, description="ramp of the controller; 0: it follows set-points at once"
    )
    controllers: Listed[_RoboClawControllerSection] = Field((), max_length=CONTROLLERS, description="all of them")
    reversed: Listed[Wheel] = Field((), max_length=16, description="wheels whose motor turns the other way round")


class _RoboClawServoControllerSection(Section):
    """One dual motor controller on a RoboClaw bus, for one joint or two."""

    bus: OnBus = Field(0, description="which of the ports, counted from 0")
    address: Address = Field(description="as set in the controller")
    m1: Joint | None = Field(None, description="driven joint of its motor 1; null: nothing is connected")
    m2: Joint | None = Field(None, description="driven joint of its motor 2; null: nothing is connected")
    identity: Identity = ""


class RoboClawServosSection(CountedServosSection):
    """Servos of driven joints on RoboClaw controllers in position mode, packet serial."""

    driver: Literal["roboclaw"] = Field(description="which driver")
    ports: Ports = Field((), description="of the buses, none of which is one of the wheel drives")
    baud: Baud = Field(115200, description="of every bus")
    rate_hz: float = Field(50.0, ge=1, le=500, description="angles commanded and read a second")
    timeout_ms: TimeoutMs = Field(100, description="without a packet for so long a controller stops by itself")
    controllers: Listed[_RoboClawServoControllerSection] = Field(
        (), max_length=CONTROLLERS, description="all of them; at duty 0 they do what servos.on_cut says"
    )


# A device that has its own USB port. The links of udev to a serial adapter end in -port0, with TTL pins behind it.
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
    """Returns whether the name of a path is that of a device that has its own USB port.

    Example:
        >>> names_usb("/dev/ttyACM0"), names_usb("/dev/serial/by-id/usb-FTDI_FT232R_USB_UART_A50285BI-if00-port0")
        (True, False)
    """
    return _USB.fullmatch(port) is not None
