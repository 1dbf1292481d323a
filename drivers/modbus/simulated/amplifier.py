"""A strain-gauge amplifier on Modbus RTU with a pair of input registers a channel, simulated at the protocol level."""

from __future__ import annotations

import struct

from drivers.modbus import protocol
from drivers.modbus.protocol import Code, Function
from drivers.serial.link import BadFrameError
from drivers.sim.protocol.plant_ports import NEVER_NS, ChannelReadings


class Amplifier:
    """A `SimulatedSerialDevice`: it answers one function with the newest reading of each channel.

    The two halves of a reading are taken at the same time. Registers between those of channels are 0, or refused. As
    with `drivers.modbus.simulated.relay_board.RelayBoard`, a whole frame is answered when its last byte has arrived.

    Args:
        readings: of the plant.
        registers: first register of each channel.
        address: of the amplifier.
        baud: of its line; sets the silence between frames.
        function: that reads them.
        signed: a reading is a signed number; else it is 0 below 0.
        high_first: the first register of a reading has its upper 16 bits.
        gaps: registers between readings may be read.
        V_per_count: of a reading [V].

    Attributes:
        frozen: readings are those of the last request before, while it is set.
    """

    def __init__(
        self,
        readings: ChannelReadings,
        registers: tuple[int, ...],
        *,
        address: int = 1,
        baud: int = 115200,
        function: Function = Function.READ_INPUT,
        signed: bool = True,
        high_first: bool = True,
        gaps: bool = True,
        V_per_count: float = 1e-6,
    ) -> None:
        self._readings, self._registers = readings, registers
        self._address, self._high_first, self._V_per_count = address, high_first, V_per_count
        self._function, self._signed, self._gaps = function, signed, gaps
        self._silence_ns = protocol.silence_ns(baud)
        self._buffer, self._received_ns, self._answered = b"", -(2**62), False
        self._counts = [0] * len(registers)
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
        return self._answer(function, asked) if address == self._address else b""

    def _answer(self, function: int, asked: bytes) -> bytes:
        if function != self._function:
            return protocol.refusal(self._address, function, Code.FUNCTION)
        try:
            first, count = protocol.pair(asked)
        except BadFrameError:
            return protocol.refusal(self._address, function, Code.VALUE)
        if len(asked) != 4 or not 1 <= count <= protocol.MAX_REGISTERS:
            return protocol.refusal(self._address, function, Code.VALUE)
        words = self._words()
        wanted = range(first, first + count)
        inside = min(words) <= first <= wanted[-1] <= max(words)
        if not inside or not (self._gaps or all(register in words for register in wanted)):
            return protocol.refusal(self._address, function, Code.ADDRESS)
        values = struct.pack(f">{count}H", *(words.get(register, 0) for register in wanted))
        return protocol.frame(self._address, function, bytes([2 * count]) + values)

    def _words(self) -> dict[int, int]:
        """What each register holds now."""
        if not self.frozen:
            volts = [self._readings.volts(channel) for channel in range(len(self._registers))]
            self._counts = [
                protocol.nearest(round(volt / self._V_per_count), 32, signed=self._signed) for volt in volts
            ]
        words = {}
        for register, count in zip(self._registers, self._counts, strict=True):
            words[register], words[register + 1] = protocol.words_of(count, 2, high_first=self._high_first)
        return words
