"""Modbus RTU: frames, checks and exceptions, for the driver (master) and the simulated device (slave).

A frame is the slave's address, a function, its data (big-endian) and a CRC, low byte first; silence ends it. A slave
that understands a request but refuses it answers the function with its top bit set, and a code. Source: MODBUS
Application Protocol V1.1b3, section 6; MODBUS over Serial Line V1.02, section 2.5.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar, cast

from drivers.host import Characters, line_time_s
from drivers.interfaces import BadFrameError

T = TypeVar("T")
REFUSED = 0x80
ON, OFF = 0xFF00, 0x0000
BROADCAST = 0
MAX_COILS, MAX_REGISTERS = 0x7B0, 0x7B
_SHORTEST, _LONGEST = 4, 256
_REFUSAL_BYTES = 5
_TWO = struct.Struct(">HH")


class Function(IntEnum):
    """Function codes used here."""

    READ_COILS = 1
    READ_HOLDING = 3
    READ_INPUT = 4
    WRITE_COIL = 5
    WRITE_REGISTER = 6
    WRITE_COILS = 15
    WRITE_REGISTERS = 16


# That reads a kind of registers.
FUNCTIONS = {"input": Function.READ_INPUT, "holding": Function.READ_HOLDING}


class Code(IntEnum):
    """Why a slave refuses."""

    FUNCTION = 1
    ADDRESS = 2
    VALUE = 3
    FAILURE = 4


_REASONS = {
    Code.FUNCTION: "it does not know this function",
    Code.ADDRESS: "it has no such coil or register",
    Code.VALUE: "it does not allow this value or number of them",
    Code.FAILURE: "it failed",
}


class RefusedError(RuntimeError):
    """A slave understood a request and refuses it: nothing is damaged, and a retry does not help."""

    def __init__(self, function: int, code: int) -> None:
        reason = _REASONS.get(Code(code), "") if code in set(Code) else "see its manual"
        super().__init__(f"function {function} refused with exception {code}: {reason}")
        self.code = code


def crc16(data: bytes) -> int:
    """CRC-16 of Modbus: polynomial 0xA001 (reflected), beginning at 0xFFFF."""
    crc = 0xFFFF
    for byte in data:
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc


def _entry(crc: int) -> int:
    for _ in range(8):
        crc = (crc >> 1) ^ (0xA001 if crc & 1 else 0)
    return crc


_TABLE = tuple(_entry(byte) for byte in range(256))


def silence_ns(baud: int) -> int:
    """Silence that ends a frame [ns]: 3.5 characters of 11 bits, and above 19200 baud 1.75 ms."""
    return 1_750_000 if baud > 19200 else 38_500_000_000 // baud


def exchange_s(request: ModbusRequest[Any], baud: int, characters: Characters = "8n1") -> float:
    """Returns the line time of a request, its answer and the silences after both [s]."""
    return line_time_s(len(request.frame) + request.length, baud, characters) + 2e-9 * silence_ns(baud)


def frame(address: int, function: int, data: bytes) -> bytes:
    """A whole frame.

    Example:
        >>> frame(1, Function.WRITE_COIL, bytes([0, 3, 0xFF, 0])).hex(" ")
        '01 05 00 03 ff 00 7c 3a'
    """
    body = bytes([address, function]) + data
    return body + crc16(body).to_bytes(2, "little")


def unframe(whole: bytes) -> tuple[int, int, bytes]:
    """Address, function and data of a frame. Raises BadFrameError."""
    if not _SHORTEST <= len(whole) <= _LONGEST:
        raise BadFrameError(f"{len(whole)} bytes, a frame has {_SHORTEST} to {_LONGEST}")
    if crc16(whole[:-2]) != int.from_bytes(whole[-2:], "little"):
        raise BadFrameError(f"CRC wrong in {whole.hex(' ')}")
    return whole[0], whole[1], whole[2:-2]


def refusal(address: int, function: int, code: Code) -> bytes:
    """The frame of a slave that refuses."""
    return frame(address, function | REFUSED, bytes([code]))


class ModbusRequest(NamedTuple, Generic[T]):
    """A request and the form of its answer.

    Attributes:
        frame: bytes to send.
        length: bytes of a good answer.
        parse: decodes the answer's data into values; raises BadFrameError.
    """

    frame: bytes
    length: int
    parse: Callable[[bytes], T]

    @property
    def tells_echo(self) -> bool:
        """Whether its answer is never the request itself, so that a request that came back is known as one."""
        return self.frame[1] not in (Function.WRITE_COIL, Function.WRITE_REGISTER)

    def missing(self, answer: bytes, *, echoes: bool = False) -> int:
        """Returns the least number of bytes still missing from an answer that begins so.

        Args:
            answer: what has come so far; the request itself may stand before it, where the line returns that.
            echoes: the line is known to return requests.
        """
        own = self._without_echo(answer, echoes=echoes)
        returned = len(own) == len(answer) > 1 and self.frame.startswith(answer)
        if returned and (echoes or not self._is_whole(answer)):  # it may be the request that comes back
            return max(min(self.length, len(self.frame)) - len(answer), 1)
        refused = len(own) < 2 or bool(own[1] & REFUSED)
        return max((_REFUSAL_BYTES if refused else self.length) - len(own), 0)

    def decode(self, answer: bytes, *, echoes: bool = False) -> T:
        """Returns the values of an answer. Raises BadFrameError, and RefusedError when the slave refuses.

        Args: as `missing`.
        """
        address, function, data = unframe(self._without_echo(answer, echoes=echoes))
        if address != self.frame[0] or function & ~REFUSED != self.frame[1]:
            raise BadFrameError(
                f"answer of address {address} to function {function}, asked: {self.frame[0]}, {self.frame[1]}"
            )
        if function & REFUSED:
            if len(data) != 1:
                raise BadFrameError(f"exception with {len(data)} bytes")
            raise RefusedError(self.frame[1], data[0])
        return self.parse(data)

    def _without_echo(self, answer: bytes, *, echoes: bool) -> bytes:
        return answer.removeprefix(self.frame) if echoes or self.tells_echo else answer

    def _is_whole(self, answer: bytes) -> bool:
        return len(answer) == self.length and crc16(answer[:-2]) == int.from_bytes(answer[-2:], "little")


def read_coils(address: int, first: int, count: int) -> ModbusRequest[tuple[bool, ...]]:
    """Read coils first, first + 1, ... (1)."""
    _within("count", count, 1, MAX_COILS)
    size = (count + 7) // 8
    return ModbusRequest(_asking(address, Function.READ_COILS, first, count), 5 + size, partial(_coils, count))


def read_registers(
    address: int, first: int, count: int, function: Function = Function.READ_INPUT
) -> ModbusRequest[tuple[int, ...]]:
    """Read registers, input (4) or holding (3), each as a signed number of 16 bits."""
    _within("count", count, 1, MAX_REGISTERS)
    return ModbusRequest(_asking(address, function, first, count), 5 + 2 * count, partial(_registers, count))


def write_coil(address: int, coil: int, value: int) -> ModbusRequest[None]:
    """Write one coil (5): ON or OFF; some boards accept other values at other addresses."""
    return _echoed(_asking(address, Function.WRITE_COIL, coil, value))


def write_register(address: int, register: int, value: int) -> ModbusRequest[None]:
    """Write one holding register (6): a number of 16 bits, signed or not."""
    _within("value", value, -0x8000, 0xFFFF)
    return _echoed(_asking(address, Function.WRITE_REGISTER, register, value & 0xFFFF))


def write_coils(address: int, first: int, values: tuple[bool, ...]) -> ModbusRequest[None]:
    """Write coils first, first + 1, ... (15)."""
    _within("count", len(values), 1, MAX_COILS)
    packed = pack(values)
    data = _TWO.pack(first, len(values)) + bytes([len(packed)]) + packed
    return _echoed(frame(address, Function.WRITE_COILS, data))


def write_registers(address: int, first: int, values: tuple[int, ...]) -> ModbusRequest[None]:
    """Write holding registers first, first + 1, ... (16), each a number of 16 bits, signed or not."""
    _within("count", len(values), 1, MAX_REGISTERS)
    words = struct.pack(f">{len(values)}H", *(value & 0xFFFF for value in values))
    data = _TWO.pack(first, len(values)) + bytes([2 * len(values)]) + words
    return _echoed(frame(address, Function.WRITE_REGISTERS, data))


def pack(values: tuple[bool, ...]) -> bytes:
    """Coils as bytes, the first in the lowest bit."""
    return sum(1 << place for place, value in enumerate(values) if value).to_bytes((len(values) + 7) // 8, "little")


def unpack(packed: bytes, count: int) -> tuple[bool, ...]:
    """The first `count` coils of bytes."""
    bits = int.from_bytes(packed, "little")
    return tuple(bool(bits >> place & 1) for place in range(count))


def pair(data: bytes) -> tuple[int, int]:
    """The two numbers at the start of nearly every request: an address, and a count or value. Raises BadFrameError."""
    if len(data) < _TWO.size:
        raise BadFrameError(f"{len(data)} bytes of data, needed: {_TWO.size}")
    return cast(tuple[int, int], _TWO.unpack_from(data))


def number_of(words: Sequence[int], *, high_first: bool = True, signed: bool = True) -> int:
    """The number in neighbouring registers.

    Args:
        words: of 16 bits each, signed or not.
        high_first: the first of them has the upper 16 bits.
        signed: it is a number in two's complement.

    Example:
        >>> number_of((-1, 0x1234), high_first=False), number_of((-499,), signed=False)
        (305463295, 65037)
    """
    number = 0
    for word in words if high_first else words[::-1]:
        number = number << 16 | word & 0xFFFF
    bits = 16 * len(words)
    return number - (number >> bits - 1 << bits) if signed else number


def words_of(number: int, count: int, *, high_first: bool = True) -> tuple[int, ...]:
    """The registers of a number, each an unsigned number of 16 bits: what a device holds."""
    words = [number >> shift & 0xFFFF for shift in range(16 * (count - 1), -1, -16)]
    return tuple(words if high_first else words[::-1])


def nearest(number: int, bits: int, *, signed: bool = True) -> int:
    """The nearest number that so many bits hold."""
    least = -(1 << bits - 1) if signed else 0
    return min(max(number, least), least + (1 << bits) - 1)


def _asking(address: int, function: Function, first: int, number: int) -> bytes:
    _within("address", address, 0, 255)
    _within("first", first, 0, 0xFFFF)
    _within("value", number, 0, 0xFFFF)
    return frame(address, function, _TWO.pack(first, number))


def _echoed(whole: bytes) -> ModbusRequest[None]:
    """A request whose answer repeats its address, function and first two numbers."""
    return ModbusRequest(whole, 8, partial(_same, whole[2:6]))


def _same(sent: bytes, data: bytes) -> None:
    if data != sent:
        raise BadFrameError(f"answered {data.hex(' ')}, written: {sent.hex(' ')}")


def _coils(count: int, data: bytes) -> tuple[bool, ...]:
    size = (count + 7) // 8
    if len(data) != 1 + size or data[0] != size:
        raise BadFrameError(f"{len(data)} bytes for {count} coils")
    return unpack(data[1:], count)


def _registers(count: int, data: bytes) -> tuple[int, ...]:
    if len(data) != 1 + 2 * count or data[0] != 2 * count:
        raise BadFrameError(f"{len(data)} bytes for {count} registers")
    return struct.unpack(f">{count}h", data[1:])


def _within(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ValueError(f"{name}: {value}, allowed: {least} to {most}")
