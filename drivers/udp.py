"""A UDP port of this computer to a device."""

from __future__ import annotations

import socket
import time

# Largest datagram that UDP over IPv4 carries [bytes].
LARGEST = 65507
# Datagrams of about a second that wait while this process is not let run [bytes]; the kernel may grant less.
_WAITING = 1 << 20


def host_and_port(address: str) -> tuple[str, int]:
    """Returns the parts of HOST:PORT.

    Raises:
        OSError: it is not of this form.

    Example:
        >>> host_and_port("192.168.1.5:1510")
        ('192.168.1.5', 1510)
    """
    host, colon, port = address.rpartition(":")
    if not (host and colon and port.isdecimal()):
        raise OSError(f"{address!r} is not HOST:PORT")
    return host, int(port)


class UdpPort:
    """A `drivers.host.DatagramPort` of this computer.

    It is not connected to one port of the other computer: a device may answer from another one than it is asked at.
    Datagrams of other computers are dropped.

    Args:
        address: HOST:PORT that is written to.
        slice_s: how long a receiver waits at most [s].

    Attributes:
        sender_port: see `drivers.host.DatagramPort`.

    Raises:
        OSError: no such host, or no network.
    """

    def __init__(self, address: str, slice_s: float) -> None:
        self.sender_port = 0
        host, port = host_and_port(address)
        family, _, _, _, found = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_DGRAM)[0]
        self._to = (str(found[0]), port)
        self._slice_s = slice_s
        self._socket = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _WAITING)
            self._socket.bind(("", 0))
        except OSError:
            self._socket.close()
            raise

    def send(self, data: bytes, /) -> None:
        """See `drivers.host.DatagramPort`."""
        self._socket.settimeout(self._slice_s)
        self._socket.sendto(data, self._to)

    def receive(self, *, wait: bool) -> bytes | None:
        """See `drivers.host.DatagramPort`."""
        left_s, until_s = self._slice_s, time.monotonic() + self._slice_s
        try:
            while left_s > 0.0:  # datagrams of others do not make it longer
                self._socket.settimeout(left_s if wait else 0.0)
                data, sender = self._socket.recvfrom(LARGEST)
                if sender[0] == self._to[0]:
                    self.sender_port = int(sender[1])
                    return data
                left_s = until_s - time.monotonic()
        except (BlockingIOError, TimeoutError):
            pass
        return None

    def close(self) -> None:
        """See `drivers.host.DatagramPort`."""
        self._socket.close()
