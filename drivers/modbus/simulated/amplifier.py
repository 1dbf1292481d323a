"""A strain-gauge amplifier on Modbus RTU with a pair of input registers a channel, simulated at the protocol level."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from drivers.modbus import protocol
from drivers.modbus.protocol import Code
from drivers.modbus.section import ModbusLoadsSection
from drivers.serial.link import BadFrameError
from drivers.sim.protocol.plant_ports import NEVER_NS, ChannelReadings


class Amplifier:
    """A `SimulatedSerialDevice`: it answers one function with the newest reading of each channel.

    The two halves of a reading are taken at the same time. Registers between those of channels are 0, or refused. As
    with `drivers.modbus.simulated.relay_board.RelayBoard`, a whole frame is answered when its last byte has arrived.

    Args:
        readings: of the plant.
        section: of its driver.
        channels: in the order of the readings.

    Attributes:
        frozen: readings are those of the last request before, while it is set.
    """

    def __init__(self, readings: ChannelReadings, section: ModbusLoadsSection, channels: Sequence[str]) -> None:
        self._readings, self._section, self._registers = readings, section, section.places(channels)
        self._silence_ns = protocol.silence_ns(section.baud)
        self._buffer, self._received_ns, self._answered = b"", -(2**62), False
        self._counts = [0] * len(channels)
        self.frozen = False

    def wake(self, now_ns: int) -> int:  # noqa: ARG002
        """Nothing happens by itself."""
        return NEVER_NS

    def press(self, pressed: bool) -> None:  # noqa: ARG002
        """Raises ValueError: it reads no emergency stop."""
        raise ValueError("this device has no emergency stop")

    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> bytes:
        """Receive bytes of a host; the bytes sent back."""
        if began_ns - self._received_ns >= self._silence_ns:
            self._buffer, self._answered = b"", False
        self._received_ns = ended_ns
        self._buffer = (self._buffer + data)[-1024:]
        if self._answered:
            return b""
        try:
            address, function, asked = protocol.unframe(self._buffer)
        except BadFrameError:
            return b""
        self._answered = True
        return self._answer(function, asked) if address == self._section.address else b""

    def _answer(self, function: int, asked: bytes) -> bytes:
        if function != self._section.function:
            return protocol.refusal(self._section.address, function, Code.FUNCTION)
        try:
            first, count = protocol.pair(asked)
        except BadFrameError:
            return protocol.refusal(self._section.address, function, Code.VALUE)
        if len(asked) != 4 or not 1 <= count <= protocol.MAX_REGISTERS:
            return protocol.refusal(self._section.address, function, Code.VALUE)
        words = self._words()
        wanted = range(first, first + count)
        inside = min(words) <= first <= wanted[-1] <= max(words)
        if not inside or not (self._section.read_gaps or all(register in words for register in wanted)):
            return protocol.refusal(self._section.address, function, Code.ADDRESS)
        values = struct.pack(f">{count}H", *(words.get(register, 0) for register in wanted))
        return protocol.frame(self._section.address, function, bytes([2 * count]) + values)

    def _words(self) -> dict[int, int]:
        """Returns what each register holds now."""
        if not self.frozen:
            volts = [self._readings.volts(channel) for channel in range(len(self._registers))]
            counts = [round(volt / self._section.V_per_count) for volt in volts]
            self._counts = [protocol.nearest(count, 32, signed=self._section.signed) for count in counts]
        words, high_first = {}, self._section.word_order == "high_first"
        for register, count in zip(self._registers, self._counts, strict=True):
            words[register], words[register + 1] = protocol.words_of(count, 2, high_first=high_first)
        return words
