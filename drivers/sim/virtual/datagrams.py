"""UDP ports in virtual time: the driver's port, and the end of a simulated line on a network."""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, MutableMapping
from typing import Any

from typing_extensions import override

from drivers.host import SLICE_S, DatagramPort
from drivers.sim.protocol.line import Terminal
from drivers.sim.virtual.schedule import Actor, VirtualTime
from drivers.udp import host_and_port

_SLICE_NS = round(SLICE_S * 1e9)
# Addresses of simulated devices: ports that a system hands out by itself begin here.
_FIRST_PORT = 49152


class VirtualDatagramPort(DatagramPort):
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
        if isinstance(terminal, VirtualDatagrams):
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


class VirtualDatagrams(Terminal):
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
        used = sum(isinstance(terminal, VirtualDatagrams) for terminal in terminals.values())
        self.endpoint = f"127.0.0.1:{_FIRST_PORT + used}"
        self.port: VirtualDatagramPort | None = None
        self.serve_now: Callable[[], None] = lambda: None
        self._to_device: deque[tuple[VirtualDatagramPort, bytes]] = deque()

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

    def take(self, port: VirtualDatagramPort, data: bytes) -> None:
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
