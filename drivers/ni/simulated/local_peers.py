"""Which user a connection on this computer comes from, as the kernel lists it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

# The kernel's lists of connections: own address and port in hexadecimal is the second column, the user the eighth. A
# socket may be one of IPv6, in which an address of IPv4 is the last four of sixteen bytes.
CONNECTIONS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ADDRESS, _USER = 1, 7
_IPV4_IN_IPV6 = "0000000000000000FFFF0000"


def is_own(host: str, port: int) -> bool:
    """Whether a connection comes from a process of this user: a port on the loopback address is open to all users.

    Args:
        host: address that it comes from.
        port: of its other end.
    """
    return user_of(host, port) == os.getuid()


def user_of(host: str, port: int, connections: Sequence[Path] = CONNECTIONS) -> int | None:
    """Number of the user; None: the other end is not on this computer, or the connection is gone.

    Args:
        host: address that a connection comes from.
        port: of its other end.
        connections: the kernel's lists.
    """
    if not host.startswith("127."):
        return None
    address = bytes(reversed([int(part) for part in host.split(".")])).hex().upper()
    wanted = {f"{start}{address}:{port:04X}" for start in ("", _IPV4_IN_IPV6)}
    for listed in connections:
        for line in listed.read_text(encoding="ascii").splitlines()[1:] if listed.exists() else ():
            columns = line.split()
            if columns[_ADDRESS] in wanted:
                return int(columns[_USER])
    return None
