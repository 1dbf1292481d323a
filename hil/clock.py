"""Clocks: what makes the loop beat."""

from __future__ import annotations

import time
from typing import Protocol

from hil.values import Tick


class FarEnd(Protocol):
    """A simulated rig that moves when it is told to."""

    def advance(self, t_ns: int) -> None:
        """Move to time t_ns [ns]."""


class LockstepClock:
    """Virtual time in one process: each beat moves the simulated rig on to it, as fast as the machine can.

    Args:
        far_end: the simulated rig.
        rate_hz: ticks a second.
    """

    name = "lockstep"

    def __init__(self, far_end: FarEnd, rate_hz: int) -> None:
        self._far_end, self._rate_hz = far_end, rate_hz
        self._number = 0

    def next(self) -> Tick:
        """The next beat."""
        self._number += 1
        t_ns = self._number * 1_000_000_000 // self._rate_hz
        began = time.perf_counter_ns()
        self._far_end.advance(t_ns)
        arrived = time.perf_counter_ns()
        return Tick(self._number, t_ns, arrived, arrived - began)
