"""The computer of a run in virtual time."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from drivers.host import Characters, SerialPort
from drivers.sim.virtual.datagrams import VirtualDatagramPort, VirtualDatagrams
from drivers.sim.virtual.schedule import SHORTEST_NS, Actor, VirtualTime
from drivers.sim.virtual.serial import VirtualSharedPort, VirtualTerminal

if TYPE_CHECKING:
    from drivers.sim.virtual.grpc import ServedChannel, VirtualServer


class VirtualHost:
    """A `drivers.host.Host` whose ports lead to simulated lines and whose network leads to simulated servers.

    Computing takes no time in a driver; waiting takes as long as in real time.

    Attributes:
        time: the virtual time.
        ports: ends of all simulated lines, by path or host:port.
        servers: listening servers, by host:port.
    """

    def __init__(self, time: VirtualTime) -> None:
        self.time = time
        self.ports: dict[str, VirtualTerminal | VirtualDatagrams] = {}
        self._datagrams: list[VirtualDatagramPort] = []
        self.servers: dict[str, VirtualServer] = {}

    def now_ns(self) -> int:
        """See `drivers.host.Host`."""
        self.time.check()
        return self.time.now_ns

    def sleep(self, seconds: float) -> None:
        """See `drivers.host.Host`."""
        self.sleep_until(self.time.now_ns + max(round(seconds * 1e9), SHORTEST_NS))

    def sleep_until(self, t_ns: int) -> None:
        """Wait until a time [ns]."""
        until_ns = max(t_ns, self.time.now_ns)
        self.time.sleep_until(until_ns)
        while self.time.now_ns < until_ns:  # woken by the event of an earlier wait
            self.time.sleep_until(until_ns)

    def rest(self, seconds: float) -> None:
        """See `drivers.host.Host`: who wakes the actor ends it."""
        self.time.sleep_until(self.time.now_ns + max(round(seconds * 1e9), SHORTEST_NS))

    def terminal(self, path: Path) -> VirtualTerminal:
        """Create the host's end of a line at a path."""
        return VirtualTerminal(self.time, path, self.ports)

    def network_terminal(self, path: Path) -> VirtualDatagrams:  # noqa: ARG002  it gets an address
        """Create the device's end of a line on the network."""
        return VirtualDatagrams(self.ports)

    def open_serial(self, port: str, baud: int, characters: Characters = "8n1") -> SerialPort:  # noqa: ARG002  the line keeps its own baud rate
        """See `drivers.host.Host`."""
        return self._terminal(port).open(characters)

    def open_shared(
        self,
        port: str,
        baud: int | None,  # noqa: ARG002  as above
        characters: Characters = "8n1",  # noqa: ARG002  as the driver has set them
    ) -> VirtualSharedPort:
        """See `drivers.host.Host`."""
        return VirtualSharedPort(self._terminal(port))

    def open_datagrams(self, address: str) -> VirtualDatagramPort:
        """See `drivers.host.Host`."""
        self.time.check()
        self._datagrams.append(VirtualDatagramPort(self.time, address, self.ports))
        return self._datagrams[-1]

    def open_channel(self, server: str, alive: Callable[[], None]) -> ServedChannel:
        """See `drivers.host.Host`."""
        from drivers.sim.virtual.grpc import ServedChannel  # needs the extra ni, which serial lines do without

        return ServedChannel(self, server, alive)

    def release(self, actor: Actor) -> None:
        """Close the ports of an actor, as the kernel does for a dead process."""
        opened = [terminal.port for terminal in self.ports.values() if isinstance(terminal, VirtualTerminal)]
        for port in (*opened, *self._datagrams):
            if port is not None and port.owner is actor:
                port.close()
        self._datagrams = [port for port in self._datagrams if port.owner is not None]

    def _terminal(self, port: str) -> VirtualTerminal:
        self.time.check()
        terminal = self.ports.get(port)
        if not isinstance(terminal, VirtualTerminal):
            raise OSError(errno.ENOENT, "No such file or directory")
        return terminal
