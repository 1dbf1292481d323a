"""Interface of a simulated rig to the simulated device server of its data acquisition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from drivers.host import Host
from drivers.sim.protocol.plant_ports import Analog, CylinderPorts, Instrument, TakesTimes

if TYPE_CHECKING:
    from drivers.device_sections import DeviceSection, Role
    from drivers.sim.virtual.grpc import Network


class ServerSetup(NamedTuple):
    """Set-up of a simulated device server.

    Attributes:
        analog: the sampled channels.
        cylinders: the valves and pressures; None for none.
        range_V: converters' full scale, either sign [V].
        delivered: called with the due time of requested samples and the time of their delivery.
        host: computer whose clock is used.
        network: network in virtual time that it listens on; None: this computer's.
        loads: the slow load channels; None: there are none.
        loads_range_V: their full scale, either sign [V].
        sections: of the config, by role, whose names the channels have; those of other drivers too.
        instruments: those of motion, by role.
        rig: the `RigSetup` that the sections are part of; None: there is no config.
    """

    analog: Analog
    cylinders: CylinderPorts | None
    range_V: float
    delivered: TakesTimes
    host: Host
    network: Network | None = None
    loads: Analog | None = None
    loads_range_V: float = 10.0
    sections: Mapping[Role, DeviceSection] = {}
    instruments: Mapping[Role, Instrument] = {}
    rig: Any = None


class SimulatedServer(Protocol):
    """A device server, with the data acquisition behind it."""

    @property
    def lines(self) -> Mapping[str, bool]:
        """States of the digital outputs."""

    def start(self) -> str:
        """Start serving; the endpoint, HOST:PORT."""

    def stop(self) -> None:
        """Stop serving; may be called twice."""

    def step(self, channel: int, volts: float, after: int) -> tuple[int, int]:
        """Add volts to a channel, beginning so many samples ahead; that sample and its time [ns]."""

    def clear_steps(self) -> None:
        """Stop adding volts."""

    def press(self, pressed: bool) -> None:
        """Press the emergency stop that it reads, or release it."""

    def inject_fault(self, fault: Mapping[str, Any]) -> None:
        """Inject a fault by `kind` and its numbers. Raises ValueError: unknown fault."""
