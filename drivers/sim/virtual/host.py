"""The computer of a run in virtual time, with its UDP ports."""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from drivers.host import SLICE_S, Characters, DatagramPort, SerialPort, host_and_port
from drivers.sim.protocol.line import Terminal
from drivers.sim.virtual.schedule import SHORTEST_NS, Actor, VirtualTime
from drivers.sim.virtual.serial import VirtualSharedPort, VirtualTerminal

if TYPE_CHECKING:
    from drivers.sim.virtual.grpc import ServedChannel, VirtualServer

_SLICE_NS = round(SLICE_S * 1e9)
# Addresses of simulated devices: ports that a system hands out by itself begin here.
_FIRST_PORT = 49152


class _VirtualDatagramPort(DatagramPort):
    """A `drivers.host.DatagramPort`.

    Args:
        time: the virtual time.
        address: HOST:PORT that is written to; nobody need be there.
        terminals: ends of simulated lines, by address.

    Attributes:
        owner: the actor that opened it, or None once it is closed.
        sender_port: see `drivers.host.DatagramPort`.
    """

    def __init__(self, time: VirtualTime, address: str, terminals: MutableMapping[str, Any]) -> None:
        self._time, self._address, self._terminals = time, address, terminals
        self._come: deque[tuple[int, bytes]] = deque()
        self.sender_port = 0
        self._reader: Actor | None = None
        self.owner: Actor | None = time.current

    @override
    def send(self, data: bytes, /) -> None:
        self._check()
        terminal = self._terminals.get(self._address)
        if isinstance(terminal, _VirtualDatagrams):
            terminal.take(self, data)

    @override
    def receive(self, *, wait: bool) -> bytes | None:
        self._check()
        if wait:
            self._reader = self._time.current
            self._time.wait(self._time.now_ns + _SLICE_NS, lambda: bool(self._come) or self.owner is None)
            self._reader = None
            self._check()
        if not self._come:
            return None
        self.sender_port, data = self._come.popleft()
        return data

    @override
    def close(self) -> None:
        self.owner = None

    def deliver(self, data: bytes, sender_port: int) -> None:
        """A datagram has come from a port of the other computer."""
        self._come.append((sender_port, data))
        if self._reader is not None:
            self._time.wake(self._reader)

    def _check(self) -> None:
        self._time.check()
        if self.owner is None:
            raise OSError(errno.EBADF, "Bad file descriptor")


class _VirtualDatagrams(Terminal):
    """The device's end of a simulated line: a `drivers.sim.protocol.line.Terminal`.

    Args:
        terminals: ends of simulated lines, by address; it adds itself while it is connected.

    Attributes:
        endpoint: HOST:PORT.
        port: that has written last, and that it answers.
        serve_now: requests a round of the line.
    """

    characters = None

    def __init__(self, terminals: MutableMapping[str, Any]) -> None:
        self._terminals = terminals
        used = sum(isinstance(terminal, _VirtualDatagrams) for terminal in terminals.values())
        self.endpoint = f"127.0.0.1:{_FIRST_PORT + used}"
        self.port: _VirtualDatagramPort | None = None
        self.serve_now: Callable[[], None] = lambda: None
        self._to_device: deque[tuple[_VirtualDatagramPort, bytes]] = deque()

    @override
    def reconnect(self) -> None:
        self._terminals[self.endpoint] = self

    @override
    def disconnect(self) -> None:
        self._terminals.pop(self.endpoint, None)
        self.port = None
        self._to_device.clear()

    def fileno(self) -> int:
        """There is none."""
        return -1

    def take(self, port: _VirtualDatagramPort, data: bytes) -> None:
        """A datagram has come from a port."""
        self._to_device.append((port, data))
        self.serve_now()

    @override
    def read(self) -> bytes:
        if not self._to_device:
            return b""
        self.port, data = self._to_device.popleft()
        return data

    @override
    def write(self, data: bytes) -> None:
        if self.port is not None and self.port.owner is not None:
            self.port.deliver(data, host_and_port(self.endpoint)[1])


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
        self.ports: dict[str, VirtualTerminal | _VirtualDatagrams] = {}
        self._datagrams: list[_VirtualDatagramPort] = []
        self.servers: dict[str, VirtualServer] = {}

    def now_ns(self) -> int:
        """The virtual time [ns]."""
        self.time.check()
        return self.time.now_ns

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass [s]."""
        self.sleep_until(self.time.now_ns + max(round(seconds * 1e9), SHORTEST_NS))

    def sleep_until(self, t_ns: int) -> None:
        """Wait until a time [ns]."""
        until_ns = max(t_ns, self.time.now_ns)
        self.time.sleep_until(until_ns)
        while self.time.now_ns < until_ns:  # woken by the event of an earlier wait
            self.time.sleep_until(until_ns)

    def rest(self, seconds: float) -> None:
        """Who wakes the actor ends it."""
        self.time.sleep_until(self.time.now_ns + max(round(seconds * 1e9), SHORTEST_NS))

    def terminal(self, path: Path) -> VirtualTerminal:
        """Create the host's end of a line at a path."""
        return VirtualTerminal(self.time, path, self.ports)

    def network_terminal(self, path: Path) -> _VirtualDatagrams:  # noqa: ARG002  it gets an address
        """Create the device's end of a line on the network."""
        return _VirtualDatagrams(self.ports)

    def open_serial(self, port: str, baud: int, characters: Characters = "8n1") -> SerialPort:  # noqa: ARG002  the line keeps its own baud rate
        """Open the port of a simulated line."""
        return self._terminal(port).open(characters)

    def open_shared(
        self,
        port: str,
        baud: int | None,  # noqa: ARG002  as above
        characters: Characters = "8n1",  # noqa: ARG002  as the driver has set them
    ) -> VirtualSharedPort:
        """Open it next to the driver that has it."""
        return VirtualSharedPort(self._terminal(port))

    def open_datagrams(self, address: str) -> _VirtualDatagramPort:
        """Open a port to a simulated device of the network."""
        self.time.check()
        self._datagrams.append(_VirtualDatagramPort(self.time, address, self.ports))
        return self._datagrams[-1]

    def open_channel(self, server: str, alive: Callable[[], None]) -> ServedChannel:
        """Open a channel to a simulated server."""
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
