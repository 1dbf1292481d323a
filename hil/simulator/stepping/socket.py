"""The socket of the step service: ZeroMQ REP."""

from __future__ import annotations

import contextlib
from typing import Self

import zmq

from hil.config.schema.equipment import KeysConfig
from hil.messages.endpoints import is_local
from hil.operator.curve import CurveDoor, KeysError, own_path
from hil.operator.sockets import RequestSocket
from hil.processes.lifecycle import StopFlag
from hil.simulator.stepping.layout import MOST_FRAME_BYTES
from hil.simulator.stepping.service import StepService

_LOOK_MS = 200  # how often it looks whether it is to end
_BATCH = 64  # requests that it answers before it looks again


class StepSocket:
    """Serves a step service, one request after the other.

    The endpoint is tcp://ADDRESS:PORT; * as the port: a free one. Without keys, any client on this computer may
    connect.

    Raises ValueError: other computers reach the endpoint and there are no keys, it cannot be bound, or the keys are not
    in order.
    """

    def __init__(self, service: StepService, endpoint: str, keys: KeysConfig | None = None) -> None:
        if keys is None and not is_local(endpoint):
            raise ValueError(f"--endpoint {endpoint}: other computers reach it, needed: operator.keys in the config")
        self._service = service
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context(io_threads=1)
        self._context.setsockopt(zmq.LINGER, 0)
        self._door: CurveDoor | None = None
        try:
            self._bind(endpoint, keys)
        except BaseException:
            self.close()
            raise

    def _bind(self, endpoint: str, keys: KeysConfig | None) -> None:
        if keys is not None:
            try:
                self._door = CurveDoor(self._context, own_path(keys.secret), own_path(keys.clients))
            except KeysError as error:
                raise ValueError(f"operator.keys: {error}") from None
        options = {zmq.MAXMSGSIZE: MOST_FRAME_BYTES}
        self._requests = RequestSocket(self._context, zmq.REP, endpoint, "--endpoint", self._door, options)

    @property
    def endpoint(self) -> str:
        """As bound, with the port's number."""
        return self._requests.endpoint

    def serve(self, stop: StopFlag) -> None:
        """Answer requests until asked to end."""
        while not stop.ending:
            self.serve_for(_LOOK_MS)

    def serve_for(self, most_ms: int) -> None:
        """Wait so long [ms] for a request, and answer what has come."""
        if not self._requests.wait(most_ms):
            return
        socket = self._requests.socket
        with contextlib.suppress(zmq.Again):
            for _ in range(_BATCH):
                socket.send_multipart(self._service.answer(socket.recv_multipart(zmq.NOBLOCK)))

    def close(self) -> None:
        """End all connections; may be called twice."""
        self._context.destroy(linger=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
