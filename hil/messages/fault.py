"""Faults: the rows of the fault table, and how one is reported and recorded."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import msgspec


class Fault(IntEnum):
    """Faults that a run reports, numbered as in the fault table (`hil.safety.fault_table`)."""

    SENSOR_DROPOUT = 1
    SENSOR_STALE = 2
    SAMPLE_NOT_FINITE = 3
    ADC_SATURATED = 4
    SAMPLES_LOST = 6
    SEQUENCE_GAP = 7
    MODEL_NOT_FINITE = 8
    COMMAND_OUT_OF_LIMIT = 9
    LOOP_LATE = 11
    PROCESS_LOST = 12
    LINK_LOST = 13
    FRAMES_DAMAGED = 14
    VALVE_STUCK = 17
    STOP_BY_OPERATOR = 18
    CONSOLE_LOST = 19
    COMMAND_REFUSED = 20
    DISK_FULL = 22
    RECORD_RING_FULL = 24
    EXCEPTION = 27
    MEASURED_OUT_OF_LIMIT = 30
    MEASURED_NEAR_LIMIT = 31
    OUTSIDE_MODEL = 32
    MEASURED_MOTION = 33
    IMPLAUSIBLE_VALUE = 34
    JOINT_NOT_FOLLOWING = 35
    JOINT_OUT_OF_RANGE = 36
    COMPUTER_SUSPENDED = 37
    SPEED_NOT_FOLLOWING = 38
    NOT_LIVE = 40
    DEVICE_FAULT = 41
    DEAD_MAN_ACTED = 43


class Alarm(NamedTuple):
    """A reason to go Safe, or to mark the run, that lies outside the values of a tick.

    Attributes:
        fault: row of the fault table.
        value: what was found.
        limit: what is allowed.
        detail: both in words.
        only_marked: it is recorded, and latches nothing.
    """

    fault: Fault
    value: float
    limit: float
    detail: str
    only_marked: bool = False


class Event(msgspec.Struct, frozen=True):
    """One fault, as recorded.

    Attributes:
        only_marked: it latches nothing, although others of its kind do: it is of an instrument that the run can do
            without, or a device reports it as a warning.
    """

    fault: Fault
    tick: int
    t_ns: int
    value: float
    limit: float
    detail: str
    only_marked: bool = False
