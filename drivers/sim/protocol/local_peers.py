"""Which user a connection or datagram on this computer comes from, as the kernel lists it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

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
