"""A ZeroMQ socket that takes requests, wakes for them and for the keys of its clients, and bounds what they cost."""

from __future__ import annotations

import errno
import os
import resource
import socket as sockets
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import zmq

from hil.operator.curve import CurveDoor

# A connection that has not proved its keys by then is ended [ms].
_HANDSHAKE_MS = 5000
# By how much a server may grow while it waits before it ends its connections [bytes].
MOST_GROWTH = 128 * 2**20
# The port of a socket that was just closed is free again within this time [s].
_FREE_S = 1.0
_ALLOWED = "tcp://ADDRESS:PORT with an address of this machine and a free port, or * as the port"


class RequestSocket:
    """A socket that takes requests.

    ZeroMQ keeps the parts of a message until its last one has come, whatever limits the socket has, and tells nobody
    before: a client that sends parts without end fills the memory. So the socket is closed, and opened anew, where
    this process has grown by MOST_GROWTH while nothing came; honest clients connect again by themselves.

    Args:
        context: of the socket.
        kind: zmq.REP or zmq.ROUTER.
        endpoint: tcp://ADDRESS:PORT; * as the port: a free one.
        setting: that holds the endpoint, for the error.
        door: asks the keys of clients; None: any client.
        options: of the socket.
        watched: events of the socket to be reported (`failures`); 0: none.

    Attributes:
        socket: may be another one after each `wait`.
        failures: receives the events that are watched; None: none is.
        endpoint: as bound, with the port's number.

    Raises:
        ValueError: it cannot be bound.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        kind: int,
        endpoint: str,
        setting: str,
        door: CurveDoor | None,
        options: Mapping[zmq.SocketOption, int],
        watched: int = 0,
    ) -> None:
        self._context, self._kind, self._setting, self._door = context, kind, setting, door
        self._options, self._watched = {zmq.HANDSHAKE_IVL: _HANDSHAKE_MS, **options}, watched
        self._grown = 0
        self.endpoint = endpoint
        self._open(time.monotonic())

    def _open(self, give_up_s: float) -> None:
        self.socket = self._context.socket(self._kind)
        self.failures: zmq.Socket[Any] | None = self.socket.get_monitor_socket(self._watched) if self._watched else None
        for option, value in self._options.items():
            self.socket.setsockopt(option, value)
        self._poller = zmq.Poller()
        for one in (self.socket, self.failures, self._door and self._door.waiting):
            if one is not None:
                self._poller.register(one, zmq.POLLIN)
        if self._door:
            self._door.protect(self.socket)
        while True:
            try:
                bind(self.socket, self.endpoint)
                break
            except zmq.ZMQError as error:
                if time.monotonic() >= give_up_s:
                    why = os.strerror(error.errno) if error.errno else str(error)
                    raise ValueError(f"{self._setting} {self.endpoint}: {why}; allowed: {_ALLOWED}") from None
            time.sleep(0.001)
        self.endpoint = self.socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def wait(self, most_ms: int) -> bool:
        """Wait so long [ms] for something to come in, and decide about clients with keys; whether something came."""
        before = _resident()
        came = bool(self._poller.poll(most_ms))
        if not came:
            self._grown = max(0, self._grown + _resident() - before)
        if self._grown > MOST_GROWTH:
            if self.failures is not None:
                self.socket.disable_monitor()
                self.failures.close(linger=0)
            self.socket.close(linger=0)
            self._open(time.monotonic() + _FREE_S)
            self._grown = 0
            return False
        if self._door:
            self._door.answer()
        return came


def _resident() -> int:
    """Memory of this process [bytes]."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


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
