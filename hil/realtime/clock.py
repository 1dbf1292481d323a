"""The monotonic clock: waits, wake-ups, stalls and long ticks."""

from __future__ import annotations

import heapq
import os
import platform
import resource
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hil.messages.fault import LATE_LIMIT_NS, SKIPPED_LIMIT, SUSPENDED_NS, WINDOW, Alarm, Fault
from hil.messages.stages import Tick
from hil.realtime.histogram import Histogram
from hil.realtime.rights import monotonic_sleeper

# Of a run, the longest are kept.
KEPT = 60
# Processor time of the calling thread [ns], and what else the kernel counts of it.
Usage = tuple[int, resource.struct_rusage]


class LongTick(NamedTuple):
    """A tick whose work took longer than a period.

    Attributes:
        work_ns: how long it took [ns].
        number: of the tick.
        processor_ns: how long its thread was on the processor meanwhile [ns].
        page_faults: pages that were not in memory, or not mapped.
        waits: how often the thread left the processor by itself, to wait for something.
        interruptions: how often the kernel took the processor from it.
    """

    work_ns: int
    number: int
    processor_ns: int
    page_faults: int
    waits: int
    interruptions: int


def thread_usage() -> Usage:
    """Usage of the calling thread so far; takes 0.8 us."""
    return time.thread_time_ns(), resource.getrusage(resource.RUSAGE_THREAD)


class LongTickMonitor:
    """Notes the long ticks of a loop.

    Args:
        period_ns: of the loop [ns].
    """

    def __init__(self, period_ns: int, usage: Callable[[], Usage] = thread_usage) -> None:
        self._period_ns, self._usage = period_ns, usage
        self._before: Usage | None = None
        self._found: list[LongTick] = []

    def begin(self) -> None:
        """The work of a tick begins."""
        self._before = self._usage()

    def end(self, number: int, work_ns: int) -> None:
        """The work of a tick is over, after so long [ns]; `begin` was called as it began."""
        if work_ns <= self._period_ns or self._before is None:
            return
        (began_ns, before), (ended_ns, after) = self._before, self._usage()
        tick = LongTick(
            work_ns,
            number,
            ended_ns - began_ns,
            after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt,
            after.ru_nvcsw - before.ru_nvcsw,
            after.ru_nivcsw - before.ru_nivcsw,
        )
        if len(self._found) < KEPT:
            heapq.heappush(self._found, tick)
        else:
            heapq.heappushpop(self._found, tick)

    def take(self) -> list[LongTick]:
        """The longest since the last call, in order of time."""
        ticks, self._found = self._found, []
        return sorted(ticks, key=lambda tick: tick.number)


@cache
def processor_name() -> str:
    """Its model, as the kernel names it."""
    return cpuinfo("model name") or platform.processor() or platform.machine()


def cpuinfo(key: str) -> str:
    """First line of /proc/cpuinfo with this key; empty if there is none."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "")


# A later wake-up than this is a stall [ns]. A sensor block may be 10 ms old, and normally takes some 4 ms.
STALL_NS = 3_000_000
# Between two wake-ups of a measuring thread [ns]: a stall longer than both values together is always detected. Each
# wake-up can delay a tick by some 60 us. The loop's wake-ups are measured too, at no cost.
PERIOD_NS = 10_000_000
# Limit of stalls that wait to be read; more means that no caller reads them.
_KEPT = 256
# A thread that only sleeps needs little stack, and the whole stack is locked in RAM.
_STACK_BYTES = 256 * 1024


class Stall(NamedTuple):
    """A time in which this machine did not run a process.

    Attributes:
        began_ns: when the process was due to wake up [ns].
        length_ns: how much later it woke up [ns]; the stall itself may have begun up to a period before.
    """

    began_ns: int
    length_ns: int


class StallMonitor:
    """Compares wake-ups with their due times: one that is later than STALL_NS is a stall."""

    def __init__(self) -> None:
        self._found: deque[Stall] = deque(maxlen=_KEPT)

    def woke(self, due_ns: int, now_ns: int) -> None:
        """Record a wake-up: its due time and its actual time [ns of the same clock]."""
        if now_ns - due_ns > STALL_NS:
            self._found.append(Stall(due_ns, now_ns - due_ns))

    def take(self) -> list[Stall]:
        """The stalls since the last call; simultaneous stalls of several processors count as one."""
        return merged([self._found.popleft() for _ in range(len(self._found))])


def merged(stalls: Iterable[Stall]) -> list[Stall]:
    """Stalls in order of time; overlapping stalls are merged."""
    joined: list[Stall] = []
    for stall in sorted(stalls):
        if joined and stall.began_ns <= (end_ns := joined[-1].began_ns + joined[-1].length_ns):
            began_ns = joined[-1].began_ns
            joined[-1] = Stall(began_ns, max(end_ns, stall.began_ns + stall.length_ns) - began_ns)
        else:
            joined.append(stall)
    return joined


@contextmanager
def measured_wakeups(monitor: StallMonitor) -> Iterator[None]:
    """Threads that only wake up every PERIOD_NS and report to the monitor, with the scheduling of the calling thread.

    Under SCHED_FIFO each processor has one thread bound to it: the processors of a virtual machine stall one by one,
    and a thread on another processor would not notice. Under the ordinary scheduler there is one unbound thread: a
    bound one would wait for other programs on its processor, while the processes of the run move to another.
    """
    real_time = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO
    over = threading.Event()
    before = threading.stack_size(_STACK_BYTES)
    threads = [
        threading.Thread(target=_wake_up, args=(monitor, cpus, over.is_set), daemon=True)
        for cpus in ([{cpu} for cpu in sorted(os.sched_getaffinity(0))] if real_time else [None])
    ]
    for thread in threads:
        thread.start()
    threading.stack_size(before)
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _wake_up(monitor: StallMonitor, cpus: set[int] | None, over: Callable[[], bool]) -> None:
    if cpus is not None:
        os.sched_setaffinity(0, cpus)  # of this thread
    sleep_until = monotonic_sleeper()
    while not over():
        due_ns = time.monotonic_ns() + PERIOD_NS
        sleep_until(due_ns)
        monitor.woke(due_ns, time.monotonic_ns())


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
