"""The end of a connection that calls: one call at a time, on the thread that makes it; and how a call fails."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

import grpc

from drivers.rpc.connection import ProtocolError, RpcConnection, Stream
from drivers.rpc.headers import HTTP, POST, fields


class _Entry(NamedTuple):
    """An entry of the metadata."""

    key: str
    value: str


class CallError(grpc.RpcError):  # type: ignore[misc]  # gRPC ships no types
    """A failed call, with the interface that gRPC's own errors have.

    Args:
        status: kind of the failure.
        text: its words.
        trailing: pairs of key and value that the server adds.
    """

    def __init__(self, status: grpc.StatusCode, text: str, trailing: Iterable[tuple[str, str]] = ()) -> None:
        super().__init__(text)
        self._status, self._text = status, text
        self._trailing = tuple(_Entry(key, value) for key, value in trailing)

    def code(self) -> grpc.StatusCode:
        """Its kind."""
        return self._status

    def details(self) -> str:
        """Its words."""
        return self._text

    def trailing_metadata(self) -> tuple[_Entry, ...]:
        """Returns what the server added."""
        return self._trailing


def unavailable(text: str) -> CallError:
    """There is no connection, or not any more."""
    return CallError(grpc.StatusCode.UNAVAILABLE, text)


T = TypeVar("T")
READ_BYTES = 65_536
# Sooner than this a lost server is not asked again [s].
_AGAIN_S = 0.05
_STATUS = {status.value[0]: status for status in grpc.StatusCode}
_OWN_FIELDS = ("grpc-status", "grpc-message", "content-type")


class Channel:
    """A channel to a device server, with the part of gRPC's interface that makes unary calls.

    It calls `alive` every few ms while it waits, so nothing else has to show that its process is alive. A call that
    hangs is over at its deadline. A connection that is lost is not opened again; one that is used up is followed by
    another before the next call.

    Args:
        server: host:port.
        alive: called while waiting.
        slice_s: time between two of these calls [s].
    """

    def __init__(self, server: str, alive: Callable[[], None], slice_s: float) -> None:
        self._server, self._alive, self._slice_s = server, alive, slice_s
        self._socket: socket.socket | None = None
        self._connection = RpcConnection(client=True)

    def connect(self, within_s: float) -> bool:
        """Connect, and await the server's settings; whether it has answered within `within_s` [s]."""
        until_ns = time.monotonic_ns() + round(within_s * 1e9)
        while time.monotonic_ns() < until_ns:
            try:
                self._open(until_ns)
                while not self._connection.settled:
                    self._receive(until_ns)
                    if time.monotonic_ns() >= until_ns:
                        raise _deadline()
            except (OSError, CallError):
                self.close()
                self._wait(min(time.monotonic_ns() + round(_AGAIN_S * 1e9), until_ns))
            else:
                return True
        return False

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def unary_unary(
        self,
        method: str,
        request_serializer: Callable[[Any], bytes],
        response_deserializer: Callable[[bytes], T],
        **_how: Any,
    ) -> Callable[[Any, Any, float], T]:
        """A method of the server: a function of request, metadata and timeout [s] that returns the answer.

        The function raises CallError.
        """
        authority = self._server

        def call(request: Any, metadata: Any, timeout: float) -> T:  # noqa: ARG001  the driver sends none
            return response_deserializer(
                self._call(_request(authority, method, timeout), request_serializer(request), timeout)
            )

        return call

    def unary_stream(self, *_args: Any, **_how: Any) -> None:
        """Events, which are not used here."""

    def _call(self, block: bytes, message: bytes, timeout: float) -> bytes:
        """The message of the answer. Raises CallError."""
        connection, until_ns = self._connection, time.monotonic_ns() + round(timeout * 1e9)
        # what arrived while this process could not run is still read; a server that never stops sending is not
        last_ns = until_ns + round(timeout * 1e9)
        if self._socket is None or connection.goes_away:
            raise unavailable("no connection")
        if connection.used_up:
            self.close()
            try:
                self._open(until_ns)
            except OSError as error:
                raise unavailable(f"no connection after the one that is used up: {error}") from error
            connection = self._connection
        number = connection.call(block, message)
        try:
            while True:
                for stream in self._receive(until_ns):
                    if stream.number == number:
                        return _answer(stream)
                if time.monotonic_ns() >= last_ns:
                    raise _deadline()
        except (OSError, ProtocolError) as error:
            self.close()
            raise unavailable(f"connection lost: {error}") from error
        except CallError as error:
            if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                connection.give_up(number)
            raise

    def _open(self, until_ns: int) -> None:
        """Connect to the first address that answers. Raises OSError, CallError."""
        host, _, port = self._server.rpartition(":")
        error: OSError = ConnectionRefusedError("no address")
        for family, kind, protocol, _, address in socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM):
            made = socket.socket(family, kind, protocol)
            try:
                # a send waits so long, too: to a server that reads nothing
                _set_times(made, self._slice_s, max((until_ns - time.monotonic_ns()) * 1e-9, self._slice_s))
                made.connect(address)
            except OSError as found:
                made.close()
                error = found
                continue
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket, self._connection = made, RpcConnection(client=True)
            return
        raise error

    def _receive(self, until_ns: int) -> list[Stream]:
        """Send what is to be sent, and take what comes next. Raises CallError: nothing came in time; OSError."""
        assert self._socket is not None
        if out := self._connection.output():
            self._socket.sendall(out)
        while True:
            try:
                data = self._socket.recv(READ_BYTES)
            except BlockingIOError:
                self._alive()
                if time.monotonic_ns() >= until_ns:
                    raise _deadline() from None
                continue
            self._alive()
            if not data:
                raise ConnectionResetError("closed by the server")
            return self._connection.receive(data)

    def _wait(self, until_ns: int) -> None:
        while time.monotonic_ns() < until_ns:
            time.sleep(self._slice_s)
            self._alive()


def _deadline() -> CallError:
    return CallError(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")


def _set_times(made: socket.socket, receive_s: float, send_s: float) -> None:
    """Let a blocking read or write of a socket end after so long: one call of the kernel, where a poll makes it two."""
    for option, seconds in ((socket.SO_RCVTIMEO, receive_s), (socket.SO_SNDTIMEO, send_s)):
        made.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", int(seconds), round(seconds % 1 * 1e6)))


@lru_cache(maxsize=256)
def _request(authority: str, method: str, timeout: float) -> bytes:
    """Returns the headers of a request."""
    more = {"te": "trailers", "grpc-timeout": f"{round(timeout * 1e3)}m", "content-type": "application/grpc"}
    return POST + HTTP + fields({":path": method, ":authority": authority, **more}.items())


def _answer(stream: Stream) -> bytes:
    """The message of an answer. Raises CallError, ProtocolError."""
    if stream.reset is not None:
        raise unavailable(f"the server gave the call up, HTTP/2 error {stream.reset}")
    last = stream.headers[-1] if stream.headers else {}
    status = last.get("grpc-status", "")
    if status == "0":
        return stream.message()
    if not status.isdigit():
        raise unavailable(f"the answer is not of gRPC: HTTP status {last.get(':status', 'none')}")
    trailing = [(name, value) for name, value in last.items() if name not in _OWN_FIELDS and name[:1] != ":"]
    raise CallError(_STATUS.get(int(status), grpc.StatusCode.UNKNOWN), unquote(last.get("grpc-message", "")), trailing)
