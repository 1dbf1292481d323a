"""The fixed-step loop: beat, tick, and Safe if anything at all goes wrong."""

from __future__ import annotations

import math
from contextlib import suppress

from hil.clock import Clock
from hil.cycle import Cycle
from hil.safety import Fault
from hil.values import Tick

# Ticks recorded after the first fault.
TICKS_AFTER_FAULT = 1000


class Loop:
    """Runs a cycle until its trial is over.

    Args:
        clock: makes it beat.
        cycle: what is done in each beat.
    """

    def __init__(self, clock: Clock, cycle: Cycle) -> None:
        self.clock, self._cycle = clock, cycle
        self._stop: str | None = None
        self._left = TICKS_AFTER_FAULT
        self.last = Tick(0, 0, 0, 0)

    def stop(self, reason: str) -> None:
        """Ask for Safe at the next beat (E-stop, Ctrl-C); safe to call from a signal handler."""
        self._stop = self._stop or reason

    def run(self) -> None:
        """Beat until the trial is over; after a fault, record TICKS_AFTER_FAULT more. Raises no Exception."""
        trial, safety = self._cycle.trial, self._cycle.safety
        while self._left > 0 and not (trial.over and not safety.safe):
            if safety.safe:
                self._left -= 1
            try:
                self.last = self.clock.next()
                if self._stop:
                    safety.trip(
                        Fault.STOP_BY_OPERATOR, self.last.number, self.last.t_ns, math.nan, math.nan, self._stop
                    )
                if overrun := self.clock.overrun:
                    safety.trip(Fault.LOOP_LATE, self.last.number, self.last.t_ns, *overrun)
                self._cycle.run(self.last)
            except Exception as error:
                self._make_safe(error)

    def _make_safe(self, error: Exception) -> None:
        """Stop every device first, then note why."""
        self._cycle.devices.stop(self.last.t_ns)
        detail = _in_words(error)
        # the latch closes before the record is told, and the record may be what failed
        with suppress(Exception):
            self._cycle.safety.trip(Fault.EXCEPTION, self.last.number, self.last.t_ns, math.nan, math.nan, detail)


def _in_words(error: Exception) -> str:
    """Name and message of an exception, in text that every file takes; never raises."""
    try:
        message = str(error).encode(errors="replace").decode()
    except Exception:
        message = "cannot be put in words"
    return f"{type(error).__name__}: {message}"
