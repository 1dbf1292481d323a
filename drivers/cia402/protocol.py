"""CANopen as a drive speaks it: identifiers, NMT, heartbeat, SDO, objects; for the driver and the simulated device.

Numbers are little-endian. An SDO reads or writes one entry of a node's object dictionary; up to four bytes go in one
frame (expedited), more in segments of seven. Sources: CiA 301 V4.2 (application layer), sections 7.2 (NMT, SDO), 7.3
(identifiers), 7.5 (objects); CiA 402-2 V4.0 (drives), objects 0x6007 to 0x60FF.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from drivers.can.slcan import CanFrame
from drivers.interfaces import BadFrameError

# Identifiers; those that end in 0x..00 and 0x..80 are of a node by adding its number.
NMT, SYNC, EMERGENCY, TPDO1, RPDO1 = 0x000, 0x080, 0x080, 0x180, 0x200
SDO_ANSWER, SDO_REQUEST, HEARTBEAT = 0x580, 0x600, 0x700
# The stop of all drives: no node has the number 0, and it goes before all set-points.
STOP_ALL = 0x200
NODES = 127
# Commands and states of network management.
START, STOP, RESET_COMMUNICATION, PRE_OPERATIONAL = 0x01, 0x02, 0x82, 0x80
BOOT_UP, STOPPED, OPERATIONAL, READY = 0x00, 0x04, 0x05, 0x7F
# Commands and answers of an SDO, its highest three bits.
_DOWNLOAD, _UPLOAD, _SEGMENT, _WRITTEN, _ABORT = 0x20, 0x40, 0x60, 0x60, 0x80
_EXPEDITED, _SIZED, _TOGGLE = 0x02, 0x01, 0x10
SDO_BYTES = 8
# Bit of an identifier in a communication parameter: the PDO is off.
OFF = 1 << 31
EVENT_DRIVEN, EACH_SYNC = 255, 1
ABORTS = {
    0x05030000: "toggle bit not alternated",
    0x05040000: "SDO timed out",
    0x05040001: "command unknown",
    0x06010000: "access not supported",
    0x06010001: "it is write-only",
    0x06010002: "it is read-only",
    0x06020000: "no such object",
    0x06040041: "it cannot be mapped to a PDO",
    0x06040042: "the PDO would be too long",
    0x06040043: "parameters do not fit together",
    0x06040047: "incompatible within the device",
    0x06060000: "hardware error",
    0x06070010: "length does not match",
    0x06070012: "too long",
    0x06070013: "too short",
    0x06090011: "no such sub-index",
    0x06090030: "value not allowed",
    0x06090031: "value too high",
    0x06090032: "value too low",
    0x08000000: "general error",
    0x08000020: "it cannot be stored",
    0x08000021: "not possible under local control",
    0x08000022: "not possible in this state",
}
NO_OBJECT, NO_SUB_INDEX, READ_ONLY, NOT_ALLOWED = 0x06020000, 0x06090011, 0x06010002, 0x06090030
NOT_MAPPABLE, UNKNOWN_COMMAND, WRONG_LENGTH, NOT_NOW = 0x06040041, 0x05040001, 0x06070010, 0x08000022


class SdoAbortError(Exception):
    """A node refuses to read or to write an entry.

    Attributes:
        code: why, by the standard.
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"{ABORTS.get(code, 'it refuses')} (0x{code:08X})")
        self.code = code


class Entry(msgspec.Struct, frozen=True, gc=False):
    """An entry of an object dictionary.

    Attributes:
        index, sub: its address.
        size: bytes of its number; 0: it is a text.
        words: what it is.
        signed: the number has a sign.
    """

    index: int
    sub: int
    size: int
    words: str
    signed: bool = False

    @property
    def address(self) -> bytes:
        """As an SDO has it."""
        return struct.pack("<HB", self.index, self.sub)

    @property
    def mapping(self) -> int:
        """As the mapping of a PDO has it."""
        return self.index << 16 | self.sub << 8 | 8 * self.size

    def pack(self, value: int) -> bytes:
        """Its bytes."""
        return value.to_bytes(self.size, "little", signed=self.signed)

    def unpack(self, data: bytes) -> int:
        """Its number. Raises BadFrameError: the length is another."""
        if len(data) != self.size:
            raise BadFrameError(f"{self} has {len(data)} bytes, expected: {self.size}")
        return int.from_bytes(data, "little", signed=self.signed)

    def __str__(self) -> str:
        return f"{self.words} (0x{self.index:04X}:{self.sub:02X})"


DEVICE_TYPE = Entry(0x1000, 0, 4, "device type")
ERROR_REGISTER = Entry(0x1001, 0, 1, "error register")
NAME = Entry(0x1008, 0, 0, "device name")
CONSUMER_HEARTBEAT = Entry(0x1016, 1, 4, "consumer heartbeat time")
IDENTITY = tuple(
    Entry(0x1018, sub, 4, words)
    for sub, words in enumerate(("vendor", "product code", "revision", "serial number"), start=1)
)
ERROR_BEHAVIOUR = Entry(0x1029, 1, 1, "error behaviour at communication errors")
ABORT_OPTION = Entry(0x6007, 0, 2, "abort connection option code", signed=True)
ERROR_CODE = Entry(0x603F, 0, 2, "error code")
CONTROLWORD = Entry(0x6040, 0, 2, "controlword")
STATUSWORD = Entry(0x6041, 0, 2, "statusword")
MODE = Entry(0x6060, 0, 1, "modes of operation", signed=True)
MODE_DISPLAY = Entry(0x6061, 0, 1, "modes of operation display", signed=True)
VELOCITY = Entry(0x606C, 0, 4, "velocity actual value", signed=True)
RATED_CURRENT = Entry(0x6075, 0, 4, "motor rated current")
CURRENT = Entry(0x6078, 0, 2, "current actual value", signed=True)
VOLTAGE = Entry(0x6079, 0, 4, "DC link circuit voltage")
ACCELERATION = Entry(0x6083, 0, 4, "profile acceleration")
DECELERATION = Entry(0x6084, 0, 4, "profile deceleration")
ENCODER_COUNTS, ENCODER_TURNS = (Entry(0x608F, sub, 4, "position encoder resolution") for sub in (1, 2))
GEAR_MOTOR, GEAR_SHAFT = (Entry(0x6091, sub, 4, "gear ratio") for sub in (1, 2))
VELOCITY_UNIT = Entry(0x60A9, 0, 4, "SI unit velocity")
TARGET_VELOCITY = Entry(0x60FF, 0, 4, "target velocity", signed=True)
SUPPORTED_MODES = Entry(0x6502, 0, 4, "supported drive modes")
# Values of these objects.
DRIVE_PROFILE, PROFILE_VELOCITY, DISABLE_VOLTAGE, STAY_OPERATIONAL = 402, 3, 2, 1
REVOLUTIONS_PER_MINUTE = 0x00B44700


class Pdo(NamedTuple):
    """A process data object of a drive.

    Attributes:
        parameters: index of its communication parameters; its mapping is 0x200 behind.
        identifier: of its frames.
        transmission: when it acts.
        entries: what is in it.
    """

    parameters: int
    identifier: int
    transmission: int
    entries: tuple[Entry, ...]

    @property
    def name(self) -> str:
        """For messages."""
        kind = "RPDO" if self.parameters < 0x1800 else "TPDO"
        return f"{kind}{self.parameters % 0x200 + 1}"

    @property
    def size(self) -> int:
        """Of its data."""
        return sum(entry.size for entry in self.entries)

    def pack(self, *values: int) -> CanFrame:
        """Its frame."""
        each = zip(self.entries, values, strict=True)
        return CanFrame(self.identifier, b"".join(entry.pack(value) for entry, value in each))

    def unpack(self, data: bytes) -> tuple[int, ...]:
        """Its values. Raises BadFrameError."""
        if len(data) != self.size:
            raise BadFrameError(f"{self.name} 0x{self.identifier:03X} has {len(data)} bytes, expected: {self.size}")
        values, place = [], 0
        for entry in self.entries:
            values.append(entry.unpack(data[place : place + entry.size]))
            place += entry.size
        return tuple(values)

    def settings(self) -> Sequence[tuple[Entry, int]]:
        """Returns what is written to set it up, in order: it is off meanwhile."""
        mapping = self.parameters + 0x200
        identifier = Entry(self.parameters, 1, 4, f"identifier of {self.name}")
        count = Entry(mapping, 0, 1, f"number of mapped entries of {self.name}")
        return (
            (identifier, OFF | self.identifier),
            (Entry(self.parameters, 2, 1, f"transmission type of {self.name}"), self.transmission),
            (count, 0),
            *((Entry(mapping, 1 + i, 4, f"mapping of {self.name}"), one.mapping) for i, one in enumerate(self.entries)),
            (count, len(self.entries)),
            (identifier, self.identifier),
        )


def network_command(command: int, node: int) -> CanFrame:
    """A command of network management to a node."""
    return CanFrame(NMT, bytes((command, node)))


def heartbeat(node: int, state: int = OPERATIONAL) -> CanFrame:
    """The heartbeat of a node, and its boot-up message."""
    return CanFrame(HEARTBEAT + node, bytes((state,)))


def emergency(node: int, code: int, register: int) -> CanFrame:
    """The message of a node that an error has occurred, or with code 0 that it is gone."""
    return CanFrame(EMERGENCY + node, struct.pack("<HB5x", code, register))


def decode_emergency(data: bytes) -> tuple[int, int]:
    """Code and error register of such a message. Raises BadFrameError."""
    if len(data) != SDO_BYTES:
        raise BadFrameError(f"an emergency message of {len(data)} bytes, expected: {SDO_BYTES}")
    code, register = struct.unpack_from("<HB", data)
    return code, register


def write_request(entry: Entry, value: int) -> bytes:
    """Request to write a number."""
    size = 4 - entry.size << 2 | _EXPEDITED | _SIZED
    return bytes((_DOWNLOAD | size,)) + entry.address + entry.pack(value).ljust(4, b"\0")


def read_request(entry: Entry) -> bytes:
    """Request to read an entry."""
    return bytes((_UPLOAD,)) + entry.address + bytes(4)


def segment_request(number: int) -> bytes:
    """Request for a segment, counted from 0, of what is longer than four bytes."""
    return bytes((_SEGMENT | _TOGGLE * (number % 2),)) + bytes(7)


def is_answer(answer: bytes, request: bytes) -> bool:
    """Returns whether it answers that request: segments have no address."""
    return len(answer) == SDO_BYTES and (request[0] & 0xE0 == _SEGMENT or answer[1:4] == request[1:4])


def check_written(answer: bytes) -> None:
    """Raises BadFrameError and SdoAbortError."""
    _check_command(answer, _WRITTEN)


def read_value(answer: bytes) -> bytes | None:
    """Returns the bytes that an answer brings; None: they follow in segments. Raises BadFrameError, SdoAbortError."""
    command = _check_command(answer, _UPLOAD)
    if not command & _EXPEDITED:
        return None
    return answer[4 : 8 - (command >> 2 & 3 if command & _SIZED else 0)]


def read_segment(answer: bytes) -> tuple[bytes, bool]:
    """Bytes of a segment, and whether it is the last. Raises BadFrameError and SdoAbortError."""
    command = _check_command(answer, 0x00)
    return answer[1 : 8 - (command >> 1 & 7)], bool(command & 1)


def _check_command(answer: bytes, expected: int) -> int:
    if len(answer) == SDO_BYTES and answer[0] & 0xE0 == _ABORT:
        raise SdoAbortError(int.from_bytes(answer[4:8], "little"))
    if len(answer) != SDO_BYTES or answer[0] & 0xE0 != expected:
        raise BadFrameError(f"{answer.hex()} is no answer to this SDO")
    return answer[0]


def abort(address: bytes, code: int) -> bytes:
    """The answer of a node that refuses."""
    return bytes((_ABORT,)) + address + code.to_bytes(4, "little")
