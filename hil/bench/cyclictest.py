"""cyclictest of rt-tests, the reference for wake-up latency; it is optional."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter

_PROGRAM = "cyclictest"
_INTERVAL_US = 1000
_MAX_LATENCY_US = 20_000
_BIN = re.compile(r"^(\d+)\s+(\d+)$", re.MULTILINE)
_MAX_LATENCY = re.compile(r"^# Max Latencies: (\d+)", re.MULTILINE)

Counts = Counter[int]


def cyclictest_version() -> str | None:
    """Its version, or None if it is not installed."""
    if shutil.which(_PROGRAM) is None:
        return None
    done = subprocess.run([_PROGRAM, "--help"], capture_output=True, text=True, check=False, timeout=10)
    version = re.search(r"cyclictest V\s*(\S+)", done.stdout + done.stderr)
    return version[1] if version else "of unknown version"


def cyclictest(seconds: float, fifo_priority: int, lock_memory: bool) -> Counts | None:
    """Histogram of its wake-up latency [us], at 1 kHz; None if it is not installed or may not run.

    Args:
        seconds: duration.
        fifo_priority: same as for the loop; 0: ordinary scheduler.
        lock_memory: same as for the loop.
    """
    command = [_PROGRAM, "--quiet", "--threads=1", f"--interval={_INTERVAL_US}", f"--histogram={_MAX_LATENCY_US}"]
    command.append(f"--loops={max(round(seconds * 1e6 / _INTERVAL_US), 1)}")
    command += [f"--priority={fifo_priority}", "--policy=fifo"] if fifo_priority else ["--policy=other"]
    command += ["--mlockall"] if lock_memory else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds + 30)
    except (OSError, subprocess.SubprocessError):
        return None
    return parse(done.stdout)


def parse(text: str) -> Counts | None:
    """The histogram that cyclictest prints; values beyond its last bin count as its longest time."""
    counts = Counter({int(late): int(count) for late, count in _BIN.findall(text) if int(count)})
    longest = _MAX_LATENCY.search(text)
    if longest is None:
        return None
    if int(longest[1]) >= _MAX_LATENCY_US:
        over = re.search(r"^# Histogram Overflows: (\d+)", text, re.MULTILINE)
        counts[int(longest[1])] += int(over[1]) if over else 1
    return counts


def summary_us(counts: Counts) -> dict[str, float]:
    """Quantiles [us], each at the middle of its microsecond bin."""
    total, seen, quantiles = counts.total(), 0, {}
    wanted = [("p50", 0.5), ("p99", 0.99), ("p99_9", 0.999)]
    for late_us in sorted(counts):
        seen += counts[late_us]
        while wanted and seen >= wanted[0][1] * total:
            quantiles[wanted.pop(0)[0]] = late_us + 0.5
    return {**quantiles, "max": max(counts) + 0.5}
