"""Where simulated devices are, on this computer or on one in virtual time, and what all on a line have in common."""

from __future__ import annotations

import itertools
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from typing_extensions import override

from drivers.host import COMPUTER, Host
from drivers.sim.protocol.line import Line, LineFault, SimulatedPort, SimulatedSerialDevice, serve_lines
from drivers.sim.protocol.plant_ports import NEVER_NS
from drivers.sim.protocol.udp import UdpTerminal
from hil.processes.lifecycle import ServedProcess
from hil.testing.faults import ALWAYS, KINDS, FaultKind, ReportedValue, check_fault, line_fault, misread

# A driver that does not get there within so long has failed [s of virtual time].
PATIENCE_S = 10.0

Sample = TypeVar("Sample")


class Place(Protocol):
    """What a simulated device needs of the computer that it is connected to."""

    @property
    def host(self) -> Host:
        """The computer, for drivers and servers."""

    def now_ns(self) -> int:
        """The clock [ns]."""

    def connect(self, name: str, port: SimulatedPort, stack: ExitStack) -> Line:
        """Connect a device; `stack` disconnects it."""


class Computer(Place):
    """This computer: a device has a thread, and a pseudo-terminal or a UDP port."""

    host = COMPUTER
    now_ns = staticmethod(time.monotonic_ns)

    @override
    def connect(self, name: str, port: SimulatedPort, stack: ExitStack) -> Line:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rover-hil-")))
        if port.network:
            line = Line(folder / name, port.device, port.baud, port.turnaround_ns, UdpTerminal, network=True)
        else:
            line = Line(folder / name, port.device, port.baud, port.turnaround_ns, characters=port.characters)
        going = threading.Event()
        serves = threading.Thread(
            target=serve_lines, args=([line], time.monotonic_ns, lambda: not going.is_set()), name=name, daemon=True
        )
        stack.callback(line.close)
        stack.callback(serves.join)
        stack.callback(going.set)
        serves.start()
        return line


class VirtualBench:
    """A computer in virtual time, for drivers that read the clock, wait and open ports through `host`.

    Time passes only while a driver waits, and in `run_for`. So a test with time-outs of seconds takes milliseconds,
    and its result is the same to the bit on every machine. Only drivers of rover-hil and of its packages can be used:
    a foreign program has the clock of this computer. Usable as a context manager.

    Attributes:
        host: the `drivers.host.Host` that a driver is made with.

    Example:
        >>> with VirtualBench() as bench:
        ...     began_ns = bench.now_ns()
        ...     bench.run_for(3600.0)
        ...     (bench.now_ns() - began_ns) / 1e9
        3600.0
    """

    def __init__(self) -> None:
        from drivers.sim.virtual.host import VirtualHost
        from drivers.sim.virtual.schedule import VirtualTime

        self._time, self._numbers = VirtualTime(), itertools.count()
        self.host = VirtualHost(self._time)

    def now_ns(self) -> int:
        """The time [ns]; it begins at 1 s."""
        return self._time.now_ns

    def connect(self, name: str, port: SimulatedPort, stack: ExitStack) -> Line:
        """Connect a device; `stack` disconnects it."""
        from drivers.sim.virtual.serial import VirtualLines

        terminal: Any = self.host.network_terminal if port.network else self.host.terminal
        path = Path(f"/virtual/{name}{next(self._numbers)}")
        form: Any = {"network": port.network, "characters": port.characters}
        line = Line(path, port.device, port.baud, port.turnaround_ns, terminal, **form)
        stack.callback(line.close)
        VirtualLines(self._time, {name: line}, self.host.ports)
        return line

    def run_for(self, seconds: float) -> None:
        """Let time pass [s]: devices act, and no driver does."""
        self.host.sleep(seconds)

    def step_for(self, driver: Any, seconds: float) -> None:
        """Let a driver work for so long [s], as its worker does: `driver.step()` again and again."""
        until_ns = self.now_ns() + round(seconds * 1e9)
        while self.now_ns() < until_ns:
            self._step(driver)

    def step_until(self, driver: Any, done: Callable[[], Sample], within_s: float = PATIENCE_S) -> Sample:
        """Let a driver work until `done` returns something true; that is returned.

        `done` is looked at after each step.

        Raises:
            TimeoutError: it was not so within that time.
        """
        until_ns = self.now_ns() + round(within_s * 1e9)
        while not (found := done()):
            if self.now_ns() >= until_ns:
                raise TimeoutError(f"not so within {within_s:g} s of virtual time")
            self._step(driver)
        return found

    def close(self) -> None:
        """End everything that runs in it."""
        self._time.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _step(self, driver: Any) -> None:
        before_ns = self.now_ns()
        driver.step()
        if self.now_ns() == before_ns:  # a step that waited for nothing would stop the time
            self.host.sleep(1e-4)


# From the last byte of a request to the first of its answer [ns].
TURNAROUND_NS = 100_000


class LineDevice(ServedProcess):
    """A simulated device on a serial line, or on a UDP port of this computer; a context manager.

    Attributes:
        path: of the serial port that a program opens; of a UDP port HOST:PORT. It stays the same when the device is
            unplugged and plugged in again.
        baud: speed of the line; a pseudo-terminal takes any, and bytes take as long as at this one.
    """

    name = "device"

    def __init__(self, baud: int, bench: Place | None) -> None:
        super().__init__()
        self.baud = baud
        self._bench: Place = bench if bench is not None else Computer()

    def _connect(
        self,
        device: SimulatedSerialDevice,
        measured: ReportedValue,
        turnaround_ns: int = TURNAROUND_NS,
        *,
        network: bool = False,
    ) -> None:
        self._device = misread(device, measured)
        port = SimulatedPort(self._device, self.baud, turnaround_ns, network)
        self._line = self._bench.connect(self.name, port, self._stack)
        self.path = self._line.endpoint

    def inject_fault(
        self,
        kind: FaultKind,
        *,
        answers: int | None = None,
        seconds: float | None = None,
        late_ms: float = 100.0,
        by: float = 1.0,
    ) -> None:
        """Let it be faulty: in its next answers, for a time, or until `end_faults`. Of several the oldest acts first.

        Args:
            kind: late: answers come later by `late_ms`; damaged: one bit of an answer is flipped; silent: it obeys, and
                its answers are lost; noise: other bytes come before an answer; cut_short: the second half of an answer
                is lost; twice: an answer comes twice; deaf: what is sent to it is lost; unplugged: its port is gone;
                wrong_value: what it reports is off by `by`, in frames that are right.
            answers: how many are changed; of a deaf device, messages to it. Not of an unplugged one.
            seconds: for how long, in place of a number of answers [s]. Not of an unplugged one.
            late_ms: [ms].
            by: in SI units of what it reports: rad/s and rad of wheels and joints, Pa, V, m.

        Raises:
            ValueError: it cannot have this fault, or not so.
        """
        check_fault(self.name, kind, KINDS, answers, seconds)
        if kind == "unplugged" and (answers is not None or seconds is not None):
            raise ValueError(f"{self.name}: fault unplugged lasts until end_faults(); give no answers and no seconds")
        until_ns = NEVER_NS if seconds is None else self._bench.now_ns() + round(seconds * 1e9)
        count = ALWAYS if answers is None else answers
        if kind == "wrong_value":
            self._device.misread(by, count, until_ns)
        else:
            self._line.inject_fault(line_fault(kind, count, until_ns, late_ms))

    def end_faults(self) -> None:
        """End all faults; it is plugged in again."""
        self._device.misread(0.0, 0, 0)
        self._line.inject_fault(LineFault("reconnect"))

    def __repr__(self) -> str:
        return f"<simulated {self.name} at {self.path}>"
