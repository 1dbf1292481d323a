"""The entry point `textline`: settings, checks, factory and simulated device of the drives."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field
from typing_extensions import override

from drivers.checks import timeout_problems
from drivers.device_sections import Baud, DrivesSection, Port
from drivers.driver_type import Connection, DrivesType, RigSetup
from drivers.host import COMPUTER, Alive, Host
from drivers.section import Problem

if TYPE_CHECKING:
    from drivers.sim.protocol.line import SimulatedPort
    from drivers.sim.protocol.plant_ports import PlantPorts
    from hil.testing.template.drives import TextlineDrives


class TextlineSection(DrivesSection):
    """`devices.drives` with `driver: textline`."""

    driver: Literal["textline"] = Field(description="which driver")
    port: Port = Field("", description="serial port")
    baud: Baud = Field(115200, description="of the port")
    timeout_ms: int = Field(100, ge=50, le=1000, description="without a line for so long the drives stop by themselves")


class _TextlineType(DrivesType[TextlineSection]):
    """Wheel drives that speak one line of text."""

    name = "textline"
    settings = TextlineSection

    @override
    def make(
        self, section: TextlineSection, rig: RigSetup, host: Host = COMPUTER, alive: Alive = lambda: None
    ) -> "TextlineDrives":
        from hil.testing.template.drives import TextlineDrives  # not before a device is made

        return TextlineDrives(section.port, section.baud, len(rig.wheels), section.rate_hz, host, alive)

    @override
    def check(self, section: TextlineSection, rig: RigSetup) -> Iterator[Problem]:
        yield from timeout_problems(*self.timeout(section), section.rate_hz)

    @override
    def connections(self, section: TextlineSection) -> Iterator[Connection]:
        yield Connection("devices.drives.port", section.port)

    @override
    def timeout(self, section: TextlineSection) -> tuple[str, float]:
        return "timeout_ms", section.timeout_ms

    @override
    def at_endpoints(self, values: dict[str, Any], endpoints: Mapping[str, str]) -> None:
        values["port"] = endpoints["textline"]

    @override
    def simulated_ports(
        self, section: TextlineSection | None, rig: RigSetup, ports: "PlantPorts"
    ) -> "Mapping[str, SimulatedPort]":
        if section is None:
            return {}
        from drivers.sim.protocol.line import SimulatedPort
        from hil.testing.template.simulated import TextlineDevice

        device = TextlineDevice(ports.wheels, len(rig.wheels), section.timeout_ms)
        return {"textline": SimulatedPort(device, section.baud, 100_000)}


TEXTLINE = _TextlineType()
