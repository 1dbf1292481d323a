"""The drives simulated at the protocol level: what `hil sim` serves, and tests talk to."""

from typing_extensions import override

from drivers.sim.protocol.line import SimulatedSerialDevice
from drivers.sim.protocol.plant_ports import NEVER_NS, AxlePorts


class TextlineDevice(SimulatedSerialDevice):
    """It obeys each line, and stops by itself when none comes."""

    def __init__(self, wheels: AxlePorts, count: int, timeout_ms: int) -> None:
        self._wheels, self._count, self._timeout_ns = wheels, count, timeout_ms * 1_000_000
        self._buffer, self._fed_ns = b"", 0

    @override
    def wake(self, now_ns: int) -> int:
        """Stop by itself when no line has come for the time-out; when that is over [ns]."""
        if self._fed_ns and now_ns - self._fed_ns > self._timeout_ns:
            self._cut()
        return self._fed_ns + self._timeout_ns + 1 if self._fed_ns else NEVER_NS

    @override
    def press(self, pressed: bool) -> None:
        raise ValueError("this device has no emergency stop")

    @override
    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return b"".join(self._obey(line, ended_ns) for line in lines if line)

    def _obey(self, line: bytes, t_ns: int) -> bytes:
        self._fed_ns = t_ns
        if line == b"C":
            self._cut()
        else:
            for wheel, speed in enumerate(line.split()[1:]):
                self._wheels.hold(wheel, float(speed))
        return b" ".join(b"%.5f" % self._wheels.speed_radps(wheel) for wheel in range(self._count)) + b"\n"

    def _cut(self) -> None:
        self._fed_ns = 0
        for wheel in range(self._count):
            self._wheels.cut(wheel)
