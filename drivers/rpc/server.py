"""The end of a connection that answers: a thread for each connection, which carries its calls out itself."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from urllib.parse import quote

import grpc

from drivers.rpc.channel import READ_BYTES, CallError
from drivers.rpc.connection import ProtocolError, RpcConnection, Stream
from drivers.rpc.headers import OK, field, fields

# What a method does: a function from the message of a request to that of its answer, which may raise CallError.
Handler = Callable[[bytes], bytes]
_HEAD = OK + field("content-type", "application/grpc")
_DONE = field("grpc-status", "0")
_FREE = " !#$&'()*+,/:;<=>?@[]^_`{|}~\""  # characters that gRPC leaves in a message as they are


class Server:
    """A device server.

    Args:
        handlers: by the name of the method, without that of the service.
        admits: whether a connection from an address, host and port, is served.
    """

    def __init__(self, handlers: Mapping[str, Handler], admits: Callable[[str, int], bool]) -> None:
        self._handlers, self._admits = handlers, admits
        self._listening: socket.socket | None = None
        self._open: dict[threading.Thread, socket.socket] = {}
        self._lock = threading.Lock()

    def listen(self, host: str, port: int) -> int:
        """Accept connections from now on; the port, chosen if 0. Raises OSError: it is in use."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listening = made = socket.create_server((host, port), family=family)
        threading.Thread(target=self._accept, args=(made,), name="rpc", daemon=True).start()
        return int(made.getsockname()[1])

    def stop(self) -> None:
        """Close all connections, and accept no more; may be called twice."""
        listening, self._listening = self._listening, None
        if listening is not None:
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            listening.close()
        with self._lock:
            served = dict(self._open)
        for thread, connected in served.items():
            with suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)
            if thread is not threading.current_thread():
                thread.join()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connected, (host, port, *_) = listening.accept()
            except OSError:
                return  # stopped
            thread = threading.Thread(target=self._serve, args=(connected, host, port), name="rpc", daemon=True)
            with self._lock:
                if self._listening is not listening:
                    connected.close()
                    return
                self._open[thread] = connected
            thread.start()

    def _serve(self, connected: socket.socket, host: str, port: int) -> None:
        connection, admitted = RpcConnection(client=False), self._admits(host, port)
        try:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connected.sendall(connection.output())
            while data := connected.recv(READ_BYTES):
                for stream in connection.receive(data):
                    self._answer(connection, stream, admitted)
                if out := connection.output():
                    connected.sendall(out)
        except (OSError, ProtocolError):
            pass  # lost, or not a client of ours
        finally:
            connected.close()
            with self._lock:
                self._open.pop(threading.current_thread(), None)

    def _answer(self, connection: RpcConnection, stream: Stream, admitted: bool) -> None:
        name = stream.headers[0].get(":path", "").rpartition("/")[2]
        try:
            if not admitted:
                raise CallError(grpc.StatusCode.PERMISSION_DENIED, "this simulated rig belongs to another user")
            if (handler := self._handlers.get(name)) is None:
                raise CallError(grpc.StatusCode.UNIMPLEMENTED, "Method not found!")
            connection.answer(stream.number, _HEAD, handler(stream.message()), _DONE)
        except CallError as error:
            head = (("grpc-status", str(error.code().value[0])), ("grpc-message", quote(error.details(), safe=_FREE)))
            trailing = tuple((entry.key, entry.value) for entry in error.trailing_metadata())
            connection.fail(stream.number, _HEAD + fields(head + trailing))
