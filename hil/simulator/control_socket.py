"""The control socket of a simulated rig, and the commands to its processes: one JSON line in, one JSON line out."""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import selectors
import socket
import sys
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self

from drivers.interfaces import DeviceError
from hil.ipc.shared_types import peer_pid
from hil.processes.lifecycle import WorkerLifecycle

Answer = Mapping[str, Any]
Handler = Callable[[dict[str, Any]], Answer]
_READ_CHUNK = 65536


class CommandReader:
    """Reads commands from the process that started this one.

    If a handler raises ValueError, KeyError or TypeError, the answer has `error`.
    """

    def __init__(self, lifecycle: WorkerLifecycle, handlers: Mapping[str, Handler]) -> None:
        self._lifecycle, self._handlers = lifecycle, handlers
        self._input = sys.stdin.fileno()
        self._rest = b""

    def look(self, wait_s: float = 0.0) -> None:
        """Execute the commands that have arrived; wait at most `wait_s` [s] for the first."""
        if not select.select([self._input], [], [], wait_s)[0]:
            return
        data = os.read(self._input, _READ_CHUNK)
        if not data:  # the sender of commands is gone; SIGTERM then ends this process
            self._lifecycle.ending = True
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._lifecycle.report(**dispatch(line, self._handlers))


def _finite(text: str) -> float:
    """Raises ValueError: NaN and Infinity are not JSON, and no command accepts them or a number too large for float."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is not a finite number")
    return value


def _in_words(error: Exception) -> str:
    """The message of an error as text that can be sent: a command may have contained invalid Unicode."""
    try:
        return str(error).encode("utf-8", "backslashreplace").decode()
    except UnicodeError:
        return "text that is not valid Unicode"


def dispatch(line: bytes, handlers: Mapping[str, Handler]) -> Answer:
    """The answer to one line; `error` describes what is wrong with it."""
    try:
        command = json.loads(line, parse_constant=_finite, parse_float=_finite)
        if not isinstance(command, dict) or command.get("do") not in handlers:
            raise ValueError(f"a command is an object whose `do` is one of {', '.join(sorted(handlers))}")
        return {"ok": True, **handlers[command.pop("do")](command)}
    except KeyError as error:
        return {"ok": False, "error": f"the command needs {_in_words(error)}"}
    except ValueError as error:
        return {"ok": False, "error": _in_words(error)}
    except (TypeError, OverflowError, RecursionError) as error:
        return {"ok": False, "error": f"{type(error).__name__}: {_in_words(error)}"}


# After a reset the rover settles on its soil, which takes a second.
ANSWER_S = 30.0
_MAX_LINE = 1_000_000


class ControlServer:
    """A unix socket for any number of clients: one JSON line per command, one JSON line per answer.

    Only its owner may open it. Commands of `owned` reserve the rig for their client until it disconnects; they are
    refused to others meanwhile.
    """

    def __init__(self, path: Path, handlers: Mapping[str, Handler], owned: Collection[str] = ()) -> None:
        self._path, self._handlers, self._owned = path, handlers, owned
        self._owner: socket.socket | None = None
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(path))
        path.chmod(0o600)
        self._socket.listen()
        self._rests: dict[socket.socket, bytes] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ)

    def serve(self, goes_on: Callable[[], bool], every_s: float = 0.1) -> None:
        """Answer until `goes_on` returns False; it is called at least every `every_s` [s]."""
        while goes_on():
            for key, _ in self._selector.select(every_s):
                if key.fileobj is self._socket:
                    client, _address = self._socket.accept()
                    self._rests[client] = b""
                    self._selector.register(client, selectors.EVENT_READ)
                elif isinstance(key.fileobj, socket.socket):
                    self._receive(key.fileobj)

    def close(self) -> None:
        """Disconnect all clients and remove the socket."""
        for client in list(self._rests):
            self._drop(client)
        self._selector.close()
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def _receive(self, client: socket.socket) -> None:
        try:
            data = client.recv(_READ_CHUNK)
            *lines, self._rests[client] = (self._rests[client] + data).split(b"\n")
            owned = {do: partial(self._own, client, self._handlers[do]) for do in self._owned}
            for line in lines:
                client.sendall(json.dumps(dispatch(line, {**self._handlers, **owned})).encode() + b"\n")
        except OSError:
            data = b""
        if not data or len(self._rests[client]) > _MAX_LINE:
            self._drop(client)

    def _own(self, client: socket.socket, handler: Handler, command: dict[str, Any]) -> Answer:
        """Raises ValueError: the rig is reserved for another client."""
        if self._owner not in (None, client):
            owner = peer_pid(self._owner)
            raise ValueError(f"process {owner} is running on this rig: wait until it ends or stop it (Ctrl-C there)")
        self._owner = client
        return handler(command)

    def _drop(self, client: socket.socket) -> None:
        if self._owner is client:
            self._owner = None
        del self._rests[client]
        self._selector.unregister(client)
        client.close()


class RigControl(Protocol):
    """Sends commands to a simulated rig, by its socket or directly."""

    def ask(self, do: str, **command: Any) -> dict[str, Any]:
        """Send one command and return its answer. Raises DeviceError: refused, or the rig is gone."""


class ControlClient:
    """A client of the control socket. Raises DeviceError: no server listens there."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(ANSWER_S)
        self._rest = b""
        try:
            self._socket.connect(self._path)
        except OSError as error:
            self._socket.close()
            raise DeviceError(f"simulated rig: no server at {self._path} ({error}); is `hil sim` running?") from error

    def ask(self, do: str, **command: Any) -> dict[str, Any]:
        """Send one command and wait for its answer. Raises DeviceError: refused, or the rig is gone."""
        try:
            self._socket.sendall(json.dumps({"do": do, **command}).encode() + b"\n")
            while b"\n" not in self._rest:
                if not (data := self._socket.recv(_READ_CHUNK)):
                    raise ConnectionError("connection closed")
                self._rest += data
        except OSError as error:
            raise DeviceError(f"simulated rig: no answer to {do} ({error})") from error
        line, _, self._rest = self._rest.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        if not answer.pop("ok"):
            raise DeviceError(f"simulated rig: {do}: {answer['error']}")
        return answer

    def close(self) -> None:
        """Disconnect."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def wait_for(found: Callable[[], bool], within_s: float, pause_s: float = 0.01) -> bool:
    """Whether `found` returns True within `within_s` [s]."""
    until = time.monotonic() + within_s
    while not found():
        if time.monotonic() > until:
            return False
        with contextlib.suppress(InterruptedError):
            time.sleep(pause_s)
    return True
