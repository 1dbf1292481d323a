"""Serial ports in virtual time: the driver's port, and the end of a simulated line."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, Protocol

from typing_extensions import override

from drivers.host import SLICE_S, Characters, SerialPort, SharedPort
from drivers.sim.protocol.line import Line, Streaming, Terminal
from drivers.sim.virtual.schedule import NEVER_NS, Actor, VirtualTime

_SLICE_NS = round(SLICE_S * 1e9)
# A terminal keeps so many bytes that the host has not read; later ones are lost, as in the kernel.
MOST_UNREAD = 65536


class VirtualPort(SerialPort):
    """One opening of a port; a `drivers.host.SerialPort`.

    Attributes:
        owner: the actor that opened it, or None once it is closed.
    """

    def __init__(self, time: VirtualTime, terminal: VirtualTerminal) -> None:
        self._time, self._terminal = time, terminal
        self.owner: Actor | None = time.current

    @property
    @override
    def in_waiting(self) -> int:
        self._check()
        return len(self._terminal.to_host)

    @override
    def read(self, size: int) -> bytes:
        terminal = self._terminal
        terminal.reader = self._time.current
        until_ns = self._time.now_ns + _SLICE_NS
        self._time.wait(until_ns, lambda: len(terminal.to_host) >= size or not self._is_open)
        terminal.reader = None
        self._check()
        data = bytes(terminal.to_host[:size])
        del terminal.to_host[:size]
        return data

    @override
    def write(self, data: bytes, /) -> int:
        self._check()
        self._terminal.to_device += data
        self._terminal.serve_now()
        return len(data)

    def flush(self) -> None:
        """Return at once: the line models the time of the bytes."""
        self._check()

    @override
    def close(self) -> None:
        self.owner = None
        if self._terminal.port is self:
            self._terminal.port = None

    @property
    def _is_open(self) -> bool:
        return self._terminal.port is self

    def _check(self) -> None:
        self._time.check()
        if not self._is_open:
            raise OSError(errno.EIO, "Input/output error")


class VirtualSharedPort(SharedPort):
    """A `drivers.host.SharedPort`: writes to a port that another actor may have open.

    Args:
        terminal: end of the line, as plugged in now.
    """

    def __init__(self, terminal: VirtualTerminal) -> None:
        self._terminal, self._plugged = terminal, terminal.plugged

    @override
    def write(self, data: bytes, /) -> int:
        if self.is_disconnected():
            raise OSError(errno.EIO, "Input/output error")
        self._terminal.to_device += data
        self._terminal.serve_now()
        return len(data)

    def discard_output(self) -> None:
        """Nothing to discard: bytes of virtual ports are sent at once."""

    @override
    def is_disconnected(self) -> bool:
        return self._plugged != self._terminal.plugged

    @override
    def close(self) -> None: ...


class VirtualTerminal(Terminal):
    """The host's end of a simulated line; a `drivers.sim.protocol.line.Terminal`.

    Attributes:
        endpoint: path of its port.
        to_device, to_host: bytes in transit.
        port: the present opening.
        reader: the actor that waits for bytes.
        plugged: counts connections and disconnections.
        serve_now: requests a round of the line.
        characters: of the newest opening.
    """

    def __init__(self, time: VirtualTime, path: Path, ports: MutableMapping[str, Any]) -> None:
        self._time, self.endpoint, self._ports = time, str(path), ports
        self.to_device, self.to_host = bytearray(), bytearray()
        self.port: VirtualPort | None = None
        self.reader: Actor | None = None
        self.serve_now: Callable[[], None] = lambda: None
        self.plugged = 0
        self.characters: Characters | None = None

    @override
    def reconnect(self) -> None:
        self.plugged += 1
        self._ports[self.endpoint] = self

    @override
    def disconnect(self) -> None:
        self._ports.pop(self.endpoint, None)
        self.plugged += 1
        self.port = None
        self.to_device.clear()
        self.to_host.clear()
        self._wake_reader()

    def fileno(self) -> int:
        """There is none."""
        return -1

    @override
    def read(self) -> bytes:
        data = bytes(self.to_device)
        self.to_device.clear()
        return data

    @override
    def write(self, data: bytes) -> None:
        """Without an open port the bytes are lost."""
        if self.port is not None:
            self.to_host += data[: MOST_UNREAD - len(self.to_host)]
            self._wake_reader()

    def open(self, characters: Characters = "8n1") -> VirtualPort:
        """Open it. Raises OSError: another actor has it."""
        if self.port is not None:
            raise OSError(errno.EBUSY, "Device or resource busy")
        self.to_host.clear()
        self.characters = characters
        self.port = VirtualPort(self._time, self)
        return self.port

    def _wake_reader(self) -> None:
        if self.reader is not None:
            self._time.wake(self.reader)


class _ServedTerminal(Protocol):
    """A terminal that asks for a round of its line when the host has written."""

    serve_now: Callable[[], None]


class VirtualLines:
    """Serves simulated lines whenever one is due, as `serve_lines` does.

    Args:
        time: the virtual time.
        lines: each on a `VirtualTerminal`.
        terminals: of theirs, by endpoint.
    """

    def __init__(self, time: VirtualTime, lines: dict[str, Line], terminals: Mapping[str, _ServedTerminal]) -> None:
        self._time = time
        for line in lines.values():
            served = _Served(time, line)
            terminals[line.endpoint].serve_now = served.now
            if isinstance(line.device, Streaming):
                served.now()


class _Served:
    """One line and the time of its next service."""

    def __init__(self, time: VirtualTime, line: Line) -> None:
        self._time, self._line = time, line
        self._due_ns = NEVER_NS  # until the first byte: a device without requests has no time-outs to run

    def now(self) -> None:
        """Serve it as soon as the calling actor waits."""
        self._at(self._time.now_ns)

    def _at(self, t_ns: int) -> None:
        if t_ns < self._due_ns:
            self._due_ns = t_ns
            self._time.call_at(t_ns, lambda: self._serve(t_ns))

    def _serve(self, t_ns: int) -> None:
        if t_ns != self._due_ns:  # it was served earlier than asked for then
            return
        self._due_ns = NEVER_NS
        now_ns = self._time.now_ns
        if (due_ns := self._line.serve(now_ns)) < NEVER_NS:
            self._at(max(due_ns, now_ns + 1))
