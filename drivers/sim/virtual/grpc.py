"""A device server in virtual time: nidaqmx's serialised requests and answers, without a network."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import grpc

from drivers.host import SLICE_S, Host
from drivers.rpc.channel import CallError, unavailable
from drivers.rpc.server import Handler
from drivers.sim.virtual.schedule import NEVER_NS, Actor, VirtualTime


class VirtualServer(Protocol):
    """A server of the virtual network."""

    @property
    def called(self) -> Mapping[str, Handler]:
        """What each method does, by its name."""


class Network(Host, Protocol):
    """Table of listening servers."""

    time: VirtualTime
    servers: dict[str, VirtualServer]


class ServedChannel:
    """A channel to a server of the virtual network; calls on it are served one after the other.

    Args:
        network: of the server.
        server: host:port.
        alive: called every few ms while a call waits.
    """

    def __init__(self, network: Network, server: str, alive: Callable[[], None]) -> None:
        self.network, self.server, self.alive = network, server, alive
        self._calls: deque[Call] = deque()
        self._actor: Actor | None = None

    def unary_unary(self, method: str, serialise: Any = None, deserialise: Any = None, **how: Any) -> _Method:
        """A method of the server."""
        serialise = serialise or how["request_serializer"]
        return _Method(self, method.rpartition("/")[2], serialise, deserialise or how["response_deserializer"])

    def unary_stream(self, *args: Any, **how: Any) -> None:
        """Events, which are not used here."""

    def close(self) -> None:
        """Close the channel; waiting calls are not served any more."""
        self._calls.clear()

    def connect(self, within_s: float) -> bool:
        """Whether the server answers within so long [s]."""
        until_ns = self.network.now_ns() + round(within_s * 1e9)
        while self.server not in self.network.servers:
            self.network.sleep(SLICE_S)
            self.alive()
            if self.network.now_ns() > until_ns:
                return False
        return True

    def serve(self, call: Call) -> None:
        """Queue a call for the server."""
        self._calls.append(call)
        time = self.network.time
        if self._actor is None:
            self._actor = time.start(f"call of {self.server}", self._serve, device=True)
        else:
            time.wake(self._actor)

    def _serve(self) -> None:
        time = self.network.time
        while time.wait(NEVER_NS, lambda: bool(self._calls)):
            self._calls.popleft().run()


class _Method:
    def __init__(self, channel: ServedChannel, name: str, serialise: Callable[[Any], bytes], deserialise: Any) -> None:
        self._channel, self._name, self._serialise, self._deserialise = channel, name, serialise, deserialise

    def __call__(self, request: Any, metadata: Any, timeout: float) -> Any:  # noqa: ARG002
        """The answer. Raises grpc.RpcError."""
        call = Call(self._channel, self._name, self._serialise(request), self._deserialise, timeout)
        while not call.ends_within(SLICE_S):
            self._channel.alive()
        return call.answer()


class Call:
    """A call that has not ended."""

    def __init__(self, channel: ServedChannel, name: str, request: bytes, deserialise: Any, timeout: float) -> None:
        self._channel, self._name, self._request, self._deserialise = channel, name, request, deserialise
        self._time = channel.network.time
        self._until_ns = self._time.now_ns + round(timeout * 1e9)
        self._caller = self._time.current
        self._answer: bytes | None = None
        self._error: CallError | None = None
        self._time.check()
        if channel.server in channel.network.servers:
            channel.serve(self)
        else:
            self._error = unavailable("no connection")

    def run(self) -> None:
        """Set the answer or the failure; called by the server."""
        server = self._channel.network.servers.get(self._channel.server)
        try:
            if server is None:
                raise unavailable("Socket closed")
            if (handler := server.called.get(self._name)) is None:
                raise CallError(grpc.StatusCode.UNIMPLEMENTED, "Method not found!")
            answer = handler(self._request)
            if self._channel.network.servers.get(self._channel.server) is not server:
                raise unavailable("Socket closed")
            self._answer = answer
        except CallError as error:
            self._error = error
        self._time.wake(self._caller)

    def ends_within(self, seconds: float) -> bool:
        """Wait for so long; whether the call has ended."""
        time = self._time
        slice_ns = time.now_ns + round(seconds * 1e9)
        time.wait(min(slice_ns, self._until_ns), lambda: self._answer is not None or self._error is not None)
        if self._answer is None and self._error is None and time.now_ns >= self._until_ns:
            self._error = CallError(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")
        return self._answer is not None or self._error is not None

    def answer(self) -> Any:
        """The answer of a call that has ended. Raises grpc.RpcError."""
        if self._error is not None:
            raise self._error
        return self._deserialise(self._answer)
