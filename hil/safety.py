"""The safety latch: whatever goes wrong ends in Safe, and stays there until an operator clears it."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

import msgspec

from hil.config import Config
from hil.values import Estimate, Prediction, Samples

# Bad samples in a row that are only left out; one more and it is a fault.
BAD_TICKS_ALLOWED = 2


class Fault(IntEnum):
    """Faults noticed so far, numbered as in docs/reference.md."""

    SENSOR_DROPOUT = 1
    SAMPLE_NOT_FINITE = 3
    SAMPLES_LOST = 6
    MODEL_NOT_FINITE = 8
    COMMAND_OUT_OF_LIMIT = 9
    LOOP_LATE = 11
    PROCESS_LOST = 12
    LINK_LOST = 13
    FRAMES_DAMAGED = 14
    STOP_BY_OPERATOR = 18
    DISK_FULL = 22
    RECORD_RING_FULL = 24
    EXCEPTION = 27


# Their cause lies outside of a tick's values; the others are noticed again wherever the values are the same.
NOT_IN_VALUES = frozenset(
    {
        Fault.SAMPLES_LOST,
        Fault.LOOP_LATE,
        Fault.PROCESS_LOST,
        Fault.LINK_LOST,
        Fault.FRAMES_DAMAGED,
        Fault.STOP_BY_OPERATOR,
        Fault.DISK_FULL,
        Fault.RECORD_RING_FULL,
        Fault.EXCEPTION,
    }
)


class Alarm(NamedTuple):
    """A reason to go Safe that lies outside the values of a tick: what was found, what is allowed, both in words."""

    fault: Fault
    value: float
    limit: float
    detail: str


class Event(msgspec.Struct, frozen=True):
    """One fault, as recorded."""

    fault: Fault
    tick: int
    t_ns: int
    value: float
    limit: float
    detail: str


class Safety:
    """Watches each tick's values and latches Safe at the first fault.

    Args:
        config: of the rig.
        announce: told of each new kind of fault, for the record.
    """

    def __init__(self, config: Config, announce: Callable[[Event], None] = lambda _: None) -> None:
        self._daq_age_ns = config.limits.daq_age_ms * 1e6
        self._announce = announce
        self._bad_ticks = 0
        self.events: list[Event] = []

    @property
    def safe(self) -> bool:
        """Latched: drives cut, valves off."""
        return bool(self.events)

    @property
    def faults(self) -> list[str]:
        """Names of the faults latched."""
        return [event.fault.name.lower().replace("_", " ") for event in self.events]

    def trip(self, fault: Fault, tick: int, t_ns: int, value: float, limit: float, detail: str) -> None:
        """Latch Safe. A fault that is latched already is not noted again."""
        if any(event.fault is fault for event in self.events):
            return
        event = Event(fault, tick, t_ns, value, limit, detail)
        self.events.append(event)
        self._announce(event)

    def watch(self, tick: int, samples: Samples, estimate: Estimate, prediction: Prediction) -> None:
        """Hold this tick's values against what is allowed."""
        t_ns = samples.t_ns
        if samples.daq_age_ns > self._daq_age_ns:
            age = samples.daq_age_ns * 1e-6
            detail = f"DAQ: newest sample is {age:.1f} ms old"
            self.trip(Fault.SENSOR_DROPOUT, tick, t_ns, age, self._daq_age_ns * 1e-6, detail)
        if samples.blocks:  # a tick between two blocks says nothing of the samples
            self._bad_ticks = 0 if estimate.finite else self._bad_ticks + 1
        if self._bad_ticks > BAD_TICKS_ALLOWED:
            detail = "DAQ: samples that are not finite in 3 reads in a row"
            self.trip(Fault.SAMPLE_NOT_FINITE, tick, t_ns, math.nan, BAD_TICKS_ALLOWED, detail)
        if not prediction.finite:
            self.trip(Fault.MODEL_NOT_FINITE, tick, t_ns, math.nan, math.nan, "rover twin: state is not finite")
