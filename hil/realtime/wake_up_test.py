"""Whether this machine can hold a rate: how late it wakes a process up, compared with the work of a tick."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from hil.realtime.clock import MOST_BUSY, RealtimeClock
from hil.realtime.histogram import Histogram
from hil.realtime.stalls import Stall

# Rates that may be proposed; a second is a whole number of periods of each [Hz].
RATES_HZ = (2000, 1000, 500, 250, 200, 125, 100)


class WakeUpTest(NamedTuple):
    """Measurement at one rate.

    Attributes:
        rate_hz: ticks per second.
        wake_us: quantiles of the wake-up latency [us], as in summary.json.
        work_us: quantiles of the work of a tick [us]; None: not known.
        skipped: whole periods skipped.
        ticks: number of ticks made.
        stalls: wake-ups late by more than hil.realtime.stalls.STALL_NS.
        allowed_us: largest allowed lateness of 999 of 1000 wake-ups of any process of a run, at any rate [us].
    """

    rate_hz: int
    wake_us: Mapping[str, float]
    work_us: Mapping[str, float] | None
    skipped: int
    ticks: int
    stalls: tuple[Stall, ...]
    allowed_us: float

    @property
    def holds(self) -> bool:
        """The rate can be held, according to the measurement."""
        return self.wake_us["p99_9"] <= self.allowed_us and self._fits(self.rate_hz)

    @property
    def proposed_hz(self) -> int | None:
        """The highest lower rate that would have been held; None: there is none.

        A lower rate slows down only the loop: the delay of sensor samples on their way to it stays the same.
        """
        if self.wake_us["p99_9"] > self.allowed_us:
            return None
        return next((rate_hz for rate_hz in RATES_HZ if rate_hz < self.rate_hz and self._fits(rate_hz)), None)

    def _fits(self, rate_hz: int) -> bool:
        """Wake-up and work of 99 % of ticks end before the next is due; the work alone takes under MOST_BUSY of it."""
        period_us = 1e6 / rate_hz
        work_us = self.work_us["p99"] if self.work_us else 0.0
        return work_us <= MOST_BUSY * period_us and self.wake_us["p99"] + work_us <= period_us


def measure_wake_ups(
    rate_hz: int,
    seconds: float,
    allowed_us: float,
    work: Histogram | None = None,
    now: Callable[[], int] = time.monotonic_ns,
    sleep_until: Callable[[int], None] | None = None,
) -> WakeUpTest:
    """Tick like the loop, with the rights of the calling thread, without any work.

    Args:
        rate_hz: ticks per second.
        seconds: duration [s].
        allowed_us: see `WakeUpTest`.
        work: work of ticks, measured before; None: not known.
        now: reads CLOCK_MONOTONIC [ns].
        sleep_until: returns at a time of that clock [ns] or later.
    """
    clock = RealtimeClock(rate_hz, now=now, sleep_until=sleep_until)
    while clock.next().t_ns < seconds * 1e9:
        pass
    stalls = tuple(clock.stalls.take())
    work_us = work.summary_us() if work else None
    return WakeUpTest(rate_hz, clock.wake.summary_us() or {}, work_us, clock.skipped, clock.ticks, stalls, allowed_us)
