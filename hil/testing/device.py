"""What simulated devices on a line have in common: where they are reached, and their faults."""

from __future__ import annotations

from drivers.sim.protocol.line import LineFault, SimulatedPort, SimulatedSerialDevice
from drivers.sim.protocol.plant_ports import NEVER_NS
from hil.processes.served import Served
from hil.testing.bench import Computer, Place
from hil.testing.faults import ALWAYS, KINDS, FaultKind, ReportedValue, check_fault, line_fault, misread

# From the last byte of a request to the first of its answer [ns].
TURNAROUND_NS = 100_000


class LineDevice(Served):
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
