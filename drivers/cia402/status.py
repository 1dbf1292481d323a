"""What a CiA 402 drive reports about itself: what each state, bit and code means, and what is done about it.

Sources: CiA 402-2 V4.0 (statusword, error codes); CiA 301 V4.2, section 7.2.7 (emergency codes) and object 0x1001.
"""

from __future__ import annotations

from drivers.can.status import ADAPTER
from drivers.cia402.state_machine import Cia402State
from drivers.reported import Reaction, StatusRow, StatusTable

SAFE, MARK, IGNORED = Reaction.SAFE, Reaction.MARK, Reaction.IGNORED
_ALONE = "the drive has switched its motor off by itself, and the others push it"
_HELD = "the drive brakes its motor by itself, against the others"
_RUNS = "the motor still runs; what it then does not do is seen in its speed"
_STATE = "the state says whether the motor runs"
_ERROR = "the drive says that an error is there; what it does about it is set in the drive"

STATE = StatusTable(
    "CiA 402 drive, operation ordered",
    "state",
    (
        StatusRow(Cia402State.NOT_READY, "not ready to switch on", SAFE, _ALONE),
        StatusRow(
            Cia402State.SWITCH_ON_DISABLED, "switch on disabled", SAFE,
            "safe torque off, an emergency stop or a missing heartbeat has switched its motor off",
        ),
        StatusRow(Cia402State.READY, "ready to switch on", SAFE, _ALONE),
        StatusRow(Cia402State.SWITCHED_ON, "switched on", SAFE, _ALONE),
        StatusRow(Cia402State.ENABLED, "operation enabled", IGNORED, "that is ordered"),
        StatusRow(Cia402State.QUICK_STOP, "quick stop active", SAFE, _HELD),
        StatusRow(Cia402State.FAULT_REACTION, "fault reaction active", SAFE, _HELD),
        StatusRow(Cia402State.FAULT, "fault", SAFE, "also while it is cut: it stays off until an operator clears it"),
        StatusRow(Cia402State.UNKNOWN, "no state of CiA 402", SAFE, "whether its motor runs is not known"),
    ),
    codes=True,
)  # fmt: skip
STATUSWORD = StatusTable(
    "CiA 402 drive",
    "statusword",
    (
        StatusRow(0x0010, "voltage enabled", IGNORED, _STATE),
        StatusRow(0x0080, "warning", MARK, "the motor still runs; the fault that follows leads to Safe"),
        StatusRow(0x0100, "manufacturer-specific bit 8", IGNORED, "its maker gives it a meaning, which is no error"),
        StatusRow(0x0200, "remote", IGNORED, "that commands are obeyed is seen in the state"),
        StatusRow(0x0400, "target reached", IGNORED, "speeds are compared by the controller"),
        StatusRow(0x0800, "internal limit active", MARK, _RUNS),
        StatusRow(0x1000, "speed is zero", IGNORED, "speeds are read"),
        StatusRow(0x2000, "maximum slippage", MARK, _RUNS),
        StatusRow(0x4000, "manufacturer-specific bit 14", IGNORED, "its maker gives it a meaning, which is no error"),
        StatusRow(0x8000, "manufacturer-specific bit 15", IGNORED, "its maker gives it a meaning, which is no error"),
    ),
)
REGISTER = StatusTable(
    "CiA 402 drive",
    "error register",
    (
        StatusRow(0x01, "generic error", IGNORED, "it is set with any other; the error code says which"),
        StatusRow(0x02, "current", SAFE, _ERROR),
        StatusRow(0x04, "voltage", SAFE, _ERROR),
        StatusRow(0x08, "temperature", SAFE, _ERROR),
        StatusRow(0x10, "communication", SAFE, "the bus or a heartbeat: a cut may come late or not at all"),
        StatusRow(0x20, "device profile", SAFE, _ERROR),
        StatusRow(0x40, "reserved", IGNORED, "it has no meaning"),
        StatusRow(0x80, "manufacturer-specific", SAFE, _ERROR),
    ),
)
_LATE = "frames are lost or repeated; a drive that answers no more is found by that"
ERROR = StatusTable(
    "CiA 402 drive, by emergency message and object 0x603F",
    "error code",
    (
        StatusRow(0x1000, "generic error", SAFE, _ERROR),
        StatusRow(0x2000, "current", SAFE, _ERROR),
        StatusRow(0x2100, "current at the input", SAFE, _ERROR),
        StatusRow(0x2200, "current inside", SAFE, _ERROR),
        StatusRow(0x2300, "current at the output", SAFE, _ERROR),
        StatusRow(0x3000, "voltage", SAFE, _ERROR),
        StatusRow(0x3100, "mains voltage", SAFE, _ERROR),
        StatusRow(0x3200, "DC link voltage", SAFE, _ERROR),
        StatusRow(0x3300, "output voltage", SAFE, _ERROR),
        StatusRow(0x4000, "temperature", SAFE, _ERROR),
        StatusRow(0x4100, "ambient temperature", SAFE, _ERROR),
        StatusRow(0x4200, "device temperature", SAFE, _ERROR),
        StatusRow(0x4300, "drive temperature", SAFE, _ERROR),
        StatusRow(0x5000, "hardware", SAFE, _ERROR),
        StatusRow(0x6000, "software", SAFE, _ERROR),
        StatusRow(0x7000, "additional modules: brake, motor, sensor", SAFE, _ERROR),
        StatusRow(0x8000, "monitoring", SAFE, _ERROR),
        StatusRow(0x8110, "CAN overrun", MARK, _LATE),
        StatusRow(0x8120, "CAN error passive", MARK, _LATE),
        StatusRow(0x8130, "heartbeat missing", SAFE, "the drive's own dead-man has acted"),
        StatusRow(0x8140, "recovered from bus off", SAFE, "it has not received what was sent meanwhile"),
        StatusRow(0x8150, "identifier collision", SAFE, "another node sends as this one"),
        StatusRow(0x8200, "protocol error", SAFE, "it does not understand what is sent to it"),
        StatusRow(0x8400, "velocity controller", SAFE, _ERROR),
        StatusRow(0x8600, "positioning controller", SAFE, _ERROR),
        StatusRow(0x9000, "external error", SAFE, _ERROR),
        StatusRow(0xF000, "additional functions", SAFE, _ERROR),
        StatusRow(0xFF00, "device-specific", SAFE, _ERROR),
    ),
    codes=True,
)
STATUSES = STATE, STATUSWORD, REGISTER, ERROR, ADAPTER


def error_row(code: int) -> int:
    """Returns the row of an error code: itself, its class by the second digit, or that by the first.

    Example:
        >>> [hex(error_row(code)) for code in (0x8130, 0x3210, 0x7305, 0xA123)]
        ['0x8130', '0x3200', '0x7000', '0xa123']
    """
    known = {row.value for row in ERROR.rows}
    return next((value for value in (code, code & 0xFF00, code & 0xF000) if value in known), code)
