"""The command socket: ZeroMQ ROUTER, one frame a request, one frame a reply, every decision by the command gate."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import zmq
from typing_extensions import override

from drivers.host import COMPUTER, Host
from hil.ipc.command_memory import LEASE, LONGEST_HOLDER, OPERATOR_COMMANDS, STATUS, CommandMemory
from hil.ipc.operator import OperatorWriter
from hil.messages.endpoints import is_local
from hil.messages.operator_input import EStop, LeaseChange, OperatorRequest, RefusedCommands, Stop
from hil.operator.command_gate import CommandGate, CommandSink
from hil.operator.curve import CurveDoor
from hil.operator.listening import RequestSocket

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
        sink: where accepted commands go.
        token: that clients have to know; None with keys.
        secret: file of this computer's secret CURVE key; None: no keys.
        clients: folder of the public keys of allowed clients; None: no keys.
        host: whose clock says when a lease expires.

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
