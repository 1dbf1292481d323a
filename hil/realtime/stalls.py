"""Stalls of the machine: wake-ups that came late although nothing of ours has a higher priority."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from hil.realtime.libc import monotonic_sleeper

# A wake-up this late is a stall [ns]. A sensor block may be 10 ms old and takes some 4 ms on a good day.
STALL_NS = 3_000_000
# Between two wake-ups of a thread that measures [ns]: a stall longer than both together is seen always. Each takes some
# 60 us from whatever tick it meets; the loop's own wake-ups, which are measured too, cost nothing more.
PERIOD_NS = 10_000_000
# Stalls that wait to be taken; more means that nobody takes them.
_KEPT = 256
# A thread that only sleeps needs little stack, and locked memory holds all of it.
_STACK_BYTES = 256 * 1024


class Stall(NamedTuple):
    """A time in which this machine did not let a process run.

    Attributes:
        began_ns: when the process was to wake up [ns].
        length_ns: how much later it did [ns]; the stall itself may have begun up to a period before.
    """

    began_ns: int
    length_ns: int


class StallMonitor:
    """Compares wake-ups with when they were due.

    Args:
        limit_ns: a wake-up later than this is a stall [ns].
    """

    def __init__(self, limit_ns: int = STALL_NS) -> None:
        self._limit_ns = limit_ns
        self._found: deque[Stall] = deque(maxlen=_KEPT)

    def woke(self, due_ns: int, now_ns: int) -> None:
        """A wake-up that was due at one time came at another [ns of the same clock]."""
        if now_ns - due_ns > self._limit_ns:
            self._found.append(Stall(due_ns, now_ns - due_ns))

    def take(self) -> list[Stall]:
        """The stalls since the last call, those of several processors at the same time as one."""
        return merged([self._found.popleft() for _ in range(len(self._found))])


def merged(stalls: Iterable[Stall]) -> list[Stall]:
    """Stalls in order of time; those that overlap are one."""
    found: list[Stall] = []
    for stall in sorted(stalls):
        if found and stall.began_ns <= (end_ns := found[-1].began_ns + found[-1].length_ns):
            began_ns = found[-1].began_ns
            found[-1] = Stall(began_ns, max(end_ns, stall.began_ns + stall.length_ns) - began_ns)
        else:
            found.append(stall)
    return found


@contextmanager
def measured_wakeups(monitor: StallMonitor) -> Iterator[None]:
    """Threads that do nothing but wake up every PERIOD_NS and tell the monitor, with the scheduling of who starts them.

    Under SCHED_FIFO there is one for each processor, bound to it: a virtual machine's processors stand still one by
    one, and a thread on another would not see it. Under the ordinary scheduler a bound thread would wait for whatever
    else is busy there while those that we care for move on; there it is one, not bound.

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
