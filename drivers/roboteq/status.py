"""The flags of a Roboteq controller (?FF, ?FM, ?FS): what each bit means, and what is done about it.

Source: Advanced Digital Motor Controllers User Manual V1.8 (Roboteq), section 15.
"""

from __future__ import annotations

from drivers.reported import Reaction, StatusRow, StatusTable

SAFE, MARK, E_STOP, IGNORED = Reaction.SAFE, Reaction.MARK, Reaction.EMERGENCY_STOP, Reaction.IGNORED
_OFF = "the controller has switched its motors off"
_MODE = "how it is commanded; that its commands are obeyed is seen in their answers"
_LIMIT = "the motor is stopped in that direction"
_DRIVER = "the driver's own stop sets it too; one that the driver has not sent is an emergency stop"

FAULTS = StatusTable(
    "Roboteq",
    "FF",
    (
        StatusRow(1, "overheat", SAFE, _OFF),
        StatusRow(2, "overvoltage", SAFE, _OFF),
        StatusRow(4, "undervoltage", SAFE, _OFF),
        StatusRow(8, "short circuit", SAFE, _OFF),
        StatusRow(16, "emergency stop", E_STOP, _DRIVER),
        StatusRow(32, "sensor", SAFE, "excitation or rotor sensor failed: the motor is not controlled"),
        StatusRow(64, "MOSFET", SAFE, "a power transistor is broken: its motor may run by itself"),
        StatusRow(128, "default configuration", SAFE, "its settings are lost, and with them limits and watchdog"),
    ),
)
MOTOR = StatusTable(
    "Roboteq, each channel",
    "FM",
    (
        StatusRow(1, "amps limit", MARK, "the motor still runs, with less power than commanded"),
        StatusRow(2, "stalled", SAFE, "the controller has stopped that motor, and the others push it"),
        StatusRow(4, "loop error", SAFE, "the motor does not do what is commanded, and is off"),
        StatusRow(8, "safety stop", SAFE, "a safety input or the watchdog has stopped that motor"),
        StatusRow(16, "forward limit", MARK, _LIMIT),
        StatusRow(32, "reverse limit", MARK, _LIMIT),
        StatusRow(64, "amps trigger", SAFE, "the controller has done what its configuration says for too much current"),
    ),
)
SCRIPT_RUNS = 128
CONTROLLER = StatusTable(
    "Roboteq",
    "FS",
    (
        StatusRow(1, "serial mode", IGNORED, _MODE),
        StatusRow(2, "pulse mode", IGNORED, _MODE),
        StatusRow(4, "analog mode", IGNORED, _MODE),
        StatusRow(8, "power stage off", IGNORED, "FF says why; the driver's own stop sets it too"),
        StatusRow(16, "stall detected", IGNORED, "FM says of which channel"),
        StatusRow(32, "at limit", IGNORED, "FM says of which channel"),
        StatusRow(64, "unused", IGNORED, "it has no meaning"),
        StatusRow(SCRIPT_RUNS, "script running", SAFE, "its commands feed the watchdog: a dead host stops nothing"),
    ),
)
STATUSES = FAULTS, MOTOR, CONTROLLER
