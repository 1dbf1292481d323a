"""What a device reports about itself: each bit of its status is a row that says what is done about it.

A driver of a maker has its tables as data, in `drivers/MAKER/status.py`. Its `health` gives what is reported now; the
controller reads nothing but that.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import msgspec


class Reaction(Enum):
    """What is done about a row of a status."""

    SAFE = "Safe"
    MARK = "mark"
    EMERGENCY_STOP = "Safe, as an emergency stop"
    IGNORED = "ignored"


class StatusRow(NamedTuple):
    """A bit of a status, or a code.

    Attributes:
        value: the bit, or the code.
        words: what it means.
        reaction: what is done about it.
        reason: why that.
    """

    value: int
    words: str
    reaction: Reaction
    reason: str


class DeviceReport(msgspec.Struct, frozen=True):
    """One thing that a device reports.

    Attributes:
        safe: it leads to Safe; otherwise the run is marked.
        words: what it is, with its bit and where the device is.
    """

    safe: bool
    words: str


class StatusTable(msgspec.Struct, frozen=True):
    """The table of a status of a device.

    Attributes:
        device: the kind of device.
        name: of the status.
        rows: all bits that the maker describes, or all codes. Another one leads to Safe: nobody knows what it means.
        codes: a value is one code, not a set of bits; 0 is none.
        simulated: the simulated device can report it (its fault `status`).

    Example:
        >>> hot = StatusRow(0x02, "too hot", Reaction.SAFE, "it is off")
        >>> [report.words for report in StatusTable("drive", "status", (hot,)).reports(0x03, "port 1")]
        ['too hot (status 0x2), port 1', 'unknown (status 0x1), port 1']
    """

    device: str
    name: str
    rows: tuple[StatusRow, ...]
    codes: bool = False
    simulated: bool = True

    def set_rows(self, value: int) -> tuple[StatusRow, ...]:
        """The rows of a value; what is in no row makes one that leads to Safe."""
        if self.codes:
            found, rest = [row for row in self.rows if row.value == value], value
        else:
            found = [row for row in self.rows if row.value & value]
            rest = value & ~sum(row.value for row in self.rows)
        if rest and not (self.codes and found):
            found.append(StatusRow(rest, "unknown", Reaction.SAFE, "nobody knows what it means"))
        return tuple(found)

    def reports(self, value: int, where: str) -> tuple[DeviceReport, ...]:
        """What a value reports, without what is ignored and without the emergency stop, which is `Health.e_stop`."""
        return tuple(
            DeviceReport(row.reaction is Reaction.SAFE, f"{row.words} ({self._numbered(row)}), {where}")
            for row in self._troubles(value)
        )

    def words(self, value: int) -> list[str]:
        """The same in few words."""
        return [row.words for row in self._troubles(value)]

    @property
    def emergency_stop(self) -> int:
        """The bits that mean that the emergency stop is pressed."""
        return sum(row.value for row in self.rows if row.reaction is Reaction.EMERGENCY_STOP)

    def _troubles(self, value: int) -> list[StatusRow]:
        return [row for row in self.set_rows(value) if row.reaction in (Reaction.SAFE, Reaction.MARK)] if value else []

    def _numbered(self, row: StatusRow) -> str:
        return f"{self.name} {row.value if self.codes else f'{row.value:#x}'}"
