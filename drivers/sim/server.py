"""What a simulated rig needs of the simulated device server of its data acquisition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from drivers.host import Host
from drivers.sim.protocol.plant_ports import Analog, Cylinders, TakesTimes

if TYPE_CHECKING:
    from drivers.sim.virtual.grpc import Network


class ServerSetup(NamedTuple):
    """What a simulated device server is made of.

    Attributes:
        analog: the sampled channels.
        cylinders: the valves and pressures; None for none.
        range_V: converters' full scale, either sign [V].
        delivered: takes when samples that somebody waits for were due, and when they were there.
        host: whose clock is used.
        network: of virtual time, which it listens on; None: this computer's.
    """

    analog: Analog
    cylinders: Cylinders | None
    range_V: float
    delivered: TakesTimes
    host: Host
    network: Network | None = None


class SimulatedServer(Protocol):
    """A device server, with the data acquisition behind it."""

    @property
    def lines(self) -> Mapping[str, bool]:
        """States of the digital outputs."""

    def start(self) -> str:
        """Begin to serve; the endpoint, HOST:PORT."""

    def stop(self) -> None:
        """Serve no more; may be called twice."""

    def step(self, channel: int, volts: float, after: int) -> tuple[int, int]:
        """Add volts to a channel from so many samples on; that sample, and when it is taken [ns]."""

    def clear_steps(self) -> None:
        """Add nothing from now on."""

    def press(self, pressed: bool) -> None:
        """Press the emergency stop that it reads, or release it."""

    def inject_fault(self, fault: Mapping[str, Any]) -> None:
        """Have it fail as described: `kind` and its numbers. Raises ValueError: it knows no such fault."""
