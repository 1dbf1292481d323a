"""A ZeroMQ socket that listens, and a poller that wakes for it and for the keys of its clients."""

from __future__ import annotations

import os
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
        socket.bind(endpoint)
    except zmq.ZMQError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise ValueError(f"{setting} {endpoint}: {why}; allowed: {_ALLOWED}") from None
    return poller, socket.getsockopt_string(zmq.LAST_ENDPOINT)
