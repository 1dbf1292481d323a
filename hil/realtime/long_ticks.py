"""Ticks whose work takes longer than a period, and what the loop's thread did in that time, as the kernel counts it.

The processor of this machine: results are identical to the last bit only on one like it.
"""

from __future__ import annotations

import heapq
import platform
import resource
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

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
