"""Clocks: they start each tick of the loop."""

from __future__ import annotations

import time
from typing import Any, Protocol

from typing_extensions import override

from drivers.host import Host
from hil.messages.fault import Alarm
from hil.messages.stages import Tick

# A paced clock that is later than this does not make up for it [ns].
CATCH_UP_NS = 50_000_000


class _SteppedRig(Protocol):
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
    """

    name: str
    late: int
    skipped: int
    alarm: Alarm | None

    @property
    def wake_us(self) -> dict[str, Any] | None:
        """Quantiles and histogram of the wake-up latency [us]; None in virtual time."""

    def next(self) -> Tick:
        """Wait for the next tick."""


class LockstepClock:
    """Virtual time in one process: each tick advances the simulated rig, as fast as the machine can."""

    name = "lockstep"

    def __init__(self, simulated_rig: _SteppedRig, rate_hz: int) -> None:
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


class PacedClock(LockstepClock):
    """Virtual time that is never ahead of the wall clock, so that people can operate a simulated rig.

    The values of a tick do not depend on the pace.
    """

    def __init__(self, simulated_rig: _SteppedRig, rate_hz: int, host: Host) -> None:
        super().__init__(simulated_rig, rate_hz)
        self._pace = Pace(host, rate_hz)

    @override
    def next(self) -> Tick:
        self._pace.wait()
        return super().next()


class Pace:
    """Keeps virtual time from being ahead of the wall clock.

    After a stall of the machine virtual time does not hurry.
    """

    def __init__(self, host: Host, rate_hz: int) -> None:
        self._host, self._period_ns = host, 1_000_000_000 // rate_hz
        self._due_ns = 0

    def wait(self) -> None:
        """Wait until the next tick may begin."""
        now_ns = self._host.now_ns()
        if now_ns < self._due_ns:
            self._host.sleep((self._due_ns - now_ns) * 1e-9)
        began_ns = max(self._due_ns, now_ns - CATCH_UP_NS) if self._due_ns else now_ns
        self._due_ns = began_ns + self._period_ns
