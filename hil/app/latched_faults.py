"""Faults that stay latched between two runs, where an operator clears them one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hil.app.resident import Resident
from hil.messages.fault import Event, Fault
from hil.safety.fault_table import FAULT_TABLE

# Name of the event of a run for a fault that an operator cleared before it.
CLEARED_BEFORE = "cleared before"


class LatchedFaults:
    """The latch of a rig while no loop runs; it outlives a rig that is closed and opened again.

    Attributes:
        events: the faults.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._cleared: list[Event] = []

    def __str__(self) -> str:
        return ", ".join(in_words(event.fault) for event in self.events)

    @property
    def refusal(self) -> str:
        """Why nothing may move; empty: nothing is latched."""
        return f"latched: {self}; clear each by its number first" if self.events else ""

    def latch_stop(self, reason: str) -> None:
        """Latch fault 18: an emergency stop."""
        if all(event.fault is not Fault.STOP_BY_OPERATOR for event in self.events):
            self.events.append(Event(Fault.STOP_BY_OPERATOR, 0, 0, math.nan, math.nan, reason))

    def clear(self, number: int) -> str:
        """Clear a fault by its number. Returns its number and name; empty if it is not latched."""
        cleared = [event for event in self.events if event.fault == number]
        self.events = [event for event in self.events if event.fault != number]
        self._cleared += cleared
        return in_words(cleared[0].fault) if cleared else ""

    def hand_over(self, resident: Resident) -> None:
        """Latch them in the run that comes, where its loop goes on with them."""
        resident.latched[:] = self.events

    def note_cleared(self, resident: Resident) -> None:
        """Record in the run that comes what was cleared before it."""
        for event in self._cleared:
            resident.rig.cycle.tick_logger.log_event(CLEARED_BEFORE, in_words(event.fault))
        self._cleared.clear()

    def take_over(self, latched: Sequence[Event]) -> None:
        """Take the faults that a run ends with."""
        self.events = list(latched)


def in_words(fault: Fault) -> str:
    """Number and name of a fault."""
    return f"{int(fault)} {FAULT_TABLE[fault].name}"
