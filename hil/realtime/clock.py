"""The real-time clock: every tick belongs to a point of a fixed grid, and lateness does not shift the grid."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from hil.messages.fault import Alarm, Fault
from hil.messages.fault_bounds import LATE_LIMIT_NS, SKIPPED_LIMIT, WINDOW
from hil.messages.stages import Tick
from hil.realtime.histogram import Histogram
from hil.realtime.libc import monotonic_sleeper
from hil.realtime.long_ticks import LongTickMonitor, Usage, thread_usage
from hil.realtime.stalls import STALL_NS, StallMonitor

# Spinning for a larger share of the period has no benefit.
MOST_SPIN = 0.2
# Under SCHED_FIFO the kernel stops processes that use more than 95 % of a second, for 50 ms.
MOST_BUSY = 0.8

_SECOND_NS = 1_000_000_000
_WORK_SHIFT = 6  # the mean work is averaged over 2**6 ticks


class RealtimeClock:
    """Absolute deadlines on CLOCK_MONOTONIC, tick n at n periods after the start of the grid.

    A late tick whose period is not over yet begins at once; periods that are over are skipped, and the tick number has
    a gap. Each wait ends with spinning if `spin_share` is given, unless the mean work of the last ticks leaves no time
    for it.

    Args:
        rate_hz: ticks per second.
        spin_share: share of the period to spin for, at most MOST_SPIN.
        work_us: known duration of a tick's work [us]; with the spin under MOST_BUSY of the period.
        now: reads CLOCK_MONOTONIC [ns].
        sleep_until: returns at a time of that clock [ns] or later.
        usage: reads what the calling thread has used of the processor.

    Attributes:
        start_ns: when the grid begins on CLOCK_MONOTONIC [ns]; by default at the first call of `next`.
        ticks: number of ticks returned.
        late: ticks at whose end the next deadline had passed.
        skipped: periods skipped.
        spins_withheld: ticks without spinning, because the work left no time.
        wake: time from a tick's deadline to its beginning.
        due_ns: deadline of the newest tick [ns of CLOCK_MONOTONIC].
        stalls: waits for a deadline that ended late; ticks whose work took too long do not count.
        long_ticks: ticks whose work took longer than a period.
        alarm: the reason to go Safe at this tick, or None.

    Raises:
        ValueError: the spin, or work and spin, take too much of the period.
    """

    name = "realtime"

    def __init__(
        self,
        rate_hz: int,
        spin_share: float = 0.0,
        *,
        work_us: float = 0.0,
        now: Callable[[], int] = time.monotonic_ns,
        sleep_until: Callable[[int], None] | None = None,
        usage: Callable[[], Usage] = thread_usage,
    ) -> None:
        _refuse_if_too_busy(rate_hz, spin_share, work_us)
        self._rate_hz = rate_hz
        self._period_ns = _SECOND_NS // rate_hz
        self._spin_ns = round(spin_share * self._period_ns)
        self._room_ns = _room_ns(rate_hz, spin_share)
        self._now = now
        self._sleep_until = sleep_until or monotonic_sleeper()
        self.start_ns: int | None = None
        self.due_ns = 0
        self._number = 0
        self._woke_ns = 0
        self._work_ns = round(work_us * 1e3)
        self._lost = bytearray(WINDOW)
        self._lost_recently = 0
        self.ticks = self.late = self.skipped = self.spins_withheld = 0
        self.wake = Histogram()
        self.stalls = StallMonitor()
        self.long_ticks = LongTickMonitor(self._period_ns, usage)
        self.alarm: Alarm | None = None

    @property
    def wake_us(self) -> dict[str, Any] | None:
        """Quantiles and histogram of the wake-up latency [us], as in summary.json."""
        quantiles = self.wake.summary_us()
        return quantiles and {**quantiles, "histogram": self.wake.for_people()}

    def next(self) -> Tick:
        """Wait for the next point of the grid; if that has passed, return the tick of the current period at once."""
        now = self._now()
        if self.start_ns is None:
            self.start_ns = now
        if not self._woke_ns:  # the first tick: no work measured yet
            self._woke_ns = now
        else:
            work_ns = now - self._woke_ns
            self.long_ticks.end(self._number, work_ns)
            self._work_ns += (min(work_ns, 2 * self._period_ns) - self._work_ns) >> _WORK_SHIFT
        due = self._number + 1
        due_ns = self.start_ns + due * _SECOND_NS // self._rate_hz
        if now > due_ns:
            self.late += 1
        else:
            now = self._wait(due_ns)
            if now - due_ns > STALL_NS:
                self.stalls.woke(due_ns, now)
        self._woke_ns = now
        self.due_ns = due_ns
        # the last point of the grid that is not in the future, to the nanosecond
        self._number = max(due, ((now - self.start_ns + 1) * self._rate_hz - 1) // _SECOND_NS)
        self.ticks += 1
        self.skipped += self._number - due
        self.wake.add(now - due_ns)
        self._watch(due, now - due_ns)
        t_ns = self._number * _SECOND_NS // self._rate_hz
        self.long_ticks.begin()
        return Tick(self._number, t_ns, now, 0)

    def _wait(self, due_ns: int) -> int:
        spin_ns = self._spin_ns
        if spin_ns and self._work_ns >= self._room_ns:
            spin_ns = 0
            self.spins_withheld += 1
        self._sleep_until(due_ns - spin_ns)
        while (now := self._now()) < due_ns:
            pass
        return now

    def _watch(self, due: int, behind_ns: int) -> None:
        """Row 11 of the fault table."""
        if self._number == due and not self._lost_recently and behind_ns <= LATE_LIMIT_NS:  # in most ticks
            self.alarm = None
            return
        for number in range(max(due, self._number - WINDOW + 1), self._number):
            self._note(number, 1)
        self._note(self._number, 0)
        if behind_ns > LATE_LIMIT_NS:
            behind_ms, limit = behind_ns * 1e-6, LATE_LIMIT_NS * 1e-6
            self.alarm = Alarm(
                Fault.LOOP_LATE, behind_ms, limit, f"loop: a tick began {behind_ms:.1f} ms late, allowed: {limit:g} ms"
            )
        elif self._lost_recently > SKIPPED_LIMIT:
            detail = f"loop: {self._lost_recently} of the last {WINDOW} periods skipped, allowed: {SKIPPED_LIMIT}"
            self.alarm = Alarm(Fault.LOOP_LATE, self._lost_recently, SKIPPED_LIMIT, detail)
        else:
            self.alarm = None

    def _note(self, number: int, lost: int) -> None:
        place = number % WINDOW
        self._lost_recently += lost - self._lost[place]
        self._lost[place] = lost


def _refuse_if_too_busy(rate_hz: int, spin_share: float, work_us: float) -> None:
    if rate_hz < 1:
        raise ValueError(f"loop.rate_hz: found {rate_hz}, allowed: 1 or more")
    if not 0.0 <= spin_share <= MOST_SPIN:
        raise ValueError(f"loop: spin of {spin_share:g} of the period, allowed: 0 to {MOST_SPIN:g}")
    if not 0.0 <= work_us * 1e3 < _room_ns(rate_hz, spin_share):
        raise ValueError(
            f"loop: at {rate_hz} Hz work of {work_us:g} us and spin take {work_us * 1e-6 * rate_hz + spin_share:.2f} "
            f"of the period, allowed: under {MOST_BUSY:g} (the kernel stops a real-time thread that takes 0.95 of a "
            "second); lower the rate or the spin"
        )


def _room_ns(rate_hz: int, spin_share: float) -> int:
    """Time left for work besides the spin [ns]."""
    return round((MOST_BUSY - spin_share) * (_SECOND_NS // rate_hz))
