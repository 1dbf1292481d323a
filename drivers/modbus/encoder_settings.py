"""Settings of absolute encoders on Modbus RTU, and what follows from them."""

from __future__ import annotations

import math

import msgspec

from drivers.host import Characters, line_time_s
from drivers.modbus import protocol
from drivers.modbus.budget import exchange_s
from drivers.modbus.protocol import Function


class Encoder(msgspec.Struct, frozen=True):
    """The encoder of one joint.

    Attributes:
        joint: its name.
        address: 1 to 247.
        register: of its position, the first of two of 32 bits.
        function: that reads this register.
        bits: of the position, 16 or 32.
        counts_per_turn: of the position.
        high_first: the first of two registers has the upper 16 bits.
        multi_turn: the position, a signed number, is an angle over many turns.
    """

    joint: str
    address: int
    register: int
    function: Function = Function.READ_INPUT
    bits: int = 32
    counts_per_turn: int = 4096
    high_first: bool = True
    multi_turn: bool = False

    @property
    def words(self) -> int:
        """Registers of a position."""
        return self.bits // 16

    def request(self) -> protocol.ModbusRequest[tuple[int, ...]]:
        """Reads the position."""
        return protocol.read_registers(self.address, self.register, self.words, self.function)

    def angle_rad(self, registers: tuple[int, ...]) -> float:
        """Angle at a position [rad]: within (-pi, pi] of one turn, or over many turns.

        A position that is no place within a turn, from 0 on, is taken as a signed number: an encoder that has turned
        backwards over its zero counts -1, -2 and so on.

        Args:
            registers: of the position, as read; each a signed number of 16 bits.

        Example:
            >>> Encoder("left_bogie", 1, 1, bits=16).angle_rad((1024,)) / math.pi
            0.5
        """
        counts = protocol.number_of(registers, high_first=self.high_first, signed=self.multi_turn)
        if counts >= self.counts_per_turn and not self.multi_turn:
            counts = protocol.number_of(registers, high_first=self.high_first)
        if self.multi_turn:
            return 2.0 * math.pi * counts / self.counts_per_turn
        turned = counts % self.counts_per_turn
        if 2 * turned > self.counts_per_turn:
            turned -= self.counts_per_turn
        return 2.0 * math.pi * turned / self.counts_per_turn

    def registers(self, counts: int) -> tuple[int, ...]:
        """The registers of a position, each an unsigned number of 16 bits: what a device holds."""
        return protocol.words_of(counts, self.words, high_first=self.high_first)


class EncodersSettings(msgspec.Struct, frozen=True):
    """Settings of the encoders on one line.

    Attributes:
        port: path.
        encoders: in the order of the values of a reading.
        rate_hz: how often all of them are read.
        baud: of the port.
        answer_timeout_ms: how long an answer may take, line time included.
        characters: of the port.
    """

    port: str
    encoders: tuple[Encoder, ...]
    rate_hz: float
    baud: int = 115200
    answer_timeout_ms: float = 50.0
    characters: Characters = "8n1"

    def poll_s(self) -> float:
        """Line time of reading all encoders once, with the silences after each frame [s]."""
        return sum(exchange_s(encoder.request(), self.baud, self.characters) for encoder in self.encoders)

    def bytes_s(self) -> float:
        """Line time of the bytes of that alone [s]."""
        requests = [encoder.request() for encoder in self.encoders]
        return line_time_s(sum(len(request.frame) + request.length for request in requests), self.baud, self.characters)

    def longest_answer_s(self) -> float:
        """Line time of a request and its answer, of the encoder with the longest [s]."""
        requests = [encoder.request() for encoder in self.encoders]
        longest = max((len(request.frame) + request.length for request in requests), default=0)
        return line_time_s(longest, self.baud, self.characters)
