"""Common parts of driver tests: virtual time for drivers and simulated lines."""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import serial

from drivers.host import COMPUTER, SLICE_S
from drivers.interfaces import DeviceError, StopFrames
from drivers.messages import DriveCommand
from drivers.serial.link import NEVER_NS, StopPort
from drivers.sim.protocol.line import LONGEST_S, Line, SimulatedSerialDevice, serve_lines
from tests.drivers.stream_bench import StreamBench

PATIENCE_S = 10.0  # of virtual time


class Recorder:
    """Records what its device receives, (began_ns, ended_ns, bytes), and the length of its answers."""

    def __init__(self, device: SimulatedSerialDevice) -> None:
        self.device = device
        self.received: list[tuple[int, int, bytes]] = []
        self.answered: list[int] = []

    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:
        answer = self.device.receive(data, began_ns, ended_ns)
        self.received.append((began_ns, ended_ns, data))
        self.answered.append(len(answer))
        return answer

    def wake(self, now_ns: int) -> int:
        return self.device.wake(now_ns)

    def __getattr__(self, name: str) -> Any:  # what only some devices have: messages of their own, faults
        return getattr(self.device, name)


class RecordedLine(NamedTuple):
    line: Line
    recorder: Recorder


class LineTime:
    """Time that passes only while a driver waits; due actions of the simulated lines happen meanwhile."""

    def __init__(self) -> None:
        self.now_ns = 1_000_000_000
        self.lines: list[Any] = []

    def monotonic_ns(self) -> int:
        """Each reading of the clock takes 1 us."""
        self.now_ns += 1_000
        return self.now_ns

    def connect(
        self, path: Path, device: SimulatedSerialDevice, baud: int, turnaround_ns: int = 100_000
    ) -> RecordedLine:
        """A line in this time, and a record of what its device receives; it is closed after the test."""
        recorder = Recorder(device)
        self.lines.append(Line(path, recorder, baud, turnaround_ns))
        return RecordedLine(self.lines[-1], recorder)

    def sleep(self, seconds: float) -> None:
        self.pass_until(self.now_ns + max(round(seconds * 1e9), 1_000), lambda: False)

    def pass_until(self, end_ns: int, done: Callable[[], bool]) -> None:
        """Advance to an end time, or until a condition holds; devices are woken as often as by `serve_lines`."""
        while True:
            due_ns = min((line.serve(self.now_ns) for line in self.lines), default=end_ns)
            if done() or self.now_ns >= end_ns:
                return
            self.now_ns = min(max(due_ns, self.now_ns + 1), self.now_ns + round(LONGEST_S * 1e9), end_ns)


def port_type(line_time: LineTime) -> type[serial.Serial]:
    """A pyserial port, to a real pseudo-terminal, that waits in virtual time."""

    class Port(serial.Serial):  # type: ignore[misc]
        def __init__(self, *args: Any, timeout: float, **more: Any) -> None:
            self._slice_ns = round(timeout * 1e9)
            super().__init__(*args, timeout=0, **more)

        @property
        def in_waiting(self) -> int:
            line_time.pass_until(line_time.now_ns, lambda: False)
            written = select.poll()  # as pyserial does not: descriptors over 1023, too
            written.register(self.fileno(), select.POLLIN)
            written.poll(0)  # written bytes have arrived
            return super().in_waiting

        def read(self, size: int = 1) -> bytes:
            come = b""

            def enough() -> bool:
                nonlocal come
                come += super(Port, self).read(size - len(come))
                return len(come) >= size

            line_time.pass_until(line_time.now_ns + self._slice_ns, enough)
            return come

        def write(self, data: bytes) -> int:
            written = super().write(data)
            line_time.pass_until(line_time.now_ns, lambda: False)
            return written

    return Port


@pytest.fixture
def send_stop(line_time: LineTime) -> Callable[[StopFrames], None]:
    """Writes a whole stop as the watchdog does."""

    def send(stop: StopFrames) -> None:
        port = StopPort(stop)
        port.begin(line_time.monotonic_ns())
        while port.due_ns != NEVER_NS:
            port.send(line_time.monotonic_ns())
            line_time.sleep(0.001)
        port.close()

    return send


@pytest.fixture
def line_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[LineTime]:
    """Virtual time of drivers and lines; code that creates a line adds it."""
    line_time = LineTime()
    port = partial(port_type(line_time), timeout=SLICE_S, write_timeout=1.0, exclusive=True)
    monkeypatch.setattr(COMPUTER, "now_ns", line_time.monotonic_ns)
    monkeypatch.setattr(COMPUTER, "sleep", line_time.sleep)
    monkeypatch.setattr(COMPUTER, "open_serial", lambda path, baud, characters="8n1": port(path, baud))
    yield line_time
    for line in line_time.lines:
        line.close()


@pytest.fixture
def serve() -> Iterator[Callable[[list[Any]], None]]:
    """Serves lines in real time, for a peer with a separate clock."""
    going, threads = [True], []

    def start(lines: list[Any]) -> None:
        threads.append(
            threading.Thread(target=serve_lines, args=(lines, time.monotonic_ns, lambda: going[0]), daemon=True)
        )
        threads[-1].start()

    yield start
    going[0] = False
    for thread in threads:
        thread.join()


@pytest.fixture
def wait_for(line_time: LineTime) -> Callable[[Callable[[], Any]], None]:
    """Advances virtual time until a condition holds."""

    def wait(condition: Callable[[], Any]) -> None:
        end_ns = line_time.now_ns + round(PATIENCE_S * 1e9)
        while not condition():
            assert line_time.now_ns < end_ns
            line_time.sleep(0.0005)

    return wait


@pytest.fixture
def until(line_time: LineTime) -> Callable[..., Any]:
    """Steps a device until a sample satisfies a condition."""

    def wait(device: Any, condition: Callable[[Any], bool]) -> Any:
        end_ns = line_time.now_ns + round(PATIENCE_S * 1e9)
        while line_time.now_ns < end_ns:
            device.step()
            sample = device.read(0)
            if sample is not None and condition(sample):
                return sample
        raise AssertionError("no such sample")

    return wait


@pytest.fixture
def step_for(line_time: LineTime) -> Callable[[Any, float], None]:
    """Steps a device for some seconds."""

    def step(device: Any, seconds: float) -> None:
        end_ns = line_time.now_ns + round(seconds * 1e9)
        while line_time.now_ns < end_ns:
            device.step()

    return step


@pytest.fixture
def step_until(line_time: LineTime) -> Callable[[Any, Callable[[], Any]], None]:
    """Steps a device until a condition holds."""

    def step(device: Any, condition: Callable[[], Any]) -> None:
        end_ns = line_time.now_ns + round(PATIENCE_S * 1e9)
        while not condition():
            assert line_time.now_ns < end_ns
            device.step()

    return step


@pytest.fixture
def step_until_error(step_until: Callable[..., None]) -> Callable[[Any], DeviceError]:
    """Steps a device until that fails; the error."""

    def step(device: Any) -> DeviceError:
        with pytest.raises(DeviceError) as caught:
            step_until(device, lambda: False)
        return caught.value

    return step


@pytest.fixture
def running(until: Callable[..., Any]) -> Callable[..., int]:
    """Opens drives and runs them at a speed, confirmed by all; t_ns of the command."""

    def run(drives: Any, speed_radps: float = 1.0) -> int:
        drives.open()
        drives.write(DriveCommand(1, True, (0.0,) * 6))
        until(drives, lambda sample: sample.acknowledged_ns >= 1)
        drives.write(DriveCommand(2, False, (speed_radps,) * 6))
        until(drives, lambda sample: sample.acknowledged_ns >= 2)
        return 2

    return run


@pytest.fixture
def streams() -> Iterator[StreamBench]:
    """A bench for one streaming device."""
    bench = StreamBench()
    yield bench
    bench.time.close()
