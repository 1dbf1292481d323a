"""Checks and faults: what was found, what is allowed, and what to do."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import msgspec


class Check(msgspec.Struct, frozen=True):
    """One line of `hil check`.

    Attributes:
        item: that is checked.
        ok: it passes.
        found: the value found.
        allowed: the value allowed.
        to_do: what the person at the rig can do about it; "" where it passes.
    """

    item: str
    ok: bool
    found: str
    allowed: str
    to_do: str = ""

    def __post_init__(self) -> None:
        """Who makes a check need not look whether it passes to say what to do."""
        if self.ok:
            msgspec.structs.force_setattr(self, "to_do", "")

    def __str__(self) -> str:
        """All of it in a sentence."""
        return f"{self.item} is {self.found}, allowed: {self.allowed}" + (f"; {self.to_do}" if self.to_do else "")


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
    """A reason to latch Safe, or to mark the run: what was found, what is allowed, and the fault that it is.

    Attributes:
        fault: row of the fault table.
        value: what was found.
        limit: what is allowed.
        detail: both in words.
        only_marked: it is recorded, and latches nothing, although others of its kind may: it is of an instrument that
            the run can do without, or a device reports it as a warning.
        cause: in a word or two, of an instrument, where one of each kind is enough; "": none.
    """

    fault: Fault
    value: float
    limit: float
    detail: str
    only_marked: bool = False
    cause: str = ""


# A Check is no alarm: it stands for a value that is right, too. Nor is a Problem (`drivers.section`), which is a key of
# a file before there is a rig. Neither has a fault.
class Event(NamedTuple):
    """An alarm, as recorded: with the tick in which it was noticed, and the time of that tick [ns of the run]."""

    alarm: Alarm
    tick: int
    t_ns: int


# Row 3: ticks in a row with a sample that is not finite; one more is a fault.
BAD_TICKS_ALLOWED = 2
# Row 7: blocks of samples that may be missing in a row.
GAP_ALLOWED = 3
# Row 9: ticks in a row with a clamped command; one more is a fault.
CLAMPS_ALLOWED = 19
# Row 11: how late a tick may begin [ns], and how many of the last WINDOW periods may be skipped.
LATE_LIMIT_NS = 20_000_000
SKIPPED_LIMIT = 5
WINDOW = 100

# Row 12: a loop without a heartbeat for longer is gone or hung: the dead-man of each link stops its devices [ns].
DEAD_MAN_NS = 20_000_000
# The loop has not ended a good tick for so long: logged; the dead-man of each link has acted before [ns].
LOOP_SILENT_NS = 50_000_000
# The loop has not even begun a tick for so long: it hangs, and is killed [ns].
LOOP_HUNG_NS = 1_000_000_000
# Rows 12 and 29: a worker with a device has had no heartbeat for so long. The loop goes Safe, and the watchdog kills
# the worker, so that it cannot write during the stop [ns].
WORKER_SILENT_NS = 20_000_000
# The watchdog or the recorder has had no heartbeat for so long: the loop goes Safe [ns].
WATCHDOG_SILENT_NS = 50_000_000
RECORDER_SILENT_NS = 2_000_000_000
# From the decision to stop a link to the last byte of its stop frames: one transaction that is in progress, and the
# stops of all controllers [ns].
STOP_WRITTEN_NS = 15_000_000
# The same of the watchdog, which has no transaction in progress [ns].
WATCHDOG_STOP_WRITTEN_NS = 10_000_000

# Row 13: drives that gave no answer to a request and its repetition [ns].
LINK_LOST_NS = 50_000_000
# Row 17: timeout of a valve, as a multiple of the time that it may take (devices.valves.moves_within_s), and the share
# of the supply pressure that a chamber has to cross.
TIMEOUT_FACTOR = 2.0
SWITCHING_PRESSURE_RATIO = 0.5
# Row 18: how often a worker reports the state of its device [ns]. A driver looks at its emergency stop every 50 ms at
# most, and one transaction may be in progress: the stop reaches the loop within E_STOP_NS.
HEALTH_EVERY_NS = 20_000_000
E_STOP_NS = 75_000_000
# Row 41: a driver reads each status of its device in so many of its rounds, or as often as its emergency stop.
STATUS_ROUNDS = 4
# Row 19: the holder of the operator lease has had no heartbeat for so long [ns].
CONSOLE_SILENT_NS = 500_000_000
# Row 23: ticks that a kill of any process, or of all, may cost [ns].
RECORD_LOST_NS = 100_000_000
# Row 24: share of a ring that may wait for the recorder; the rest holds the data after a fault.
FULL = 0.5
# Row 37: CLOCK_BOOTTIME is so far ahead of where it was against CLOCK_MONOTONIC; but for a suspension it stays [ns].
SUSPENDED_NS = 1_000_000
# Row 38: a wheel that is to turn at least so fast [rad/s] has less than this share of its speed for so long [ns].
LEAST_SET_RADPS, STANDS_SHARE, NOT_FOLLOWING_NS = 0.05, 0.1, 500_000_000
# Rows 30 and 31: currents and supply voltages are read several times a second; the oldest may be this old [ns].
POWER_AGE_NS = 1_000_000_000
# Row 33: no part of a rover on a rig moves faster, not even in an impact or a fall [m/s], and its body and its joints
# do not turn faster [rad/s]. A reading that differs from the one before it by more than this and JUMP_NOISES standard
# deviations of its noise has jumped. A joint is not so far beyond its stop [rad], but for its noise.
FASTEST_MPS = 2.0
FASTEST_RADPS = 5.0
JUMP_NOISES = 12.0
BEYOND_STOP_RAD = 0.01
# Row 34: a residual in a tick is a mean over this time [s]. A wheel is compared with a commanded speed that is still
# what it was STOOD_S ago, within STOOD_RADPS [rad/s].
RESIDUAL_WINDOW_S = 0.5
STOOD_S, STOOD_RADPS = 0.5, 0.01
