r"""CAN frames as the ASCII lines of an SLCAN adapter (Lawicel), for the bus and for its simulated adapter.

A data frame with an identifier of 11 bits is `tIIILDD..\r`: three hexadecimal digits of the identifier, one of the
length, two of each byte. `S8\r` sets 1 Mbit/s, `O\r` opens the bus, `C\r` closes it, `Z0\r` switches time stamps off,
`F\r` asks for the status. A command is answered `\r`, a frame that is sent `z\r` or `\r`, what is refused with a BELL.
There is no check sum on the serial line. Source: CANUSB Manual (Lawicel AB), "CANUSB ASCII Command Set".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from drivers.interfaces import BadFrameError

END, BELL = b"\r", b"\a"
# Ends whatever unfinished line the adapter has.
FLUSH = END * 2
CLOSE, OPEN, NO_TIME_STAMPS, STATUS = b"C\r", b"O\r", b"Z0\r", b"F\r"
# Commands by bit rate [bit/s].
BIT_RATES = {
    10_000: b"S0\r", 20_000: b"S1\r", 50_000: b"S2\r", 100_000: b"S3\r", 125_000: b"S4\r", 250_000: b"S5\r",
    500_000: b"S6\r", 800_000: b"S7\r", 1_000_000: b"S8\r",
}  # fmt: skip
MOST_DATA, MOST_IDENTIFIER = 8, 0x7FF
# Bytes of the longest line: of a frame with 29 bits and a time stamp.
LONGEST = 1 + 8 + 1 + 2 * MOST_DATA + 4 + 1
# Bytes on the serial line that say that a frame is sent.
SENT = b"z\r"
_FRAME = re.compile(rb"t([0-7][0-9A-Fa-f]{2})([0-8])((?:[0-9A-Fa-f]{2})*)")
_OTHER = re.compile(rb"r[0-7][0-9A-Fa-f]{2}[0-8]|R[0-9A-Fa-f]{8}[0-8]|T[0-9A-Fa-f]{8}[0-8](?:[0-9A-Fa-f]{2})*")
_STATUS = re.compile(rb"F([0-9A-Fa-f]{2})")
_DONE = (b"", b"z", b"Z")


class CanFrame(NamedTuple):
    """A data frame with an identifier of 11 bits."""

    identifier: int
    data: bytes

    @property
    def line(self) -> bytes:
        """Its bytes on the serial line."""
        return b"t%03X%d%s\r" % (self.identifier, len(self.data), self.data.hex().upper().encode())


class AdapterStatus(NamedTuple):
    """Status flags of an adapter, see `drivers.can.status`."""

    flags: int


def line_bytes(data: int) -> int:
    """Returns how many bytes a frame of so many data bytes has on the serial line."""
    return 6 + 2 * data


def bus_bits(data: int) -> int:
    """Returns the longest time of a frame on the bus [bit], with the three bits between two frames.

    After five equal bits a sender inserts another one, into the 34 + 8 n bits from the start to the check sum: Davis,
    Burns, Bril and Lukkien 2007, "Controller Area Network (CAN) schedulability analysis", equation (1).

    Example:
        >>> bus_bits(8), bus_bits(2)
        (135, 75)
    """
    return 47 + 8 * data + (34 + 8 * data - 1) // 4


def decode(text: bytes) -> CanFrame | AdapterStatus | None:
    r"""Decode a line without its end; None: a confirmation, or a frame of a kind that nobody here uses.

    Raises BadFrameError.

    Example:
        >>> decode(b"t2002060F")
        CanFrame(identifier=512, data=b'\x06\x0f')
    """
    if (frame := _FRAME.fullmatch(text)) and len(frame[3]) == 2 * int(frame[2]):
        return CanFrame(int(frame[1], 16), bytes.fromhex(frame[3].decode()))
    if status := _STATUS.fullmatch(text):
        return AdapterStatus(int(status[1], 16))
    if text in _DONE or _OTHER.fullmatch(text):
        return None
    raise BadFrameError(f"{text[:LONGEST]!r} is no line of an SLCAN adapter")


class LineReader:
    """Divides the bytes of a serial line into lines."""

    def __init__(self) -> None:
        self._begun = b""

    def feed(self, data: bytes) -> list[bytes]:
        """Returns the lines that are whole now, without their ends, and a BELL for each that there was."""
        *lines, self._begun = (self._begun + data.replace(BELL, BELL + END)).split(END)
        if len(self._begun) > LONGEST:
            lines.append(self._begun)
            self._begun = b""
        return lines
