"""ASCII commands of the Dimetix laser distance sensors, for the driver and for the simulated device.

A command is `s`, the number of the sensor, letters, and numbers that begin with a sign. A reply is `g`, that number and
what the command gives. Both end with CR and LF. `s0c` stops and is answered `g0?`. `s0h+20` measures all 20 ms until it
is stopped: `g0h+00012345` is 1.2345 m, and `g0@E255` is a measurement that failed. There is no check sum; the factory
setting 7E1 has a parity bit, which notices most flipped bits.

This is the language of the D-Series; the older DLS-C and FLS-C count the time between measurements in 10 ms.

Source: Dimetix, knowledge base KB025 (kinds of measurement, `sNh+x` with x in ms) and Technical Reference Manual of
DLS-C and FLS-C, chapter 9 (form of commands and replies); Acuity, manual of the AS1100, which is such a sensor,
chapters 4 and 5 (commands, settings of the line, codes of errors).

Errors of a Dimetix sensor (`g0@E255`), and what is done about them.

Source: Acuity, manual of the AS1100, which is such a sensor, chapter 5.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from drivers.interfaces import BadFrameError
from drivers.reported import Reaction, StatusRow, StatusTable

MARK, IGNORED = Reaction.MARK, Reaction.IGNORED
_ASKED = "it refuses a command, which is an error of the driver where it asks"
_FAILED = "the reading has no number; what that means for the run is judged by row 33 of the fault table"
_HOT, _SUPPLY = "it is used outside of what it is made for", "it may fail at any time"

ERRORS = StatusTable(
    "Dimetix",
    "error",
    (
        StatusRow(203, "wrong command or parameter", IGNORED, _ASKED),
        StatusRow(210, "it is not tracking", IGNORED, _ASKED),
        StatusRow(211, "too little time for a measurement", IGNORED, _FAILED),
        StatusRow(212, "it is tracking, and takes only a stop", IGNORED, _ASKED),
        StatusRow(220, "error of communication: its baud rate or parity differs", IGNORED, _ASKED),
        StatusRow(230, "the distance does not fit its format, by offset and gain of the user", IGNORED, _FAILED),
        StatusRow(233, "the number cannot be shown in its format", IGNORED, _FAILED),
        StatusRow(234, "distance out of its range", IGNORED, _FAILED),
        StatusRow(252, "its temperature is too high", MARK, _HOT),
        StatusRow(253, "its temperature is too low", MARK, _HOT),
        StatusRow(254, "bad signal: the measurement takes too long", IGNORED, _FAILED),
        StatusRow(255, "signal too weak, or target lost", IGNORED, _FAILED),
        StatusRow(256, "signal too strong", IGNORED, _FAILED),
        StatusRow(257, "too much light from elsewhere", IGNORED, _FAILED),
        StatusRow(258, "its supply voltage is too high", MARK, _SUPPLY),
        StatusRow(259, "its supply voltage is too low", MARK, _SUPPLY),
        StatusRow(260, "unsteady signal, or more than one target", IGNORED, _FAILED),
        StatusRow(261, "the distance has jumped by more than its limit", IGNORED, _FAILED),
        StatusRow(263, "too much light", IGNORED, _FAILED),
        StatusRow(264, "too much light: no measurement on reflectors", IGNORED, _FAILED),
        StatusRow(330, "the target accelerates too much, or the distance has jumped", IGNORED, _FAILED),
        StatusRow(331, "the target is too fast", IGNORED, _FAILED),
        StatusRow(360, "the set time between measurements is too short", IGNORED, _ASKED),
        StatusRow(361, "the set time between measurements is too long", IGNORED, _ASKED),
    ),
    codes=True,
    simulated=False,
)
STATUSES = (ERRORS,)


END = b"\r\n"
STOP, TRACK, SINGLE, FIRMWARE, SERIAL_NUMBER, FORMAT = "c", "h", "g", "sv", "sn", "uo"
PLAIN_FORMAT = 0  # of `uo`: the distance alone, without offset and gain of the user
PER_M = 10_000  # a distance is in tenths of a millimetre
LEAST_MS, MOST_MS = 10, 86_400_000  # between two measurements
MESSAGE_BYTES = 14  # of a distance, sensor numbers of one digit
LONGEST = 64
# Errors of a command, not of a measurement.
COMMAND_ERRORS = (203, 212, 220, 360, 361)
TOO_WEAK = 255
_REPLY = re.compile(r"g([0-9]{1,2})(?:@E([0-9]{3})|\?|([a-z]{1,3})(?:([+-][0-9]{1,9})|\?))\r\n")


class DistanceReply(NamedTuple):
    """A reply.

    Attributes:
        sensor: its number.
        command: letters of the command; "" in the reply to a stop, and in an error.
        number: text of its number, with the sign; "": there is none.
        error: code; 0: none.
    """

    sensor: int
    command: str
    number: str
    error: int

    @property
    def distance_m(self) -> float:
        """Of a measurement; NaN: it failed."""
        return int(self.number) / PER_M if self.number and not self.error else math.nan


def with_parity(data: bytes) -> bytes:
    """Returns the characters of 7 bits with an even parity bit (7E1), as 8 bits without parity (8N1).

    Example:
        >>> with_parity(b"s0c").hex()
        'f33063'
    """
    return bytes(byte | ((byte.bit_count() & 1) << 7) for byte in data)


def without_parity(data: bytes) -> bytes:
    """The same characters without the parity bit. Raises BadFrameError: one is wrong."""
    if wrong := sum(byte.bit_count() & 1 for byte in data):
        raise BadFrameError(f"{data!r} has {wrong} characters of wrong parity")
    return bytes(byte & 0x7F for byte in data)


def command(sensor: int, letters: str, number: int | None = None) -> bytes:
    r"""A command.

    Example:
        >>> command(0, TRACK, 20)
        b's0h+20\r\n'
    """
    return f"s{sensor}{letters}{'' if number is None else f'{number:+d}'}".encode() + END


def distance_message(sensor: int, distance_m: float, letters: str = TRACK) -> bytes:
    r"""The reply with a distance, by default while it is tracking.

    Example:
        >>> distance_message(0, 1.2345)
        b'g0h+00012345\r\n'
    """
    return f"g{sensor}{letters}{round(distance_m * PER_M):+09d}".encode() + END


def error_message(sensor: int, error: int) -> bytes:
    """The reply with the code of an error."""
    return f"g{sensor}@E{error:03d}".encode() + END


def decode(message: bytes) -> DistanceReply:
    r"""Returns the parts of a reply.

    Raises:
        BadFrameError: it is damaged.

    Example:
        >>> decode(b"g0h+00012345\r\n").distance_m, decode(b"g0@E255\r\n").error
        (1.2345, 255)
    """
    found = _REPLY.fullmatch(message.decode("latin-1"))
    if found is None:
        raise BadFrameError(f"{message!r} is no reply of a sensor; is it set to other characters (7E1, 8N1)?")
    sensor, error, letters, number = found.groups(default="")
    return DistanceReply(int(sensor), letters, number, int(error or 0))


def error_words(error: int) -> str:
    """Returns what a code means.

    Example:
        >>> error_words(255)
        'error 255: signal too weak, or target lost'
    """
    words = {row.value: row.words for row in ERRORS.rows}
    return f"error {error}: {words.get(error, 'see its manual')}"
