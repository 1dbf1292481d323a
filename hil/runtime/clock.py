"""Clocks: they start each tick of the loop."""

from __future__ import annotations

import time
from typing import Protocol

from hil.messages.fault import Alarm
from hil.messages.stages import Tick


class SimulatedRig(Protocol):
    """A simulated rig that the clock advances."""

    def advance(self, t_ns: int) -> None:
        """Move to time t_ns [ns]."""


class Clock(Protocol):
    """Produces the ticks, and counts late and skipped ones.

    Attributes:
        name: as in the config.
        late: ticks that ended after the next deadline.
        skipped: periods without a tick.
        alarm: the reason to go Safe in this tick, or None.
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
    """Virtual time in one process: each tick advances the simulated rig, as fast as the machine can.

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
        """None: virtual time has no wake-up latency."""
        return None

    def next(self) -> Tick:
        """The next tick."""
        self._number += 1
        t_ns = self._number * 1_000_000_000 // self._rate_hz
        began = time.monotonic_ns()
        self._simulated_rig.advance(t_ns)
        arrived = time.monotonic_ns()
        return Tick(self._number, t_ns, arrived, arrived - began)
