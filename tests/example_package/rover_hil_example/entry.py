"""The entry point `textline`: settings, checks, factory and simulated device of the drives."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import Field

from drivers.checks import timeout_problems
from drivers.device_sections import Baud, DrivesSection, Port
from drivers.driver_type import Connection, DrivesType, RigSetup
from drivers.host import COMPUTER, Alive, Host
from drivers.section import Problem


class TextlineSection(DrivesSection):
    """`devices.drives` with `driver: textline`."""

    driver: Literal["textline"] = Field(description="which driver")
    port: Port = Field("", description="serial port")
    baud: Baud = Field(115200, description="of the port")
    timeout_ms: int = Field(100, ge=50, le=1000, description="without a line for so long the drives stop by themselves")


class TextlineType(DrivesType[TextlineSection]):
    """Wheel drives that speak one line of text."""

    name = "textline"
    settings = TextlineSection

    def make(self, section, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None):
        from rover_hil_example.drives import TextlineDrives  # not before a device is made: config and checks need none

        return TextlineDrives(section.port, section.baud, len(rig.wheels), section.rate_hz, host, alive)

    def check(self, section: TextlineSection, rig: RigSetup) -> Iterator[Problem]:
        yield from timeout_problems(*self.timeout(section), section.rate_hz)

    def connections(self, section: TextlineSection) -> Iterator[Connection]:
        yield Connection("devices.drives.port", section.port)

    def timeout(self, section: TextlineSection) -> tuple[str, float]:
        return "timeout_ms", section.timeout_ms

    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        values["port"] = endpoints["textline"]

    def simulated_ports(self, section, rig: RigSetup, ports):
        if section is None:
            return {}
        from drivers.sim.protocol.line import SimulatedPort
        from rover_hil_example.simulated import TextlineDevice

        device = TextlineDevice(ports.wheels, len(rig.wheels), section.timeout_ms)
        return {"textline": SimulatedPort(device, section.baud, 100_000)}


TEXTLINE = TextlineType()
