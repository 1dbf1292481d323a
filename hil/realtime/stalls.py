"""Stalls of the machine: wake-ups that were late although no process of the run has a higher priority."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from hil.realtime.libc import monotonic_sleeper

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
    """Compares wake-ups with their due times.

    Args:
        limit_ns: a wake-up later than this is a stall [ns].
    """

    def __init__(self, limit_ns: int = STALL_NS) -> None:
        self._limit_ns = limit_ns
        self._found: deque[Stall] = deque(maxlen=_KEPT)

    def woke(self, due_ns: int, now_ns: int) -> None:
        """Record a wake-up: its due time and its actual time [ns of the same clock]."""
        if now_ns - due_ns > self._limit_ns:
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

    Args:
        monitor: of all of them.
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
