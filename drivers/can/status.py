"""The status flags of an SLCAN adapter (`F`): what each bit means, and what is done about it.

Source: CANUSB Manual (Lawicel AB), "CANUSB ASCII Command Set", command F.
"""

from __future__ import annotations

from drivers.reported import Reaction, StatusRow, StatusTable

SAFE, MARK, IGNORED = Reaction.SAFE, Reaction.MARK, Reaction.IGNORED
_LOST = "frames are lost; drives whose answers are missing are found by that"
_REPEATED = "frames are repeated until they pass; a bus that is off is found by the drives' silence"

ADAPTER = StatusTable(
    "SLCAN adapter",
    "F",
    (
        StatusRow(0x01, "receive queue full", MARK, _LOST),
        StatusRow(0x02, "transmit queue full", MARK, _LOST),
        StatusRow(0x04, "error warning", MARK, _REPEATED),
        StatusRow(0x08, "data overrun", MARK, _LOST),
        StatusRow(0x10, "unused", IGNORED, "it has no meaning"),
        StatusRow(0x20, "error passive", SAFE, "the bus is so disturbed that a cut may come late or not at all"),
        StatusRow(0x40, "arbitration lost", IGNORED, "usual where several nodes send"),
        StatusRow(0x80, "bus error", MARK, _REPEATED),
    ),
)
