"""Clocks: what makes the loop tick."""

from __future__ import annotations

import time
from typing import Protocol

from hil.messages.fault import Alarm
from hil.messages.stages import Tick


class SimulatedRig(Protocol):
    """A simulated rig that moves when it is told to."""

    def advance(self, t_ns: int) -> None:
        """Move to time t_ns [ns]."""


class Clock(Protocol):
    """Where ticks come from, and how well they came.

    Attributes:
        name: as in the config.
        late: ticks at whose end the next deadline had passed.
        skipped: periods lost.
        alarm: the reason to go Safe that holds at this tick, or None.
        wake_us: quantiles of the wake-up latency [us], or None in virtual time.
    """

    name: str
    late: int
    skipped: int
    alarm: Alarm | None

    @property
    def wake_us(self) -> dict[str, float] | None:
        """See above."""

    def next(self) -> Tick:
        """Wait for the next tick."""


class LockstepClock:
    """Virtual time in one process: each tick moves the simulated rig on to it, as fast as the machine can.

    Args:
        simulated_rig: the simulated rig.
        rate_hz: ticks a second.
    """

    name = "lockstep"

    def __init__(self, simulated_rig: SimulatedRig, rate_hz: int) -> None:
        self._simulated_rig, self._rate_hz = simulated_rig, rate_hz
        self._number = 0
        # virtual time waits for the loop
        self.late = self.skipped = 0
        self.alarm: Alarm | None = None

    @property
    def wake_us(self) -> None:
        """Nobody wakes up in virtual time."""
        return None

    def next(self) -> Tick:
        """The next tick."""
        self._number += 1
        t_ns = self._number * 1_000_000_000 // self._rate_hz
        began = time.monotonic_ns()
        self._simulated_rig.advance(t_ns)
        arrived = time.monotonic_ns()
        return Tick(self._number, t_ns, arrived, arrived - began)
