"""The status of a RoboClaw (command 90): what each bit means, and what is done about it.

Source: RoboClaw Series User Manual (Basicmicro), "Read Status", of firmware 4.1 (16 bits) and 4.2 (32 bits).
"""

from __future__ import annotations

from drivers.reported import Reaction, StatusRow, StatusTable

SAFE, MARK, E_STOP, IGNORED = Reaction.SAFE, Reaction.MARK, Reaction.EMERGENCY_STOP, Reaction.IGNORED
_OFF = "the controller has switched its motors off"
_ONE_OFF = "the controller has switched that motor off, and the others push it"
_LOOP = "the motor does not do what is commanded, and is off"
_WARNED = "the motors still run; the error that follows leads to Safe"
_LIMITED = "the controller takes power from that motor, which still runs"
_HOME = "an input of the controller, which no config of ours uses"

WIDE_STATUS = StatusTable(
    "RoboClaw",
    "status",
    (
        StatusRow(0x00000001, "emergency stop", E_STOP, _OFF),
        StatusRow(0x00000002, "temperature error", SAFE, _OFF),
        StatusRow(0x00000004, "temperature 2 error", SAFE, _OFF),
        StatusRow(0x00000008, "main voltage high error", SAFE, _OFF),
        StatusRow(0x00000010, "logic voltage high error", SAFE, _OFF),
        StatusRow(0x00000020, "logic voltage low error", SAFE, _OFF),
        StatusRow(0x00000040, "M1 driver fault", SAFE, _ONE_OFF),
        StatusRow(0x00000080, "M2 driver fault", SAFE, _ONE_OFF),
        StatusRow(0x00000100, "M1 speed error", SAFE, _LOOP),
        StatusRow(0x00000200, "M2 speed error", SAFE, _LOOP),
        StatusRow(0x00000400, "M1 position error", SAFE, _LOOP),
        StatusRow(0x00000800, "M2 position error", SAFE, _LOOP),
        StatusRow(0x00001000, "M1 current error", SAFE, _ONE_OFF),
        StatusRow(0x00002000, "M2 current error", SAFE, _ONE_OFF),
        StatusRow(0x00010000, "M1 over-current warning", MARK, _LIMITED),
        StatusRow(0x00020000, "M2 over-current warning", MARK, _LIMITED),
        StatusRow(0x00040000, "main voltage high warning", MARK, _WARNED),
        StatusRow(0x00080000, "main voltage low warning", MARK, _WARNED),
        StatusRow(0x00100000, "temperature warning", MARK, _WARNED),
        StatusRow(0x00200000, "temperature 2 warning", MARK, _WARNED),
        StatusRow(0x00400000, "S4 signal", IGNORED, _HOME),
        StatusRow(0x00800000, "S5 signal", IGNORED, _HOME),
        StatusRow(0x01000000, "speed error limit warning", MARK, _WARNED),
        StatusRow(0x02000000, "position error limit warning", MARK, _WARNED),
    ),
)
NARROW_STATUS = StatusTable(
    "RoboClaw, firmware before 4.2",
    "old status",
    (
        StatusRow(0x0001, "M1 over-current warning", MARK, _LIMITED),
        StatusRow(0x0002, "M2 over-current warning", MARK, _LIMITED),
        StatusRow(0x0004, "emergency stop", E_STOP, _OFF),
        StatusRow(0x0008, "temperature error", SAFE, _OFF),
        StatusRow(0x0010, "temperature 2 error", SAFE, _OFF),
        StatusRow(0x0020, "main voltage high error", SAFE, _OFF),
        StatusRow(0x0040, "logic voltage high error", SAFE, _OFF),
        StatusRow(0x0080, "logic voltage low error", SAFE, _OFF),
        StatusRow(0x0100, "M1 driver fault", SAFE, _ONE_OFF),
        StatusRow(0x0200, "M2 driver fault", SAFE, _ONE_OFF),
        StatusRow(0x0400, "main voltage high warning", MARK, _WARNED),
        StatusRow(0x0800, "main voltage low warning", MARK, _WARNED),
        StatusRow(0x1000, "temperature warning", MARK, _WARNED),
        StatusRow(0x2000, "temperature 2 warning", MARK, _WARNED),
        StatusRow(0x4000, "M1 home", IGNORED, _HOME),
        StatusRow(0x8000, "M2 home", IGNORED, _HOME),
    ),
    simulated=False,
)
STATUSES = WIDE_STATUS, NARROW_STATUS
