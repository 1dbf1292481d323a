"""The command socket: ZeroMQ ROUTER, one frame a request, one frame a reply, every decision by the command gate."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import socket as sockets
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import zmq
from typing_extensions import override

from drivers.host import COMPUTER, Host
from hil.config.schema.equipment import is_local
from hil.ipc.shared_types import LEASE, LONGEST_HOLDER, OPERATOR_COMMANDS, STATUS, CommandMemory, OperatorWriter
from hil.messages.operator_input import EStop, LeaseChange, OperatorRequest, RefusedCommands, Stop
from hil.operator.command_messages import CommandGate, CommandSink
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
        endpoint: tcp://ADDRESS:PORT; * as the port: a free one.
        door: asks the keys of clients; None: any client.
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


# A longer frame ends its connection before it is read [bytes]; the gate refuses what is shorter, with a reason.
MOST_FRAME_BYTES = 65536
# Requests answered before the lease and the other sockets are looked at again.
_BATCH = 64
# Requests of one connection that wait, and replies that a client does not fetch; more are held back, or dropped.
_WAITING_REQUESTS, _WAITING_REPLIES = 16, 100
_FAILED = zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL


class SharedCommands(CommandSink):
    """Commands, lease and status in memory shared with the resident process (`CommandSink`).

    Args:
        memory: opened by this process, the only one that writes to its ring.
    """

    def __init__(self, memory: CommandMemory) -> None:
        self._memory, self._writer = memory, OperatorWriter(memory.commands)
        self._loop = memory.commands.reader("loop")
        self._lease, self._status = np.zeros(1, LEASE), np.zeros(1, STATUS)

    @override
    def put(self, command: OperatorRequest) -> bool:
        """A quarter of the ring is for stops only."""
        if not isinstance(command, Stop | EStop) and self._loop.depth >= OPERATOR_COMMANDS * 3 // 4:
            return False
        return self._writer.put(command)

    @override
    def report(self, notice: LeaseChange | RefusedCommands) -> None:
        """Half of the ring is for commands only."""
        if self._loop.depth < OPERATOR_COMMANDS // 2:
            self._writer.put(notice)

    @override
    def set_lease(self, holder: str, t_ns: int) -> None:
        self._lease[0] = (holder.encode()[:LONGEST_HOLDER], bool(holder), t_ns)
        self._memory.lease.write(self._lease)

    @override
    def status(self) -> bytes:
        return bytes(self._status["content"].item()) if self._memory.status.read(self._status) > 0 else b""


class CommandSocket:
    """Serves clients of the command socket.

    Args:
        endpoint: tcp://ADDRESS:PORT; * as the port: a free one.
        token: that clients have to know; None with keys.
        secret: file of this computer's secret CURVE key; None: no keys.
        clients: folder of the public keys of allowed clients; None: no keys.

    Attributes:
        gate: that decides.

    Raises:
        ValueError: other computers reach the endpoint and there are no keys, or it cannot be bound.
        KeysError: the keys are not in order.
    """

    def __init__(
        self,
        endpoint: str,
        sink: SharedCommands,
        *,
        token: bytes | None = None,
        secret: Path | None = None,
        clients: Path | None = None,
        host: Host = COMPUTER,
    ) -> None:
        if secret is None and not is_local(endpoint):
            raise ValueError(f"operator.endpoint is {endpoint}, which other computers reach: operator.keys is needed")
        if (token is None) == (secret is None):
            raise ValueError("command socket: either a token or keys")
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context(io_threads=1)
        self._context.setsockopt(zmq.LINGER, 0)
        self._door: CurveDoor | None = None
        try:
            if secret is not None and clients is not None:
                self._door = CurveDoor(self._context, secret, clients)
            options = {
                zmq.RCVHWM: _WAITING_REQUESTS, zmq.SNDHWM: _WAITING_REPLIES, zmq.MAXMSGSIZE: MOST_FRAME_BYTES,
            }  # fmt: skip
            where = endpoint, "operator.endpoint is"
            self._requests = RequestSocket(self._context, zmq.ROUTER, *where, self._door, options, _FAILED)
        except BaseException:
            self.close()
            raise
        self.gate, self._host = CommandGate(sink, token), host

    @property
    def endpoint(self) -> str:
        """As bound, with the port's number."""
        return self._requests.endpoint

    def serve(self, within_s: float) -> None:
        """Answer what has come, or what comes within `within_s` [s], and end a lease that has expired."""
        self._requests.wait(round(within_s * 1e3))
        while self._requests.failures is not None and self._requests.failures.poll(0):
            self._requests.failures.recv_multipart()
            self.gate.count("not_authenticated")
        for _ in range(_BATCH):
            if not self._answer_one():
                break
        self.gate.pass_time(self._host.now_ns())

    def _answer_one(self) -> bool:
        """Whether there was a request."""
        try:
            peer, *frames = self._requests.socket.recv_multipart(zmq.NOBLOCK, copy=False)
        except zmq.Again:
            return False
        if len(frames) != 1:
            self.gate.count("malformed")
            return True
        reply = self.gate.handle(frames[0].bytes, _key(frames[0]) if self._door else "", self._host.now_ns())
        if reply is not None:
            with contextlib.suppress(zmq.ZMQError):  # the client is gone, or does not read
                self._requests.socket.send_multipart([peer.bytes, reply], zmq.NOBLOCK)
        return True

    def close(self) -> None:
        """End all connections; may be called twice."""
        self._context.destroy(linger=0)


def _key(frame: zmq.Frame) -> str:
    """Name of the CURVE key that the connection of a frame has proved; "": none."""
    try:
        return str(frame.get("User-Id"))
    except zmq.ZMQError:
        return ""
