"""ZeroMQ sockets that listen: where they may bind, and a poller that wakes for one and for its clients' keys."""

from __future__ import annotations

import errno
import os
import socket as sockets
import stat
from collections.abc import Iterable
from typing import Any

import zmq

from hil.operator.curve import CurveDoor

# A connection that has not proved its keys by then is ended [ms].
_HANDSHAKE_MS = 5000
_ALLOWED = "tcp://ADDRESS:PORT with an address of this machine and a free port, or * as the port"


def listen(
    socket: zmq.Socket[Any], endpoint: str, setting: str, door: CurveDoor | None, most_bytes: int,
    others: Iterable[zmq.Socket[Any]] = (),
) -> tuple[zmq.Poller, str]:  # fmt: skip
    """Bind a socket that takes requests.

    Args:
        socket: not bound yet.
        endpoint: tcp://ADDRESS:PORT; * as the port: a free one.
        setting: that holds the endpoint, for the error.
        door: asks the keys of clients; None: any client.
        most_bytes: of a frame; a longer one ends its connection.
        others: sockets that wake the poller as well.

    Returns:
        A poller of all that may come in, and the endpoint as bound, with the port's number.

    Raises:
        ValueError: it cannot be bound.
    """
    socket.setsockopt(zmq.MAXMSGSIZE, most_bytes)
    socket.setsockopt(zmq.HANDSHAKE_IVL, _HANDSHAKE_MS)
    poller = zmq.Poller()
    for one in (socket, *others, *([door.waiting] if door else [])):
        poller.register(one, zmq.POLLIN)
    if door:
        door.protect(socket)
    try:
        bind(socket, endpoint)
    except zmq.ZMQError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise ValueError(f"{setting} {endpoint}: {why}; allowed: {_ALLOWED}") from None
    return poller, socket.getsockopt_string(zmq.LAST_ENDPOINT)


def bind(socket: zmq.Socket[Any], endpoint: str) -> None:
    """Bind a socket; of ipc:// only where nothing is, or the socket of a program that has ended.

    libzmq itself removes what is at the path, a file of the user's or the socket of a program that listens.

    Raises:
        zmq.ZMQError: with EEXIST, a file is there; with EADDRINUSE, a program listens there; as of libzmq.
    """
    scheme, _, path = endpoint.partition("://")
    if scheme == "ipc" and os.path.lexists(path) and path != "*":
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise zmq.ZMQError(errno.EEXIST)
        with sockets.socket(sockets.AF_UNIX) as probe:
            probe.setblocking(False)
            if probe.connect_ex(path) != errno.ECONNREFUSED:
                raise zmq.ZMQError(errno.EADDRINUSE)
    socket.bind(endpoint)
