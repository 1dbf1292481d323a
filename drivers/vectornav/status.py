"""Errors that a VectorNav device sends by itself or as an answer (`$VNERR`), and what is done about them.

Source: VN-100 User Manual UM001 and VN-200 User Manual UM004 (VectorNav), codes of errors.
"""

from __future__ import annotations

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
