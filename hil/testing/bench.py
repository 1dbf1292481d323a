"""Where simulated devices are, their faults, and instruments that stream."""

from __future__ import annotations

import itertools
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, Protocol, Self, TypeVar

from typing_extensions import override

from drivers.host import COMPUTER, Host
from drivers.sim.protocol.line import (
    Kind,
    Line,
    LineFault,
    SimulatedPort,
    SimulatedSerialDevice,
    Streaming,
    serve_lines,
)
from drivers.sim.protocol.plant_ports import NEVER_NS
from drivers.sim.protocol.udp import UdpTerminal
from hil.processes.lifecycle import ServedProcess
from hil.testing.wheels import SteadyReading

FaultKind = Literal["late", "damaged", "silent", "noise", "cut_short", "twice", "deaf", "unplugged", "wrong_value"]
# For ever, in answers.
ALWAYS = 2**62
# Of a line, and whether it is of the messages to the device.
_LINE: dict[str, tuple[Kind, bool]] = {
    "late": ("delayed", False),
    "damaged": ("garbage", False),
    "silent": ("intermittent", False),
    "noise": ("noise", False),
    "cut_short": ("truncated", False),
    "twice": ("duplicate", False),
    "deaf": ("intermittent", True),
}
KINDS = (*_LINE, "unplugged", "wrong_value")


def line_fault(kind: str, answers: int, until_ns: int, late_ms: float) -> LineFault:
    """The fault of a line, for each of KINDS but wrong_value; it ends at `until_ns`."""
    if kind == "unplugged":
        return LineFault("disconnect")
    named, requests = _LINE[kind]
    return LineFault(named, count=answers, ms=late_ms, requests=requests, until_ns=until_ns)


def check_fault(device: str, kind: str, kinds: Sequence[str], answers: int | None, seconds: float | None) -> None:
    """Raises ValueError: the device cannot have this fault, or not so."""
    if kind not in kinds:
        raise ValueError(f"{device}: fault {kind!r} found; allowed: {', '.join(kinds)}")
    if answers is not None and seconds is not None:
        raise ValueError(f"{device}: fault {kind}: answers and seconds are both given; give one of them, or none")
    if answers is not None and answers < 1:
        raise ValueError(f"{device}: fault {kind}: {answers} answers found; allowed: 1 and more")
    if seconds is not None and not seconds > 0:
        raise ValueError(f"{device}: fault {kind}: {seconds:g} seconds found; allowed: more than 0")


class _ReportedValue(Protocol):
    """What a device reports, with an error that can be added."""

    reading_error: float


class _MisreadingDevice(SimulatedSerialDevice):
    """A `SimulatedSerialDevice` whose readings can be wrong, in frames that are right."""

    def __init__(self, device: SimulatedSerialDevice, measured: _ReportedValue) -> None:
        self._device, self._measured = device, measured
        self._by, self._answers, self._until_ns = 0.0, 0, 0

    def misread(self, by: float, answers: int, until_ns: int) -> None:
        """Be wrong by so much, in so many answers, until a time [ns]."""
        self._by, self._answers, self._until_ns = by, answers, until_ns

    @override
    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:
        answer: bytes = self._wrong(ended_ns, lambda: self._device.receive(data, began_ns, ended_ns))
        if answer:
            self._answers -= 1
        return answer

    @override
    def wake(self, now_ns: int) -> int:
        return self._device.wake(now_ns)

    @override
    def press(self, pressed: bool) -> None:
        self._device.press(pressed)

    def _wrong(self, now_ns: int, act: Callable[[], Any]) -> Any:
        self._measured.reading_error = self._by if self._answers > 0 and now_ns < self._until_ns else 0.0
        try:
            return act()
        finally:
            self._measured.reading_error = 0.0


class _MisreadStream(_MisreadingDevice, Streaming):
    """The same of a device that also sends without being asked."""

    _device: Any

    @override
    def wake(self, now_ns: int) -> int:
        """A streaming device reads its instrument here."""
        due_ns: int = self._wrong(now_ns, lambda: self._device.wake(now_ns))
        return due_ns

    @override
    def unasked(self, now_ns: int) -> Sequence[tuple[int, bytes]]:
        messages: Sequence[tuple[int, bytes]] = self._device.unasked(now_ns)
        self._answers -= len(messages)
        return messages


def misread(device: SimulatedSerialDevice, measured: _ReportedValue) -> _MisreadingDevice:
    """The device, with readings that can be wrong."""
    return (_MisreadStream if isinstance(device, Streaming) else _MisreadingDevice)(device, measured)


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
        measured: _ReportedValue,
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


POSE = ("x_m", "y_m", "z_m", "qx", "qy", "qz", "qw")
INERTIA = ("ax_mps2", "ay_mps2", "az_mps2", "wx_radps", "wy_radps", "wz_radps")
# From a measurement until its message begins [ns].
DELAY_NS = 1_000_000


class StreamingInstrument(LineDevice):
    """A simulated instrument that sends its readings by itself, as its maker's protocol has it.

    Attributes:
        channels: names of the values, with their units.
    """

    def __init__(
        self,
        name: str,
        channels: Sequence[str],
        rate_hz: float,
        values: Sequence[float],
        baud: int,
        bench: Place | None,
    ) -> None:
        super().__init__(baud, bench)
        self.name, self.channels = name, tuple(channels)
        self.reading = SteadyReading(self._bench.now_ns, channels, rate_hz)
        self.reading.values[:] = values

    @property
    def values(self) -> list[float]:
        """(channels,) what it measures; set any of them. NaN: not measured."""
        return self.reading.values

    def serve(self, device: SimulatedSerialDevice, *, network: bool = False) -> StreamingInstrument:
        """Connect it."""
        self._connect(device, self.reading, network=network)
        return self


def distance_sensor(
    distance_m: float = 1.0, *, rate_hz: float = 50.0, baud: int = 115200, bench: Place | None = None
) -> StreamingInstrument:
    """A simulated Dimetix laser sensor, until it is closed; its only value is the distance. Characters are 8N1.

    Args:
        distance_m: at first [m].
        rate_hz: measurements a second.
        baud: of the line.
        bench: where it is; None: this computer, in real time.
    """
    from drivers.dimetix.simulated import DimetixDevice

    sensor = StreamingInstrument("distance_sensor", ("distance_m",), rate_hz, (distance_m,), baud, bench)
    return sensor.serve(DimetixDevice(sensor.reading, parity=False, sensor=0, delay_ns=DELAY_NS))


def imu(*, rate_hz: float = 200.0, baud: int = 115200, bench: Place | None = None) -> StreamingInstrument:
    """A simulated VectorNav VN-100, until it is closed; it stands still at first, with gravity upwards.

    Args:
        rate_hz: readings a second.
        baud: of the line.
        bench: where it is; None: this computer, in real time.
    """
    from drivers.vectornav.simulated import VectorNavDevice

    sensor = StreamingInstrument("imu", INERTIA, rate_hz, (0.0, 0.0, 9.81, 0.0, 0.0, 0.0), baud, bench)
    return sensor.serve(VectorNavDevice(sensor.reading, baud, DELAY_NS))


def total_station(*, rate_hz: float = 5.0, baud: int = 115200, bench: Place | None = None) -> StreamingInstrument:
    """A simulated Leica total station, until it is closed; the prism is 3 m to the east of it at first.

    Args:
        rate_hz: distances a second.
        baud: of the line.
        bench: where it is; None: this computer, in real time.
    """
    from drivers.leica.simulated import LEAST_NS, TotalStation

    station = StreamingInstrument("total_station", POSE[:3], rate_hz, (3.0, 0.0, 0.0), baud, bench)
    return station.serve(TotalStation(station.reading, LEAST_NS))


def motion_capture(*, rate_hz: float = 100.0, bench: Place | None = None) -> StreamingInstrument:
    """A simulated NatNet server with one rigid body, number 1, until it is closed; `path` is its HOST:PORT.

    Args:
        rate_hz: frames a second.
        bench: where it is; None: this computer, in real time.
    """
    from drivers.natnet.simulated.server import MotionServer

    server = StreamingInstrument("motion_capture", POSE, rate_hz, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), 115200, bench)
    return server.serve(MotionServer(server.reading), network=True)
