"""The device's end of a simulated line on the network, and which user of this computer a datagram comes from."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from typing_extensions import override

from drivers.host import LARGEST
from drivers.sim.protocol.line import Terminal

# The kernel's lists of connections, and of UDP ports: own address and port in hexadecimal is the second column, the
# user the eighth. A socket may be one of IPv6, in which an address of IPv4 is the last four of sixteen bytes.
CONNECTIONS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
DATAGRAMS = (Path("/proc/net/udp"), Path("/proc/net/udp6"))
_ADDRESS, _USER = 1, 7
_IPV4_IN_IPV6 = "0000000000000000FFFF0000"


def is_own(host: str, port: int, listed: Sequence[Path] = CONNECTIONS) -> bool:
    """Whether a connection or datagram comes from this user: a port on the loopback address is open to all users.

    Args:
        host: address that it comes from.
        port: of its other end.
        listed: the kernel's lists.
    """
    return user_of(host, port, listed) == os.getuid()


def user_of(host: str, port: int, connections: Sequence[Path] = CONNECTIONS) -> int | None:
    """Returns the number of the user; None: the other end is not on this computer, or the connection is gone.

    Args:
        host: address that a connection comes from.
        port: of its other end.
        connections: the kernel's lists. A UDP port may be one of every address of the computer.
    """
    if not host.startswith("127."):
        return None
    address = bytes(reversed([int(part) for part in host.split(".")])).hex().upper()
    wanted = {f"{start}{address}:{port:04X}" for start in ("", _IPV4_IN_IPV6)}
    if connections == DATAGRAMS:
        wanted |= {f"{'0' * digits}:{port:04X}" for digits in (8, 32)}
    for listed in connections:
        for line in listed.read_text(encoding="ascii").splitlines()[1:] if listed.exists() else ():
            columns = line.split()
            if columns[_ADDRESS] in wanted:
                return int(columns[_USER])
    return None


# Nothing outside this computer reaches a simulated device.
_LOOPBACK = "127.0.0.1"


class UdpTerminal(Terminal):
    """The device's end of a line on the network: a UDP port of this computer, which the kernel chooses.

    It answers the process of this user that has written last, and drops datagrams of other users. Its number stays the
    same when the line is plugged in again.

    Args:
        path: of the line; not used.

    Attributes:
        endpoint: HOST:PORT that a driver opens.
    """

    characters = None

    def __init__(self, path: Path) -> None:  # noqa: ARG002
        self.endpoint = ""
        self._port = 0
        self._socket: socket.socket | None = None
        self._peer: tuple[str, int] | None = None

    @override
    def reconnect(self) -> None:
        if self._socket is not None:
            return
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.setblocking(False)
        # A thread that still waits for the port of before keeps that a moment longer. Not set for the first port: the
        # kernel would choose one that another line has.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, bool(self._port))
        self._socket.bind((_LOOPBACK, self._port))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, True)
        self._port = self._socket.getsockname()[1]
        self.endpoint = f"{_LOOPBACK}:{self._port}"

    @override
    def disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket, self._peer = None, None

    @override
    def fileno(self) -> int:
        return -1 if self._socket is None else self._socket.fileno()

    def read(self) -> bytes:
        """The oldest datagram that has come; b"" for none."""
        if self._socket is None:
            return b""
        try:
            while True:
                data, sender = self._socket.recvfrom(LARGEST)
                if sender == self._peer or is_own(sender[0], sender[1], DATAGRAMS):
                    self._peer = sender
                    return data
        except BlockingIOError:
            return b""

    @override
    def write(self, data: bytes) -> None:
        if self._socket is not None and self._peer is not None:
            with suppress(OSError):  # nobody reads any more
                self._socket.sendto(data, self._peer)
