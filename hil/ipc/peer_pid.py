"""The process at the other end of a unix socket."""

from __future__ import annotations

import socket
import struct

_CREDENTIALS = struct.Struct("3i")  # process, user, group


def peer_pid(connected: socket.socket) -> int:
    """Id of the process at the other end of a unix socket."""
    credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(credentials)[0])
