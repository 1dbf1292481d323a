"""How busy the lines are that devices are asked over: the share of its time that a line carries bytes.

A byte takes ten bits (8N1). Counted is every transaction, request and answer, times how often a second it is made;
what a device needs to think before it answers is not, and has to fit into the rest.
"""

from __future__ import annotations

from hil.config.devices import CONTROLLERS, ModbusValves, RoboclawDrives, RoboteqDrives

BITS_PER_BYTE = 10
# The most that may be used: the rest is for retries, for a cut, and for the devices' own pauses.
ALLOWED = 0.8

# RoboClaw: address, command, data, CRC; answered by 0xFF, or by data and CRC.
_SPEEDS = 2 + 8 + 2 + 1  # command 37
_SPEEDS_RAMPED = 2 + 12 + 2 + 1  # command 40
_ENCODER_SPEED = 2 + 7  # commands 18 and 19: counts, direction, CRC
_CLAW_SLOW = 20 * (2 + 6) + (2 + 4) + (2 + 6)  # status: 20 times a second; battery, currents: once

# Roboteq, the longest of each, echo off: `!G 1 -1000` and `+`; `?S 1` and `S=-32768`.
_GO = 11 + 2
_SPEED = 5 + 9
_TEQ_SLOW = (3 + 14) + (4 + 7) + 2 * (6 + 7)  # ?A, ?FF, ?FM of each channel: once a second

# Modbus RTU: a silence of 3.5 characters ends every frame.
_SILENCES = 2 * 3.5
_WRITE_ONE = 8 + 8 + _SILENCES  # function 05
_WRITE_MANY = 10 + 8 + _SILENCES  # function 0F, up to 8 coils
_READ_HEADS = 8 + 5 + _SILENCES  # function 04, without its registers
_REGISTER = 2
_FARTHEST = 60  # registers between the first and the last that are still read in one go


def roboclaw_load(drives: RoboclawDrives) -> list[float]:
    """Load of each bus, in the order of the ports."""
    speeds = _SPEEDS_RAMPED if drives.acceleration_radps2 > 0.0 else _SPEEDS
    each = (speeds + 2 * _ENCODER_SPEED) * drives.rate_hz + _CLAW_SLOW
    on_bus = [sum(controller.bus == bus for controller in drives.controllers) for bus in range(len(drives.ports))]
    return [count * each * BITS_PER_BYTE / drives.baud for count in on_bus]


def roboteq_load(drives: RoboteqDrives) -> list[float]:
    """Load of each port, one controller on each."""
    each = 2 * (_GO + _SPEED) * drives.rate_hz + _TEQ_SLOW
    return [each * BITS_PER_BYTE / drives.baud] * min(len(drives.controllers), CONTROLLERS)


def modbus_load(valves: ModbusValves) -> float:
    """Load of the port with all valves powered; each of them is told again twice in the time of a flash-on."""
    each = _WRITE_MANY
    if (registers := valves.pressure_registers) is not None:
        span = max(registers.in_order) - min(registers.in_order) + 1
        each += _READ_HEADS + span * _REGISTER if span <= _FARTHEST else 4 * (_READ_HEADS + _REGISTER)
    refreshed = 4 * _WRITE_ONE * 2.0 / valves.flash_s if valves.flash_on else 0.0
    return (each * valves.rate_hz + refreshed) * BITS_PER_BYTE / valves.baud
