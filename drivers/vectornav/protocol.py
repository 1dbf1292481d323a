"""ASCII messages of the VectorNav inertial sensors, for the driver and for the simulated device.

A message is `$`, its fields with commas between them, `*`, a check sum of two hexadecimal digits, CR and LF. The check
sum is the exclusive or of all bytes between `$` and `*`, or, where register 30 says so, four digits of CRC-16 (XMODEM);
a command with `*XX` is not checked. `$VNRRG,register` reads a
register and `$VNWRG,register,value,...` writes one; both are answered by the same words with the values, or by
`$VNERR,code`. Without being asked the device sends one kind of message at a set rate: register 6 has its kind, 7 its
rate.

Kind 19, `$VNIMU`, has magnetic field [gauss], acceleration [m/s2] and rate of turn [rad/s], three of each, then
temperature [deg C] and pressure [kPa]. These are the sensors' values after the maker's calibration, without what the
device's own filter takes off them as bias. The axes are those on the case: x forward, y to starboard, z down. The
acceleration is the specific force: a level device at rest gives -9.8 m/s2 on z, downwards, so it measures what holds
it up, not what pulls it down. No sign is changed.

Source: VN-100 User Manual UM001 (VectorNav), firmware 2.1, chapters 3 and 5; register 30 and codes of errors also in
VN-200 User Manual UM004, sections 4.5 and 5.11.

Errors that a VectorNav device sends by itself or as an answer (`$VNERR`), and what is done about them.

Source: VN-100 User Manual UM001 and VN-200 User Manual UM004 (VectorNav), codes of errors.
"""

from __future__ import annotations

import binascii
import re
from functools import reduce
from operator import xor
from typing import NamedTuple

from drivers.interfaces import BadFrameError
from drivers.reported import Reaction, StatusRow, StatusTable

MARK, IGNORED = Reaction.MARK, Reaction.IGNORED
_ASKED = "it refuses a request, which is an error of the driver where it asks"
_LOST = "messages are lost; that readings are missing is judged by their age"
_BEGAN = "it has begun anew, with the settings that are stored in it"

ERRORS = StatusTable(
    "VectorNav",
    "VNERR",
    (
        StatusRow(1, "hard fault", MARK, _BEGAN),
        StatusRow(2, "overflow of its input buffer", MARK, "something else writes to its line"),
        StatusRow(3, "wrong check sum", IGNORED, "a request was damaged, and is made again"),
        StatusRow(4, "unknown command", IGNORED, _ASKED),
        StatusRow(5, "too few parameters", IGNORED, _ASKED),
        StatusRow(6, "too many parameters", IGNORED, _ASKED),
        StatusRow(7, "wrong parameter", IGNORED, _ASKED),
        StatusRow(8, "unknown register", IGNORED, _ASKED),
        StatusRow(9, "not allowed to write", IGNORED, _ASKED),
        StatusRow(10, "restarted by its watchdog", MARK, _BEGAN),
        StatusRow(11, "overflow of its output buffer", MARK, _LOST),
        StatusRow(12, "baud rate too low for what it is to send", MARK, _LOST),
    ),
    codes=True,
    simulated=False,
)
STATUSES = (ERRORS,)


START, END = b"$", b"\r\n"
READ, WRITE, ERROR, IMU, YMR = "VNRRG", "VNWRG", "VNERR", "VNIMU", "VNYMR"
MODEL, SERIAL_NUMBER, FIRMWARE, BAUD, OUTPUT, RATE, ROTATION, PROTOCOL = 1, 3, 4, 5, 6, 7, 26, 30  # registers
BINARY_OUTPUTS = (75, 76, 77)
BINARY_OFF = (0, 1, 0)  # on no port, of every measurement, no group of values
UNKNOWN_REGISTER = 8  # error: firmware that has no such register
# Rotation of all that it measures to another frame, row by row; here none.
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
OUTPUT_OFF, OUTPUT_YMR, OUTPUT_IMU = 0, 14, 19  # of register 6
# Register 30: neither counter nor state in the messages, check sums of 8 bits, errors are sent.
PLAIN = (0, 0, 0, 0, 1, 1, 1)
RATES_HZ = (1, 2, 4, 5, 10, 20, 25, 40, 50, 100, 200)
IMU_BYTES = 110  # of a $VNIMU message
LONGEST = 256  # bytes of a message
UNCHECKED = "XX"
DAMAGED = "03"  # error of a request with a wrong check sum
_MESSAGE = re.compile(rb"\$([ -)+-~]*)\*([0-9A-F]{2}|[0-9A-F]{4}|XX)\r\n")
NUMBER = re.compile(r"[+-]?[0-9]{1,6}(\.[0-9]{1,9})?")
_FIELDS = 11  # of a $VNIMU message, without its name
_NO_FIELD = ("+00.0000",) * 3


class Inertia(NamedTuple):
    """What a $VNIMU message has of inertia, in the axes on the device's case.

    Attributes:
        acceleration_mps2: (3,) specific force.
        rate_radps: (3,) rate of turn.
    """

    acceleration_mps2: tuple[float, float, float]
    rate_radps: tuple[float, float, float]


def check_sum(body: bytes) -> int:
    """Of the bytes between `$` and `*`.

    Example:
        >>> f"{check_sum(b'VNRRG,1'):02X}"
        '42'
    """
    return reduce(xor, body, 0)


def crc_digits(body: bytes) -> str:
    """The other check sum, of four digits.

    Example:
        >>> crc_digits(b"VNRRG,1")
        '9527'
    """
    return f"{binascii.crc_hqx(body, 0):04X}"


def frame(*fields: object, long_sum: bool = False) -> bytes:
    r"""A message.

    Args:
        *fields: of it.
        long_sum: its check sum has four digits.

    Example:
        >>> frame("VNRRG", "01")
        b'$VNRRG,01*72\r\n'
    """
    body = ",".join(map(str, fields)).encode()
    return b"$%s*%s\r\n" % (body, (crc_digits(body) if long_sum else f"{check_sum(body):02X}").encode())


def unframe(message: bytes, *, unchecked: bool = False) -> list[str]:
    r"""Returns the fields of a message.

    Args:
        message: all bytes of it.
        unchecked: `XX` counts as a check sum, as for a command.

    Raises:
        BadFrameError: it is damaged.

    Example:
        >>> unframe(b"$VNERR,03*72\r\n")
        ['VNERR', '03']
    """
    found = _MESSAGE.fullmatch(message)
    if found is None:
        raise BadFrameError(f"{message!r} is no message with a check sum of two digits or four")
    body, digits = found.group(1), found.group(2).decode()
    needed = crc_digits(body) if len(digits) == len(crc_digits(b"")) else f"{check_sum(body):02X}"
    if not (unchecked and digits == UNCHECKED) and digits != needed:
        raise BadFrameError(f"{message!r} has a wrong check sum, needed: {needed}")
    return body.decode().split(",")


def inertia(fields: list[str]) -> Inertia:
    """Acceleration and rate of a $VNIMU message. Raises BadFrameError: it has other fields."""
    if len(fields) != 1 + _FIELDS or not all(map(NUMBER.fullmatch, fields[1:])):
        raise BadFrameError(f"{','.join(fields)} is no {IMU} message of {_FIELDS} numbers")
    ax, ay, az, wx, wy, wz = map(float, fields[4:10])
    return Inertia((ax, ay, az), (wx, wy, wz))


def imu_message(measured: Inertia) -> bytes:
    """A $VNIMU message, as the device writes it; no magnetic field, 25 degrees, 101.3 kPa.

    Example:
        >>> len(imu_message(Inertia((0.0, 0.0, -9.801), (0.0, 0.0, 0.0))))
        110
    """
    return frame(IMU, *_NO_FIELD, *_written(measured), "+25.0", "+101.300")


def ymr_message(measured: Inertia) -> bytes:
    """A $VNYMR message, which a new device sends: yaw, pitch and roll [deg], here 0, then as a $VNIMU message.

    Example:
        >>> ymr_message(Inertia((0.0, 0.0, -9.801), (0.0, 0.0, 0.0)))[:30]
        b'$VNYMR,+000.000,+000.000,+000.'
    """
    return frame(YMR, *["+000.000"] * 3, *_NO_FIELD, *_written(measured))


def _written(measured: Inertia) -> list[str]:
    accelerations = [f"{value:+07.3f}" for value in measured.acceleration_mps2]
    return [*accelerations, *[f"{value:+010.6f}" for value in measured.rate_radps]]


def error_number(code: str) -> int:
    """Number of an error; newer firmware writes it as hexadecimal digits, older as decimal ones; -1: neither.

    Example:
        >>> error_number("0C"), error_number("12")
        (12, 12)
    """
    if re.fullmatch(r"[0-9]+", code) and any(row.value == int(code) for row in ERRORS.rows):
        return int(code)
    return int(code, 16) if re.fullmatch(r"[0-9A-F]+", code) else -1


def error_words(code: str) -> str:
    """Returns what an error code means.

    Example:
        >>> error_words("0C")
        'error 0C: baud rate too low for what it is to send'
    """
    known = {row.value: row.words for row in ERRORS.rows}
    return f"error {code}: {known.get(error_number(code), 'not known')}"
