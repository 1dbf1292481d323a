"""A line with a simulated device at its end, serial or on a network: its line time, and faults that are injected."""

from __future__ import annotations

import contextlib
import os
import select
import termios
import tty
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import msgspec
from typing_extensions import override

from drivers.host import Characters, line_time_ns
from drivers.sim.protocol.plant_ports import NEVER_NS, TakesTimes

Kind = Literal[
    "delayed", "intermittent", "garbage", "slow", "duplicate", "noise", "truncated", "off", "streaming", "disconnect",
    "reconnect",
]  # fmt: skip
READ_CHUNK = 4096
# What a disturbed line adds before a message.
NOISE = b"\x00\xff\x55\xfe\x00\xaa"
# What another device sends without end, which is on the port in place of ours.
STREAM = b"$VNYMR,+000.000,+000.000,+000.000*4F\r\n"


class SimulatedSerialDevice(Protocol):
    """A device by its manual, without its line: bytes in and out, each at a time of CLOCK_MONOTONIC [ns]."""

    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:
        """Receive bytes that were on the line between two times; the bytes sent back, b"" for none."""

    def wake(self, now_ns: int) -> int:
        """Advance to now_ns and run its time-outs. Called before and after `receive` too, in order of time.

        Returns:
            When it has to be called again at the latest [ns]; NEVER_NS: not before bytes come.
        """

    def press(self, pressed: bool) -> None:
        """Press the emergency stop that it reads, or release it; acts at once. Raises ValueError: it has none."""


@runtime_checkable
class Streaming(Protocol):
    """A device that also sends without being asked, from when its line is served first."""

    def unasked(self, now_ns: int) -> Sequence[tuple[int, bytes]]:
        """Returns what it has begun to send since the last call: when each message begins [ns], and its bytes.

        Called after `wake`, which returns when there may be more.
        """


@runtime_checkable
class OwnFaults(Protocol):
    """A device that has its own faults, in addition to those of its line.

    Attributes:
        kinds: of them; none is one of `LineFault`.
    """

    kinds: tuple[str, ...]

    def inject_fault(self, kind: str, how: Mapping[str, Any]) -> None:
        """Start a fault. Raises ValueError: it cannot be as `how` says."""


class SimulatedPort(NamedTuple):
    """A device, and the line it is connected to.

    Attributes:
        network: the line is a UDP port of this computer instead of a terminal: each message is a datagram, and `baud`
            counts for nothing.
        characters: of the line.
    """

    device: SimulatedSerialDevice
    baud: int
    turnaround_ns: int
    network: bool = False
    characters: Characters = "8n1"


class LineFault(msgspec.Struct, frozen=True):
    """A fault of a line or of the device at its end. Kinds as of devices in one process, and six more.

    Attributes:
        kind: off: the device neither receives nor answers from now on; streaming: the same, and from the next request
            on another device sends without end; disconnect: the port is removed; reconnect ends
            all faults. The others change the next `count` answers (or requests): delayed: they arrive later;
            intermittent: they are lost; garbage: a bit is flipped; slow: their second half arrives later (a datagram
            as a whole); duplicate: they arrive twice; noise: after other bytes; truncated: without their second half.
            What a device sends unasked counts as an answer.
        count: number of answers.
        every: the last one of so many.
        ms: delay of a delayed answer, or of the second half of a split one [ms].
        until_ns: it ends at this time at the latest [ns of CLOCK_MONOTONIC].
        requests: the fault applies to bytes to the device instead of its answers.
    """

    kind: Kind
    count: int = 1
    every: int = 1
    ms: float = 100.0
    requests: bool = False
    until_ns: int = NEVER_NS


class Terminal(Protocol):
    """The host's end of a line, which the host opens as a port.

    Attributes:
        characters: as the host has set the port; None: that cannot be told, since a pseudo-terminal has no parity.
        endpoint: what the host opens: the path of a port, or HOST:PORT.
    """

    characters: Characters | None
    endpoint: str

    def reconnect(self) -> None:
        """Make the port available to the host."""

    def disconnect(self) -> None:
        """Remove the port."""

    def fileno(self) -> int:
        """Descriptor to wait on for bytes of the host; -1 while disconnected, or if there is none."""

    def read(self) -> bytes:
        """Bytes that the host has sent, of a network one datagram; b"" for none."""

    def write(self, data: bytes) -> None:
        """Send bytes to the host; they are lost if the host does not read them."""


class Pty(Terminal):
    """A pseudo-terminal.

    Args:
        path: symbolic link to the pty; it stays the same when the line is plugged in again.

    Attributes:
        endpoint: the same.
    """

    characters = None

    def __init__(self, path: Path) -> None:
        self.path, self.endpoint = path, str(path)
        self._master = self._slave = -1

    @override
    def reconnect(self) -> None:
        if self._master >= 0:
            return
        self._master, self._slave = os.openpty()
        os.fchmod(self._slave, 0o600)  # many systems let a group write to it
        tty.setraw(self._slave, termios.TCSANOW)
        os.set_blocking(self._master, False)
        self.path.unlink(missing_ok=True)
        self.path.symlink_to(os.ttyname(self._slave))
        # our open descriptor of the other end keeps the pty alive between two openings

    @override
    def disconnect(self) -> None:
        for handle in (self._master, self._slave):
            if handle >= 0:
                os.close(handle)
        self._master = self._slave = -1
        self.path.unlink(missing_ok=True)

    @override
    def fileno(self) -> int:
        return self._master

    @override
    def read(self) -> bytes:
        try:
            return os.read(self._master, READ_CHUNK) if self._master >= 0 else b""
        except BlockingIOError:
            return b""

    @override
    def write(self, data: bytes) -> None:
        if self._master >= 0:
            with contextlib.suppress(OSError):  # the pty is full because the host does not read
                os.write(self._master, data)


class Line:
    """A line with a device at its end.

    On a network a message is a datagram: it has no line time, is never divided, and nothing is added to it. Where the
    host has set another parity than the device, each loses the characters in which the bit after the data is not what
    it expects.

    Args:
        path: of the port; of a pty, a symbolic link is made there.
        device: at its end.
        baud: speed of the line; of a network of no account.
        turnaround_ns: from the last byte of a request to the first of its answer.
        terminal: creates the host's end at a path.
        answered: called with the due time and the actual time of each answer.
        network: it is one, and not a serial line.
        characters: of the device.
    """

    def __init__(
        self,
        path: Path,
        device: SimulatedSerialDevice,
        baud: int,
        turnaround_ns: int = 100_000,
        terminal: Callable[[Path], Terminal] = Pty,
        answered: TakesTimes = lambda _due_ns, _done_ns: None,
        *,
        network: bool = False,
        characters: Characters = "8n1",
    ) -> None:
        self.path, self.device, self._answered, self._network = path, device, answered, network
        self._characters = characters
        self._byte_ns = 0 if network else line_time_ns(1, baud, characters)
        self._turnaround_ns = turnaround_ns
        self._inbound: deque[tuple[int, int, bytes]] = deque()  # began, ended, bytes
        self._outbound: deque[tuple[int, bytes]] = deque()  # due, bytes
        self._in_free_ns = self._out_free_ns = 0
        self._faults: list[LineFault] = []
        self._passed = 0  # all messages, counted for faults with `every`
        self._dead = self._streams = False
        self._lock = RLock()  # faults may be injected from another thread than the one that serves
        self._terminal = terminal(path)
        self._terminal.reconnect()

    @property
    def endpoint(self) -> str:
        """What the host opens: the path of a port, or HOST:PORT."""
        return self._terminal.endpoint

    def fileno(self) -> int:
        """Descriptor to wait on for bytes of the host; -1 while disconnected."""
        return self._terminal.fileno()

    def inject_fault(self, how: LineFault) -> None:
        """Start a fault: from now on, or for the next `count` answers."""
        with self._lock:
            if how.kind in ("off", "streaming", "reconnect"):
                self._dead, self._streams = how.kind == "off", how.kind == "streaming"
                self._faults.clear()
            if how.kind == "disconnect":
                self.close()
            elif how.kind == "reconnect":
                self._terminal.reconnect()
            elif how.kind not in ("off", "streaming"):
                self._faults.append(how)

    def serve(self, now_ns: int) -> int:
        """Advance to now_ns; the time when the next action is due [ns], NEVER_NS for none."""
        with self._lock:
            return self._serve(now_ns)

    def _serve(self, now_ns: int) -> int:
        self._take_in(now_ns)
        while self._inbound and self._inbound[0][1] <= now_ns:
            began_ns, ended_ns, data = self._inbound.popleft()
            if self._dead or self._streams:
                continue
            self.device.wake(ended_ns)
            if answer := self.device.receive(data, began_ns, ended_ns):
                self._send(answer, ended_ns + self._turnaround_ns)
        if self._streams and not self._outbound:
            self._send(STREAM, now_ns)
        wake_ns = self.device.wake(now_ns)
        if isinstance(self.device, Streaming):
            for began_ns, data in self.device.unasked(now_ns):
                if not self._dead:
                    self._send(data, began_ns)
        while self._outbound and self._outbound[0][0] <= now_ns:
            due_ns, data = self._outbound.popleft()
            self._answered(due_ns, now_ns)
            if not self._dead:
                self._terminal.write(self._received(data))
        dues = [queue[0] for queue in (self._inbound, self._outbound) if queue]
        return min([wake_ns, *(due[1] if len(due) == 3 else due[0] for due in dues)])

    def close(self) -> None:
        """Hang up."""
        with self._lock:
            self._terminal.disconnect()
            self._inbound.clear()
            self._outbound.clear()

    def _take_in(self, now_ns: int) -> None:
        while data := self._terminal.read():
            began_ns = max(now_ns, self._in_free_ns)
            for due_ns, part in self._spoiled(data, began_ns, requests=True):
                self._in_free_ns = due_ns + len(part) * self._byte_ns
                self._inbound.append((due_ns, self._in_free_ns, self._received(part)))
            if not self._network:  # bytes that come meanwhile are taken in the next round, at their time
                return

    def _received(self, data: bytes) -> bytes:
        """The characters that pass, by the parity of both ends."""
        host = self._terminal.characters
        if host is None or host[1] == self._characters[1]:
            return data
        return bytes(byte for byte in data if _after_data(byte, host) == _after_data(byte, self._characters))

    def _send(self, answer: bytes, from_ns: int) -> None:
        began_ns = max(from_ns, self._out_free_ns)
        for due_ns, part in self._spoiled(answer, began_ns, requests=False):
            self._out_free_ns = due_ns + len(part) * self._byte_ns
            self._outbound.append((self._out_free_ns, part))

    def _spoiled(self, data: bytes, at_ns: int, *, requests: bool) -> Iterable[tuple[int, bytes]]:
        """Apply the faults to bytes that would begin at a time: parts and their times."""
        self._faults = [item for item in self._faults if at_ns < item.until_ns]
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
            "slow": [(later_ns, data)] if self._network else [(at_ns, data[:half]), (later_ns, data[half:])],
            "duplicate": [(at_ns, data), (at_ns + len(data) * self._byte_ns, data)],
            "noise": [(at_ns, NOISE + data)],
            "truncated": [(at_ns, data[:half])],
        }
        return [(due, part) for due, part in spoiled[how.kind] if part]


def _after_data(byte: int, characters: Characters) -> int:
    """The bit behind the data bits of a character: its parity, or without one its stop bit."""
    return {"n": 1, "e": byte.bit_count() % 2, "o": 1 - byte.bit_count() % 2}[characters[1]]


# The longest wait for bytes [s]: then it is looked whether to go on, and whether this thread was let run.
LONGEST_S = 0.004


def serve_lines(
    lines: Iterable[Line],
    clock_ns: Callable[[], int],
    goes_on: Callable[[], bool],
    served: TakesTimes = lambda _due_ns, _done_ns: None,
) -> None:
    """Serve lines while `goes_on` is true; call it in a separate thread or process.

    Args:
        lines: all of them.
        clock_ns: CLOCK_MONOTONIC, or a virtual one [ns]; read here and nowhere else.
        goes_on: called in each round.
        served: called with the latest due time of each round and its actual time. A request that arrives while this
            thread is suspended is answered late, and its line cannot detect that.
    """
    # a device without requests so far has no time-outs to run
    dues_ns = {line: 0 if isinstance(line.device, Streaming) else NEVER_NS for line in lines}
    round_ns, ready = clock_ns(), set[Line]()
    while goes_on():
        now_ns = clock_ns()
        for line, due_ns in dues_ns.items():
            if due_ns <= now_ns or line in ready:
                dues_ns[line] = line.serve(now_ns)
        done_ns = clock_ns()
        served(round_ns, done_ns)
        wait_s = min(max(min(dues_ns.values(), default=NEVER_NS) - done_ns, 0) * 1e-9, LONGEST_S)
        round_ns = done_ns + round(wait_s * 1e9)
        ready.clear()
        with contextlib.suppress(OSError):  # disconnected since
            ready.update(select.select([line for line in dues_ns if line.fileno() >= 0], [], [], wait_s)[0])
