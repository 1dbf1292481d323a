"""An SLCAN adapter with nodes on its bus, simulated at the protocol level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from drivers.can import slcan
from drivers.can.slcan import AdapterStatus, CanFrame, LineReader
from drivers.interfaces import BadFrameError


class SimulatedNode(Protocol):
    """A node of a bus, without its bus: frames in and out, each at a time of CLOCK_MONOTONIC [ns]."""

    def take(self, frame: CanFrame, t_ns: int) -> Iterable[CanFrame]:
        """Take a frame of another node; what it answers."""

    def wake(self, now_ns: int) -> int:
        """Advance to now_ns; when it has to be called again [ns]."""

    def unasked(self) -> Iterable[CanFrame]:
        """Returns what it has sent by itself since the last call."""


class SimAdapter:
    """A `SimulatedSerialDevice` that is also `Streaming`. As a CANUSB it confirms each frame that it has sent.

    Args:
        nodes: on the bus.
        bit_rate: of the bus [bit/s]; at another one no frame passes.

    Attributes:
        nodes: see above.
        is_open: the host has opened the bus.
        kinds: of faults: status, its flags (`value`), which are read once.
    """

    kinds: tuple[str, ...] = ("status",)

    def __init__(self, nodes: Sequence[SimulatedNode], bit_rate: int) -> None:
        self.nodes, self._bit_rate = tuple(nodes), bit_rate
        self.is_open, self._set_rate, self._flags = False, 0, 0
        self._reader = LineReader()

    def inject_fault(self, kind: str, how: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Start a fault; see `OwnFaults`."""
        self._flags = how["value"]

    def press(self, pressed: bool) -> None:  # noqa: ARG002
        """Raises ValueError: nothing on the bus reads an emergency stop."""
        raise ValueError("this device has no emergency stop")

    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:
        """Receive bytes of a host; the bytes sent back."""
        answer, place, byte_ns = b"", 0, (ended_ns - began_ns) / max(len(data), 1)
        for end in range(1, len(data) + 1):
            if data[end - 1 : end] != slcan.END and end < len(data):
                continue
            for line in self._reader.feed(data[place:end]):
                answer += self._obey(line, began_ns + round(end * byte_ns))
            place = end
        return answer

    def wake(self, now_ns: int) -> int:
        """Advance all nodes; when they have to be called again [ns]."""
        return min(node.wake(now_ns) for node in self.nodes)

    def unasked(self, now_ns: int) -> list[tuple[int, bytes]]:
        """Returns what the nodes have sent by themselves."""
        come = b"".join(frame.line for node in self.nodes for frame in node.unasked())
        return [(now_ns, come)] if come and self._passes else []

    @property
    def _passes(self) -> bool:
        return self.is_open and self._set_rate == self._bit_rate

    def _obey(self, line: bytes, t_ns: int) -> bytes:
        command = line + slcan.END
        if command in slcan.BIT_RATES.values():
            if self.is_open:
                return slcan.BELL
            self._set_rate = next(rate for rate, one in slcan.BIT_RATES.items() if one == command)
            return slcan.END
        if command in (slcan.OPEN, slcan.CLOSE):
            opens = command == slcan.OPEN
            if opens is self.is_open or not self._set_rate:
                return slcan.BELL
            self.is_open = opens
            return slcan.END
        if command == slcan.STATUS:
            flags, self._flags = self._flags, 0
            return b"F%02X\r" % flags if self.is_open else slcan.BELL
        if line == b"" or command == slcan.NO_TIME_STAMPS:
            return slcan.END
        return self._send(line, t_ns)

    def _send(self, line: bytes, t_ns: int) -> bytes:
        """Send a frame on the bus, where all nodes receive it at its end; their answers come behind it."""
        try:
            frame = slcan.decode(line)
        except BadFrameError:
            return slcan.BELL
        if not self.is_open or frame is None or isinstance(frame, AdapterStatus):
            return slcan.BELL
        if not self._passes:
            return slcan.SENT
        t_ns += slcan.bus_bits(len(frame.data)) * 1_000_000_000 // self._bit_rate
        answers: list[CanFrame] = []
        for node in self.nodes:
            node.wake(t_ns)
            answers += node.take(frame, t_ns)
        return slcan.SENT + b"".join(one.line for one in sorted(answers))
