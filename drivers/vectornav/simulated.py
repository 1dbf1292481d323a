"""A VectorNav VN-100, simulated at the protocol level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from drivers.host import line_time_s
from drivers.interfaces import BadFrameError
from drivers.sim.protocol.plant_ports import Instrument
from drivers.sim.protocol.reading_stream import StreamingDevice
from drivers.vectornav import protocol
from drivers.vectornav.protocol import Inertia

INPUT_BUFFER = 256  # bytes
# A message of a binary output, with a byte that ends a line of text in it.
_BINARY = b"\xfa\x01\x08\x00\x0a\x24\x81\x13\x0d\x0a\x9c\x41"
SERIAL_NUMBER = "0100012345"
_READ_ONLY = (protocol.MODEL, protocol.SERIAL_NUMBER, protocol.FIRMWARE)
_LENGTHS = {
    protocol.OUTPUT_OFF: 0,
    protocol.OUTPUT_YMR: len(protocol.ymr_message(Inertia((0.0,) * 3, (0.0,) * 3))),
    protocol.OUTPUT_IMU: protocol.IMU_BYTES,
}


class VectorNavDevice(StreamingDevice):
    """A `SimulatedSerialDevice` that streams: at first $VNYMR, 40 times a second or as often as its line bears.

    It has the registers that the driver uses. Output kinds are off, $VNYMR and $VNIMU, all others a wrong parameter. A
    reading that the instrument lost is not sent.

    Args:
        instrument: of the plant; its channels are accelerations, then rates.
        baud: of its line.
        delay_ns: from a measurement until its message begins [ns].
        identity: register 3, its serial number.

    Attributes:
        kinds: of faults: register, the `value` that a `register` has.
        registers: values by number.
    """

    kinds = ("register",)

    def __init__(self, instrument: Instrument, baud: int, delay_ns: int, identity: str = SERIAL_NUMBER) -> None:
        super().__init__(instrument, delay_ns)
        self._baud, self._buffer = baud, b""
        self._began = False
        self.registers = {
            protocol.MODEL: "VN-100T-CR",
            protocol.SERIAL_NUMBER: identity,
            protocol.FIRMWARE: "3.1.0.0",
            protocol.BAUD: str(baud),
            protocol.OUTPUT: str(protocol.OUTPUT_YMR),
            protocol.RATE: str(
                max(rate for rate in protocol.RATES_HZ if rate <= 40 and self._fits(protocol.OUTPUT_YMR, rate))
            ),
            protocol.PROTOCOL: ",".join(map(str, protocol.PLAIN)),
            protocol.ROTATION: ",".join(f"{value:+.6f}" for value in protocol.IDENTITY),
            **{register: ",".join(map(str, protocol.BINARY_OFF)) for register in protocol.BINARY_OUTPUTS},
        }

    def inject_fault(self, kind: str, how: Mapping[str, Any]) -> None:  # noqa: ARG002  there is one kind
        """Start a fault; see `OwnFaults`."""
        self.registers[how["register"]] = how["value"]

    @override
    def wake(self, now_ns: int) -> int:
        if not self._began:
            self._began = True
            self._restart(now_ns)
        return super().wake(now_ns)

    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:  # noqa: ARG002
        """Receive bytes of a host; the bytes sent back."""
        self._buffer += data
        answers = b""
        while (end := self._buffer.find(b"\n") + 1) > 0:
            line, self._buffer = self._buffer[:end], self._buffer[end:]
            answers += self._summed(self._answer(line[max(line.rfind(protocol.START), 0) :], ended_ns))
        if len(self._buffer) > INPUT_BUFFER:
            self._buffer = b""
            return answers + _error(2)
        return answers

    def _message(self, values: tuple[float, ...] | None) -> bytes:
        binary = _BINARY if self._binary else b""
        if values is None or self._output == protocol.OUTPUT_OFF:
            return binary
        ax, ay, az, wx, wy, wz = values
        write = protocol.imu_message if self._output == protocol.OUTPUT_IMU else protocol.ymr_message
        return self._summed(write(Inertia((ax, ay, az), (wx, wy, wz)))) + binary

    def _summed(self, message: bytes) -> bytes:
        """A message with the check sum that is set."""
        if not (self._long_sums and message):
            return message
        body = message[1 : message.rfind(b"*")]
        return protocol.frame(body.decode(), long_sum=True)

    @property
    def _long_sums(self) -> bool:
        return self.registers[protocol.PROTOCOL].split(",")[4] == "3"

    @property
    def _binary(self) -> bool:
        """A binary output is on."""
        return any(self.registers.get(register, "0")[0] != "0" for register in protocol.BINARY_OUTPUTS)

    @property
    def _output(self) -> int:
        return int(self.registers[protocol.OUTPUT])

    def _answer(self, line: bytes, now_ns: int) -> bytes:
        try:
            command, *fields = protocol.unframe(line, unchecked=True)
        except BadFrameError:
            return _error(3)
        if self._long_sums and line[-5:-4] == b"*" and not line.endswith(b"*XX\r\n"):
            return _error(3)
        if command not in (protocol.READ, protocol.WRITE):
            return _error(4)
        if len(fields) < (1 if command == protocol.READ else 2):
            return _error(5)
        if command == protocol.READ and len(fields) > 1:
            return _error(6)
        register = int(fields[0]) if fields[0].isdecimal() else -1
        if register not in self.registers:
            return _error(8)
        if command == protocol.WRITE and (error := self._write(register, fields[1:], now_ns)):
            return _error(error)
        return protocol.frame(command, f"{register:02d}", self.registers[register])

    def _write(self, register: int, values: list[str], now_ns: int) -> int:
        """Write a register; 0, or the code of the error."""
        if register in _READ_ONLY:
            return 9
        if len(values) != len(self.registers[register].split(",")):
            return 6 if len(values) > len(self.registers[register].split(",")) else 5
        allowed = {
            protocol.BAUD: (self._baud,),  # its line cannot change
            protocol.OUTPUT: tuple(_LENGTHS),
            protocol.RATE: protocol.RATES_HZ,
            protocol.PROTOCOL: tuple(range(4)),
            protocol.ROTATION: (),  # it takes effect with a reset, which this device has not
            **dict.fromkeys(protocol.BINARY_OUTPUTS, tuple(range(4))),
        }[register]
        if not all(value.isdecimal() and int(value) in allowed for value in values):
            return 7
        kept, self.registers[register] = self.registers[register], ",".join(str(int(value)) for value in values)
        if not self._fits(self._output, int(self.registers[protocol.RATE])):
            self.registers[register] = kept
            return 12
        if register in (protocol.OUTPUT, protocol.RATE, *protocol.BINARY_OUTPUTS):
            self._restart(now_ns)
        return 0

    def _fits(self, output: int, rate_hz: int) -> bool:
        return line_time_s(_LENGTHS[output] * rate_hz, self._baud) <= 1.0

    def _restart(self, now_ns: int) -> None:
        if self._output == protocol.OUTPUT_OFF and not self._binary:
            self._stream.stop()
        else:
            self._stream.start(now_ns, float(self.registers[protocol.RATE]))


def _error(code: int) -> bytes:
    return protocol.frame(protocol.ERROR, f"{code:02X}")
