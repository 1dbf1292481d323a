"""Slaves on a simulated Modbus RTU line: frames, addresses and exceptions."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from drivers.interfaces import BadFrameError
from drivers.modbus import protocol
from drivers.modbus.protocol import Code
from drivers.sim.protocol.plant_ports import NEVER_NS

# A function of a slave: data of the request and its time [ns] in, data of the answer out.
Serve = Callable[[bytes, int], bytes]


class ModbusExceptionError(Exception):
    """A request that is answered with an exception."""

    def __init__(self, code: Code) -> None:
        self.code = code


class Slave(Protocol):
    """A device on the line, or a part of one; parts of a device have the same address and different functions.

    Attributes:
        address: of the device.
        served: its functions by their codes; they raise RefusedError, and BadFrameError.
    """

    address: int
    served: Mapping[int, Serve]

    @property
    def switched(self) -> Sequence[tuple[int, int, bool]]:
        """Its switching events (time [ns], coil, on), oldest first."""

    def wake(self, now_ns: int) -> int:
        """Advance to now_ns and run its time-outs; as of a `SimulatedSerialDevice`."""

    def note_addressed(self, t_ns: int) -> None:
        """A request to its address has arrived."""


@runtime_checkable
class _HoldsPressures(Protocol):
    """A slave with registers of pressures.

    Attributes:
        forced: what some of these hold whatever the pressure is, by number.
    """

    forced: dict[int, int]


class RtuBus:
    """A `SimulatedSerialDevice`: all slaves on one line.

    Simplified: a whole frame is answered when its last byte has arrived, so set the line's turnaround to
    `protocol.silence_ns(baud)`, in which a real device makes sure that the frame is over. Bytes that arrive within that
    silence are dropped.

    Args:
        slaves: those on the line.
        baud: of the line; sets the silence between frames.

    Attributes:
        kinds: of faults: register, the `value` of 16 bits that a `register` of pressures holds.
    """

    kinds: tuple[str, ...] = ("register",)

    def __init__(self, slaves: Sequence[Slave], baud: int = 9600) -> None:
        self._slaves, self._silence_ns = slaves, protocol.silence_ns(baud)
        self._buffer, self._received_ns, self._answered = b"", -(2**62), False

    def wake(self, now_ns: int) -> int:
        """Run the time-outs of all slaves."""
        return min((slave.wake(now_ns) for slave in self._slaves), default=NEVER_NS)

    def inject_fault(self, kind: str, how: Mapping[str, Any]) -> None:  # noqa: ARG002  there is one kind
        """Start a fault; see `OwnFaults`."""
        for slave in self._slaves:
            if isinstance(slave, _HoldsPressures):
                slave.forced[how["register"]] = how["value"]

    @property
    def switched(self) -> list[tuple[int, int, bool]]:
        """What the relay boards on the line have switched: (time [ns], coil, on), oldest first."""
        return sorted(event for slave in self._slaves for event in slave.switched)

    def press(self, pressed: bool) -> None:  # noqa: ARG002
        """Raises ValueError: it reads no emergency stop."""
        raise ValueError("this device has no emergency stop")

    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:
        """Receive bytes of a host; the bytes sent back."""
        self.wake(began_ns)
        if began_ns - self._received_ns >= self._silence_ns:
            self._buffer, self._answered = b"", False
        self._received_ns = ended_ns
        self._buffer += data
        if self._answered:
            return b""
        try:
            address, function, asked = protocol.unframe(self._buffer)
        except BadFrameError:
            self._buffer = self._buffer[-1024:]
            return b""
        self._answered = True
        answer = b""
        for device in dict.fromkeys(slave.address for slave in self._slaves):
            if address in (device, protocol.BROADCAST):
                answer = self._answer(device, function, asked, ended_ns)
        return b"" if address == protocol.BROADCAST else answer

    def _answer(self, device: int, function: int, asked: bytes, t_ns: int) -> bytes:
        parts = [slave for slave in self._slaves if slave.address == device]
        for part in parts:
            part.note_addressed(t_ns)
        try:
            return protocol.frame(device, function, _served(parts, function, asked, t_ns))
        except BadFrameError:
            return protocol.refusal(device, function, Code.VALUE)
        except ModbusExceptionError as refused:
            return protocol.refusal(device, function, refused.code)


def _served(parts: Sequence[Slave], function: int, asked: bytes, t_ns: int) -> bytes:
    """Data of the answer of the part that has what is asked for. Raises ModbusExceptionError, BadFrameError."""
    code = Code.FUNCTION
    for part in parts:
        if function in part.served:
            try:
                return part.served[function](asked, t_ns)
            except ModbusExceptionError as refused:
                code = refused.code
    raise ModbusExceptionError(code)


def span(asked: bytes, length: int) -> tuple[int, int]:
    """First address and count of a read request. Raises RefusedError, BadFrameError."""
    first, count = protocol.pair(asked)
    if len(asked) != length or not 1 <= count <= protocol.MAX_REGISTERS:
        raise ModbusExceptionError(Code.VALUE)
    return first, count


def registers(values: Sequence[int]) -> bytes:
    """Returns the data of an answer with registers, each a number of 16 bits, signed or not."""
    return bytes([2 * len(values)]) + struct.pack(f">{len(values)}H", *(value & 0xFFFF for value in values))
