"""Packet serial of the RoboClaw motor controllers: frames, checks, codes; for the driver and for the simulated device.

A request is the address, the command, its values (big-endian) and, where the command sets something, a CRC. A setting
is answered by one byte 0xFF, a reading by its values and a CRC over address, command and values. A wrong request is
not answered. Source: RoboClaw Series User Manual (Basicmicro), "Packet Serial" and "Advanced Packet Serial".
"""

from __future__ import annotations

import binascii
import struct
from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from drivers.interfaces import BadFrameError
from drivers.reported import StatusTable
from drivers.roboclaw.status import NARROW_STATUS, WIDE_STATUS

T = TypeVar("T")
ADDRESSES = range(0x80, 0x88)
ACKNOWLEDGED = b"\xff"
# Silence inside a packet after which the controller drops the packet [ns].
GAP_NS = 10_000_000
# A serial time-out is counted in steps of this length [ms], in one byte.
TIMEOUT_STEP_MS = 100
FULL_DUTY = 32767
VERSION_BYTES = 48  # at most, its closing zero among them
# Last value of a move: it replaces the move that is being made; 0: it waits for the end of that move.
AT_ONCE = 1
# Place in the memory for users (commands 252, 253) that has the mark of a controller, and which marks there can be: a
# memory that was never written is all ones.
MARK_PLACE, MARKS = 0, range(1, 0xFFFF)
# Bit of an encoder's mode: it is absolute, not quadrature.
ABSOLUTE = 0x01
_CRC = struct.Struct(">H")


class CommandCode(IntEnum):
    """Numbers of the driver's commands, and of those that the maker's client needs for the same functions."""

    SET_TIMEOUT = 14
    TIMEOUT = 15
    COUNT_M1 = 16
    COUNT_M2 = 17
    SPEED_M1 = 18
    SPEED_M2 = 19
    RESET_COUNTS = 20
    VERSION = 21
    SET_COUNT_M1 = 22
    SET_COUNT_M2 = 23
    MAIN_BATTERY = 24
    DUTY_M1 = 32
    DUTY_M2 = 33
    DUTY = 34
    RUN_M1 = 35
    RUN_M2 = 36
    RUN = 37
    RUN_ACCELERATING_M1 = 38
    RUN_ACCELERATING_M2 = 39
    RUN_ACCELERATING = 40
    PWMS = 48
    CURRENTS = 49
    SET_POSITION_PID_M1 = 61
    SET_POSITION_PID_M2 = 62
    POSITION_PID_M1 = 63
    POSITION_PID_M2 = 64
    GO_M1 = 65
    GO_M2 = 66
    GO = 67
    COUNTS = 78
    RAW_SPEEDS = 79
    TEMPERATURE = 82
    TEMPERATURE_2 = 83
    STATUS = 90
    ENCODER_MODES = 91
    STORED = 252
    STORE = 253


# Values of each command that sets something.
SETTINGS: dict[CommandCode, struct.Struct] = {
    CommandCode.SET_TIMEOUT: struct.Struct(">B"),
    CommandCode.RESET_COUNTS: struct.Struct(">"),
    CommandCode.DUTY_M1: struct.Struct(">h"),
    CommandCode.DUTY_M2: struct.Struct(">h"),
    CommandCode.DUTY: struct.Struct(">hh"),
    CommandCode.RUN_M1: struct.Struct(">i"),
    CommandCode.RUN_M2: struct.Struct(">i"),
    CommandCode.RUN: struct.Struct(">ii"),
    CommandCode.RUN_ACCELERATING_M1: struct.Struct(">Ii"),
    CommandCode.RUN_ACCELERATING_M2: struct.Struct(">Ii"),
    CommandCode.RUN_ACCELERATING: struct.Struct(">Iii"),
    CommandCode.SET_COUNT_M1: struct.Struct(">i"),
    CommandCode.SET_COUNT_M2: struct.Struct(">i"),
    # D, P, I, largest integral, dead zone, lowest and highest position: not in the order in which they are read
    CommandCode.SET_POSITION_PID_M1: struct.Struct(">IIIIIii"),
    CommandCode.SET_POSITION_PID_M2: struct.Struct(">IIIIIii"),
    # acceleration, speed, deceleration, position of each motor, and AT_ONCE
    CommandCode.GO_M1: struct.Struct(">IIIiB"),
    CommandCode.GO_M2: struct.Struct(">IIIiB"),
    CommandCode.GO: struct.Struct(">IIIiIIIiB"),
    CommandCode.STORE: struct.Struct(">BH"),  # place, value
}
# Values in the answer to each reading. Version is text, and status has two forms: see `version`, `status_form`.
READINGS: dict[CommandCode, struct.Struct] = {
    CommandCode.TIMEOUT: struct.Struct(">B"),
    CommandCode.COUNT_M1: struct.Struct(">IB"),
    CommandCode.COUNT_M2: struct.Struct(">IB"),
    CommandCode.SPEED_M1: struct.Struct(">iB"),
    CommandCode.SPEED_M2: struct.Struct(">iB"),
    CommandCode.MAIN_BATTERY: struct.Struct(">H"),
    CommandCode.PWMS: struct.Struct(">hh"),
    CommandCode.CURRENTS: struct.Struct(">hh"),
    CommandCode.COUNTS: struct.Struct(">II"),
    CommandCode.RAW_SPEEDS: struct.Struct(">ii"),
    CommandCode.TEMPERATURE: struct.Struct(">H"),
    CommandCode.TEMPERATURE_2: struct.Struct(">H"),
    # P, I, D, largest integral, dead zone, lowest and highest position
    CommandCode.POSITION_PID_M1: struct.Struct(">IIIIIii"),
    CommandCode.POSITION_PID_M2: struct.Struct(">IIIIIii"),
    CommandCode.ENCODER_MODES: struct.Struct(">BB"),
}
# Of those, what is read a few times a second: field of `drivers.messages.PowerSample`, and how many steps make its
# unit. Two values are of the two motors, with their sign; one is of the controller, the largest of its field.
SLOW: dict[CommandCode, tuple[str, int]] = {
    CommandCode.MAIN_BATTERY: ("supply_V", 10),
    CommandCode.CURRENTS: ("current_A", 100),
    CommandCode.TEMPERATURE: ("temperature_degC", 10),
    CommandCode.TEMPERATURE_2: ("temperature_degC", 10),
}
KNOWN = frozenset(SETTINGS) | frozenset(READINGS) | {CommandCode.VERSION, CommandCode.STATUS, CommandCode.STORED}
_STORED = struct.Struct(">H")


class StatusForm(NamedTuple):
    """How a firmware answers command 90: its layout, and what its bits mean.

    The bits of one form mean something else in the other: 0x0004 of the wide one is a temperature.
    """

    layout: struct.Struct
    bits: StatusTable


# Older firmware answers 16 bits, newer (from about 4.2.0 on, and the MCP series) 32.
NARROW = StatusForm(struct.Struct(">H"), NARROW_STATUS)
WIDE = StatusForm(struct.Struct(">I"), WIDE_STATUS)


class Transaction(NamedTuple, Generic[T]):
    """A request and how to understand its answer: the arguments of `SerialLink.ask`.

    Attributes:
        request: all bytes of it.
        missing: least number of bytes still missing from an answer that begins so.
        decode: raises BadFrameError.
    """

    request: bytes
    missing: Callable[[bytes], int]
    decode: Callable[[bytes], T]


def crc16(data: bytes) -> int:
    """CRC-16/XMODEM: polynomial 0x1021, beginning with 0."""
    return binascii.crc_hqx(data, 0)


def signed(data: bytes) -> bytes:
    """Bytes with their CRC."""
    return data + _CRC.pack(crc16(data))


def setting(address: int, command: CommandCode, *values: int) -> Transaction[None]:
    """Set something at one controller. Raises struct.error for values that the command cannot carry."""
    return together([request(address, command, *values)])


def together(requests: list[bytes]) -> Transaction[None]:
    """Set values at several controllers of a bus in one write, before any of them has answered."""
    answer = ACKNOWLEDGED * len(requests)
    return Transaction(b"".join(requests), partial(_missing, len(answer)), partial(_decode_acknowledged, answer))


def reading(address: int, command: CommandCode) -> Transaction[tuple[int, ...]]:
    """Read something with an answer of fixed layout."""
    return _reading(address, command, READINGS[command])


def status(address: int, form: StatusForm) -> Transaction[tuple[int, ...]]:
    """Read the status of a controller whose form is known."""
    return _reading(address, CommandCode.STATUS, form.layout)


def mark(address: int) -> Transaction[tuple[int, ...]]:
    """Read the mark of a controller.

    The manual's list and the maker's programs read by 252 and write by 253; a page of the manual says the opposite.
    As a command to write, this request is too short, and a controller drops it.
    """
    asked = bytes((address, CommandCode.STORED, MARK_PLACE))
    return Transaction(asked, partial(_missing, _STORED.size + _CRC.size), partial(_values, asked, _STORED))


def stored(request: ReceivedRequest, value: int) -> bytes:
    """The answer of a controller to STORED."""
    head = bytes((request.address, request.command, *request.values))
    return signed(head + _STORED.pack(value))[len(head) :]


def status_form(address: int) -> Transaction[StatusForm]:
    """Find out how a controller answers command 90.

    A wide answer passes for a narrow one only where its lower half happens to be the CRC of its upper one.
    """
    asked = request(address, CommandCode.STATUS)
    narrow = NARROW.layout.size + _CRC.size

    def missing(answer: bytes) -> int:
        whole = len(answer) == narrow and _sound(asked, answer)
        return 0 if whole else max((narrow if len(answer) < narrow else WIDE.layout.size + _CRC.size) - len(answer), 0)

    def decode(answer: bytes) -> StatusForm:
        form = NARROW if len(answer) == narrow else WIDE
        _values(asked, form.layout, answer)
        return form

    return Transaction(asked, missing, decode)


def version(address: int) -> Transaction[str]:
    """Read the controller's version text."""
    asked = request(address, CommandCode.VERSION)

    def missing(answer: bytes) -> int:
        end = answer.find(0, 0, VERSION_BYTES)
        if end < 0:
            return 0 if len(answer) >= VERSION_BYTES else 1 + _CRC.size
        return max(end + 1 + _CRC.size - len(answer), 0)

    def decode(answer: bytes) -> str:
        if len(answer) <= _CRC.size or answer[-_CRC.size - 1] != 0 or not _sound(asked, answer):
            raise BadFrameError(f"damaged answer to command {CommandCode.VERSION}: {answer.hex(' ')}")
        return answer[: -_CRC.size - 1].decode("ascii", "backslashreplace").strip()

    return Transaction(asked, missing, decode)


def speed_qpps(values: tuple[int, ...]) -> int:
    """Speed from an answer to command 18 or 19 [quadrature pulses/s].

    By the manual the status byte holds the direction; controllers also send a signed number. Both are decoded.
    """
    speed, backward = values
    return -abs(speed) if backward & 1 else speed


def signed_count(count: int) -> int:
    """Returns the encoder count of command 78, which is sent without a sign.

    Example:
        >>> signed_count(2**32 - 3)
        -3
    """
    return (count + 2**31) % 2**32 - 2**31


class PositionPid(NamedTuple):
    """Position loop of a motor, as command 63 or 64 reads it; the gains in 1/1024.

    Attributes:
        lowest: position that it does not leave [counts].
        highest: the same on the other side.
    """

    p: int
    i: int
    d: int
    most_integral: int
    dead_zone: int
    lowest: int
    highest: int

    @property
    def as_set(self) -> tuple[int, ...]:
        """The values of command 61 or 62, whose order is another."""
        return self.d, self.p, self.i, *self[3:]


def request(address: int, command: CommandCode, *values: int) -> bytes:
    """All bytes of a request. Raises struct.error for values that the command cannot carry.

    Example:
        >>> request(0x80, CommandCode.DUTY, 0, 0).hex(" ")
        '80 22 00 00 00 00 98 17'
    """
    head = bytes((address, command))
    layout = SETTINGS.get(command)
    return head if layout is None else signed(head + layout.pack(*values))


def _reading(address: int, command: CommandCode, layout: struct.Struct) -> Transaction[tuple[int, ...]]:
    asked = request(address, command)
    return Transaction(asked, partial(_missing, layout.size + _CRC.size), partial(_values, asked, layout))


def _missing(size: int, answer: bytes) -> int:
    return max(size - len(answer), 0)


def _decode_acknowledged(expected: bytes, answer: bytes) -> None:
    if answer != expected:
        raise BadFrameError(f"expected {expected.hex(' ')}, got {answer.hex(' ') or 'nothing'}")


def _values(asked: bytes, layout: struct.Struct, answer: bytes) -> tuple[int, ...]:
    if len(answer) != layout.size + _CRC.size or not _sound(asked, answer):
        raise BadFrameError(f"damaged answer to command {asked[1]}: {answer.hex(' ') or 'nothing'}")
    return layout.unpack(answer[: layout.size])


def _sound(asked: bytes, answer: bytes) -> bool:
    return signed(asked + answer[: -_CRC.size]) == asked + answer


class ReceivedRequest(NamedTuple):
    """A complete, undamaged request, as received by a controller.

    Attributes:
        address: of the controller.
        command: its number.
        values: of a setting; of STORED the place; empty for another reading.
        ended_ns: when its last byte was on the line [ns].
    """

    address: int
    command: CommandCode
    values: tuple[int, ...]
    ended_ns: int


class Listener:
    """Decodes the bytes on a bus as its controllers do.

    A damaged packet is dropped. After an unknown command, whose length is therefore unknown too, all bytes are ignored
    until the line has been silent for longer than GAP_NS. Such a silence also drops an incomplete packet.
    """

    def __init__(self) -> None:
        self._begun = b""
        self._skips = False
        self._ended_ns = 0

    def receive(self, data: bytes, began_ns: int, ended_ns: int) -> list[ReceivedRequest]:
        """Requests that end in these bytes, which were on the line between two times [ns]."""
        if began_ns - self._ended_ns > GAP_NS:
            self._begun, self._skips = b"", False
        self._ended_ns = ended_ns
        requests = []
        for place, byte in enumerate(data, start=1):
            if (whole := self._take(byte)) is not None:
                requests.append(ReceivedRequest(*whole, began_ns + (ended_ns - began_ns) * place // len(data)))
        return requests

    def _take(self, byte: int) -> tuple[int, CommandCode, tuple[int, ...]] | None:
        if self._skips or (not self._begun and byte not in ADDRESSES):
            return None
        self._begun += bytes((byte,))
        if len(self._begun) < 2:
            return None
        if self._begun[1] not in KNOWN:
            self._begun, self._skips = b"", True
            return None
        address, command = self._begun[0], CommandCode(self._begun[1])
        layout = SETTINGS.get(command)
        if layout is None:
            if command is CommandCode.STORED and len(self._begun) < 3:
                return None
            values, self._begun = tuple(self._begun[2:]), b""
            return address, command, values
        if len(self._begun) < 2 + layout.size + _CRC.size:
            return None
        packet, self._begun = self._begun, b""
        body = packet[: -_CRC.size]
        return (address, command, layout.unpack(body[2:])) if signed(body) == packet else None
