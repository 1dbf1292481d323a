"""Errors of a Dimetix sensor (`g0@E255`), and what is done about them.

Source: Acuity, manual of the AS1100, which is such a sensor, chapter 5.
"""

from __future__ import annotations

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
