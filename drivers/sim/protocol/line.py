"""A serial line with a simulated device at its end: bytes take their time, and it can be told to inject_fault."""

from __future__ import annotations

import contextlib
import os
import select
import termios
import tty
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import RLock
from typing import Literal, NamedTuple, Protocol

import msgspec

from drivers.host import BITS_PER_BYTE
from drivers.sim.protocol.plant_ports import TakesTimes

Kind = Literal["delayed", "intermittent", "garbage", "slow", "duplicate", "off", "disconnect", "reconnect"]
READ_CHUNK = 4096


class SimulatedSerialDevice(Protocol):
    """A device as its manual says, without its line: bytes in, bytes out, each at a time of CLOCK_MONOTONIC [ns]."""

    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:
        """Bytes that were on the line between two times; what is sent back, b"" for nothing."""

    def wake(self, now_ns: int) -> None:
        """It is now_ns: time-outs of its own run. Called every few ms and before `receive`, in order of time."""

    def press(self, pressed: bool) -> None:
        """Press the emergency stop that it reads, or release it. Raises ValueError: it has none."""


class SimulatedPort(NamedTuple):
    """A device, and the line it is connected to."""

    device: SimulatedSerialDevice
    baud: int
    turnaround_ns: int


class LineFault(msgspec.Struct, frozen=True):
    """A fault of a serial line or of the device at its end. The kinds are those of `drivers.faults`, with three more.

    Attributes:
        kind: off: the device neither receives nor answers from now on; disconnect: the port is gone; reconnect ends all
            faults. The others spoil the next `count` answers (or requests): delayed: they come later; intermittent:
            they are lost; garbage: a bit is flipped; slow: their second half comes later; duplicate: they come twice.
        count: how many.
        every: of so many one, the last.
        ms: how much later a delayed answer, or the second half of a split one, comes [ms].
        requests: of what goes to the device, not of what comes from it.
    """

    kind: Kind
    count: int = 1
    every: int = 1
    ms: float = 100.0
    requests: bool = False


class Terminal(Protocol):
    """Where a serial line meets the host that opens it as a port."""

    def reconnect(self) -> None:
        """Let the host open it, if it could not."""

    def disconnect(self) -> None:
        """The port is gone."""

    def fileno(self) -> int:
        """To wait for bytes of the host; -1 while hung up, and where there is no such thing."""

    def read(self) -> bytes:
        """What the host has sent; b"" for nothing."""

    def write(self, data: bytes) -> None:
        """Send bytes to the host; they are lost where nobody takes them."""


class Pty:
    """A pseudo-terminal.

    Args:
        path: symbolic link to make, to whatever pty it is; it stays the same when the line is plugged in again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._master = self._slave = -1

    def reconnect(self) -> None:
        """See `Terminal`."""
        if self._master >= 0:
            return
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave, termios.TCSANOW)
        os.set_blocking(self._master, False)
        self.path.unlink(missing_ok=True)
        self.path.symlink_to(os.ttyname(self._slave))
        # our own hold on the other end keeps the pty alive between two openings of it

    def disconnect(self) -> None:
        """See `Terminal`."""
        for handle in (self._master, self._slave):
            if handle >= 0:
                os.close(handle)
        self._master = self._slave = -1
        self.path.unlink(missing_ok=True)

    def fileno(self) -> int:
        """See `Terminal`."""
        return self._master

    def read(self) -> bytes:
        """See `Terminal`."""
        try:
            return os.read(self._master, READ_CHUNK) if self._master >= 0 else b""
        except BlockingIOError:
            return b""

    def write(self, data: bytes) -> None:
        """See `Terminal`."""
        if self._master >= 0:
            with contextlib.suppress(OSError):  # nobody reads, and the pty is full
                os.write(self._master, data)


class Line:
    """A serial line with a device at its end.

    Args:
        path: of the port; of a pty, a symbolic link is made there.
        device: at its end.
        baud: speed of the line.
        turnaround_ns: from the last byte of a request to the first of its answer.
        terminal: makes what the host opens at a path.
        answered: takes when each answer was due to be out, and when it was.
    """

    def __init__(
        self,
        path: Path,
        device: SimulatedSerialDevice,
        baud: int,
        turnaround_ns: int = 100_000,
        terminal: Callable[[Path], Terminal] = Pty,
        answered: TakesTimes = lambda _due_ns, _done_ns: None,
    ) -> None:
        self.path, self.device, self._answered = path, device, answered
        self._byte_ns, self._turnaround_ns = BITS_PER_BYTE * 1_000_000_000 // baud, turnaround_ns
        self._inbound: deque[tuple[int, int, bytes]] = deque()  # began, ended, bytes
        self._outbound: deque[tuple[int, bytes]] = deque()  # due, bytes
        self._in_free_ns = self._out_free_ns = 0
        self._faults: list[LineFault] = []
        self._passed = 0  # whole, of those to be spoiled now and then
        self._dead = False
        self._lock = RLock()  # misbehaving is told by whom it may be, beside the thread that serves
        self._terminal = terminal(path)
        self._terminal.reconnect()

    def fileno(self) -> int:
        """To wait for bytes of the host; -1 while hung up."""
        return self._terminal.fileno()

    def inject_fault(self, how: LineFault) -> None:
        """Do so from now on, or once or more often."""
        with self._lock:
            if how.kind in ("off", "reconnect"):
                self._dead = how.kind == "off"
                self._faults.clear()
            if how.kind == "disconnect":
                self.close()
            elif how.kind == "reconnect":
                self._terminal.reconnect()
            elif how.kind != "off":
                self._faults.append(how)

    def serve(self, now_ns: int) -> int:
        """Move everything on to now_ns; when something more is due [ns], 2**62 for never."""
        with self._lock:
            return self._serve(now_ns)

    def _serve(self, now_ns: int) -> int:
        self._take_in(now_ns)
        while self._inbound and self._inbound[0][1] <= now_ns:
            began_ns, ended_ns, data = self._inbound.popleft()
            if self._dead:
                continue
            self.device.wake(ended_ns)
            if answer := self.device.receive(data, began_ns, ended_ns):
                self._send(answer, ended_ns + self._turnaround_ns)
        self.device.wake(now_ns)
        while self._outbound and self._outbound[0][0] <= now_ns:
            due_ns, data = self._outbound.popleft()
            self._answered(due_ns, now_ns)
            if not self._dead:
                self._terminal.write(data)
        dues = [queue[0] for queue in (self._inbound, self._outbound) if queue]
        return min((due[1] if len(due) == 3 else due[0] for due in dues), default=2**62)

    def close(self) -> None:
        """Hang up."""
        with self._lock:
            self._terminal.disconnect()
            self._inbound.clear()
            self._outbound.clear()

    def _take_in(self, now_ns: int) -> None:
        if not (data := self._terminal.read()):
            return
        began_ns = max(now_ns, self._in_free_ns)
        for due_ns, part in self._spoiled(data, began_ns, requests=True):
            self._in_free_ns = due_ns + len(part) * self._byte_ns
            self._inbound.append((due_ns, self._in_free_ns, part))

    def _send(self, answer: bytes, from_ns: int) -> None:
        began_ns = max(from_ns, self._out_free_ns)
        for due_ns, part in self._spoiled(answer, began_ns, requests=False):
            self._out_free_ns = due_ns + len(part) * self._byte_ns
            self._outbound.append((self._out_free_ns, part))

    def _spoiled(self, data: bytes, at_ns: int, *, requests: bool) -> Iterable[tuple[int, bytes]]:
        """What becomes of bytes that would begin at a time: parts and their times."""
        how = next((item for item in self._faults if item.requests == requests), None)
        if how is None:
            return [(at_ns, data)]
        if self._passed + 1 < how.every:
            self._passed += 1
            return [(at_ns, data)]
        self._passed = 0
        place = self._faults.index(how)
        if how.count > 1:
            self._faults[place] = msgspec.structs.replace(how, count=how.count - 1)
        else:
            del self._faults[place]
        later_ns = at_ns + round(how.ms * 1e6)
        half = len(data) // 2
        spoiled: dict[str, list[tuple[int, bytes]]] = {
            "delayed": [(later_ns, data)],
            "intermittent": [],
            "garbage": [(at_ns, data[:half] + bytes([data[half] ^ 0x10]) + data[half + 1 :])],
            "slow": [(at_ns, data[:half]), (later_ns, data[half:])],
            "duplicate": [(at_ns, data), (at_ns + len(data) * self._byte_ns, data)],
        }
        return [(due, part) for due, part in spoiled[how.kind] if part]


# Device time-outs are looked at so often [s].
WAKE_S = 0.002


def serve_lines(
    lines: Iterable[Line],
    clock_ns: Callable[[], int],
    goes_on: Callable[[], bool],
    served: TakesTimes = lambda _due_ns, _done_ns: None,
) -> None:
    """Serve lines for as long as `goes_on` says so; call it in a thread or process of its own.

    Args:
        lines: all of them.
        clock_ns: CLOCK_MONOTONIC, or a virtual one [ns]; read here and nowhere else.
        goes_on: asked in each round.
        served: takes when each round was due at the latest, and when it was done: a request that came while this
            thread was not let run is answered late, and its line does not know.
    """
    every = list(lines)
    round_ns = clock_ns()
    while goes_on():
        now_ns = clock_ns()
        due_ns = min((line.serve(now_ns) for line in every), default=2**62)
        done_ns = clock_ns()
        served(round_ns, done_ns)
        wait_s = min(max(due_ns - done_ns, 0) * 1e-9, WAKE_S)
        round_ns = done_ns + round(wait_s * 1e9)
        handles = [handle for line in every if (handle := line.fileno()) >= 0]
        with contextlib.suppress(OSError):  # hung up since
            select.select(handles, [], [], wait_s)
