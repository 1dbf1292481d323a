"""The device's end of a simulated line on the network."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path

from typing_extensions import override

from drivers.sim.protocol.line import Terminal
from drivers.sim.protocol.local_peers import DATAGRAMS, is_own
from drivers.udp import LARGEST

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
