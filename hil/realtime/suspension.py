"""Whether the computer was suspended while a run was going on: CLOCK_MONOTONIC, by which all act, stands still then."""

from __future__ import annotations

from collections.abc import Callable

from hil.messages.fault import Alarm, Fault
from hil.messages.fault_bounds import SUSPENDED_NS


class SuspensionMonitor:
    """Compares the clock that stands still with the one that does not, CLOCK_BOOTTIME.

    To be made when a run begins. Between the two readings this process may be interrupted, which must not look like a
    suspension: the first difference is taken so that it is too large then, and each later one so that it is too small.

    Args:
        now: reads CLOCK_MONOTONIC [ns].
        boottime: reads CLOCK_BOOTTIME [ns].
    """

    def __init__(self, now: Callable[[], int], boottime: Callable[[], int]) -> None:
        self._now, self._boottime = now, boottime
        began_ns = now()
        self._apart_ns = boottime() - began_ns

    def alarm(self) -> Alarm | None:
        """Called in each tick: a suspension since the last call, or None."""
        boot_ns = self._boottime()
        apart_ns = boot_ns - self._now()
        if (slept_ns := apart_ns - self._apart_ns) <= SUSPENDED_NS:
            return None
        self._apart_ns = apart_ns
        slept_s, allowed_ms = slept_ns * 1e-9, SUSPENDED_NS * 1e-6
        detail = f"computer: was suspended for {slept_s:.3f} s, in which no device had a command"
        return Alarm(Fault.COMPUTER_SUSPENDED, slept_ns * 1e-6, allowed_ms, detail)
